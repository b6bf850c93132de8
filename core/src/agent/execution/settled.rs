//! The executions this node is done with; bounded, the oldest forgotten first.

use alloc::collections::{BTreeSet, VecDeque};

use crate::ids::ExecutionId;

/// How many settled executions are remembered.
pub const SETTLED_MAX: usize = 8192;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    known: BTreeSet<ExecutionId>,
    order: VecDeque<ExecutionId>,
}

impl Settled {
    pub(super) fn contains(&self, execution: &ExecutionId) -> bool {
        self.known.contains(execution)
    }

    pub(super) fn insert(&mut self, execution: ExecutionId) {
        if !self.known.insert(execution.clone()) {
            return;
        }
        self.order.push_back(execution);
        if self.order.len() > SETTLED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}
