//! Entries of a pull that could not be read: told, and passed over.

use alloc::{collections::BTreeSet, format, vec::Vec};

use super::Turn;
use crate::{
    agent::{facts::Effect, notice::Notice},
    ids::ExecutionId,
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

    fn warned(&mut self, text: alloc::string::String) {
        self.effects.push(Effect::Tell(Notice::warn(text)));
    }
}

/// The executions among them whose ids are known: they are listed, whatever else they are.
pub(super) fn spoilt_executions(spoilt: Vec<Spoilt>) -> BTreeSet<ExecutionId> {
    let executions = spoilt.into_iter().filter(|spoilt| spoilt.block == Block::Executions);
    executions.filter_map(|spoilt| spoilt.id).map(ExecutionId).collect()
}
