//! From the start of the process to a key of its own.

use alloc::{boxed::Box, format};

use super::{Draft, Effect, Registration, draft::draft, over};
use crate::{
    agent::{
        facts::{Exit, Gathered, Memory, Order, StagedFile},
        notice::Notice,
    },
    step::Step,
    wire::identity::{Corrupt, Identity},
};

pub(super) fn restart(memory: &Memory) -> Step<Registration, Effect> {
    let loaded = Identity::load(&memory.files);
    let gathering = Step::to(Registration::Gathering { corrupt: None });
    match loaded {
        Ok(Some(identity)) => Step::to(Registration::Done).emit(Effect::Arm(Box::new(identity))),
        Ok(None) if memory.staged == StagedFile::Missing => gathering.emit(Effect::Gather),
        Ok(None) => gathering.emit(Effect::Store(Order::Discard)).emit(Effect::Gather),
        // What a person may still mend is moved aside only once a fresh registration is possible.
        Err(corrupt) => {
            Step::to(Registration::Gathering { corrupt: Some(corrupt) }).emit(Effect::Gather)
        }
    }
}

pub(super) fn gathered_all(
    gathered: Gathered,
    corrupt: Option<Corrupt>,
) -> Step<Registration, Effect> {
    match (draft(gathered), corrupt) {
        (Ok(draft), None) => make_key(draft, []),
        (Ok(draft), Some(corrupt)) => {
            let told = Notice::warn(format!(
                "the identity on disk is corrupt ({corrupt}); its files are moved into a folder corrupt-<time> beside \
                 them, and this node registers afresh"
            ));
            make_key(draft, [Effect::Tell(told), Effect::Store(Order::SetAside)])
        }
        (Err(lacking), None) => over(Exit::Unprepared(lacking)),
        (Err(lacking), Some(corrupt)) => {
            let told = Notice::error(format!(
                "the identity on disk is corrupt ({corrupt}) and left as it is: mend it, or bring what a fresh \
                 registration needs"
            ));
            Step::to(Registration::Over)
                .emit(Effect::Tell(told))
                .emit(Effect::Exit(Exit::Unprepared(lacking)))
        }
    }
}

fn make_key(draft: Draft, before: impl IntoIterator<Item = Effect>) -> Step<Registration, Effect> {
    Step::to(Registration::MakingKey(Box::new(draft)))
        .emit_all(before)
        .emit(Effect::Store(Order::MakeKey))
}
