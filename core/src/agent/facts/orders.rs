//! What the data directory held, and the changes that are ordered of it.

use alloc::{boxed::Box, string::String, vec::Vec};

use super::{findings::Finding, kept::FoundFile};
use crate::{
    backoff::Jitter,
    wire::{
        grammar::PublicKey,
        identity::{Files, Flaw, Identity, IdentityFile, TokenDigest},
        timestamp::Timestamp,
    },
};

/// What the data directory held at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub files: Files,
    pub staged: StagedFile,
    /// What is kept below `state/`.
    pub state: Vec<FoundFile>,
    pub findings: Vec<Finding>,
}

/// `rotation_pending_key` as its reader found it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StagedFile {
    #[default]
    Missing,
    /// Unreadable as a key. It is written whole before any request, so no request was made with it.
    Broken(Flaw),
    /// The public half of the staged key.
    Key(PublicKey),
}

/// A change of the data directory. Each is atomic: it happened whole, or the next start sees it undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Move identity files that make no identity out of the way, into a folder beside them.
    SetAside { at: Timestamp },
    /// Move the files of a sound identity into a folder beside the data directory, to be put back by
    /// [`Order::Restore`] or by the next start, unless [`Order::Persist`] comes first.
    Retire { at: Timestamp },
    /// Put back what [`Order::Retire`] moved, the record last.
    Restore,
    /// Take the room on the disk that [`Order::Persist`] will need, generate the private key and write `private_key`;
    /// remains that are in the way are moved aside.
    MakeKey { at: Timestamp },
    /// Write `node_secret_key`, `signing_public_key`, then `identity.json`, which says that all are complete, into the
    /// room that was taken for them.
    Persist(Box<Identity>),
    /// Remove the token file while it holds this token.
    ForgetToken(TokenDigest),
    /// Write `rotation_pending_key`: what stands there already, else the key that was put aside, else a new one.
    Stage,
    /// Put the staged key in the place of `private_key`, write `identity.json`, remove `rotation_pending_key` and what
    /// was put aside before.
    Commit(Box<IdentityFile>),
    /// Remove `rotation_pending_key`.
    Discard,
    /// Put `rotation_pending_key` aside as `rotation_discarded_key`.
    Shelve,
}

/// How an [`Order`] ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// After [`Order::MakeKey`].
    KeyMade(PublicKey),
    /// After [`Order::Persist`].
    Persisted,
    /// After [`Order::Stage`].
    Staged(PublicKey),
    /// After [`Order::Commit`].
    Committed,
    /// After [`Order::Retire`].
    Retired { folder: String },
    /// After [`Order::Restore`]; what of a rotation came back.
    Restored(StagedFile),
    /// After [`Order::ForgetToken`], where the file was there and held the token.
    TokenRemoved { file: String },
    /// After an order whose success needs no word.
    Done,
    /// The disk refused; the text tells the path and the cause.
    Failed { order: OrderKind, jitter: Jitter, reason: String },
}

/// Names an [`Order`] without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderKind {
    SetAside,
    Retire,
    Restore,
    MakeKey,
    Persist,
    ForgetToken,
    Stage,
    Commit,
    Discard,
    Shelve,
}

impl Order {
    pub const fn kind(&self) -> OrderKind {
        match self {
            Self::SetAside { .. } => OrderKind::SetAside,
            Self::Retire { .. } => OrderKind::Retire,
            Self::Restore => OrderKind::Restore,
            Self::MakeKey { .. } => OrderKind::MakeKey,
            Self::Persist(_) => OrderKind::Persist,
            Self::ForgetToken(_) => OrderKind::ForgetToken,
            Self::Stage => OrderKind::Stage,
            Self::Commit(_) => OrderKind::Commit,
            Self::Discard => OrderKind::Discard,
            Self::Shelve => OrderKind::Shelve,
        }
    }
}
