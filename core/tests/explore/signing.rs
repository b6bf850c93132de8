//! The signing keys of a node with its disk, and every event that three keys can sign within a few minutes: promise P16
//! in every state of it.
//!
//! Made finite by times that are two minutes apart, by rotations whose former key counts for four minutes or not at
//! all, and by how often the disk refuses or loses what it held. What is told does not count as state. Beside the
//! machine stands a model of it in small numbers, which is asked in each state which keys count.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    hash::{Hash, Hasher},
    rc::Rc,
    time::Duration,
};

use meshward_core::{
    agent::{
        Change, Content, FoundContent,
        signing::{Effect, Input, Refused, Signing},
    },
    time::{Mono, Now, Wall},
    wire::{event::Event, signing_keys::KeySet},
};

use crate::{
    search::{Extent, World, explore},
    signed::Signer,
};

/// Keys that take part; the first one is the registration's.
const KEYS: u8 = 3;
/// The last time.
const TIMES: u8 = 4;
/// Between two times.
const STEP: Duration = Duration::from_secs(120);
/// For so many times a former key counts.
const GRACE: u8 = 2;
/// An event that is older by more times than these is stale: five minutes are two and a half.
const FRESH: u8 = 2;
/// How often the disk refuses a write.
const REFUSALS_MAX: u8 = 1;
/// How often the file is lost or torn while the process is down.
const LOSSES_MAX: u8 = 1;

/// How many states there are; another number means that something has changed, and is to be looked at.
const STATES: usize = 4_939;

fn now(time: u8) -> Now {
    let since = STEP * u32::from(time);
    let mono = Mono::from_origin(Duration::from_secs(10_000));
    let wall = Wall::from_origin(Duration::from_secs(1_800_000_000));
    Now { mono, wall }.after(since)
}

/// A rotation that some key has signed.
#[derive(Clone, Copy, Debug)]
struct Sent {
    by: u8,
    at: u8,
    to: u8,
    graced: bool,
}

/// All that is or will be signed, and an event of each key at each time that asks for nothing.
#[derive(Debug)]
struct Signed {
    rotations: Vec<(Sent, Vec<u8>)>,
    probes: Vec<Vec<Vec<u8>>>,
    first: Signer,
    /// What was judged of each rotation under these keys at this time, which is all that a judgement depends on.
    judged: RefCell<HashMap<(KeySet, u8, usize), Result<Event, Refused>>>,
    /// The keys and times of which it is known that nothing counts but what is to.
    asked: RefCell<HashSet<(KeySet, Model, u8)>>,
}

impl Signed {
    fn new() -> Self {
        let signers: Vec<_> = (0..=KEYS).map(Signer::new).collect();
        let mut rotations = Vec::new();
        for at in 0..=TIMES {
            for (by, to) in (0..=KEYS).flat_map(|by| (0..KEYS).map(move |to| (by, to))) {
                for graced in [false, true].into_iter().filter(|_| by != to) {
                    let (from, into) = (&signers[usize::from(by)], &signers[usize::from(to)]);
                    let former = graced.then_some((from, STEP * u32::from(GRACE)));
                    let data = from.rotation(now(at).wall, into, former);
                    rotations.push((Sent { by, at, to, graced }, data));
                }
            }
        }
        let probe = |at| {
            let of = |signer: &Signer| signer.envelope(now(at).wall, "policy_updated");
            signers.iter().map(of).collect()
        };
        Self {
            rotations,
            probes: (0..=TIMES).map(probe).collect(),
            first: signers[0].clone(),
            judged: RefCell::default(),
            asked: RefCell::default(),
        }
    }
}

/// What the keys are to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Model {
    current: u8,
    /// With the time at which it stops.
    former: Option<(u8, u8)>,
    last: Option<u8>,
    /// Those that stood before, as bits.
    retired: u8,
}

impl Model {
    const fn registered() -> Self {
        Self { current: 0, former: None, last: None, retired: 0 }
    }

    fn counts(&self, key: u8, time: u8) -> bool {
        key == self.current || self.former.is_some_and(|(former, end)| former == key && time < end)
    }

    fn pass(&mut self, time: u8) {
        if let Some((former, _)) = self.former.take_if(|(_, end)| *end <= time) {
            self.retired |= 1 << former;
        }
    }

    fn rotate(&mut self, sent: Sent, time: u8) {
        let is_former = self.former.is_some_and(|(former, _)| former == sent.to);
        let is_new = sent.to != self.current && !is_former && self.retired & (1 << sent.to) == 0;
        if !is_new || self.last.is_some_and(|last| sent.at <= last) {
            return;
        }
        let before = [Some(self.current), self.former.take().map(|(former, _)| former)];
        let end = sent.at + GRACE;
        for key in before.into_iter().flatten() {
            if sent.graced && key == sent.by && end > time {
                self.former = Some((key, end));
            } else {
                self.retired |= 1 << key;
            }
        }
        (self.current, self.last) = (sent.to, Some(sent.at));
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum File {
    Missing,
    Sound(Vec<u8>),
    Torn,
}

#[derive(Clone, Debug)]
struct Node {
    signed: Rc<Signed>,
    machine: Signing,
    model: Model,
    file: File,
    /// What the file holds, as the model has it.
    durable: Model,
    /// The change that is under way, with what it writes.
    open: Option<(Change, Model)>,
    time: u8,
    refusals: u8,
    losses: u8,
    fault: Option<&'static str>,
}

/// What was told is no state.
impl Hash for Node {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.machine.keys(), self.machine.wakeup(), self.machine.is_changing()).hash(hasher);
        (&self.model, &self.file, &self.durable).hash(hasher);
        (format!("{:?}", self.open), self.open.as_ref().map(|(_, model)| model)).hash(hasher);
        (self.time, self.refusals, self.losses).hash(hasher);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Deliver(usize),
    Pass,
    Keep,
    Refuse,
    Restart,
    Lose,
    Tear,
}

impl Node {
    fn registered() -> Self {
        let signed = Rc::new(Signed::new());
        let model = Model::registered();
        let mut node = Self {
            machine: Signing::default(),
            durable: model.clone(),
            model,
            file: File::Missing,
            open: None,
            time: 0,
            refusals: 0,
            losses: 0,
            fault: None,
            signed,
        };
        node.restart();
        node
    }

    /// Gives an input; what is told is let go.
    fn give(&mut self, input: Input) {
        let step = std::mem::take(&mut self.machine).step(now(self.time), input);
        self.machine = step.state;
        for effect in step.effects {
            match effect {
                Effect::Keep(_) if self.open.is_some() => self.fault = Some("two changes at once"),
                Effect::Keep(change) => self.open = Some((change, self.model.clone())),
                Effect::Tell(_) => {}
                Effect::Reconcile | Effect::RotateKeys => {
                    self.fault = Some("a rotation of keys leads to something else");
                }
            }
        }
    }

    /// The model moves first, so that what is written now is what it holds.
    fn deliver(&mut self, at: usize) {
        let signed = Rc::clone(&self.signed);
        let (sent, data) = &signed.rotations[at];
        let keys = self.machine.keys().cloned().expect("the node is registered");
        let mut known = signed.judged.borrow_mut();
        let judge = || self.machine.judge(now(self.time).wall, data);
        let judged = known.entry((keys, self.time, at)).or_insert_with(judge).clone();
        let is_due = self.model.counts(sent.by, self.time) && self.time - sent.at <= FRESH;
        if judged.is_ok() != is_due {
            self.fault = Some("an event counts that is not to, or the other way round");
        }
        self.model.pass(self.time);
        if is_due {
            self.model.rotate(*sent, self.time);
        }
        self.give(Input::Judged(judged));
    }

    fn restart(&mut self) {
        self.machine = Signing::default();
        self.open = None;
        self.model = match &self.file {
            File::Sound(_) => self.durable.clone(),
            File::Missing | File::Torn => Model::registered(),
        };
        let content = match &self.file {
            File::Missing => None,
            File::Sound(bytes) => Some(bytes.clone()),
            File::Torn => Some(b"{\"node_id\":\"6f1d".to_vec()),
        };
        if let Some(bytes) = content {
            self.give(Input::Loaded(FoundContent::Bytes(Content(bytes))));
        }
        self.give(Input::Armed(self.signed.first.identity()));
        self.give(Input::Ticked);
        self.model.pass(self.time);
    }

    fn keep(&mut self) {
        let Some((change, model)) = self.open.take() else { return };
        match change {
            Change::Write(Content(bytes)) => {
                (self.file, self.durable) = (File::Sound(bytes), model);
            }
            Change::Rename(_) => (self.file, self.durable) = (File::Missing, Model::registered()),
            Change::Remove => self.fault = Some("the file is removed"),
        }
        self.give(Input::Kept(Ok(())));
    }

    fn acted(&self, act: Act) -> Self {
        let mut next = self.clone();
        match act {
            Act::Deliver(at) => next.deliver(at),
            Act::Pass => {
                next.time += 1;
                next.model.pass(next.time);
                next.give(Input::Ticked);
            }
            Act::Keep => next.keep(),
            Act::Refuse => {
                next.refusals += 1;
                next.open = None;
                next.give(Input::Kept(Err("no room".into())));
            }
            Act::Restart => next.restart(),
            Act::Lose | Act::Tear => {
                next.losses += 1;
                next.file = if act == Act::Lose { File::Missing } else { File::Torn };
                next.durable = Model::registered();
                next.restart();
            }
        }
        next
    }

    fn is_possible(&self, act: Act) -> bool {
        match act {
            // What is stale or of a key that does not count is asked in each state, and leads to no other.
            Act::Deliver(at) => {
                let (sent, _) = &self.signed.rotations[at];
                sent.at <= self.time
                    && self.time - sent.at <= FRESH
                    && self.model.counts(sent.by, self.time)
            }
            Act::Pass => self.time < TIMES,
            Act::Keep => self.open.is_some(),
            Act::Refuse => self.open.is_some() && self.refusals < REFUSALS_MAX,
            Act::Restart => true,
            Act::Lose | Act::Tear => self.losses < LOSSES_MAX && self.file != File::Missing,
        }
    }

    /// The keys under which a fresh event counts are those of the model, one or two.
    fn keys(&self) -> Option<&'static str> {
        let wall = now(self.time).wall;
        let probes = &self.signed.probes[usize::from(self.time)];
        let counting =
            (0..=KEYS).filter(|key| self.machine.judge(wall, &probes[usize::from(*key)]).is_ok());
        let counting: Vec<_> = counting.collect();
        let expected: Vec<_> =
            (0..=KEYS).filter(|key| self.model.counts(*key, self.time)).collect();
        if counting != expected {
            return Some("other keys count than are to");
        }
        let most = if self.model.former.is_some() { 2 } else { 1 };
        (counting.len() != most).then_some("not exactly the keys of the transition count")
    }

    /// Nothing that is refused leads to anything but a line of the log.
    fn refused(&self) -> Option<&'static str> {
        let wall = now(self.time).wall;
        for (sent, data) in self.signed.rotations.iter().filter(|(sent, _)| sent.at <= self.time) {
            let is_due = self.model.counts(sent.by, self.time) && self.time - sent.at <= FRESH;
            if is_due {
                continue;
            }
            let Err(refused) = self.machine.judge(wall, data) else {
                return Some("an event counts that is not to");
            };
            let step = self.machine.clone().step(now(self.time), Input::Judged(Err(refused)));
            let is_told = step.effects.iter().all(|effect| matches!(effect, Effect::Tell(_)));
            if !is_told || step.state.keys() != self.machine.keys() {
                return Some("an event that is refused changes something");
            }
        }
        None
    }
}

impl World for Node {
    type Act = Act;

    fn nexts(&self) -> Vec<(Act, Self)> {
        let others =
            [Act::Pass, Act::Keep, Act::Refuse, Act::Restart, Act::Lose, Act::Tear].into_iter();
        let acts = others.chain((0..self.signed.rotations.len()).map(Act::Deliver));
        acts.filter(|act| self.is_possible(*act))
            .map(|act| (act, self.acted(act)))
            // What is only told is no other state.
            .filter(|(_, next)| next.fault.is_some() || next.differs(self))
            .collect()
    }

    fn fault(&self) -> Option<&'static str> {
        let keys = self.machine.keys().cloned().expect("the node is registered");
        let asked = (keys, self.model.clone(), self.time);
        if self.fault.is_some() || !self.signed.asked.borrow_mut().insert(asked) {
            return self.fault;
        }
        self.keys().or_else(|| self.refused())
    }
}

impl Node {
    fn differs(&self, other: &Self) -> bool {
        (&self.model, &self.file, &self.durable, &self.open, self.time, self.refusals, self.losses)
            != (
                &other.model,
                &other.file,
                &other.durable,
                &other.open,
                other.time,
                other.refusals,
                other.losses,
            )
            || self.machine.keys() != other.machine.keys()
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are read by a person")]
fn in_no_state_does_another_key_count_than_the_rotations_that_were_taken_say() {
    let Extent { states, edges } = explore(Node::registered());
    eprintln!("{states} states, {edges} edges");
    assert!(states.abs_diff(STATES) * 10 <= STATES, "{states} states instead of {STATES}");
}
