//! The decision table of one pulled entry.
//!
//! Specification: "Dispatch of pulled executions".

use alloc::{boxed::Box, format, string::String};

use super::{Kit, report::Report};
use crate::{
    agent::notice::Notice,
    time::Wall,
    wire::execution::{Execution, Status},
};

/// The types of action, as entries spell them.
pub(super) const BUILTIN: &str = "builtin";
pub(super) const HOOK: &str = "hook";

/// What this node already knows of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Nothing,
    Settled,
    /// Running, or its terminal report is on the way.
    Active,
    /// It ran here, and its report was not taken yet.
    Unreported(Box<Report>),
}

/// What is to be done with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Not now, and nothing is said: a later pull may bring it again.
    Skip,
    /// Not now, for a reason that the next pull may have outlived.
    Defer(&'static str),
    /// Never again, without a callback.
    Settle(String),
    /// Claim it, from this first leg on, then run it.
    Claim(Status),
    /// Walk it to `failed`, from this first leg on.
    Walk(Status, &'static str),
    /// Report it as lost.
    Orphan,
    /// Report how it ended, once more.
    Deliver(Box<Report>),
}

/// Judges one entry; `room` tells whether another run may begin.
pub(super) fn judge(
    entry: &Execution,
    known: Known,
    wall: Wall,
    room: Result<(), &'static str>,
    kit: Kit<'_>,
) -> Move {
    let id = entry.execution_id.as_str();
    if id.is_empty() || matches!(known, Known::Settled | Known::Active) {
        return Move::Skip;
    }
    if matches!(id, "." | "..") {
        return Move::Settle("its id cannot stand in a path".into());
    }
    let Some(expires_at) = &entry.expires_at else {
        return Move::Settle("it has no expires_at".into());
    };
    if !expires_at.at.is_after(wall) {
        return Move::Skip;
    }
    match (entry.status.as_str(), known) {
        ("started", Known::Unreported(report)) => Move::Deliver(report),
        ("started", _) => Move::Orphan,
        ("pending" | "ack", Known::Unreported(_)) => Move::Defer("it ran here already"),
        ("pending", _) => begin(entry, Status::Ack, room, kit),
        ("ack", _) => begin(entry, Status::Started, room, kit),
        (other, _) => Move::Settle(format!("its status {other:?} is unknown")),
    }
}

fn begin(entry: &Execution, leg: Status, room: Result<(), &'static str>, kit: Kit<'_>) -> Move {
    if !kit.settings.enabled {
        return Move::Walk(leg, "actions_disabled");
    }
    match entry.kind.as_str() {
        BUILTIN if kit.settings.builtins.contains(&entry.action.0) => room_for(leg, room),
        HOOK if !kit.hooks.is_known(entry.action.as_str()) => {
            Move::Defer("the hooks are being looked at")
        }
        HOOK if kit.hooks.pin(entry.action.as_str()).is_some() => room_for(leg, room),
        BUILTIN | HOOK => Move::Walk(leg, "unknown_action"),
        _ => Move::Walk(leg, "unsupported_action_type"),
    }
}

fn room_for(leg: Status, room: Result<(), &'static str>) -> Move {
    match room {
        Ok(()) => Move::Claim(leg),
        Err(reason) => Move::Defer(reason),
    }
}

/// The line for an entry that is reported as failed without running.
pub(super) fn rejected(entry: &Execution, reason: &str) -> Notice {
    Notice::warn(format!(
        "execution {:?} of {:?} ({:?}) does not run here and is reported as failed: {reason}",
        entry.execution_id.as_str(),
        entry.action.as_str(),
        entry.kind
    ))
}

/// The line for an entry that is settled without a callback.
pub(super) fn settled(entry: &Execution, reason: &str) -> Notice {
    Notice::warn(format!(
        "execution {:?} is settled without running: {reason}",
        entry.execution_id.as_str()
    ))
}
