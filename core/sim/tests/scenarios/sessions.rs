//! Sessions: opened, told of in order whatever the network does, and closed when they leave the desired state.

use meshward_sim::{
    Event::{Block, Crash, EndSession, OpenSession, RestartPlane, Stop, Unblock},
    Script, World,
    journal::Entry,
    net::{Fate, Passage},
    route::Route::{SessionEnded, SessionStarted},
    script::Spot,
};

use crate::support::play;

/// One session that the pull at 60 s brings, and that lapses ten minutes later.
fn listed() -> Script {
    Script::quiet(5).at(40, OpenSession { name: 1, expires: 600, idle: false })
}

fn listeners(world: &World) -> usize {
    world.journal.count(|entry| matches!(entry, Entry::Listens { .. }))
}

#[test]
fn a_session_is_told_when_it_opens_and_its_end_is_refused_as_expired() {
    let world = play(listed());
    assert_eq!(listeners(&world), 1);
    assert_eq!(world.journal.served(SessionStarted), [204]);
    assert_eq!(world.journal.served(SessionEnded), [409], "both clocks say the same");
}

#[test]
fn a_session_that_leaves_the_desired_state_is_closed_and_its_end_refused_as_revoked() {
    let world = play(listed().at(200, EndSession { name: 1 }));
    assert_eq!(world.journal.served(SessionStarted), [204]);
    assert_eq!(world.journal.served(SessionEnded), [409]);
}

#[test]
fn a_stop_tells_the_end_and_the_next_life_opens_it_anew() {
    let world = play(listed().at(200, Stop { node: 0 }));
    assert_eq!(listeners(&world), 2);
    assert_eq!(world.journal.served(SessionStarted), [204, 204]);
    assert_eq!(world.journal.served(SessionEnded), [204, 409]);
}

#[test]
fn a_crash_tells_nothing_and_the_next_life_opens_it_anew() {
    let world = play(listed().at(200, Crash { node: 0, spot: Spot::Behind(0) }));
    assert_eq!(listeners(&world), 2);
    assert_eq!(world.journal.served(SessionStarted), [204, 204]);
    assert_eq!(world.journal.served(SessionEnded), [409]);
}

#[test]
fn a_begin_whose_answer_is_lost_is_told_again_with_the_next_pull() {
    for fate in [Fate::LOST_REPLY, Fate::LOST_REQUEST, Fate::instead(503), Fate::instead(404)] {
        let world = play(listed().meets(SessionStarted, 1, fate));
        assert_eq!(world.journal.served(SessionStarted).last(), Some(&204), "{fate:?}");
        let heard = world.journal.heard(SessionStarted);
        assert_eq!((heard.len(), heard[1]), (2, 204), "{fate:?}");
        assert_eq!(listeners(&world), 1, "its listener is kept");
    }
}

#[test]
fn a_begin_that_comes_behind_the_revocation_closes_the_session_without_an_end() {
    // The first row is lost; by the pull that would tell it again the operator has ended the session for good, on a
    // control plane whose pull was answered before.
    let late = Fate { request: Passage::After(10_000), ..Fate::PLAIN };
    let world = play(listed().meets(SessionStarted, 1, late).at(61, EndSession { name: 1 }));
    assert_eq!(world.journal.served(SessionStarted), [409]);
    assert_eq!(world.journal.served(SessionEnded), [0; 0]);
}

#[test]
fn an_end_is_tried_three_times_and_then_given_up() {
    let block = Block { route: SessionEnded, status: 503 };
    let world = play(listed().at(100, block).at(200, EndSession { name: 1 }));
    assert_eq!(world.journal.heard(SessionEnded), [503; 3]);
    let unblock = Unblock { route: SessionEnded };
    let script = listed().at(100, block).at(200, Stop { node: 0 }).at(220, unblock);
    let world = play(script.at(220, EndSession { name: 1 }));
    assert_eq!(world.journal.heard(SessionEnded), [503], "once in a stop");
}

#[test]
fn a_control_plane_that_has_forgotten_is_told_nothing_twice() {
    let world = play(listed().at(200, RestartPlane));
    assert_eq!(listeners(&world), 1);
    assert_eq!(world.journal.served(SessionStarted), [204]);
}

/// Found by a drawn world: the control plane restarts before it is told of the end.
#[test]
fn the_end_of_a_session_that_the_control_plane_has_forgotten_is_told_once_and_dropped() {
    let world = play(listed().at(200, EndSession { name: 1 }).at(201, RestartPlane));
    assert_eq!(world.journal.served(SessionEnded), [404]);
    assert_eq!(listeners(&world), 1);
}
