//! The actions: each run ends by its deadline, whatever it waits for, and a panic ends nothing but the run.
//!
//! Specification: "Built-in actions" and "Dispatch of pulled executions".

pub(crate) mod bounded;
mod cgroup;
mod diagnostics;
mod hook;
mod host;
mod kept;
pub mod supervise;
pub mod supervisor;
pub mod tool;

use std::any::Any;

use meshward_core::agent::{Captured, Cause, Ending, Program, Run};
use tokio::{sync::oneshot, task::JoinError};

use crate::hooks::HooksDir;

const COLLECT: &str = "diagnostics.collect";

/// The names of the built-in actions.
pub const BUILTINS: [&str; 1] = [COLLECT];

/// Runs an action until it ends, its deadline passes, or `cancelled` is sent or dropped.
pub async fn run(run: Run, hooks: HooksDir, cancelled: oneshot::Receiver<()>) -> Ending {
    let limit = run.max_output_bytes;
    let deadline = run.deadline;
    let (name, parameters) = match run.program {
        Program::Builtin { name, parameters } => (name, parameters),
        Program::Hook { name, digest, environment } => {
            let environment = environment.into_iter();
            let environment =
                environment.map(|(name, value)| (name.into(), value.into())).collect();
            let hook = hook::Hook { name, digest, environment, deadline, max_output_bytes: limit };
            return hook::run(hook, hooks, cancelled).await;
        }
    };
    let mut work = match name.as_str() {
        COLLECT => tokio::spawn(diagnostics::collect(parameters)),
        name => return without_output(Cause::Broken(format!("unknown builtin action: {name}"))),
    };
    let ending = tokio::select! {
        biased;
        done = &mut work => match done {
            Ok(text) => Ending {
                cause: Cause::Exited(0),
                stdout: captured(text, limit),
                stderr: Captured::default(),
            },
            Err(error) => without_output(Cause::Broken(broken(error))),
        },
        _ = cancelled => without_output(Cause::Cancelled),
        () = tokio::time::sleep(deadline) => without_output(Cause::TimedOut),
    };
    work.abort();
    ending
}

fn without_output(cause: Cause) -> Ending {
    Ending { cause, stdout: Captured::default(), stderr: Captured::default() }
}

fn captured(mut bytes: Vec<u8>, limit: usize) -> Captured {
    let cut = bytes.len() > limit;
    bytes.truncate(limit);
    Captured { bytes, cut }
}

fn broken(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(payload) => format!("panic: {}", panic_text(payload.as_ref())),
        Err(_) => "the run was dropped before its end".to_owned(),
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a text")
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::Path, time::Duration};

    use meshward_core::agent::{Captured, Cause, Program, Run};
    use tokio::sync::oneshot;

    use super::{BUILTINS, HooksDir, captured, run};

    fn order(action: &str, deadline: Duration) -> Run {
        let max_output_bytes = 1 << 20;
        let program = Program::Builtin { name: action.into(), parameters: BTreeMap::new() };
        Run { program, deadline, max_output_bytes }
    }

    fn no_hooks() -> HooksDir {
        HooksDir::new(Path::new("/nowhere"))
    }

    #[tokio::test]
    async fn every_built_in_action_ends_well() {
        for name in BUILTINS {
            let (_stop, cancel) = oneshot::channel();
            let ending = run(order(name, Duration::from_secs(60)), no_hooks(), cancel).await;
            assert_eq!(ending.cause, Cause::Exited(0));
            assert!(!ending.stdout.bytes.is_empty() && !ending.stdout.cut);
        }
    }

    #[tokio::test]
    async fn an_unknown_action_is_broken_and_named() {
        let (_stop, cancel) = oneshot::channel();
        let ending = run(order("x.y", Duration::from_secs(60)), no_hooks(), cancel).await;
        assert_eq!(ending.cause, Cause::Broken("unknown builtin action: x.y".into()));
    }

    #[tokio::test]
    async fn a_run_ends_at_its_deadline_and_when_it_is_cancelled() {
        let (_stop, cancel) = oneshot::channel();
        let ending = run(order(BUILTINS[0], Duration::ZERO), no_hooks(), cancel).await;
        assert_eq!(ending.cause, Cause::TimedOut);
        let (stop, cancel) = oneshot::channel();
        stop.send(()).unwrap();
        let ending = run(order(BUILTINS[0], Duration::from_secs(60)), no_hooks(), cancel).await;
        assert_eq!(ending.cause, Cause::Cancelled);
    }

    #[tokio::test]
    async fn a_panic_is_told_as_the_cause() {
        let literal = tokio::spawn(async { panic!("literal") }).await;
        assert_eq!(super::broken(literal.unwrap_err()), "panic: literal");
        let number = tokio::spawn(async { panic!("number {}", 7) }).await;
        assert_eq!(super::broken(number.unwrap_err()), "panic: number 7");
    }

    #[test]
    fn output_is_kept_up_to_the_limit_and_no_further() {
        assert_eq!(captured(vec![1; 4], 4), Captured { bytes: vec![1; 4], cut: false });
        assert_eq!(captured(vec![1; 5], 4), Captured { bytes: vec![1; 4], cut: true });
    }
}
