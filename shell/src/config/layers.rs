//! The layers of the configuration, merged key by key: flag, environment, file, default; the first that has it wins.

use std::{
    collections::BTreeMap,
    env, fmt, io,
    path::{Path, PathBuf},
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    error::{ConfigError, Fault, Place},
    nearest::nearest,
    schema::{self, Default, KEYS, Key, VARIABLE_PREFIX},
    value::Value,
};
use crate::tokens;

/// Where the configuration is read when nothing names a file.
pub const DEFAULT_FILE: &str = "/etc/meshward/config.toml";

/// The longest configuration file, in bytes.
const FILE_MAX: u64 = 1 << 20;

/// Variables of this project that set no key by its name: those of the agent, and those that steer its tests.
const OURS: [&str; 5] = [
    "MESHWARD_CONFIG",
    "MESHWARD_SOCKET",
    "MESHWARD_LOG_LEVEL",
    "MESHWARD_FAULTS",
    "MESHWARD_SEEDS",
];

/// Where values come from.
#[derive(Clone, Debug, std::default::Default, PartialEq, Eq)]
pub struct Sources {
    pub file: Option<File>,
    /// Names and values of environment variables.
    pub environment: Vec<(String, String)>,
    /// The flag, the key it sets, and its value.
    pub flags: Vec<(&'static str, &'static str, String)>,
}

/// A configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub path: PathBuf,
    /// Whether somebody named it; the default one may be absent.
    pub named: bool,
}

impl Sources {
    /// Nothing but a named file.
    pub fn file_only(path: &Path) -> Self {
        Self { file: Some(File { path: path.into(), named: true }), ..Self::default() }
    }

    /// The named or the default file, and the environment of this process.
    pub fn of_process(named: Option<PathBuf>) -> Self {
        let named = named.or_else(|| {
            env::var_os("MESHWARD_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from)
        });
        let file = match named {
            Some(path) => File { path, named: true },
            None => File { path: DEFAULT_FILE.into(), named: false },
        };
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
        };
        let environment =
            env::vars_os().filter_map(text).filter(|(name, _)| name.starts_with(VARIABLE_PREFIX));
        Self { file: Some(file), environment: environment.collect(), flags: Vec::new() }
    }
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) value: Option<Value>,
    pub(super) place: Place,
}

/// An environment variable that begins as settings do and is none: something else may have set it, so it is no fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stranger {
    pub(super) name: String,
    /// The variable that was meant, perhaps.
    near: Option<String>,
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "environment variable {}", self.name.escape_debug())?;
        match &self.near {
            Some(near) => write!(f, " (did you mean {near}?)"),
            None => Ok(()),
        }
    }
}

/// Every key with its value, and all that is wrong with single ones.
#[derive(Debug, std::default::Default)]
pub(super) struct Merged {
    pub(super) held: BTreeMap<&'static str, Held>,
    pub(super) faults: Vec<ConfigError>,
    /// Variables that look like settings and are none, in words.
    pub(super) strangers: Vec<Stranger>,
    /// Where settings are looked for, in words.
    place: String,
    /// Whether what the file says is unknown: then nobody is told that a setting is missing in it.
    unread: bool,
}

impl Merged {
    /// What was merged and checked before.
    pub(super) fn holding(held: BTreeMap<&'static str, Held>) -> Self {
        Self { held, ..Self::default() }
    }

    pub(super) fn read(sources: &Sources) -> Self {
        let mut merged = Self::default();
        for (flag, key, text) in &sources.flags {
            merged.text(key, text, Place::Flag(flag));
        }
        for (name, text) in &sources.environment {
            merged.variable(name, text);
        }
        merged.place = "a configuration file".to_owned();
        if let Some(file) = &sources.file {
            merged.place = file.path.display().to_string();
            merged.file(file);
        }
        for key in KEYS {
            merged.fill(key);
        }
        merged
    }

    fn variable(&mut self, name: &str, text: &str) {
        let place = Place::Environment(name.to_owned());
        if name == "MESHWARD_LOG_LEVEL" {
            return self.text("log.level", text, place);
        }
        if name == "MESHWARD_SOCKET" {
            return self.text("local_api.socket_path", text, place);
        }
        match KEYS.iter().find(|key| key.variable() == name) {
            Some(key) => self.text(key.path, text, place),
            None if name.contains("__") => {
                self.fault(place, None, unknown("variable", name, variables()))
            }
            None if OURS.contains(&name) => {}
            None => {
                let near = nearest(name, variables().chain(OURS.map(str::to_owned)));
                self.strangers.push(Stranger { name: name.to_owned(), near });
            }
        }
    }

    fn file(&mut self, file: &File) {
        let whole = |line| Place::File { path: file.path.clone(), line };
        let text = match read(&file.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !file.named => {
                self.place.push_str(" (which is absent; another one is named with --config)");
                return;
            }
            Err(error) => {
                self.unread = true;
                let fault = Fault::File(format!("cannot read it: {error}"));
                return self.fault(whole(None), None, fault);
            }
        };
        let (table, faults) = DeTable::parse_recoverable(&text);
        let mut lines: Vec<_> =
            faults.iter().map(|fault| fault.span().map(|span| line(&text, span.start))).collect();
        // What is wrong with a line may be found wrong more than once.
        lines.dedup();
        for line in lines {
            self.fault(whole(line), None, Fault::File(NOT_TOML.to_owned()));
        }
        self.unread = !faults.is_empty();
        if !self.unread {
            self.table("", table.get_ref(), &|at| whole(Some(line(&text, at))));
        }
    }

    fn table(&mut self, section: &str, table: &DeTable<'_>, place: &dyn Fn(usize) -> Place) {
        for (name, value) in table {
            let path = if section.is_empty() {
                name.get_ref().to_string()
            } else {
                format!("{section}.{}", name.get_ref())
            };
            self.member(&path, (name.span().start, value), place);
        }
    }

    fn member(
        &mut self,
        path: &str,
        (at, value): (usize, &Spanned<DeValue<'_>>),
        place: &dyn Fn(usize) -> Place,
    ) {
        match (schema::find(path), value.get_ref()) {
            (Some(key), given) => self.hold(key, key.kind.take_toml(given), place(at)),
            (None, DeValue::Table(table)) if schema::is_section(path) => {
                self.table(path, table, place)
            }
            (None, _) if schema::is_section(path) => {
                self.fault(
                    place(at),
                    Some(path),
                    Fault::Broken("must be a section: [section] and its keys below".into()),
                );
            }
            (None, DeValue::Table(_)) => {
                let known = schema::sections().map(in_brackets);
                self.fault(place(at), None, unknown("section", &in_brackets(path), known));
            }
            (None, _) => self.fault(
                place(at),
                None,
                unknown("key", path, KEYS.iter().map(|key| key.path.to_owned())),
            ),
        }
    }

    fn text(&mut self, path: &str, text: &str, place: Place) {
        if let Some(key) = schema::find(path) {
            self.hold(key, key.kind.take_text(text).map_err(Fault::Broken), place);
        }
    }

    /// Takes a value unless an earlier layer has one; a broken one is told all the same.
    fn hold(&mut self, key: &Key, value: Result<Value, Fault>, place: Place) {
        let blank = value.as_ref().is_ok_and(Value::is_blank) && key.optional;
        let judged = value.and_then(|value| {
            let checked = if blank { Ok(()) } else { key.kind.check(&value) };
            checked.map(|()| (!blank).then_some(value)).map_err(Fault::Broken)
        });
        match judged {
            Ok(value) => drop(self.held.entry(key.path).or_insert(Held { value, place })),
            Err(fault) => {
                self.held.entry(key.path).or_insert(Held { value: None, place: place.clone() });
                self.fault(place, Some(key.path), fault);
            }
        }
    }

    /// Puts the default where no layer had a value.
    fn fill(&mut self, key: &Key) {
        if self.held.contains_key(key.path) {
            return;
        }
        let value = match key.default {
            Default::Absent => None,
            Default::Flag(flag) => Some(Value::Flag(flag)),
            Default::Integer(number) => Some(Value::Integer(number)),
            Default::List(entries) => {
                Some(Value::List(entries.iter().map(|&entry| entry.to_owned()).collect()))
            }
            Default::Required if self.unread => None,
            Default::Required => {
                let needed = format!("must be set: in {}, or as {}", self.place, key.variable());
                self.fault(Place::Nowhere, Some(key.path), Fault::Unset(needed));
                None
            }
            Default::InRunDir(name) => Some(Value::Text(self.in_run_dir(name))),
            Default::Text(text) => key.kind.take_text(text).ok(),
        };
        self.held.insert(key.path, Held { value, place: Place::Nowhere });
    }

    fn in_run_dir(&self, name: &str) -> String {
        match self.held.get("node.run_dir").and_then(|held| held.value.as_ref()) {
            Some(Value::Text(dir)) => format!("{}/{name}", dir.trim_end_matches('/')),
            _ => name.to_owned(),
        }
    }

    /// The values of a section are held to no rule; the defaults stand for those that break one.
    pub(super) fn pass_over(&mut self, section: &str) {
        let is_within = |key: &str| key.split_once('.').is_some_and(|(of, _)| of == section);
        let is_passed = |fault: &ConfigError| {
            matches!(fault.fault, Fault::Broken(_)) && fault.key.as_deref().is_some_and(is_within)
        };
        let passed: Vec<_> = self.faults.extract_if(.., |fault| is_passed(fault)).collect();
        for key in passed.iter().filter_map(|fault| schema::find(fault.key.as_deref()?)) {
            if self.held.get(key.path).is_some_and(|held| held.value.is_none()) {
                self.held.remove(key.path);
                self.fill(key);
            }
        }
    }

    pub(super) fn fault(&mut self, place: Place, key: Option<&str>, fault: Fault) {
        self.faults.push(ConfigError { place, key: key.map(str::to_owned), fault });
    }
}

/// A TOML error would repeat the line, which may hold a secret.
const NOT_TOML: &str =
    "not valid TOML here: look for a missing quote, bracket or \"=\", or a name that stands twice";

fn read(path: &Path) -> io::Result<String> {
    use io::Read as _;
    let mut text = String::new();
    let (mut file, _) = tokens::regular(path)?;
    io::Read::by_ref(&mut file).take(FILE_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_MAX {
        Err(io::Error::other("it is larger than 1 MiB"))
    } else {
        Ok(text)
    }
}

fn line(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

fn in_brackets(section: &str) -> String {
    format!("[{section}]")
}

fn variables() -> impl Iterator<Item = String> {
    KEYS.iter().map(Key::variable)
}

fn unknown(what: &str, name: &str, known: impl Iterator<Item = String>) -> Fault {
    let hint =
        nearest(name, known).map(|known| format!("; did you mean {known}?")).unwrap_or_default();
    Fault::Unknown(format!("unknown {what} {}{hint}", name.escape_debug()))
}
