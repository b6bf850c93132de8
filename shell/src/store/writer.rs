//! The thread that changes files below `state/`, so that a disk that hangs holds up nothing else.
//!
//! What waits is carried out as one group, with one `fsync` of the folder for all of it.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    thread::{self, JoinHandle},
    time::Duration,
};

use meshward_core::agent::{Change, Folder, Input, StateFile};
use tokio::sync::{mpsc, oneshot};

use super::{directory::Directory, shelf::Shelf, vault::Fault};

/// How many changes may wait; one more is refused.
const QUEUE_MAX: usize = 1024;

/// How many changes become durable together.
const GROUP_MAX: usize = 64;

/// In the sequence in which a group is carried out: somebody waits for a report.
const FOLDERS: [Folder; 3] = [Folder::Report, Folder::Root, Folder::Data];

/// One change, as it was ordered.
type Ordered = (StateFile, Change);

/// The folders below `state/`, and where that is.
#[derive(Debug)]
pub(crate) struct State {
    pub(super) path: PathBuf,
    pub(super) root: Shelf<Directory>,
    pub(super) data: Shelf<Directory>,
    pub(super) reports: Shelf<Directory>,
}

/// The way to the thread.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: SyncSender<Ordered>,
    thread: JoinHandle<()>,
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
        let thread = thread::Builder::new().name("state".to_owned()).spawn(move || {
            work(state, &orders, &facts);
            let _ = ending.send(());
        })?;
        Ok((Self { queue, thread }, Ended(ended)))
    }

    /// Whether the thread lives.
    pub(crate) fn is_alive(&self) -> bool {
        !self.thread.is_finished()
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
        for folder in FOLDERS {
            let (files, changes): (Vec<_>, Vec<_>) = group
                .iter()
                .filter(|(file, _)| file.folder == folder)
                .map(|(file, change)| (file, (file.name.clone(), change.clone())))
                .unzip();
            if changes.is_empty() {
                continue;
            }
            let outcomes = state.shelf(folder).carry_out(&changes);
            for (file, outcome) in files.into_iter().zip(outcomes) {
                let outcome = outcome.map_err(|fault| state.reason(file, &fault));
                // A closed inbox means that the agent has ended and wants no answer.
                let _ = facts.blocking_send(Input::Kept { file: file.clone(), outcome });
            }
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
    pub(super) const fn shelf(&mut self, folder: Folder) -> &mut Shelf<Directory> {
        match folder {
            Folder::Root => &mut self.root,
            Folder::Data => &mut self.data,
            Folder::Report => &mut self.reports,
        }
    }

    fn reason(&self, file: &StateFile, fault: &Fault) -> String {
        let path = self.path.join(file.folder.name()).join(&fault.name);
        format!("cannot {} {}: {}", fault.doing, path.display(), fault.source)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use meshward_core::agent::{Change, Content, Folder, Input, StateFile};
    use tokio::sync::mpsc;

    use super::{Ended, QUEUE_MAX, Writer};
    use crate::store::Store;

    fn file(number: usize) -> StateFile {
        StateFile { folder: Folder::Report, name: format!("k{number}.json") }
    }

    fn write(number: usize) -> Change {
        Change::Write(Content(number.to_string().into_bytes()))
    }

    fn start(data: &Path, facts: mpsc::Sender<Input>) -> (Writer, Ended) {
        let state = Store::open(data).unwrap().take_state().unwrap();
        Writer::start(state, facts).unwrap()
    }

    #[test]
    fn every_change_is_carried_out_and_answered_once() {
        const CHANGES: usize = 500;
        let place = tempfile::tempdir().unwrap();
        let data = place.path().join("data");
        let (facts, mut told) = mpsc::channel(CHANGES);
        let (writer, _ended) = start(&data, facts);
        for number in 0..CHANGES {
            // Two changes of one file are never of one group, and the second counts.
            let file = file(number % 100);
            assert_eq!(writer.order(file, write(number)), None);
        }
        drop(writer);
        let mut files = BTreeSet::new();
        for _ in 0..CHANGES {
            let Some(Input::Kept { file, outcome: Ok(()) }) = told.blocking_recv() else {
                panic!("a change failed")
            };
            files.insert(file.name);
        }
        assert_eq!(told.blocking_recv(), None, "the thread has ended");
        assert_eq!(files.len(), 100);
        for number in 0..100 {
            let path = data.join("state/report").join(file(number).name);
            assert_eq!(std::fs::read_to_string(path).unwrap(), (400 + number).to_string());
        }
    }

    /// Here the thread hangs because nobody takes its answers, as it would in a call to a disk.
    #[test]
    fn a_thread_that_hangs_holds_up_nobody_and_its_queue_is_bounded() {
        let place = tempfile::tempdir().unwrap();
        let (facts, mut told) = mpsc::channel(1);
        let (writer, _ended) = start(&place.path().join("data"), facts);
        let refused = (0..).find_map(|number| writer.order(file(number), write(number)));
        let Some(Input::Kept { file, outcome: Err(reason) }) = refused else {
            panic!("the queue has no end")
        };
        assert!(reason.contains("too many changes wait"), "{reason}");
        let number: usize = file.name[1..file.name.len() - 5].parse().unwrap();
        assert!((QUEUE_MAX..QUEUE_MAX + 200).contains(&number), "{number} were taken");
        drop(writer);
        let answers = std::iter::from_fn(|| told.blocking_recv()).count();
        assert_eq!(answers, number, "what was taken is done");
    }
}
