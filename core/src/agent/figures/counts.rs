//! What has happened since the start, counted at the place of the fact under labels that are known beforehand.

use alloc::{collections::BTreeMap, vec::Vec};

use super::labels::{Delivered, Ended, Label, Outcome, Reason};
use crate::{
    agent::{
        facts::{Effect, Ending, RunId},
        notice::Level,
        signing::Refused,
        verdict::{Delivery, Fetched},
    },
    time::Mono,
    wire::event::Event,
};

/// A count for each value of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally<L>(BTreeMap<L, u64>);

impl<L> Default for Tally<L> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<L: Label> Tally<L> {
    pub fn add(&mut self, label: L) {
        let count = self.0.entry(label).or_default();
        *count = count.saturating_add(1);
    }

    pub fn of(&self, label: L) -> u64 {
        self.0.get(&label).copied().unwrap_or_default()
    }

    /// Every value with its count, those that did not occur too.
    pub fn all(&self) -> Vec<(&'static str, u64)> {
        L::ALL.iter().map(|label| (label.as_str(), self.of(*label))).collect()
    }
}

/// What has happened since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub heartbeats: Tally<Outcome>,
    pub pulls: Tally<Outcome>,
    pub events_accepted: u64,
    pub events_refused: Tally<Reason>,
    pub stream_requests: u64,
    pub executions: Tally<Ended>,
    pub local_runs: Tally<Ended>,
    pub reports: Tally<Delivered>,
    pub rotations: u64,
    pub notices: Tally<Level>,
    /// When an event was verified last.
    pub event_at: Option<Mono>,
}

impl Counts {
    pub fn heartbeat<T>(&mut self, fetched: &Fetched<T>) {
        self.heartbeats.add(Outcome::of(fetched));
    }

    pub fn pull<T>(&mut self, fetched: &Fetched<T>) {
        self.pulls.add(Outcome::of(fetched));
    }

    pub fn event(&mut self, now: Mono, judged: &Result<Event, Refused>) {
        match judged {
            Ok(_) => {
                self.events_accepted = self.events_accepted.saturating_add(1);
                self.event_at = Some(now);
            }
            Err(refused) => self.events_refused.add(Reason::of(refused)),
        }
    }

    /// A stream of events was asked for.
    pub const fn asked(&mut self) {
        self.stream_requests = self.stream_requests.saturating_add(1);
    }

    pub fn ended(&mut self, run: &RunId, ending: &Ending) {
        let ended = Ended::of(&ending.cause);
        match run {
            RunId::Execution(_) => self.executions.add(ended),
            RunId::Local(_) => self.local_runs.add(ended),
        }
    }

    pub fn report(&mut self, delivery: &Delivery) {
        self.reports.add(Delivered::of(delivery));
    }

    /// What of these orders is for the operator.
    pub fn told(&mut self, effects: &[Effect]) {
        for effect in effects {
            if let Effect::Tell(notice) = effect {
                self.notices.add(notice.level);
            }
        }
    }

    pub const fn rotated(&mut self) {
        self.rotations = self.rotations.saturating_add(1);
    }
}
