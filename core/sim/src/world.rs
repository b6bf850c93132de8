//! Agents, one control plane, and everything between them; runs to the next thing that is due.

use std::{collections::BTreeMap, time::Duration};

use meshward_core::{
    agent::{Agent, Answer, Failure, Input, Settings},
    ids::CallId,
    plane::{self, Plane},
    time::Mono,
};

use crate::{
    checks::{Checks, Rest, Serving, Violation},
    clock::Clock,
    codec,
    journal::{Entry, Journal},
    net::{Caller, Fate, Message, Net, Passage},
    node::{Node, Place},
    rng::Rng,
    route::{Route, Said},
    script::{Event, Faults, Script, Token},
    settings,
};

/// How long an agent that has died or exited stays down.
const DOWN: Duration = Duration::from_secs(20);
/// How long the world goes on when all faults are over.
const AFTERMATH: u64 = 3600;
/// More steps than any run takes: a world that does not come to rest is at fault.
const STEPS_MAX: u64 = 200_000;

#[derive(Debug)]
pub struct World {
    pub(crate) script: Script,
    pub(crate) faults: Faults,
    /// For keys, jitter and how long runs take.
    pub(crate) rng: Rng,
    /// For what becomes of calls.
    pub(crate) fates: Rng,
    pub clock: Clock,
    pub(crate) settings: Settings,
    pub(crate) plane_settings: plane::Settings,
    pub(crate) plane_starts: u8,
    pub plane: Plane,
    pub nodes: Vec<Node>,
    pub(crate) net: Net,
    /// How many calls of each route there were.
    pub(crate) calls: BTreeMap<Route, u32>,
    /// The fates that calls met, other than plain ones.
    pub(crate) met: Vec<(Route, u32, Fate)>,
    /// The routes whose calls are answered in between, and how.
    pub(crate) blocked: BTreeMap<Route, u16>,
    /// The last question of a program on a node.
    pub(crate) last_asked: CallId,
    /// The operator's flag for a new key is set.
    pub(crate) asking: bool,
    pub(crate) entries: Vec<String>,
    /// The sessions on the desired state, by their names.
    pub(crate) sessions: BTreeMap<u32, String>,
    next_event: usize,
    pub checks: Checks,
    pub journal: Journal,
    pub summary: Summary,
}

/// What a run amounted to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub steps: u64,
    pub crashes: u64,
    pub runs: u64,
    pub sessions: u64,
    pub rotations: u64,
    pub registrations: u64,
    pub reports: u64,
    /// Outputs that the control plane took, since it started last.
    pub uploads: u64,
    /// Events of the script, and those among them that could not happen as it stood.
    pub events: u64,
    pub missed: u64,
    pub virtual_time: Duration,
}

impl World {
    pub fn new(script: Script) -> Self {
        let born = Node { start_at: Some(Mono::default()), ..Node::default() };
        Self {
            faults: script.faults,
            rng: Rng::new(script.seed ^ 0x5eed),
            fates: Rng::new(script.seed ^ 0xfa7e),
            clock: Clock::default(),
            settings: settings::agent(),
            plane_settings: settings::plane(1),
            plane_starts: 1,
            plane: Plane::default(),
            nodes: vec![born; script.nodes],
            net: Net::default(),
            calls: BTreeMap::new(),
            met: Vec::new(),
            blocked: BTreeMap::new(),
            last_asked: CallId::default(),
            asking: false,
            entries: Vec::new(),
            sessions: BTreeMap::new(),
            next_event: 0,
            checks: Checks::of(script.nodes),
            journal: Journal::default(),
            summary: Summary::default(),
            script,
        }
    }

    /// Runs the script, checking safety after each step, then the aftermath, checking that all comes to its end.
    pub fn run(mut self) -> Result<Summary, Violation> {
        self.finish_script()?;
        Ok(self.summary)
    }

    /// As [`World::run`], for those who look at the world afterwards.
    pub fn finish_script(&mut self) -> Result<(), Violation> {
        let until = self.script.faults_until();
        self.run_until(until)?;
        self.heal();
        self.run_until(until + AFTERMATH)?;
        let statuses = self.statuses();
        let rest = Rest { nodes: &self.nodes, statuses: &statuses, now: self.clock.now() };
        let rested = self.checks.rested(&rest);
        self.logged(rested)?;
        self.summary.virtual_time = self.clock.mono().since_origin();
        self.summary.rotations = self.counter("key_rotate_count");
        self.summary.registrations = self.counter("registration_count");
        self.summary.reports = self.counter("report_put_count");
        self.summary.uploads = self.counter("execution_upload_count");
        Ok(())
    }

    /// The script with everything that was drawn put into words, so that it does the same again.
    pub fn record(&self) -> Script {
        let Script { seed, nodes, ref events, .. } = self.script;
        Script {
            seed,
            nodes,
            faults: Faults::default(),
            fates: self.met.clone(),
            events: events.clone(),
        }
    }

    fn logged(&self, outcome: Result<(), Violation>) -> Result<(), Violation> {
        outcome.map_err(|violation| Violation {
            log: format!("{:?}\n\n{:?}", self.record(), self.journal),
            ..violation
        })
    }

    pub(crate) fn note(&mut self, entry: Entry) {
        self.journal.note(self.clock.mono(), entry);
    }

    /// Ends all faults; what was to go wrong and did not is counted. A damaged file is only met at a start.
    fn heal(&mut self) {
        for at in 0..self.nodes.len() {
            let disk = &self.nodes[at].disk;
            if disk.identity.is_some() && disk.identity().is_none() {
                self.die(at);
            }
        }
        self.faults = Faults::default();
        self.blocked.clear();
        self.checks.healed(self.clock.mono());
        for node in &mut self.nodes {
            let missed = u64::from(node.crash.is_some()) + u64::from(node.failing_writes > 0);
            self.summary.missed += missed;
            (node.failing_writes, node.crash, node.ahead) = (0, None, 0);
            (node.token, node.revoked) = (Token::Good, false);
        }
    }

    /// Goes on until this second.
    pub fn run_until(&mut self, second: u64) -> Result<(), Violation> {
        let end = Mono::from_origin(Duration::from_secs(second));
        while let Some(due) = self.due().filter(|due| *due <= end) {
            self.clock.jump_to(due);
            self.advance();
            self.summary.steps += 1;
            if self.summary.steps > STEPS_MAX {
                return self.logged(Err(Violation::of("the world comes to rest")));
            }
            let stood = self.checks.stand(&self.nodes, self.clock.mono());
            self.logged(stood)?;
        }
        self.clock.jump_to(end);
        Ok(())
    }

    fn next_event(&self) -> Option<(Mono, Event)> {
        let (second, event) = self.script.events.get(self.next_event)?;
        Some((Mono::from_origin(Duration::from_secs(*second)), *event))
    }

    /// The least of everything that is due.
    fn due(&self) -> Option<Mono> {
        let nodes = self.nodes.iter().filter_map(Node::due);
        let event = self.next_event().map(|(at, _)| at);
        nodes.chain(self.net.due()).chain(event).min()
    }

    /// Does the first thing that is due.
    fn advance(&mut self) {
        let now = self.clock.mono();
        if let Some((_, event)) = self.next_event().filter(|(at, _)| *at <= now) {
            self.next_event += 1;
            self.happen(event);
        } else if let Some(message) = self.net.take(now) {
            self.deliver(message);
        } else if let Some(at) =
            self.nodes.iter().position(|node| node.due().is_some_and(|due| due <= now))
        {
            self.wake(at);
        }
    }

    fn wake(&mut self, at: usize) {
        let now = self.clock.mono();
        if self.nodes[at].start_at.is_some_and(|start_at| start_at <= now) {
            self.start(at);
        } else if let Some(execution) = self.nodes[at].finished(now) {
            self.finish(at, execution);
        } else if let Some(session) = self.nodes[at].told(now) {
            self.listener_tells(at, session);
        } else {
            self.feed(at, Input::Ticked);
            self.checks.ticked(self.nodes[at].agent.as_ref().and_then(Agent::wakeup), now);
        }
    }

    fn happen(&mut self, event: Event) {
        self.note(Entry::Happened(event));
        self.summary.events += 1;
        let possible = match event {
            Event::AskRotation => {
                self.ask_rotation();
                true
            }
            Event::Block { route, status } => {
                self.blocked.insert(route, status);
                true
            }
            Event::Crash { node, spot } => self.nodes[node].crash.replace(spot).is_none(),
            Event::Damage { node } => self.damage(node),
            Event::DeleteReport { node, key } => self.report(node, key, None),
            Event::Dispatch { name, expires, known } => {
                self.dispatch(name, expires, known);
                true
            }
            Event::OpenSession { name, expires, idle } => {
                self.open_session(name, expires, idle);
                true
            }
            Event::EndSession { name } => self.end_session(name),
            Event::FailWrites { node, count } => {
                std::mem::replace(&mut self.nodes[node].failing_writes, count) == 0
            }
            Event::PutReport { node, key, value } => self.report(node, key, Some(value)),
            Event::RestartPlane => {
                self.restart_plane();
                true
            }
            Event::Revoke { node } => self.revoke(node),
            Event::PutToken { node, token } => {
                self.nodes[node].token = token;
                true
            }
            Event::SetClock { node, ahead } => {
                self.nodes[node].ahead = ahead;
                true
            }
            Event::Stop { node } => self.stop(node),
            Event::Unblock { route } => self.blocked.remove(&route).is_some(),
        };
        self.summary.missed += u64::from(!possible);
    }

    fn damage(&mut self, at: usize) -> bool {
        let identity = &mut self.nodes[at].disk.identity;
        let possible = identity.is_some();
        *identity = identity.take().map(|_| b"{\"node_id\":".to_vec());
        self.checks.damaged(at);
        possible
    }

    /// The operator of the control plane takes back what admits the node, until it registers afresh.
    fn revoke(&mut self, at: usize) -> bool {
        let possible =
            self.nodes[at].agent.as_ref().is_some_and(|agent| agent.identity().is_some());
        self.nodes[at].revoked |= possible;
        possible
    }

    fn stop(&mut self, at: usize) -> bool {
        let possible = self.nodes[at].agent.is_some();
        self.feed(at, Input::Draining);
        possible
    }

    fn start(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.start_at = None;
        node.life += 1;
        node.abandoned.clear();
        node.agent = Some(Agent::default());
        node.disk.recover();
        let memory = node.disk.remember();
        self.checks.restored(&self.nodes[at].disk);
        self.note(Entry::Started { node: at });
        self.feed(at, Input::Restarted(Box::new(memory)));
    }

    pub(crate) fn die(&mut self, at: usize) {
        self.checks.died(at);
        self.note(Entry::Died { node: at });
        let start_at = self.clock.mono().after(DOWN);
        self.nodes[at].die(start_at);
    }

    fn deliver(&mut self, message: Message) {
        match message {
            Message::Request { caller, bytes, reply } => self.serve(caller, &bytes, reply),
            Message::Reply { caller, bytes } => {
                let response = codec::response(&bytes).expect("the codec reads what it wrote");
                self.answer(caller, Answer::Responded(response));
            }
            Message::TimedOut { caller } => {
                self.answer(caller, Answer::Failed(Failure::TimedOut.into()))
            }
        }
    }

    /// A request reaches the control plane, perhaps when nobody waits for its answer any more.
    fn serve(&mut self, caller: Caller, bytes: &[u8], reply: Passage) {
        let request = codec::request(bytes).expect("the codec reads what it wrote");
        let said = Said::read(&request);
        let route = said.route();
        let rotates = route == Route::Rotate;
        let before = if rotates { self.counter("key_rotate_count") } else { 0 };
        let response = self.ask_plane(request);
        let completed = rotates && self.counter("key_rotate_count") != before;
        if route == Route::Register && response.status == 201 {
            self.nodes[caller.node].revoked = false;
        }
        let node = &self.nodes[caller.node];
        let now = self.clock.now();
        self.checks.served(&Serving {
            caller,
            said: &said,
            response: &response,
            completed,
            node,
            now,
        });
        self.note(Entry::Served { node: caller.node, route, status: response.status });
        if route == Route::Heartbeat && response.status == 200 {
            self.heartbeat_served();
        }
        for delay in reply.arrivals() {
            self.put(delay, Message::Reply { caller, bytes: codec::response_bytes(&response) });
        }
    }

    /// An answer arrives, if its caller still waits for one.
    fn answer(&mut self, caller: Caller, answer: Answer) {
        let node = &mut self.nodes[caller.node];
        if caller.life != node.life {
            return;
        }
        let Some(said) = node.open.remove(&caller.call) else { return };
        let status = match &answer {
            Answer::Responded(response) => response.status,
            Answer::Failed(_) => 0,
        };
        self.note(Entry::Heard { node: caller.node, route: said.route(), status });
        if self.crashes(caller.node, Place::Heard(said.route())) {
            return;
        }
        let now = self.clock.mono();
        self.checks.heard(caller, &said, status, now);
        let jitter = self.jitter();
        self.feed(caller.node, Input::Answered { call: caller.call, answer, jitter });
    }
}
