//! The thread of a spool, so that a disk that hangs holds up nothing but the records it is to keep.

use std::{
    mem,
    path::PathBuf,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::Duration,
};

use meshward_core::{
    agent::{Acted, Input, Pipe, Records, SpoolOrder, Spooled},
    wire::spool::{frame, read},
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::store::{Batch, Spool};

/// How many orders may wait; the core gives one at a time, and one that takes something back.
const ORDERS_MAX: usize = 4;

/// When a folder that cannot be opened is tried again.
const AGAIN: Duration = Duration::from_secs(60);

/// About how many bytes are brought back at once.
const READ_MAX: usize = 4 << 20;

/// Where the records of a pipeline wait, and how much room they may take.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) pipe: Pipe,
    pub(crate) folder: PathBuf,
    pub(crate) max_bytes: u64,
}

/// The way to the thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    orders: SyncSender<SpoolOrder>,
}

impl Worker {
    /// Begins the thread, which opens the spool first.
    pub(crate) fn start(place: Place, facts: mpsc::Sender<Input>) -> std::io::Result<Self> {
        let (orders, waiting) = sync_channel(ORDERS_MAX);
        let name = format!("spool-{}", place.pipe.name());
        thread::Builder::new().name(name).spawn(move || work(&place, &waiting, &facts, AGAIN))?;
        Ok(Self { orders })
    }

    /// Gives an order; what cannot be taken comes back as a fact.
    pub(crate) fn order(&self, order: SpoolOrder) -> Option<Spooled> {
        let refused = self.orders.try_send(order).err()?;
        let (std::sync::mpsc::TrySendError::Full(order)
        | std::sync::mpsc::TrySendError::Disconnected(order)) = refused;
        Some(unanswered(order, "the thread of the spool takes no more".to_owned()))
    }
}

/// What an order comes to that cannot be carried out.
fn unanswered(order: SpoolOrder, reason: String) -> Spooled {
    match order {
        SpoolOrder::Append(records) => Spooled::Refused { records, reason },
        SpoolOrder::Read { .. } | SpoolOrder::Settle(_) => Spooled::Failed(reason),
    }
}

fn work(
    place: &Place,
    orders: &Receiver<SpoolOrder>,
    facts: &mpsc::Sender<Input>,
    again: Duration,
) {
    let tell = |spooled| {
        let spooled = Acted::Spooled { pipe: place.pipe, spooled: Box::new(spooled) };
        // A closed inbox means that the agent has ended and wants no answer.
        let _ = facts.blocking_send(Input::Acted(spooled));
    };
    let Some(mut spool) = open(place, orders, again, tell) else { return };
    let damaged = spool.take_damaged() as u64;
    tell(Spooled::Opened { waiting: spool.waiting(), damaged });
    while let Ok(order) = orders.recv() {
        tell(carry_out(&mut spool, place, order));
    }
}

/// Opens the spool, as often as it takes; that it fails is told once. None where nobody wants it any more.
fn open(
    place: &Place,
    orders: &Receiver<SpoolOrder>,
    again: Duration,
    tell: impl Fn(Spooled),
) -> Option<Spool> {
    let mut is_told = false;
    loop {
        let reason = match Spool::open(&place.folder, place.max_bytes) {
            Ok(spool) => return Some(spool),
            Err(error) => format!(
                "the records that wait on the disk cannot be reached in {}, which is tried again every {} s: {error}",
                place.folder.display(),
                again.as_secs()
            ),
        };
        if !mem::replace(&mut is_told, true) {
            tell(Spooled::Failed(reason.clone()));
        }
        match orders.recv_timeout(again) {
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
            // None is given before it is open.
            Ok(order) => tell(unanswered(order, reason)),
        }
    }
}

fn carry_out(spool: &mut Spool, place: &Place, order: SpoolOrder) -> Spooled {
    let failed = |error: std::io::Error| {
        format!("records cannot be kept in {}: {error}", place.folder.display())
    };
    match order {
        SpoolOrder::Append(records) => {
            let (frames, count) = framed(&records);
            match spool.append(&frames, count) {
                Ok(done) => Spooled::Appended {
                    waiting: spool.waiting(),
                    given_up: done.dropped + records.len() as u64 - count,
                },
                Err(error) => Spooled::Refused { records, reason: failed(error) },
            }
        }
        SpoolOrder::Read { most } => match spool.read(most, READ_MAX) {
            Ok(batch) => told(place.pipe, &batch),
            Err(error) => Spooled::Unread(format!(
                "records cannot be read in {}: {error}",
                place.folder.display()
            )),
        },
        SpoolOrder::Settle(at) => {
            spool.settle(at);
            Spooled::Settled { waiting: spool.waiting() }
        }
    }
}

/// The frames of records, and how many there are.
fn framed(records: &Records) -> (Vec<u8>, u64) {
    match records {
        Records::Points(points) => all(points),
        Records::Lines(lines) => all(lines),
        Records::Events(events) => all(events),
    }
}

fn all<T: Serialize>(records: &[T]) -> (Vec<u8>, u64) {
    let mut frames = Vec::new();
    let written = records.iter().filter(|record| frame(&mut frames, *record)).count();
    (frames, written as u64)
}

fn told(pipe: Pipe, batch: &Batch) -> Spooled {
    let records = match pipe {
        Pipe::Metrics => Records::Points(decoded(batch)),
        Pipe::Logs => Records::Lines(decoded(batch)),
        Pipe::Audit => Records::Events(decoded(batch)),
    };
    let unread = batch.payloads.len() - records.len();
    Spooled::Read { records, place: batch.place, damaged: (batch.damaged + unread) as u64 }
}

/// A record of another version that means nothing here is passed over.
fn decoded<T: for<'t> Deserialize<'t>>(batch: &Batch) -> Vec<T> {
    batch.payloads.iter().filter_map(|payload| read(payload).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_that_cannot_be_made_is_told_once_and_opened_once_it_can_be() {
        let base = tempfile::tempdir().unwrap();
        let blocked = base.path().join("spool");
        fs::write(&blocked, "no folder").unwrap();
        let place = Place { pipe: Pipe::Logs, folder: blocked.join("logs"), max_bytes: 1 << 20 };
        let (orders, waiting) = sync_channel(ORDERS_MAX);
        let (facts, mut told) = mpsc::channel(8);
        let mut next = || match told.blocking_recv() {
            Some(Input::Acted(Acted::Spooled { pipe: Pipe::Logs, spooled })) => *spooled,
            other => panic!("{other:?}"),
        };
        thread::scope(|scope| {
            let place = &place;
            scope.spawn(move || work(place, &waiting, &facts, Duration::from_millis(5)));
            let Spooled::Failed(reason) = next() else { panic!("it is opened") };
            assert!(reason.contains("spool/logs") && reason.contains("tried again"), "{reason}");
            orders.send(SpoolOrder::Append(Records::Lines(Vec::new()))).unwrap();
            assert!(matches!(next(), Spooled::Refused { .. }));
            fs::remove_file(&blocked).unwrap();
            assert_eq!(next(), Spooled::Opened { waiting: 0, damaged: 0 });
            orders.send(SpoolOrder::Append(Records::Lines(Vec::new()))).unwrap();
            assert_eq!(next(), Spooled::Appended { waiting: 0, given_up: 0 });
            drop(orders);
        });
    }
}
