//! What became of each record of one pipeline of one node, over all its processes.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use meshward_core::{
    agent::{
        Answer, Collect, Collected, Level, Pipe, Spooled,
        voice::{Reason, TELL_EVERY, figures::PipeFigures},
    },
    ids::CallId,
    time::Mono,
    wire::http::Response,
};

use super::{
    account::{self, Cause},
    witness::{Found, Sending},
};
use crate::{
    chatter::{self, Chatter, Id, Kind, PLACES},
    node::Node,
    script::Speech,
    told::Told,
};

/// Where the numbers of what this process was handed begin; what it found on the disk stands in front of them.
const HANDED: u64 = 1 << 32;

#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    /// By the control plane, whether that was heard or not.
    taken: BTreeSet<Id>,
    /// Dropped, and known by name.
    excused: BTreeSet<Id>,
    /// How many records dropped that cannot be named, and how many processes held that are gone.
    unnamed: u64,
    died_with: u64,
    /// How many sources lost that have nothing wait.
    lost: u64,
    /// How many records of each place the disk says are done with, and how many of those are nowhere.
    passed: [usize; PLACES.len()],
    missing: u64,
    life: Life,
}

/// Of this process.
#[derive(Clone, Debug, Default)]
struct Life {
    /// Where in its order each record was handed over; twice where the disk held it too.
    handed: BTreeMap<Id, Vec<u64>>,
    last: u64,
    settled: BTreeMap<Id, usize>,
    /// Everything in front of this is done with, where no record waits on the disk.
    front: u64,
    flight: Option<Flight>,
    round: Option<u64>,
    rounds: u64,
    is_ordered: bool,
    /// The disk could not be opened last.
    is_without_disk: bool,
    figures: Option<PipeFigures>,
    told: u64,
    told_at: Option<Mono>,
}

/// A batch that is not answered.
#[derive(Clone, Debug)]
struct Flight {
    call: CallId,
    ids: Vec<Id>,
    /// Its answer may be nobody's.
    is_abandoned: bool,
}

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Taken,
    Malformed,
    TooLarge,
    Unprovisioned,
    Kept,
}

/// An answer that was heard, to a batch of so many records.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    pub(super) fate: Fate,
    pub(super) ids: Vec<Id>,
    pub(super) is_abandoned: bool,
}

impl Fate {
    pub(super) fn of(answer: &Answer) -> Self {
        let Answer::Responded(response) = answer else { return Self::Kept };
        match response.status {
            200..300 => Self::Taken,
            400 if says(response, "ingest_batch_malformed") => Self::Malformed,
            413 => Self::TooLarge,
            501 if says(response, "observability_ingest_not_provisioned") => Self::Unprovisioned,
            _ => Self::Kept,
        }
    }
}

fn says(response: &Response, code: &str) -> bool {
    String::from_utf8_lossy(&response.body).contains(code)
}

impl Ledger {
    pub(super) fn records(&self) -> u64 {
        self.taken.len() as u64
    }

    pub(super) fn died(&mut self) {
        let figures = self.figures();
        self.unnamed += account::unnamed(&figures);
        self.lost += account::dropped(&figures, Reason::LostAtSource);
        self.died_with += figures.held_records + account::dropped(&figures, Reason::Stopped);
        self.life = Life::default();
    }

    pub(super) fn retires(&mut self) {
        if let Some(flight) = &mut self.life.flight {
            flight.is_abandoned = true;
        }
    }

    /// Those behind the last step.
    pub(super) fn figures(&self) -> PipeFigures {
        self.life.figures.clone().unwrap_or_else(|| account::none(Pipe::Metrics))
    }

    pub(super) fn asks(&mut self, collect: &Collect, speech: Speech, found: &mut Found) {
        let life = &mut self.life;
        found.unless(life.round.is_none(), "sources are asked one round after the other");
        found.unless(collect.round == life.rounds + 1, "rounds are counted");
        found.unless(collect.room <= 2 * speech.batch, "a round asks for no more than is held");
        let begins = collect.round == 1 && collect.pipe != Pipe::Metrics;
        found.unless(
            collect.from.is_some() == begins,
            "the first round alone tells where sources go on",
        );
        (life.round, life.rounds) = (Some(collect.round), collect.round);
    }

    pub(super) fn orders(&mut self, speech: Speech, found: &mut Found) {
        found.unless(speech.spool, "a disk is ordered where it is to be used");
        found.unless(!self.life.is_ordered, "the disk is given one order after the other");
        self.life.is_ordered = true;
    }

    /// The disk has told, and of what stands there where it was opened.
    pub(super) fn spooled(&mut self, ids: Vec<Option<Id>>, has_failed: bool) {
        self.life.is_ordered = false;
        if mem::replace(&mut self.life.is_without_disk, has_failed) {
            // What is found later goes behind what was held in memory meanwhile.
            for id in ids.into_iter().flatten() {
                self.life.last += 1;
                self.life.handed.entry(id).or_default().push(HANDED + self.life.last);
            }
            return;
        }
        for (number, id) in ids.into_iter().enumerate().rev() {
            if let Some(id) = id {
                // Something may have been handed over before the disk was opened.
                self.life.handed.entry(id).or_default().insert(0, number as u64);
            }
        }
    }

    /// The process dies before it is told what the disk gave up for want of room.
    pub(super) fn unheard(&mut self, spooled: &Spooled) {
        if let Spooled::Appended { given_up, .. } = spooled {
            self.unnamed += given_up;
        }
    }

    pub(super) fn collected(&mut self, collected: &Collected, chatter: &Chatter) -> Cause {
        let mut cause = Cause::default();
        self.life.round = None;
        for feed in &collected.feeds {
            cause.collected += feed.records.len() as u64;
            cause.lost += feed.lost;
            for id in chatter::ids(&feed.records).into_iter().flatten() {
                cause.minor += u64::from(chatter.kind(id) == Some(Kind::Minor));
                self.life.last += 1;
                self.life.handed.entry(id).or_default().push(HANDED + self.life.last);
            }
        }
        cause
    }

    pub(super) fn sent(
        &mut self,
        sending: &Sending<'_>,
        told: &[Told],
        speech: Speech,
        found: &mut Found,
    ) {
        let life = &mut self.life;
        let is_free = life.flight.as_ref().is_none_or(|flight| flight.is_abandoned);
        found.unless(is_free, "one batch of a pipeline is under way at a time");
        found.unless(
            (1..=speech.batch).contains(&told.len()),
            "a batch has one record, and as many as are set at most",
        );
        let ids: Vec<_> = told.iter().filter_map(|told| told.id).collect();
        found.unless(ids.len() == told.len(), "no record is sent that no source has told");
        let mut behind = None;
        for id in &ids {
            let at = life.handed.get(id).and_then(|at| at.iter().find(|at| behind < Some(**at)));
            found.unless(at.is_some(), "a batch holds what was handed over, in its order");
            behind = at.copied().or(behind);
            let copies = life.handed.get(id).map_or(0, Vec::len);
            found.unless(
                life.settled.get(id).is_none_or(|settled| *settled < copies),
                "what is done with is not sent again",
            );
        }
        let first = ids.first().and_then(|id| life.handed.get(id)?.last()).copied();
        found.unless(
            speech.spool || first > Some(life.front),
            "no batch goes behind a younger one that is done with",
        );
        life.flight = Some(Flight { call: sending.caller.call, ids, is_abandoned: false });
    }

    /// The control plane takes a batch.
    pub(super) fn taken(&mut self, told: &[Told], chatter: &Chatter, found: &mut Found) {
        for Told { id, at } in told {
            let sound = id.filter(|id| chatter.kind(*id) == Some(Kind::Sound));
            let is_whole = sound.is_some_and(|id| *at == Some(chatter::stamp(id)));
            found.unless(is_whole, "what the control plane takes was told by a source, as it is");
            self.taken.extend(sound);
        }
    }

    pub(super) fn awaits(&self, call: CallId) -> bool {
        self.life.flight.as_ref().is_some_and(|flight| flight.call == call)
    }

    pub(super) fn heard(&mut self, fate: Fate) -> Heard {
        let Some(Flight { ids, is_abandoned, .. }) = self.life.flight.take() else {
            return Heard { fate, ids: Vec::new(), is_abandoned: true };
        };
        Heard { fate, ids, is_abandoned }
    }

    /// What the numbers say became of the batch that was answered.
    pub(super) fn moved(&mut self, now: &PipeFigures, cause: &Cause) {
        let before = self.figures();
        if let Some(heard) = &cause.answer
            && account::has_settled(&before, now, heard)
        {
            self.settle(heard);
        }
        self.life.figures = Some(now.clone());
    }

    fn settle(&mut self, heard: &Heard) {
        for id in &heard.ids {
            *self.life.settled.entry(*id).or_default() += 1;
            let at = self.life.handed.get(id).and_then(|at| at.last()).copied();
            self.life.front = self.life.front.max(at.unwrap_or_default());
        }
        if heard.fate != Fate::Taken {
            self.excused.extend(&heard.ids);
        }
    }

    /// How many records were dropped is told, each reason with its number.
    pub(super) fn told(&mut self, (level, reasons): (Level, &str), now: Mono, found: &mut Found) {
        let number = |part: &str| part.split(' ').next().and_then(|text| text.parse::<u64>().ok());
        self.life.told += reasons.split("; ").filter_map(number).sum::<u64>();
        let worth = account::worth_telling(&self.figures());
        found.unless(self.life.told <= worth, "no more drops are told than there were");
        let stopped = account::dropped(&self.figures(), Reason::Stopped) > 0;
        let hasty = self.life.told_at.is_some_and(|at| now.since(at) < TELL_EVERY);
        found.unless(
            !hasty || stopped || worth == self.life.told,
            "drops are summed up each five minutes",
        );
        found.unless(
            (level == Level::Warn) != hasty,
            "one warning in five minutes sums up what is dropped",
        );
        if level == Level::Warn {
            self.life.told_at = Some(now);
        }
    }

    pub(super) fn exited(&self, found: &mut Found) {
        let figures = self.figures();
        found.unless(
            self.life.told == account::worth_telling(&figures),
            "every drop is told at the end",
        );
    }

    /// The disk says that all in front of a place is done with.
    pub(super) fn passes(&mut self, (place, upto): (usize, usize), node: &Node, found: &mut Found) {
        let pipe = PLACES[place].pipe;
        let is_there = upto <= node.chatter.len(place);
        found.unless(is_there, "a place is kept where a source has been");
        if upto <= self.passed[place] || !is_there {
            return;
        }
        let stored: BTreeSet<_> =
            node.spools[pipe as usize].ids(pipe).into_iter().flatten().collect();
        for number in self.passed[place]..upto {
            let id = Id { place, number };
            let is_done = !is_owed(&node.chatter, id)
                || self.taken.contains(&id)
                || self.excused.contains(&id)
                || stored.contains(&id);
            self.missing += u64::from(!is_done);
        }
        self.passed[place] = upto;
        found.unless(
            self.missing <= self.unnamed + account::unnamed(&self.figures()),
            "a place that is kept passes no record that is not taken, dropped and counted, or on the disk",
        );
    }

    /// What was told of places where it waits has come, or was dropped for want of room; the rest may have died as well.
    pub(super) fn rested(&self, pipe: Pipe, node: &Node, found: &mut Found) {
        let figures = self.figures();
        found.unless(figures.held_records == 0, "nothing is held in the end");
        let spool = &node.spools[pipe as usize];
        found.unless(spool.waiting() == 0, "nothing waits on the disk in the end");
        let stored: BTreeSet<_> = spool.ids(pipe).into_iter().flatten().collect();
        let unnamed = self.unnamed + account::unnamed(&figures);
        let places = PLACES.iter().enumerate().filter(|(_, place)| place.pipe == pipe);
        let (mut waiting, mut others) = (0, 0);
        for (place, of) in places {
            let ids = (0..node.chatter.len(place)).map(|number| Id { place, number });
            let lost = ids.filter(|id| is_owed(&node.chatter, *id)).filter(|id| {
                ![&self.taken, &self.excused, &stored].iter().any(|done| done.contains(id))
            });
            *(if of.waits { &mut waiting } else { &mut others }) += lost.count() as u64;
        }
        found.unless(waiting <= unnamed, "every record that waits at its source comes in the end");
        let lost = self.lost + account::dropped(&figures, Reason::LostAtSource);
        found.unless(
            waiting + others <= unnamed + lost + self.died_with,
            "every record comes in the end that no process died with",
        );
    }
}

/// Whether the control plane is to have it.
fn is_owed(chatter: &Chatter, id: Id) -> bool {
    matches!(chatter.kind(id), Some(Kind::Sound | Kind::Huge))
}
