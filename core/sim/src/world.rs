//! Agents, one control plane, and everything between them; runs to the next thing that is due.

use std::{collections::BTreeMap, time::Duration};

use meshward_core::{
    agent::{Agent, Input, Settings},
    ids::CallId,
    plane::{self, Plane},
    time::Mono,
};

use crate::{
    checks::{Checks, Rest, Violation},
    clock::Clock,
    journal::{Entry, Journal},
    net::{Fate, Net},
    node::{Away, Node},
    rng::Rng,
    route::Route,
    script::{Bus, Change, Event, Faults, Flow, KeyFile, Script, Token},
    settings,
    signing::Keyring,
    streams::Lines,
};

/// How long an agent that has died or exited stays down.
const DOWN: Duration = Duration::from_secs(20);
/// How long the world goes on when all faults are over.
const AFTERMATH: u64 = 3600;
/// How long before its end sources fall silent. One that hangs is asked again with the next tick, a hundred seconds later
/// in some worlds, and may bring one record a request there.
const SILENCE: u64 = 1_800;
/// What happens in it, so that it is seen how fast it reaches the nodes.
const AFTERWARDS: [(u64, Afterwards); 10] = [
    (0, Afterwards::Bus(Bus::Restore)),
    (1215, Afterwards::Bus(Bus::Change)),
    (1230, Afterwards::Around(Change::Hook { name: 0, content: Some(90) })),
    (1815, Afterwards::Bus(Bus::Hush)),
    (1830, Afterwards::Around(Change::HostKey(KeyFile::Key(90)))),
    (1840, Afterwards::Around(Change::Move { place: 99, symmetric: false })),
    (2415, Afterwards::Bus(Bus::Change)),
    (2430, Afterwards::Around(Change::Hook { name: 1, content: None })),
    (2431, Afterwards::Around(Change::Hook { name: 2, content: Some(91) })),
    (2440, Afterwards::Around(Change::Program { content: 90, version: 9 })),
];
/// More steps than any run takes: a world that does not come to rest is at fault.
const STEPS_MAX: u64 = 400_000;

/// Something that happens when all faults are over.
#[derive(Clone, Copy, Debug)]
enum Afterwards {
    Bus(Bus),
    /// Around each of the nodes.
    Around(Change),
}

#[derive(Debug)]
pub struct World {
    pub(crate) script: Script,
    pub(crate) faults: Faults,
    /// For keys, jitter and how long runs take.
    pub(crate) rng: Rng,
    /// For the jitter of what streams tell.
    pub(crate) stirs: Rng,
    /// For what agents sense.
    pub(crate) senses: Rng,
    /// For what the sources of nodes tell.
    pub(crate) murmurs: Rng,
    /// They fall silent then.
    pub(crate) hushed_at: Option<Mono>,
    /// For what becomes of calls.
    pub(crate) fates: Rng,
    pub clock: Clock,
    /// Those of each agent.
    pub(crate) settings: Vec<Settings>,
    pub(crate) plane_settings: plane::Settings,
    pub plane: Plane,
    /// The keys that it signs events with.
    pub(crate) keyring: Keyring,
    /// The last call that the control plane was asked by.
    pub(crate) plane_call: CallId,
    /// The streams that it holds open.
    pub(crate) lines: Lines,
    /// How the streams came through, other than plainly.
    pub(crate) flowed: Vec<(u32, Flow)>,
    /// How often the desired state was changed for the sake of it.
    pub(crate) changes: u32,
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
    /// Records that the control plane took, each once.
    pub records: u64,
    /// Events of the script, and those among them that could not happen as it stood.
    pub events: u64,
    pub missed: u64,
    /// Clocks that were set or drifted, and processes that stood still.
    pub jumps: u64,
    pub suspends: u64,
    /// Streams of events that were opened, events that were signed, those that a full buffer missed, keys that sign
    /// replaced, bytes that were forged, and events that led an agent to something.
    pub streams: u64,
    pub signed: u64,
    pub dropped: u64,
    pub signers: u64,
    pub forged: u64,
    pub reactions: u64,
    pub virtual_time: Duration,
}

impl World {
    pub fn new(script: Script) -> Self {
        let keyring = Keyring::default();
        let born = Node { start_at: Some(Mono::default()), ..Node::default() };
        Self {
            faults: script.faults,
            rng: Rng::new(script.seed ^ 0x5eed),
            stirs: Rng::new(script.seed ^ 0x571e),
            senses: Rng::new(script.seed ^ 0x5e45),
            murmurs: Rng::new(script.seed ^ 0x70_9e),
            hushed_at: None,
            fates: Rng::new(script.seed ^ 0xfa7e),
            clock: Clock::default(),
            settings: vec![settings::agent(script.voice); script.nodes],
            plane_settings: settings::plane(keyring.public_text()),
            plane: Plane::default(),
            keyring,
            plane_call: CallId::default(),
            lines: Lines::default(),
            flowed: Vec::new(),
            changes: 0,
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
            checks: Checks::of(script.nodes, script.voice),
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
        for (after, afterwards) in AFTERWARDS {
            self.run_until(until + after)?;
            match afterwards {
                Afterwards::Bus(bus) => {
                    if after > 0 {
                        let rests = self.checks.quiet(&self.nodes);
                        self.logged(rests)?;
                    }
                    self.bus(bus);
                }
                Afterwards::Around(change) => {
                    (0..self.nodes.len()).for_each(|at| self.surround(at, change));
                }
            }
        }
        self.run_until(until + AFTERMATH)?;
        let statuses = self.statuses();
        let (statuses, lines) = (&statuses, &self.lines);
        let rest = Rest { nodes: &self.nodes, statuses, lines, now: self.clock.now() };
        let rested = self.checks.rested(&rest);
        self.logged(rested)?;
        self.summary.virtual_time = self.clock.mono().since_origin();
        self.summary.records = self.checks.records();
        self.summary.rotations = self.counter("key_rotate_count");
        self.summary.registrations = self.counter("registration_count");
        self.summary.reports = self.counter("report_put_count");
        self.summary.uploads = self.counter("execution_upload_count");
        Ok(())
    }

    /// The script with everything that was drawn put into words, so that it does the same again.
    pub fn record(&self) -> Script {
        let Script { seed, nodes, voice, ref events, .. } = self.script;
        Script {
            fates: self.met.clone(),
            flows: self.flowed.clone(),
            voice,
            events: events.clone(),
            ..Script::quiet(seed).nodes(nodes)
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
            if self.nodes[at].disk.is_damaged() {
                self.die(at);
            }
        }
        self.faults = Faults::default();
        self.blocked.clear();
        self.lines.heal();
        self.checks.healed(self.clock.mono());
        let silent = Duration::from_secs(AFTERMATH - SILENCE);
        self.hushed_at = Some(self.clock.mono().after(silent));
        for node in &mut self.nodes {
            let missed = u64::from(node.crash.is_some()) + u64::from(node.failing_writes > 0);
            self.summary.missed += missed;
            (node.failing_writes, node.crash) = (0, None);
            (node.token, node.revoked) = (Token::Good, false);
            let now = self.clock.mono();
            node.around.heal();
            node.clock.set_rate(now, 0);
            node.clock.set_ahead(now, 0);
            node.away = node.away.map(|away| Away { until: now, ..away });
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
        nodes.chain(self.net.due()).chain(event).chain(self.lines.due()).min()
    }

    /// Does the first thing that is due.
    fn advance(&mut self) {
        let now = self.clock.mono();
        if let Some((_, event)) = self.next_event().filter(|(at, _)| *at <= now) {
            self.next_event += 1;
            self.happen(event);
        } else if let Some(message) = self.net.take(now) {
            self.deliver(message);
        } else if let Some(line) = self.lines.first_due(now) {
            self.line_moves(line);
        } else if let Some(at) =
            self.nodes.iter().position(|node| node.due().is_some_and(|due| due <= now))
        {
            self.wake(at);
        }
    }

    fn wake(&mut self, at: usize) {
        let now = self.clock.mono();
        if self.nodes[at].away.is_some() {
            self.resume(at);
        } else if self.nodes[at].start_at.is_some_and(|start_at| start_at <= now) {
            self.start(at);
        } else if let Some(execution) = self.nodes[at].finished(now) {
            self.finish(at, execution);
        } else if let Some(session) = self.nodes[at].told(now) {
            self.listener_tells(at, session);
        } else if self.nodes[at].sensing.due().is_some_and(|due| due <= now) {
            self.sensed(at);
        } else if self.nodes[at].speaking.due().is_some_and(|due| due <= now) {
            self.spoken(at);
        } else {
            self.feed(at, Input::Ticked);
            let wakeup = self.nodes[at].agent.as_ref().and_then(Agent::wakeup);
            self.checks.ticked(at, wakeup, self.nodes[at].now(now));
        }
    }

    fn start(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.start_at = None;
        node.life += 1;
        node.abandoned.clear();
        node.agent = Some(Agent::default());
        node.disk.recover();
        let memory = node.disk.remember();
        let settings = &mut self.settings[at];
        settings.binary_checksum = node.around.image();
        settings.binary_version = node.around.version();
        self.checks.restored(&self.nodes[at].disk);
        self.checks.started(at, &self.nodes[at]);
        self.note(Entry::Started { node: at });
        self.feed(at, Input::Restarted(Box::new(memory)));
    }

    pub(crate) fn die(&mut self, at: usize) {
        self.checks.died(at, &self.nodes[at], &self.keyring);
        self.note(Entry::Died { node: at });
        let start_at = self.clock.mono().after(DOWN);
        self.hang_up_all(at);
        self.nodes[at].drop_orders(&mut self.murmurs);
        self.nodes[at].die(start_at);
    }
}
