//! What every machine owes: the same inputs give the same orders, and a tick that was wanted is never wanted again at once.
//! The whole agent owes more: it ends once, within thirty seconds of a stop, and no secret of it is ever printed.

use std::{collections::VecDeque, time::Duration};

use meshward_core::{
    agent::{
        Act, Acted, Agent, Answer, Bytes, Captured, Carried, Cause, DRAIN_MAX, Effect, Ending,
        EventSettings, Exit, Failure, Heard, Input, Listen, Memory, Order, RunId, Scan,
        SessionFact, SessionOrder, Settings, Sight, StagedFile, StateFile, Stored,
    },
    backoff::Jitter,
    ids::CallId,
    time::Now,
    wire::{http::Response, identity::Flaw},
};
use proptest::prelude::*;

use crate::{
    bench::{
        Bench, TOKEN, gathered, nsk, problem, public_key, registration_body, remembered, responded,
        settings, token_in_file,
    },
    support,
};

/// What happens around an agent; numbers choose among what is under way.
#[derive(Clone, Debug)]
enum Event {
    Answered { call: usize, content: usize, chance: u16 },
    Stored { order: usize, fails: bool, chance: u16 },
    Finished { run: usize, code: i32 },
    Kept { file: usize, fails: bool },
    Heard { content: usize, chance: u16 },
    Passed(u64),
    Woken,
    Ticked,
    Draining,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0_usize..4, 0_usize..12, any::<u16>())
            .prop_map(|(call, content, chance)| Event::Answered { call, content, chance }),
        4 => (0_usize..2, prop::bool::weighted(0.2), any::<u16>())
            .prop_map(|(order, fails, chance)| Event::Stored { order, fails, chance }),
        2 => (0_usize..3, 0..2).prop_map(|(run, code)| Event::Finished { run, code }),
        4 => (0_usize..5, prop::bool::weighted(0.2))
            .prop_map(|(file, fails)| Event::Kept { file, fails }),
        4 => (0_usize..9, any::<u16>()).prop_map(|(content, chance)| Event::Heard { content, chance }),
        2 => (0_u64..20_000).prop_map(Event::Passed),
        4 => Just(Event::Woken),
        1 => Just(Event::Ticked),
    ]
}

/// A process around the agent: its orders under way, and all it was told.
struct Shell {
    bench: Bench,
    calls: Vec<(CallId, String)>,
    orders: Vec<Order>,
    runs: Vec<RunId>,
    files: Vec<StateFile>,
    /// The stream that is asked for, or open where that is said, and never two.
    stream: Option<(CallId, bool)>,
    /// What is known at once, and told when all orders of a step are begun.
    ready: VecDeque<Input>,
    log: Vec<(Now, Input)>,
    exits: Vec<Exit>,
    last_call: CallId,
    draining: bool,
}

/// Lets the hooks be looked at, which is never to be waited for, and events be asked for.
fn with_hooks(mut settings: Settings) -> Settings {
    settings.actions.hooks = true;
    settings.senses.events = Some(EventSettings {
        idle_timeout: Duration::from_secs(90),
        reprobe_interval: Duration::from_secs(600),
    });
    settings
}

impl Shell {
    fn started(memory: Memory) -> Self {
        let mut shell = Self {
            bench: Bench::new(with_hooks(settings())),
            calls: Vec::new(),
            orders: Vec::new(),
            runs: Vec::new(),
            files: Vec::new(),
            stream: None,
            ready: VecDeque::new(),
            log: Vec::new(),
            exits: Vec::new(),
            last_call: CallId::default(),
            draining: false,
        };
        shell.give(Input::Restarted(Box::new(memory)));
        shell
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Answered { call, content, chance } => self.answered(call, content, chance),
            Event::Stored { order, fails, chance } => self.stored(order, fails, chance),
            Event::Finished { run, code } => self.finished(run, code),
            Event::Kept { file, fails } => self.kept(file, fails),
            Event::Heard { content, chance } => self.heard(content, chance),
            Event::Passed(millis) => self.bench.pass(Duration::from_millis(millis)),
            Event::Woken => self.wake(),
            Event::Ticked => self.give(Input::Ticked),
            Event::Draining => self.drain(),
        }
    }

    fn answered(&mut self, call: usize, content: usize, chance: u16) {
        if !self.calls.is_empty() {
            let (call, path) = self.calls.remove(call % self.calls.len());
            let answer = answer(&path, content);
            self.give(Input::Answered { call, answer, jitter: Jitter::drawn(chance) });
        }
    }

    fn stored(&mut self, order: usize, fails: bool, chance: u16) {
        if !self.orders.is_empty() {
            let order = self.orders.remove(order % self.orders.len());
            let jitter = Jitter::drawn(chance);
            self.give(Input::Stored(match fails {
                true => Stored::Failed { order: order.kind(), jitter, reason: "full".into() },
                false => done(&order),
            }));
        }
    }

    fn finished(&mut self, run: usize, code: i32) {
        if !self.runs.is_empty() {
            let execution = self.runs.remove(run % self.runs.len());
            let stdout = Captured { bytes: b"text".into(), cut: false };
            let ending = Ending { cause: Cause::Exited(code), stdout, stderr: Captured::default() };
            self.give(Input::Acted(Acted::Finished { id: execution, ending }));
        }
    }

    fn kept(&mut self, file: usize, fails: bool) {
        if !self.files.is_empty() {
            let file = self.files.remove(file % self.files.len());
            let outcome = if fails { Err("full".into()) } else { Ok(()) };
            self.give(Input::Kept { file, outcome });
        }
    }

    fn heard(&mut self, content: usize, chance: u16) {
        let Some((stream, is_open)) = self.stream else { return };
        let heard = heard(content);
        match (&heard, is_open) {
            (Heard::Answered(answer), false) => {
                self.stream = answer.is_success().then_some((stream, true));
            }
            (Heard::Answered(_), true) | (Heard::Bytes(_), false) => return,
            (Heard::Bytes(_), true) => {}
            (Heard::Ended(_), _) => self.stream = None,
        }
        let jitter = Jitter::drawn(chance);
        self.give(Input::Acted(Acted::Heard { stream, heard, jitter }));
    }

    fn wake(&mut self) {
        if let Some(due) = self.bench.agent.wakeup() {
            self.bench.pass(due.since(self.bench.now.mono));
            self.give(Input::Ticked);
            let next = self.bench.agent.wakeup();
            assert!(next.is_none_or(|next| next > due), "woken at {due:?}, wants {next:?}");
        }
    }

    fn drain(&mut self) {
        self.give(Input::Draining);
        self.draining = true;
    }

    fn give(&mut self, input: Input) {
        self.ready.push_back(input);
        while let Some(input) = self.ready.pop_front() {
            self.log.push((self.bench.now, input.clone()));
            let over = !self.exits.is_empty();
            let effects = self.bench.give(input);
            assert!(!over || effects.is_empty(), "an order behind the exit: {effects:?}");
            let printed = format!("{:?} {effects:?}", self.bench.agent);
            assert!(!printed.contains(TOKEN) && !printed.contains(nsk().expose()), "{printed}");
            effects.into_iter().for_each(|effect| self.perform(effect));
        }
    }

    /// Finds a fact once all orders of this step are begun.
    fn find(&mut self, fact: Input) {
        self.ready.push_back(fact);
    }

    fn perform(&mut self, effect: Effect) {
        assert!(self.exits.is_empty(), "{effect:?} behind the exit");
        match effect {
            Effect::Gather => self.find(Input::Gathered(Box::new(gathered(token_in_file())))),
            Effect::Store(order) => self.orders.push(order),
            Effect::Keep { file, .. } => {
                assert!(!self.files.contains(&file), "two changes of {file} at once");
                self.files.push(file);
            }
            Effect::Send { call, request, timeout, .. } => {
                assert!(call > self.last_call && !timeout.is_zero());
                self.last_call = call;
                self.calls.push((call, request.path));
            }
            Effect::Act(Act::Run { id: execution, .. }) => {
                assert!(!self.draining, "{execution:?} begins during a drain");
                self.runs.push(execution);
            }
            Effect::Act(Act::Upload { .. }) => panic!("no run prints so much"),
            Effect::Act(Act::Cancel(execution)) => assert!(self.runs.contains(&execution)),
            Effect::Act(Act::Install { key }) => {
                self.find(Input::Acted(Acted::Installed { key, outcome: Ok(()) }))
            }
            Effect::Act(Act::Scan) => {
                let scan = Scan { sight: Sight::Absent, watched: Err("no watches".into()) };
                self.find(Input::Acted(Acted::Scanned(Box::new(scan))))
            }
            Effect::Act(Act::Session(session, SessionOrder::Open(_))) => {
                assert!(!self.draining, "{session:?} is opened during a drain");
                let fact = SessionFact::Opened { endpoint: ([127, 0, 0, 1], 4000).into() };
                self.find(Input::Acted(Acted::Session(session, fact)));
            }
            Effect::Act(Act::Session(session, SessionOrder::Close { .. })) => {
                let fact = SessionFact::Closed(Carried { bytes_in: 1, bytes_out: 2 });
                self.find(Input::Acted(Acted::Session(session, fact)));
            }
            Effect::Act(Act::Listen(stream, Listen::Open { .. })) => {
                assert!(stream > self.last_call && !self.draining);
                assert_eq!(self.stream.replace((stream, false)), None, "two streams at once");
                self.last_call = stream;
            }
            Effect::Act(Act::Listen(stream, Listen::Close)) => {
                // It may have ended, which is on its way to be told.
                assert!(self.stream.is_none_or(|(open, _)| open == stream));
                self.stream = None;
            }
            Effect::Act(Act::Discover(_) | Act::Measure | Act::Voice(_) | Act::Weigh(_)) => {
                panic!("no other sense is on")
            }
            Effect::Reply { .. } | Effect::Stream(_) => panic!("nobody asked"),
            Effect::Tell(_) => {}
            Effect::Exit(exit) => self.exits.push(exit),
        }
    }
}

/// How an order ends well.
fn done(order: &Order) -> Stored {
    match order {
        Order::MakeKey { .. } => Stored::KeyMade(public_key(1)),
        Order::Persist(_) => Stored::Persisted,
        Order::Stage => Stored::Staged(public_key(2)),
        Order::Commit(_) => Stored::Committed,
        Order::Retire { .. } => Stored::Retired { folder: "aside".into() },
        Order::Restore => Stored::Restored(StagedFile::Missing),
        Order::SetAside { .. } | Order::ForgetToken(_) | Order::Discard | Order::Shelve => {
            Stored::Done
        }
    }
}

/// What a stream tells.
fn heard(content: usize) -> Heard {
    let typed = |kind| Response::empty(200).with("content-type", kind);
    let bytes = |bytes: &[u8]| Heard::Bytes(Bytes(bytes.to_vec()));
    match content {
        0 => Heard::Ended(None),
        1 => Heard::Ended(Some(Failure::Unreachable.into())),
        2 => Heard::Answered(Response::empty(401)),
        3 => match problem(501, "signed_event_bus_not_provisioned") {
            Answer::Responded(response) => Heard::Answered(response),
            Answer::Failed(lost) => Heard::Ended(Some(lost)),
        },
        4 => Heard::Answered(typed("text/html")),
        5 => bytes(b"id: 7\nevent: x\ndata: {\"id\":\"x\",\"type\":\"rotate_keys\"}\n\n"),
        6 => bytes(b": alive\n\nid: 3\n\nretry: 2000\n"),
        _ => Heard::Answered(typed("text/event-stream")),
    }
}

/// A good answer for half of the numbers, else one of the bad ones.
fn answer(path: &str, content: usize) -> Answer {
    match content {
        0 => problem(401, "unauthorized"),
        1 => problem(429, "news"),
        2 => problem(500, "news"),
        3 => problem(409, "invalid_state_transition"),
        4 => responded(200, "nonsense"),
        5 => Answer::Failed(Failure::TimedOut.into()),
        _ => responded(200, &good(path, content)),
    }
}

fn good(path: &str, content: usize) -> String {
    let flag = content.is_multiple_of(2);
    if path == "/v1/register" {
        registration_body(nsk().expose())
    } else if path == "/v1/keys/rotate" {
        r#"{"rotation_id":"r1","kid":"k1","wrap_key_version":2}"#.into()
    } else if path.ends_with("/heartbeat") {
        format!(
            r#"{{"accepted_at":"2027-01-15T08:00:00Z","reconcile":{flag},"rotate_keys":{flag}}}"#
        )
    } else if path.ends_with("/state") {
        snapshot(content)
    } else if path.contains("/reports/") {
        r#"{"accepted_at":"2027-01-15T08:00:00Z","key":"status.mesh"}"#.into()
    } else {
        r#"{"status":"ack"}"#.into()
    }
}

fn snapshot(content: usize) -> String {
    let status = ["pending", "ack", "started", "odd"][content % 4];
    let entry = |id: usize| {
        format!(
            r#"{{"execution_id":"e{id}","action":"diagnostics.collect","type":"builtin","status":"{status}","expires_at":"2099-01-01T00:00:00Z"}}"#
        )
    };
    let session = format!(
        r#"{{"session_id":"s{content}","kind":"tcp","target":{{"tcp":{{"host":"h","port":1}}}},"expires_at":"2099-01-01T00:00:00Z","idle_timeout_seconds":9}}"#
    );
    format!(
        r#"{{"executions":[{},{}],"sessions":[{session}],"state":{{"data":[{{"key":"k","value":"{content}"}}]}}}}"#,
        entry(content),
        entry(content + 1)
    )
}

fn memory() -> impl Strategy<Value = Memory> {
    let staged = prop::sample::select(vec![
        StagedFile::Missing,
        StagedFile::Broken(Flaw::Empty),
        StagedFile::Key(public_key(2)),
    ]);
    prop_oneof![2 => Just(Memory::default()), 3 => staged.prop_map(remembered)]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(event(), 0..80)
}

proptest! {
    #![proptest_config(support::seeds_in("agent_whole"))]

    #[test]
    fn an_agent_ends_once_and_prints_no_secret_and_replays(memory in memory(), events in events()) {
        let mut shell = Shell::started(memory);
        for event in events {
            shell.happen(event);
        }
        prop_assert!(shell.exits.len() <= 1);
        support::replays(&Agent::default(), &shell.log, |agent, (now, input)| {
            agent.step(&shell.bench.settings, now, input)
        });
    }

    #[test]
    fn a_stop_ends_within_thirty_seconds_whatever_is_under_way(
        memory in memory(),
        before in events(),
        after in events(),
    ) {
        let mut shell = Shell::started(memory);
        before.into_iter().for_each(|event| shell.happen(event));
        let until = shell.bench.now.mono.after(DRAIN_MAX);
        shell.happen(Event::Draining);
        for event in after {
            let due = shell.bench.agent.wakeup();
            prop_assert!(!shell.exits.is_empty() || due.is_some_and(|due| due <= until));
            shell.happen(event);
        }
        shell.bench.pass(until.since(shell.bench.now.mono));
        shell.happen(Event::Ticked);
        prop_assert_eq!(shell.exits.len(), 1);
        prop_assert_eq!(shell.bench.agent.wakeup(), None);
    }
}
