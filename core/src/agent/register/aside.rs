//! An identity that the control plane refuses makes room for a fresh registration, and comes back where that fails.
//!
//! Specification: `decisions.md` sections 5 and 8 (Identity refused, Identity moved aside).

use alloc::{boxed::Box, collections::BTreeSet, format, string::String};

use super::{Aside, BACKOFF, Draft, Effect, Registration, start::make_key};
use crate::{
    agent::{
        facts::{Order, Unprepared},
        notice::Notice,
    },
    step::Step,
    time::{Mono, Now},
    wire::{identity::TokenDigest, timestamp::Timestamp},
};

/// The most tokens that are remembered as of no use; beyond it this process looks for no further one.
pub const TRIED_MAX: usize = 64;

/// The tokens with which this process has already been refused; none of them is tried again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried(BTreeSet<TokenDigest>);

impl Tried {
    fn forbids(&self, token: &TokenDigest) -> bool {
        self.0.contains(token) || self.0.len() >= TRIED_MAX
    }

    pub(super) fn with(mut self, token: TokenDigest) -> Self {
        self.0.insert(token);
        self
    }
}

/// There is no token, so the identity stays where it is.
pub(super) fn unprepared(lacking: &Unprepared, tried: Tried) -> Step<Registration, Effect> {
    let told = Notice::warn(format!(
        "the control plane does not admit this node, which cannot register afresh: {lacking}"
    ));
    Step::to(Registration::Done(tried)).emit(Effect::Tell(told))
}

pub(super) fn retire(draft: Draft, tried: Tried, now: Now) -> Step<Registration, Effect> {
    if tried.forbids(&TokenDigest::of(&draft.bootstrap_token)) {
        let told = Notice::warn(format!(
            "the control plane does not admit this node, and the bootstrap token at hand was refused before: put a new \
             one into {}",
            draft.source
        ));
        return Step::to(Registration::Done(tried)).emit(Effect::Tell(told));
    }
    let told = Notice::warn(
        "the control plane has not admitted this node for a minute and longer; it registers afresh with the bootstrap \
         token at hand",
    );
    Step::to(Registration::Retiring(Box::new(draft)))
        .emit(Effect::Tell(told))
        .emit(Effect::Pause)
        .emit(Effect::Store(Order::Retire { at: Timestamp::from(now.wall.second()) }))
}

pub(super) fn retired(draft: Draft, folder: &str, now: Now) -> Step<Registration, Effect> {
    let told =
        Notice::warn(format!("the files of the refused identity are kept in the folder {folder}"));
    make_key(draft, now, [Effect::Tell(told)])
}

/// Puts the old identity back.
pub(super) fn restore(tried: Tried, reason: &str) -> Step<Registration, Effect> {
    let told = Notice::error(format!(
        "this node did not register afresh, and its former identity is put back: {reason}"
    ));
    restore_again(tried, 0).emit(Effect::Tell(told))
}

pub(super) fn restore_again(tried: Tried, failures: u32) -> Step<Registration, Effect> {
    Step::to(Registration::Restoring { tried, failures, due: None })
        .emit(Effect::Store(Order::Restore))
}

pub(super) fn aside(state: Registration, aside: Aside, now: Now) -> Step<Registration, Effect> {
    match (state, aside) {
        (Registration::Retiring(draft), Aside::Retired { folder }) => retired(*draft, &folder, now),
        (Registration::Retiring(draft), Aside::RetireFailed { reason }) => {
            restore(draft.tried(), &format!("its files cannot be moved aside: {reason}"))
        }
        (Registration::Restoring { tried, .. }, Aside::Restored) => {
            Step::to(Registration::Done(tried)).emit(Effect::Rearm)
        }
        (
            Registration::Restoring { tried, failures, .. },
            Aside::RestoreFailed { reason, jitter },
        ) => {
            let failures = failures + 1;
            unrestored(tried, failures, &reason, now.mono.after(BACKOFF.wait(failures, jitter)))
        }
        (
            state,
            Aside::Retired { .. }
            | Aside::RetireFailed { .. }
            | Aside::Restored
            | Aside::RestoreFailed { .. },
        ) => Step::to(state),
    }
}

fn unrestored(tried: Tried, failures: u32, reason: &str, due: Mono) -> Step<Registration, Effect> {
    let text: String = format!("the former identity cannot be put back: {reason}; trying again");
    Step::to(Registration::Restoring { tried, failures, due: Some(due) })
        .emit(Effect::Tell(Notice::error(text)))
}
