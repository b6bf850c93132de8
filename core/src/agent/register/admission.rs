//! What was accepted, on its way to the disk.

use alloc::{boxed::Box, format};

use super::{Admission, Effect, Registration, Tried};
use crate::{
    agent::{facts::Order, notice::Notice},
    step::Step,
    time::Mono,
};

pub(super) fn persist(admission: Box<Admission>, failures: u32) -> Step<Registration, Effect> {
    let order = Order::Persist(Box::new(admission.identity.clone()));
    Step::to(Registration::Persisting { admission, failures, due: None }).emit(Effect::Store(order))
}

pub(super) fn persisted(Admission { identity }: Admission) -> Step<Registration, Effect> {
    let spent = identity.file.spent_token.clone();
    let told = Notice::info(format!(
        "registered as {} with mesh address {}",
        identity.node, identity.file.mesh_ip
    ));
    Step::to(Registration::Done(Tried::default()))
        .emit_all((!spent.is_none()).then_some(Effect::Store(Order::ForgetToken(spent))))
        .emit(Effect::Tell(told))
        .emit(Effect::Arm(Box::new(identity)))
}

pub(super) fn unpersisted(
    admission: Box<Admission>,
    failures: u32,
    reason: &str,
    due: Mono,
) -> Step<Registration, Effect> {
    let told = Notice::error(format!(
        "registered, but the identity cannot be written: {reason}. The bootstrap token is spent and the identity is \
         only in memory: make room or mend the directory and leave this process running; it tries again"
    ));
    Step::to(Registration::Persisting { admission, failures, due: Some(due) })
        .emit(Effect::Tell(told))
}
