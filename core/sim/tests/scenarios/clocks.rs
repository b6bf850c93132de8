//! Clocks that drift and jump, machines that are suspended, processes that stand still.

use meshward_sim::{
    Event::{Bus, Dispatch, Drift, Pause, SetClock, Suspend},
    Script,
    net::Fate,
    route::Route::{Events, Heartbeat, Pull, Register, Report, Terminal},
    script::Bus::{Cut, Descope},
};

use crate::support::{play, sent, status};

#[test]
fn a_machine_that_was_suspended_for_a_night_asks_once_of_each_kind_and_is_where_it_was() {
    for seconds in [90, 3_600, 28_800] {
        let world = play(Script::quiet(1).at(100, Suspend { node: 0, seconds }));
        let resumed = 100 + seconds;
        assert_eq!(sent(&world, Heartbeat, 101, resumed), 0);
        assert_eq!(sent(&world, Heartbeat, resumed, resumed + 1), 1, "{seconds} s");
        // Two of them have their cause in the answer to the heartbeat and in the head of the stream.
        assert!(sent(&world, Pull, resumed, resumed + 1) <= 3, "{seconds} s");
        assert!(sent(&world, Events, resumed, resumed + 1) <= 1, "{seconds} s");
        assert_eq!(world.journal.served(Register), [201]);
        assert_eq!(world.journal.deaths(), 0);
    }
}

#[test]
fn a_stream_that_died_while_its_machine_was_suspended_is_asked_for_again_when_it_goes_on() {
    let world = play(Script::quiet(1).at(100, Suspend { node: 0, seconds: 3_600 }));
    assert_eq!(world.journal.served(Events), [200, 200]);
    assert_eq!(sent(&world, Events, 3_700, 3_703), 1);
}

/// Found by a drawn world: the first try behind the night fails at once, and its backoff may be shorter than a second.
#[test]
fn a_stream_that_is_refused_behind_a_night_is_asked_for_again_behind_its_backoff() {
    let mut within_the_second = 0;
    for seed in 1..40 {
        let script = Script::quiet(seed)
            .at(100, Suspend { node: 0, seconds: 28_800 })
            .meets(Events, 1, Fate::instead(401))
            .meets(Events, 2, Fate::instead(503));
        let world = play(script);
        assert_eq!(world.journal.heard(Events), [401, 503, 200]);
        assert_eq!(sent(&world, Events, 28_900, 28_903), 2);
        within_the_second += sent(&world, Events, 28_900, 28_901) - 1;
    }
    assert!(within_the_second > 0);
}

/// Found by a drawn world: the pull that a stream brings behind an absence falls due in the sleep.
#[test]
fn a_pull_that_was_put_off_and_falls_due_while_its_machine_sleeps_is_made_up_for_once() {
    let mut asked = 0;
    for seed in 1..60 {
        let script = Script::quiet(seed)
            .at(77, Bus(Cut { node: 0 }))
            .at(142, Bus(Descope))
            .at(170, Suspend { node: 0, seconds: 25 })
            .meets(Events, 1, Fate::LOST_REPLY)
            .meets(Events, 3, Fate::LOST_REPLY);
        let world = play(script);
        let pulls = sent(&world, Pull, 195, 196);
        assert!(pulls <= 2, "seed {seed}");
        asked += pulls;
    }
    assert!(asked > 0);
}

#[test]
fn a_run_that_was_suspended_with_its_machine_is_finished_and_reported_once() {
    let script = Script::quiet(5)
        .at(40, Dispatch { name: 1, expires: 14_400, known: true })
        .at(61, Suspend { node: 0, seconds: 1_800 });
    let mut world = play(script);
    assert_eq!(world.journal.runs(), 1);
    assert_eq!(world.journal.served(Terminal).len(), 1);
    assert!(["succeeded", "failed"].contains(&status(&mut world, "x-1").as_str()));
}

#[test]
fn what_has_come_while_a_process_stood_still_is_taken_when_it_goes_on() {
    for seconds in [1, 29, 31, 600] {
        let world = play(Script::quiet(1).at(90, Pause { node: 0, seconds }));
        assert!(world.journal.served(Heartbeat).iter().all(|status| *status == 200));
        assert_eq!(world.journal.served(Report).len(), 5, "nothing is told twice");
        assert_eq!(world.journal.deaths(), 0);
    }
}

#[test]
fn clocks_that_are_a_hundredth_fast_or_slow_cost_nothing() {
    for rate in [-10_000, -200, 200, 10_000] {
        let world = play(Script::quiet(1).at(10, Drift { node: 0, rate }));
        assert!(world.journal.served(Heartbeat).iter().all(|status| *status == 200), "{rate}");
        assert_eq!(world.journal.served(Register), [201]);
    }
}

/// The keys of events are held against the wall clock, which may be a year off for a while.
#[test]
fn a_clock_that_jumps_a_year_and_back_leaves_the_stream_open_and_registers_nothing_anew() {
    for ahead in [31_536_000, -31_536_000] {
        let script = Script::quiet(1)
            .at(100, SetClock { node: 0, ahead })
            .at(160, SetClock { node: 0, ahead: 0 });
        let world = play(script);
        assert_eq!(world.journal.served(Events), [200]);
        assert_eq!(world.journal.served(Register), [201]);
        assert!(world.summary.reactions >= 2, "events count again when it is right");
    }
}
