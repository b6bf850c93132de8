//! The actions: each run ends by its deadline, whatever it waits for, and a panic ends nothing but the run.
//!
//! Specification: "Built-in actions" and "Dispatch of pulled executions".

pub(crate) mod bounded;
mod cgroup;
mod diagnostics;
mod hook;
mod host;
mod kept;
pub mod own;
pub mod peers;
pub mod supervise;
pub mod supervisor;
pub mod tool;

use std::any::Any;

use meshward_core::agent::{
    Captured, Cause, Ending, Program, Run,
    builtins::{self, COLLECT, peer},
};
use tokio::{sync::oneshot, task::JoinError};

pub use own::{Own, Shown};

use crate::hooks::HooksDir;

/// Runs an action until it ends, its deadline passes, or `cancelled` is sent or dropped.
pub async fn run(
    run: Run,
    (own, hooks): (&Own, HooksDir),
    cancelled: oneshot::Receiver<()>,
) -> Ending {
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
    match peer::tool(&name, &parameters) {
        Some(Ok(tool)) => {
            return peers::ask(&tool, tool::path(), (deadline, limit), cancelled).await;
        }
        Some(Err(words)) => return builtins::failed(words),
        None => {}
    }
    if let Some(told) = own.told(&name, &parameters, limit) {
        return told;
    }
    let mut work = match name.as_str() {
        COLLECT => tokio::spawn(diagnostics::collect(parameters)),
        name => return without_output(Cause::Broken(builtins::unknown(name))),
    };
    let ending = tokio::select! {
        biased;
        done = &mut work => match done {
            Ok(text) => builtins::printed(text, limit),
            Err(error) => broke(error),
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

/// A part of a run that panicked ends the run and nothing else.
pub(crate) fn broke(error: JoinError) -> Ending {
    without_output(Cause::Broken(broken(error)))
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

    use meshward_core::agent::{
        Cause, Ending, Program, Run,
        builtins::{ALL, COLLECT, CONFIG_DUMP, PING, SYSTEM_INFO, TRACEROUTE},
    };
    use tokio::sync::oneshot;

    use super::{HooksDir, Own, run};

    fn order(action: &str, deadline: Duration) -> Run {
        let max_output_bytes = 1 << 20;
        let program = Program::Builtin { name: action.into(), parameters: BTreeMap::new() };
        Run { program, deadline, max_output_bytes }
    }

    async fn ended(order: Run, own: &Own, cancelled: oneshot::Receiver<()>) -> Ending {
        run(order, (own, HooksDir::new(Path::new("/nowhere"))), cancelled).await
    }

    #[tokio::test]
    async fn what_needs_no_parameter_ends_well() {
        let own = Own::default();
        own.config.set("[a]".to_owned());
        for name in [COLLECT, CONFIG_DUMP, SYSTEM_INFO] {
            let (_stop, cancel) = oneshot::channel();
            let ending = ended(order(name, Duration::from_secs(60)), &own, cancel).await;
            assert_eq!(ending.cause, Cause::Exited(0));
            assert!(!ending.stdout.bytes.is_empty() && !ending.stdout.cut);
        }
    }

    #[tokio::test]
    async fn every_built_in_action_is_known_here_or_answered_by_the_agent_itself() {
        let mut elsewhere = Vec::new();
        for name in ALL {
            let (_stop, cancel) = oneshot::channel();
            let ending = ended(order(name, Duration::from_secs(60)), &Own::default(), cancel).await;
            elsewhere.extend(matches!(ending.cause, Cause::Broken(_)).then_some(name));
        }
        assert_eq!(elsewhere, ["health.check", "mesh.reconnect"]);
    }

    #[tokio::test]
    async fn a_peer_that_is_no_address_is_refused_in_words_before_any_tool_is_looked_for() {
        for name in [PING, TRACEROUTE] {
            let (_stop, cancel) = oneshot::channel();
            let ending = ended(order(name, Duration::from_secs(60)), &Own::default(), cancel).await;
            assert_eq!(ending.cause, Cause::Exited(1));
            assert_eq!(ending.stderr.bytes, b"peer_id is required: the mesh IP of a peer\n");
        }
    }

    #[tokio::test]
    async fn an_unknown_action_is_broken_and_named() {
        let (_stop, cancel) = oneshot::channel();
        let ending = ended(order("x.y", Duration::from_secs(60)), &Own::default(), cancel).await;
        assert_eq!(ending.cause, Cause::Broken("unknown builtin action: x.y".into()));
    }

    #[tokio::test]
    async fn a_run_ends_at_its_deadline_and_when_it_is_cancelled() {
        let (_stop, cancel) = oneshot::channel();
        let ending = ended(order(COLLECT, Duration::ZERO), &Own::default(), cancel).await;
        assert_eq!(ending.cause, Cause::TimedOut);
        let (stop, cancel) = oneshot::channel();
        stop.send(()).unwrap();
        let ending = ended(order(COLLECT, Duration::from_secs(60)), &Own::default(), cancel).await;
        assert_eq!(ending.cause, Cause::Cancelled);
    }

    #[tokio::test]
    async fn a_panic_is_told_as_the_cause() {
        let literal = tokio::spawn(async { panic!("literal") }).await;
        assert_eq!(super::broken(literal.unwrap_err()), "panic: literal");
        let number = tokio::spawn(async { panic!("number {}", 7) }).await;
        assert_eq!(super::broken(number.unwrap_err()), "panic: number 7");
    }
}
