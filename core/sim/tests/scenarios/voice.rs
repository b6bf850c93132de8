//! What nodes tell of themselves: metrics, logs and audit; what a drawn world found of them is kept here.

use meshward_core::agent::Pipe;
use meshward_sim::{
    Event::{Block, Crash, FailWrites, Murmur, RestartPlane, Revoke, Stop, Unblock},
    Script,
    journal::Entry,
    net::Fate,
    route::Route::{Audit, Logs, Metrics},
    script::{
        Murmur::{Burst, Huge},
        Speech, Spot,
    },
};

use crate::support::play;

const MEMORY: Speech = Speech { collect: 60, report: 120, batch: 4, spool: false };
const DISK: Speech = Speech { spool: true, ..MEMORY };

fn both() -> [Script; 2] {
    [MEMORY, DISK].map(|speech| Script::quiet(1).speaks(speech))
}

#[test]
fn what_sources_tell_is_taken_where_nothing_goes_wrong() {
    for script in both() {
        let world = play(script);
        assert!(world.summary.records > 200, "{} records", world.summary.records);
        for route in [Metrics, Logs, Audit] {
            assert!(world.journal.served(route).iter().all(|status| *status == 202));
        }
    }
}

#[test]
fn a_record_that_nothing_lets_pass_is_found_and_dropped_alone() {
    for script in both() {
        let burst = |pipe| Murmur { node: 0, murmur: Burst { pipe, count: 7 } };
        let huge = |pipe| Murmur { node: 0, murmur: Huge { pipe } };
        let world = play(
            script
                .at(100, burst(Pipe::Logs))
                .at(100, huge(Pipe::Logs))
                .at(200, huge(Pipe::Audit))
                .at(200, burst(Pipe::Audit)),
        );
        for route in [Logs, Audit] {
            assert!(world.journal.heard(route).contains(&413), "{route:?}");
        }
    }
}

#[test]
fn an_outage_costs_what_there_is_no_room_for_and_no_more() {
    for script in both() {
        let burst = Murmur { node: 0, murmur: Burst { pipe: Pipe::Audit, count: 30 } };
        play(
            script
                .at(100, Block { route: Logs, status: 503 })
                .at(100, Block { route: Audit, status: 429 })
                .at(400, burst)
                .at(1100, Unblock { route: Logs })
                .at(1100, Unblock { route: Audit }),
        );
    }
}

#[test]
fn a_batch_whose_answer_is_lost_goes_again() {
    for script in both() {
        let world = play(script.meets(Logs, 2, Fate::LOST_REPLY));
        assert!(world.journal.heard(Logs).contains(&0));
    }
}

#[test]
fn a_process_that_is_killed_anywhere_loses_nothing_that_was_to_be_had_again() {
    let spots = [Spot::Spooling, Spot::Spooled, Spot::Sent(Logs), Spot::Heard(Logs), Spot::Kept];
    for spot in spots {
        let world = play((0..4).fold(Script::quiet(1).speaks(DISK), |script, number| {
            script.at(100 + number * 150, Crash { node: 0, spot })
        }));
        assert_eq!(world.journal.deaths(), 4);
    }
}

/// The place that the disk keeps was that of the later lines, and the earlier ones were in memory alone.
#[test]
fn lines_that_the_disk_refused_are_read_again_behind_a_crash() {
    let script = Script::quiet(1)
        .speaks(DISK)
        .at(30, Block { route: Logs, status: 503 })
        .at(110, Murmur { node: 0, murmur: Burst { pipe: Pipe::Logs, count: 3 } })
        .at(119, FailWrites { node: 0, count: 3 })
        .at(200, Crash { node: 0, spot: Spot::Behind(0) })
        .at(400, Unblock { route: Logs });
    let world = play(script);
    let is_refused = |entry: &Entry| matches!(entry, Entry::Spooled { pipe: Pipe::Logs, told, .. } if told.contains("Refused"));
    assert_eq!(world.journal.count(is_refused), 1);
}

/// Its spools cannot be opened by the process that comes next, and by none of the tries of its first two minutes.
#[test]
fn what_a_process_left_on_a_disk_that_is_out_of_reach_for_a_while_comes_behind_what_is_told_meanwhile()
 {
    let script = Script::quiet(1)
        .speaks(DISK)
        .at(30, Block { route: Logs, status: 503 })
        .at(110, Murmur { node: 0, murmur: Burst { pipe: Pipe::Logs, count: 3 } })
        .at(200, Crash { node: 0, spot: Spot::Behind(0) })
        .at(201, FailWrites { node: 0, count: 7 })
        .at(400, Unblock { route: Logs });
    let world = play(script);
    let is_told = |of: Pipe, begins: &'static str| move |entry: &Entry| matches!(entry, Entry::Spooled { pipe, told, .. } if *pipe == of && told.starts_with(begins));
    assert!(world.journal.count(is_told(Pipe::Logs, "Failed")) >= 2);
    assert_eq!(world.journal.count(is_told(Pipe::Logs, "Opened")), 2, "once by each process");
}

/// What waits on the disk is wanted at a stop, and cannot be had while a batch is not answered.
#[test]
fn an_agent_that_stops_while_no_batch_is_answered_goes_round_in_no_circle() {
    for second in [150, 210, 270] {
        let lost = |script: Script, nth| script.meets(Logs, nth, Fate::LOST_REQUEST);
        let script = (1..20).fold(Script::quiet(1).speaks(DISK), lost);
        play(script.at(second, Stop { node: 0 }));
    }
}

/// A stop falls on each second around the fifth refusal.
#[test]
fn an_agent_that_stops_while_it_is_refused_registers_no_more() {
    for second in (215..245).step_by(3) {
        let script = Script::quiet(1)
            .speaks(Speech { report: 60, ..MEMORY })
            .at(100, Revoke { node: 0 })
            .at(second, Stop { node: 0 });
        play(script);
    }
}

#[test]
fn a_control_plane_that_starts_anew_is_told_on() {
    for script in both() {
        play(script.at(600, RestartPlane));
    }
}
