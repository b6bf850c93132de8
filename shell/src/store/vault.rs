//! The orders on the data directory, in the sequence that makes `identity.json` the record that all else is complete.
//!
//! Specification: "Persisted identity (in DataDir)" and "Mesh key rotation".

use std::io;

use meshward_core::{
    agent::{Finding, Memory, StagedFile},
    secret::Secret,
    wire::{
        grammar::PublicKey,
        identity::{Files, Flaw, Found as Content, IdentityFile, KeyFile},
    },
};
use thiserror::Error;
use tracing::warn;

use super::{
    disk::{Disk, Found},
    keys::PrivateKey,
    leftovers::Leftovers,
};

pub(super) const IDENTITY: &str = "identity.json";
pub(super) const NODE_SECRET_KEY: &str = "node_secret_key";
pub(super) const PRIVATE_KEY: &str = "private_key";
pub(super) const SIGNING_PUBLIC_KEY: &str = "signing_public_key";
pub(super) const STAGED_KEY: &str = "rotation_pending_key";
pub(super) const SHELVED_KEY: &str = "rotation_discarded_key";

/// The files that are moved aside, the record first.
pub(super) const FILES: [&str; 6] =
    [IDENTITY, PRIVATE_KEY, NODE_SECRET_KEY, SIGNING_PUBLIC_KEY, STAGED_KEY, SHELVED_KEY];

/// What the name of a half-written file begins with.
pub(super) const UNFINISHED: &str = ".tmp-";

/// How many folders of one second are told apart.
const FOLDERS_A_SECOND_MAX: u32 = 100;

/// An operation that the disk refused.
#[derive(Debug, Error)]
#[error("cannot {doing} {name}")]
pub(super) struct Fault {
    pub(super) doing: &'static str,
    pub(super) name: String,
    #[source]
    pub(super) source: io::Error,
}

impl Fault {
    pub(super) fn is_of_a_folder(&self) -> bool {
        self.source.kind() == io::ErrorKind::IsADirectory
    }
}

/// Names the operation that failed.
pub(super) trait Context<T> {
    fn doing(self, doing: &'static str, name: &str) -> Result<T, Fault>;
}

impl<T> Context<T> for io::Result<T> {
    fn doing(self, doing: &'static str, name: &str) -> Result<T, Fault> {
        self.map_err(|source| Fault { doing, name: name.to_owned(), source })
    }
}

/// A key file as it was found.
enum Key {
    Missing,
    Broken(Flaw),
    Sound(PrivateKey),
}

pub(super) struct Vault<D> {
    pub(super) disk: D,
    /// Until it is told.
    pub(super) leftovers: Leftovers,
    /// What opening it met; until it is told.
    pub(super) findings: Vec<Finding>,
    /// Room is taken, and not used yet.
    pub(super) has_room: bool,
}

impl<D: Disk> Vault<D> {
    /// Takes a directory over: what an earlier process left half-written goes, what it left un-synced is made durable.
    pub(super) fn open(mut disk: D) -> Result<Self, Fault> {
        let mut leftovers = Leftovers::clear(&mut disk)?;
        // Nothing can be written there, which must come out before a token is spent.
        if let Some(folder) = leftovers.take_folder() {
            return Err(folder);
        }
        let mut vault = Self { disk, leftovers, findings: Vec::new(), has_room: false };
        let found = vault.restore()?;
        vault.findings.extend(found);
        Ok(vault)
    }

    #[cfg(test)]
    pub(super) const fn disk(&mut self) -> &mut D {
        &mut self.disk
    }

    /// Takes nothing over: for a look alone.
    pub(super) fn glance(disk: D) -> Self {
        Self { disk, leftovers: Leftovers::default(), findings: Vec::new(), has_room: false }
    }

    /// Reads what the directory holds.
    pub(super) fn remember(&mut self) -> Result<Memory, Fault> {
        Ok(Memory {
            files: Files {
                identity: self.content(IDENTITY)?,
                node_secret_key: match self.text(NODE_SECRET_KEY)? {
                    Content::Missing => Content::Missing,
                    Content::Foreign(kind) => Content::Foreign(kind),
                    Content::Content(text) => Content::Content(Secret::new(text)),
                },
                signing_public_key: self.text(SIGNING_PUBLIC_KEY)?,
                private_key: match self.key(PRIVATE_KEY)? {
                    Key::Missing => KeyFile::Missing,
                    Key::Broken(flaw) => KeyFile::Broken(flaw),
                    Key::Sound(_) => KeyFile::Sound,
                },
            },
            staged: self.staged()?,
            state: Vec::new(),
            findings: std::mem::take(&mut self.findings),
        })
    }

    pub(super) fn staged(&mut self) -> Result<StagedFile, Fault> {
        Ok(match self.key(STAGED_KEY)? {
            Key::Missing => StagedFile::Missing,
            Key::Broken(flaw) => StagedFile::Broken(flaw),
            Key::Sound(key) => {
                key.public().map_or(StagedFile::Broken(Flaw::NoKey), StagedFile::Key)
            }
        })
    }

    /// Moves the record first: without it the others are no identity, whatever becomes of them.
    pub(super) fn set_aside(&mut self, time: &str) -> Result<(), Fault> {
        let mut left = Vec::new();
        for name in FILES {
            if !matches!(self.disk.read(name).doing("read", name)?, Found::Missing) {
                left.push(name);
            }
        }
        if left.is_empty() {
            return self.disk.sync().doing("sync", ".");
        }
        let folder = self.fresh_folder(&format!("corrupt-{time}"))?;
        for name in left {
            self.disk.move_into(name, &folder).doing("move aside", name)?;
            self.disk.sync_folder(&folder).doing("sync", &folder)?;
            self.disk.sync().doing("sync", ".")?;
        }
        Ok(())
    }

    /// Makes a folder of this name, or of one with a number behind it.
    pub(super) fn fresh_folder(&mut self, name: &str) -> Result<String, Fault> {
        let mut folder = name.to_owned();
        for number in 2..FOLDERS_A_SECOND_MAX {
            match self.disk.make_folder(&folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    folder = format!("{name}-{number}");
                }
                made => {
                    made.doing("create", &folder)?;
                    break;
                }
            }
        }
        self.disk.sync().doing("sync", ".")?;
        Ok(folder)
    }

    /// Takes the room that the answer to a registration will need, and writes a new private key. An identity that is there would lose its own key, so this is refused beside one; what
    /// an interrupted [`Vault::set_aside`] left is moved first.
    pub(super) fn make_key(&mut self, time: &str) -> Result<PublicKey, Fault> {
        if !matches!(self.disk.read(IDENTITY).doing("read", IDENTITY)?, Found::Missing) {
            let cause = io::Error::other("identity.json stands beside it and needs the old key");
            return Err(cause).doing("write", PRIVATE_KEY);
        }
        if self.has_remains()? {
            self.set_aside(time)?;
        }
        self.take_room()?;
        let made = self.write_key(PRIVATE_KEY);
        if made.is_err() {
            self.leave_room();
        }
        made
    }

    /// Whether there is what a first registration never meets.
    fn has_remains(&mut self) -> Result<bool, Fault> {
        for name in FILES {
            let remains = match self.disk.read(name).doing("read", name)? {
                Found::Missing => false,
                Found::Foreign(_) => true,
                Found::Bytes(_) => matches!(name, STAGED_KEY | SHELVED_KEY),
            };
            if remains {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn write_key(&mut self, name: &'static str) -> Result<PublicKey, Fault> {
        let key =
            PrivateKey::generate().map_err(io::Error::other).doing("draw the key for", name)?;
        let public = key
            .public()
            .ok_or_else(|| io::Error::other("the public key is all zero"))
            .doing("draw the key for", name)?;
        self.replace(name, key.text().as_bytes())?;
        Ok(public)
    }

    /// Stages a key unless one is staged, whose public half the control plane may already hold; so it may that of a key
    /// that was put aside, which therefore comes first.
    pub(super) fn stage(&mut self) -> Result<PublicKey, Fault> {
        if let Key::Sound(key) = self.key(STAGED_KEY)?
            && let Some(public) = key.public()
        {
            self.disk.sync().doing("sync", ".")?;
            return Ok(public);
        }
        if let Key::Sound(key) = self.key(SHELVED_KEY)?
            && let Some(public) = key.public()
        {
            self.disk.rename(SHELVED_KEY, STAGED_KEY).doing("stage", SHELVED_KEY)?;
            self.disk.sync().doing("sync", ".")?;
            return Ok(public);
        }
        self.write_key(STAGED_KEY)
    }

    /// Promotes the staged key, records the rotation, and only then forgets the staged file; doing it again after an
    /// interruption anywhere gives the same end.
    pub(super) fn commit(&mut self, record: &IdentityFile) -> Result<(), Fault> {
        match self.key(STAGED_KEY)? {
            Key::Sound(key) => self.replace(PRIVATE_KEY, key.text().as_bytes())?,
            Key::Missing => self.require_promoted()?,
            Key::Broken(_) => {
                return Err(io::Error::other("it holds no key")).doing("promote", STAGED_KEY);
            }
        }
        self.replace(IDENTITY, &record.encode())?;
        self.discard()?;
        self.remove(SHELVED_KEY)
    }

    fn require_promoted(&mut self) -> Result<(), Fault> {
        match self.key(PRIVATE_KEY)? {
            Key::Sound(_) => Ok(()),
            Key::Missing | Key::Broken(_) => {
                Err(io::Error::other("it is missing, and private_key holds no key"))
                    .doing("promote", STAGED_KEY)
            }
        }
    }

    pub(super) fn discard(&mut self) -> Result<(), Fault> {
        self.remove(STAGED_KEY)
    }

    /// Puts the staged key aside; one that is aside already is as good.
    pub(super) fn shelve(&mut self) -> Result<(), Fault> {
        match self.disk.rename(STAGED_KEY, SHELVED_KEY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed.doing("put aside", STAGED_KEY)?,
        }
        self.disk.sync().doing("sync", ".")
    }

    fn remove(&mut self, name: &str) -> Result<(), Fault> {
        match self.disk.unlink(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            unlinked => unlinked.doing("remove", name)?,
        }
        self.disk.sync().doing("sync", ".")
    }

    /// Puts new content under a name so that a reader at any time, and after any crash, finds the old or the new whole.
    pub(super) fn replace(&mut self, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        self.put(name, bytes)?;
        self.disk.sync().doing("sync", ".")
    }

    /// The same, but that a power failure may undo it until the next `sync`.
    pub(super) fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        let unfinished = format!("{UNFINISHED}{name}");
        let written = write_anew(&mut self.disk, &unfinished, bytes)
            .and_then(|()| self.disk.rename(&unfinished, name).doing("write", name));
        if let Err(fault) = written {
            if let Err(error) = self.disk.unlink(&unfinished)
                && error.kind() != io::ErrorKind::NotFound
            {
                warn!("cannot remove the half-written file {unfinished}: {error}");
            }
            // Of a folder that stands in the way the operator has to know where.
            return Err(match fault.is_of_a_folder() {
                true => fault,
                false => Fault { name: name.to_owned(), ..fault },
            });
        }
        Ok(())
    }

    fn key(&mut self, name: &str) -> Result<Key, Fault> {
        Ok(match self.disk.read(name).doing("read", name)? {
            Found::Missing => Key::Missing,
            Found::Foreign(kind) => Key::Broken(Flaw::Foreign(kind)),
            Found::Bytes(bytes) => PrivateKey::parse(&bytes)
                .map_or_else(|| Key::Broken(Flaw::of_key(&bytes)), Key::Sound),
        })
    }

    fn content(&mut self, name: &str) -> Result<Content<Vec<u8>>, Fault> {
        Ok(match self.disk.read(name).doing("read", name)? {
            Found::Missing => Content::Missing,
            Found::Foreign(kind) => Content::Foreign(kind),
            Found::Bytes(bytes) => Content::Content(bytes.to_vec()),
        })
    }

    fn text(&mut self, name: &str) -> Result<Content<String>, Fault> {
        Ok(match self.content(name)? {
            Content::Missing => Content::Missing,
            Content::Foreign(kind) => Content::Foreign(kind),
            Content::Content(bytes) => {
                String::from_utf8(bytes).map_or(Content::Foreign("not text"), Content::Content)
            }
        })
    }
}

/// Writes a file whole and makes its content durable; one that is half-written there already is replaced.
pub(super) fn write_anew<D: Disk>(disk: &mut D, name: &str, bytes: &[u8]) -> Result<(), Fault> {
    let mut file = match disk.create(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            disk.unlink(name).doing("remove", name)?;
            disk.create(name).doing("write", name)?
        }
        created => created.doing("write", name)?,
    };
    disk.write(&mut file, bytes).doing("write", name)?;
    disk.sync_file(&mut file).doing("write", name)
}
