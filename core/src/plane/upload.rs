//! Presigned uploads: each minted token takes the output of one execution, once.
//!
//! | State | Trigger | Next | Also |
//! |---|---|---|---|
//! | issued | a PUT with its token, for its execution, within the declared size | used | the bytes are kept |
//! | issued | a PUT that is too large or breaks off | issued | refused, may be tried again |
//! | used | any further PUT | used | refused |
//!
//! Specification: "Output upload" and "PUT /exec-output/{eid}".

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use thiserror::Error;

use crate::{
    ids::ExecutionId,
    step::Step,
    time::Now,
    wire::{
        grammar::sha256_hex,
        http::{Body, UNREADABLE, percent_encode},
    },
};

/// The most tokens that are kept.
pub const TOKENS_MAX: usize = 1 << 16;

/// The most bytes that all uploads together may hold.
pub const STORED_MAX: usize = 2 << 30;

/// The serial number of a minted token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(u64);

impl Token {
    const PREFIX: &'static str = "exec-upload-";

    /// Reads a token in the one spelling it is written in.
    pub fn parse(text: &str) -> Option<Self> {
        let token = Self(text.strip_prefix(Self::PREFIX)?.parse().ok()?);
        (token.to_string() == text).then_some(token)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:04}", Self::PREFIX, self.0)
    }
}

/// A fact for the uploads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A node announced output of this size.
    Declared { execution: ExecutionId, bytes: u64 },
    /// Bytes came for an execution under a token, which is `None` where the query had no good one.
    Put { execution: ExecutionId, token: Option<Token>, body: Body },
}

/// An order of the uploads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Hand out a fresh token.
    Issue(Token),
    /// Confirm the bytes.
    Accept,
    Refuse(Refusal),
}

/// Why an upload is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("no upload was issued for this token and execution")]
    Unknown,
    #[error("this upload URL has been used")]
    Used,
    #[error("the body is over the declared size")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the store of uploads is full; POST /test/reset empties it")]
    Full,
}

/// Bytes that a node uploaded.
#[derive(Clone, PartialEq, Eq)]
struct Received {
    bytes: Vec<u8>,
    sha256: String,
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes.len())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Issued,
    Used(Received),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Upload {
    execution: ExecutionId,
    declared: u64,
    phase: Phase,
}

/// Every token issued, and what came under it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uploads {
    issued: BTreeMap<Token, Upload>,
    stored: usize,
}

impl Uploads {
    /// Moves on one input.
    pub fn step(self, _now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Declared { execution, bytes } => self.issue(execution, bytes),
            Input::Put { execution, token, body } => self.put(&execution, token, body),
        }
    }

    fn issue(mut self, execution: ExecutionId, declared: u64) -> Step<Self, Effect> {
        if self.issued.len() >= TOKENS_MAX {
            return Step::to(self).emit(Effect::Refuse(Refusal::Full));
        }
        let token = Token(self.issued.len() as u64 + 1);
        self.issued.insert(token, Upload { execution, declared, phase: Phase::Issued });
        Step::to(self).emit(Effect::Issue(token))
    }

    fn put(
        mut self,
        execution: &ExecutionId,
        token: Option<Token>,
        body: Body,
    ) -> Step<Self, Effect> {
        let effect = match self.admit(execution, token, body) {
            Ok(()) => Effect::Accept,
            Err(refusal) => Effect::Refuse(refusal),
        };
        Step::to(self).emit(effect)
    }

    fn admit(
        &mut self,
        execution: &ExecutionId,
        token: Option<Token>,
        body: Body,
    ) -> Result<(), Refusal> {
        let upload = token
            .and_then(|token| self.issued.get_mut(&token))
            .filter(|upload| upload.execution == *execution)
            .ok_or(Refusal::Unknown)?;
        if matches!(upload.phase, Phase::Used(_)) {
            return Err(Refusal::Used);
        }
        let bytes = match body {
            Body::Whole(bytes) if bytes.len() as u64 <= upload.declared => bytes,
            Body::Whole(_) | Body::Oversized => return Err(Refusal::TooLarge),
            Body::Unreadable => return Err(Refusal::Unreadable),
        };
        self.stored = with(self.stored, bytes.len()).ok_or(Refusal::Full)?;
        upload.phase = Phase::Used(Received { sha256: sha256_hex(&bytes), bytes });
        Ok(())
    }

    /// Whether bytes with this digest came for the execution under this object key; the segment may stand in the
    /// key as it is or percent-encoded, as in the upload URL.
    pub fn holds(&self, execution: &ExecutionId, object_key: &str, sha256: &str) -> bool {
        let named = object_key.strip_prefix("exec-output/").is_some_and(|segment| {
            segment == execution.0 || segment == percent_encode(&execution.0)
        });
        named && self.received(execution).any(|received| received.sha256 == sha256)
    }

    /// How many bytes all uploads hold.
    pub const fn stored(&self) -> usize {
        self.stored
    }

    /// The bytes that came last for an execution.
    pub fn output<'u>(&'u self, execution: &ExecutionId) -> Option<&'u [u8]> {
        self.received(execution).next_back().map(|received| received.bytes.as_slice())
    }

    /// How many bytes an upload under this token may still bring; `None` where it would be refused anyway.
    pub fn room(&self, execution: &ExecutionId, token: Option<Token>) -> Option<u64> {
        let upload = self.issued.get(&token?)?;
        (upload.execution == *execution && upload.phase == Phase::Issued).then_some(upload.declared)
    }

    /// What came for an execution, by the order of its tokens.
    fn received<'u>(
        &'u self,
        execution: &ExecutionId,
    ) -> impl DoubleEndedIterator<Item = &'u Received> {
        self.issued.values().filter(move |upload| upload.execution == *execution).filter_map(
            |upload| match &upload.phase {
                Phase::Issued => None,
                Phase::Used(received) => Some(received),
            },
        )
    }
}

/// The bytes held once these have come too; `None` where they would be more than [`STORED_MAX`].
pub fn with(stored: usize, more: usize) -> Option<usize> {
    stored.checked_add(more).filter(|all| *all <= STORED_MAX)
}
