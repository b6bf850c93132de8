//! The terminal report of a run: which status, which exit code, and what of its output.
//!
//! Specification: "Dispatch of pulled executions" (outputs); `decisions.md` section 8 (Truncation).

use alloc::{format, string::String, vec::Vec};

use crate::{
    agent::facts::{Captured, Cause, Ending},
    wire::{
        execution::{Callback, INLINE_OUTPUT_MAX, Output, Status},
        grammar::base64_text,
    },
};

/// What stands at the end of an output that was cut; it counts inside the limit.
pub const TRUNCATED: &[u8] = b"\n...[truncated]";

/// What the report of a lost run says.
pub const LOST: &str = "execution lost to an agent restart";
/// What the report says when the deadline passed between claim and run.
pub const LAPSED: &str = "execution deadline lapsed before the run started";

/// The report of a finished run.
pub(super) fn terminal(ending: Ending, max_output_bytes: usize) -> Callback {
    let output = output(ending.stdout, ending.stderr, max_output_bytes);
    let callback = match ending.cause {
        Cause::Exited(0) => Callback { exit_code: Some(0), ..Callback::of(Status::Succeeded) },
        Cause::Exited(code) => {
            Callback { exit_code: Some(i64::from(code)), ..Callback::of(Status::Failed) }
        }
        Cause::Signalled(signal) => Callback {
            exit_code: Some(i64::from(signal).saturating_add(128)),
            ..failed(&format!("the run was ended by signal {signal}"))
        },
        Cause::TimedOut => failed("action timed out"),
        Cause::Cancelled => Callback::of(Status::Cancelled),
        Cause::Broken(reason) => failed(&reason),
    };
    Callback { output, ..callback }
}

/// A failure in words, without an exit code.
pub(super) fn failed(error: &str) -> Callback {
    Callback { error: Some(String::from(error)), ..Callback::of(Status::Failed) }
}

/// Stdout, a newline, stderr, an empty stream left out; `None` when there is nothing.
fn output(stdout: Captured, stderr: Captured, max_output_bytes: usize) -> Option<Output> {
    let cut = stdout.cut || stderr.cut;
    let mut joined = stdout.bytes;
    if !joined.is_empty() && !stderr.bytes.is_empty() {
        joined.push(b'\n');
    }
    joined.extend(stderr.bytes);
    let kept = truncate(truncate(joined, max_output_bytes, cut), INLINE_OUTPUT_MAX, false);
    (!kept.is_empty()).then(|| Output { inline: base64_text(&kept), ..Output::default() })
}

/// Cuts at the byte so that text and mark fit; an output already cut gets its mark too.
fn truncate(mut bytes: Vec<u8>, max: usize, cut: bool) -> Vec<u8> {
    if bytes.len() > max || cut {
        bytes.truncate(max.saturating_sub(TRUNCATED.len()));
        bytes.extend_from_slice(TRUNCATED);
    }
    bytes
}
