//! Entries of a pull that could not be read: told, and passed over.

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use super::Turn;
use crate::{
    agent::{facts::Effect, notice::Notice},
    ids::{ExecutionId, SessionId},
    wire::pulled::{Block, Spoilt},
};

/// How many of one pull are told one by one.
const TOLD_MAX: usize = 8;

impl Turn<'_> {
    pub(super) fn tell_spoilt(&mut self, spoilt: &[Spoilt]) {
        for Spoilt { block, index, id, fault } in spoilt.iter().take(TOLD_MAX) {
            let named = id.as_ref().map(|id| format!(" ({id:?})")).unwrap_or_default();
            self.warned(format!(
                "entry {index}{named} of the pulled {} cannot be read and is passed over: {fault}",
                block.as_str()
            ));
        }
        if let Some(more) = spoilt.len().checked_sub(TOLD_MAX).filter(|more| *more > 0) {
            self.warned(format!("{more} more entries of the pull cannot be read"));
        }
    }

    fn warned(&mut self, text: String) {
        self.effects.push(Effect::Tell(Notice::warn(text)));
    }
}

/// The ids among them that are known, by block: an entry is listed, whatever else it is.
pub(super) fn unread(spoilt: Vec<Spoilt>) -> (BTreeSet<ExecutionId>, BTreeSet<SessionId>) {
    let (mut executions, mut sessions) = (BTreeSet::new(), BTreeSet::new());
    for Spoilt { block, id, .. } in spoilt {
        match (block, id) {
            (Block::Executions, Some(id)) => drop(executions.insert(ExecutionId(id))),
            (Block::Sessions, Some(id)) => drop(sessions.insert(SessionId(id))),
            (Block::Executions | Block::Sessions, None) => {}
        }
    }
    (executions, sessions)
}
