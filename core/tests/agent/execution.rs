//! Executions: the claim and its deadline, refusals, the walk, retries of the terminal report, lost runs, the drain.

use std::{collections::BTreeSet, time::Duration};

use Status::{Ack, Cancelled, Failed, Started, Succeeded};
use meshward_core::{
    agent::{
        Cause, Program,
        execution::{
            BAD_PARAMETERS, Effect, Input, LAPSED, LISTED_MAX, LOST, NO_EXIT_CODE, SETTLED_MAX,
            STOP_BUDGET, UNREPORTED_MAX,
        },
        verdict::{self, Called},
    },
    wire::{
        execution::{Callback, Execution, Status},
        json::Raw,
    },
};

use crate::{
    bench::{entry, execution_id, expires, problem, seconds},
    floor::{Floor, failed, posted, refused, runs, statuses, unacceptable},
};

const LEGS: [(&str, &[Status]); 2] = [("pending", &[Ack, Started]), ("ack", &[Started])];

fn unknown(status: &str) -> Execution {
    Execution { kind: "script".into(), ..entry("one", status) }
}

/// Answers each leg as told; the last answer's effects are given back.
fn through(floor: &mut Floor, entry: &Execution, legs: &[(Status, Called)]) -> Vec<Effect> {
    let mut effects = floor.pulled(std::slice::from_ref(entry));
    for (leg, verdict) in legs {
        assert_eq!(statuses(&effects), [*leg], "before {leg:?} is answered");
        effects = floor.answer("one", *leg, verdict.clone());
    }
    effects
}

#[test]
fn an_action_runs_only_behind_an_accepted_started() {
    for (status, legs) in LEGS {
        let mut floor = Floor::new();
        let mut effects = floor.pulled(&[entry("one", status)]);
        for leg in legs {
            assert_eq!((statuses(&effects), runs(&effects)), (vec![*leg], vec![]));
            effects = floor.answer("one", *leg, Called::Accepted);
        }
        assert_eq!(runs(&effects).len(), 1, "{status}");
        assert_eq!(statuses(&effects), []);
    }
}

#[test]
fn each_of_the_three_codes_on_any_leg_settles_without_a_run_or_a_report() {
    let codes = [
        (403, "nsk_node_mismatch"),
        (409, "invalid_state_transition"),
        (409, "execution_already_terminal"),
    ];
    for (status, code) in codes {
        let verdict = verdict::callback(problem(status, code));
        for (pulled, legs) in LEGS {
            for refused_leg in 0..legs.len() {
                let mut floor = Floor::new();
                let mut answers: Vec<_> =
                    legs[..=refused_leg].iter().map(|leg| (*leg, Called::Accepted)).collect();
                answers[refused_leg].1 = verdict.clone();
                let effects = through(&mut floor, &entry("one", pulled), &answers);
                assert!(matches!(effects.as_slice(), [Effect::Tell(_)]), "{code}: {effects:?}");
                assert_eq!(floor.pulled(&[entry("one", "pending")]), [], "{code} settles");
            }
        }
    }
}

#[test]
fn any_other_failure_of_a_leg_leaves_the_entry_to_the_next_pull() {
    let verdicts = [failed(), unacceptable(false), unacceptable(true)];
    for verdict in verdicts {
        for (status, legs) in LEGS {
            let mut floor = Floor::new();
            let effects = through(&mut floor, &entry("one", status), &[(legs[0], verdict.clone())]);
            assert!(matches!(effects.as_slice(), [Effect::Tell(_)]), "{effects:?}");
            assert_eq!(statuses(&floor.pulled(&[entry("one", status)])), [legs[0]]);
        }
    }
}

#[test]
fn a_pull_that_came_during_a_failed_claim_does_not_claim_a_second_time() {
    let mut floor = Floor::new();
    floor.pulled(&[entry("one", "pending")]);
    assert_eq!(floor.pulled(&[entry("one", "pending"), entry("two", "ack")]), []);
    floor.pass(Duration::from_millis(1));
    let effects = floor.answer("one", Ack, failed());
    assert_eq!(posted(&effects).iter().map(|post| post.0.as_str()).collect::<Vec<_>>(), ["two"]);
}

#[test]
fn a_pull_that_was_sent_before_a_claim_was_lost_is_passed_over_and_the_next_one_is_not() {
    let mut floor = Floor::new();
    floor.pulled(&[entry("one", "ack")]);
    let asked = floor.now.mono;
    floor.pass(Duration::from_millis(1));
    floor.answer("one", Started, failed());
    floor.pass(Duration::from_millis(1));
    assert_eq!(
        floor.give(Input::Pulled {
            asked,
            entries: vec![entry("one", "ack")],
            unread: BTreeSet::new()
        }),
        []
    );
    let effects = floor.pulled(&[entry("one", "started")]);
    assert_eq!(posted(&effects)[0].1.error.as_deref(), Some(LOST));
}

#[test]
fn how_many_run_and_how_many_wait_is_told() {
    let mut floor = Floor::new();
    assert_eq!(floor.dispatch.depths(), (0, 0));
    floor.run("one");
    floor.pulled(&[entry("two", "ack"), entry("three", "ack"), entry("four", "ack")]);
    assert_eq!(floor.dispatch.depths(), (1, 2));
}

#[test]
fn a_walk_posts_every_legal_edge_and_then_settles() {
    for (status, legs) in [("pending", &[Ack, Started, Failed][..]), ("ack", &[Started, Failed])] {
        let mut floor = Floor::new();
        let answers: Vec<_> = legs.iter().map(|leg| (*leg, Called::Accepted)).collect();
        let effects = through(&mut floor, &unknown(status), &answers);
        assert_eq!(effects, []);
        assert_eq!(floor.pulled(&[unknown(status)]), []);
    }
}

#[test]
fn one_deadline_of_five_seconds_spans_all_legs() {
    for entry in [entry("one", "pending"), unknown("pending")] {
        let mut floor = Floor::new();
        let effects = floor.pulled(std::slice::from_ref(&entry));
        assert_eq!(posted(&effects)[0].2, Some(seconds(5)));
        floor.pass(seconds(2));
        let effects = floor.answer("one", Ack, Called::Accepted);
        assert_eq!(posted(&effects)[0].2, Some(seconds(3)));
    }
}

#[test]
fn a_leg_that_is_due_after_the_deadline_is_left_to_the_next_pull() {
    for one in [entry("one", "pending"), unknown("pending")] {
        let mut floor = Floor::new();
        floor.pulled(std::slice::from_ref(&one));
        floor.pass(seconds(5));
        let effects = floor.answer("one", Ack, Called::Accepted);
        assert_eq!((statuses(&effects), runs(&effects)), (vec![], vec![]));
        let again = Execution { status: "ack".into(), ..one };
        assert_eq!(statuses(&floor.pulled(&[again])), [Started]);
    }
}

#[test]
fn an_entry_that_lapses_between_claim_and_run_is_reported_without_running() {
    let mut floor = Floor::new();
    let one = Execution {
        expires_at: Some(expires(floor.now.after(seconds(2)).wall)),
        ..entry("one", "ack")
    };
    floor.pulled(&[one]);
    floor.pass(seconds(2));
    let effects = floor.answer("one", Started, Called::Accepted);
    assert_eq!(runs(&effects), []);
    let callback = &posted(&effects)[0].1;
    assert_eq!(callback, &Callback { error: Some(LAPSED.into()), ..Callback::of(Failed) });
}

#[test]
fn a_run_has_the_lesser_of_the_time_left_and_the_longest_allowed() {
    for (left, limit, expected) in [(60, 600, 59), (600, 60, 60)] {
        let mut floor = Floor::new();
        floor.settings.max_action_timeout = seconds(limit);
        let one = Execution {
            expires_at: Some(expires(floor.now.after(seconds(left)).wall)),
            ..entry("one", "ack")
        };
        floor.pulled(&[one]);
        floor.pass(seconds(1));
        let effects = floor.answer("one", Started, Called::Accepted);
        assert_eq!(runs(&effects)[0].1.deadline, seconds(expected));
    }
}

#[test]
fn parameters_reach_the_action_as_text() {
    let mut floor = Floor::new();
    let text = r#"{"a":"x\n","b":true,"c":[1, 2],"d":null,"e":1.50}"#;
    let one = Execution { parameters: Raw::parse(text), ..entry("one", "ack") };
    floor.pulled(&[one]);
    let effects = floor.answer("one", Started, Called::Accepted);
    let Program::Builtin { name, parameters } = &runs(&effects)[0].1.program else {
        panic!("an action of the agent itself")
    };
    assert_eq!(name, "diagnostics.collect");
    let expected = [("a", "x\n"), ("b", "true"), ("c", "[1, 2]"), ("d", "null"), ("e", "1.50")];
    let expected = expected.map(|(name, value)| (name.into(), value.into()));
    assert_eq!(*parameters, expected.into_iter().collect());
}

#[test]
fn parameters_that_are_no_object_are_reported_as_a_failure() {
    for text in ["[1]", "\"x\"", r#"{"a":1,"a":2}"#] {
        let mut floor = Floor::new();
        let one = Execution { parameters: Raw::parse(text), ..entry("one", "ack") };
        floor.pulled(&[one]);
        let effects = floor.answer("one", Started, Called::Accepted);
        assert_eq!(runs(&effects), [], "{text}");
        assert_eq!(posted(&effects)[0].1.error.as_deref(), Some(BAD_PARAMETERS), "{text}");
    }
}

/// Takes a run to a terminal report that failed three times.
fn unreported() -> Floor {
    let mut floor = Floor::new();
    floor.run("one");
    floor.finish("one", Cause::Exited(0));
    let waits = [Duration::from_millis(500), seconds(1)];
    for expected in waits {
        floor.answer("one", Succeeded, failed());
        let (wait, effects) = floor.wake();
        assert_eq!((wait, statuses(&effects)), (expected, vec![Succeeded]));
    }
    floor.answer("one", Succeeded, failed());
    floor
}

#[test]
fn a_terminal_report_is_tried_three_times_then_delivered_on_a_later_started() {
    let mut floor = unreported();
    assert_eq!(floor.dispatch.wakeup(), None);
    let effects = floor.pulled(&[entry("one", "started")]);
    let callback = &posted(&effects)[0].1;
    assert_eq!((callback.status, callback.exit_code), (Succeeded, Some(0)));
    assert_eq!(floor.answer("one", Succeeded, Called::Accepted), []);
    assert_eq!(floor.pulled(&[entry("one", "started")]), []);
}

#[test]
fn what_ran_unreported_is_never_run_again() {
    for status in ["pending", "ack"] {
        let mut floor = unreported();
        let effects = floor.pulled(&[entry("one", status)]);
        assert_eq!((statuses(&effects), runs(&effects)), (vec![], vec![]), "{status}");
        let mut floor = unreported();
        floor.pulled(&[]);
        assert_eq!(floor.pulled(&[entry("one", status)]), [], "{status}, missing for one pull");
    }
}

#[test]
fn a_stale_pull_does_not_cost_the_outcome_that_is_kept() {
    for status in ["pending", "ack"] {
        let mut floor = unreported();
        floor.pulled(&[entry("one", status)]);
        assert_eq!(statuses(&floor.pulled(&[entry("one", "started")])), [Succeeded], "{status}");
    }
}

#[test]
fn an_outcome_or_a_lost_run_is_reported_on_five_pulls_at_most_one_a_pull() {
    for (mut floor, reported) in [(Floor::new(), Failed), (unreported(), Succeeded)] {
        for pull in 1..=5 {
            let effects = floor.pulled(&[entry("one", "started")]);
            assert_eq!(statuses(&effects), [reported], "pull {pull}");
            assert_eq!(posted(&effects)[0].2, Some(seconds(5)));
            assert_eq!(statuses(&floor.answer("one", reported, failed())), [], "pull {pull}");
            assert_eq!(floor.dispatch.wakeup(), None);
        }
        assert_eq!(floor.pulled(&[entry("one", "started")]), [], "the sixth pull");
    }
}

#[test]
fn a_kept_outcome_whose_output_is_too_large_is_reported_without_it_on_the_next_pull() {
    let mut floor = Floor::new();
    floor.run("one");
    floor.finish_with("one", Cause::Exited(0), "much");
    for _ in 0..2 {
        floor.answer("one", Succeeded, failed());
        floor.wake();
    }
    floor.answer("one", Succeeded, failed());
    assert!(posted(&floor.pulled(&[entry("one", "started")]))[0].1.output.is_some());
    floor.answer("one", Succeeded, unacceptable(true));
    let effects = floor.pulled(&[entry("one", "started")]);
    let callback = &posted(&effects)[0].1;
    assert_eq!((callback.status, &callback.output), (Succeeded, &None));
    floor.answer("one", Succeeded, unacceptable(true));
    assert_eq!(floor.pulled(&[entry("one", "started")]), [], "nothing smaller is left to try");
}

#[test]
fn an_answer_about_another_status_than_the_reported_one_is_ignored() {
    let mut floor = Floor::new();
    floor.run("one");
    floor.finish("one", Cause::Exited(0));
    let before = floor.dispatch.clone();
    for status in [Ack, Started, Failed, Cancelled] {
        assert_eq!(floor.answer("one", status, Called::Accepted), [], "{status:?}");
    }
    assert_eq!(floor.dispatch, before);
}

#[test]
fn a_lost_run_is_reported_as_failed_with_its_error() {
    let effects = Floor::new().pulled(&[entry("one", "started")]);
    let expected = Callback { error: Some(LOST.into()), ..Callback::of(Failed) };
    assert_eq!(posted(&effects)[0].1, expected);
}

#[test]
fn a_terminal_refused_or_unacceptable_is_settled_without_another_try() {
    for verdict in [refused(), unacceptable(false), unacceptable(true)] {
        let mut floor = Floor::new();
        floor.run("one");
        floor.finish("one", Cause::Exited(0));
        let effects = floor.answer("one", Succeeded, verdict.clone());
        assert!(matches!(effects.as_slice(), [Effect::Tell(_)]), "{effects:?}");
        assert_eq!(floor.pulled(&[entry("one", "started")]), [], "{verdict:?}");

        let mut floor = Floor::new();
        floor.pulled(&[entry("one", "started")]);
        floor.answer("one", Failed, verdict.clone());
        assert_eq!(floor.pulled(&[entry("one", "started")]), [], "a lost run, {verdict:?}");
    }
}

#[test]
fn an_inline_output_too_large_is_sent_once_more_without_output() {
    let mut floor = Floor::new();
    floor.run("one");
    let effects = floor.finish_with("one", Cause::Exited(0), "text");
    assert!(posted(&effects)[0].1.output.is_some());
    let effects = floor.answer("one", Succeeded, unacceptable(true));
    let expected = Callback { exit_code: Some(0), ..Callback::of(Succeeded) };
    assert_eq!(posted(&effects)[0].1, expected);
    assert_eq!(posted(&floor.answer("one", Succeeded, unacceptable(true))), []);
    assert_eq!(floor.pulled(&[entry("one", "started")]), []);
}

#[test]
fn a_drain_cancels_what_runs_and_reports_it_cancelled() {
    let mut floor = Floor::new();
    floor.run("one");
    assert_eq!(floor.give(Input::Draining), [Effect::Cancel(execution_id("one"))]);
    assert!(!floor.dispatch.is_idle());
    let effects = floor.finish("one", Cause::Cancelled);
    let expected = Callback { exit_code: Some(NO_EXIT_CODE), ..Callback::of(Cancelled) };
    assert_eq!(posted(&effects)[0].1, expected);
    floor.answer("one", Cancelled, Called::Accepted);
    assert!(floor.dispatch.is_idle());
}

#[test]
fn a_claim_accepted_during_a_drain_is_cancelled_without_running() {
    let mut floor = Floor::new();
    floor.pulled(&[entry("one", "ack"), entry("two", "ack")]);
    assert_eq!(floor.give(Input::Draining), []);
    let effects = floor.answer("one", Started, Called::Accepted);
    assert_eq!((statuses(&effects), runs(&effects)), (vec![Cancelled], vec![]));
}

#[test]
fn what_is_only_acknowledged_when_the_drain_begins_is_left_to_the_next_process() {
    let mut floor = Floor::new();
    floor.pulled(&[entry("one", "pending")]);
    assert_eq!(floor.give(Input::Draining), []);
    let effects = floor.answer("one", Ack, Called::Accepted);
    assert_eq!((statuses(&effects), runs(&effects)), (vec![], vec![]));
    assert!(floor.dispatch.is_idle());
}

#[test]
fn a_full_house_has_room_again_once_a_report_is_taken() {
    let mut floor = Floor::new();
    floor.run("x");
    floor.run("y");
    assert_eq!(statuses(&floor.pulled(&[entry("one", "ack")])), []);
    floor.finish("x", Cause::Exited(0));
    floor.answer("x", Succeeded, Called::Accepted);
    assert_eq!(statuses(&floor.pulled(&[entry("one", "ack")])), [Started]);
}

#[test]
fn the_settled_that_are_listed_are_never_forgotten_and_of_the_others_the_oldest_go_first() {
    let mut floor = Floor::new();
    let odd = |number: usize| entry(&number.to_string(), "odd");
    floor.pulled(&(0..SETTLED_MAX).map(odd).collect::<Vec<_>>());
    let second: Vec<_> = (0..8).chain(SETTLED_MAX..SETTLED_MAX + 64).map(odd).collect();
    assert_eq!(floor.pulled(&second).len(), 64, "what is known is passed over");
    assert_eq!(floor.pulled(&second), [], "and again");
    assert_eq!(floor.pulled(&[odd(7), odd(SETTLED_MAX)]), [], "what was listed last is known");
    assert_eq!(floor.pulled(&[odd(8)]).len(), 1, "the oldest that was not is told again");
}

#[test]
fn no_more_entries_of_a_pull_are_looked_at_than_a_limit_says() {
    let mut floor = Floor::new();
    let odd = |number: usize| entry(&number.to_string(), "odd");
    let effects = floor.pulled(&(0..LISTED_MAX + 2).map(odd).collect::<Vec<_>>());
    assert_eq!(effects.len(), LISTED_MAX + 1, "a line each, and one for the two that are left");
}

#[test]
fn an_entry_that_cannot_be_read_keeps_the_outcome_of_its_execution() {
    let mut floor = unreported();
    let unread = BTreeSet::from([execution_id("one")]);
    floor.give(Input::Pulled { asked: floor.now.mono, entries: Vec::new(), unread });
    assert_eq!(statuses(&floor.pulled(&[entry("one", "started")])), [Succeeded]);
}

#[test]
fn of_the_outcomes_that_are_kept_the_first_gives_way_when_there_are_too_many() {
    let mut floor = Floor::new();
    let ids: Vec<_> = (0..=UNREPORTED_MAX).map(|number| format!("{number:04}")).collect();
    let unread: BTreeSet<_> = ids.iter().map(|id| execution_id(id)).collect();
    for id in &ids {
        let expires_at = Some(expires(floor.now.after(seconds(60)).wall));
        let entries = vec![Execution { expires_at, ..entry(id, "ack") }];
        let (asked, unread) = (floor.now.mono, unread.clone());
        floor.give(Input::Pulled { asked, entries, unread });
        floor.answer(id, Started, Called::Accepted);
        floor.finish(id, Cause::Exited(0));
        for _ in 0..2 {
            floor.answer(id, Succeeded, failed());
            floor.wake();
        }
        floor.answer(id, Succeeded, failed());
    }
    assert_eq!(floor.pulled(&[entry(&ids[0], "started")]), [], "the first one is settled");
    let mut floor = unreported();
    assert_eq!(statuses(&floor.pulled(&[entry("one", "started")])), [Succeeded], "one is kept");
}

#[test]
fn a_stop_gives_what_is_being_reported_five_seconds() {
    let mut floor = Floor::new();
    floor.run("one");
    floor.finish("one", Cause::Exited(0));
    assert_eq!(floor.give(Input::Draining), []);
    let (wait, effects) = floor.wake();
    assert_eq!((wait, statuses(&effects)), (STOP_BUDGET, vec![]));
    assert!(floor.dispatch.is_idle(), "it is given up");
    assert_eq!(floor.answer("one", Succeeded, Called::Accepted), [], "a late answer moves nothing");
}

#[test]
fn at_a_stop_a_report_that_fails_is_tried_again_within_its_five_seconds_and_not_kept() {
    let mut floor = Floor::new();
    floor.run("one");
    floor.give(Input::Draining);
    let effects = floor.finish("one", Cause::Cancelled);
    assert_eq!(posted(&effects)[0].2, Some(STOP_BUDGET));
    for wait in [Duration::from_millis(500), seconds(1)] {
        floor.answer("one", Cancelled, failed());
        let (waited, effects) = floor.wake();
        assert_eq!((waited, statuses(&effects)), (wait, vec![Cancelled]));
    }
    floor.answer("one", Cancelled, failed());
    assert!(floor.dispatch.is_idle());
}
