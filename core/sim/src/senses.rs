//! What an agent senses of its surroundings: how it is seen from outside, its hooks, its program and its host key.
//!
//! Each order takes a drawn time, and what is told is what is so at its end.

use std::time::Duration;

use meshward_core::{
    agent::{Acted, Discovery, Input},
    backoff::Jitter,
    time::Mono,
};

use crate::{
    script::{Change, Folder},
    world::World,
};

/// How long a look at the files takes at most, and how long until a change of them is told, in milliseconds.
const LOOK_MAX: u64 = 1_500;
const STIR_MAX: u64 = 300;
/// How long servers that answer take at most, in milliseconds.
const ANSWER_MAX: u64 = 900;

/// What a process has ordered and is not told yet.
#[derive(Clone, Debug, Default)]
pub struct Sensing {
    /// The oldest first; the outcome of one that was replaced may still be on its way.
    discoveries: Vec<(Mono, u64)>,
    measure: Option<Mono>,
    scan: Option<Mono>,
    stir: Option<Mono>,
    is_watching: bool,
}

impl Sensing {
    /// When the next of it is told.
    pub fn due(&self) -> Option<Mono> {
        let discovery = self.discoveries.iter().map(|(due, _)| *due).min();
        [discovery, self.measure, self.scan, self.stir].into_iter().flatten().min()
    }
}

impl World {
    pub(crate) fn surround(&mut self, at: usize, change: Change) {
        let now = self.clock.mono();
        let stirs = self.nodes[at].around.change(now, change);
        if stirs && self.nodes[at].sensing.is_watching {
            let due = self.later(STIR_MAX);
            self.nodes[at].sensing.stir.get_or_insert(due);
        }
    }

    fn later(&mut self, most: u64) -> Mono {
        self.clock.mono().after(Duration::from_millis(1 + self.senses.below(most)))
    }

    /// A newer discovery replaces an older one, whose outcome may have been told already.
    pub(crate) fn discover(&mut self, at: usize, discovery: &Discovery) {
        let now = self.node_now(at).mono;
        self.checks.discovers(at, discovery.round, now);
        let mut due = self.later(ANSWER_MAX);
        if self.nodes[at].around.is_deaf() {
            due = due.after(discovery.timeout);
        }
        let overtakes = self.senses.odds(500);
        let discoveries = &mut self.nodes[at].sensing.discoveries;
        if overtakes {
            discoveries.clear();
        }
        discoveries.push((due, discovery.round));
    }

    pub(crate) fn look_at_hooks(&mut self, at: usize) {
        self.nodes[at].sensing.scan = Some(self.later(LOOK_MAX));
    }

    pub(crate) fn look_at_files(&mut self, at: usize) {
        self.nodes[at].sensing.measure = Some(self.later(LOOK_MAX));
    }

    /// Tells what is due of what an agent senses.
    pub(crate) fn sensed(&mut self, at: usize) {
        let now = self.clock.mono();
        if let Some(acted) = self.due_of_senses(at, now) {
            self.feed(at, Input::Acted(acted));
        }
    }

    fn due_of_senses(&mut self, at: usize, now: Mono) -> Option<Acted> {
        let node = &mut self.nodes[at];
        let is_due = |due: &mut Mono| *due <= now;
        if let Some(place) = node.sensing.discoveries.iter().position(|(due, _)| *due <= now) {
            let (_, round) = node.sensing.discoveries.remove(place);
            // The port of the tunnel cannot be asked from.
            let outcome = match self.senses.odds(50) {
                true => Err("the port is taken".to_owned()),
                false => Ok(node.around.seen()),
            };
            let jitter = Jitter::drawn(self.senses.next() as u16);
            return Some(Acted::Discovered { round, outcome, jitter });
        }
        if node.sensing.measure.take_if(is_due).is_some() {
            return Some(Acted::Measured(Box::new(node.around.measure())));
        }
        if node.sensing.scan.take_if(is_due).is_some() {
            node.sensing.is_watching |= node.around.folder == Folder::Watched;
            return Some(Acted::Scanned(Box::new(node.around.scan(now))));
        }
        node.sensing.stir.take_if(is_due).map(|_| Acted::Stirred)
    }
}
