//! `config check`, `config show`, and reading the configuration for every other command.

use std::path::PathBuf;

use meshward_core::legible;

use super::{
    Code, Failed, Outcome,
    args::{ConfigPart, Global, Output},
    complain, say,
};
use crate::config::{Config, ConfigError, Fault, Loaded, LogFormat, LogLevel, Sources, show};

/// Where a client looks for the agent when nothing names a socket.
const DEFAULT_SOCKET: &str = "/run/meshward/api.sock";

/// What is said of variables that begin as settings do.
pub(super) const STRANGERS: &str = "no setting, and without effect";

pub(super) fn config(global: &Global, part: &ConfigPart) -> Outcome {
    let loaded = load(global)?;
    if global.output == Output::Text && !loaded.strangers.is_empty() {
        complain(global.output, &format!("{STRANGERS}: {}", loaded.strangers.join(", ")));
    }
    match (part, global.output) {
        (ConfigPart::Check, Output::Text) => say("the configuration is sound\n"),
        (ConfigPart::Check, Output::Json) => say("{\"ok\":true}\n"),
        (ConfigPart::Show, Output::Text) => say(&legible::lines(&show::text(&loaded.rows))),
        (ConfigPart::Show, Output::Json) => say(&format!("{}\n", show::json(&loaded.rows))),
    }
}

/// Reads the configuration; on a fault, tells all of them.
pub(super) fn load(global: &Global) -> Result<Loaded, Failed> {
    loaded(&sources(global))
}

/// As [`load`], from these sources.
pub(super) fn loaded(sources: &Sources) -> Result<Loaded, Failed> {
    Config::load(sources).map_err(|faults| Failed::new(Code::BadConfig, told(&faults)))
}

fn told(faults: &[ConfigError]) -> String {
    let lines: Vec<_> = faults.iter().map(ConfigError::to_string).collect();
    match lines.as_slice() {
        [only] => format!("the configuration is wrong: {only}"),
        several => format!(
            "the configuration is wrong in {} places:\n  {}",
            several.len(),
            several.join("\n  ")
        ),
    }
}

pub(super) fn sources(global: &Global) -> Sources {
    let mut sources = Sources::of_process(global.config.clone());
    if let Some(path) = &global.socket {
        sources.flags.push((
            "--socket",
            "local_api.socket_path",
            path.to_string_lossy().into_owned(),
        ));
    }
    if let Some(level) = global.log_level {
        sources.flags.push(("--log-level", "log.level", level_name(level).to_owned()));
    }
    if let Some(format) = global.log_format {
        sources.flags.push(("--log-format", "log.format", format_name(format).to_owned()));
    }
    sources
}

const fn level_name(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
        LogLevel::Trace => "trace",
    }
}

const fn format_name(format: LogFormat) -> &'static str {
    match format {
        LogFormat::Text => "text",
        LogFormat::Json => "json",
        LogFormat::Journald => "journald",
    }
}

/// The socket a client dials: a flag or variable needs no configuration, and a named file must be sound.
pub(super) fn socket(global: &Global) -> Result<PathBuf, Failed> {
    if let Some(path) = &global.socket {
        return Ok(path.clone());
    }
    if let Some(path) = std::env::var_os("MESHWARD_SOCKET").filter(|path| !path.is_empty()) {
        return Ok(path.into());
    }
    let sources = sources(global);
    let named = sources.file.as_ref().is_some_and(|file| file.named);
    let (path, faults) = Config::socket_path(&sources);
    // What only an agent needs may be missing here.
    let broken: Vec<_> =
        faults.into_iter().filter(|fault| !matches!(fault.fault, Fault::Unset(_))).collect();
    match path {
        Some(path) if broken.is_empty() || !named => Ok(path),
        None if !named => Ok(DEFAULT_SOCKET.into()),
        Some(_) | None => Err(Failed::new(Code::BadConfig, told(&broken))),
    }
}
