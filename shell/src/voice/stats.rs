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

#[cfg(test)]
mod tests {
    use std::future::pending;

    use meshward_core::{
        agent::Records,
        wire::record::{PointGroup, Reading},
    };
    use tokio::runtime::Handle;

    use super::{Collector as _, Stats, Wanted};

    fn tasks(stats: &mut Stats) -> (f64, Vec<Reading>) {
        let Records::Points(points) = stats.collect(&Wanted::default()).records else {
            return (0.0, Vec::new());
        };
        assert_eq!((points.len(), points[0].group), (1, PointGroup::Agent));
        let names = points[0].data.iter().map(|(reading, _)| *reading).collect();
        (points[0].data[0].1, names)
    }

    #[tokio::test]
    async fn the_tasks_that_live_are_counted_and_no_collector_of_garbage_is_invented() {
        let mut stats = Stats::new(Handle::current());
        let (before, names) = tasks(&mut stats);
        assert_eq!(names[0], Reading::GoroutineCount);
        let memory = [Reading::HeapAllocBytes, Reading::HeapSysBytes];
        let told = meshward_sys::heap::heap().is_some();
        assert_eq!(names[1..], memory[..if told { 2 } else { 0 }]);
        let task = tokio::spawn(pending::<()>());
        assert_eq!(tasks(&mut stats).0, before + 1.0);
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(tasks(&mut stats).0, before);
    }
}
