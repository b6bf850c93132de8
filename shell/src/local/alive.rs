//! The frames of one event stream, with a sign of life where none come for a while.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use hyper::body::Bytes;
use meshward_core::wire::sse::{Frame, KEEP_ALIVE};
use tokio::{
    sync::mpsc,
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};

/// What comes on a stream, and a sign of life in between; it ends when its sender is gone.
#[derive(Debug)]
pub struct Alive {
    frames: mpsc::Receiver<Bytes>,
    keep_alive: Interval,
}

impl Alive {
    /// Says that it is alive whenever nothing came for this long.
    pub fn new(frames: mpsc::Receiver<Bytes>, period: Duration) -> Self {
        let mut keep_alive = interval_at(Instant::now() + period, period);
        // A client that took nothing for a while is not told so several times.
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { frames, keep_alive }
    }

    /// The next bytes to send.
    pub fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Poll::Ready(live) = self.frames.poll_recv(context) {
            return Poll::Ready(live);
        }
        self.keep_alive.poll_tick(context).map(|_| Some(Bytes::from_static(KEEP_ALIVE)))
    }
}

/// The frame's own bytes, not a copy of them.
pub fn shared(frame: &Frame) -> Bytes {
    Bytes::from_owner(Arc::clone(&frame.0))
}
