//! What a node senses of itself: its endpoint, its manifest, its files; what a drawn world found of them is kept here.

use meshward_sim::{
    Event::{Around, Block, Crash, FailWrites, RestartPlane, Stop, Unblock},
    Script,
    net::Fate,
    route::Route::{Endpoint, Manifest, Violations},
    script::{
        Change::{self, Hook, Hooks, HostKey, Move, Program, Servers},
        Folder, KeyFile, Server, Spot,
    },
};

use crate::support::{play, play_until, sent};

const fn around(change: Change) -> meshward_sim::Event {
    Around { node: 0, change }
}

/// What each world tells when the faults are over: a hook, the host key, the program.
const AFTERWARDS: [u16; 3] = [200; 3];

#[test]
fn a_node_that_moves_is_reported_where_it_is() {
    let world = play(
        Script::quiet(1)
            .at(600, around(Move { place: 7, symmetric: false }))
            .at(700, around(Move { place: 8, symmetric: true })),
    );
    assert_eq!(sent(&world, Endpoint, 600, 661), 1);
    assert!(world.journal.served(Endpoint).iter().all(|status| *status == 200));
}

#[test]
fn an_endpoint_is_reported_on_while_no_server_answers_and_none_where_they_never_did() {
    let deaf = around(Servers(Server::Fails, Server::Lies));
    let world = play_until(Script::quiet(1).at(100, deaf), 1000);
    assert!(sent(&world, Endpoint, 160, 1000) >= 12, "the known one is told on");
    let world = play_until(Script::quiet(1).at(0, deaf), 1000);
    assert_eq!(sent(&world, Endpoint, 0, 1000), 0);
}

#[test]
fn a_control_plane_that_limits_endpoints_is_asked_no_sooner_than_at_the_next_round() {
    let script = Script::quiet(1)
        .at(100, Block { route: Endpoint, status: 429 })
        .at(1100, Unblock { route: Endpoint });
    let world = play(script);
    assert!(sent(&world, Endpoint, 100, 1100) <= 17);
}

#[test]
fn a_changed_hook_is_told_once_by_each_process_and_held_to_what_it_was() {
    let changed = around(Hook { name: 0, content: Some(3) });
    let script = Script::quiet(1)
        .at(100, changed)
        .at(200, Crash { node: 0, spot: Spot::Behind(0) })
        .at(400, around(Hook { name: 0, content: Some(0) }))
        .at(500, changed);
    let world = play(script);
    let told = world.journal.served(Violations);
    assert_eq!(told.len(), 2 + AFTERWARDS.len(), "once before the crash and once behind it");
}

#[test]
fn a_change_during_an_outage_and_a_crash_is_told_when_both_are_over() {
    let script = Script::quiet(1)
        .at(90, Block { route: Violations, status: 503 })
        .at(100, around(Program { content: 3, version: 0 }))
        .at(110, around(HostKey(KeyFile::Key(3))))
        .at(600, Crash { node: 0, spot: Spot::Behind(0) })
        .at(1100, Unblock { route: Violations });
    let world = play(script);
    let told = world.journal.served(Violations);
    assert!(told.iter().all(|status| *status == 200));
    assert!(told.len() > AFTERWARDS.len());
}

#[test]
fn a_process_that_stops_with_violations_in_its_hands_says_so_and_the_next_one_tells_them() {
    let script = Script::quiet(1)
        .at(90, Block { route: Violations, status: 503 })
        .at(100, around(Hook { name: 0, content: Some(3) }))
        .at(200, Stop { node: 0 })
        .at(300, Unblock { route: Violations });
    let world = play(script);
    assert_eq!(world.journal.served(Violations).len(), 1 + AFTERWARDS.len());
}

#[test]
fn a_violation_that_is_refused_alone_is_dropped_and_told_and_not_sent_again() {
    let script = Script::quiet(1).at(100, around(Hook { name: 0, content: Some(3) })).meets(
        Violations,
        1,
        Fate::instead(413),
    );
    let world = play(script);
    assert_eq!(world.journal.heard(Violations)[0], 413);
    assert_eq!(world.journal.served(Violations), AFTERWARDS);
}

#[test]
fn what_the_files_were_is_kept_by_a_disk_that_refuses_at_first() {
    let script = Script::quiet(1)
        .at(0, FailWrites { node: 0, count: 12 })
        .at(300, Crash { node: 0, spot: Spot::Behind(0) })
        .at(310, around(Hook { name: 0, content: Some(3) }));
    let world = play(script);
    assert_eq!(world.journal.served(Violations).len(), 1 + AFTERWARDS.len());
}

#[test]
fn a_new_hook_is_declared_and_one_that_is_gone_is_not() {
    let script = Script::quiet(1)
        .at(100, around(Hook { name: 2, content: Some(1) }))
        .at(200, around(Hook { name: 2, content: None }));
    let world = play(script);
    assert_eq!(sent(&world, Manifest, 100, 110), 1);
    assert_eq!(sent(&world, Manifest, 200, 210), 1);
}

/// The control plane may hold what was not answered.
#[test]
fn what_is_as_it_was_before_a_manifest_without_an_answer_is_declared_once_more() {
    for fate in [Fate::LOST_REPLY, Fate::late(20_000)] {
        let script = Script::quiet(1)
            .at(100, around(Hook { name: 2, content: Some(1) }))
            .at(110, around(Hook { name: 2, content: None }))
            .meets(Manifest, 2, fate);
        play(script);
    }
}

#[test]
fn hooks_that_cannot_be_watched_or_looked_at_are_declared_a_minute_later() {
    for folder in [Folder::Unwatched, Folder::Failing] {
        let script = Script::quiet(1)
            .at(0, around(Hooks(folder)))
            .at(100, around(Hook { name: 2, content: Some(1) }))
            .at(200, around(Hooks(Folder::Watched)));
        let world = play(script);
        assert_eq!(sent(&world, Manifest, 100, 300), 1, "{folder:?}");
    }
}

#[test]
fn a_host_key_that_cannot_be_read_is_declared_as_it_was_and_one_that_is_gone_is_not() {
    let script = Script::quiet(1)
        .at(100, around(HostKey(KeyFile::Unreadable)))
        .at(700, around(HostKey(KeyFile::Absent)));
    let world = play(script);
    assert_eq!(sent(&world, Manifest, 10, 700), 0);
    assert_eq!(sent(&world, Manifest, 700, 1010), 1);
}

#[test]
fn a_control_plane_that_starts_anew_is_told_the_endpoint_within_a_round() {
    let world = play(Script::quiet(1).at(600, RestartPlane));
    assert_eq!(sent(&world, Endpoint, 600, 662), 1);
}
