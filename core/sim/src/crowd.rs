//! A thousand agents and the one control plane that they share, which goes away and comes back.
//!
//! Nothing is lost here and no disk refuses: what is measured is how many requests reach the control plane in each
//! second. Of the agents all that the world has is real; each has its own phase, and chance of its own.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    time::Duration,
};

use meshward_core::{
    agent::{
        Act, Acted, Agent, Answer, Bytes, Effect, Failure, Gathered, Heard, Input, Listen,
        Settings, TokenSources,
    },
    backoff::Jitter,
    ids::{CallId, CorrelationId},
    plane::{self, Plane, site},
    secret::Secret,
    time::{Mono, Now},
    wire::{
        grammar::{PublicKey, Uuid},
        http::{Request, Response},
        sse,
    },
};

use crate::{
    clock::Clock,
    disk::Disk,
    net::PLAIN_DELAY,
    rng::Rng,
    route::{Route, Said},
    settings,
    signing::Keyring,
    surroundings::Surroundings,
};

/// Over which time the agents are started.
const PHASES: Duration = Duration::from_secs(60);

/// How often a stream says that it is alive, in milliseconds; less often than it would, as that is no request.
const ALIVE: u64 = 60_000;

/// Where a call of an agent is answered.
type Caller = (usize, CallId);

#[derive(Debug)]
enum What {
    Starts(usize),
    Wakes(usize),
    /// A request reaches the control plane.
    Asks(Caller, Box<Request>),
    Answers(Caller, Box<Answer>),
    /// Something comes of a stream.
    Streams(Caller, Box<Heard>),
    SaysAlive(Caller),
}

#[derive(Debug, Default)]
struct Member {
    agent: Agent,
    disk: Disk,
    around: Surroundings,
    /// The stream that it follows.
    stream: Option<CallId>,
    /// The time for which its waking is put down.
    wakes: Option<Mono>,
}

/// What the control plane was asked in each second.
#[derive(Clone, Debug, Default)]
pub struct Tally(Vec<BTreeMap<Route, u32>>);

#[derive(Debug)]
pub struct Crowd {
    clock: Clock,
    rng: Rng,
    settings: Settings,
    plane_settings: plane::Settings,
    plane: Plane,
    /// The streams that are open at the control plane.
    streams: BTreeMap<Caller, CallId>,
    calls: CallId,
    is_up: bool,
    members: Vec<Member>,
    queue: BinaryHeap<Reverse<Due>>,
    put: u64,
    pub tally: Tally,
}

#[derive(Debug)]
struct Due {
    at: Mono,
    order: u64,
    what: What,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl Tally {
    fn count(&mut self, at: Mono, route: Route) {
        let second = at.since_origin().as_secs() as usize;
        self.0.resize(self.0.len().max(second + 1), BTreeMap::new());
        *self.0[second].entry(route).or_default() += 1;
    }

    /// How many requests there were from one second to another.
    pub fn between(&self, from: usize, to: usize) -> u32 {
        (from..to).filter_map(|second| self.0.get(second)).flat_map(BTreeMap::values).sum()
    }

    /// The most in any stretch of so many seconds, between two.
    pub fn peak(&self, from: usize, to: usize, stretch: usize) -> u32 {
        let stretches = (from..to).map(|second| self.between(second, second + stretch));
        stretches.max().unwrap_or_default()
    }

    /// Of one route alone.
    pub fn of(&self, route: Route, from: usize, to: usize) -> u32 {
        (from..to).filter_map(|second| self.0.get(second)?.get(&route)).sum()
    }
}

impl Crowd {
    pub fn new(members: usize, seed: u64) -> Self {
        let keyring = Keyring::default();
        let mut crowd = Self {
            clock: Clock::default(),
            rng: Rng::new(seed),
            settings: settings::agent(None),
            plane_settings: settings::plane(keyring.public_text()),
            plane: Plane::default(),
            streams: BTreeMap::new(),
            calls: CallId::default(),
            is_up: true,
            members: Vec::new(),
            queue: BinaryHeap::new(),
            put: 0,
            tally: Tally::default(),
        };
        crowd.members.resize_with(members, Member::default);
        for at in 0..members {
            let phase = crowd.rng.below(PHASES.as_millis() as u64);
            crowd.after(phase, What::Starts(at));
        }
        crowd
    }

    /// The control plane goes away: every stream breaks, or ends in order before, and nobody answers any more.
    pub fn goes_away(&mut self, in_order: bool) {
        let failure = (!in_order).then_some(Failure::Unreachable);
        self.is_up = false;
        self.plane = Plane::default();
        for caller in std::mem::take(&mut self.streams).into_keys() {
            let heard = Heard::Ended(failure.map(Into::into));
            self.after(PLAIN_DELAY, What::Streams(caller, Box::new(heard)));
        }
    }

    /// It is back, and has forgotten everything.
    pub fn comes_back(&mut self) {
        self.is_up = true;
    }

    /// How many agents follow a stream.
    pub fn streaming(&self) -> usize {
        let heads: BTreeSet<_> = self.streams.keys().map(|(at, _)| *at).collect();
        heads.len()
    }

    /// Goes on until this second.
    pub fn run_until(&mut self, second: u64) {
        let end = Mono::from_origin(Duration::from_secs(second));
        while self.queue.peek().is_some_and(|Reverse(due)| due.at <= end) {
            let Some(Reverse(due)) = self.queue.pop() else { return };
            self.clock.jump_to(due.at);
            self.happens(due.what);
        }
        self.clock.jump_to(end);
    }

    fn put(&mut self, at: Mono, what: What) {
        self.put += 1;
        self.queue.push(Reverse(Due { at, order: self.put, what }));
    }

    fn after(&mut self, millis: u64, what: What) {
        self.put(self.clock.mono().after(Duration::from_millis(millis)), what);
    }

    fn jitter(&mut self) -> Jitter {
        Jitter::drawn(self.rng.next() as u16)
    }

    fn happens(&mut self, what: What) {
        match what {
            What::Starts(at) => {
                let memory = self.members[at].disk.remember();
                self.feed(at, Input::Restarted(Box::new(memory)));
            }
            What::Wakes(at) => {
                let now = self.clock.mono();
                let member = &mut self.members[at];
                if member.wakes == Some(now) {
                    member.wakes = None;
                    if member.agent.wakeup().is_some_and(|due| due <= now) {
                        self.feed(at, Input::Ticked);
                    } else {
                        self.put_waking(at);
                    }
                }
            }
            What::Asks(caller, request) => self.serve(caller, *request),
            What::Answers((at, call), answer) => {
                let jitter = self.jitter();
                self.feed(at, Input::Answered { call, answer: *answer, jitter });
            }
            What::Streams(caller, heard) => self.hear(caller, *heard),
            What::SaysAlive(caller) => {
                if self.streams.contains_key(&caller) {
                    self.after(ALIVE, What::SaysAlive(caller));
                    self.hear(caller, Heard::Bytes(Bytes(sse::KEEP_ALIVE.to_vec())));
                }
            }
        }
    }

    fn hear(&mut self, (at, stream): Caller, heard: Heard) {
        if self.members[at].stream != Some(stream) {
            return;
        }
        let jitter = self.jitter();
        self.feed(at, Input::Acted(Acted::Heard { stream, heard, jitter }));
    }

    fn feed(&mut self, at: usize, input: Input) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let agent = std::mem::take(&mut self.members[at].agent);
            let step = agent.step(&self.settings, self.clock.now(), input);
            self.members[at].agent = step.state;
            let told: Vec<_> =
                step.effects.into_iter().filter_map(|effect| self.perform(at, effect)).collect();
            inputs.extend(told.into_iter().rev());
        }
        self.put_waking(at);
    }

    fn put_waking(&mut self, at: usize) {
        let Some(due) = self.members[at].agent.wakeup() else { return };
        let due = due.max(self.clock.mono());
        let member = &mut self.members[at];
        if member.wakes.is_none_or(|wakes| due < wakes) {
            member.wakes = Some(due);
            self.put(due, What::Wakes(at));
        }
    }

    fn perform(&mut self, at: usize, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Gather => Some(self.gathered()),
            Effect::Store(order) => {
                let fresh = PublicKey::from_bytes(self.rng.bytes())?;
                let disk = &mut self.members[at].disk;
                disk.plan(&order, fresh).ok()?.into_iter().for_each(|write| disk.write(write));
                Some(Input::Stored(disk.done(&order)))
            }
            Effect::Keep { file, change } => {
                self.members[at].disk.keep(&file, change);
                Some(Input::Kept { file, outcome: Ok(()) })
            }
            Effect::Send { call, request, .. } => {
                self.ask((at, call), request);
                None
            }
            Effect::Act(act) => self.act(at, act),
            Effect::Reply { .. } | Effect::Stream(_) | Effect::Tell(_) | Effect::Exit(_) => None,
        }
    }

    fn gathered(&mut self) -> Input {
        let token = Secret::new("psb_dev_sim_node_aaaaaaaaaaaaaaaaaaaa".to_owned());
        Input::Gathered(Box::new(Gathered {
            token: TokenSources { value: Some(token), ..TokenSources::default() },
            project_id: site::PROJECT_ID.into(),
            resource_handle: "sim-node".into(),
            requested_resource_id: "".into(),
            nonce: Ok(Uuid::drawn(self.rng.bytes())),
        }))
    }

    fn act(&mut self, at: usize, act: Act) -> Option<Input> {
        match act {
            Act::Install { key } => Some(Input::Acted(Acted::Installed { key, outcome: Ok(()) })),
            Act::Scan => {
                let scan = self.members[at].around.scan(self.clock.mono());
                Some(Input::Acted(Acted::Scanned(Box::new(scan))))
            }
            Act::Listen(stream, Listen::Open { request, .. }) => {
                self.members[at].stream = Some(stream);
                self.ask((at, stream), request);
                None
            }
            Act::Listen(stream, Listen::Close) => {
                self.members[at].stream.take_if(|open| *open == stream);
                let call = self.streams.remove(&(at, stream))?;
                self.move_plane(plane::Input::Left { call });
                None
            }
            Act::Discover(discovery) => {
                let (round, outcome) = (discovery.round, Ok(self.members[at].around.seen()));
                Some(Input::Acted(Acted::Discovered { round, outcome, jitter: self.jitter() }))
            }
            Act::Measure => {
                let measured = self.members[at].around.measure();
                Some(Input::Acted(Acted::Measured(Box::new(measured))))
            }
            Act::Cancel(_)
            | Act::Run { .. }
            | Act::Session(..)
            | Act::Upload { .. }
            | Act::Voice(_)
            | Act::Weigh(_) => None,
        }
    }

    fn ask(&mut self, caller: Caller, request: Request) {
        self.after(PLAIN_DELAY, What::Asks(caller, Box::new(request)));
    }

    /// A request arrives, or is turned away where nobody is.
    fn serve(&mut self, caller: Caller, request: Request) {
        let route = Said::read(&request).route();
        if !self.is_up {
            let lost = Failure::Unreachable.into();
            let told = if route == Route::Events {
                What::Streams(caller, Box::new(Heard::Ended(Some(lost))))
            } else {
                What::Answers(caller, Box::new(Answer::Failed(lost)))
            };
            return self.after(PLAIN_DELAY, told);
        }
        self.tally.count(self.clock.mono(), route);
        self.calls = self.calls.next();
        let call = self.calls;
        let drawn =
            plane::Drawn { correlation: CorrelationId(call.0.into()), ..plane::Drawn::default() };
        let begun = self.clock.mono();
        let arrival = plane::Arrival { listener: plane::Listener::Main, request, begun, drawn };
        let Some((response, opens)) = self.move_plane(plane::Input::Requested { call, arrival })
        else {
            return;
        };
        if opens {
            self.streams.insert(caller, call);
            self.after(ALIVE, What::SaysAlive(caller));
        }
        let told = if route == Route::Events {
            What::Streams(caller, Box::new(Heard::Answered(response)))
        } else {
            What::Answers(caller, Box::new(Answer::Responded(response)))
        };
        self.after(PLAIN_DELAY, told);
    }

    /// The answer, and whether it is a stream.
    fn move_plane(&mut self, input: plane::Input) -> Option<(Response, bool)> {
        let now: Now = self.clock.now();
        let step = std::mem::take(&mut self.plane).step(&self.plane_settings, now, input);
        self.plane = step.state;
        step.effects.into_iter().find_map(|effect| match effect {
            plane::Effect::Reply { response, .. } => Some((response, false)),
            plane::Effect::Open { opening, .. } => Some((opening.response, true)),
            plane::Effect::Close
            | plane::Effect::Cut { .. }
            | plane::Effect::Send { .. }
            | plane::Effect::Sign { .. } => None,
        })
    }
}
