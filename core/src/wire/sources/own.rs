//! The numbers of this process, as a point of the group `agent`.
//! It holds the honest counterparts of what a runtime with a collector of garbage tells; how long the process runs and
//! how often it connected anew is known elsewhere.
//!
//! | Reading | Is |
//! |---|---|
//! | `goroutine_count` | the tasks of the runtime that have not ended |
//! | `heap_alloc_bytes`, `heap_sys_bytes` | what the allocator gave out, and what it holds of the system |
//! | `gc_pause_total_ns`, `gc_num_gc` | left out: there is no collector |
//!
//! Specification: "Agent-side conversion rules for ingest"; `gaps-agent.md` section 4.1.

use alloc::{vec, vec::Vec};

use crate::{
    time::Wall,
    wire::{
        record::{MetricPoint, PointGroup, Reading},
        timestamp::Timestamp,
    },
};

/// What a process knows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    pub tasks: usize,
    /// Absent where the allocator does not tell.
    pub heap: Option<Heap>,
}

/// In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heap {
    /// What is given out.
    pub allocated: u64,
    /// What is held of the system.
    pub held: u64,
}

impl Own {
    /// The point of it.
    pub fn point(self, now: Wall) -> MetricPoint {
        let mut data: Vec<_> = vec![(Reading::GoroutineCount, self.tasks as f64)];
        if let Some(Heap { allocated, held }) = self.heap {
            data.push((Reading::HeapAllocBytes, allocated as f64));
            data.push((Reading::HeapSysBytes, held as f64));
        }
        let (timestamp, group) = (Timestamp::from(now), PointGroup::Agent);
        MetricPoint { timestamp, group, peer_id: None, data }
    }
}
