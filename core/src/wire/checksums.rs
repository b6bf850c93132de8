//! `state/checksums.json`: what the files of this node were when they were seen first.
//!
//! A person may compare the digests with what `sha256sum` prints and remove what is to be learnt anew, so they are
//! written as hexadecimal digits, each under the name by which the file is known.
//!
//! Specification: `gaps-agent.md` section 2.12 (Baseline); `docs/deviations.md`.

use alloc::{
    collections::BTreeMap,
    string::{String, ToString as _},
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use super::{
    grammar::{Checksum, Fingerprint, Malformed},
    json,
    kept::{Damage, line, present},
};

/// What the files were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checksums {
    pub program: Option<Program>,
    pub host_key: Option<HostKey>,
    /// By the names of the hooks.
    pub hooks: BTreeMap<String, Checksum>,
}

/// The program, as it was when this version of it ran first from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub path: String,
    pub version: String,
    pub checksum: Checksum,
}

/// The SSH host key in this file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostKey {
    pub path: String,
    pub fingerprint: Fingerprint,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct File {
    #[serde(skip_serializing_if = "Option::is_none")]
    binary: Option<BinaryLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssh_host_key: Option<HostKeyLine>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    hooks: BTreeMap<String, String>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct BinaryLine {
    path: String,
    version: String,
    checksum: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct HostKeyLine {
    path: String,
    fingerprint: String,
}

impl Checksums {
    /// Reads the content of the file.
    pub fn decode(bytes: &[u8]) -> Result<Self, Damage> {
        present(bytes)?;
        let file: File = json::decode_tolerant(bytes).map_err(Damage::Malformed)?;
        file.read().map_err(Damage::Checksum)
    }

    /// The content of the file.
    pub fn encode(&self) -> Vec<u8> {
        let program = self.program.as_ref();
        let hooks = self.hooks.iter();
        line(&File {
            binary: program.map(|program| BinaryLine {
                path: program.path.clone(),
                version: program.version.clone(),
                checksum: program.checksum.to_hex(),
            }),
            ssh_host_key: self.host_key.as_ref().map(|key| HostKeyLine {
                path: key.path.clone(),
                fingerprint: key.fingerprint.to_string(),
            }),
            hooks: hooks.map(|(name, checksum)| (name.clone(), checksum.to_hex())).collect(),
        })
    }
}

impl File {
    fn read(self) -> Result<Checksums, Malformed> {
        let hook = |(name, text): (String, String)| Ok((name, Checksum::parse(&text)?));
        let hooks: Result<_, Malformed> = self.hooks.into_iter().map(hook).collect();
        let program = |line: BinaryLine| {
            let BinaryLine { path, version, checksum } = line;
            Ok(Program { path, version, checksum: Checksum::parse(&checksum)? })
        };
        let host_key = |line: HostKeyLine| {
            let HostKeyLine { path, fingerprint } = line;
            Ok(HostKey { path, fingerprint: Fingerprint::parse(&fingerprint)? })
        };
        Ok(Checksums {
            program: self.binary.map(program).transpose()?,
            host_key: self.ssh_host_key.map(host_key).transpose()?,
            hooks: hooks?,
        })
    }
}
