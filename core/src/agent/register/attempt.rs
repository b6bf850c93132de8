//! The tries of one logical registration.

use alloc::{boxed::Box, format, string::ToString};
use core::time::Duration;

use super::{
    Attempt, BACKOFF, Before, Draft, Effect, Registration, admission::persist, aside::restore, over,
};
use crate::{
    agent::{
        facts::{Exit, TokenSource},
        notice::Notice,
        verdict::{Registered, Trouble},
    },
    backoff::Jitter,
    step::Step,
    time::Now,
    wire::{
        grammar::PublicKey,
        identity::{Identity, TokenDigest},
        problem::Code,
        register::RegisterRequest,
    },
};

pub(super) fn begin(draft: Draft, public_key: PublicKey, now: Now) -> Step<Registration, Effect> {
    let request = RegisterRequest {
        project_id: draft.project_id,
        resource_handle: draft.resource_handle,
        bootstrap_token: draft.bootstrap_token,
        nonce: draft.nonce,
        public_key,
        requested_resource_id: draft.requested_resource_id,
    };
    let (source, before) = (draft.source, draft.before);
    post(Box::new(Attempt { request, source, before, begun: now.mono, failures: 0 }))
}

pub(super) fn post(attempt: Box<Attempt>) -> Step<Registration, Effect> {
    let request = attempt.request.clone();
    Step::to(Registration::Posting(attempt)).emit(Effect::Post(request))
}

/// What decides whether another attempt fits.
pub(super) struct Window {
    pub(super) window: Duration,
    pub(super) now: Now,
    pub(super) jitter: Jitter,
}

pub(super) fn answered(
    attempt: Box<Attempt>,
    verdict: Registered,
    window: Window,
) -> Step<Registration, Effect> {
    match verdict {
        Registered::Accepted(answer) => match Identity::registered(answer) {
            Ok(identity) => persist(Box::new(marked(identity, &attempt)), 0),
            Err(reason) => stop(*attempt, Some(Spent::Unusable), Exit::Unusable { reason }),
        },
        Registered::Retry(trouble) => wait(attempt, trouble, window),
        Registered::Stop { status, code, reason } => {
            let spent = match &code {
                Some(Code::TokenConsumed) => Some(Spent::Consumed),
                Some(Code::NonceCollision) if attempt.failures == 0 => Some(Spent::Repeated),
                Some(Code::NonceCollision) => Some(Spent::AnswerLost),
                Some(_) | None => None,
            };
            stop(*attempt, spent, Exit::Refused { status, code, reason })
        }
        Registered::Unusable(reason) => {
            stop(*attempt, Some(Spent::Unusable), Exit::Unusable { reason })
        }
    }
}

/// A token that came out of its file is marked as spent, so that the file goes even behind a crash.
fn marked(mut identity: Identity, attempt: &Attempt) -> Identity {
    if attempt.source == TokenSource::File {
        identity.file.spent_token = TokenDigest::of(&attempt.request.bootstrap_token);
    }
    identity
}

/// Why a token is of no more use.
enum Spent {
    Consumed,
    AnswerLost,
    /// The nonce was met already, though it was sent once.
    Repeated,
    Unusable,
}

/// Ends an attempt for good, and the process, unless there is a former identity to go back to.
fn stop(attempt: Attempt, spent: Option<Spent>, exit: Exit) -> Step<Registration, Effect> {
    let advice = spent.map(|spent| Effect::Tell(advice(&spent, &attempt)));
    match attempt.before {
        Before::Refused(tried) => {
            let token = TokenDigest::of(&attempt.request.bootstrap_token);
            restore(tried.with(token), &exit.to_string()).emit_all(advice)
        }
        Before::Nothing | Before::Remains | Before::Corrupt(_) => {
            Step::to(Registration::Over).emit_all(advice).emit(Effect::Exit(exit))
        }
    }
}

fn advice(spent: &Spent, attempt: &Attempt) -> Notice {
    let why = match (spent, &attempt.before) {
        (Spent::Consumed, Before::Remains) => {
            "the bootstrap token is used up; an earlier registration of this node may have been accepted before its \
             identity was on disk (private_key is there without identity.json)"
        }
        (Spent::Consumed, Before::Nothing | Before::Corrupt(_) | Before::Refused(_)) => {
            "the bootstrap token is used up, perhaps by an earlier registration of this node whose identity never \
             came to the disk"
        }
        (Spent::AnswerLost, _) => {
            "an earlier try to register was accepted and its answer lost, so the bootstrap token is used up"
        }
        (Spent::Repeated, _) => {
            "the control plane has met this registration's nonce before, although this process has sent it once: what \
             stands between may have sent it twice, and then the bootstrap token is used up"
        }
        (Spent::Unusable, _) => {
            "the registration was accepted, so the bootstrap token is used up, and yet there is no identity"
        }
    };
    Notice::error(format!("{why}: ask for a new one and put it into {}", attempt.source))
}

fn wait(mut attempt: Box<Attempt>, trouble: Trouble, window: Window) -> Step<Registration, Effect> {
    attempt.failures += 1;
    let elapsed = window.now.mono.since(attempt.begun);
    let left = match &attempt.before {
        // There is an identity to go back to, but only a refusal leads there.
        Before::Refused(_) => Duration::MAX,
        Before::Nothing | Before::Remains | Before::Corrupt(_) => {
            window.window.saturating_sub(elapsed)
        }
    };
    let asked =
        trouble.retry_after.map(|asked| asked.max(BACKOFF.base)).filter(|asked| *asked < left);
    let wait = asked.unwrap_or_else(|| BACKOFF.wait(attempt.failures, window.jitter));
    if wait >= left {
        return over(Exit::GaveUp { after: elapsed, reason: trouble.reason });
    }
    let told = Notice::warn(format!(
        "registration attempt {} failed: {}; next attempt in {} ms",
        attempt.failures,
        trouble.reason,
        wait.as_millis()
    ));
    Step::to(Registration::Waiting { attempt, due: window.now.mono.after(wait) })
        .emit(Effect::Tell(told))
}
