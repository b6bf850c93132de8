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
        identity::{Files, Found, Identity, KeyFile},
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
    /// A key that was put aside.
    pub shelved: Option<PublicKey>,
    /// The folder of a refused identity, while neither it nor a new one is settled.
    pub refused: Option<Box<Self>>,
}

/// A file of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    Identity,
    PrivateKey,
    NodeSecretKey,
    SigningPublicKey,
    Staged,
    Shelved,
}

impl File {
    /// The record first.
    const ALL: [Self; 6] = [
        Self::Identity,
        Self::PrivateKey,
        Self::NodeSecretKey,
        Self::SigningPublicKey,
        Self::Staged,
        Self::Shelved,
    ];
}

/// One durable write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    Identity(Option<Vec<u8>>),
    NodeSecretKey(Option<Secret<String>>),
    SigningPublicKey(Option<String>),
    PrivateKey(Option<PublicKey>),
    Staged(Option<PublicKey>),
    /// The staged key is put aside.
    Shelve,
    /// The key that was put aside is the staged one again.
    Unshelve,
    Shelved(Option<PublicKey>),
    /// The note of a refused identity is written.
    Note,
    MoveOut(File),
    MoveBack(File),
    /// The note goes; what is in the folder stays there for good.
    Settle,
}

impl Disk {
    /// What a start reads.
    pub fn remember(&self) -> Memory {
        Memory {
            files: Files {
                identity: found(&self.identity),
                node_secret_key: found(&self.node_secret_key),
                signing_public_key: found(&self.signing_public_key),
                private_key: if self.private_key.is_some() {
                    KeyFile::Sound
                } else {
                    KeyFile::Missing
                },
            },
            staged: self.staged.map_or(StagedFile::Missing, StagedFile::Key),
            state: self.found(),
            ..Memory::default()
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

    /// Whether a start finds an identity that it cannot read, now or when a refused one is back.
    pub fn is_damaged(&self) -> bool {
        match &self.identity {
            Some(_) => self.identity().is_none(),
            None => self.refused.as_ref().is_some_and(|refused| refused.is_damaged()),
        }
    }

    /// The writes of an order, in their sequence, or why the store refuses it; `fresh` is the key drawn for an order
    /// that makes one.
    pub fn plan(&self, order: &Order, fresh: PublicKey) -> Result<Vec<Write>, &'static str> {
        Ok(match order {
            Order::SetAside { .. } => self.aside(),
            Order::Retire { .. } => [Write::Note]
                .into_iter()
                .chain(File::ALL.into_iter().filter(|file| self.has(*file)).map(Write::MoveOut))
                .collect(),
            Order::Restore => self.back(),
            Order::MakeKey { .. } if self.identity.is_some() => {
                return Err("identity.json stands beside it and needs the old key");
            }
            Order::MakeKey { .. } if self.staged.is_some() || self.shelved.is_some() => {
                self.aside().into_iter().chain([Write::PrivateKey(Some(fresh))]).collect()
            }
            Order::MakeKey { .. } => vec![Write::PrivateKey(Some(fresh))],
            Order::Persist(identity) => [
                Write::NodeSecretKey(Some(identity.key.to_text())),
                Write::SigningPublicKey(Some(identity.file.signing_public_key.clone())),
                Write::Identity(Some(identity.file.encode())),
            ]
            .into_iter()
            .chain(self.refused.is_some().then_some(Write::Settle))
            .collect(),
            Order::ForgetToken(_) => Vec::new(),
            Order::Stage if self.staged.is_some() => Vec::new(),
            Order::Stage if self.shelved.is_some() => vec![Write::Unshelve],
            Order::Shelve if self.staged.is_none() => Vec::new(),
            Order::Shelve => vec![Write::Shelve],
            Order::Stage => vec![Write::Staged(Some(fresh))],
            Order::Commit(_) if self.staged.is_none() && self.private_key.is_none() => {
                return Err("no key is staged, and private_key holds none");
            }
            Order::Commit(file) => {
                let promoted = self.staged.map(|staged| Write::PrivateKey(Some(staged)));
                promoted
                    .into_iter()
                    .chain([Write::Identity(Some(file.encode())), Write::Staged(None)])
                    .chain(self.shelved.map(|_| Write::Shelved(None)))
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
            Write::Shelved(None),
        ]
    }

    /// What puts a refused identity back, unless a new one has its place.
    fn back(&self) -> Vec<Write> {
        let Some(refused) = &self.refused else { return Vec::new() };
        let kept = File::ALL.into_iter().rev().filter(|file| refused.has(*file));
        let back: Vec<_> = match self.identity {
            Some(_) => Vec::new(),
            None => kept.map(Write::MoveBack).collect(),
        };
        back.into_iter().chain([Write::Settle]).collect()
    }

    /// What a start does before it reads anything.
    pub fn recover(&mut self) {
        self.back().into_iter().for_each(|write| self.write(write));
    }

    const fn has(&self, file: File) -> bool {
        match file {
            File::Identity => self.identity.is_some(),
            File::PrivateKey => self.private_key.is_some(),
            File::NodeSecretKey => self.node_secret_key.is_some(),
            File::SigningPublicKey => self.signing_public_key.is_some(),
            File::Staged => self.staged.is_some(),
            File::Shelved => self.shelved.is_some(),
        }
    }

    /// Moves a file from one folder to another, in the place of what is there.
    fn give(&mut self, file: File, to: &mut Self) {
        match file {
            File::Identity => to.identity = self.identity.take(),
            File::PrivateKey => to.private_key = self.private_key.take(),
            File::NodeSecretKey => to.node_secret_key = self.node_secret_key.take(),
            File::SigningPublicKey => to.signing_public_key = self.signing_public_key.take(),
            File::Staged => to.staged = self.staged.take(),
            File::Shelved => to.shelved = self.shelved.take(),
        }
    }

    pub fn write(&mut self, write: Write) {
        match write {
            Write::Note => self.refused = Some(Box::default()),
            Write::MoveOut(file) => {
                let mut refused = self.refused.take().unwrap_or_default();
                self.give(file, &mut refused);
                self.refused = Some(refused);
            }
            Write::MoveBack(file) => {
                let mut refused = self.refused.take().unwrap_or_default();
                refused.give(file, self);
                self.refused = Some(refused);
            }
            Write::Settle => self.refused = None,
            Write::Identity(content) => self.identity = content,
            Write::NodeSecretKey(content) => self.node_secret_key = content,
            Write::SigningPublicKey(content) => self.signing_public_key = content,
            Write::PrivateKey(content) => self.private_key = content,
            Write::Staged(content) => self.staged = content,
            Write::Shelved(content) => self.shelved = content,
            Write::Shelve => self.shelved = self.staged.take(),
            Write::Unshelve => self.staged = self.shelved.take(),
        }
    }

    /// What the agent is told when all writes of an order are done.
    pub fn done(&self, order: &Order) -> Stored {
        match order {
            Order::MakeKey { .. } => self.private_key.map_or(Stored::Done, Stored::KeyMade),
            Order::Persist(_) => Stored::Persisted,
            Order::Stage => self.staged.map_or(Stored::Done, Stored::Staged),
            Order::Commit(_) => Stored::Committed,
            Order::Retire { .. } => Stored::Retired { folder: "refused".to_owned() },
            Order::Restore => Stored::Restored(self.remember().staged),
            Order::SetAside { .. } | Order::ForgetToken(_) | Order::Discard | Order::Shelve => {
                Stored::Done
            }
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
            Self::Shelved(_) | Self::Shelve | Self::Unshelve => "rotation_discarded_key",
            Self::Note | Self::Settle => "refused_identity",
            Self::MoveOut(_) => "moved out",
            Self::MoveBack(_) => "moved back",
        }
    }
}

fn found<T: Clone>(content: &Option<T>) -> Found<T> {
    content.clone().map_or(Found::Missing, Found::Content)
}
