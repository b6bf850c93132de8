//! Runs of actions: a deadline, a way to end early, and an ending whatever happens.
//!
//! Specification: "Built-in actions".

mod diagnostics;
mod host;

use meshward_core::agent::{Captured, Cause, Ending, Run};
use tokio::sync::oneshot;

/// The built-in actions that can be run.
pub const BUILTINS: [&str; 1] = ["diagnostics.collect"];

/// Runs an action until it ends, its deadline passes, or `cancelled` is sent or dropped.
pub async fn run(run: Run, cancelled: oneshot::Receiver<()>) -> Ending {
    let deadline = run.deadline;
    tokio::select! {
        ending = act(run) => ending,
        () = tokio::time::sleep(deadline) => ended(Cause::TimedOut),
        _ = cancelled => ended(Cause::Cancelled),
    }
}

async fn act(run: Run) -> Ending {
    match run.action.as_str() {
        "diagnostics.collect" => {
            let text = diagnostics::collect(&run.parameters).await;
            Ending { stdout: captured(text, run.max_output_bytes), ..ended(Cause::Exited(0)) }
        }
        other => ended(Cause::Broken(format!("unknown builtin action: {other}"))),
    }
}

fn ended(cause: Cause) -> Ending {
    Ending { cause, stdout: Captured::default(), stderr: Captured::default() }
}

fn captured(mut bytes: Vec<u8>, max: usize) -> Captured {
    let cut = bytes.len() > max;
    bytes.truncate(max);
    Captured { bytes, cut }
}
