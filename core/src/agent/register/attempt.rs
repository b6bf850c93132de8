//! The tries of one logical registration.

use alloc::{boxed::Box, format};
use core::time::Duration;

use super::{Admission, Attempt, BACKOFF, Draft, Effect, Registration, admission::persist, over};
use crate::{
    agent::{
        facts::Exit,
        notice::Notice,
        verdict::{Registered, Trouble},
    },
    backoff::Jitter,
    step::Step,
    time::Now,
    wire::{
        grammar::PublicKey,
        identity::{Identity, Unusable},
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
    let token_in_file = draft.token_in_file;
    post(Box::new(Attempt { request, token_in_file, begun: now.mono, failures: 0 }))
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
            Ok(identity) => {
                let token_in_file = attempt.token_in_file;
                persist(Box::new(Admission { identity, token_in_file }), 0)
            }
            Err(reason) => over(Exit::Unusable { reason }),
        },
        Registered::Retry(trouble) => wait(attempt, trouble, window),
        Registered::Stop { status, code, reason } => over(Exit::Refused { status, code, reason }),
        Registered::Unusable => over(Exit::Unusable { reason: Unusable::Json }),
    }
}

fn wait(mut attempt: Box<Attempt>, trouble: Trouble, window: Window) -> Step<Registration, Effect> {
    attempt.failures += 1;
    let elapsed = window.now.mono.since(attempt.begun);
    let left = window.window.saturating_sub(elapsed);
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
