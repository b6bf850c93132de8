//! Output that is too long to go inline: announced, brought, referred to; where any of that fails, cut and inline.

use std::time::Duration;

use Status::{Cancelled, Failed, Started, Succeeded};
use meshward_core::{
    agent::{
        Bytes, Captured, Cause, Ending,
        execution::{
            CLAIM_DEADLINE, Effect, Input, NO_EXIT_CODE, STOP_BUDGET, TRUNCATED, UPLOAD_TIMEOUT,
        },
        verdict::Called,
    },
    secret::Secret,
    wire::{
        execution::{Callback, INLINE_OUTPUT_MAX, Output, Status},
        grammar::{Name, base64_text},
    },
};
use sha2::{Digest as _, Sha256};

use crate::{
    bench::{entry, execution_id, seconds},
    floor::{Floor, failed, invited, posted, refused, statuses, unacceptable},
};

fn long() -> Vec<u8> {
    (0..INLINE_OUTPUT_MAX + 1).map(|at| at as u8).collect()
}

/// The output as it goes inline.
fn cut() -> Output {
    let kept = [&long()[..INLINE_OUTPUT_MAX - TRUNCATED.len()], TRUNCATED].concat();
    Output { inline: base64_text(&kept), ..Output::default() }
}

fn referred() -> Output {
    let object_key = Name("exec-output/one".into());
    let sha256 = Sha256::digest(long()).iter().map(|byte| format!("{byte:02x}")).collect();
    Output { object_key, sha256, ..Output::default() }
}

fn ending(cause: Cause, stdout: Vec<u8>) -> Ending {
    let stdout = Captured { bytes: stdout, cut: false };
    Ending { cause, stdout, stderr: Captured::default() }
}

fn finish(floor: &mut Floor, cause: Cause) -> Vec<Effect> {
    floor.give(Input::Finished { execution: execution_id("one"), ending: ending(cause, long()) })
}

/// A run whose output is announced.
fn declared() -> Floor {
    let mut floor = Floor::new();
    floor.run("one");
    finish(&mut floor, Cause::Exited(0));
    floor
}

/// A run whose output is on its way.
fn uploading() -> Floor {
    let mut floor = declared();
    let effects = floor.answer("one", Started, invited("one"));
    assert_eq!(uploads(&effects).len(), 1);
    floor
}

fn uploaded(floor: &mut Floor, outcome: Result<(), String>) -> Vec<Effect> {
    floor.give(Input::Uploaded { execution: execution_id("one"), outcome })
}

fn uploads(effects: &[Effect]) -> Vec<(String, Bytes, Duration)> {
    let upload = |effect: &Effect| match effect {
        Effect::Upload { url, bytes, timeout, .. } => {
            Some((url.text().expose().clone(), bytes.clone(), *timeout))
        }
        Effect::Post { .. } | Effect::Run { .. } | Effect::Cancel(_) | Effect::Tell(_) => None,
    };
    effects.iter().filter_map(upload).collect()
}

fn succeeded(output: Option<Output>) -> Callback {
    Callback { exit_code: Some(0), output, ..Callback::of(Succeeded) }
}

#[test]
fn a_long_output_is_announced_brought_and_referred_to() {
    let mut floor = Floor::new();
    floor.run("one");
    let effects = finish(&mut floor, Cause::Exited(0));
    let length = i64::try_from(long().len()).unwrap();
    let announced = Callback { declared_output_bytes: Some(length), ..Callback::of(Started) };
    assert_eq!(posted(&effects), [("one".into(), announced, None)]);
    let effects = floor.answer("one", Started, invited("one"));
    let url = "https://store.example/exec-output/one?token=canary".to_owned();
    assert_eq!(uploads(&effects), [(url, Bytes(long()), UPLOAD_TIMEOUT)]);
    let effects = uploaded(&mut floor, Ok(()));
    assert_eq!(posted(&effects)[0].1, succeeded(Some(referred())));
    assert_eq!(floor.answer("one", Succeeded, Called::Accepted), []);
    assert!(floor.dispatch.is_idle());
}

#[test]
fn the_longest_output_that_goes_inline_is_not_announced() {
    let mut floor = Floor::new();
    floor.run("one");
    let ending = ending(Cause::Exited(0), vec![b'x'; INLINE_OUTPUT_MAX]);
    let effects = floor.give(Input::Finished { execution: execution_id("one"), ending });
    assert_eq!(statuses(&effects), [Succeeded]);
}

#[test]
fn an_announcement_that_comes_to_nothing_sends_what_fits_inline() {
    let urls = ["http://user@store.example/x", "ftp://store.example/x", "https://127.0.0.1/x"];
    let bad = urls.map(|url| Called::Invited(Secret::new(url.into())));
    let others = [Called::Accepted, failed(), unacceptable(false), unacceptable(true)];
    for verdict in bad.into_iter().chain(others) {
        let effects = declared().answer("one", Started, verdict.clone());
        assert_eq!(uploads(&effects), [], "{verdict:?}");
        assert_eq!(posted(&effects)[0].1, succeeded(Some(cut())), "{verdict:?}");
    }
}

#[test]
fn an_upload_url_never_stands_in_a_notice() {
    let url = "ftp://store.example/x?token=canary";
    let effects = declared().answer("one", Started, Called::Invited(Secret::new(url.into())));
    assert!(!format!("{effects:?}").contains("canary"), "{effects:?}");
    let effects = declared().answer("one", Started, invited("one"));
    assert!(!format!("{effects:?}").contains("canary"), "{effects:?}");
}

#[test]
fn an_upload_that_fails_sends_what_fits_inline() {
    let effects = uploaded(&mut uploading(), Err("it was answered 413".into()));
    assert_eq!(posted(&effects)[0].1, succeeded(Some(cut())));
}

#[test]
fn a_refused_announcement_ends_the_execution_for_this_node() {
    let mut floor = declared();
    let effects = floor.answer("one", Started, refused());
    assert!(matches!(effects.as_slice(), [Effect::Tell(_)]), "{effects:?}");
    assert_eq!(floor.pulled(&[entry("one", "started")]), []);
    assert!(floor.dispatch.is_idle());
}

#[test]
fn a_reference_that_is_not_acceptable_is_replaced_by_what_fits_inline() {
    let mut floor = uploading();
    uploaded(&mut floor, Ok(()));
    let effects = floor.answer("one", Succeeded, unacceptable(false));
    assert_eq!(posted(&effects)[0].1, succeeded(Some(cut())));
    let effects = floor.answer("one", Succeeded, unacceptable(true));
    assert_eq!(posted(&effects)[0].1, succeeded(None));
    let effects = floor.answer("one", Succeeded, unacceptable(true));
    assert!(matches!(effects.as_slice(), [Effect::Tell(_)]), "nothing lighter is left");
}

#[test]
fn a_reference_that_is_lost_is_repeated_and_kept_for_later_pulls() {
    let mut floor = uploading();
    uploaded(&mut floor, Ok(()));
    for _ in 0..2 {
        floor.answer("one", Succeeded, failed());
        let (_, effects) = floor.wake();
        assert_eq!(posted(&effects)[0].1, succeeded(Some(referred())));
    }
    floor.answer("one", Succeeded, failed());
    let effects = floor.pulled(&[entry("one", "started")]);
    assert_eq!(posted(&effects)[0].1, succeeded(Some(referred())));
    floor.answer("one", Succeeded, unacceptable(false));
    let effects = floor.pulled(&[entry("one", "started")]);
    assert_eq!(posted(&effects)[0].1, succeeded(Some(cut())), "in a lighter form");
}

#[test]
fn one_that_is_being_brought_is_still_active() {
    for mut floor in [declared(), uploading()] {
        assert_eq!(floor.pulled(&[entry("one", "started")]), []);
        assert!(!floor.dispatch.is_idle());
        assert_eq!(floor.dispatch.depths(), (1, 0));
    }
}

#[test]
fn an_upload_that_nobody_waits_for_is_ignored() {
    for mut floor in [Floor::new(), declared()] {
        let before = floor.dispatch.clone();
        assert_eq!(uploaded(&mut floor, Ok(())), []);
        assert_eq!(floor.dispatch, before);
    }
    let mut floor = uploading();
    let before = floor.dispatch.clone();
    for status in [Started, Succeeded, Failed] {
        assert_eq!(floor.answer("one", status, Called::Accepted), []);
    }
    assert_eq!(floor.dispatch, before);
}

#[test]
fn every_ending_brings_its_output() {
    for (cause, status) in
        [(Cause::TimedOut, Failed), (Cause::Signalled(9), Failed), (Cause::Exited(3), Failed)]
    {
        let mut floor = Floor::new();
        floor.run("one");
        finish(&mut floor, cause);
        floor.answer("one", Started, invited("one"));
        let callback = posted(&uploaded(&mut floor, Ok(()))).pop().expect("a report").1;
        assert_eq!((callback.status, callback.output), (status, Some(referred())));
    }
}

#[test]
fn at_a_stop_five_seconds_hold_for_announcement_upload_and_report_together() {
    let mut floor = Floor::new();
    floor.run("one");
    floor.give(Input::Draining);
    let effects = finish(&mut floor, Cause::Cancelled);
    assert_eq!(posted(&effects)[0].2, Some(STOP_BUDGET));
    floor.pass(seconds(2));
    let effects = floor.answer("one", Started, invited("one"));
    assert_eq!(uploads(&effects)[0].2, seconds(3));
    floor.pass(seconds(1));
    let effects = uploaded(&mut floor, Ok(()));
    let expected = Callback {
        exit_code: Some(NO_EXIT_CODE),
        output: Some(referred()),
        ..Callback::of(Cancelled)
    };
    assert_eq!(posted(&effects), [("one".into(), expected, Some(seconds(2)))]);
    let (wait, effects) = floor.wake();
    assert_eq!((wait, statuses(&effects)), (seconds(2), vec![]));
    assert!(floor.dispatch.is_idle());
}

#[test]
fn a_stop_gives_an_upload_under_way_five_seconds() {
    for mut floor in [declared(), uploading()] {
        floor.give(Input::Draining);
        assert_eq!(floor.wake().0, STOP_BUDGET);
        assert!(floor.dispatch.is_idle());
    }
    assert_eq!(STOP_BUDGET, CLAIM_DEADLINE);
}
