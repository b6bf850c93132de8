//! From the start of the process to a key of its own.

use alloc::{boxed::Box, format};

use super::{Before, Draft, Effect, Registration, Tried, aside, draft::draft, over};
use crate::{
    agent::{
        facts::{Exit, Gathered, Memory, Order, StagedFile, Unprepared},
        notice::Notice,
    },
    step::Step,
    time::Now,
    wire::{
        identity::{Corrupt, Identity, KeyFile},
        timestamp::Timestamp,
    },
};

pub(super) fn restart(memory: &Memory) -> Step<Registration, Effect> {
    let loaded = Identity::load(&memory.files);
    let stale = (memory.staged != StagedFile::Missing).then_some(Effect::Store(Order::Discard));
    match loaded {
        Ok(Some(identity)) => loaded_whole(identity),
        Ok(None) if memory.files.private_key == KeyFile::Missing => {
            Step::to(Registration::Gathering(Before::Nothing))
                .emit_all(stale)
                .emit(Effect::Gather)
        }
        Ok(None) => Step::to(Registration::Gathering(Before::Remains))
            .emit(Effect::Tell(Notice::warn(
                "private_key is there without identity.json: an earlier try to register ended without an identity. \
                 This is harmless unless the control plane says now that the bootstrap token is used up",
            )))
            .emit_all(stale)
            .emit(Effect::Gather),
        // What a person may still mend is moved aside only once a fresh registration is possible.
        Err(corrupt) => {
            Step::to(Registration::Gathering(Before::Corrupt(corrupt))).emit(Effect::Gather)
        }
    }
}

/// A token file that a crash left behind is removed now.
fn loaded_whole(identity: Identity) -> Step<Registration, Effect> {
    let spent = identity.file.spent_token.clone();
    let forget = (!spent.is_none()).then_some(Effect::Store(Order::ForgetToken(spent)));
    let told = Notice::info(format!(
        "identity loaded: node {}, mesh address {}",
        identity.node, identity.file.mesh_ip
    ));
    Step::to(Registration::Done(Tried::default()))
        .emit_all(forget)
        .emit(Effect::Tell(told))
        .emit(Effect::Arm(Box::new(identity)))
}

pub(super) fn gathered_all(
    gathered: Gathered,
    before: Before,
    now: Now,
) -> Step<Registration, Effect> {
    match (draft(gathered, before.clone()), before) {
        (Ok(draft), Before::Refused(tried)) => aside::retire(draft, tried, now),
        (Ok(draft), Before::Corrupt(corrupt)) => {
            let told = Notice::warn(format!(
                "the identity on disk is corrupt ({corrupt}); its files are moved into a folder corrupt-<time> beside \
                 them, and this node registers afresh"
            ));
            let aside = Effect::Store(Order::SetAside { at: Timestamp::from(now.wall.second()) });
            make_key(draft, now, [Effect::Tell(told), aside])
        }
        (Ok(draft), Before::Nothing | Before::Remains) => make_key(draft, now, []),
        (Err(lacking), Before::Refused(tried)) => aside::unprepared(&lacking, tried),
        (Err(lacking), Before::Corrupt(corrupt)) => left_corrupt(lacking, &corrupt),
        (Err(lacking), Before::Nothing | Before::Remains) => over(Exit::Unprepared(lacking)),
    }
}

fn left_corrupt(lacking: Unprepared, corrupt: &Corrupt) -> Step<Registration, Effect> {
    let told = Notice::error(format!(
        "the identity on disk is corrupt ({corrupt}) and left as it is: mend it, or bring what a fresh registration \
         needs"
    ));
    Step::to(Registration::Over)
        .emit(Effect::Tell(told))
        .emit(Effect::Exit(Exit::Unprepared(lacking)))
}

pub(super) fn make_key(
    draft: Draft,
    now: Now,
    before: impl IntoIterator<Item = Effect>,
) -> Step<Registration, Effect> {
    Step::to(Registration::MakingKey(Box::new(draft)))
        .emit_all(before)
        .emit(Effect::Store(Order::MakeKey { at: Timestamp::from(now.wall.second()) }))
}
