//! One agent, one control plane, and everything between them; runs to the next thing that is due.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use meshward_core::{
    agent::{
        ActionSettings, Agent, Answer, Captured, Cause, Effect, Ending, Exit, Failure, Gathered,
        Input, Order, Purpose, Settings, Stored, TokenSources,
    },
    backoff::Jitter,
    ids::{CallId, CorrelationId, ExecutionId},
    plane::{self, Plane, site},
    secret::Secret,
    time::Mono,
    wire::{
        grammar::{Checksum, PublicKey, Uuid},
        http::{Body, Headers, Method, Request, Response},
        timestamp::Timestamp,
    },
};

use crate::{
    checks::{Checks, Violation},
    clock::Clock,
    codec,
    disk::Disk,
    net::{Caller, Fate, Message, Net, Passage},
    rng::Rng,
    script::{Event, FAULTS_FOR, Faults, Script},
};

/// How long an agent that has died or exited stays down.
const DOWN: Duration = Duration::from_secs(20);
/// How long the world goes on when all faults are over.
const AFTERMATH: Duration = Duration::from_secs(3600);
/// More steps than any run takes: a world that does not come to rest is at fault.
const STEPS_MAX: u64 = 2_000_000;

#[derive(Debug)]
pub struct World {
    script: Script,
    faults: Faults,
    rng: Rng,
    pub clock: Clock,
    settings: Settings,
    plane_settings: plane::Settings,
    pub plane: Plane,
    agent: Option<Agent>,
    life: u32,
    /// When an agent that is down starts again.
    start_at: Option<Mono>,
    pub disk: Disk,
    net: Net,
    /// Calls of this life that are not answered yet.
    open: BTreeSet<CallId>,
    runs: BTreeMap<ExecutionId, Mono>,
    cancelled: BTreeSet<ExecutionId>,
    crash_behind: Option<u32>,
    failing_writes: u32,
    /// The operator's flag for a new key is set.
    asking: bool,
    entries: Vec<String>,
    next_event: usize,
    pub checks: Checks,
    pub summary: Summary,
}

/// What a run amounted to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub steps: u64,
    pub crashes: u64,
    pub runs: u64,
    pub rotations: u64,
    pub registrations: u64,
    pub virtual_time: Duration,
}

impl World {
    pub fn new(script: Script) -> Self {
        Self {
            faults: script.faults,
            rng: Rng::new(script.seed ^ 0x5eed),
            clock: Clock::new(),
            settings: settings(),
            plane_settings: plane_settings(),
            plane: Plane::default(),
            agent: None,
            life: 0,
            start_at: Some(Mono::default()),
            disk: Disk::default(),
            net: Net::default(),
            open: BTreeSet::new(),
            runs: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            crash_behind: None,
            failing_writes: 0,
            asking: false,
            entries: Vec::new(),
            next_event: 0,
            checks: Checks::default(),
            summary: Summary::default(),
            script,
        }
    }

    /// Runs the script, checking safety after each step, then the aftermath, checking that all comes to its end.
    pub fn run(mut self) -> Result<Summary, Violation> {
        let healed = Mono::from_origin(Duration::from_secs(FAULTS_FOR));
        self.run_until(healed)?;
        self.heal();
        self.run_until(healed.after(AFTERMATH))?;
        self.summary.virtual_time = self.clock.mono().since_origin();
        let (statuses, counters) = (self.read("/test/executions"), self.counters());
        self.checks.rested(&self.disk, &statuses, &self.clock)?;
        self.summary.rotations = counters.0;
        self.summary.registrations = counters.1;
        Ok(self.summary)
    }

    /// Ends all faults.
    fn heal(&mut self) {
        self.faults = Faults::default();
        self.failing_writes = 0;
        self.crash_behind = None;
        self.clock.set_ahead(0);
    }

    fn run_until(&mut self, end: Mono) -> Result<(), Violation> {
        while let Some(due) = self.due().filter(|due| *due <= end) {
            self.clock.jump_to(due);
            self.advance();
            self.summary.steps += 1;
            if self.summary.steps > STEPS_MAX {
                return Err(Violation("the world comes to rest".into()));
            }
            self.checks.stand(&self.disk)?;
        }
        self.clock.jump_to(end);
        Ok(())
    }

    /// The least of everything that is due.
    fn due(&self) -> Option<Mono> {
        let event = self
            .script
            .events
            .get(self.next_event)
            .map(|(at, _)| Mono::from_origin(Duration::from_secs(*at)));
        let wakeup = self.agent.as_ref().and_then(Agent::wakeup);
        [self.net.due(), wakeup, self.runs.values().min().copied(), self.start_at, event]
            .into_iter()
            .flatten()
            .min()
    }

    /// Does the first thing that is due.
    fn advance(&mut self) {
        let now = self.clock.mono();
        let event = self.script.events.get(self.next_event).cloned();
        if let Some((_, event)) =
            event.filter(|(at, _)| Mono::from_origin(Duration::from_secs(*at)) <= now)
        {
            self.next_event += 1;
            self.happen(&event);
        } else if self.start_at.is_some_and(|at| at <= now) {
            self.start();
        } else if let Some(message) = self.net.take(now) {
            self.deliver(message);
        } else if let Some(execution) =
            self.runs.iter().find(|(_, at)| **at <= now).map(|(id, _)| id.clone())
        {
            self.finish(execution);
        } else {
            self.feed(Input::Ticked);
        }
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::AskRotation => self.ask_rotation(),
            Event::Dispatch { name, expires } => self.dispatch(*name, *expires),
            Event::Crash { behind } => self.crash_behind = Some(*behind),
            Event::RestartPlane => self.restart_plane(),
            Event::SetClock { ahead } => self.clock.set_ahead(*ahead),
            Event::FailWrites { count } => self.failing_writes = *count,
            Event::Stop => self.feed(Input::Draining),
        }
    }

    /// The flag stays until a heartbeat has carried it, and then goes or stays as it happens.
    fn ask_rotation(&mut self) {
        self.asking = true;
        self.post(
            "/test/configure-heartbeat",
            "{\"reconcile\":true,\"rotate_keys\":true}".to_owned(),
        );
    }

    fn heartbeat_served(&mut self) {
        if self.asking && self.rng.odds(700) {
            self.asking = false;
            self.post(
                "/test/configure-heartbeat",
                "{\"reconcile\":true,\"rotate_keys\":false}".to_owned(),
            );
        }
    }

    fn restart_plane(&mut self) {
        self.plane = Plane::default();
        self.asking = false;
        self.entries.clear();
        self.checks.forgot();
    }

    fn dispatch(&mut self, name: u32, expires: u64) {
        let now = self.clock.plane().wall;
        let (requested, expires_at) =
            (Timestamp::from(now), Timestamp::from(now.after(Duration::from_secs(expires))));
        self.entries.push(format!(
            "{{\"execution_id\":\"x-{name}\",\"action\":\"probe\",\"type\":\"builtin\",\"status\":\"pending\",\
             \"requested_at\":\"{requested}\",\"expires_at\":\"{expires_at}\"}}"
        ));
        self.checks.dispatched(ExecutionId(format!("x-{name}")), expires_at);
        self.post(
            "/test/configure-state",
            format!("{{\"executions\":[{}]}}", self.entries.join(",")),
        );
    }

    fn start(&mut self) {
        self.start_at = None;
        self.life += 1;
        self.agent = Some(Agent::default());
        let memory = self.disk.remember();
        self.feed(Input::Restarted(Box::new(memory)));
    }

    fn die(&mut self) {
        self.agent = None;
        self.open.clear();
        self.runs.clear();
        self.cancelled.clear();
        self.crash_behind = None;
        self.start_at = Some(self.clock.mono().after(DOWN));
        self.checks.died();
    }

    fn deliver(&mut self, message: Message) {
        match message {
            Message::Request { caller, bytes, fate } => self.serve(caller, &bytes, fate),
            Message::Reply { caller, bytes } => {
                if let Some(response) = codec::response(&bytes) {
                    self.answer(caller, Answer::Responded(response));
                }
            }
            Message::TimedOut { caller } => self.answer(caller, Answer::Failed(Failure::TimedOut)),
        }
    }

    /// A request reaches the control plane, perhaps when nobody waits for its answer any more.
    fn serve(&mut self, caller: Caller, bytes: &[u8], fate: Fate) {
        let Some(request) = codec::request(bytes) else { return };
        let rotates = request.path == "/v1/keys/rotate";
        let before = if rotates { self.counters().0 } else { 0 };
        let response = self.ask_plane(request.clone());
        let completed = rotates && self.counters().0 != before;
        let waited_for = caller.life == self.life && self.open.contains(&caller.call);
        self.checks.served(&request, &response, (completed, waited_for));
        if request.path.ends_with("/heartbeat") && response.status == 200 {
            self.heartbeat_served();
        }
        self.send(fate.reply, |_| Message::Reply {
            caller,
            bytes: codec::response_bytes(&response),
        });
    }

    fn answer(&mut self, caller: Caller, answer: Answer) {
        if caller.life == self.life && self.open.remove(&caller.call) {
            self.checks.heard(caller.call, &answer);
            let jitter = Jitter::drawn(self.rng.next() as u16);
            self.feed(Input::Answered { call: caller.call, answer, jitter });
        }
    }

    fn finish(&mut self, execution: ExecutionId) {
        self.runs.remove(&execution);
        let cause =
            if self.cancelled.remove(&execution) { Cause::Cancelled } else { Cause::Exited(0) };
        let ending = Ending { cause, stdout: Captured::default(), stderr: Captured::default() };
        self.feed(Input::Finished { execution, ending });
    }

    /// One step of the agent, and its effects in order; a crash may fall between any two of them.
    fn feed(&mut self, input: Input) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let Some(agent) = self.agent.take() else { return };
            let step = agent.step(&self.settings, self.clock.agent(), input);
            self.agent = Some(step.state);
            for effect in step.effects {
                if self.crashes() {
                    return self.die();
                }
                match self.perform(effect) {
                    Some(known) => inputs.insert(0, known),
                    None if self.agent.is_none() => return,
                    None => {}
                }
            }
        }
    }

    fn crashes(&mut self) -> bool {
        match &mut self.crash_behind {
            Some(0) => {
                self.summary.crashes += 1;
                true
            }
            Some(behind) => {
                *behind -= 1;
                false
            }
            None => false,
        }
    }

    fn perform(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Gather => return Some(self.gathered()),
            Effect::Store(order) => return self.store(&order),
            Effect::Send { call, request, timeout } => self.call(call, &request, timeout),
            Effect::Run { execution, .. } => self.run_action(execution),
            Effect::Cancel { execution } => {
                self.runs.insert(execution.clone(), self.clock.mono());
                self.cancelled.insert(execution);
            }
            Effect::Reply { .. } | Effect::Tell(_) => {}
            Effect::Exit(exit) => self.exited(&exit),
        }
        None
    }

    fn exited(&mut self, exit: &Exit) {
        self.checks.exited(exit);
        self.die();
    }

    fn gathered(&mut self) -> Input {
        let token = Some(Secret::new("psb_dev_sim_node_aaaaaaaaaaaaaaaaaaaa".to_owned()));
        Input::Gathered(Box::new(Gathered {
            token: TokenSources { value: token, ..TokenSources::default() },
            project_id: site::PROJECT_ID.to_owned(),
            resource_handle: "sim-node".to_owned(),
            requested_resource_id: String::new(),
            nonce: Uuid::drawn(self.rng.bytes()),
        }))
    }

    fn store(&mut self, order: &Order) -> Option<Input> {
        let fresh = PublicKey::from_bytes(self.rng.bytes()).unwrap_or_else(|| self.spare_key());
        for write in self.disk.plan(order, fresh) {
            if self.failing_writes > 0 {
                self.failing_writes -= 1;
                let reason = "no space left".to_owned();
                let jitter = Jitter::NONE;
                return Some(Input::Stored(Stored::Failed { order: order.kind(), jitter, reason }));
            }
            if self.crashes() {
                self.die();
                return None;
            }
            self.disk.write(write);
        }
        Some(Input::Stored(self.disk.done(order)))
    }

    /// Sixteen zero bytes in a row are not to be expected, and still no reason to stop.
    fn spare_key(&self) -> PublicKey {
        PublicKey::from_bytes([1; 32]).expect("it is not all zero")
    }

    fn call(&mut self, call: CallId, request: &Request, timeout: Duration) {
        let caller = Caller { life: self.life, call };
        let fate = self.faults.fate(&mut self.rng);
        self.open.insert(call);
        self.checks.sent(call, request);
        self.net.put(self.clock.mono().after(timeout), Message::TimedOut { caller });
        let bytes = codec::request_bytes(request);
        match fate.instead {
            Some(status) => {
                let bytes = codec::response_bytes(&Response::empty(status));
                self.send(fate.reply, |_| Message::Reply { caller, bytes: bytes.clone() });
            }
            None => self.send(fate.request, |fate| Message::Request {
                caller,
                bytes: bytes.clone(),
                fate,
            }),
        }
    }

    /// Puts a message on its way; a second arrival draws a fate of its own.
    fn send(&mut self, passage: Passage, message: impl Fn(Fate) -> Message) {
        let now = self.clock.mono();
        let arrivals = match passage {
            Passage::Lost => Vec::new(),
            Passage::After(delay) => vec![delay],
            Passage::Twice(first, second) => vec![first, second],
        };
        for delay in arrivals {
            let fate = self.faults.fate(&mut self.rng);
            self.net.put(now.after(delay), message(fate));
        }
    }

    fn run_action(&mut self, execution: ExecutionId) {
        self.summary.runs += 1;
        self.checks.began(&execution);
        let takes = Duration::from_secs(self.rng.below(90));
        self.runs.insert(execution, self.clock.mono().after(takes));
    }

    fn ask_plane(&mut self, request: Request) -> Response {
        let input = plane::Input::Requested {
            call: CallId::default(),
            listener: plane::Listener::Main,
            request,
            correlation: CorrelationId(u128::from(self.rng.next())),
        };
        let step =
            std::mem::take(&mut self.plane).step(&self.plane_settings, self.clock.plane(), input);
        self.plane = step.state;
        step.effects
            .into_iter()
            .map(|plane::Effect::Reply { response, .. }| response)
            .next()
            .unwrap_or_else(|| Response::empty(500))
    }

    fn post(&mut self, path: &str, body: String) {
        let response = self.ask_plane(operator(Method::Post, path, body));
        assert!(response.is_success(), "the operator's {path} is answered {}", response.status);
    }

    /// Reads a route of the operator's.
    pub fn read(&mut self, path: &str) -> String {
        let response = self.ask_plane(operator(Method::Get, path, String::new()));
        String::from_utf8_lossy(&response.body).into_owned()
    }

    /// Completed rotations and registration calls.
    fn counters(&mut self) -> (u64, u64) {
        let text = self.read("/test/assertions");
        let count = |name: &str| {
            let rest = text.split(&format!("\"{name}\":")).nth(1)?;
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        (
            count("key_rotate_count").unwrap_or_default(),
            count("registration_count").unwrap_or_default(),
        )
    }
}

fn operator(method: Method, path: &str, body: String) -> Request {
    Request {
        method,
        path: path.to_owned(),
        query: None,
        headers: Headers::new(),
        body: Body::Whole(body.into_bytes()),
    }
}

fn settings() -> Settings {
    Settings {
        purpose: Purpose::Run,
        max_retry_duration: Duration::from_secs(300),
        heartbeat_interval: Duration::from_secs(30),
        reconcile_interval: Duration::from_secs(60),
        request_timeout: Duration::from_secs(30),
        binary_checksum: Checksum::from_bytes([7; 32]),
        binary_version: "0.1.0".to_owned(),
        actions: ActionSettings {
            enabled: true,
            max_concurrent: 3,
            max_action_timeout: Duration::from_secs(600),
            max_output_bytes: 1 << 20,
            builtins: vec!["probe".to_owned()],
        },
    }
}

fn plane_settings() -> plane::Settings {
    plane::Settings {
        problem_base_url: "https://meshward.example/problems".to_owned(),
        header_prefix: "X-Service".to_owned(),
        signing_public_key: "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=".to_owned(),
        tls_certificate: String::new(),
        info: plane::Info::default(),
    }
}
