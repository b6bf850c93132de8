//! The thread of a spool, so that a disk that hangs holds up nothing but the records it is to keep.

use std::{
    io,
    path::PathBuf,
    sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    thread,
};

use meshward_core::{
    agent::{Acted, Input, Pipe, Records, SpoolOrder, Spooled},
    wire::spool::{frame, read},
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::store::Spool;

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
    place: Place,
    facts: mpsc::Sender<Input>,
    /// Absent before it was begun.
    orders: Option<SyncSender<SpoolOrder>>,
}

impl Worker {
    pub(crate) const fn new(place: Place, facts: mpsc::Sender<Input>) -> Self {
        Self { place, facts, orders: None }
    }

    /// Gives an order, and begins the thread with the first; what cannot be taken comes back as a fact.
    pub(crate) fn order(&mut self, order: SpoolOrder) -> Option<Spooled> {
        let begun = match self.orders.take() {
            Some(orders) => Ok(orders),
            None => self.begin(),
        };
        let orders = match begun {
            Ok(orders) => self.orders.insert(orders),
            Err(error) => {
                let reason = format!(
                    "the thread that keeps the {} on the disk cannot be started: {error}",
                    self.place.pipe.name()
                );
                return Some(unanswered(order, reason));
            }
        };
        let refused = orders.try_send(order).err()?;
        let (TrySendError::Full(order) | TrySendError::Disconnected(order)) = refused;
        Some(unanswered(order, "the thread of the spool takes no more".to_owned()))
    }

    fn begin(&self) -> io::Result<SyncSender<SpoolOrder>> {
        let (orders, waiting) = sync_channel(ORDERS_MAX);
        let (place, facts) = (self.place.clone(), self.facts.clone());
        let name = format!("spool-{}", place.pipe.name());
        thread::Builder::new().name(name).spawn(move || work(&place, &waiting, &facts))?;
        Ok(orders)
    }
}

/// What an order comes to that cannot be carried out.
fn unanswered(order: SpoolOrder, reason: String) -> Spooled {
    match order {
        SpoolOrder::Append { records, .. } => Spooled::Refused { records, reason },
        SpoolOrder::Open | SpoolOrder::Read { .. } | SpoolOrder::Settle { .. } => {
            Spooled::Failed(reason)
        }
    }
}

fn work(place: &Place, orders: &Receiver<SpoolOrder>, facts: &mpsc::Sender<Input>) {
    let mut spool = None;
    while let Ok(order) = orders.recv() {
        let spooled = Box::new(carry_out(&mut spool, place, order));
        // A closed inbox means that the agent has ended and wants no answer.
        let _ = facts.blocking_send(Input::Acted(Acted::Spooled { pipe: place.pipe, spooled }));
    }
}

fn open(spool: &mut Option<Spool>, place: &Place) -> Spooled {
    // What is open is closed first.
    *spool = None;
    match Spool::open(&place.folder, place.max_bytes) {
        Ok(opened) => {
            let opened = spool.insert(opened);
            let damaged = opened.take_damaged() as u64;
            Spooled::Opened { waiting: opened.waiting(), is_full: opened.is_full(), damaged }
        }
        Err(error) => Spooled::Failed(format!(
            "the records that wait on the disk cannot be reached in {}: {error}",
            place.folder.display()
        )),
    }
}

fn carry_out(spool: &mut Option<Spool>, place: &Place, order: SpoolOrder) -> Spooled {
    let failed =
        |error: io::Error| format!("records cannot be kept in {}: {error}", place.folder.display());
    match (order, spool) {
        (SpoolOrder::Open, spool) => open(spool, place),
        (order, None) => {
            unanswered(order, "the records that wait on the disk were not opened".to_owned())
        }
        (SpoolOrder::Append { mut records, gives_way }, Some(spool)) => {
            let mut done = append(spool, &records, gives_way);
            if is_gone(&done) && spool.waiting() == 0 {
                // Somebody has removed the folder, in which nothing was left.
                if let Ok(opened) = Spool::open(&place.folder, place.max_bytes) {
                    *spool = opened;
                    done = append(spool, &records, gives_way);
                }
            }
            match done {
                Ok(Put { given_up, done }) => Spooled::Appended {
                    waiting: spool.waiting(),
                    is_full: spool.is_full(),
                    given_up,
                    rest: records.split_off(done),
                },
                Err(error) => Spooled::Refused { records, reason: failed(error) },
            }
        }
        (SpoolOrder::Read { most }, Some(spool)) => bring_back(spool, place.pipe, most)
            .unwrap_or_else(|error| {
                let folder = place.folder.display();
                Spooled::Unread(format!("records cannot be read in {folder}: {error}"))
            }),
        (SpoolOrder::Settle { records }, Some(spool)) => {
            spool.settle(usize::try_from(records).unwrap_or(usize::MAX));
            Spooled::Settled { waiting: spool.waiting(), is_full: spool.is_full() }
        }
    }
}

fn is_gone<T>(done: &io::Result<T>) -> bool {
    done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// What became of records that were to be appended.
struct Put {
    given_up: u64,
    /// How many of the first are done with: durable, or given up.
    done: usize,
}

/// An error is one of the first of them, so that none is on the disk.
fn append(spool: &mut Spool, records: &Records, gives_way: bool) -> io::Result<Put> {
    match records {
        Records::Points(points) => put(spool, points, gives_way),
        Records::Lines(lines) => put(spool, lines, gives_way),
        Records::Events(events) => put(spool, events, gives_way),
    }
}

/// Appends no more at once than belongs into one file, so that neither files nor memory grow by what is brought.
fn put<T: Serialize>(spool: &mut Spool, records: &[T], gives_way: bool) -> io::Result<Put> {
    let mut put = Put { given_up: 0, done: 0 };
    let mut frames = Vec::new();
    while put.done < records.len() {
        let room = if gives_way { u64::MAX } else { spool.room() };
        let chunk = Chunk::of(&mut frames, &records[put.done..], (spool.file_limit(), room));
        if chunk.framed > 0 {
            match spool.append(&frames, chunk.framed) {
                Ok(appended) => put.given_up += appended.dropped,
                Err(error) if put.done == 0 => return Err(error),
                // What is on the disk by now is told; the rest is offered again.
                Err(_) => break,
            }
        }
        put.given_up += chunk.passed_over;
        put.done += chunk.done;
        if chunk.is_last {
            break;
        }
    }
    Ok(put)
}

/// The first of some records, in frames.
#[derive(Default)]
struct Chunk {
    framed: u64,
    /// Too long for a frame.
    passed_over: u64,
    /// Both.
    done: usize,
    /// There is no room for the next one.
    is_last: bool,
}

impl Chunk {
    /// Of so many bytes, and the record that brings them beyond the limit, but no more than there is room for.
    fn of<T: Serialize>(frames: &mut Vec<u8>, records: &[T], (limit, room): (u64, u64)) -> Self {
        let mut chunk = Self::default();
        frames.clear();
        for record in records {
            let before = frames.len();
            if before as u64 >= limit {
                break;
            }
            match frame(frames, record) {
                false => chunk.passed_over += 1,
                true if frames.len() as u64 > room => {
                    frames.truncate(before);
                    chunk.is_last = true;
                    break;
                }
                true => chunk.framed += 1,
            }
            chunk.done += 1;
        }
        chunk
    }
}

fn bring_back(spool: &mut Spool, pipe: Pipe, most: usize) -> io::Result<Spooled> {
    let (records, damaged) = match pipe {
        Pipe::Metrics => batch(spool, most, Records::Points),
        Pipe::Logs => batch(spool, most, Records::Lines),
        Pipe::Audit => batch(spool, most, Records::Events),
    }?;
    Ok(Spooled::Read { records, damaged: damaged as u64 })
}

/// Records of one kind, and how many bytes are none.
fn batch<T: for<'t> Deserialize<'t>>(
    spool: &mut Spool,
    most: usize,
    of: fn(Vec<T>) -> Records,
) -> io::Result<(Records, usize)> {
    let batch = spool.read((most, READ_MAX), |payload| read(payload).ok())?;
    Ok((of(batch.records), batch.damaged))
}

#[cfg(test)]
mod tests;
