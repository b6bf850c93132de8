//! The thread that changes files below `state/`, so that a disk that hangs holds up nothing else.
//!
//! What waits is carried out as one group, with one `fsync` of the folder for all of it.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    thread,
    time::Duration,
};

use meshward_core::agent::{Change, Input, StateFile};
use tokio::sync::{mpsc, oneshot};

use super::{directory::Directory, shelf::Shelf, vault::Fault};

/// How many changes may wait; one more is refused.
const QUEUE_MAX: usize = 1024;

/// How many changes become durable together.
const GROUP_MAX: usize = 64;

/// One change, as it was ordered.
type Ordered = (StateFile, Change);

/// The folder that reports are kept in, and where it is.
#[derive(Debug)]
pub(crate) struct State {
    pub(super) path: PathBuf,
    pub(super) reports: Shelf<Directory>,
}

/// The way to the thread.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: SyncSender<Ordered>,
}

/// Told when the thread has ended.
#[derive(Debug)]
pub(crate) struct Ended(oneshot::Receiver<()>);

impl Ended {
    /// Waits a while for the thread to end, which it does when all that was ordered is done.
    pub(crate) async fn wait(self, patience: Duration) {
        // A disk that hangs is left to itself.
        let _ = tokio::time::timeout(patience, self.0).await;
    }
}

impl Writer {
    /// Begins a thread that tells the end of each change as a fact; it ends when the writer is dropped.
    pub(crate) fn start(
        state: State,
        facts: mpsc::Sender<Input>,
    ) -> std::io::Result<(Self, Ended)> {
        let (queue, orders) = sync_channel(QUEUE_MAX);
        let (ending, ended) = oneshot::channel();
        thread::Builder::new().name("state".to_owned()).spawn(move || {
            work(state, &orders, &facts);
            let _ = ending.send(());
        })?;
        Ok((Self { queue }, Ended(ended)))
    }

    /// Orders a change; the answer at once is that it cannot be taken.
    pub(crate) fn order(&self, file: StateFile, change: Change) -> Option<Input> {
        let (reason, file) = match self.queue.try_send((file, change)) {
            Ok(()) => return None,
            Err(TrySendError::Full((file, _))) => ("too many changes wait for the disk", file),
            Err(TrySendError::Disconnected((file, _))) => ("the thread has ended", file),
        };
        let outcome = Err(format!("cannot write {file}: {reason}"));
        Some(Input::Kept { file, outcome })
    }
}

fn work(mut state: State, orders: &Receiver<Ordered>, facts: &mpsc::Sender<Input>) {
    let mut next = None;
    while let Some(first) = next.take().or_else(|| orders.recv().ok()) {
        let group;
        (group, next) = gather(first, orders);
        let changes: Vec<_> =
            group.iter().map(|(file, change)| (file.name.clone(), change.clone())).collect();
        let outcomes = state.reports.carry_out(&changes);
        for ((file, _), outcome) in group.into_iter().zip(outcomes) {
            let outcome = outcome.map_err(|fault| state.reason(&file, &fault));
            // A closed inbox means that the agent has ended and wants no answer.
            let _ = facts.blocking_send(Input::Kept { file, outcome });
        }
    }
}

/// What waits behind the first, up to a change of a file that is changed already.
fn gather(first: Ordered, orders: &Receiver<Ordered>) -> (Vec<Ordered>, Option<Ordered>) {
    let mut files = BTreeSet::from([first.0.clone()]);
    let mut group = vec![first];
    while group.len() < GROUP_MAX
        && let Ok(order) = orders.try_recv()
    {
        if !files.insert(order.0.clone()) {
            return (group, Some(order));
        }
        group.push(order);
    }
    (group, None)
}

impl State {
    fn reason(&self, file: &StateFile, fault: &Fault) -> String {
        let path = self.path.join(file.folder.name()).join(&fault.name);
        format!("cannot {} {}: {}", fault.doing, path.display(), fault.source)
    }
}
