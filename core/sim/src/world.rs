//! One agent, one control plane, and everything between them; runs to the next thing that is due.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use meshward_core::{
    agent::{Agent, Answer, Captured, Cause, Ending, Failure, Input, Settings},
    backoff::Jitter,
    ids::{CallId, ExecutionId},
    plane::{self, Plane},
    time::Mono,
};

use crate::{
    checks::{Checks, Violation},
    clock::Clock,
    codec,
    disk::Disk,
    net::{Caller, Fate, Message, Net},
    rng::Rng,
    script::{Event, FAULTS_FOR, Faults, Script},
    settings,
};

/// How long an agent that has died or exited stays down.
const DOWN: Duration = Duration::from_secs(20);
/// How long the world goes on when all faults are over.
const AFTERMATH: Duration = Duration::from_secs(3600);
/// More steps than any run takes: a world that does not come to rest is at fault.
const STEPS_MAX: u64 = 2_000_000;

#[derive(Debug)]
pub struct World {
    pub(crate) script: Script,
    pub(crate) faults: Faults,
    pub(crate) rng: Rng,
    pub clock: Clock,
    pub(crate) settings: Settings,
    pub(crate) plane_settings: plane::Settings,
    pub plane: Plane,
    pub(crate) agent: Option<Agent>,
    pub(crate) life: u32,
    /// When an agent that is down starts again.
    pub(crate) start_at: Option<Mono>,
    pub disk: Disk,
    pub(crate) net: Net,
    /// Calls of this life that are not answered yet.
    pub(crate) open: BTreeSet<CallId>,
    pub(crate) runs: BTreeMap<ExecutionId, Mono>,
    pub(crate) cancelled: BTreeSet<ExecutionId>,
    pub(crate) crash_behind: Option<u32>,
    pub(crate) failing_writes: u32,
    /// The operator's flag for a new key is set.
    pub(crate) asking: bool,
    pub(crate) entries: Vec<String>,
    pub(crate) next_event: usize,
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
            settings: settings::agent(),
            plane_settings: settings::plane(),
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

    pub(crate) fn start(&mut self) {
        self.start_at = None;
        self.life += 1;
        self.agent = Some(Agent::default());
        let memory = self.disk.remember();
        self.feed(Input::Restarted(Box::new(memory)));
    }

    pub(crate) fn die(&mut self) {
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
}
