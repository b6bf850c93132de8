//! The table of the registration.

use alloc::string::String;
use core::time::Duration;

use super::{
    BACKOFF, Effect, Input, Registration,
    admission::{persist, persisted, unpersisted},
    attempt::{Window, answered, begin, post},
    over,
    start::{gathered_all, restart},
};
use crate::{
    agent::facts::{Exit, Unprepared},
    secret::Secret,
    step::Step,
    time::{Mono, Now},
};

impl Registration {
    /// Moves on one input; `window` is `registration.max_retry_duration`.
    pub fn step(self, window: Duration, now: Now, input: Input) -> Step<Self, Effect> {
        match (self, input) {
            (Self::Fresh, Input::Restarted(memory)) => restart(&memory),
            (Self::Gathering { corrupt }, Input::Gathered(gathered)) => {
                gathered_all(*gathered, corrupt)
            }
            (Self::MakingKey(draft), Input::KeyMade(key)) => begin(*draft, key, now),
            (Self::Gathering { .. } | Self::MakingKey(_), Input::KeyFailed(reason)) => {
                over(Exit::Unprepared(Unprepared::Key(reason)))
            }
            (Self::Posting(attempt), Input::Answered { verdict, jitter }) => {
                answered(attempt, *verdict, Window { window, now, jitter })
            }
            (Self::Waiting { attempt, due }, Input::Ticked) if due <= now.mono => post(attempt),
            (Self::Persisting { admission, .. }, Input::Persisted) => persisted(*admission),
            (
                Self::Persisting { admission, failures, .. },
                Input::PersistFailed { reason, jitter },
            ) => unpersisted(
                admission,
                failures + 1,
                &reason,
                now.mono.after(BACKOFF.wait(failures + 1, jitter)),
            ),
            (Self::Persisting { admission, failures, due: Some(due) }, Input::Ticked)
                if due <= now.mono =>
            {
                persist(admission, failures)
            }
            (
                state,
                Input::Restarted(_)
                | Input::Gathered(_)
                | Input::KeyMade(_)
                | Input::KeyFailed(_)
                | Input::Answered { .. }
                | Input::Persisted
                | Input::PersistFailed { .. }
                | Input::Ticked,
            ) => Step::to(state),
        }
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        match self {
            Self::Waiting { due, .. } => Some(*due),
            Self::Persisting { due, .. } => *due,
            Self::Fresh
            | Self::Gathering { .. }
            | Self::MakingKey(_)
            | Self::Posting(_)
            | Self::Done
            | Self::Over => None,
        }
    }

    /// The bootstrap token that is being spent.
    pub fn token(&self) -> Option<&Secret<String>> {
        match self {
            Self::Posting(attempt) | Self::Waiting { attempt, .. } => {
                Some(&attempt.request.bootstrap_token)
            }
            Self::Fresh
            | Self::Gathering { .. }
            | Self::MakingKey(_)
            | Self::Persisting { .. }
            | Self::Done
            | Self::Over => None,
        }
    }

    /// Whether an answer or a write is awaited whose loss would waste the token.
    pub const fn is_undecided(&self) -> bool {
        matches!(self, Self::Posting(_) | Self::Persisting { .. })
    }
}
