//! Metrics, logs and audit records: every one that a source has told is taken by the control plane, held, or dropped
//! with a reason that counts it; and a process that is killed loses none that was to be had again.

use meshward_core::{
    agent::{Acted, Answer, Input, Notice, Pipe, Spooled, Voice as Order, voice::figures::Figures},
    ids::CallId,
    time::Mono,
    wire::positions::Positions,
};

use super::{
    POSITIONS,
    account::{self, Cause, Limits},
    ledger::{Fate, Ledger},
    witness::{Found, Rest, Sending, Serving},
};
use crate::{chatter::PLACES, disk::Disk, node::Node, route::Said, script::Speech};

#[derive(Clone, Debug, Default)]
pub(super) struct Voice {
    speech: Option<Speech>,
    nodes: Vec<Speaker>,
}

/// What one node has told.
#[derive(Clone, Debug, Default)]
struct Speaker {
    pipes: [Ledger; Pipe::ALL.len()],
    /// What the step that is being taken was told.
    causes: [Cause; Pipe::ALL.len()],
}

impl Voice {
    pub(super) fn of(nodes: usize, speech: Option<Speech>) -> Self {
        Self { speech, nodes: vec![Speaker::default(); nodes] }
    }

    pub(super) fn records(&self) -> u64 {
        let pipes = self.nodes.iter().flat_map(|speaker| &speaker.pipes);
        pipes.map(Ledger::records).sum()
    }

    pub(super) fn died(&mut self, at: usize) {
        self.nodes[at].pipes.iter_mut().for_each(Ledger::died);
        self.nodes[at].causes = Default::default();
    }

    /// What was asked under an identity that makes room is answered to nobody, if it does make room.
    pub(super) fn retires(&mut self, at: usize) {
        self.nodes[at].pipes.iter_mut().for_each(Ledger::retires);
    }

    pub(super) fn speaks(&mut self, at: usize, order: &Order, found: &mut Found) {
        let Some(speech) = self.speech else { return };
        match order {
            Order::Collect(collect) => {
                self.nodes[at].pipes[collect.pipe as usize].asks(collect, speech, found);
            }
            Order::Spool { pipe, .. } => self.nodes[at].pipes[*pipe as usize].orders(speech, found),
            Order::Deliver { .. } => {
                found.unless(false, "nothing goes to an endpoint that is not set")
            }
            Order::Ship { .. } => {}
        }
    }

    pub(super) fn unheard(&mut self, at: usize, pipe: Pipe, spooled: &Spooled) {
        self.nodes[at].pipes[pipe as usize].unheard(spooled);
    }

    pub(super) fn sent(&mut self, sending: &Sending<'_>, found: &mut Found) {
        let (Said::Batch(pipe, told), Some(speech)) = (sending.said, self.speech) else { return };
        let ledger = &mut self.nodes[sending.caller.node].pipes[*pipe as usize];
        ledger.sent(sending, told, speech, found);
    }

    pub(super) fn served(&mut self, serving: &Serving<'_>, found: &mut Found) {
        let Said::Batch(pipe, told) = serving.said else { return };
        let taken = matches!(serving.response.status, 200..300);
        let plain = matches!(serving.response.status, 200..300 | 401);
        found.unless(plain, "the control plane takes every batch that is built for it");
        let ledger = &mut self.nodes[serving.caller.node].pipes[*pipe as usize];
        if taken {
            ledger.taken(told, &serving.node.chatter, found);
        }
    }

    /// What an agent is told before it moves.
    pub(super) fn hears(&mut self, (at, node): (usize, &Node), input: &Input) {
        let speaker = &mut self.nodes[at];
        speaker.causes = Default::default();
        if let Input::Acted(Acted::Collected(collected)) = input {
            let pipe = collected.pipe as usize;
            speaker.causes[pipe] = speaker.pipes[pipe].collected(collected, &node.chatter);
        }
        if let Input::Acted(Acted::Spooled { pipe, spooled }) = input {
            let ids = match **spooled {
                Spooled::Opened { .. } => node.spools[*pipe as usize].ids(*pipe),
                Spooled::Appended { .. }
                | Spooled::Failed(_)
                | Spooled::Read { .. }
                | Spooled::Refused { .. }
                | Spooled::Unread(_)
                | Spooled::Settled { .. } => Vec::new(),
            };
            let has_failed = matches!(**spooled, Spooled::Failed(_));
            speaker.pipes[*pipe as usize].spooled(ids, has_failed);
            speaker.causes[*pipe as usize] = Cause::of_spool(spooled);
        }
        if let Input::Answered { call, answer, .. } = input {
            speaker.answered(*call, answer);
        }
    }

    /// The numbers behind a step.
    pub(super) fn moved(&mut self, at: usize, figures: &Figures, exits: bool, found: &mut Found) {
        let Some(speech) = self.speech else { return };
        let speaker = &mut self.nodes[at];
        for (now, (ledger, cause)) in
            figures.pipes.iter().zip(speaker.pipes.iter_mut().zip(&speaker.causes))
        {
            let limits = Limits { batch: speech.batch, spool: speech.spool, exits };
            account::explain((&ledger.figures(), now), cause, &limits, found);
            ledger.moved(now, cause);
        }
    }

    pub(super) fn told(&mut self, at: usize, notice: &Notice, now: Mono, found: &mut Found) {
        for pipe in Pipe::ALL {
            let begins = format!("records of the {} were dropped: ", pipe.name());
            if let Some(rest) = notice.text.strip_prefix(&begins) {
                self.nodes[at].pipes[pipe as usize].told((notice.level, rest), now, found);
            }
        }
    }

    pub(super) fn exited(&self, at: usize, found: &mut Found) {
        for ledger in &self.nodes[at].pipes {
            ledger.exited(found);
        }
    }

    /// The file of the positions was changed.
    pub(super) fn kept(&mut self, (at, node): (usize, &Node), found: &mut Found) {
        let Some(positions) = on_disk(&node.disk) else { return };
        for (index, place) in PLACES.iter().enumerate() {
            let Some(position) = positions.places.get(place.name) else { continue };
            let upto = crate::chatter::number(position);
            let ledger = &mut self.nodes[at].pipes[place.pipe as usize];
            ledger.passes((index, upto), node, found);
        }
    }

    pub(super) fn rested(&self, rest: &Rest<'_>, found: &mut Found) {
        if self.speech.is_none() {
            return;
        }
        for (speaker, node) in self.nodes.iter().zip(rest.nodes) {
            for (pipe, ledger) in Pipe::ALL.iter().zip(&speaker.pipes) {
                ledger.rested(*pipe, node, found);
            }
        }
    }
}

impl Speaker {
    fn answered(&mut self, call: CallId, answer: &Answer) {
        for (ledger, cause) in self.pipes.iter_mut().zip(&mut self.causes) {
            if ledger.awaits(call) {
                cause.answer = Some(ledger.heard(Fate::of(answer)));
            }
        }
    }
}

fn on_disk(disk: &Disk) -> Option<Positions> {
    let (_, bytes) = disk.state.iter().find(|(file, _)| file.name == POSITIONS)?;
    Positions::decode(bytes).ok()
}
