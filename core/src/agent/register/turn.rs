//! The table of the registration.

use alloc::string::{String, ToString};
use core::time::Duration;

use super::{
    BACKOFF, Before, Draft, Effect, Input, Registration,
    admission::{persist, persisted, unpersisted},
    aside::{aside, restore, restore_again},
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
            (Self::Gathering(before), Input::Gathered(gathered)) => {
                gathered_all(*gathered, before, now)
            }
            (Self::Done(tried), Input::Refused) => {
                Step::to(Self::Gathering(Before::Refused(tried))).emit(Effect::Gather)
            }
            (state, Input::Aside(done)) => aside(state, done, now),
            (Self::MakingKey(draft), Input::KeyMade(key)) => begin(*draft, key, now),
            (Self::MakingKey(draft), Input::KeyFailed(reason)) => unmade(&draft, reason),
            (Self::Posting(attempt), Input::Answered { verdict, jitter }) => {
                answered(attempt, *verdict, Window { window, now, jitter })
            }
            (Self::Waiting { attempt, due }, Input::Ticked) if due <= now.mono => post(attempt),
            (Self::Persisting { identity, .. }, Input::Persisted) => persisted(identity),
            (
                Self::Persisting { identity, failures, .. },
                Input::PersistFailed { reason, jitter },
            ) => unpersisted(
                identity,
                failures + 1,
                &reason,
                now.mono.after(BACKOFF.wait(failures + 1, jitter)),
            ),
            (Self::Persisting { identity, failures, due: Some(due) }, Input::Ticked)
                if due <= now.mono =>
            {
                persist(identity, failures)
            }
            (Self::Restoring { tried, failures, due: Some(due) }, Input::Ticked)
                if due <= now.mono =>
            {
                restore_again(tried, failures)
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
                | Input::Refused
                | Input::Ticked,
            ) => Step::to(state),
        }
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        match self {
            Self::Waiting { due, .. } => Some(*due),
            Self::Persisting { due, .. } | Self::Restoring { due, .. } => *due,
            Self::Fresh
            | Self::Gathering(_)
            | Self::Retiring(_)
            | Self::MakingKey(_)
            | Self::Posting(_)
            | Self::Done(_)
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
            | Self::Gathering(_)
            | Self::Retiring(_)
            | Self::MakingKey(_)
            | Self::Persisting { .. }
            | Self::Restoring { .. }
            | Self::Done(_)
            | Self::Over => None,
        }
    }

    /// Whether an answer or a write is awaited whose loss would waste the token.
    pub const fn is_undecided(&self) -> bool {
        matches!(self, Self::Posting(_) | Self::Persisting { .. })
    }
}

/// No key, no registration.
fn unmade(draft: &Draft, reason: String) -> Step<Registration, Effect> {
    let lacking = Unprepared::Key(reason);
    match &draft.before {
        Before::Refused(tried) => restore(tried.clone(), &lacking.to_string()),
        Before::Nothing | Before::Remains | Before::Corrupt(_) => over(Exit::Unprepared(lacking)),
    }
}
