//! The agent's disk: each order is a row of single writes, and a crash may fall between any two.
//!
//! A private key is stood for by its public half; what matters is which one is where.

use std::collections::BTreeMap;

use meshward_core::{
    agent::{
        Change, Content, FoundContent, FoundFile, Memory, Order, StagedFile, StateFile, Stored,
    },
    secret::Secret,
    wire::{
        grammar::PublicKey,
        identity::{Files, Identity, KeyFile},
    },
};

/// What survives a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    pub identity: Option<Vec<u8>>,
    pub node_secret_key: Option<Secret<String>>,
    pub signing_public_key: Option<String>,
    pub private_key: Option<PublicKey>,
    pub staged: Option<PublicKey>,
    /// Files below `state/`.
    pub state: BTreeMap<StateFile, Vec<u8>>,
}

/// One durable write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    Identity(Option<Vec<u8>>),
    NodeSecretKey(Option<Secret<String>>),
    SigningPublicKey(Option<String>),
    PrivateKey(Option<PublicKey>),
    Staged(Option<PublicKey>),
}

impl Disk {
    /// What a start reads.
    pub fn remember(&self) -> Memory {
        Memory {
            files: Files {
                identity: self.identity.clone(),
                node_secret_key: self.node_secret_key.clone(),
                signing_public_key: self.signing_public_key.clone(),
                private_key: if self.private_key.is_some() {
                    KeyFile::Sound
                } else {
                    KeyFile::Missing
                },
            },
            staged: self.staged.map_or(StagedFile::Missing, StagedFile::Key),
            state: self.found(),
        }
    }

    fn found(&self) -> Vec<FoundFile> {
        let files = self.state.iter().map(|(file, bytes)| FoundFile {
            file: file.clone(),
            content: FoundContent::Bytes(Content(bytes.clone())),
        });
        files.collect()
    }

    /// Changes a file below `state/`, whole and at once.
    pub fn keep(&mut self, file: &StateFile, change: Change) {
        match change {
            Change::Write(Content(bytes)) => {
                self.state.insert(file.clone(), bytes);
            }
            Change::Remove => {
                self.state.remove(file);
            }
            Change::Rename(name) => {
                let bytes = self.state.remove(file).unwrap_or_default();
                self.state.insert(StateFile { name, ..file.clone() }, bytes);
            }
        }
    }

    /// The identity that a start would find.
    pub fn identity(&self) -> Option<Identity> {
        Identity::load(&self.remember().files).ok().flatten()
    }

    /// The writes of an order, in their sequence, or why the store refuses it; `fresh` is the key drawn for an order
    /// that makes one.
    pub fn plan(&self, order: &Order, fresh: PublicKey) -> Result<Vec<Write>, &'static str> {
        Ok(match order {
            Order::SetAside => self.aside(),
            Order::MakeKey if self.identity.is_some() => {
                return Err("identity.json stands beside it and needs the old key");
            }
            Order::MakeKey if self.staged.is_some() => {
                self.aside().into_iter().chain([Write::PrivateKey(Some(fresh))]).collect()
            }
            Order::MakeKey => vec![Write::PrivateKey(Some(fresh))],
            Order::Persist(identity) => vec![
                Write::NodeSecretKey(Some(identity.key.to_text())),
                Write::SigningPublicKey(Some(identity.file.signing_public_key.clone())),
                Write::Identity(Some(identity.file.encode())),
            ],
            Order::ForgetToken => Vec::new(),
            Order::Stage if self.staged.is_some() => Vec::new(),
            Order::Stage => vec![Write::Staged(Some(fresh))],
            Order::Commit(_) if self.staged.is_none() && self.private_key.is_none() => {
                return Err("no key is staged, and private_key holds none");
            }
            Order::Commit(file) => {
                let promoted = self.staged.map(|staged| Write::PrivateKey(Some(staged)));
                promoted
                    .into_iter()
                    .chain([Write::Identity(Some(file.encode())), Write::Staged(None)])
                    .collect()
            }
            Order::Discard => vec![Write::Staged(None)],
        })
    }

    /// The record goes first: without it the others are no identity.
    fn aside(&self) -> Vec<Write> {
        vec![
            Write::Identity(None),
            Write::PrivateKey(None),
            Write::NodeSecretKey(None),
            Write::SigningPublicKey(None),
            Write::Staged(None),
        ]
    }

    pub fn write(&mut self, write: Write) {
        match write {
            Write::Identity(content) => self.identity = content,
            Write::NodeSecretKey(content) => self.node_secret_key = content,
            Write::SigningPublicKey(content) => self.signing_public_key = content,
            Write::PrivateKey(content) => self.private_key = content,
            Write::Staged(content) => self.staged = content,
        }
    }

    /// What the agent is told when all writes of an order are done.
    pub fn done(&self, order: &Order) -> Stored {
        match order {
            Order::MakeKey => self.private_key.map_or(Stored::Done, Stored::KeyMade),
            Order::Persist(_) => Stored::Persisted,
            Order::Stage => self.staged.map_or(Stored::Done, Stored::Staged),
            Order::Commit(_) => Stored::Committed,
            Order::SetAside | Order::ForgetToken | Order::Discard => Stored::Done,
        }
    }
}

impl Write {
    /// The file that is written.
    pub const fn file(&self) -> &'static str {
        match self {
            Self::Identity(_) => "identity.json",
            Self::NodeSecretKey(_) => "node_secret_key",
            Self::SigningPublicKey(_) => "signing_public_key",
            Self::PrivateKey(_) => "private_key",
            Self::Staged(_) => "rotation_pending_key",
        }
    }
}
