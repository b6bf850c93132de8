//! Reports: what programs write, and what becomes of it when the disk, the process or the network gives way.

use meshward_sim::{
    Event::{Block, Crash, DeleteReport, FailWrites, PutReport, RestartPlane, Stop, Unblock},
    Script, World,
    net::Fate,
    route::Route::Report,
    script::Spot,
};

use crate::support::{play, play_until};

const DAY: u64 = 86_400;

/// The agent's own reports, which a node delivers first.
const OWN: usize = 5;

const fn put(value: u32) -> meshward_sim::Event {
    PutReport { node: 0, key: 1, value }
}

const DELETE: meshward_sim::Event = DeleteReport { node: 0, key: 1 };

/// What the control plane answered behind the agent's own reports.
fn served(world: &World) -> Vec<u16> {
    world.journal.served(Report)[OWN..].to_vec()
}

/// The value that the control plane holds, as the fixture tells what it took last.
fn last_taken(world: &mut World) -> String {
    world.last_report()
}

#[test]
fn a_report_is_delivered_once_and_so_is_its_deletion() {
    let mut world = play(Script::quiet(1).at(100, put(7)).at(200, DELETE));
    assert_eq!(world.journal.replied(), [200, 204]);
    assert_eq!(served(&world), [200, 204]);
    assert_eq!(last_taken(&mut world), "7");
}

#[test]
fn writes_within_the_debounce_period_are_delivered_as_one() {
    let script = (0..4)
        .fold(Script::quiet(1), |script, value| script.at(100 + u64::from(value), put(value)));
    let mut world = play(script);
    assert_eq!(world.journal.replied(), [200; 4]);
    assert_eq!(served(&world), [200]);
    assert_eq!(last_taken(&mut world), "3");
}

/// The checks demand at every moment that what was answered for is on the disk, and in the end on both sides.
#[test]
fn a_day_of_503_loses_nothing_and_ends_with_the_last_version() {
    let mut script = Script::quiet(1)
        .at(60, Block { route: Report, status: 503 })
        .at(DAY, Unblock { route: Report });
    for hour in 0..24 {
        script = script.at(100 + hour * 3600, put(hour as u32));
        if hour % 5 == 4 {
            script = script.at(2000 + hour * 3600, Crash { node: 0, spot: Spot::Behind(3) });
        }
    }
    script = script.at(DAY - 100, DeleteReport { node: 0, key: 2 });
    let mut world = World::new(script);
    world.finish_script().unwrap_or_else(|violation| panic!("{violation}"));
    let replied = world.journal.replied();
    assert_eq!(replied.iter().filter(|status| **status == 200).count(), 24);
    assert_eq!(last_taken(&mut world), "23");
    assert_eq!(served(&world), [200], "only the last version crosses the network");
    let refused = world.journal.heard(Report).iter().filter(|status| **status == 503).count();
    assert!(refused >= 2 * 60 * 22, "{refused} tries, one in half a minute");
}

#[test]
fn where_reports_are_not_provisioned_they_are_offered_every_five_minutes_and_kept() {
    let script = Script::quiet(1)
        .at(60, Block { route: Report, status: 501 })
        .at(100, put(1))
        .at(1500, PutReport { node: 0, key: 2, value: 2 })
        .at(3100, Unblock { route: Report });
    let world = play(script);
    let refused = world.journal.heard(Report).iter().filter(|status| **status == 501).count();
    assert_eq!(refused, 10, "a try every five minutes, of the first key alone");
    assert_eq!(served(&world), [200, 200]);
}

#[test]
fn a_crash_right_behind_the_answer_loses_nothing() {
    let script = Script::quiet(1).at(100, put(1)).at(100, Crash { node: 0, spot: Spot::Behind(0) });
    let mut world = play(script);
    assert_eq!(world.journal.replied(), [200]);
    assert_eq!(world.journal.deaths(), 1);
    assert_eq!(served(&world), [200]);
    assert_eq!(last_taken(&mut world), "1");
}

#[test]
fn a_crash_between_the_disk_and_the_answer_delivers_what_is_on_the_disk() {
    let script = Script::quiet(1).at(99, Crash { node: 0, spot: Spot::Kept }).at(100, put(1));
    let mut world = play(script);
    assert!(world.journal.replied().is_empty(), "nobody was told");
    assert_eq!(world.journal.deaths(), 1);
    assert_eq!(last_taken(&mut world), "1");
}

#[test]
fn a_crash_behind_a_delivery_that_was_not_noted_delivers_the_same_again() {
    let script =
        Script::quiet(1).at(100, put(1)).at(101, Crash { node: 0, spot: Spot::Heard(Report) });
    let mut world = play(script);
    assert_eq!(served(&world), [200, 200]);
    assert_eq!(last_taken(&mut world), "1");
}

#[test]
fn a_lost_answer_is_asked_for_again_after_the_retry_rest() {
    let nth = OWN as u32 + 1;
    for fate in [Fate::LOST_REQUEST, Fate::LOST_REPLY, Fate::instead(429)] {
        let mut world = play(Script::quiet(1).at(100, put(1)).meets(Report, nth, fate));
        assert_eq!(world.journal.heard(Report).last(), Some(&200));
        assert_eq!(world.journal.heard(Report).len(), OWN + 2, "{fate:?}");
        assert_eq!(last_taken(&mut world), "1");
    }
}

#[test]
fn a_write_that_overtakes_the_delivery_of_its_key_is_delivered_behind_it() {
    let nth = OWN as u32 + 1;
    let script =
        Script::quiet(1).at(100, put(1)).at(106, put(2)).meets(Report, nth, Fate::late(3000));
    let mut world = play(script);
    assert_eq!(served(&world), [200, 200]);
    assert_eq!(last_taken(&mut world), "2");
}

#[test]
fn a_full_disk_refuses_a_write_and_keeps_what_was_there() {
    let script = Script::quiet(1)
        .at(100, put(1))
        .at(200, FailWrites { node: 0, count: 2 })
        .at(201, put(2))
        .at(202, DELETE)
        .at(203, DELETE);
    let world = play(script);
    assert_eq!(world.journal.replied(), [200, 500, 204, 404]);
    assert_eq!(served(&world), [200, 204]);
}

#[test]
fn a_report_from_before_the_registration_is_delivered_behind_it() {
    let script = (1..=5)
        .fold(Script::quiet(1), |script, nth| {
            script.meets(meshward_sim::route::Route::Register, nth, Fate::instead(503))
        })
        .at(1, put(1));
    let world = play(script);
    assert_eq!(world.journal.replied(), [200]);
    assert_eq!(world.journal.served(Report), [200; OWN + 1]);
}

#[test]
fn a_stop_leaves_what_is_not_delivered_to_the_next_start() {
    let script = Script::quiet(1).at(100, put(1)).at(101, Stop { node: 0 });
    let broken = play_until(script.clone(), 110);
    assert_eq!(broken.journal.served(Report), [200; OWN]);
    let mut world = play(script);
    assert_eq!(last_taken(&mut world), "1");
}

#[test]
fn what_a_control_plane_that_forgot_does_not_have_can_be_deleted() {
    let script = Script::quiet(1).at(100, put(1)).at(200, RestartPlane).at(300, DELETE);
    let world = play(script);
    assert_eq!(served(&world), [200, 404]);
}
