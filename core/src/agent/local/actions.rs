//! The actions at the local socket: which there are, what an order to run one says, and what became of it.
//!
//! Specification: "Built-in actions" and "Local HTTP API"; `gaps-agent.md` sections 1.1 and 1.3.

use alloc::string::String;

use super::{found, refusal, unavailable};
use crate::{
    agent::{builtins, hooks::Hooks, local_runs::Order},
    wire::{
        action::{RunRequest, RunResult},
        http::{Request, Response},
        json,
        local::Actions,
    },
};

/// Describes the built-in actions that the shell can run, and the hooks.
pub(super) fn described(names: &[String], hooks: &Hooks) -> Actions {
    Actions {
        builtin_actions: names.iter().map(|name| builtins::described(name)).collect(),
        hooks: hooks.list(),
    }
}

/// Reads what somebody orders who may, refused by the first rule that it breaks.
pub fn read_order(
    (names, is_working): (&[String], bool),
    user: u32,
    request: &Request,
) -> Result<Order, Response> {
    match (names, is_working) {
        ([], _) => return Err(unavailable("actions not available")),
        (_, false) => return Err(unavailable("local action execution not available")),
        (_, true) => {}
    }
    let broken = || refusal(400, "invalid JSON body");
    let body = request.body.whole(broken(), broken())?;
    let asked: RunRequest = json::decode_tolerant(body).map_err(|_| broken())?;
    let action = asked.action.filter(|action| !action.is_empty());
    Ok(Order {
        user,
        action: action.ok_or_else(|| refusal(400, "action is required"))?,
        parameters: asked.parameters.unwrap_or_default(),
    })
}

/// Answers how a run ended.
pub fn ran(result: &RunResult) -> Response {
    found(result)
}
