//! The environment of a hook: the whole of it, made of the parameters of its entry and of nothing that the agent was
//! started with.
//!
//! | variable | holds |
//! |---|---|
//! | `PATH` | [`PATH`] |
//! | `HOME` | [`HOME`] |
//! | `AGENT_NODE_ID` | the id of this node |
//! | `AGENT_EXECUTION_ID` | the id of the entry |
//! | `AGENT_PARAM_<NAME>` | a parameter; `a` to `z` of its name as capitals, `A` to `Z` and digits as they are, `_` for every other character |
//!
//! Specification: "Built-in actions" (hook runs) of the node agent; `gaps-agent.md` section 2.8 (Parameters).

use alloc::{
    collections::BTreeMap,
    string::{String, ToString as _},
};

use thiserror::Error;

use crate::legible;

/// Where hooks look for programs.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A folder that every system has, and that holds no settings of a person that would steer a hook.
pub const HOME: &str = "/";

/// What stands before the name of a parameter.
pub const PARAMETER_PREFIX: &str = "AGENT_PARAM_";

/// How many parameters a hook is given.
pub const PARAMETERS_MAX: usize = 256;

/// The longest variable in bytes, with its name, the sign between and a NUL behind: the kernel's `MAX_ARG_STRLEN`.
pub const VARIABLE_MAX: usize = 131_072;

/// The whole environment in bytes, counted as each variable is: half of what the kernel takes with the usual limit of
/// the stack.
pub const ENVIRONMENT_MAX: usize = 1 << 20;

/// How much of a name is shown in a fault, in characters.
const NAME_SHOWN: usize = 64;

/// Why parameters make no environment. Names are told, values never.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    #[error("{count} parameters are more than the {PARAMETERS_MAX} that a hook is given")]
    Crowded { count: usize },
    #[error("a parameter has no name")]
    Nameless,
    #[error("the parameters {one} and {other} would both be given as {variable}")]
    Ambiguous { one: String, other: String, variable: String },
    #[error("{variable} holds NUL, which no variable can")]
    Nul { variable: String },
    #[error("{variable} is longer than {VARIABLE_MAX} bytes, the most that the kernel takes")]
    TooLong { variable: String },
    #[error("all parameters together are longer than {ENVIRONMENT_MAX} bytes")]
    TooLarge,
}

/// Makes the environment of one run.
pub fn environment(
    parameters: &BTreeMap<String, String>,
    node: &str,
    execution: &str,
) -> Result<BTreeMap<String, String>, Fault> {
    if parameters.len() > PARAMETERS_MAX {
        return Err(Fault::Crowded { count: parameters.len() });
    }
    let own = [
        ("PATH", PATH),
        ("HOME", HOME),
        ("AGENT_NODE_ID", node),
        ("AGENT_EXECUTION_ID", execution),
    ];
    let mut all: BTreeMap<String, String> =
        own.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    for (name, value) in parameters {
        let variable = variable(name).ok_or(Fault::Nameless)?;
        if all.insert(variable.clone(), value.clone()).is_some() {
            return Err(ambiguous(parameters, name, &variable));
        }
    }
    weighed(&all)?;
    Ok(all)
}

/// The variable that a parameter is given as; `None` for a name without characters.
fn variable(name: &str) -> Option<String> {
    let safe = |one: char| if one.is_ascii_alphanumeric() { one.to_ascii_uppercase() } else { '_' };
    (!name.is_empty()).then(|| PARAMETER_PREFIX.chars().chain(name.chars().map(safe)).collect())
}

/// Names the first parameter that took the variable of another.
fn ambiguous(parameters: &BTreeMap<String, String>, name: &str, taken: &str) -> Fault {
    let first = parameters.keys().find(|other| variable(other).as_deref() == Some(taken));
    Fault::Ambiguous {
        one: shown(first.map_or("", String::as_str)),
        other: shown(name),
        variable: shown(taken),
    }
}

/// Whether the kernel takes every variable, and all together.
fn weighed(all: &BTreeMap<String, String>) -> Result<(), Fault> {
    let mut left = ENVIRONMENT_MAX;
    for (name, value) in all {
        if value.contains('\0') {
            return Err(Fault::Nul { variable: shown(name) });
        }
        let length = name.len() + value.len() + "=\0".len();
        if length > VARIABLE_MAX {
            return Err(Fault::TooLong { variable: shown(name) });
        }
        left = left.checked_sub(length).ok_or(Fault::TooLarge)?;
    }
    Ok(())
}

/// As much of a name as a line bears.
fn shown(name: &str) -> String {
    let start: String = name.chars().take(NAME_SHOWN).collect();
    let start = legible::line(&start).to_string();
    if name.chars().nth(NAME_SHOWN).is_some() { start + "…" } else { start }
}
