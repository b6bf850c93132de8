//! Sources that are asked and records that wait on the disk, as an agent orders it; each takes a drawn time.
//!
//! A source may hang or fail, and brings then with a later round what it has. What the disk was ordered is done at the
//! end of its time, and a crash before leaves a part of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use meshward_core::{
    agent::{
        Acted, Collect, Collected, Feed, Input, Pipe, Records, Source, SpoolOrder, Spooled, Voice,
    },
    time::Mono,
    wire::positions::Positions,
};

use crate::{
    chatter::{self, Chatter, Kind, PLACES},
    journal::Entry,
    node::Place,
    rng::Rng,
    script::Murmur,
    world::World,
};

/// How long a round takes at most, and how long an order to the disk, in milliseconds.
const ROUND_MAX: u64 = 1_500;
const ORDER_MAX: u64 = 400;
/// What the kernel holds of audited events until they are read.
const QUEUE: usize = 10;

/// What a process has ordered of its voice and is not told yet.
#[derive(Clone, Debug, Default)]
pub struct Speaking {
    rounds: Vec<(Mono, Collect)>,
    orders: BTreeMap<Pipe, (Mono, SpoolOrder)>,
    /// How many records of each place it has read.
    ears: [usize; PLACES.len()],
}

impl Speaking {
    /// When the next of it is told.
    pub fn due(&self) -> Option<Mono> {
        let rounds = self.rounds.iter().map(|(due, _)| *due);
        let orders = self.orders.values().map(|(due, _)| *due);
        rounds.chain(orders).min()
    }

    /// The order that the disk of a pipeline has not carried out.
    pub(crate) fn take_order(&mut self, pipe: Pipe) -> Option<SpoolOrder> {
        self.orders.remove(&pipe).map(|(_, order)| order)
    }

    fn begin(&mut self, pipe: Pipe, from: &Positions, chatter: &Chatter) {
        for (at, place) in PLACES.iter().enumerate().filter(|(_, place)| place.pipe == pipe) {
            let kept = from.places.get(place.name).map_or(0, chatter::number);
            self.ears[at] = if place.waits { kept } else { chatter.len(at) };
        }
    }
}

impl World {
    fn soon(&mut self, most: u64) -> Mono {
        self.clock.mono().after(Duration::from_millis(1 + self.murmurs.below(most)))
    }

    pub(crate) fn murmur(&mut self, at: usize, murmur: Murmur) {
        let chatter = &mut self.nodes[at].chatter;
        match murmur {
            Murmur::Burst { pipe, count } => chatter.burst(pipe, count, false),
            Murmur::Huge { pipe } => chatter.burst(pipe, 1, true),
        }
    }

    /// No world has a local endpoint.
    pub(crate) fn speak(&mut self, at: usize, order: Voice) {
        self.checks.speaks(at, &order);
        match order {
            Voice::Collect(collect) => {
                let due = self.soon(ROUND_MAX);
                self.nodes[at].speaking.rounds.push((due, collect));
            }
            Voice::Ship { call, request, timeout, .. } => self.send(at, call, (&request, timeout)),
            Voice::Deliver { .. } => {}
            Voice::Spool { pipe, order } => {
                let due = self.soon(ORDER_MAX);
                self.nodes[at].speaking.orders.insert(pipe, (due, order));
                self.crashes(at, Place::Spooling);
            }
        }
    }

    /// Tells what is due of what an agent has ordered.
    pub(crate) fn spoken(&mut self, at: usize) {
        let now = self.clock.mono();
        let speaking = &mut self.nodes[at].speaking;
        if let Some(place) = speaking.rounds.iter().position(|(due, _)| *due <= now) {
            let (_, collect) = speaking.rounds.remove(place);
            let collected = Box::new(self.collect(at, &collect));
            return self.feed(at, Input::Acted(Acted::Collected(collected)));
        }
        let due = speaking.orders.extract_if(.., |_, (due, _)| *due <= now).next();
        if let Some((pipe, (_, order))) = due {
            self.spool(at, pipe, order);
        }
    }

    /// A disk that fails gives back what it was to take, and keeps what was to be read.
    fn spool(&mut self, at: usize, pipe: Pipe, order: SpoolOrder) {
        let node = &mut self.nodes[at];
        let spooled = match order {
            SpoolOrder::Append { records, .. } if node.failing_writes > 0 => {
                node.failing_writes -= 1;
                Spooled::Refused { records, reason: "no space left".to_owned() }
            }
            SpoolOrder::Read { .. } if node.failing_writes > 0 => {
                node.failing_writes -= 1;
                Spooled::Unread("too many open files".to_owned())
            }
            SpoolOrder::Open if node.failing_writes > 0 => {
                node.failing_writes -= 1;
                Spooled::Failed("the folder cannot be reached".to_owned())
            }
            order @ (SpoolOrder::Open
            | SpoolOrder::Append { .. }
            | SpoolOrder::Read { .. }
            | SpoolOrder::Settle { .. }) => node.spools[pipe as usize].carry_out(pipe, order),
        };
        self.told_of_spool(at, pipe, spooled);
    }

    fn told_of_spool(&mut self, at: usize, pipe: Pipe, spooled: Spooled) {
        self.note(Entry::Spooled { node: at, pipe, told: format!("{spooled:?}") });
        if self.crashes(at, Place::Spooled) {
            self.checks.unheard(at, pipe, &spooled);
        } else {
            self.feed(at, Input::Acted(Acted::Spooled { pipe, spooled: Box::new(spooled) }));
        }
    }

    fn collect(&mut self, at: usize, collect: &Collect) -> Collected {
        let talks = self.hushed_at.is_none_or(|hushed| self.clock.mono() < hushed);
        let Self { nodes, murmurs, .. } = self;
        let node = &mut nodes[at];
        let (chatter, speaking) = (&mut node.chatter, &mut node.speaking);
        if collect.round == 1 {
            let from = collect.from.clone().unwrap_or_default();
            speaking.begin(collect.pipe, &from, chatter);
        }
        let mut feeds: Vec<Feed> = Vec::new();
        let is_asked = |source| collect.only.as_ref().is_none_or(|only| only.contains(&source));
        let places = PLACES.iter().enumerate().filter(|(_, of)| of.pipe == collect.pipe);
        for (place, of) in places.filter(|(_, of)| is_asked(of.source)) {
            if murmurs.odds(40) {
                feeds.push(silent(of.source, collect.pipe));
                continue;
            }
            if talks {
                draw(murmurs, chatter, place);
            }
            feeds.push(hear((chatter, speaking), place, collect.room));
        }
        // A source has more where one of its places has.
        let with_more: BTreeSet<Source> =
            feeds.iter().filter(|feed| feed.more).map(|feed| feed.source).collect();
        for feed in &mut feeds {
            feed.more = with_more.contains(&feed.source);
        }
        Collected { pipe: collect.pipe, round: collect.round, feeds }
    }
}

/// Draws what a place has to tell since it was asked last.
fn draw(rng: &mut Rng, chatter: &mut Chatter, place: usize) {
    let (ready, mut huge) = chatter.take_ready(place);
    let most = if PLACES[place].pipe == Pipe::Metrics { 1 } else { rng.below(3) as usize };
    for _ in 0..ready + most {
        let kind = match rng.below(12) {
            0 => Kind::Void,
            1 if PLACES[place].pipe == Pipe::Logs => Kind::Minor,
            _ if PLACES[place].pipe != Pipe::Metrics && std::mem::take(&mut huge) => Kind::Huge,
            _ => Kind::Sound,
        };
        chatter.add(place, kind);
    }
}

/// A source that hangs.
fn silent(source: Source, pipe: Pipe) -> Feed {
    let records = match pipe {
        Pipe::Metrics => Records::Points(Vec::new()),
        Pipe::Logs => Records::Lines(Vec::new()),
        Pipe::Audit => Records::Events(Vec::new()),
    };
    let troubles = vec!["it does not answer".to_owned()];
    Feed { source, records, marks: Vec::new(), more: false, lost: 0, troubles }
}

/// What a place has, as far as there is room where it can wait; of the others the kernel lets the oldest go.
fn hear((chatter, speaking): (&Chatter, &mut Speaking), place: usize, room: usize) -> Feed {
    let of = PLACES[place];
    let ear = &mut speaking.ears[place];
    let there = chatter.len(place).saturating_sub(*ear);
    let lost = if of.waits { 0 } else { there.saturating_sub(QUEUE) };
    let begin = *ear + lost;
    let end = if of.waits { begin + there.min(room) } else { chatter.len(place) };
    *ear = end;
    let marks = match of.waits && end > begin {
        true => vec![(of.name.to_owned(), Some(chatter::position(place, end)))],
        false => Vec::new(),
    };
    Feed {
        source: of.source,
        records: chatter.records(place, begin..end),
        marks,
        more: end < chatter.len(place),
        lost: lost as u64,
        troubles: Vec::new(),
    }
}
