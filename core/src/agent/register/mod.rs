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
//! | done | refused | gathering | an identity that is not admitted any more |
//! | gathering, refused | gathered, complete | retiring | pause; a token that was refused before is not tried |
//! | gathering, refused | gathered, something lacking | done | |
//! | retiring | retired | making a key | |
//! | retiring, making a key | failed | restoring | |
//! | posting, refused | stop, unusable | restoring | no exit, and no end of the window |
//! | restoring | restored | done | arm the former identity again |
//! | restoring | failed | restoring, later | |
//!
//! One nonce serves all attempts and is never persisted. Specification: "Registration outcome handling", "Errors"
//! and "Limits" of the node agent.

mod admission;
mod aside;
mod attempt;
mod draft;
mod parts;
mod start;
mod turn;

pub use aside::{TRIED_MAX, Tried};
pub use parts::{Attempt, Before, Draft};

use alloc::{boxed::Box, string::String};
use core::time::Duration;

use super::{
    facts::{Exit, Gathered, Memory, Order},
    notice::Notice,
    verdict::Registered,
};
use crate::{
    backoff::{Backoff, Jitter},
    step::Step,
    time::Mono,
    wire::{grammar::PublicKey, identity::Identity, register::RegisterRequest},
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
    Gathering(Before),
    Retiring(Box<Draft>),
    MakingKey(Box<Draft>),
    Posting(Box<Attempt>),
    Waiting {
        attempt: Box<Attempt>,
        due: Mono,
    },
    Persisting {
        identity: Box<Identity>,
        failures: u32,
        due: Option<Mono>,
    },
    Restoring {
        tried: Tried,
        failures: u32,
        due: Option<Mono>,
    },
    Done(Tried),
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Restarted(Box<Memory>),
    Gathered(Box<Gathered>),
    KeyMade(PublicKey),
    KeyFailed(String),
    Answered {
        verdict: Box<Registered>,
        jitter: Jitter,
    },
    Persisted,
    PersistFailed {
        reason: String,
        jitter: Jitter,
    },
    /// The identity is not admitted, and has not been for long.
    Refused,
    Aside(Aside),
    Ticked,
}

/// What became of a refused identity's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aside {
    Retired { folder: String },
    RetireFailed { reason: String },
    Restored,
    RestoreFailed { reason: String, jitter: Jitter },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Gather,
    Store(Order),
    Post(RegisterRequest),
    /// This node is registered: begin the work.
    Arm(Box<Identity>),
    /// Let the other work rest: its identity makes room.
    Pause,
    /// Go on with the identity that made room.
    Rearm,
    Tell(Notice),
    Exit(Exit),
}

fn over(exit: Exit) -> Step<Registration, Effect> {
    Step::to(Registration::Over).emit(Effect::Exit(exit))
}
