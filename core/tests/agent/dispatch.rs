//! The dispatch against a control plane of its own: whatever is pulled, lost, refused or late, no id runs twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use meshward_core::{
    agent::{
        Cause,
        execution::{Effect, Input},
        verdict::Called,
    },
    plane::execution::{self as plane, Progress},
    time::{Mono, Now},
    wire::execution::{Execution, Status},
};
use proptest::prelude::*;

use crate::{
    bench::{entry, execution_id},
    floor::{Floor, failed, invited, refused, unacceptable},
    support,
};

const IDS: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrived,
    /// The control plane took it, and the answer was lost.
    AnswerLost,
    Lost,
    Unacceptable,
}

#[derive(Clone, Debug)]
enum Event {
    /// A snapshot is taken now and pulled later.
    Snapshot,
    /// The snapshot last taken arrives, less what is left out; fresh takes it only now.
    Pulled {
        fresh: bool,
        without: Option<usize>,
    },
    Answered(usize, Fate),
    /// A run ends, some with more output than goes inline.
    Finished(usize, i32, bool),
    /// An upload ends, taken or not.
    Uploaded(usize, bool),
    Passed(u64),
    Ticked,
    Draining,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Arrived),
        1 => Just(Fate::AnswerLost),
        1 => Just(Fate::Lost),
        1 => Just(Fate::Unacceptable),
    ]
}

fn event(fate: impl Strategy<Value = Fate> + 'static, stale: bool) -> impl Strategy<Value = Event> {
    let without = prop::option::weighted(0.1, 0..IDS.len());
    prop_oneof![
        1 => Just(Event::Snapshot),
        4 => (prop::bool::weighted(if stale { 0.7 } else { 1.0 }), without)
            .prop_map(|(fresh, without)| Event::Pulled { fresh, without }),
        8 => (0_usize..4, fate).prop_map(|(call, fate)| Event::Answered(call, fate)),
        3 => (0_usize..3, 0..2, any::<bool>())
            .prop_map(|(run, code, long)| Event::Finished(run, code, long)),
        2 => (0_usize..3, any::<bool>()).prop_map(|(run, taken)| Event::Uploaded(run, taken)),
        2 => (0_u64..7_000).prop_map(Event::Passed),
        2 => Just(Event::Ticked),
    ]
}

/// The control plane's side, what is under way between both, and what was seen.
struct World {
    floor: Floor,
    plane: BTreeMap<&'static str, Progress>,
    snapshot: Vec<Execution>,
    /// When that was asked for.
    asked: Mono,
    /// Each with whether it announces output.
    calls: Vec<(String, Status, bool)>,
    uploads: Vec<String>,
    running: Vec<String>,
    ran: Vec<String>,
    /// The callback each id had accepted last, as the agent knows.
    accepted: BTreeMap<String, Status>,
    /// What the control plane refused.
    refused: Vec<Status>,
    draining: bool,
}

impl World {
    fn new() -> Self {
        Self {
            floor: Floor::new(),
            plane: IDS.map(|id| (id, Progress(None))).into(),
            snapshot: Vec::new(),
            asked: Mono::default(),
            calls: Vec::new(),
            uploads: Vec::new(),
            running: Vec::new(),
            ran: Vec::new(),
            accepted: BTreeMap::new(),
            refused: Vec::new(),
            draining: false,
        }
    }

    /// What a pull shows: everything that has not ended.
    fn shown(&self) -> Vec<Execution> {
        let live =
            self.plane.iter().filter(|(_, progress)| !progress.0.is_some_and(Status::is_terminal));
        live.map(|(id, progress)| entry(id, progress.0.map_or("pending", Status::as_str))).collect()
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Snapshot => self.ask(),
            Event::Pulled { fresh, without } => self.pulled(fresh, without),
            Event::Answered(call, fate) => self.answered(call, fate),
            Event::Finished(run, code, long) => self.finished(run, code, long),
            Event::Uploaded(run, taken) => self.uploaded(run, taken),
            Event::Passed(millis) => self.floor.pass(Duration::from_millis(millis)),
            Event::Ticked => self.give(Input::Ticked),
            Event::Draining => self.drain(),
        }
    }

    fn ask(&mut self) {
        self.snapshot = self.shown();
        self.asked = self.floor.now.mono;
    }

    fn pulled(&mut self, fresh: bool, without: Option<usize>) {
        if fresh {
            self.ask();
        }
        let mut entries = self.snapshot.clone();
        if let Some(at) = without.filter(|at| *at < entries.len()) {
            entries.remove(at);
        }
        self.give(Input::Pulled { asked: self.asked, entries, unread: BTreeSet::new() });
    }

    fn answered(&mut self, call: usize, fate: Fate) {
        self.floor.pass(Duration::from_millis(1));
        if self.calls.is_empty() {
            return;
        }
        let (id, status, declares) = self.calls.remove(call % self.calls.len());
        let verdict = match fate {
            Fate::Arrived => self.judge(&id, status, declares),
            Fate::AnswerLost => {
                self.judge(&id, status, declares);
                failed()
            }
            Fate::Lost => failed(),
            Fate::Unacceptable => unacceptable(false),
        };
        if verdict == Called::Accepted || declares {
            self.accepted.insert(id.clone(), status);
        }
        let effects = self.floor.answer(&id, status, verdict);
        self.perform(effects);
    }

    /// The control plane's own table decides.
    fn judge(&mut self, id: &str, status: Status, declares: bool) -> Called {
        let progress = self.plane.get_mut(id).expect("a callback names a known id");
        let declares = declares && status == Status::Started;
        let step = progress.step(Now::default(), plane::Input::Reported { status, declares });
        *progress = step.state;
        match step.effects.as_slice() {
            [plane::Effect::Accept(_)] => return Called::Accepted,
            [plane::Effect::AcceptAndMint(_)] => return invited(id),
            _ => {}
        }
        self.refused.push(status);
        refused()
    }

    fn finished(&mut self, run: usize, code: i32, long: bool) {
        if !self.running.is_empty() {
            let id = self.running.remove(run % self.running.len());
            let output = if long { "x".repeat(20_000) } else { String::new() };
            let effects = self.floor.finish_with(&id, Cause::Exited(code), &output);
            self.perform(effects);
        }
    }

    fn uploaded(&mut self, run: usize, taken: bool) {
        if !self.uploads.is_empty() {
            let id = self.uploads.remove(run % self.uploads.len());
            let outcome = if taken { Ok(()) } else { Err("down".into()) };
            self.give(Input::Uploaded { execution: execution_id(&id), outcome });
        }
    }

    fn drain(&mut self) {
        self.draining = true;
        self.give(Input::Draining);
    }

    fn give(&mut self, input: Input) {
        let effects = self.floor.give(input);
        self.perform(effects);
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Post { execution, callback, .. } => {
                    let declares = callback.declared_output_bytes.is_some();
                    self.posted(execution.0, callback.status, declares);
                }
                Effect::Upload { execution, .. } => self.uploads.push(execution.0),
                Effect::Run { execution, .. } => self.started(execution.0),
                Effect::Cancel(execution) => {
                    assert!(self.running.contains(&execution.0), "only what runs is cancelled");
                }
                Effect::Tell(_) => {}
            }
        }
        let (active, _) = self.floor.dispatch.depths();
        assert!(active <= self.floor.settings.max_concurrent, "{active} at once");
    }

    fn posted(&mut self, id: String, status: Status, declares: bool) {
        assert!(
            !self.calls.iter().any(|(known, ..)| *known == id),
            "one callback of {id} at a time"
        );
        self.calls.push((id, status, declares));
    }

    fn started(&mut self, id: String) {
        assert!(!self.draining, "{id} began during a drain");
        assert!(!self.ran.contains(&id), "{id} runs a second time");
        assert_eq!(self.accepted.get(&id), Some(&Status::Started), "{id} runs unclaimed");
        self.ran.push(id.clone());
        self.running.push(id);
    }
}

proptest! {
    #![proptest_config(support::seeds_in("agent_dispatch"))]

    #[test]
    fn no_id_runs_twice_or_unclaimed_whatever_is_lost_or_stale(
        events in prop::collection::vec(event(fate(), true), 0..80),
        drained_at in prop::option::weighted(0.2, 0_usize..80),
    ) {
        let mut world = World::new();
        for (at, event) in events.into_iter().enumerate() {
            if drained_at == Some(at) {
                world.happen(Event::Draining);
            }
            world.happen(event);
        }
        prop_assert!(world.refused.iter().all(|status| status.is_terminal()), "{:?}", world.refused);
    }

    #[test]
    fn a_control_plane_that_loses_nothing_never_has_a_callback_to_refuse(
        events in prop::collection::vec(event(Just(Fate::Arrived), false), 0..80),
    ) {
        let mut world = World::new();
        for event in events {
            world.happen(event);
        }
        prop_assert_eq!(world.refused, []);
    }

    /// Once nothing is lost any more, everything that was ever claimed comes to an end and is reported so.
    #[test]
    fn with_the_network_back_every_execution_ends(
        events in prop::collection::vec(event(fate(), false), 0..60),
    ) {
        let mut world = World::new();
        for event in events {
            world.happen(event);
        }
        let ran_before = world.ran.len();
        for _ in 0..40 {
            world.happen(Event::Pulled { fresh: true, without: None });
            world.happen(Event::Passed(1_000));
            world.happen(Event::Ticked);
            world.happen(Event::Finished(0, 0, true));
            world.happen(Event::Uploaded(0, true));
            world.happen(Event::Answered(0, Fate::Arrived));
        }
        prop_assert!(world.calls.is_empty() && world.running.is_empty());
        prop_assert!(world.floor.dispatch.is_idle());
        prop_assert!(world.ran.len() >= ran_before);
    }
}
