//! The whole agent under a sequence of local requests: every program is answered once, in the form of the local API,
//! and hears of no secret but the one it asked for.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use crate::{local_ask, local_check::check, local_node};
use arbitrary::Unstructured;
use meshward_core::{
    agent::{
        Act, Acted, Agent, Caller, Captured, Cause, DRAIN_MAX, Door, Effect, Ending, Input, RunId,
        Settings, StateFile, Stream,
        figures::Process,
        local::{Ask, route},
        local_runs::LOCAL_RUNS_MAX,
    },
    backoff::Jitter,
    ids::CallId,
    step::Step,
    time::{Mono, Now, Wall},
    wire::http::{Method, Request},
};

/// The longest sequence of what happens.
const EVENTS_MAX: usize = 96;
/// Longer than any question waits: for a fetch and in a queue behind others.
const SETTLED_AFTER: Duration = Duration::from_secs(120);

/// Requests and events drawn from the bytes meet one agent, and each answer is checked.
pub fn local_http(bytes: &[u8]) {
    local_statuses(bytes);
}

/// As [`local_http`], and tells the status of each answer in the order of the answers; 1 is an event stream.
pub fn local_statuses(bytes: &[u8]) -> Vec<u16> {
    let known = |text: &String| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    // Who knows a secret is told of it where it is only repeated.
    if local_node::markers().iter().any(known) || known(&local_node::SECRET.to_owned()) {
        return Vec::new();
    }
    let mut u = Unstructured::new(bytes);
    let gated = u.arbitrary::<u8>().is_ok_and(|byte| byte >= 128);
    let mut run = Run::start(gated);
    for _ in 0..EVENTS_MAX {
        if u.is_empty() || run.happen(&mut u).is_err() {
            break;
        }
    }
    run.settle();
    run.statuses
}

struct Run {
    settings: Settings,
    agent: Agent,
    now: Now,
    last_asked: CallId,
    /// What was asked and is not answered yet.
    asked: BTreeMap<CallId, (Caller, Request)>,
    watchers: VecDeque<CallId>,
    calls: VecDeque<(CallId, String)>,
    changes: VecDeque<StateFile>,
    /// Those that were begun and have not ended, in their order.
    runs: VecDeque<RunId>,
    /// Changes of files, and looks at the hooks, are carried out at once.
    prompt: bool,
    /// A look at the hooks is under way.
    looking: bool,
    over: bool,
    statuses: Vec<u16>,
    /// Those that are being given, the first of them at this moment.
    inputs: VecDeque<Input>,
}

impl Run {
    /// An agent that has beaten and pulled once.
    fn start(gated: bool) -> Self {
        let now = Now {
            mono: Mono::from_origin(Duration::from_secs(1_000)),
            wall: Wall::from_origin(Duration::from_secs(1_800_000_000)),
        };
        let mut run = Self {
            settings: local_node::settings(gated),
            agent: Agent::default(),
            now,
            last_asked: CallId::default(),
            asked: BTreeMap::new(),
            watchers: VecDeque::new(),
            calls: VecDeque::new(),
            changes: VecDeque::new(),
            runs: VecDeque::new(),
            prompt: true,
            looking: false,
            over: false,
            statuses: Vec::new(),
            inputs: VecDeque::new(),
        };
        run.give(Input::Restarted(Box::new(local_node::memory())));
        while let Some((call, path)) = run.calls.pop_front() {
            let answer = local_node::answer(&path, 0);
            run.give(Input::Answered { call, answer, jitter: Jitter::NONE });
        }
        assert!(run.agent.identity().is_some());
        run
    }

    fn happen(&mut self, u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
        match u.arbitrary::<u8>()? {
            0..160 => {
                let (caller, request) = local_ask::draw(u)?;
                self.ask(caller, request);
            }
            160..196 => self.answer(u.arbitrary()?),
            196..208 => self.kept(u.arbitrary::<u8>()? < 200),
            208..216 => self.prompt = !self.prompt,
            216..220 => self.finished(u.arbitrary()?),
            220..224 => self.leave(),
            224..236 => self.pass(Duration::from_secs(u.arbitrary::<u8>()?.into())),
            236..246 => {
                if let Some(watcher) = self.watchers.pop_front() {
                    self.give(Input::Left(watcher));
                }
            }
            246..250 => self.give(Input::Broke(Door::Tcp)),
            _ => self.give(Input::Draining),
        }
        Ok(())
    }

    fn ask(&mut self, caller: Caller, request: Request) {
        self.last_asked = self.last_asked.next();
        let call = self.last_asked;
        if request.method == Method::Head {
            self.assert_like_get(call, &caller, &request);
        }
        self.asked.insert(call, (caller.clone(), request.clone()));
        self.give(Input::Asked { call, caller, request });
    }

    /// HEAD decides what GET decides; its body is left out by the HTTP library, which tells the length of it.
    fn assert_like_get(&self, call: CallId, caller: &Caller, request: &Request) {
        let ask = |method| {
            let request = Request { method, ..request.clone() };
            let input = Input::Asked { call, caller: caller.clone(), request };
            self.agent.clone().step(&self.settings, self.now, input)
        };
        assert_eq!(ask(Method::Head), ask(Method::Get), "{request:?}");
    }

    fn answer(&mut self, way: u8) {
        if let Some((call, path)) = self.calls.pop_front() {
            let answer = local_node::answer(&path, way);
            self.give(Input::Answered { call, answer, jitter: Jitter::drawn(way.into()) });
        }
    }

    fn kept(&mut self, is_kept: bool) {
        if let Some(file) = self.changes.pop_front() {
            let outcome = if is_kept { Ok(()) } else { Err("no space left".to_owned()) };
            self.give(Input::Kept { file, outcome });
        }
        self.look(is_kept);
    }

    /// A look that is under way ends.
    fn look(&mut self, sees: bool) {
        if core::mem::take(&mut self.looking) {
            let scan = if sees { local_node::hooks() } else { local_node::no_hooks() };
            self.give(Input::Acted(Acted::Scanned(Box::new(scan))));
        }
    }

    fn finished(&mut self, byte: u8) {
        if let Some(id) = self.runs.pop_front() {
            self.finish(
                id,
                if byte < 128 { Cause::Exited((byte % 3).into()) } else { Cause::TimedOut },
                byte,
            );
        }
    }

    fn finish(&mut self, id: RunId, cause: Cause, byte: u8) {
        let stream = || Captured { bytes: vec![byte; 3], cut: byte % 2 == 1 };
        let ending = Ending { cause, stdout: stream(), stderr: stream() };
        self.give(Input::Acted(Acted::Finished { id, ending }));
    }

    /// The program that has waited for a run for the longest waits no more.
    fn leave(&mut self) {
        if let Some(RunId::Local(asker)) = self.runs.front().cloned() {
            self.asked.remove(&asker);
            self.give(Input::Left(asker));
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
        self.give(Input::Ticked);
    }

    /// All that is under way comes to its end, and with it every question.
    fn settle(&mut self) {
        while !self.changes.is_empty() {
            self.kept(true);
        }
        self.prompt = true;
        self.look(true);
        while !self.runs.is_empty() {
            self.finished(0);
        }
        self.pass(SETTLED_AFTER);
        while let Some((call, path)) = self.calls.pop_front() {
            if path.contains("/secrets/") {
                let answer = local_node::answer(&path, u8::MAX);
                self.give(Input::Answered { call, answer, jitter: Jitter::NONE });
            }
        }
        assert!(self.asked.is_empty(), "{:?} are not answered", self.asked);
        self.give(Input::Draining);
        self.pass(DRAIN_MAX);
        assert!(self.over, "a stop ends the process in time");
        let (caller, path) = (Caller::from(Door::Health), "/readyz".to_owned());
        let method = Method::Get;
        let body = meshward_core::wire::http::Body::EMPTY;
        let headers = meshward_core::wire::http::Headers::new();
        self.ask(caller, Request { method, path, query: None, headers, body });
        assert!(self.asked.is_empty(), "who asks behind the end is answered too");
    }

    /// Gives the agent an input behind those that it is given already.
    fn give(&mut self, input: Input) {
        self.inputs.push_back(input);
        if self.inputs.len() > 1 {
            return;
        }
        while let Some(input) = self.inputs.front() {
            self.step(input.clone());
            self.inputs.pop_front();
        }
    }

    /// Steps the agent, twice to see that it decides the same, and performs what it orders.
    fn step(&mut self, input: Input) {
        let agent = core::mem::take(&mut self.agent);
        let twin = agent.clone().step(&self.settings, self.now, input.clone());
        let step = agent.step(&self.settings, self.now, input);
        assert_eq!(step, twin, "the same input in the same state");
        let Step { state, effects } = step;
        self.agent = state;
        let printed = format!("{effects:?}");
        for marker in local_node::markers() {
            assert!(!printed.contains(&marker), "{printed}");
        }
        assert!(!printed.contains(local_node::SECRET) || printed.contains("is none of yours"));
        for effect in effects {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Reply { call, response } => {
                let (caller, request) = self.asked.remove(&call).expect("one answer to a question");
                check(self.settings.secret_auth_enabled, (&caller, &request), &response);
                self.statuses.push(response.status);
            }
            Effect::Stream(Stream::Open { watcher, .. }) => {
                let (_, request) = self.asked.remove(&watcher).expect("one answer to a question");
                assert_eq!(request.path, "/v1/watch");
                self.watchers.push_back(watcher);
                self.statuses.push(1);
            }
            Effect::Stream(Stream::Send { to, .. }) => {
                assert!(to.iter().all(|watcher| self.watchers.contains(watcher)));
            }
            Effect::Stream(Stream::Close) => self.watchers.clear(),
            Effect::Keep { file, .. } => {
                assert!(!self.changes.contains(&file), "two changes of {file} at once");
                self.changes.push_back(file);
                if self.prompt {
                    self.kept(true);
                }
            }
            Effect::Send { call, request, .. } => self.calls.push_back((call, request.path)),
            Effect::Exit(_) => {
                self.over = true;
                // Of a change that hangs at the disk nobody can tell how it ends.
                self.asked.retain(|_, (_, request)| !is_write(request));
            }
            Effect::Act(Act::Scan) => {
                assert!(!self.looking, "one look at a time");
                self.looking = true;
                if self.prompt {
                    self.look(true);
                }
            }
            Effect::Act(Act::Run { id, .. }) => {
                self.runs.push_back(id);
                assert!(self.runs.len() <= LOCAL_RUNS_MAX);
            }
            Effect::Act(Act::Cancel(id)) => self.cancel(id),
            Effect::Act(Act::Weigh(asker)) => {
                let process = Process::default();
                self.give(Input::Acted(Acted::Weighed { asker, process }));
            }
            Effect::Act(
                Act::Install { .. }
                | Act::Session(..)
                | Act::Upload { .. }
                | Act::Listen(..)
                | Act::Discover(_)
                | Act::Measure
                | Act::Voice(_),
            )
            | Effect::Gather
            | Effect::Store(_)
            | Effect::Tell(_) => {}
        }
    }

    fn cancel(&mut self, id: RunId) {
        if let Some(at) = self.runs.iter().position(|run| *run == id) {
            self.runs.remove(at);
            self.finish(id, Cause::Cancelled, 0);
        }
    }
}

fn is_write(request: &Request) -> bool {
    matches!(route(request.method, &request.path), Ok(Ask::PutReport(_) | Ask::DeleteReport(_)))
}
