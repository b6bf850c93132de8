//! What a node has around it: how it is seen from outside, its program, its host key, its hooks.
//!
//! It outlives the process. A content is a number, and its digest is made of that and of whose it is.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use meshward_core::{
    agent::{FoundHook, FoundProgram, FoundSidecar, HostKey, Measured, Scan, Seen, Sight},
    time::Mono,
    wire::grammar::{Checksum, Fingerprint, PeerAddr, base64_text},
};

use crate::script::{Change, Folder, KeyFile, Server};

/// Where the program stands.
pub const PROGRAM: &str = "/usr/bin/meshward";
/// Where the host key stands.
pub const HOST_KEY: &str = "/etc/ssh/ssh_host_ed25519_key.pub";
/// The hooks that there may be; the first two are there from the start.
pub const HOOKS: [&str; 3] = ["alpha", "beta", "gamma"];
/// A file that was changed so shortly before a look is still being written.
const UNSETTLED: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// The last number of its address, and whether each server sees another port of it.
    place: u8,
    is_symmetric: bool,
    servers: [Server; 2],
    /// The program's file: its content and its version.
    pub program: (u8, u8),
    pub host_key: KeyFile,
    pub folder: Folder,
    /// What the hooks hold, and when they were changed.
    hooks: BTreeMap<u8, (u8, Mono)>,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self {
            place: 1,
            is_symmetric: false,
            servers: [Server::Answers; 2],
            program: (0, 0),
            host_key: KeyFile::Key(0),
            folder: Folder::Watched,
            hooks: [0, 1].map(|name| (name, (0, Mono::default()))).into(),
        }
    }
}

impl Surroundings {
    /// Whether the hooks directory is another by it.
    pub(crate) fn change(&mut self, now: Mono, change: Change) -> bool {
        match change {
            Change::Move { place, symmetric } => {
                (self.place, self.is_symmetric) = (place, symmetric);
            }
            Change::Servers(first, second) => self.servers = [first, second],
            Change::Program { content, version } => self.program = (content, version),
            Change::HostKey(file) => self.host_key = file,
            Change::Hooks(folder) => self.folder = folder,
            Change::Hook { name, content } => {
                match content {
                    Some(content) => self.hooks.insert(name, (content, now)),
                    None => self.hooks.remove(&name),
                };
                return true;
            }
        }
        false
    }

    /// Everything answers and can be looked at again; what is other than it was stays so.
    pub(crate) const fn heal(&mut self) {
        self.servers = [Server::Answers; 2];
        self.folder = Folder::Watched;
    }

    pub(crate) fn scan(&self, now: Mono) -> Scan {
        let watched = match self.folder {
            Folder::Watched => Ok(()),
            Folder::Unwatched | Folder::Failing => Err("no watches are left".to_owned()),
        };
        let sight = match self.folder {
            Folder::Watched | Folder::Unwatched => {
                let files = self.hooks.iter().map(|(name, hook)| found(*name, *hook, now));
                Sight::Found { files: files.collect(), crowded: false }
            }
            Folder::Failing => Sight::Failed("too many open files".to_owned()),
        };
        Scan { sight, watched }
    }

    pub(crate) fn measure(&self) -> Measured {
        let key = |fingerprint| HostKey { path: HOST_KEY.to_owned(), fingerprint };
        Measured {
            image: PROGRAM.to_owned(),
            checksum: Ok(self.image()),
            host_key: match self.host_key {
                KeyFile::Absent => None,
                KeyFile::Unreadable => Some(key(Err("permission denied".to_owned()))),
                KeyFile::Key(content) => {
                    let fingerprint = Fingerprint::parse(&fingerprint(content));
                    Some(key(fingerprint.map_err(|fault| fault.to_string())))
                }
            },
        }
    }

    /// The digest and the version of the program's file.
    pub(crate) const fn image(&self) -> Checksum {
        Checksum::from_bytes(digest(PROGRAM, self.program.0))
    }

    pub(crate) fn version(&self) -> String {
        format!("0.1.{}", self.program.1)
    }

    /// What each of the servers tells.
    pub(crate) fn seen(&self) -> Vec<Result<Seen, String>> {
        let told = |number: u8| {
            let mapped = match self.servers[usize::from(number)] {
                Server::Fails => return Err("no answer within the timeout".to_owned()),
                Server::Lies => addr([127, 0, 0, 1], 40_000),
                Server::Answers => self.endpoint(number),
            };
            Ok(Seen { server: addr([192, 0, 2, 10 + number], 3478), mapped })
        };
        vec![told(0), told(1)]
    }

    /// Where a server sees it that answers.
    pub fn endpoint(&self, server: u8) -> PeerAddr {
        let port = 40_000 + u16::from(self.is_symmetric) * u16::from(server);
        addr([203, 0, 113, self.place], port)
    }

    /// Whether a server does not answer, which is learnt at the end of its timeout.
    pub(crate) fn is_deaf(&self) -> bool {
        self.servers.contains(&Server::Fails)
    }

    /// The hooks that are there, with their digests as the wire has them.
    pub fn hooks(&self) -> impl Iterator<Item = (&'static str, String)> {
        let told = |(name, (content, _)): (&u8, &(u8, Mono))| {
            let name = hook_name(*name);
            (name, base64_text(&digest(name, *content)))
        };
        self.hooks.iter().map(told)
    }
}

const fn hook_name(name: u8) -> &'static str {
    HOOKS[name as usize % HOOKS.len()]
}

fn found(name: u8, (content, changed): (u8, Mono), now: Mono) -> FoundHook {
    let name = hook_name(name);
    let is_settled = changed == Mono::default() || now.since(changed) >= UNSETTLED;
    let digest = Checksum::from_bytes(digest(name, content));
    let found = match is_settled {
        true => FoundProgram::Whole { digest, sidecar: FoundSidecar::Absent },
        false => FoundProgram::Unsettled,
    };
    FoundHook { name: name.to_owned(), found }
}

/// Of a content of this file.
pub const fn digest(of: &str, content: u8) -> [u8; 32] {
    let mut bytes = [of.as_bytes()[0]; 32];
    bytes[1] = content;
    bytes[2] = of.len() as u8;
    bytes
}

/// A digest as the wire has it.
pub fn on_wire(digest: Checksum) -> String {
    from_hex(&digest.to_hex())
}

/// A digest as the wire has it, of what the disk has.
pub fn from_hex(hex: &str) -> String {
    let digit = |at: usize| hex.get(at..at + 2).and_then(|text| u8::from_str_radix(text, 16).ok());
    let bytes: Vec<_> = (0..hex.len()).step_by(2).filter_map(digit).collect();
    base64_text(&bytes)
}

/// Of a host key of this content.
pub fn fingerprint(content: u8) -> String {
    format!("SHA256:{}", base64_text(&digest(HOST_KEY, content)).trim_end_matches('='))
}

fn addr(ip: [u8; 4], port: u16) -> PeerAddr {
    PeerAddr::from(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(ip)), port))
}
