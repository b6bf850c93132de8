//! The way to the local endpoint of a pipeline, beside that to the control plane.
//!
//! | Phase | Input | Next | Also |
//! |---|---|---|---|
//! | idle | a batch waits, a token is at hand | posting | |
//! | idle | a batch waits, a token is to be asked for | fetching | |
//! | idle | a batch waits, no token can be had | idle | all that wait have failed |
//! | fetching | fetched, or not | idle | |
//! | posting | any 2xx | idle | delivered |
//! | posting | anything else, and nothing | idle | failed; never tried again |
//!
//! Each record goes this way once, whatever becomes of it at the control plane, which waits for an endpoint that is well
//! and for no other. Where too many batches wait, what comes has failed.
//!
//! Specification: "Agent-side conversion rules for ingest" (local endpoint delivery).

use alloc::{collections::VecDeque, format, string::String, vec::Vec};
use core::{mem, time::Duration};

use super::{
    batch::{CHUNK_BYTES_MAX, encode_local, least_local, tried},
    buffer::Buffer,
    credential::{Credential, Have},
    effect::{Desk, Effect},
    figures::LocalFigures,
};
use crate::{
    agent::{
        facts::Bytes,
        notice::{
            Notice,
            streak::{Kind, Streak},
        },
    },
    secret::Secret,
};

/// "Local endpoint request timeout: 10 s"
pub const DELIVER_TIMEOUT: Duration = Duration::from_secs(10);

/// How many batches wait for a local endpoint.
pub const PARCELS_MAX: usize = 4;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Local {
    phase: Phase,
    waiting: VecDeque<Parcel>,
    /// Every record in front of this number has gone this way, or never will.
    pub(super) given: u64,
    /// Those in front of this number are to go.
    pub(super) until: u64,
    credential: Credential,
    pub(super) figures: LocalFigures,
    streak: Streak,
    /// The last delivery failed.
    is_unwell: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    Fetching,
    Posting {
        records: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parcel {
    body: Bytes,
    records: usize,
}

impl Local {
    /// Packs what is to go, as long as there is room.
    pub(super) fn pack(&mut self, desk: &Desk<'_>, buffer: &Buffer) {
        if desk.settings.local.is_none() {
            self.waiting.clear();
            self.given = buffer.next();
            return;
        }
        while self.waiting.len() < PARCELS_MAX && self.wants(desk, buffer) {
            let held = buffer.from(self.given).map(|held| &held.record);
            let count = desk.settings.batch_size.min(buffer.in_order(self.given)).max(1);
            let mut count = tried(held, count, least_local);
            let body = loop {
                let records = buffer.from(self.given).take(count);
                let body = encode_local(desk.pipe, records.map(|held| &held.record));
                if body.len() <= CHUNK_BYTES_MAX || count == 1 {
                    break body;
                }
                count /= 2;
            };
            let last = buffer.from(self.given).take(count).next_back().map(|held| held.number);
            self.given = last.map_or_else(|| buffer.next(), |number| number + 1);
            self.waiting.push_back(Parcel { body: Bytes(body), records: count });
        }
    }

    fn wants(&self, desk: &Desk<'_>, buffer: &Buffer) -> bool {
        let waiting = buffer.from(self.given).len();
        waiting > 0
            && (self.given.max(buffer.first()) < self.until || waiting >= desk.settings.batch_size)
    }

    /// Records leave the buffer up to this number: those that have not gone this way never will.
    pub(super) fn pass(&mut self, desk: &mut Desk<'_>, end: u64, records: usize) {
        if records > 0 {
            let reason = "it takes them more slowly than they come";
            self.failed(desk, records, Kind::Slow, reason);
        }
        self.given = self.given.max(end);
    }

    /// Begins what can be begun.
    pub(super) fn advance(&mut self, desk: &mut Desk<'_>) {
        let Some(settings) = &desk.settings.local else { return };
        if self.phase != Phase::Idle || self.waiting.is_empty() {
            return;
        }
        match self.credential.have(desk.now.mono, &settings.secret_key) {
            Have::Token(token) => {
                let token = token.clone();
                self.post(desk, token);
            }
            Have::Ask => {
                self.phase = Phase::Fetching;
                let key = settings.secret_key.clone();
                desk.effects.push(Effect::Fetch { pipe: desk.pipe, key });
            }
            Have::None(reason) => {
                let reason = format!(
                    "its token, the secret {:?} of the control plane, cannot be had: {reason}",
                    settings.secret_key
                );
                self.is_unwell = true;
                let records =
                    mem::take(&mut self.waiting).iter().map(|parcel| parcel.records).sum();
                self.failed(desk, records, Kind::Tokenless, &reason);
            }
        }
    }

    fn post(&mut self, desk: &mut Desk<'_>, token: Secret<String>) {
        if let Some(Parcel { body, records }) = self.waiting.pop_front() {
            self.phase = Phase::Posting { records };
            desk.effects.push(Effect::Deliver { pipe: desk.pipe, body, token });
        }
    }

    pub(super) fn fetched(&mut self, desk: &Desk<'_>, outcome: Result<Secret<String>, String>) {
        let Some(settings) = &desk.settings.local else { return };
        if self.phase == Phase::Fetching {
            self.phase = Phase::Idle;
            self.credential.fetched(desk.now.mono, &settings.secret_key, outcome);
        }
    }

    pub(super) fn delivered(&mut self, desk: &mut Desk<'_>, outcome: Result<(), String>) {
        let Phase::Posting { records } = self.phase else { return };
        self.phase = Phase::Idle;
        match outcome {
            Ok(()) => {
                self.figures.delivered += records as u64;
                self.is_unwell = false;
                let good = format!("the local endpoint of the {} takes records", desk.pipe.name());
                let told = mem::take(&mut self.streak).ended(desk.now.mono, &good);
                desk.effects.extend(told.map(Effect::Tell));
            }
            Err(reason) => {
                self.is_unwell = true;
                self.failed(desk, records, Kind::Failed, &reason);
            }
        }
    }

    /// Each kind of failure is told for itself.
    fn failed(&mut self, desk: &mut Desk<'_>, records: usize, kind: Kind, reason: &str) {
        self.figures.failed += records as u64;
        let notice = Notice::warn(format!(
            "the local endpoint of the {} was not given {records} records, which go there no more: {reason}",
            desk.pipe.name()
        ));
        let (streak, notice) = self.streak.failed(desk.now.mono, kind, notice);
        self.streak = streak;
        desk.effects.push(Effect::Tell(notice));
    }

    /// A token is not fetched any more, as there is no identity to do it under.
    pub(super) fn quiet(&mut self) {
        if self.phase == Phase::Fetching {
            self.phase = Phase::Idle;
        }
    }

    /// Nothing goes this way any more.
    pub(super) fn close(&mut self) {
        let waiting: Vec<_> = mem::take(&mut self.waiting).into();
        let records: usize = waiting.iter().map(|parcel| parcel.records).sum();
        let posting = match mem::take(&mut self.phase) {
            Phase::Posting { records } => records,
            Phase::Idle | Phase::Fetching => 0,
        };
        self.figures.failed += (records + posting) as u64;
    }

    /// Whether the endpoint is well, and has as much before it as it may have.
    pub(super) fn is_behind(&self) -> bool {
        self.waiting.len() >= PARCELS_MAX && !self.is_unwell
    }

    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle && self.waiting.is_empty()
    }
}
