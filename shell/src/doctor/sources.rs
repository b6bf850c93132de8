//! Where records come from: files of logs and of audit, looked for as the agent does, and the journal.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use meshward_core::{
    agent::Cause,
    doctor::{self, Finding},
    wire::sources::pattern::Pattern,
};
use tokio::sync::oneshot;

use super::LOOK_MAX;
use crate::{
    actions::{bounded::bounded, tool},
    config::Config,
    voice,
};

const FILES: &str = "log files";
const AUDIT: &str = "audit file";
const WILD: [char; 3] = ['*', '?', '['];

/// How long `journalctl` may take to find its files, and how much of its words is read.
const JOURNAL_MAX: (Duration, usize) = (Duration::from_secs(5), 4 << 10);

/// What was seen, before it is known whether the user of the agent asks.
#[derive(Debug)]
pub(super) struct Looked {
    files: Option<Vec<Finding>>,
    /// Whether `journalctl` succeeded, and its complaints.
    journal: Option<(bool, String)>,
}

impl Looked {
    pub(super) fn findings(self, foreign: bool) -> Vec<Finding> {
        let files = self.files.unwrap_or_else(|| vec![Finding::unseen(FILES)]);
        let mut findings = match foreign && !files.is_empty() {
            true => vec![Finding::untold(FILES, "what the agent can read of them")],
            false => files,
        };
        let journal = self.journal.as_ref();
        findings.extend(journal.map(|(good, words)| doctor::journal((*good, words), foreign)));
        findings
    }
}

pub(super) async fn look(config: &Config) -> Looked {
    let node = config.clone();
    let files = bounded("doctor files", LOOK_MAX, move || files(&node));
    let journal = async {
        let is_wanted = config.logs.pipeline.enabled && config.logs.journald;
        if is_wanted { journal().await } else { None }
    };
    let (files, journal) = tokio::join!(files, journal);
    Looked { files, journal }
}

/// `None` where the tool is missing, which is told of it.
async fn journal() -> Option<(bool, String)> {
    // Held until the end: a tool is ended where it is dropped.
    let (_go_on, cancelled) = oneshot::channel();
    let command = ["journalctl", "--no-pager", "--lines=0"];
    let ending = tool::capture(tool::path(), &command, JOURNAL_MAX, cancelled).await?;
    let words = String::from_utf8_lossy(&ending.stderr.bytes).into_owned();
    Some(match ending.cause {
        Cause::Exited(code) => (code == 0, words),
        Cause::TimedOut => (false, "nothing, within five seconds".to_owned()),
        Cause::Signalled(_) | Cause::Cancelled | Cause::Broken(_) | Cause::Changed { .. } => {
            (false, words)
        }
    })
}

fn files(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    if config.logs.pipeline.enabled && !config.logs.file_patterns.is_empty() {
        findings.extend(log_files(&config.logs.file_patterns, &config.node.data_dir));
    }
    let audit = config.audit.k8s_audit_file.as_deref().filter(|_| config.audit.pipeline.enabled);
    findings.extend(audit.map(audit_file));
    findings
}

fn log_files(patterns: &[String], data_dir: &Path) -> Vec<Finding> {
    let voice::Glance { files, troubles } = voice::glance(patterns, data_dir);
    let wrong = |trouble: &String| Finding::warn(FILES, trouble, "until then it is not read");
    let mut findings: Vec<_> = troubles.iter().map(wrong).collect();
    for text in patterns {
        let Ok(pattern) = Pattern::parse(text) else { continue };
        let count = files.iter().filter(|file| pattern.matches(file)).count();
        let folder = folder(text);
        let is_there = folder
            .metadata()
            .map_or_else(|error| error.kind() != io::ErrorKind::NotFound, |_| true);
        findings.extend(match (count, is_there) {
            (0, false) => Some(Finding::warn(
                FILES,
                format!("{text}: the folder {} is not there", folder.display()),
                "correct the pattern, or let the program make its folder",
            )),
            // What it means is told above.
            (0, true) if !troubles.is_empty() => None,
            (0, true) => Some(Finding::good(FILES, format!("{text}: no file is there yet"))),
            (count, _) => {
                Some(Finding::good(FILES, format!("{text}: files that are read: {count}")))
            }
        });
    }
    findings
}

/// The folder in which a pattern begins to be looked for.
fn folder(pattern: &str) -> PathBuf {
    let parts = Path::new(pattern).components();
    let known: PathBuf =
        parts.take_while(|part| !part.as_os_str().to_string_lossy().contains(WILD)).collect();
    match known.as_os_str() == pattern {
        true => known.parent().unwrap_or(&known).to_owned(),
        false => known,
    }
}

fn audit_file(path: &Path) -> Finding {
    match voice::glance_at_audit(path) {
        None => Finding::good(AUDIT, format!("{} can be read", path.display())),
        Some(trouble) => Finding::warn(AUDIT, trouble, "until then it is not read"),
    }
}
