//! Runs that co-located programs order: a few at once, each for as long as its asker waits and no longer than any action
//! may take.
//!
//! | State of a run | Input | Then |
//! |---|---|---|
//! | none | ordered, unknown action | answered as an error |
//! | none | ordered, room | begun |
//! | none | ordered, no room | refused |
//! | running | finished | answered |
//! | running | its asker left | cancelled; it keeps its place until it has ended |
//! | running | draining | cancelled; nothing more is ordered then |
//! | running | quieted | answered as an error |
//!
//! They are not held back by `actions.enabled`, and do not count among the executions of the control plane.
//!
//! Specification: "Local HTTP API"; `gaps-agent.md` section 1.1; `decisions.md` section 8 (`POST /v1/actions/run`).

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::{fmt::Write as _, mem};

use super::{
    builtins::{self, Parameters},
    execution::TRUNCATED,
    facts::{ActionSettings, Captured, Cause, Ending, Program, Run},
    hooks::Refused,
    notice::Notice,
};
use crate::{ids::CallId, step::Step, wire::action::RunResult};

/// How many runs are under way at once.
pub const LOCAL_RUNS_MAX: usize = 8;

/// How many bytes of each stream an answer holds, where `actions.max_output_bytes` is not less: its JSON may be six
/// times as long.
pub const LOCAL_OUTPUT_MAX: usize = 2 << 20;

/// What the asker is told whose run the end of the agent has overtaken.
const STOPPED: &str = "the agent stopped before the run had ended";

/// The runs under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalRuns {
    running: BTreeMap<CallId, Running>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Running {
    user: u32,
    action: String,
    /// Whether anybody waits for it.
    is_awaited: bool,
}

/// What a program orders.
#[derive(Clone, PartialEq, Eq)]
pub struct Order {
    pub user: u32,
    pub action: String,
    pub parameters: Parameters,
}

/// Without the values of the parameters.
impl core::fmt::Debug for Order {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names = self.parameters.keys().collect::<Vec<_>>();
        write!(f, "Order({:?} of user {}, {names:?})", self.action, self.user)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Ordered {
        asker: CallId,
        order: Order,
    },
    Finished {
        asker: CallId,
        ending: Ending,
    },
    /// An asker has gone; it may be one of another route.
    Left(CallId),
    Draining,
    /// The process ends.
    Quieted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Run {
        asker: CallId,
        run: Run,
    },
    Cancel(CallId),
    Answer {
        asker: CallId,
        result: RunResult,
    },
    /// There is no room for it.
    Refuse(CallId),
    Tell(Notice),
}

impl LocalRuns {
    /// Moves on one input.
    pub fn step(self, settings: &ActionSettings, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Ordered { asker, order } => self.ordered(settings, asker, order),
            Input::Finished { asker, ending } => self.finished(asker, ending),
            Input::Left(asker) => self.left(asker),
            Input::Draining => self.drain(),
            Input::Quieted => self.quieted(),
        }
    }

    /// How many runs are under way.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Whose run this is, and of which action.
    pub fn order(&self, asker: CallId) -> Option<(u32, &str)> {
        self.running.get(&asker).map(|run| (run.user, run.action.as_str()))
    }

    fn ordered(
        mut self,
        settings: &ActionSettings,
        asker: CallId,
        order: Order,
    ) -> Step<Self, Effect> {
        if !settings.builtins.contains(&order.action) {
            let result = error(String::new(), &builtins::unknown(&order.action));
            return Step::to(self)
                .emit(Effect::Tell(told(&order, "is not run: it is no built-in action")))
                .emit(Effect::Answer { asker, result });
        }
        if self.running.len() >= LOCAL_RUNS_MAX {
            return Step::to(self)
                .emit(Effect::Tell(told(&order, "is not run: too many runs are under way")))
                .emit(Effect::Refuse(asker));
        }
        let begun = told(&order, &format!("runs for a local program, with {}", names(&order)));
        let Order { user, action, parameters } = order;
        let run = Run {
            program: Program::Builtin { name: action.clone(), parameters },
            deadline: settings.max_action_timeout,
            max_output_bytes: settings.max_output_bytes.min(LOCAL_OUTPUT_MAX),
        };
        self.running.insert(asker, Running { user, action, is_awaited: true });
        Step::to(self).emit(Effect::Tell(begun)).emit(Effect::Run { asker, run })
    }

    fn finished(mut self, asker: CallId, ending: Ending) -> Step<Self, Effect> {
        let Some(run) = self.running.remove(&asker) else { return Step::to(self) };
        let result = result(ending);
        let end = Effect::Tell(Notice::info(format!(
            "{:?}, ordered locally by user {}, ended: {}, exit code {}",
            run.action, run.user, result.status, result.exit_code
        )));
        let answer = run.is_awaited.then_some(Effect::Answer { asker, result });
        Step::to(self).emit(end).emit_all(answer)
    }

    fn left(mut self, asker: CallId) -> Step<Self, Effect> {
        let Some(run) = self.running.get_mut(&asker) else { return Step::to(self) };
        run.is_awaited = false;
        let notice = Notice::info(format!(
            "{:?} is cancelled: user {}, who ordered it locally, does not wait for it",
            run.action, run.user
        ));
        Step::to(self).emit(Effect::Tell(notice)).emit(Effect::Cancel(asker))
    }

    fn drain(self) -> Step<Self, Effect> {
        let cancels: Vec<_> = self.running.keys().map(|asker| Effect::Cancel(*asker)).collect();
        Step::to(self).emit_all(cancels)
    }

    fn quieted(mut self) -> Step<Self, Effect> {
        let running = mem::take(&mut self.running).into_iter().filter(|(_, run)| run.is_awaited);
        let answers: Vec<_> = running
            .map(|(asker, _)| Effect::Answer { asker, result: error(String::new(), STOPPED) })
            .collect();
        Step::to(self).emit_all(answers)
    }
}

/// A line about an order, with its user.
fn told(order: &Order, what: &str) -> Notice {
    Notice::info(format!("{:?}, ordered locally by user {}, {what}", order.action, order.user))
}

/// The names of the parameters; what they are set to may be nobody's business.
fn names(order: &Order) -> String {
    let mut text = String::new();
    for name in order.parameters.keys() {
        let comma = if text.is_empty() { "the parameters " } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{name:?}");
    }
    if text.is_empty() { "no parameters".into() } else { text }
}

/// What the asker is told of an end.
fn result(ending: Ending) -> RunResult {
    let (stdout, stderr) = (text(ending.stdout), text(ending.stderr));
    let ended = |status: &str, exit_code: i32| RunResult {
        status: status.into(),
        exit_code: i64::from(exit_code),
        stdout: stdout.clone(),
        stderr: stderr.clone(),
    };
    match ending.cause {
        Cause::Exited(0) => ended("success", 0),
        Cause::Exited(code) => ended("failed", code),
        Cause::Signalled(signal) => ended("failed", signal.saturating_add(128)),
        Cause::TimedOut => RunResult { stdout, ..error(stderr, "action timed out") },
        Cause::Cancelled => RunResult { stdout, ..error(stderr, "the run was cancelled") },
        Cause::Broken(reason) => RunResult { stdout, ..error(stderr, &reason) },
        Cause::Changed { hook, observed } => {
            RunResult { stdout, ..error(stderr, &Refused::Changed { hook, observed }.to_string()) }
        }
    }
}

/// A run that the agent could not bring to an end of its own.
fn error(mut stderr: String, text: &str) -> RunResult {
    if !stderr.is_empty() && !stderr.ends_with('\n') {
        stderr.push('\n');
    }
    stderr.push_str(text);
    RunResult { status: "error".into(), exit_code: 1, stdout: String::new(), stderr }
}

/// A stream as text, with a mark where more came.
fn text(stream: Captured) -> String {
    let mut bytes = stream.bytes;
    if stream.cut {
        bytes.extend_from_slice(TRUNCATED);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
