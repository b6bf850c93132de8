//! The thread of a spool, so that a disk that hangs holds up nothing but the records it is to keep.

use std::{
    path::PathBuf,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
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
        thread::Builder::new().name(name).spawn(move || work(&place, &waiting, &facts))?;
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

fn work(place: &Place, orders: &Receiver<SpoolOrder>, facts: &mpsc::Sender<Input>) {
    let tell = |spooled| {
        let spooled = Acted::Spooled { pipe: place.pipe, spooled: Box::new(spooled) };
        // A closed inbox means that the agent has ended and wants no answer.
        let _ = facts.blocking_send(Input::Acted(spooled));
    };
    let mut spool = match Spool::open(&place.folder, place.max_bytes) {
        Ok(spool) => spool,
        Err(error) => {
            let folder = place.folder.display();
            return tell(Spooled::Failed(format!(
                "the records that wait on the disk cannot be reached in {folder}: {error}"
            )));
        }
    };
    let damaged = spool.take_damaged() as u64;
    tell(Spooled::Opened { waiting: spool.waiting(), damaged });
    while let Ok(order) = orders.recv() {
        tell(carry_out(&mut spool, place, order));
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
