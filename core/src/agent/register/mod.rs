//! Registration: once in the life of a data directory, retried while the trouble is transient.
//!
//! | state | input | next | also |
//! |---|---|---|---|
//! | fresh | restarted with an identity | done | arm it; no network call |
//! | fresh | restarted without, or with a corrupt one | gathering | a corrupt one is set aside first |
//! | gathering | gathered, complete | making a key | the private key is on disk before any request |
//! | gathering | gathered, something lacking | over | exit, naming the setting |
//! | making a key | key made | posting | |
//! | posting | accepted | persisting | |
//! | posting | retry | waiting | until the window closes, then exit |
//! | posting | stop, unusable | over | exit |
//! | waiting | ticked | posting | same nonce, same key |
//! | persisting | persisted | done | forget the token file if the token came from it, arm |
//! | persisting | failed | persisting, later | the answer is held; the token is spent |
//!
//! One nonce serves all attempts and is never persisted. Specification: "Registration outcome handling", "Errors"
//! and "Limits" of the node agent.

mod admission;
mod attempt;
mod draft;
mod start;
mod turn;

use alloc::{boxed::Box, string::String};
use core::time::Duration;

use super::{
    facts::{Exit, Gathered, Memory, Order},
    notice::Notice,
    verdict::Registered,
};
use crate::{
    backoff::{Backoff, Jitter},
    secret::Secret,
    step::Step,
    time::Mono,
    wire::{
        grammar::{PublicKey, Uuid},
        identity::{Corrupt, Identity},
        register::RegisterRequest,
    },
};

/// "Registration retry backoff: base 1 s, multiplier 2, maximum 60 s, jitter 25 percent either way".
pub const BACKOFF: Backoff = Backoff {
    base: Duration::from_secs(1),
    factor: 2,
    cap: Duration::from_secs(60),
    jitter_percent: 25,
};

/// The longest bootstrap token, in bytes.
pub const TOKEN_MAX: usize = 512;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Registration {
    #[default]
    Fresh,
    Gathering {
        /// Why the files that are there make no identity.
        corrupt: Option<Corrupt>,
    },
    MakingKey(Box<Draft>),
    Posting(Box<Attempt>),
    Waiting {
        attempt: Box<Attempt>,
        due: Mono,
    },
    Persisting {
        admission: Box<Admission>,
        failures: u32,
        due: Option<Mono>,
    },
    Done,
    Over,
}

/// A registration that lacks only its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub project_id: String,
    pub resource_handle: String,
    pub requested_resource_id: Option<String>,
    pub bootstrap_token: Secret<String>,
    /// The token came from its file, which goes once it is spent.
    pub token_in_file: bool,
    pub nonce: Uuid,
}

/// One logical registration, over all its tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub request: RegisterRequest,
    /// As in [`Draft`].
    pub token_in_file: bool,
    pub begun: Mono,
    pub failures: u32,
}

/// What an accepted registration leaves to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    pub identity: Identity,
    /// As in [`Draft`].
    pub token_in_file: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Restarted(Box<Memory>),
    Gathered(Box<Gathered>),
    KeyMade(PublicKey),
    KeyFailed(String),
    Answered { verdict: Box<Registered>, jitter: Jitter },
    Persisted,
    PersistFailed { reason: String, jitter: Jitter },
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Gather,
    Store(Order),
    Post(RegisterRequest),
    /// This node is registered: begin the work.
    Arm(Box<Identity>),
    Tell(Notice),
    Exit(Exit),
}

fn over(exit: Exit) -> Step<Registration, Effect> {
    Step::to(Registration::Over).emit(Effect::Exit(exit))
}
