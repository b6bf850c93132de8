//! The rules of the source tree that no compiler checks: sizes, banned words, and a map that names every module.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The longest source file, in lines without its tests.
const FILE_MAX: usize = 400;
/// The longest `lib.rs`, `main.rs` and `mod.rs`.
const WHOLE_MAX: usize = 150;
const ARCHITECTURE_MAX: usize = 200;
const FUZZ_BINARY_MAX: usize = 6;
const CORE_DEPENDENCIES_MAX: usize = 10;
/// How many functions are longer than the lint allows; each says why in its `#[expect]`.
const LONG_FUNCTIONS: usize = 0;

/// The folders of sources that `ARCHITECTURE.md` maps, each under a heading of its own.
const MAPPED: [&str; 4] = ["core/src", "core/sim/src", "fixture/src", "shell/src"];

/// Never looked into; `.git` is a file where the tree is a linked one.
const PASSED_OVER: [&str; 6] =
    [".git", "target", "corpus", "artifacts", "coverage", "proptest-regressions"];

/// Written in two parts so that this file does not hold them.
const BANNED: [&str; 15] = [
    concat!("to", "do!"),
    concat!("un", "implemented!"),
    concat!("#[ig", "nore"),
    concat!("#[should", "_panic"),
    concat!("#[al", "low("),
    concat!("#![al", "low("),
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
    concat!("XX", "X"),
    concat!("crates", ".io"),
    concat!("npm", "js."),
    concat!("py", "pi.org"),
    concat!("proxy.go", "lang.org"),
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file below `folder` with one of the endings, as its path from the root and its text.
fn files(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(root().join(&folder)).expect("the folder can be read") {
            let entry = entry.expect("the folder can be read");
            let name = entry.file_name().into_string().expect("names are UTF-8");
            let path = if folder == "." { name.clone() } else { format!("{folder}/{name}") };
            if PASSED_OVER.contains(&name.as_str()) {
                continue;
            }
            if entry.path().is_dir() {
                open.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push((path, fs::read_to_string(entry.path()).expect("sources are UTF-8")));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "nothing to check below {folder}");
    found
}

fn sources() -> Vec<(String, String)> {
    files(".", &[".rs"])
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

/// The lines in front of the unit tests, which stand last.
fn lines_without_tests(text: &str) -> usize {
    text.lines().take_while(|line| !line.trim_start().starts_with("#[cfg(test)]")).count()
}

/// Whether `word` stands in `line` without being a part of a longer word.
fn names(line: &str, word: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(inside);
        let after = line[at + word.len()..].chars().next().is_some_and(inside);
        !(before && word.starts_with(inside) || after && word.ends_with(inside))
    })
}

/// Every `path:line: what` for which `wrong` says what is wrong with the line.
fn offences(
    files: &[(String, String)],
    wrong: impl Fn(&str, &str) -> Option<String>,
) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        for (at, line) in text.lines().enumerate() {
            if let Some(what) = wrong(path, line) {
                found.push(format!("{path}:{}: {what}", at + 1));
            }
        }
    }
    found
}

fn none<T: core::fmt::Debug>(offences: &[T], rule: &str) {
    assert!(offences.is_empty(), "{rule}: {offences:#?}");
}

#[test]
fn no_source_file_is_longer_than_its_limit() {
    let mut long = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| !is_test(path)) {
        let whole = ["lib.rs", "main.rs", "mod.rs"].iter().any(|name| path.ends_with(name));
        let limit = if whole { WHOLE_MAX } else { FILE_MAX };
        let lines = lines_without_tests(text);
        if lines > limit {
            long.push(format!("{path}: {lines} lines, at most {limit}"));
        }
    }
    none(&long, "split the file by what it decides");
}

#[test]
fn the_number_of_long_functions_is_known() {
    let lint = concat!("clippy::too_many", "_lines");
    let long = offences(&sources(), |_, line| line.contains(lint).then(|| line.trim().to_owned()));
    assert_eq!(long.len(), LONG_FUNCTIONS, "{long:#?}");
}

#[test]
fn no_file_holds_a_banned_word() {
    let texts = files(".", &[".rs", ".md", ".toml", ".yml", ".yaml", "/run", "/nightly"]);
    let scripts = [".ci/run", ".ci/nightly"].map(|path| (path.to_owned(), text(path)));
    let found = offences(&[texts, scripts.to_vec()].concat(), |path, line| {
        // What several test binaries share is not used whole by each.
        let shared = |word: &str| word.starts_with("#![") && is_test(path);
        let mut held = BANNED.iter().filter(|word| names(line, word) && !shared(word));
        held.next().map(|word| format!("holds {word}"))
    });
    none(&found, "finish it, or say it without the word");
}

#[test]
fn the_core_does_not_name_the_standard_library() {
    let found = offences(&files("core/src", &[".rs"]), |_, line| {
        (names(line, "std::") || line.contains("extern crate std")).then(|| line.trim().to_owned())
    });
    none(&found, "the core is no_std, its tests included");
    assert!(text("core/src/lib.rs").contains("#![no_std]"));
}

#[test]
fn only_wire_derives_serde_within_the_core() {
    let found = offences(&files("core/src", &[".rs"]), |path, line| {
        let derives = line.contains("derive(") || line.trim_start().starts_with("impl");
        let serde = names(line, "Serialize") || names(line, "Deserialize");
        let bound = line.contains(": Serialize") || line.contains(": Deserialize");
        (!path.starts_with("core/src/wire/") && derives && serde && !bound)
            .then(|| line.trim().to_owned())
    });
    none(&found, "bytes become types in wire alone");
}

#[test]
fn no_lint_against_wildcard_arms_is_switched_off() {
    let lint = concat!("wildcard_enum", "_match_arm");
    let found = offences(&sources(), |_, line| line.contains(lint).then(|| line.trim().to_owned()));
    none(&found, "name the variants");
}

#[test]
fn the_core_has_few_dependencies() {
    let manifest = text("core/Cargo.toml");
    let (_, rest) = manifest.split_once("[dependencies]\n").expect("core has dependencies");
    let count = rest.lines().take_while(|line| !line.starts_with('[')).filter(|l| !l.is_empty());
    let count = count.count();
    assert!(count <= CORE_DEPENDENCIES_MAX, "core has {count} dependencies");
}

#[test]
fn every_fuzz_binary_is_a_few_lines() {
    let long: Vec<String> = files("fuzz/fuzz_targets", &[".rs"])
        .into_iter()
        .filter(|(_, text)| text.lines().count() > FUZZ_BINARY_MAX)
        .map(|(path, _)| path)
        .collect();
    none(&long, "what a target does stands in fuzz/src");
}

/// A source file as the map names it: its path within the folder, without `.rs`, or the folder of a `mod.rs`.
fn module(folder: &str, path: &str) -> Option<String> {
    let within = path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs")?;
    let name = within.strip_suffix("/mod").unwrap_or(within);
    (name != "lib" && name != "main").then(|| name.to_owned())
}

/// The names in backticks in the first column under the heading of a folder.
fn mapped(architecture: &str, folder: &str) -> BTreeSet<String> {
    let heading = format!("### `{folder}`");
    architecture
        .lines()
        .skip_while(|line| !line.starts_with(&heading))
        .skip(1)
        .take_while(|line| !line.starts_with('#'))
        .filter_map(|line| line.strip_prefix("| `")?.split_once('|'))
        .flat_map(|(cell, _)| cell.trim().trim_end_matches('`').split("` `"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_map_names_every_module_and_no_other() {
    let architecture = text("ARCHITECTURE.md");
    assert!(architecture.lines().count() < ARCHITECTURE_MAX, "ARCHITECTURE.md is too long");
    for folder in MAPPED {
        let modules: BTreeSet<String> = files(folder, &[".rs"])
            .iter()
            .filter(|(path, _)| !is_test(path))
            .filter_map(|(path, _)| module(folder, path))
            .collect();
        let mapped = mapped(&architecture, folder);
        let missing: Vec<_> = modules.difference(&mapped).collect();
        let gone: Vec<_> = mapped.difference(&modules).collect();
        assert!(
            missing.is_empty() && gone.is_empty(),
            "{folder} in ARCHITECTURE.md: missing {missing:?}, no longer there {gone:?}"
        );
    }
}

#[test]
fn every_linked_file_of_the_documents_is_there() {
    let mut gone = Vec::new();
    for (path, text) in files(".", &[".md"]) {
        let folder = Path::new(&path).parent().expect("a file is in a folder").to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')) {
            let target = link.0.split('#').next().unwrap_or_default();
            let local = !target.is_empty() && !target.contains("://");
            if local && !root().join(&folder).join(target).exists() {
                gone.push(format!("{path}: {target}"));
            }
        }
    }
    none(&gone, "mend the link");
}

#[test]
fn every_test_that_the_guide_names_exists() {
    let guide = text("docs/fixture.md");
    let named = guide.split('`').filter_map(|word| word.split_once(".rs::"));
    let missing: Vec<_> = named
        .filter(|(file, name)| {
            let path = root().join(format!("{file}.rs"));
            let source = fs::read_to_string(path).unwrap_or_default();
            !source.contains(&format!("fn {name}("))
        })
        .collect();
    none(&missing, "the guide names tests that are not there");
    assert!(guide.matches(".rs::").count() > 100, "the guide tells where each row is tested");
}

/// What the project consists of; a file of another kind slipped in.
const KINDS: [&str; 23] = [
    ".rs",
    ".md",
    ".toml",
    ".lock",
    ".json",
    ".html",
    ".txt",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "run",
    "nightly",
    ".gitignore",
    ".conf",
    ".service",
    ".sysusers",
    ".tmpfiles",
    "packaging/build-deb",
    "packaging/debian/postinst",
    "packaging/debian/postrm",
    "packaging/debian/prerm",
    "packaging/try-deb",
    "packaging/try/hook",
    "packaging/try/inside",
];

#[test]
fn every_file_is_of_a_kind_that_belongs_here() {
    let strangers: Vec<_> = files(".", &[""])
        .into_iter()
        .map(|(path, _)| path)
        .filter(|path| !KINDS.iter().any(|kind| path.ends_with(kind)))
        .collect();
    none(&strangers, "say in `KINDS` why it belongs here, or take it out");
}
