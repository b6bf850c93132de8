//! The sidecar of a hook: what `<hook>.json` beside it tells.
//!
//! Specification: `gaps-agent.md` section 2.8 (Sidecar).

use alloc::{string::String, vec::Vec};
use core::time::Duration;

use serde::Deserialize;
use thiserror::Error;

use super::{
    json::{self, Raw},
    local::ActionParameter,
};
use crate::duration;

/// The longest sidecar, in bytes.
pub const SIDECAR_MAX: usize = 16_384;

/// How many parameters one describes.
pub const PARAMETERS_MAX: usize = 256;

/// What is told of a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sidecar {
    pub description: String,
    pub parameters: Vec<ActionParameter>,
    /// As it is written, and what it means; it ends a run before the longest time of any action.
    pub timeout: Option<(String, Duration)>,
    /// The name of the one that is wished for; empty for none.
    pub sandbox: String,
}

/// Why a sidecar tells nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    #[error("{0}")]
    Json(json::Fault),
    #[error("it describes more than {PARAMETERS_MAX} parameters")]
    Crowded,
    #[error("a parameter has no name")]
    Nameless,
    #[error("its timeout {0}")]
    Timeout(&'static str),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Draft {
    description: String,
    parameters: Vec<Parameter>,
    timeout: String,
    sandbox: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Parameter {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    required: bool,
    /// Of any type.
    default: Option<Raw>,
    description: String,
}

impl Sidecar {
    /// Reads one; members that nobody knows are passed over.
    pub fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let draft: Draft = json::decode_tolerant(bytes).map_err(Fault::Json)?;
        if draft.parameters.len() > PARAMETERS_MAX {
            return Err(Fault::Crowded);
        }
        let parameters: Option<_> = draft.parameters.into_iter().map(Parameter::read).collect();
        Ok(Self {
            description: draft.description,
            parameters: parameters.ok_or(Fault::Nameless)?,
            timeout: timeout(draft.timeout)?,
            sandbox: draft.sandbox,
        })
    }
}

fn timeout(text: String) -> Result<Option<(String, Duration)>, Fault> {
    if text.is_empty() {
        return Ok(None);
    }
    let meant = duration::parse(&text).map_err(Fault::Timeout)?;
    match meant.is_zero() {
        true => Err(Fault::Timeout("must be longer than nothing")),
        false => Ok(Some((text, meant))),
    }
}

impl Parameter {
    /// `None` without a name.
    fn read(self) -> Option<ActionParameter> {
        (!self.name.is_empty()).then(|| ActionParameter {
            name: self.name,
            kind: self.kind,
            required: self.required,
            default: self.default.as_ref().map(spelled).unwrap_or_default(),
            description: self.description,
        })
    }
}

/// A text as it is, any other value as its JSON.
fn spelled(raw: &Raw) -> String {
    json::decode_tolerant(raw.text().as_bytes()).unwrap_or_else(|_| raw.text().into())
}
