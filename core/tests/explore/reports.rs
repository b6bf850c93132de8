//! The table of reports and the syncer with a disk, a network and a control plane around them: promises P7 and P8 in
//! every state of it.
//!
//! Made finite by bounds that are named, and by one instant at which everything happens but ticks, which come an hour
//! later. The disk takes its time: changes are carried out in their order, and a crash leaves any of those under way.

use std::{collections::BTreeSet, time::Duration};

use meshward_core::{
    agent::{
        Change, Content, Folder, FoundContent, FoundFile, StateFile,
        reports::{self, Draft, MENDS_MAX, Reports},
        sync::{self, Sync},
        verdict::Delivery,
    },
    ids::CallId,
    step::Step,
    time::{Mono, Now, Wall},
    wire::{
        grammar::{Name, ReportKey},
        json::Raw,
        kept::{self, KeptReport},
    },
};

use crate::search::{Extent, World, explore};

const KEYS: usize = 3;
const NAMES: [&str; KEYS] = ["a", "b", "c"];

/// The writes of each key; false deletes.
const WRITES: [[bool; 3]; KEYS] = [[true, false, true], [true, true, true], [true, true, false]];

/// The most rounds of everything that is under way, and a tick, within which all is delivered and marked once nothing
/// fails.
const ROUNDS_MAX: usize = 24;

const DEBOUNCE: Duration = Duration::from_secs(5);
const NODE: &str = "node";

/// How far an exploration goes, counted down.
#[derive(Clone, Copy, Debug, Hash)]
struct Reach {
    /// How many writes each key has yet.
    writes: [usize; KEYS],
    crashes: u8,
    /// How often the disk refuses.
    refusals: u8,
    /// How often the control plane is without reports, or will never take one.
    answers: u8,
    /// How many marks of other keys, which take all the room there is, are done.
    places: u8,
}

/// A value, or none where there is no report.
type Value = Option<usize>;

/// What was promised of a key.
#[derive(Clone, Debug, Default, Hash)]
struct Promise {
    answered: Value,
    /// What was asked and not answered, or refused, and may stand on the disk.
    doubtful: BTreeSet<Value>,
    /// What the control plane will never take.
    unwanted: Option<Value>,
}

/// A change that is under way; none removes the file.
type Ordered = (usize, Option<Vec<u8>>);

#[derive(Clone, Debug, Hash)]
struct Whole {
    left: Reach,
    /// How many marks of other keys are under way and never done.
    stuck: usize,
    reports: Reports,
    sync: Sync,
    ordered: Vec<Ordered>,
    disk: [Option<Vec<u8>>; KEYS],
    promises: [Promise; KEYS],
    /// How many writes of each key were asked for.
    asked: [usize; KEYS],
    plane: [Value; KEYS],
    /// What is on its way: a key, its generation, and its value.
    call: Option<(usize, u64, Value)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// A program writes or deletes.
    Ask(usize),
    /// The disk carries out the first change.
    Write,
    /// It refuses the first change, which is there nevertheless, or is not.
    Refuse {
        is_there: bool,
    },
    Tick,
    Take,
    /// The control plane takes it, and its answer is lost.
    TakeInSilence,
    Fail,
    NotProvisioned,
    Invalid,
    /// A mark of another key is done.
    Free,
    /// The process ends and begins again; of what was under way these are on the disk.
    Crash(usize),
}

fn now() -> Now {
    let mono = Mono::from_origin(Duration::from_secs(10_000));
    Now { mono, wall: Wall::from_origin(Duration::from_secs(1_800_000_000)) }
}

fn key(text: &str) -> ReportKey {
    ReportKey::parse(text).expect("a key")
}

fn file(name: &str) -> StateFile {
    StateFile { folder: Folder::Report, name: kept::file_name(name) }
}

fn at(name: &str) -> Option<usize> {
    NAMES.iter().position(|known| *known == name)
}

/// What a file says of its key.
fn told(number: usize, bytes: Option<&Vec<u8>>) -> Value {
    let kept = KeptReport::decode(&key(NAMES[number]), bytes?).expect("no crash damages a file");
    match kept {
        KeptReport::Entry { entry, .. } => entry.payload.text().parse().ok(),
        KeptReport::Deleted(_) => None,
    }
}

fn loaded(disk: &[Option<Vec<u8>>; KEYS]) -> Reports {
    let found = |(bytes, name): (&Option<Vec<u8>>, &str)| {
        let content = FoundContent::Bytes(Content(bytes.clone()?));
        Some(FoundFile { file: file(name), content })
    };
    let files = disk.iter().zip(NAMES).filter_map(found).collect();
    let step = Reports::default().step(now(), reports::Input::Loaded(files));
    assert_eq!(step.effects, [], "no crash damages a file");
    step.state.step(now(), reports::Input::Armed { node: NODE.into() }).state
}

impl Whole {
    /// A node that has no reports yet.
    fn armed(left: Reach) -> Self {
        let mut world = Self {
            left,
            stuck: 0,
            reports: Reports::default(),
            sync: Sync::default(),
            ordered: Vec::new(),
            disk: [None, None, None],
            promises: Default::default(),
            asked: [0; KEYS],
            plane: [None; KEYS],
            call: None,
        };
        world.start();
        world.left = left;
        world
    }

    fn start(&mut self) {
        self.ordered.clear();
        (self.stuck, self.left.places) = (0, 0);
        (self.reports, self.sync, self.call) = (loaded(&self.disk), Sync::default(), None);
        self.deliver(now(), sync::Input::Armed);
    }

    /// As many marks of other keys as can be, which are under way and stay so.
    fn crowded(mut self) -> Self {
        self.stuck = MENDS_MAX - usize::from(self.left.places);
        for number in 0..MENDS_MAX {
            let (asker, key) = (CallId(9), key(&format!("z{number}")));
            let draft = Draft { content_type: "t".into(), payload: Raw::null() };
            self.table(reports::Input::Put { asker, key, draft, if_match: None });
            self.end_other(number);
            let name = Name(format!("z{number}"));
            self.table(reports::Input::Settled { key: name, generation: 1 });
        }
        self.sync =
            self.sync.step(DEBOUNCE, now(), self.reports.unsynced(), sync::Input::Quieted).state;
        self.deliver(now(), sync::Input::Armed);
        self
    }

    /// The disk takes a write of another key, upon which it is given again what it had refused.
    fn take_other(&mut self) {
        let (asker, name) = (CallId(9), "y");
        let draft = Draft { content_type: "t".into(), payload: Raw::null() };
        self.table(reports::Input::Put { asker, key: key(name), draft, if_match: None });
        self.table(reports::Input::Kept { file: file(name), outcome: Ok(()) });
        self.table(reports::Input::Settled { key: Name::from(name), generation: 1 });
    }

    fn end_other(&mut self, number: usize) {
        let file = file(&format!("z{number}"));
        self.table(reports::Input::Kept { file, outcome: Ok(()) });
    }

    fn value(&self, number: usize) -> Value {
        self.reports.get(&key(NAMES[number]))?.payload.text().parse().ok()
    }

    fn ask(&mut self, number: usize) {
        let next = self.asked[number];
        self.asked[number] += 1;
        self.left.writes[number] -= 1;
        let (asker, key) = (CallId(number as u64), key(NAMES[number]));
        let value = WRITES[number][next].then_some(next);
        self.promises[number].doubtful.insert(value);
        self.table(match value {
            Some(value) => {
                let payload = Raw::parse(&value.to_string()).expect("a number is JSON");
                let draft = Draft { content_type: "t".into(), payload };
                reports::Input::Put { asker, key, draft, if_match: None }
            }
            None => reports::Input::Delete { asker, key },
        });
    }

    fn kept(&mut self, number: usize, outcome: Result<(), String>) {
        self.table(reports::Input::Kept { file: file(NAMES[number]), outcome });
    }

    fn write(&mut self) {
        let (number, bytes) = self.ordered.remove(0);
        self.disk[number] = bytes;
        self.kept(number, Ok(()));
    }

    fn refuse(&mut self, is_there: bool) {
        self.left.refusals -= 1;
        let (number, bytes) = self.ordered.remove(0);
        if is_there {
            self.disk[number] = bytes;
        }
        self.kept(number, Err("full".into()));
    }

    fn crash(&mut self, done: usize) {
        self.left.crashes -= 1;
        self.disk = self.left_behind(done);
        self.start();
    }

    /// The disk behind a crash, when of what is under way these are done.
    fn left_behind(&self, done: usize) -> [Option<Vec<u8>>; KEYS] {
        let mut disk = self.disk.clone();
        for (at, (number, bytes)) in self.ordered.iter().enumerate() {
            if done >> at & 1 == 1 {
                disk[*number].clone_from(bytes);
            }
        }
        disk
    }

    fn take(&mut self, delivery: Delivery) {
        if let Some((number, _, value)) = self.call {
            self.plane[number] = value;
        }
        self.answer(delivery);
    }

    fn answer(&mut self, delivery: Delivery) {
        let Some((number, generation, value)) = self.call.take() else { return };
        if matches!(delivery, Delivery::Invalid(_)) {
            self.promises[number].unwanted = Some(value);
        }
        let key = Name::from(NAMES[number]);
        self.deliver(now(), sync::Input::Answered { key, generation, delivery });
    }

    fn table(&mut self, input: reports::Input) {
        let step = std::mem::take(&mut self.reports).step(now(), input);
        self.reports = step.state;
        for effect in step.effects {
            match effect {
                reports::Effect::Keep { file, change } => self.order(&file, change),
                reports::Effect::Changed(_) => self.deliver(now(), sync::Input::Dirtied),
                reports::Effect::Answer { asker, outcome } => {
                    self.answered(usize::try_from(asker.0).expect("small"), outcome.is_ok());
                }
                reports::Effect::Tell(_) => {}
            }
        }
    }

    fn order(&mut self, file: &StateFile, change: Change) {
        let name = kept::file_key(&file.name).expect("a report's file");
        let Some(number) = at(&name) else { return };
        assert!(self.ordered.iter().all(|(open, _)| *open != number), "two changes of {name}");
        self.ordered.push(match change {
            Change::Write(Content(bytes)) => (number, Some(bytes)),
            Change::Remove => (number, None),
            Change::Rename(_) => panic!("nothing is damaged"),
        });
    }

    /// A success ends all doubt but of what was asked behind it; a refusal leaves it, as something may stand there.
    fn answered(&mut self, number: usize, is_done: bool) {
        if number >= KEYS || !is_done {
            return;
        }
        let value = self.value(number);
        let made = self.asked[number];
        let order: Vec<_> = (0..made).map(|next| WRITES[number][next].then_some(next)).collect();
        let promise = &mut self.promises[number];
        promise.answered = value;
        let behind = order.iter().position(|one| *one == value).map_or(0, |at| at + 1);
        promise.doubtful.retain(|one| order[behind..].contains(one));
        promise.unwanted = None;
    }

    fn deliver(&mut self, now: Now, input: sync::Input) {
        let Step { state, effects } =
            std::mem::take(&mut self.sync).step(DEBOUNCE, now, self.reports.unsynced(), input);
        self.sync = state;
        for effect in effects {
            match effect {
                sync::Effect::Deliver { key, generation } => {
                    assert_eq!(self.call, None, "one after the other");
                    let number = at(key.as_str()).expect("others are delivered");
                    self.call = Some((number, generation, self.value(number)));
                }
                sync::Effect::Settle { key, generation } => {
                    self.table(reports::Input::Settled { key, generation });
                }
                sync::Effect::Tell(_) => {}
            }
        }
    }

    fn tick(&mut self) {
        self.deliver(now().after(Duration::from_secs(3600)), sync::Input::Ticked);
    }

    fn free(&mut self) {
        self.left.places -= 1;
        self.end_other(usize::from(self.left.places));
    }

    fn acts(&self) -> Vec<Act> {
        let left = self.left;
        let mut acts: Vec<_> = (0..KEYS).filter(|at| left.writes[*at] > 0).map(Act::Ask).collect();
        if !self.ordered.is_empty() {
            acts.push(Act::Write);
            if left.refusals > 0 {
                acts.extend([true, false].map(|is_there| Act::Refuse { is_there }));
            }
        }
        acts.extend(self.sync.wakeup().map(|_| Act::Tick));
        if self.call.is_some() {
            acts.extend([Act::Take, Act::TakeInSilence, Act::Fail]);
            if left.answers > 0 {
                acts.extend([Act::NotProvisioned, Act::Invalid]);
            }
        }
        acts.extend((left.places > 0).then_some(Act::Free));
        if left.crashes > 0 {
            acts.extend((0..1 << self.ordered.len()).map(Act::Crash));
        }
        acts
    }

    fn acted(&self, act: Act) -> Self {
        let mut next = self.clone();
        match act {
            Act::Ask(number) => next.ask(number),
            Act::Write => next.write(),
            Act::Refuse { is_there } => next.refuse(is_there),
            Act::Tick => next.tick(),
            Act::Take => next.take(Delivery::Delivered),
            Act::TakeInSilence => next.take(Delivery::Transient("lost".into())),
            Act::Fail => next.answer(Delivery::Transient("503".into())),
            Act::NotProvisioned => {
                next.left.answers -= 1;
                next.answer(Delivery::NotProvisioned);
            }
            Act::Invalid => {
                next.left.answers -= 1;
                next.answer(Delivery::Invalid("400".into()));
            }
            Act::Free => next.free(),
            Act::Crash(done) => next.crash(done),
        }
        next
    }

    /// Whether of every key the control plane has what is served, or is to be told it, or will never take it.
    fn is_known(&self, reports: &Reports) -> bool {
        (0..KEYS).all(|number| {
            let entry = reports.get(&key(NAMES[number]));
            let value = entry.and_then(|entry| entry.payload.text().parse().ok());
            reports.unsynced().contains_key(NAMES[number])
                || self.plane[number] == value
                || self.promises[number].unwanted == Some(value)
        })
    }

    /// What a crash here leaves, whatever of what is under way it takes.
    fn crash_loses(&self) -> Option<&'static str> {
        for done in 0..1 << self.ordered.len() {
            let disk = self.left_behind(done);
            for (number, promise) in self.promises.iter().enumerate() {
                let value = told(number, disk[number].as_ref());
                if value != promise.answered && !promise.doubtful.contains(&value) {
                    return Some("a write that was answered for is not on the disk behind a crash");
                }
            }
            if !self.is_known(&loaded(&disk)) {
                return Some("a key that is to be delivered is forgotten by a crash");
            }
        }
        None
    }

    /// Lets everything that is under way succeed until nothing is left to be done.
    fn rests(&self) -> bool {
        let mut world = self.clone();
        for number in 0..usize::from(world.left.places) {
            world.end_other(number);
        }
        world.take_other();
        for _ in 0..ROUNDS_MAX {
            while !world.ordered.is_empty() {
                world.write();
            }
            if world.call.is_some() {
                world.take(Delivery::Delivered);
            } else if world.sync.wakeup().is_some() {
                world.tick();
            } else {
                break;
            }
        }
        let is_marked = (0..KEYS).all(|number| match &world.disk[number] {
            None => world.value(number).is_none(),
            Some(bytes) => matches!(
                KeptReport::decode(&key(NAMES[number]), bytes),
                Ok(KeptReport::Entry { synced: Some(node), .. }) if node == NODE
            ),
        });
        world.reports.unsynced().is_empty()
            && is_marked
            && world.reports.writing() == self.stuck + 1
            && world.is_known(&world.reports)
    }
}

impl World for Whole {
    type Act = Act;

    fn nexts(&self) -> Vec<(Act, Self)> {
        self.acts().into_iter().map(|act| (act, self.acted(act))).collect()
    }

    fn fault(&self) -> Option<&'static str> {
        if !self.is_known(&self.reports) {
            return Some("a key that is to be delivered is forgotten");
        }
        let goes_on = self.call.is_some() || self.sync.wakeup().is_some();
        if !goes_on && !self.reports.unsynced().is_empty() {
            return Some("nobody comes back to what is to be delivered");
        }
        // From everywhere else what succeeds leads to such a state.
        if self.ordered.is_empty() && self.call.is_none() && !self.rests() {
            return Some("not all is delivered and marked once nothing fails");
        }
        self.crash_loses()
    }
}

/// A world that is small enough to be gone through with each change, and one that takes minutes, each with how many
/// states it has; another number means that something has changed, and is to be looked at.
struct Sizes {
    small: ([usize; KEYS], usize),
    large: ([usize; KEYS], usize),
}

/// Has the large worlds gone through: `MESHWARD_STATES=every`.
const EVERY: &str = "MESHWARD_STATES";

#[expect(clippy::print_stderr, reason = "the figures are read by a person")]
fn goes_through(what: &str, sizes: &Sizes, start: impl Fn([usize; KEYS]) -> Whole) {
    let every = std::env::var(EVERY).is_ok_and(|which| which == "every");
    let (writes, expected) = if every { sizes.large } else { sizes.small };
    let Extent { states, edges } = explore(start(writes));
    eprintln!(
        "{states} states, {edges} edges: {what}, of which each has so many writes: {writes:?}"
    );
    assert!(states.abs_diff(expected) * 10 <= expected, "{states} states instead of {expected}");
}

#[test]
fn no_key_is_ever_lost_in_all_that_three_keys_with_three_writes_can_lead_to() {
    let sizes = Sizes { small: ([2, 2, 1], 11_294), large: ([3, 3, 3], 593_411) };
    goes_through("three keys", &sizes, |writes| {
        Whole::armed(Reach { writes, crashes: 0, refusals: 0, answers: 0, places: 0 })
    });
}

#[test]
fn no_write_is_lost_by_a_crash_or_a_refusal_at_either_end() {
    let sizes = Sizes { small: ([2, 1, 0], 24_766), large: ([3, 3, 0], 2_193_154) };
    goes_through("two keys", &sizes, |writes| {
        Whole::armed(Reach { writes, crashes: 1, refusals: 1, answers: 1, places: 0 })
    });
}

#[test]
fn no_write_is_lost_where_marks_of_delivery_are_put_off() {
    let sizes = Sizes { small: ([2, 1, 0], 6_924), large: ([3, 3, 0], 428_791) };
    goes_through("two keys beside others", &sizes, |writes| {
        Whole::armed(Reach { writes, crashes: 1, refusals: 1, answers: 0, places: 2 }).crowded()
    });
}
