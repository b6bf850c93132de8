//! What a session has carried, and when it last did.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use meshward_core::{agent::Carried, time::Mono};

use crate::clock;

/// Shared by the two directions of a connection, and outliving both.
#[derive(Clone, Debug)]
pub(super) struct Counts(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    into: AtomicU64,
    out: AtomicU64,
    /// When the last byte passed, in milliseconds of the monotonic clock; at first when the session was opened.
    moved: AtomicU64,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    In,
    Out,
}

impl Default for Counts {
    fn default() -> Self {
        let (into, out) = (AtomicU64::new(0), AtomicU64::new(0));
        Self(Arc::new(Inner { into, out, moved: AtomicU64::new(now()) }))
    }
}

impl Counts {
    /// So many bytes have been handed on.
    pub(super) fn add(&self, way: Way, bytes: usize) {
        let counter = match way {
            Way::In => &self.0.into,
            Way::Out => &self.0.out,
        };
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
        self.0.moved.store(now(), Ordering::Relaxed);
    }

    pub(super) fn carried(&self) -> Carried {
        Carried {
            bytes_in: self.0.into.load(Ordering::Relaxed),
            bytes_out: self.0.out.load(Ordering::Relaxed),
        }
    }

    /// Waits until nothing has passed for so long.
    pub(super) async fn idle(&self, limit: Duration) {
        loop {
            let still = now().saturating_sub(self.0.moved.load(Ordering::Relaxed));
            let left = limit.saturating_sub(Duration::from_millis(still));
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }
}

fn now() -> u64 {
    let since = Mono::since_origin(clock::now().mono);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
