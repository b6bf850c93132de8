//! The actions that ask another node by a tool of the system.
//!
//! Specification: "Built-in actions".

use std::time::Duration;

use meshward_core::agent::{
    Ending,
    builtins::peer::{Tool, ending},
};
use tokio::sync::oneshot;

use super::tool;

/// Runs a tool that is looked for in the folders of `path`, until it ends, its time is over, or `cancelled` is sent or
/// dropped.
pub async fn ask(
    tool: &Tool,
    path: &str,
    (deadline, max): (Duration, usize),
    cancelled: oneshot::Receiver<()>,
) -> Ending {
    let mut command = vec![tool.name];
    command.extend(tool.arguments.iter().map(String::as_str));
    let ended = tool::capture(path, &command, (deadline, max), cancelled).await;
    ending(tool.name, ended, max)
}
