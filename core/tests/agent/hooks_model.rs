//! The hooks under any sequence of looks, stirs and reloads, beside a model: the first content of each name.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use meshward_core::{
    agent::{
        FoundHook, FoundProgram, Scan, Sight,
        hooks::{Effect, Hooks, Input, RESCAN},
    },
    ids::CallId,
    step::Step,
    time::Now,
    wire::grammar::Checksum,
};
use proptest::prelude::*;

use crate::{
    bench::start,
    hooks::{digest, whole},
    support::{replays, seeds_in},
};

/// What is seen of one name: nothing, an unfinished file, or one of three contents.
type Sighted = Option<u8>;

const UNSETTLED: u8 = 0;
const NAMES: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
enum Event {
    Scanned([Sighted; 3], bool),
    Failed,
    Stirred,
    Reload,
    Passed(u64),
    Woken,
}

fn event() -> impl Strategy<Value = Event> {
    let sighted = prop::option::weighted(0.8, 0_u8..4);
    prop_oneof![
        6 => (prop::array::uniform3(sighted), prop::bool::weighted(0.8))
            .prop_map(|(files, watched)| Event::Scanned(files, watched)),
        1 => Just(Event::Failed),
        2 => Just(Event::Stirred),
        2 => Just(Event::Reload),
        1 => (0_u64..7_000).prop_map(Event::Passed),
        4 => Just(Event::Woken),
    ]
}

fn scan(files: [Sighted; 3], watched: bool) -> Scan {
    let found = |(name, sighted): (&str, Sighted)| match sighted? {
        UNSETTLED => Some(FoundHook { name: name.into(), found: FoundProgram::Unsettled }),
        byte => Some(whole(name, byte)),
    };
    let files = NAMES.into_iter().zip(files).filter_map(found).collect();
    let watched = if watched { Ok(()) } else { Err("no".into()) };
    Scan { sight: Sight::Found { files, crowded: false }, watched }
}

struct World {
    hooks: Hooks,
    now: Now,
    /// A look is under way.
    looking: bool,
    /// The first content that was seen of each.
    first: BTreeMap<&'static str, Checksum>,
    last_asked: CallId,
    waiting: BTreeSet<CallId>,
    log: Vec<Input>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            hooks: Hooks::default(),
            now: start(),
            looking: false,
            first: BTreeMap::new(),
            last_asked: CallId::default(),
            waiting: BTreeSet::new(),
            log: Vec::new(),
        };
        world.give(Input::Started);
        world
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Scanned(files, watched) => self.scanned(files, watched),
            Event::Failed if self.looking => {
                let scan = Scan { sight: Sight::Failed("no".into()), watched: Ok(()) };
                self.looking = false;
                self.give(Input::Scanned(scan));
            }
            Event::Failed => {}
            Event::Stirred => self.give(Input::Stirred),
            Event::Reload => {
                self.last_asked = self.last_asked.next();
                self.waiting.insert(self.last_asked);
                self.give(Input::Reload(self.last_asked));
            }
            Event::Passed(millis) => self.now = self.now.after(Duration::from_millis(millis)),
            Event::Woken => self.wake(),
        }
    }

    fn scanned(&mut self, files: [Sighted; 3], watched: bool) {
        if !std::mem::take(&mut self.looking) {
            return;
        }
        for (name, sighted) in NAMES.into_iter().zip(files) {
            if let Some(byte @ 1..) = sighted {
                self.first.entry(name).or_insert_with(|| digest(byte));
            }
        }
        self.give(Input::Scanned(scan(files, watched)));
        for (name, sighted) in NAMES.into_iter().zip(files) {
            self.check(name, sighted);
        }
    }

    /// What is known of a name behind a look that saw this of it.
    fn check(&self, name: &str, sighted: Sighted) {
        let pin = self.hooks.pin(name);
        match sighted {
            None => assert_eq!(pin, None, "{name} has gone"),
            Some(UNSETTLED) => assert!(pin.is_none() || pin == self.first.get(name).copied()),
            Some(byte) => {
                assert_eq!(
                    pin,
                    self.first.get(name).copied(),
                    "{name} is held to its first content"
                );
                let listed = self.hooks.list().into_iter().find(|hook| hook.name == name);
                let listed = listed.expect("what is pinned is listed");
                assert_eq!(listed.fault.is_none(), pin == Some(digest(byte)), "{listed:?}");
            }
        }
        assert_eq!(self.hooks.is_known(name), sighted != Some(UNSETTLED) || pin.is_some());
    }

    /// Lets the wanted time come, which is then over.
    fn wake(&mut self) {
        if let Some(due) = self.hooks.wakeup() {
            let wait = due.since(self.now.mono);
            assert!(wait <= RESCAN, "nothing waits longer than for the next look");
            self.now = self.now.after(wait);
            self.give(Input::Ticked);
            assert!(self.hooks.wakeup().is_none_or(|next| next > self.now.mono));
        }
    }

    fn give(&mut self, input: Input) {
        self.log.push(input.clone());
        let Step { state, effects } = std::mem::take(&mut self.hooks).step(self.now, input);
        self.hooks = state;
        for effect in effects {
            match effect {
                Effect::Look => {
                    assert!(!self.looking, "one look at a time");
                    self.looking = true;
                }
                Effect::Answer { askers, .. } => {
                    assert!(askers.iter().all(|asker| self.waiting.remove(asker)), "{askers:?}");
                }
                Effect::Refuse { asker, .. } => assert!(self.waiting.remove(&asker)),
                Effect::Tell(_) => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(seeds_in("hooks"))]

    #[test]
    fn a_hook_is_held_to_its_first_content_and_every_reload_is_answered_once(
        events in prop::collection::vec(event(), 0..60)
    ) {
        let mut world = World::new();
        for event in events {
            world.happen(event);
        }
        // All is quiet, and each look comes to its end.
        for _ in 0..20 {
            world.scanned([Some(1), None, None], true);
            world.wake();
        }
        prop_assert!(world.waiting.is_empty(), "{:?} are not answered", world.waiting);
        prop_assert!(world.hooks.wakeup().is_none() && !world.looking, "it comes to rest");
        let now = world.now;
        replays(&Hooks::default(), &world.log, |hooks, input| hooks.step(now, input));
    }
}
