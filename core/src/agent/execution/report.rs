//! The terminal report of a run: which status, which exit code, and what of its output.
//!
//! Specification: "Dispatch of pulled executions" (outputs); `decisions.md` section 8 (Truncation).

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use crate::{
    agent::{
        facts::{Bytes, Captured, Cause, Ending},
        hooks::Refused,
        notice::Notice,
    },
    ids::ExecutionId,
    wire::{
        execution::{Callback, INLINE_OUTPUT_MAX, Output, Status},
        grammar::{Name, base64_text, sha256_hex},
    },
};

/// What stands at the end of an output that was cut; it counts inside the limit.
pub const TRUNCATED: &[u8] = b"\n...[truncated]";

/// What the report of a lost run says.
pub const LOST: &str = "execution lost to an agent restart";
/// What the report says when the deadline passed between claim and run.
pub const LAPSED: &str = "execution deadline lapsed before the run started";

/// The exit code of a run that came to none of its own.
pub const NO_EXIT_CODE: i64 = -1;

/// The longest error text of a report, in bytes: with the largest inline output it stays under the cap of a callback.
pub const ERROR_MAX: usize = 4096;

/// A terminal report, and what is sent in the place of its output if the control plane does not take that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Report {
    pub(super) callback: Callback,
    /// What goes inline where the output that is referred to is not found.
    pub(super) spare: Option<Output>,
}

impl Report {
    /// Without anything in reserve.
    pub(super) const fn of(callback: Callback) -> Self {
        Self { callback, spare: None }
    }

    /// What is left to try when this one is not acceptable: the reference falls back to inline output, and output that
    /// is too large is left out.
    pub(super) fn lighter(self, inline_too_large: bool) -> Option<Self> {
        let Self { callback, spare } = self;
        match &callback.output {
            Some(output) if !output.object_key.is_empty() => {
                Some(Self::of(Callback { output: spare, ..callback }))
            }
            Some(_) if inline_too_large => Some(Self::of(Callback { output: None, ..callback })),
            Some(_) | None => None,
        }
    }
}

/// How a run is reported: with what goes inline of its output, and the whole where that is longer.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) callback: Callback,
    pub(super) whole: Option<Bytes>,
}

/// The report of a finished run.
pub(super) fn terminal(ending: Ending, max_output_bytes: usize) -> Outcome {
    let cut = ending.stdout.cut || ending.stderr.cut;
    let whole = truncate(joined(ending.stdout, ending.stderr), max_output_bytes, cut);
    let inline = match whole.len() {
        0 => None,
        1..=INLINE_OUTPUT_MAX => Some(base64_text(&whole)),
        _ => Some(base64_text(&truncate(whole.clone(), INLINE_OUTPUT_MAX, false))),
    };
    let output = inline.map(|inline| Output { inline, ..Output::default() });
    let whole = (whole.len() > INLINE_OUTPUT_MAX).then_some(Bytes(whole));
    Outcome { callback: Callback { output, ..told(ending.cause) }, whole }
}

/// Every run tells an exit code, also one that came to none.
fn told(cause: Cause) -> Callback {
    let (callback, code) = match cause {
        Cause::Exited(0) => (Callback::of(Status::Succeeded), 0),
        Cause::Exited(code) => (Callback::of(Status::Failed), i64::from(code)),
        Cause::Signalled(signal) => {
            (failed(&format!("ended by signal {signal}")), i64::from(signal).saturating_add(128))
        }
        Cause::TimedOut => (failed("action timed out"), NO_EXIT_CODE),
        Cause::Cancelled => (Callback::of(Status::Cancelled), NO_EXIT_CODE),
        Cause::Broken(reason) => (failed(&reason), NO_EXIT_CODE),
        Cause::Changed { hook, observed } => {
            let refused = Refused::Changed { hook, observed };
            (failed(&refused.to_string()), NO_EXIT_CODE)
        }
    };
    Callback { exit_code: Some(code), ..callback }
}

/// A failure in words, without an exit code.
pub(super) fn failed(error: &str) -> Callback {
    let error = error[..error.floor_char_boundary(ERROR_MAX)].to_string();
    Callback { error: Some(error), ..Callback::of(Status::Failed) }
}

/// How a run ended, in words; one that did not succeed is worth a warning.
pub(super) fn told_end(execution: &ExecutionId, callback: &Callback) -> Notice {
    let id = execution.0.as_str();
    match (callback.status, &callback.error, callback.exit_code) {
        (Status::Failed, Some(error), _) => {
            Notice::warn(format!("execution {id:?} failed: {error}"))
        }
        (Status::Failed, None, code) => Notice::warn(format!(
            "execution {id:?} failed: exit code {}",
            code.unwrap_or(NO_EXIT_CODE)
        )),
        (Status::Ack | Status::Started | Status::Succeeded | Status::Cancelled, _, _) => {
            Notice::info(format!("execution {id:?} ended {}", callback.status.as_str()))
        }
    }
}

/// How uploaded bytes are referred to.
pub(super) fn referred(object_key: &str, bytes: &Bytes) -> Output {
    Output {
        object_key: Name(String::from(object_key)),
        sha256: sha256_hex(&bytes.0),
        ..Output::default()
    }
}

/// Stdout, a newline, stderr; an empty stream is left out.
fn joined(stdout: Captured, stderr: Captured) -> Vec<u8> {
    let mut joined = stdout.bytes;
    if !joined.is_empty() && !stderr.bytes.is_empty() {
        joined.push(b'\n');
    }
    joined.extend(stderr.bytes);
    joined
}

/// Cuts at the byte so that text and mark fit; an output already cut gets its mark too.
fn truncate(mut bytes: Vec<u8>, max: usize, cut: bool) -> Vec<u8> {
    if bytes.len() > max || cut {
        bytes.truncate(max.saturating_sub(TRUNCATED.len()));
        bytes.extend_from_slice(TRUNCATED);
    }
    bytes
}
