//! The rotation of both ends with a disk and a network between them: promises P2 and P3 in every state of it.
//!
//! Made finite by bounds that are named, by one instant at which everything happens but ticks, which come an hour later,
//! and by failures that are not counted beyond the longest wait.

use std::time::Duration;

use meshward_core::{
    agent::{
        StagedFile,
        rotation::{Effect, Input, Rotation, Source},
        verdict::Rotated,
    },
    backoff::Jitter,
    plane,
    time::{Mono, Now, Wall},
    wire::{grammar::PublicKey, rotation::Receipt},
};

use crate::search::{Extent, World, explore};

/// Keys that are drawn beside the first one.
const FRESH_MAX: u8 = 2;
/// How often the operator asks for a rotation.
const ARMS_MAX: u8 = 2;
/// Requests, and answers, that are under way at once.
const MESSAGES_MAX: usize = 2;
/// How often the control plane forgets everything.
const FORGETS_MAX: u8 = 1;
/// The ticks within which a rotation ends once nothing fails: each comes after the longest wait at the latest.
const TICKS_MAX: u32 = 2;

/// How many states there are; another number means that something has changed, and is to be looked at.
const STATES: usize = 127_912;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Disk {
    private: Option<PublicKey>,
    staged: Option<PublicKey>,
    shelved: Option<PublicKey>,
    receipt: Option<Receipt>,
}

/// One durable write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Write {
    Stage(PublicKey),
    Unshelve,
    Shelve,
    Promote,
    Record(Option<Receipt>),
    Unstage,
    Forget,
}

impl Disk {
    fn write(&mut self, write: Write) {
        match write {
            Write::Stage(key) => self.staged = Some(key),
            Write::Unshelve => self.staged = self.shelved.take(),
            Write::Shelve => self.shelved = self.staged.take(),
            Write::Promote => self.private = self.staged,
            Write::Record(receipt) => self.receipt = receipt.or_else(|| self.receipt.take()),
            Write::Unstage => self.staged = None,
            Write::Forget => self.shelved = None,
        }
    }

    fn holds(&self, key: PublicKey) -> bool {
        [self.private, self.staged, self.shelved].contains(&Some(key))
    }
}

/// An order on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Order {
    Stage,
    Commit(Option<Receipt>),
    Discard,
    Shelve,
}

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Said {
    Receipt(String, u64),
    Unchanged,
    NothingPending,
}

#[derive(Clone, Debug, Hash)]
struct Both {
    /// The agent while it lives.
    agent: Option<Rotation>,
    /// The key whose answer it waits for.
    awaited: Option<PublicKey>,
    orders: Vec<Order>,
    /// What is left to be written of the first order.
    writes: Vec<Write>,
    disk: Disk,
    plane: plane::rotation::Rotation,
    /// What the control plane holds as current, as its answers tell.
    current: Option<PublicKey>,
    requests: Vec<PublicKey>,
    replies: Vec<(PublicKey, Said)>,
    /// The key that was offered and of which this node has heard no end.
    undecided: Option<PublicKey>,
    second: bool,
    fresh: u8,
    arms: u8,
    forgets: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Ask,
    Signal,
    Tick,
    TimeOut,
    Write,
    FailWrite,
    Crash,
    Restart,
    Forget,
    Deliver(usize),
    Repeat(usize),
    LoseRequest(usize),
    Answer(usize),
    LoseReply(usize),
}

fn key(number: u8) -> PublicKey {
    PublicKey::from_bytes([number + 1; 32]).expect("a key that is not all zero")
}

fn instant() -> Now {
    let mono = Mono::from_origin(Duration::from_secs(10_000));
    Now { mono, wall: Wall::from_origin(Duration::from_secs(1_800_000_000)) }
}

impl Both {
    /// A node that is registered with its first key.
    fn registered() -> Self {
        let registered = plane::rotation::Input::Registered { key: key(0) };
        let plane = plane::rotation::Rotation::default().step(instant(), registered).state;
        Self {
            agent: Some(Rotation::default()),
            awaited: None,
            orders: Vec::new(),
            writes: Vec::new(),
            disk: Disk { private: Some(key(0)), ..Disk::default() },
            plane,
            current: Some(key(0)),
            requests: Vec::new(),
            replies: Vec::new(),
            undecided: None,
            second: false,
            fresh: 0,
            arms: 0,
            forgets: 0,
        }
    }

    fn give(&mut self, now: Now, input: Input) {
        let Some(agent) = self.agent.take() else { return };
        let step = agent.step(now, input);
        self.agent = Some(step.state);
        for effect in step.effects {
            match effect {
                Effect::Stage => self.orders.push(Order::Stage),
                Effect::Commit(receipt) => self.orders.push(Order::Commit(receipt)),
                Effect::Discard => self.orders.push(Order::Discard),
                Effect::Shelve => self.orders.push(Order::Shelve),
                Effect::Post(key) => self.post(key),
                Effect::Install(_) | Effect::Tell(_) => {}
            }
        }
        if self.writes.is_empty() {
            self.begin();
        }
    }

    fn post(&mut self, key: PublicKey) {
        self.second |= self.undecided.is_some_and(|undecided| undecided != key);
        self.undecided = Some(key);
        self.awaited = Some(key);
        if self.requests.len() < MESSAGES_MAX {
            self.requests.push(key);
            self.requests.sort_unstable();
        }
    }

    /// Begins the first order, and ends those that need no write.
    fn begin(&mut self) {
        let Some(order) = self.orders.first().cloned() else { return };
        self.writes = match order {
            Order::Stage if self.disk.staged.is_some() => Vec::new(),
            Order::Stage if self.disk.shelved.is_some() => vec![Write::Unshelve],
            Order::Stage => {
                self.fresh += 1;
                vec![Write::Stage(key(self.fresh))]
            }
            Order::Shelve if self.disk.staged.is_none() => Vec::new(),
            Order::Shelve => vec![Write::Shelve],
            Order::Discard => vec![Write::Unstage],
            Order::Commit(receipt) => {
                let promote = self.disk.staged.map(|_| Write::Promote);
                let forget = self.disk.shelved.map(|_| Write::Forget);
                let rest = [Write::Record(receipt), Write::Unstage];
                promote.into_iter().chain(rest).chain(forget).collect()
            }
        };
        if self.writes.is_empty() {
            self.end();
        }
    }

    fn end(&mut self) {
        match self.orders.remove(0) {
            Order::Stage => {
                let staged = self.disk.staged.expect("a key is staged");
                self.give(instant(), Input::Staged(staged));
            }
            Order::Commit(_) => self.give(instant(), Input::Committed),
            Order::Discard | Order::Shelve => self.begin(),
        }
    }

    fn write(&mut self) {
        let write = self.writes.remove(0);
        self.disk.write(write);
        if self.writes.is_empty() {
            self.end();
        }
    }

    fn fail_write(&mut self) {
        self.writes.clear();
        let reason = String::new();
        let jitter = Jitter::NONE;
        let failed = match self.orders.remove(0) {
            Order::Stage => Input::StageFailed { reason, jitter },
            Order::Commit(_) => Input::CommitFailed { reason, jitter },
            Order::Discard => Input::DiscardFailed { reason },
            Order::Shelve => Input::ShelveFailed { reason },
        };
        self.give(instant(), failed);
    }

    fn crash(&mut self) {
        (self.agent, self.awaited) = (None, None);
        self.orders.clear();
        self.writes.clear();
    }

    fn restart(&mut self) {
        self.agent = Some(Rotation::default());
        let staged = self.disk.staged.map_or(StagedFile::Missing, StagedFile::Key);
        self.give(instant(), Input::Armed(staged));
    }

    fn ask(&mut self) {
        self.arms += 1;
        let plane = std::mem::take(&mut self.plane);
        self.plane = plane.step(instant(), plane::rotation::Input::Armed).state;
    }

    fn forget(&mut self) {
        self.forgets += 1;
        self.plane = plane::rotation::Rotation::default();
        self.current = None;
    }

    /// A request arrives; its answer is lost where too many are under way.
    fn deliver(&mut self, key: PublicKey) {
        use plane::rotation::{Effect, Input, Refusal};
        let step = std::mem::take(&mut self.plane).step(instant(), Input::Submitted { key });
        self.plane = step.state;
        let said = match step.effects.into_iter().next().expect("one answer") {
            Effect::Complete(receipt) => {
                self.current = Some(key);
                Said::Receipt(receipt.rotation_id, receipt.wrap_key_version)
            }
            Effect::Replay(receipt) => Said::Receipt(receipt.rotation_id, receipt.wrap_key_version),
            Effect::Refuse(Refusal::KeyUnchanged) => Said::Unchanged,
            Effect::Refuse(Refusal::NoPendingRotation) => Said::NothingPending,
            Effect::Refuse(refusal) => unreachable!("{refusal}"),
        };
        if self.replies.len() < MESSAGES_MAX {
            self.replies.push((key, said));
            self.replies.sort_unstable();
        }
    }

    /// An answer is heard by who waits for one about this key, which may be an answer to an earlier request.
    fn answer(&mut self, at: usize) {
        let (key, said) = self.replies.remove(at);
        if self.awaited != Some(key) {
            return;
        }
        (self.awaited, self.undecided) = (None, None);
        let verdict = match said {
            Said::Receipt(rotation_id, wrap_key_version) => {
                Rotated::Completed(Receipt { rotation_id, kid: "kid".into(), wrap_key_version })
            }
            Said::Unchanged => Rotated::Unchanged,
            Said::NothingPending => Rotated::NothingPending,
        };
        self.give(instant(), Input::Answered { key, verdict, jitter: Jitter::NONE });
    }

    fn time_out(&mut self) {
        let Some(key) = self.awaited.take() else { return };
        let verdict = Rotated::Undecided(String::new());
        self.give(instant(), Input::Answered { key, verdict, jitter: Jitter::NONE });
    }

    fn signal(&mut self) {
        self.give(instant(), Input::Signalled(Source::Event));
    }

    fn tick(&mut self) {
        self.give(instant().after(Duration::from_secs(3600)), Input::Ticked);
    }

    fn acted(&self, act: Act) -> Self {
        let mut next = self.clone();
        match act {
            Act::Ask => next.ask(),
            Act::Signal => next.signal(),
            Act::Tick => next.tick(),
            Act::TimeOut => next.time_out(),
            Act::Write => next.write(),
            Act::FailWrite => next.fail_write(),
            Act::Crash => next.crash(),
            Act::Restart => next.restart(),
            Act::Forget => next.forget(),
            Act::Deliver(at) => {
                let key = next.requests.remove(at);
                next.deliver(key);
            }
            Act::Repeat(at) => next.deliver(next.requests[at]),
            Act::LoseRequest(at) => drop(next.requests.remove(at)),
            Act::Answer(at) => next.answer(at),
            Act::LoseReply(at) => drop(next.replies.remove(at)),
        }
        next
    }

    fn is_possible(&self, act: Act) -> bool {
        let lives = self.agent.is_some();
        let writes = !self.orders.is_empty();
        let may_draw = self.fresh < FRESH_MAX || self.disk.staged.or(self.disk.shelved).is_some();
        let rests = lives && !writes;
        match act {
            Act::Ask => self.arms < ARMS_MAX,
            Act::Signal | Act::Tick => rests && may_draw,
            Act::TimeOut => rests && self.awaited.is_some(),
            Act::Write | Act::FailWrite => writes,
            Act::Crash => lives,
            Act::Restart => !lives,
            Act::Forget => self.forgets < FORGETS_MAX,
            Act::Deliver(at) | Act::Repeat(at) | Act::LoseRequest(at) => at < self.requests.len(),
            Act::Answer(at) => rests && at < self.replies.len(),
            Act::LoseReply(at) => at < self.replies.len(),
        }
    }

    /// How many ticks pass until no key is staged, when everything arrives and no write fails.
    fn ticks_to_rest(&self) -> Option<u32> {
        let mut world = self.clone();
        let mut ticks = 0;
        if world.agent.is_none() {
            world.restart();
        }
        for _ in 0..40 {
            if !world.orders.is_empty() {
                world.write();
            } else if world.disk.staged.is_none() {
                return Some(ticks);
            } else if !world.replies.is_empty() {
                world.answer(0);
            } else if !world.requests.is_empty() {
                world = world.acted(Act::Deliver(0));
            } else if world.awaited.is_some() {
                world.time_out();
            } else {
                ticks += 1;
                world.tick();
            }
        }
        None
    }
}

const ACTS: [Act; 19] = [
    Act::Ask,
    Act::Signal,
    Act::Tick,
    Act::TimeOut,
    Act::Write,
    Act::FailWrite,
    Act::Crash,
    Act::Restart,
    Act::Forget,
    Act::Deliver(0),
    Act::Deliver(1),
    Act::Repeat(0),
    Act::Repeat(1),
    Act::LoseRequest(0),
    Act::LoseRequest(1),
    Act::Answer(0),
    Act::Answer(1),
    Act::LoseReply(0),
    Act::LoseReply(1),
];

impl World for Both {
    type Act = Act;

    fn nexts(&self) -> Vec<(Act, Self)> {
        let possible = ACTS.into_iter().filter(|act| self.is_possible(*act));
        possible.map(|act| (act, self.acted(act))).collect()
    }

    fn fault(&self) -> Option<&'static str> {
        if self.current.is_some_and(|current| !self.disk.holds(current)) {
            return Some("the key that the control plane holds as current is lost");
        }
        if self.second {
            return Some("a second key is offered while one is undecided");
        }
        if self.ticks_to_rest().is_none_or(|ticks| ticks > TICKS_MAX) {
            return Some("a rotation does not end within two of the longest waits");
        }
        None
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are read by a person")]
fn no_state_of_both_ends_loses_a_key_or_offers_two() {
    let Extent { states, edges } = explore(Both::registered());
    eprintln!("{states} states, {edges} edges");
    assert!(states.abs_diff(STATES) * 10 <= STATES, "{states} states instead of {STATES}");
}
