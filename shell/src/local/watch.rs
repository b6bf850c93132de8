//! The event streams of the watchers, each with its own buffer, and what a connection sends of it.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use hyper::body::{Body, Bytes, Frame as Chunk};
use meshward_core::{agent::watch::BUFFER_LEN, ids::CallId, wire::sse::Frame};
use tokio::sync::{mpsc, oneshot};

use super::{
    alive::{Alive, shared},
    crowd::Work,
};

/// How often a stream says that it is alive.
const KEEP_ALIVE_PERIOD: Duration = Duration::from_secs(15);

/// What one watcher is sent; it ends when the stream is closed.
#[derive(Debug)]
pub struct Feed {
    frames: mpsc::Receiver<Bytes>,
    /// When this is dropped, the watcher is gone.
    presence: oneshot::Sender<Infallible>,
}

/// Resolves when a watcher is gone.
pub(crate) type Absence = oneshot::Receiver<Infallible>;

/// The open streams, each by the call that asked for it.
#[derive(Debug, Default)]
pub(crate) struct Watchers(BTreeMap<CallId, mpsc::Sender<Bytes>>);

impl Watchers {
    pub(crate) fn open(&mut self, watcher: CallId, hello: &Frame) -> (Feed, Absence) {
        let (sender, frames) = mpsc::channel(BUFFER_LEN);
        let (presence, absence) = oneshot::channel();
        self.0.insert(watcher, sender);
        self.send(&[watcher], hello);
        (Feed { frames, presence }, absence)
    }

    /// A stream that has no room for the frame, or nobody behind it, is ended behind what it holds.
    pub(crate) fn send(&mut self, to: &[CallId], frame: &Frame) {
        let bytes = shared(frame);
        for watcher in to {
            let taken = self.0.get(watcher).is_some_and(|one| one.try_send(bytes.clone()).is_ok());
            if !taken {
                self.0.remove(watcher);
            }
        }
    }

    /// Each stream ends once it has sent what is in its buffer.
    pub(crate) fn close(&mut self) {
        self.0.clear();
    }
}

/// The body of an event stream.
#[derive(Debug)]
pub(super) struct Events {
    alive: Alive,
    _presence: oneshot::Sender<Infallible>,
    /// Absent in tests without a connection.
    _work: Option<Work>,
}

impl Events {
    /// Keeps the place of its connection while it is open.
    pub(super) fn new(feed: Feed, work: Work) -> Self {
        Self::with_sign_of_life(feed, KEEP_ALIVE_PERIOD, Some(work))
    }

    fn with_sign_of_life(feed: Feed, period: Duration, work: Option<Work>) -> Self {
        let Feed { frames, presence } = feed;
        Self { alive: Alive::new(frames, period), _presence: presence, _work: work }
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Chunk<Bytes>, Infallible>>> {
        self.alive.poll_bytes(context).map(|bytes| bytes.map(|bytes| Ok(Chunk::data(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use meshward_core::wire::sse::KEEP_ALIVE;

    use super::*;

    fn frame(sequence: usize) -> Frame {
        Frame::event(sequence as u64, "change", b"{}")
    }

    #[tokio::test]
    async fn a_watcher_that_takes_nothing_is_ended_behind_its_buffer_and_the_others_are_not() {
        let mut watchers = Watchers::default();
        let (slow, left) = watchers.open(CallId(1), &frame(0));
        let (mut quick, _) = watchers.open(CallId(2), &frame(0));
        for sequence in 1..=BUFFER_LEN {
            watchers.send(&[CallId(1), CallId(2)], &frame(sequence));
            assert!(quick.frames.recv().await.is_some());
        }
        let mut slow = Events::with_sign_of_life(slow, KEEP_ALIVE_PERIOD, None);
        let mut taken = 0;
        while let Some(Ok(_)) = slow.frame().await {
            taken += 1;
        }
        assert_eq!(taken, BUFFER_LEN);
        assert_eq!(quick.frames.len(), 1);
        drop(slow);
        assert!(left.await.is_err(), "its end is told");
    }

    #[tokio::test]
    async fn a_quiet_stream_says_that_it_is_alive() {
        let mut watchers = Watchers::default();
        let (feed, _) = watchers.open(CallId(1), &frame(0));
        let mut events = Events::with_sign_of_life(feed, Duration::from_millis(1), None);
        assert_eq!(events.frame().await.unwrap().unwrap().into_data().unwrap()[..6], *b"id: 0\n");
        assert_eq!(events.frame().await.unwrap().unwrap().into_data().unwrap(), KEEP_ALIVE);
        watchers.close();
        let ended = async { while events.frame().await.is_some() {} };
        ended.await;
    }
}
