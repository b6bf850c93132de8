//! The identity of this node, or what a registration needs.

use alloc::{format, string::String, vec::Vec};

use super::{ASK, Finding};
use crate::wire::identity::{Files, Identity};

const IDENTITY: &str = "identity";
const TOKEN: &str = "token";
const OTHERS: u32 = 0o077;

/// A file with its mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFile {
    pub path: String,
    pub mode: u32,
}

/// What is there of an identity, and of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identities {
    /// The identity files, or why they cannot be read.
    pub files: Result<Files, String>,
    /// Those that are there.
    pub kept: Vec<KeptFile>,
    pub tokens: Tokens,
    /// Another user than the agent's asks.
    pub foreign: bool,
}

/// Where a bootstrap token is to be found; the token itself is not told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The token file, where it is there.
    pub file: Option<KeptFile>,
    /// Why the token file cannot be read.
    pub unreadable: Option<String>,
    /// Whether some other place has one.
    pub elsewhere: bool,
    /// Whether the metadata service is asked for one.
    pub metadata: bool,
    /// The places that were looked at, in words.
    pub tried: Vec<String>,
}

impl Identities {
    pub fn findings(&self) -> Vec<Finding> {
        let files = match &self.files {
            Ok(files) => files,
            Err(cause) => {
                return [Finding::bad(IDENTITY, cause, ASK)].into();
            }
        };
        let mut findings: Vec<_> =
            self.kept.iter().filter_map(|file| open(IDENTITY, file)).collect();
        match Identity::load(files) {
            Ok(Some(identity)) => {
                let (node, address) = (&identity.file.node_id, &identity.file.mesh_ip);
                if findings.is_empty() {
                    findings.push(Finding::good(IDENTITY, format!("node {node} at {address}")));
                }
            }
            Ok(None) => {
                findings.push(Finding::good(IDENTITY, "this node is not registered yet"));
                findings.push(self.tokens.finding(self.foreign));
            }
            Err(corrupt) => findings.push(Finding::bad(
                IDENTITY,
                format!("it is corrupt: {corrupt}"),
                "mend the file, or leave a bootstrap token: the files are then moved aside and the node registers afresh",
            )),
        }
        findings
    }
}

impl Tokens {
    fn finding(&self, foreign: bool) -> Finding {
        if let Some(cause) = &self.unreadable {
            if foreign {
                let what = format!("{cause}; whether the agent can read it");
                return Finding::untold(TOKEN, what);
            }
            return Finding::bad(TOKEN, cause, "let the agent read it (chown, chmod 0600)");
        }
        if let Some(file) = &self.file {
            return open(TOKEN, file)
                .unwrap_or_else(|| Finding::good(TOKEN, format!("{} holds one", file.path)));
        }
        match (self.elsewhere, self.metadata) {
            (true, _) => Finding::good(TOKEN, "there is one"),
            (false, true) => {
                Finding::good(TOKEN, "the metadata service is asked for one at the start")
            }
            (false, false) => Finding::bad(
                TOKEN,
                format!("there is none: {}", self.tried.join(", ")),
                "put the bootstrap token of this node into the token file, mode 0600",
            ),
        }
    }
}

fn open(name: &'static str, file: &KeptFile) -> Option<Finding> {
    let KeptFile { path, mode } = file;
    (mode & OTHERS != 0).then(|| {
        let words = format!("{path} has mode {mode:04o}, by which others reach it");
        Finding::bad(name, words, format!("chmod 0600 {path}"))
    })
}
