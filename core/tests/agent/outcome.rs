//! The terminal report: status, exit code, error, and the output joined and cut.

use meshward_core::{
    agent::{
        Captured, Cause, Ending,
        execution::{ERROR_MAX, Input, NO_EXIT_CODE, TRUNCATED},
    },
    wire::{
        execution::{Callback, INLINE_OUTPUT_MAX, Status},
        grammar::base64_bytes,
    },
};
use proptest::prelude::*;

use crate::{
    bench::execution_id,
    floor::{Floor, failed, posted},
    support,
};

fn captured(bytes: &[u8], cut: bool) -> Captured {
    Captured { bytes: bytes.into(), cut }
}

/// What a run that ended so is reported with, where the control plane takes no upload.
fn report(max_output_bytes: usize, ending: Ending) -> Callback {
    let mut floor = Floor::new();
    floor.settings.max_output_bytes = max_output_bytes;
    floor.run("one");
    let mut effects = floor.give(Input::Finished { execution: execution_id("one"), ending });
    if posted(&effects)[0].1.declared_output_bytes.is_some() {
        effects = floor.answer("one", Status::Started, failed());
    }
    posted(&effects).pop().expect("a finished run is reported").1
}

#[test]
fn an_error_is_cut_between_characters_so_that_the_callback_stays_small() {
    for error in ["x".repeat(ERROR_MAX), format!("x{}", "ä".repeat(ERROR_MAX))] {
        let nothing = Captured::default();
        let cause = Cause::Broken(error.clone());
        let ending = Ending { cause, stdout: nothing.clone(), stderr: nothing };
        let told = report(1024, ending).error.expect("a broken run tells why");
        assert!(error.starts_with(&told) && told.len() > ERROR_MAX - 4 && told.len() <= ERROR_MAX);
    }
}

fn output(max: usize, stdout: Captured, stderr: Captured) -> Option<Vec<u8>> {
    let callback = report(max, Ending { cause: Cause::Exited(0), stdout, stderr });
    callback.output.map(|output| base64_bytes(&output.inline).expect("base64"))
}

#[test]
fn each_cause_has_its_status_exit_code_and_error() {
    let rows = [
        (Cause::Exited(0), Status::Succeeded, Some(0), None),
        (Cause::Exited(3), Status::Failed, Some(3), None),
        (Cause::Exited(-1), Status::Failed, Some(-1), None),
        (Cause::Signalled(9), Status::Failed, Some(137), Some("ended by signal 9")),
        (Cause::TimedOut, Status::Failed, Some(NO_EXIT_CODE), Some("action timed out")),
        (Cause::Cancelled, Status::Cancelled, Some(NO_EXIT_CODE), None),
        (
            Cause::Broken("no such file".into()),
            Status::Failed,
            Some(NO_EXIT_CODE),
            Some("no such file"),
        ),
    ];
    for (cause, status, exit_code, error) in rows {
        let nothing = Captured::default();
        let ending = Ending { cause, stdout: nothing.clone(), stderr: nothing };
        let expected = Callback { exit_code, error: error.map(Into::into), ..Callback::of(status) };
        assert_eq!(report(1024, ending), expected);
    }
}

#[test]
fn the_streams_are_joined_by_a_newline_and_an_empty_one_is_left_out() {
    let rows = [
        ("out", "err", Some("out\nerr")),
        ("out", "", Some("out")),
        ("", "err", Some("err")),
        ("", "", None),
    ];
    for (stdout, stderr, joined) in rows {
        let text =
            output(1024, captured(stdout.as_bytes(), false), captured(stderr.as_bytes(), false));
        assert_eq!(text.as_deref(), joined.map(str::as_bytes));
    }
}

#[test]
fn an_output_at_the_limit_is_whole_and_one_byte_more_is_cut_with_the_mark_inside() {
    for (configured, limit) in [(1024, 1024), (1 << 20, INLINE_OUTPUT_MAX)] {
        let whole = vec![b'x'; limit];
        assert_eq!(output(configured, captured(&whole, false), Captured::default()), Some(whole));
        let over = vec![b'x'; limit + 1];
        let cut = output(configured, captured(&over, false), Captured::default());
        let expected = [&over[..limit - TRUNCATED.len()], TRUNCATED].concat();
        assert_eq!(cut, Some(expected), "limit {limit}");
    }
}

#[test]
fn a_stream_that_was_cut_at_its_source_is_marked() {
    let text = output(1024, captured(b"out", true), Captured::default());
    assert_eq!(text, Some([b"out", TRUNCATED].concat()));
}

proptest! {
    #![proptest_config(support::seeds_in("agent_outcome"))]

    /// Never over either limit, never two marks, and a mark exactly where something is missing.
    #[test]
    fn an_output_keeps_its_limits_and_has_one_mark_if_cut(
        max in 1024_usize..40_000,
        out in 0_usize..40_000,
        err in 0_usize..40_000,
        cut: bool,
    ) {
        let text = output(max, captured(&vec![b'o'; out], cut), captured(&vec![b'e'; err], false));
        let joined = out + err + usize::from(out > 0 && err > 0);
        let missing = cut || joined > max.min(INLINE_OUTPUT_MAX);
        let text = text.unwrap_or_default();
        prop_assert!(text.len() <= max.min(INLINE_OUTPUT_MAX));
        let marks = text.windows(TRUNCATED.len()).filter(|part| *part == TRUNCATED).count();
        prop_assert_eq!(marks, usize::from(missing));
        prop_assert!(!missing || text.ends_with(TRUNCATED));
    }
}
