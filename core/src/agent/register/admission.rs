//! What was accepted, on its way to the disk.

use alloc::{boxed::Box, format};

use super::{Effect, Registration, Tried};
use crate::{
    agent::{facts::Order, notice::Notice},
    step::Step,
    time::Mono,
    wire::identity::Identity,
};

pub(super) fn persist(identity: Box<Identity>, failures: u32) -> Step<Registration, Effect> {
    let order = Order::Persist(identity.clone());
    Step::to(Registration::Persisting { identity, failures, due: None }).emit(Effect::Store(order))
}

pub(super) fn persisted(identity: Box<Identity>) -> Step<Registration, Effect> {
    let spent = identity.file.spent_token.clone();
    let told = Notice::info(format!(
        "registered as {} with mesh address {}",
        identity.node, identity.file.mesh_ip
    ));
    Step::to(Registration::Done(Tried::default()))
        .emit_all((!spent.is_none()).then_some(Effect::Store(Order::ForgetToken(spent))))
        .emit(Effect::Tell(told))
        .emit(Effect::Arm(identity))
}

pub(super) fn unpersisted(
    identity: Box<Identity>,
    failures: u32,
    reason: &str,
    due: Mono,
) -> Step<Registration, Effect> {
    let told = Notice::error(format!(
        "registered, but the identity cannot be written: {reason}. The bootstrap token is spent and the identity is \
         only in memory: make room or mend the directory and leave this process running; it tries again"
    ));
    Step::to(Registration::Persisting { identity, failures, due: Some(due) })
        .emit(Effect::Tell(told))
}
