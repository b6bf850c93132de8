//! The numbers of this process: the tasks of its runtime, and its memory where the allocator tells.
//!
//! Specification: "Agent-side conversion rules for ingest".

use meshward_core::{
    agent::{Feed, Records, Source},
    wire::sources::own::{Heap, Own},
};
use tokio::runtime::Handle;

use super::source::{Collector, Wanted, feed};
use crate::clock;

/// What this process is made of.
#[derive(Debug)]
pub(crate) struct Stats {
    runtime: Handle,
}

impl Stats {
    pub(crate) const fn new(runtime: Handle) -> Self {
        Self { runtime }
    }
}

impl Collector for Stats {
    fn source(&self) -> Source {
        Source::Stats
    }

    fn collect(&mut self, _wanted: &Wanted) -> Feed {
        let heap = meshward_sys::heap::heap()
            .map(|heap| Heap { allocated: heap.allocated, held: heap.held });
        let own = Own { tasks: self.runtime.metrics().num_alive_tasks(), heap };
        feed(Source::Stats, Records::Points(vec![own.point(clock::now().wall)]))
    }
}
