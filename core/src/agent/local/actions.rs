//! The actions that this node can run, in words.
//!
//! Specification: "Built-in actions".

use alloc::{string::String, vec::Vec};

use crate::{
    agent::hooks::Hooks,
    wire::local::{ActionInfo, ActionParameter, Actions},
};

/// Describes the built-in actions that the shell can run, and the hooks.
pub(super) fn described(builtins: &[String], hooks: &Hooks) -> Actions {
    Actions {
        builtin_actions: builtins.iter().map(|name| action(name)).collect(),
        hooks: hooks.list(),
    }
}

fn action(name: &str) -> ActionInfo {
    let (description, parameters) = match name {
        "diagnostics.collect" => (
            "Collects facts of this host, its network interfaces and its processes.",
            alloc::vec![
                switch("include_network", "Whether to list the network interfaces."),
                switch("include_processes", "Whether to list the processes."),
            ],
        ),
        _ => ("", Vec::new()),
    };
    ActionInfo { name: name.into(), description: description.into(), parameters }
}

fn switch(name: &str, description: &str) -> ActionParameter {
    ActionParameter {
        name: name.into(),
        kind: "bool".into(),
        required: false,
        default: "true".into(),
        description: description.into(),
    }
}
