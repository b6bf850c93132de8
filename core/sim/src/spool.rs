//! The records of a pipeline that wait on a simulated disk: whole frames, of which a crash may leave a part.
//!
//! What was appended is durable before it is told. How far it was read is not: after a crash it may be where it was.

use meshward_core::{
    agent::{Pipe, Records, SpoolOrder, Spooled},
    wire::spool::{Found, Frames, frame, read},
};
use serde::{Deserialize, Serialize};

use crate::{chatter::Id, rng::Rng};

/// More bytes than these make the oldest records give way.
const ROOM: usize = 6 << 10;
/// With so many it is called full.
const NEARLY: usize = ROOM / 8 * 7;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spool {
    bytes: Vec<u8>,
    /// How many bytes in front of these were removed.
    gone: usize,
    /// What is done with, of all bytes there were, and how much of that a power cut leaves.
    done: usize,
    synced: usize,
    /// Up to where records were read that are not settled; they do not give way.
    held: usize,
}

impl Spool {
    /// How many records wait.
    pub fn waiting(&self) -> u64 {
        self.frames(self.done).count() as u64
    }

    /// How many records wait, and whether little room is left beside them.
    fn filled(&self) -> (u64, bool) {
        (self.waiting(), self.gone + self.bytes.len() - self.done > NEARLY)
    }

    /// The records that wait, the oldest first.
    pub(crate) fn ids(&self, pipe: Pipe) -> Vec<Option<Id>> {
        let payloads = self.frames(self.done).map(|(payload, _)| payload).collect::<Vec<_>>();
        crate::chatter::ids(&records(pipe, &payloads))
    }

    /// The sound frames from a place on, each with where the next one begins.
    fn frames(&self, from: usize) -> impl Iterator<Item = (&[u8], usize)> {
        let sound = |found| match found {
            Found::Record { payload, end } => Some((payload, self.gone + end)),
            Found::Damaged { .. } => None,
        };
        Frames::new(&self.bytes, from.max(self.gone) - self.gone).filter_map(sound)
    }

    /// Carries an order out, and tells how it ended.
    pub(crate) fn carry_out(&mut self, pipe: Pipe, order: SpoolOrder) -> Spooled {
        match order {
            SpoolOrder::Open => {
                let (waiting, is_full) = self.filled();
                Spooled::Opened { waiting, is_full, damaged: 0 }
            }
            SpoolOrder::Append { mut records, gives_way } => {
                let fitting = if gives_way { records.len() } else { self.fitting(&records) };
                let rest = records.split_off(fitting);
                self.bytes.extend(framed(&records));
                let given_up = self.make_room();
                let (waiting, is_full) = self.filled();
                Spooled::Appended { waiting, is_full, given_up, rest }
            }
            SpoolOrder::Read { most } => {
                let found: Vec<_> = self.frames(self.done).take(most).collect();
                let payloads: Vec<_> = found.iter().map(|(payload, _)| *payload).collect();
                let records = records(pipe, &payloads);
                let end = found.last().map(|(_, end)| *end);
                self.held = end.unwrap_or(self.held);
                Spooled::Read { records, damaged: 0 }
            }
            SpoolOrder::Settle { records } => {
                let last = usize::try_from(records).unwrap_or(usize::MAX).saturating_sub(1);
                let end = self.frames(self.done).map(|(_, end)| end).nth(last);
                self.done = end.expect("what is settled was read");
                // Now and then a file is at its end, which is removed once its place is durable.
                if self.done.is_multiple_of(3) {
                    self.bytes.drain(..self.done - self.gone);
                    (self.gone, self.synced) = (self.done, self.done);
                }
                let (waiting, is_full) = self.filled();
                Spooled::Settled { waiting, is_full }
            }
        }
    }

    /// How many of the records there is room for.
    fn fitting(&self, records: &Records) -> usize {
        let room = ROOM.saturating_sub(self.gone + self.bytes.len() - self.done);
        let fits = |found: &Found<'_>| matches!(found, Found::Record { end, .. } if *end <= room);
        Frames::new(&framed(records), 0).take_while(fits).count()
    }

    /// Gives the oldest records up that were not read.
    fn make_room(&mut self) -> u64 {
        let begin = self.held.max(self.done);
        let over = (self.gone + self.bytes.len() - self.done).saturating_sub(ROOM);
        let mut ends = self.frames(begin).map(|(_, end)| end).enumerate();
        let last = ends.find(|(_, end)| end - begin >= over).filter(|_| over > 0);
        drop(ends);
        let Some((last, end)) = last else { return 0 };
        self.bytes.drain(begin - self.gone..end - self.gone);
        last as u64 + 1
    }

    /// The machine goes down; what was being appended may be there in part.
    pub(crate) fn crash(&mut self, rng: &mut Rng, order: Option<SpoolOrder>) {
        if let Some(SpoolOrder::Append { records, .. }) = order {
            let frames = framed(&records);
            let written = rng.below(frames.len() as u64 + 1) as usize;
            self.bytes.extend(&frames[..written]);
        }
        if rng.odds(300) {
            self.done = self.synced;
        }
        self.held = 0;
    }
}

fn framed(records: &Records) -> Vec<u8> {
    match records {
        Records::Points(points) => all(points),
        Records::Lines(lines) => all(lines),
        Records::Events(events) => all(events),
    }
}

fn all<T: Serialize>(records: &[T]) -> Vec<u8> {
    let mut frames = Vec::new();
    for record in records {
        assert!(frame(&mut frames, record), "a record of this world is short");
    }
    frames
}

fn records(pipe: Pipe, payloads: &[&[u8]]) -> Records {
    match pipe {
        Pipe::Metrics => Records::Points(decoded(payloads)),
        Pipe::Logs => Records::Lines(decoded(payloads)),
        Pipe::Audit => Records::Events(decoded(payloads)),
    }
}

fn decoded<T: for<'t> Deserialize<'t>>(payloads: &[&[u8]]) -> Vec<T> {
    let whole = |payload: &&[u8]| read(payload).expect("what was written is read");
    payloads.iter().map(whole).collect()
}
