//! Executions: claimed, run at most once, reported along the table, and brought to an end.

use meshward_sim::{
    Event::{AskRotation, Crash, Dispatch, RestartPlane, SetClock, Stop},
    Script,
    net::{Fate, Passage},
    route::Route::{Ack, Declared, Pull, Register, Started, Terminal},
    script::Spot,
};

use crate::support::{outcome, play, status};

/// One execution that the pull at 60 s brings.
fn dispatched() -> Script {
    Script::quiet(5).at(40, Dispatch { name: 1, expires: 14_400, known: true })
}

const ENDS: [&str; 3] = ["succeeded", "failed", "cancelled"];

#[test]
fn an_execution_is_claimed_run_and_reported() {
    let mut world = play(dispatched());
    for route in [Ack, Started, Terminal] {
        assert_eq!(world.journal.served(route), [200]);
    }
    assert_eq!(world.journal.runs(), 1);
    assert_eq!(status(&mut world, "x-1"), outcome(&world));
}

#[test]
fn a_crash_after_started_is_reported_lost_and_never_run_again() {
    let mut world = play(dispatched().at(40, Crash { node: 0, spot: Spot::Began }));
    assert_eq!(world.journal.runs(), 1);
    assert_eq!(world.journal.served(Terminal), [200]);
    assert_eq!(status(&mut world, "x-1"), "failed");
}

#[test]
fn a_crash_between_the_claim_and_the_run_is_reported_lost() {
    for spot in [Spot::Heard(Started), Spot::Ordered] {
        let mut world = play(dispatched().at(40, Crash { node: 0, spot }));
        assert_eq!(world.journal.runs(), 0);
        assert_eq!(status(&mut world, "x-1"), "failed");
    }
}

#[test]
fn a_crash_behind_ack_runs_it_in_the_next_life() {
    for spot in [Spot::Sent(Ack), Spot::Heard(Ack)] {
        let mut world = play(dispatched().at(40, Crash { node: 0, spot }));
        assert_eq!(world.journal.served(Ack), [200], "it is not acknowledged again");
        assert_eq!(world.journal.runs(), 1);
        assert_eq!(status(&mut world, "x-1"), outcome(&world));
    }
}

#[test]
fn a_crash_behind_the_terminal_report_says_nothing_more() {
    for spot in [Spot::Sent(Terminal), Spot::Heard(Terminal)] {
        let world = play(dispatched().at(40, Crash { node: 0, spot }));
        assert_eq!(world.journal.served(Terminal), [200]);
        assert_eq!(world.journal.runs(), 1);
    }
}

#[test]
fn a_lost_ack_reply_is_followed_by_started_on_the_next_pull() {
    let mut world = play(dispatched().meets(Ack, 1, Fate::LOST_REPLY));
    assert_eq!(world.journal.served(Ack), [200]);
    assert_eq!(world.journal.runs(), 1);
    assert_eq!(status(&mut world, "x-1"), outcome(&world));
}

#[test]
fn a_lost_started_request_runs_on_the_next_pull() {
    let world = play(dispatched().meets(Started, 1, Fate::LOST_REQUEST));
    assert_eq!(world.journal.heard(Started), [0, 200]);
    assert_eq!(world.journal.served(Started), [200]);
    assert_eq!(world.journal.runs(), 1);
}

#[test]
fn a_lost_started_reply_is_reported_lost_and_never_run() {
    let mut world = play(dispatched().meets(Started, 1, Fate::LOST_REPLY));
    assert_eq!(world.journal.served(Started), [200]);
    assert_eq!(world.journal.runs(), 0);
    assert_eq!(status(&mut world, "x-1"), "failed");
}

#[test]
fn a_duplicated_started_callback_does_not_run_twice() {
    let mut world = play(dispatched().meets(Started, 1, Fate::repeated(10)));
    assert_eq!(world.journal.served(Started), [200, 409]);
    assert_eq!(world.journal.runs(), 1);
    assert!(ENDS.contains(&status(&mut world, "x-1").as_str()));
}

#[test]
fn a_claim_that_is_answered_past_its_deadline_is_not_run() {
    let mut world = play(dispatched().meets(Started, 1, Fate::late(6000)));
    assert_eq!(world.journal.heard(Started), [0], "a second try would be refused");
    assert_eq!(world.journal.runs(), 0);
    assert_eq!(status(&mut world, "x-1"), "failed");
}

#[test]
fn a_lost_terminal_reply_is_settled_by_the_refusal_of_its_retry() {
    let mut world = play(dispatched().meets(Terminal, 1, Fate::LOST_REPLY));
    assert_eq!(world.journal.served(Terminal), [200, 409]);
    assert_eq!(world.journal.heard(Terminal), [0, 409]);
    assert_eq!(status(&mut world, "x-1"), outcome(&world));
}

#[test]
fn a_terminal_report_that_failed_three_times_tells_the_true_outcome_on_a_later_pull() {
    let script =
        (1..=3).fold(dispatched(), |script, nth| script.meets(Terminal, nth, Fate::instead(503)));
    let mut world = play(script);
    assert_eq!(world.journal.heard(Terminal), [503, 503, 503, 200]);
    assert_eq!(world.journal.runs(), 1);
    assert_eq!(status(&mut world, "x-1"), outcome(&world));
}

#[test]
fn a_report_that_is_never_taken_is_given_up_after_five_pulls() {
    let script =
        (1..=60).fold(dispatched(), |script, nth| script.meets(Terminal, nth, Fate::instead(503)));
    let mut world = play(script);
    assert_eq!(world.journal.heard(Terminal), [503; 8]);
    assert_eq!(status(&mut world, "x-1"), "started");
}

/// Found by a drawn world: what the control plane refuses is given up, even where only the pull was out of date.
#[test]
fn a_pull_that_is_out_of_date_behind_a_lost_claim_is_passed_over_and_the_next_reports_the_run_as_lost()
 {
    let late = Fate { reply: Passage::After(19_000), ..Fate::PLAIN };
    // The commit of a rotation asks for a pull while the claim that the one before it led to is on its way.
    let script = dispatched()
        .at(40, AskRotation)
        .meets(Ack, 1, Fate::late(100))
        .meets(Pull, 5, late)
        .meets(Started, 1, Fate::LOST_REPLY);
    let mut world = play(script);
    assert_eq!(world.journal.served(Ack), [200], "{:?}", world.journal);
    assert_eq!(world.journal.runs(), 0);
    assert_eq!(status(&mut world, "x-1"), "failed");
}

#[test]
fn an_unknown_action_is_walked_to_failed() {
    let script = Script::quiet(5).at(40, Dispatch { name: 1, expires: 14_400, known: false });
    let mut world = play(script);
    for route in [Ack, Started, Terminal] {
        assert_eq!(world.journal.served(route), [200]);
    }
    assert_eq!(world.journal.runs(), 0);
    assert_eq!(status(&mut world, "x-1"), "failed");
}

#[test]
fn a_walk_that_is_cut_off_goes_on_from_where_it_stands() {
    for cut in [Ack, Started, Terminal] {
        for fate in [Fate::LOST_REQUEST, Fate::LOST_REPLY] {
            let script = Script::quiet(5)
                .at(40, Dispatch { name: 1, expires: 14_400, known: false })
                .meets(cut, 1, fate);
            let mut world = play(script);
            for route in [Ack, Started, Terminal] {
                assert_eq!(world.journal.served(route), [200], "{cut:?} {fate:?}");
            }
            assert_eq!(status(&mut world, "x-1"), "failed");
        }
    }
}

#[test]
fn an_execution_that_has_lapsed_before_a_pull_is_never_spoken_of() {
    let mut world = play(Script::quiet(5).at(40, Dispatch { name: 1, expires: 10, known: true }));
    assert!(world.journal.served(Ack).is_empty());
    assert_eq!(status(&mut world, "x-1"), "");
}

#[test]
fn more_executions_than_may_run_at_once_are_all_run_in_the_end() {
    let script = (1..=8).fold(Script::quiet(5), |script, name| {
        script.at(40, Dispatch { name, expires: 14_400, known: true })
    });
    let mut world = play(script);
    assert_eq!(world.journal.runs(), 8);
    let statuses = world.statuses();
    assert_eq!(statuses.len(), 8);
    assert!(statuses.values().all(|status| ENDS.contains(&status.as_str())), "{statuses:?}");
}

#[test]
fn a_stop_cancels_what_runs_and_reports_it() {
    let mut world = play(dispatched().at(61, Stop { node: 0 }));
    assert_eq!(world.journal.runs(), 1);
    assert_eq!(world.journal.served(Terminal), [200]);
    assert_eq!(status(&mut world, "x-1"), "cancelled");
}

#[test]
fn an_agent_that_remembers_does_not_run_again_for_a_control_plane_that_forgot() {
    let mut world = play(dispatched().at(400, RestartPlane));
    assert_eq!(world.journal.runs(), 1);
    assert_eq!(world.journal.served(Ack), [200]);
    assert_eq!(status(&mut world, "x-1"), "");
}

#[test]
fn a_control_plane_that_forgets_during_a_run_refuses_the_report_and_nothing_runs_twice() {
    let world = play(dispatched().at(61, RestartPlane));
    assert_eq!(world.journal.runs(), 1);
    // A long output is announced first.
    let refused = [Declared, Terminal].map(|route| world.journal.served(route)).concat();
    assert_eq!(refused, [409]);
}

#[test]
fn a_clock_that_is_fast_puts_an_execution_off_until_it_is_right() {
    let script = Script::quiet(5)
        .at(35, SetClock { node: 0, ahead: 20_000 })
        .at(40, Dispatch { name: 1, expires: 14_400, known: true })
        .at(400, SetClock { node: 0, ahead: 0 });
    let mut world = play(script);
    assert_eq!(world.journal.runs(), 1);
    assert_eq!(world.journal.served(Register), [201]);
    assert_eq!(status(&mut world, "x-1"), outcome(&world));
}

#[test]
fn two_nodes_under_one_name_never_run_an_execution_twice() {
    for name in 1..=20 {
        let script = Script::quiet(u64::from(name))
            .nodes(2)
            .at(40, Dispatch { name, expires: 14_400, known: true });
        let mut world = play(script);
        assert!(world.journal.runs() <= 1);
        assert!(ENDS.contains(&status(&mut world, &format!("x-{name}")).as_str()));
    }
}
