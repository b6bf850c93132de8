//! The dispatch of two executions with the table of a control plane, a network between them and a process that dies:
//! promises P4, P5 and P6 in every state of it.
//!
//! Made finite by bounds that are named, and by a clock that moves with the pulls alone: a tick comes two seconds later
//! (what rests is tried again) or six (a stop has no time left), and leaves no trace of when it came.

use std::{sync::LazyLock, time::Duration};

use meshward_core::{
    agent::{
        ActionSettings, Captured, Cause, Ending,
        execution::{Dispatch, Effect, Input, Kit},
        hooks::Hooks,
        verdict::Called,
    },
    ids::ExecutionId,
    plane::execution::{self as plane, Progress},
    secret::Secret,
    time::{Mono, Now, Wall},
    wire::{
        execution::{Callback, Execution, INLINE_OUTPUT_MAX, Status},
        grammar::Name,
        timestamp::{Spelled, Timestamp},
        upload_url::Origin,
    },
};

use crate::search::{Extent, World, explore};

const IDS: [&str; 2] = ["a", "b"];
/// How often the desired state is read.
const PULLS_MAX: u64 = 3;
/// How often the process dies.
const CRASHES_MAX: u8 = 2;
/// How many calls and uploads go wrong: one here, two in the wide search of the nightly run.
const FAULTS_MAX: u8 = 1;
const FAULTS_MAX_WIDE: u8 = 2;
/// The rounds of everything going well within which every execution ends.
const ROUNDS_MAX: usize = 8;

/// The calls of one execution in a row that a round answers.
const LEGS_MAX: usize = 5;

/// How many states there are; another number means that something has changed, and is to be looked at.
const STATES: usize = 250_281;

#[derive(Clone, Debug, Hash)]
struct Both {
    faults_max: u8,
    dispatch: Option<Dispatch>,
    /// What was read of the control plane and has not come yet, and when it was asked for.
    snapshot: Option<(Mono, Vec<Execution>)>,
    each: [One; 2],
    pulls: u64,
    crashes: u8,
    faults: u8,
    draining: bool,
    fault: Option<&'static str>,
}

/// One execution, at both ends and between them.
#[derive(Clone, Debug, Default, Hash)]
struct One {
    progress: Progress,
    /// Its output has reached the store.
    stored: bool,
    call: Option<Callback>,
    /// A call that was given up and may still arrive.
    late: Option<Callback>,
    uploading: bool,
    running: bool,
    /// How often it began to run, in all lives.
    ran: u8,
    /// Since the process began: `started` was heard to be accepted; nothing more is to be said.
    claimed: bool,
    over: bool,
    /// A call or a pull about it went wrong, or came late, or its process died.
    disturbed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// The desired state is read and comes at once.
    Pull,
    /// It is read, and comes later.
    Read,
    Arrive,
    Answer(usize),
    /// The call never arrives, or arrives when nobody waits for its answer any more.
    Lose(usize),
    /// The call arrives and its answer does not.
    LoseAnswer(usize),
    /// Something on the way finds it unacceptable.
    Reject(usize),
    ArriveLate(usize),
    FinishShort(usize),
    FinishLong(usize),
    Upload(usize),
    LoseUpload(usize),
    LoseUploaded(usize),
    Tick,
    TickLate,
    Drain,
    Crash,
    Restart,
}

static HOOKS: LazyLock<Hooks> = LazyLock::new(Hooks::default);

static SETTINGS: LazyLock<ActionSettings> = LazyLock::new(|| ActionSettings {
    enabled: true,
    max_concurrent: 2,
    max_action_timeout: Duration::from_secs(600),
    max_output_bytes: 1 << 20,
    builtins: vec!["act".into()],
    hooks: false,
    origin: Origin { is_encrypted: true, host: "plane".into() },
});

fn wall() -> Wall {
    Wall::from_origin(Duration::from_secs(1_800_000_000))
}

/// Whether it names output that was uploaded.
fn refers(callback: &Callback) -> bool {
    callback.output.as_ref().is_some_and(|output| !output.object_key.is_empty())
}

fn id(at: usize) -> ExecutionId {
    ExecutionId(IDS[at].to_owned())
}

impl Both {
    fn new(faults_max: u8) -> Self {
        Self {
            faults_max,
            dispatch: Some(Dispatch::default()),
            snapshot: None,
            each: [One::default(), One::default()],
            pulls: 0,
            crashes: 0,
            faults: 0,
            draining: false,
            fault: None,
        }
    }

    /// The narrow search gives one execution a long output and the other none.
    const fn is_wide(&self) -> bool {
        self.faults_max == FAULTS_MAX_WIDE
    }

    /// Behind every pull that was asked for.
    fn now(&self) -> Now {
        let mono = Mono::from_origin(
            Duration::from_secs(1000) + Duration::from_millis(2 * self.pulls + 1),
        );
        Now { mono, wall: wall() }
    }

    fn listed(&self) -> Vec<Execution> {
        let open = |at: &usize| !self.each[*at].progress.0.is_some_and(Status::is_terminal);
        let entry = |at: usize| Execution {
            execution_id: Name(IDS[at].to_owned()),
            action: Name("act".to_owned()),
            kind: "builtin".to_owned(),
            status: self.each[at].progress.0.map_or("pending", Status::as_str).to_owned(),
            expires_at: Some(Spelled::from(Timestamp::from(
                wall().after(Duration::from_secs(3600)),
            ))),
            ..Execution::default()
        };
        (0..IDS.len()).filter(open).map(entry).collect()
    }

    fn read(&mut self) {
        self.pulls += 1;
        let asked =
            Mono::from_origin(Duration::from_secs(1000) + Duration::from_millis(2 * self.pulls));
        self.snapshot = Some((asked, self.listed()));
    }

    fn arrive(&mut self) {
        if let Some((asked, entries)) = self.snapshot.take() {
            self.give(self.now(), Input::Pulled { asked, entries, unread: [].into() });
        }
    }

    fn give(&mut self, now: Now, input: Input) {
        let Some(dispatch) = self.dispatch.take() else { return };
        let kit = Kit { settings: &SETTINGS, hooks: &HOOKS, node: "n" };
        let step = dispatch.step(kit, now, input);
        self.dispatch = Some(step.state);
        for effect in step.effects {
            match effect {
                Effect::Post { execution, callback, .. } => self.post(&execution, callback),
                Effect::Run { execution, .. } => self.begin(&execution),
                Effect::Upload { execution, .. } => self.one(&execution).uploading = true,
                Effect::Cancel(_) | Effect::Tell(_) => {}
            }
        }
        // The next call of a run that was stopped, or its report that was given up, has nobody to hear its answer.
        let idle = self.dispatch.as_ref().is_some_and(Dispatch::is_idle);
        if self.draining && idle {
            for one in &mut self.each {
                one.late = one.call.take().or_else(|| one.late.take());
                one.uploading = false;
            }
        }
    }

    fn one(&mut self, execution: &ExecutionId) -> &mut One {
        let at = IDS.iter().position(|id| *id == execution.0).expect("a known id");
        &mut self.each[at]
    }

    fn post(&mut self, execution: &ExecutionId, callback: Callback) {
        let one = self.one(execution);
        let fault = if one.over {
            Some("a settled execution is reported again")
        } else if one.call.is_some() {
            Some("two calls of one execution are under way")
        } else if callback.declared_output_bytes.is_some() && !one.claimed {
            Some("output is announced of what was not claimed")
        } else {
            None
        };
        one.call = Some(callback);
        self.fault = self.fault.or(fault);
    }

    fn begin(&mut self, execution: &ExecutionId) {
        let draining = self.draining;
        let one = self.one(execution);
        (one.running, one.ran) = (true, one.ran + 1);
        let fault = match (one.ran, one.claimed, draining) {
            (2.., _, _) => Some("an execution runs twice"),
            (_, false, _) => Some("an execution runs unclaimed"),
            (_, _, true) => Some("an execution begins while the process stops"),
            (_, true, false) => None,
        };
        self.fault = self.fault.or(fault);
    }

    /// What the control plane makes of a call: its own table decides.
    fn judge(&mut self, at: usize, callback: &Callback) -> Called {
        let status = callback.status;
        let declares = callback.declared_output_bytes.is_some();
        let step =
            self.each[at].progress.step(self.now(), plane::Input::Reported { status, declares });
        let one = &mut self.each[at];
        if refers(callback) && !one.stored {
            return Called::Unacceptable { inline_too_large: false, reason: String::new() };
        }
        one.progress = step.state;
        match step.effects.as_slice() {
            [plane::Effect::Accept(_)] => Called::Accepted,
            [plane::Effect::AcceptAndMint(_)] => {
                Called::Invited(Secret::new(format!("https://store/exec-output/{}", IDS[at])))
            }
            _ => Called::Refused(String::new()),
        }
    }

    fn answer(&mut self, at: usize, verdict: impl FnOnce(&mut Self, &Callback) -> Called) {
        let Some(callback) = self.each[at].call.take() else { return };
        let verdict = verdict(self, &callback);
        let one = &mut self.each[at];
        let is_terminal = callback.status.is_terminal();
        let fault = match &verdict {
            Called::Accepted | Called::Invited(_) => {
                one.claimed |= callback.status == Status::Started;
                one.over |= is_terminal;
                None
            }
            Called::Refused(_) => {
                one.over = true;
                (!one.disturbed).then_some("a callback is sent that the table refuses")
            }
            // What of a report is not acceptable and cannot be made lighter is delivered, as badly as it was.
            Called::Unacceptable { .. } => {
                one.over |= is_terminal && !refers(&callback);
                None
            }
            Called::Failed(_) => None,
        };
        self.fault = self.fault.or(fault);
        let status = callback.status;
        self.give(self.now(), Input::Answered { execution: id(at), status, verdict });
    }

    fn finish(&mut self, at: usize, length: usize) {
        self.each[at].running = false;
        let stdout = Captured { bytes: vec![b'x'; length], cut: false };
        let ending = Ending { cause: Cause::Exited(0), stdout, stderr: Captured::default() };
        self.give(self.now(), Input::Finished { execution: id(at), ending });
    }

    fn uploaded(&mut self, at: usize, stored: bool, outcome: Result<(), String>) {
        let one = &mut self.each[at];
        one.uploading = false;
        one.stored |= stored;
        self.give(self.now(), Input::Uploaded { execution: id(at), outcome });
    }

    fn tick(&mut self, seconds: u64) {
        self.give(self.now().after(Duration::from_secs(seconds)), Input::Ticked);
    }

    fn crash(&mut self) {
        self.dispatch = None;
        self.snapshot = None;
        for one in &mut self.each {
            one.late = one.call.take().or_else(|| one.late.take());
            one.disturbed |= one.progress.0.is_some() || one.late.is_some();
            (one.uploading, one.running, one.claimed, one.over) = (false, false, false, false);
        }
    }

    fn restart(&mut self) {
        self.dispatch = Some(Dispatch::default());
        self.draining = false;
    }

    fn is_possible(&self, act: Act) -> bool {
        let alive = self.dispatch.is_some();
        let can_fail = self.faults < self.faults_max;
        let stopped = self.draining && self.dispatch.as_ref().is_some_and(Dispatch::is_idle);
        match act {
            Act::Pull | Act::Read => {
                alive && !self.draining && self.pulls < PULLS_MAX && self.snapshot.is_none()
            }
            Act::Arrive => alive && !self.draining && self.snapshot.is_some(),
            Act::Answer(at) => alive && self.each[at].call.is_some(),
            Act::Lose(at) | Act::LoseAnswer(at) | Act::Reject(at) => {
                alive && can_fail && self.each[at].call.is_some()
            }
            Act::ArriveLate(at) => self.each[at].late.is_some(),
            Act::FinishShort(at) | Act::FinishLong(at) => {
                let is_long = act == Act::FinishLong(at);
                alive && self.each[at].running && (self.is_wide() || is_long == (at == 0))
            }
            Act::Upload(at) => alive && self.each[at].uploading,
            Act::LoseUpload(at) | Act::LoseUploaded(at) => {
                alive && can_fail && self.each[at].uploading
            }
            Act::Tick => self.dispatch.as_ref().is_some_and(|dispatch| dispatch.wakeup().is_some()),
            Act::TickLate => alive && self.draining && !stopped,
            Act::Drain => alive && !self.draining,
            Act::Crash => alive && self.crashes < CRASHES_MAX,
            Act::Restart => !alive || stopped,
        }
    }

    fn act(&mut self, act: Act) {
        let fails = Self::failing(act);
        self.faults += u8::from(fails.is_some());
        if let Some(at) = fails.flatten() {
            self.each[at].disturbed = true;
        }
        if act == Act::Read {
            self.each.iter_mut().for_each(|one| one.disturbed = true);
        }
        match act {
            Act::Pull => {
                self.read();
                self.arrive();
            }
            Act::Read => self.read(),
            Act::Arrive => self.arrive(),
            Act::Answer(at) => self.answer(at, |both, callback| both.judge(at, callback)),
            Act::Lose(at) => self.answer(at, |both, callback| {
                both.each[at].late = Some(callback.clone());
                Called::Failed(String::new())
            }),
            Act::LoseAnswer(at) => self.answer(at, |both, callback| {
                both.judge(at, callback);
                Called::Failed(String::new())
            }),
            Act::Reject(at) => self.answer(at, |_, _| Called::Unacceptable {
                inline_too_large: false,
                reason: String::new(),
            }),
            Act::ArriveLate(at) => {
                if let Some(callback) = self.each[at].late.take() {
                    self.each[at].disturbed = true;
                    self.judge(at, &callback);
                }
            }
            Act::FinishShort(at) => self.finish(at, 0),
            Act::FinishLong(at) => self.finish(at, INLINE_OUTPUT_MAX + 1),
            Act::Upload(at) => self.uploaded(at, true, Ok(())),
            Act::LoseUpload(at) => self.uploaded(at, false, Err(String::new())),
            Act::LoseUploaded(at) => self.uploaded(at, true, Err(String::new())),
            Act::Tick => self.tick(2),
            Act::TickLate => self.tick(6),
            Act::Drain => {
                self.draining = true;
                self.give(self.now(), Input::Draining);
            }
            Act::Crash => {
                self.crashes += 1;
                self.crash();
            }
            Act::Restart => {
                self.crash();
                self.restart();
            }
        }
    }

    /// Whether an act is a fault, and of which execution both ends may think differently behind it.
    const fn failing(act: Act) -> Option<Option<usize>> {
        match act {
            Act::Lose(at) | Act::LoseAnswer(at) | Act::Reject(at) => Some(Some(at)),
            Act::LoseUpload(_) | Act::LoseUploaded(_) => Some(None),
            Act::Pull
            | Act::Read
            | Act::Arrive
            | Act::Answer(_)
            | Act::ArriveLate(_)
            | Act::FinishShort(_)
            | Act::FinishLong(_)
            | Act::Upload(_)
            | Act::Tick
            | Act::TickLate
            | Act::Drain
            | Act::Crash
            | Act::Restart => None,
        }
    }

    fn acted(&self, act: Act) -> Self {
        let mut next = self.clone();
        next.act(act);
        next
    }

    /// Whether every execution comes to its end once all goes well, or was given over to the control plane.
    fn ends(&self) -> bool {
        let mut both = self.clone();
        if both.dispatch.is_none() || both.draining {
            both.crash();
            both.restart();
        }
        for _ in 0..ROUNDS_MAX {
            if both.has_ended() {
                return true;
            }
            both.snapshot = None;
            both.read();
            both.arrive();
            for _ in 0..LEGS_MAX {
                for at in 0..IDS.len() {
                    for act in [
                        Act::FinishLong(at),
                        Act::FinishShort(at),
                        Act::Answer(at),
                        Act::Upload(at),
                    ] {
                        if both.is_possible(act) {
                            both.act(act);
                        }
                    }
                }
            }
            if both.is_possible(Act::Tick) {
                both.act(Act::Tick);
            }
        }
        both.has_ended()
    }

    fn has_ended(&self) -> bool {
        let ended = |one: &One| one.over || one.progress.0.is_some_and(Status::is_terminal);
        self.fault.is_none() && self.each.iter().all(ended)
    }
}

impl World for Both {
    type Act = Act;

    fn nexts(&self) -> Vec<(Act, Self)> {
        let whole = [Act::Pull, Act::Read, Act::Arrive, Act::Tick, Act::TickLate];
        let life = [Act::Drain, Act::Crash, Act::Restart];
        let each = (0..IDS.len()).flat_map(|at| {
            [
                Act::Answer(at),
                Act::Lose(at),
                Act::LoseAnswer(at),
                Act::Reject(at),
                Act::ArriveLate(at),
                Act::FinishShort(at),
                Act::FinishLong(at),
                Act::Upload(at),
                Act::LoseUpload(at),
                Act::LoseUploaded(at),
            ]
        });
        let acts = whole.into_iter().chain(life).chain(each);
        acts.filter(|act| self.is_possible(*act)).map(|act| (act, self.acted(act))).collect()
    }

    fn fault(&self) -> Option<&'static str> {
        let ends = || (!self.ends()).then_some("an execution comes to no end");
        self.fault.or_else(ends)
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are read by a person")]
fn no_state_of_the_dispatch_runs_twice_or_reports_again_or_leaves_an_execution_without_end() {
    let wide = std::env::var_os("MESHWARD_EXPLORE").is_some_and(|extent| extent == "wide");
    let faults = if wide { FAULTS_MAX_WIDE } else { FAULTS_MAX };
    let Extent { states, edges } = explore(Both::new(faults));
    eprintln!("{states} states, {edges} edges");
    match wide {
        true => assert!(states > STATES, "{states} states, no more than in the narrow search"),
        false => {
            assert!(states.abs_diff(STATES) * 10 <= STATES, "{states} states instead of {STATES}");
        }
    }
}
