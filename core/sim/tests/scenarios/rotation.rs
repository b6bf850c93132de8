//! Rotation of the mesh key, with every loss and every crash that has a name.

use meshward_core::agent::OrderKind;
use meshward_sim::{
    Event::{AskRotation, Block, Crash, FailWrites, RestartPlane, Unblock},
    Script, World,
    journal::Entry,
    net::Fate,
    route::Route::Rotate,
    script::Spot,
};

use crate::support::{kept_receipt, play, play_until, writes};

/// A rotation is asked for when the node is long registered; the heartbeat at 90 s carries it.
fn rotating() -> Script {
    Script::quiet(3).at(80, AskRotation)
}

/// The key is another one than at first, and its receipt is the control plane's first.
fn assert_rotated_once(world: &mut World) {
    assert_eq!(world.counter("key_rotate_count"), 1);
    let kept = kept_receipt(world).map(|receipt| receipt.rotation_id);
    assert_eq!(kept.as_deref(), Some("e2e-rotation-0001"));
    assert_eq!(world.nodes[0].disk.staged, None);
}

#[test]
fn a_rotation_stages_offers_and_commits() {
    let mut world = play(rotating());
    assert_eq!(world.journal.served(Rotate), [200]);
    assert_rotated_once(&mut world);
    let files: Vec<_> = world
        .journal
        .entries()
        .filter_map(|entry| if let Entry::Wrote { file, .. } = entry { Some(*file) } else { None })
        .skip(4)
        .collect();
    let expected = ["rotation_pending_key", "private_key", "identity.json", "rotation_pending_key"];
    assert_eq!(files, expected);
}

#[test]
fn a_lost_rotation_request_is_offered_again_with_the_same_key() {
    let mut world = play(rotating().meets(Rotate, 1, Fate::LOST_REQUEST));
    assert_eq!(world.journal.heard(Rotate), [0, 200]);
    assert_eq!(writes(&world, "private_key"), 2);
    assert_rotated_once(&mut world);
}

#[test]
fn a_lost_rotation_reply_is_replayed_with_the_stored_receipt() {
    let mut world = play(rotating().meets(Rotate, 1, Fate::LOST_REPLY));
    assert_eq!(world.journal.served(Rotate), [200, 200]);
    assert_rotated_once(&mut world);
}

#[test]
fn a_late_rotation_request_is_answered_with_the_receipt_of_the_retry() {
    let mut world = play(rotating().meets(Rotate, 1, Fate::late(60_000)));
    assert_eq!(world.journal.served(Rotate), [200, 200]);
    assert_eq!(world.journal.heard(Rotate), [0, 200]);
    assert_rotated_once(&mut world);
}

#[test]
fn a_crash_right_behind_the_offer_goes_on_with_the_staged_key() {
    for fate in [Fate::PLAIN, Fate::LOST_REQUEST, Fate::LOST_REPLY] {
        let script =
            rotating().meets(Rotate, 1, fate).at(80, Crash { node: 0, spot: Spot::Sent(Rotate) });
        let mut world = play(script);
        assert_eq!(world.journal.deaths(), 1);
        assert_rotated_once(&mut world);
    }
}

#[test]
fn a_crash_between_private_key_and_identity_completes_the_rotation() {
    let spot = Spot::Write(OrderKind::Commit, 1);
    let script = rotating().at(80, Crash { node: 0, spot });
    let broken = play_until(script.clone(), 95);
    let disk = &broken.nodes[0].disk;
    assert!(disk.private_key.is_some() && disk.private_key == disk.staged);
    assert_eq!(kept_receipt(&broken), None);
    let mut world = play(script);
    assert_eq!(world.journal.served(Rotate), [200, 200]);
    assert_rotated_once(&mut world);
}

#[test]
fn a_crash_before_any_write_of_a_commit_completes_the_rotation() {
    for write in 0..3 {
        let spot = Spot::Write(OrderKind::Commit, write);
        let mut world = play(rotating().at(80, Crash { node: 0, spot }));
        assert_eq!(world.journal.deaths(), 1);
        assert_eq!(world.journal.served(Rotate), [200, 200]);
        assert_rotated_once(&mut world);
    }
}

#[test]
fn a_crash_before_a_key_is_staged_rotates_with_another() {
    let spot = Spot::Write(OrderKind::Stage, 0);
    let mut world = play(rotating().at(80, Crash { node: 0, spot }).at(200, AskRotation));
    assert_rotated_once(&mut world);
}

#[test]
fn a_key_that_cannot_be_staged_is_not_offered() {
    let script = rotating().at(80, FailWrites { node: 0, count: 3 });
    let broken = play_until(script.clone(), 96);
    assert!(broken.journal.served(Rotate).is_empty());
    let mut world = play(script);
    assert_rotated_once(&mut world);
}

#[test]
fn a_commit_that_cannot_be_written_is_written_later_with_the_same_receipt() {
    for count in 1..6 {
        let script =
            rotating().meets(Rotate, 1, Fate::late(5000)).at(93, FailWrites { node: 0, count });
        let mut world = play(script);
        assert_eq!(world.journal.served(Rotate), [200]);
        assert_rotated_once(&mut world);
    }
}

#[test]
fn a_key_that_a_restarted_control_plane_expects_no_more_is_put_aside() {
    let script = rotating().meets(Rotate, 1, Fate::LOST_REQUEST).at(100, RestartPlane);
    let world = play(script);
    assert_eq!(world.journal.heard(Rotate), [0, 409]);
    assert_eq!(world.nodes[0].disk.staged, None);
    assert_eq!(kept_receipt(&world), None);
}

/// Found by a drawn world: the refused key stayed on disk for good.
#[test]
fn a_key_that_cannot_be_put_aside_is_put_aside_later() {
    let script = rotating()
        .meets(Rotate, 1, Fate::LOST_REQUEST)
        .at(100, RestartPlane)
        // Some of them are of what the pull of other peers brings.
        .at(100, FailWrites { node: 0, count: 8 });
    let world = play(script);
    assert_eq!(world.journal.heard(Rotate), [0, 409]);
    let refused = |entry: &Entry| matches!(entry, Entry::Refused { .. });
    assert!(world.journal.count(refused) >= 2, "{}", world.journal.count(refused));
    assert_eq!(world.nodes[0].disk.staged, None);
}

#[test]
fn a_key_that_cannot_be_put_aside_is_offered_again_as_it_is() {
    let script = rotating()
        .meets(Rotate, 1, Fate::LOST_REQUEST)
        .at(100, RestartPlane)
        .at(100, FailWrites { node: 0, count: 2 })
        .at(140, AskRotation);
    let mut world = play(script);
    assert_eq!(world.journal.heard(Rotate), [0, 409, 200]);
    let staged = writes(&world, "rotation_pending_key");
    assert_eq!(staged, 2, "one key, staged once and committed");
    assert_rotated_once(&mut world);
}

#[test]
fn a_late_offer_of_a_key_that_was_put_aside_finds_it_on_disk_and_the_next_rotation_agrees() {
    let script =
        rotating().meets(Rotate, 1, Fate::late(155_000)).at(100, RestartPlane).at(243, AskRotation);
    let late = play_until(script.clone(), 250);
    assert_eq!(late.journal.served(Rotate), [409, 200]);
    assert_ne!(late.nodes[0].disk.shelved, None, "the key in force is kept");
    let mut world = play(script);
    assert_eq!(world.journal.served(Rotate), [409, 200, 200]);
    assert_rotated_once(&mut world);
    assert_eq!(world.nodes[0].disk.shelved, None);
}

#[test]
fn a_key_that_was_refused_by_the_way_for_long_is_decided_within_two_of_the_longest_waits() {
    for status in [401, 503] {
        for until in (900..1020).step_by(40) {
            let script = rotating()
                .at(85, Block { route: Rotate, status })
                .at(until, Unblock { route: Rotate });
            let before = play_until(script.clone(), until);
            assert_ne!(before.nodes[0].disk.staged, None, "the key is kept");
            let mut world = play_until(script, until + 2 * 120);
            assert_rotated_once(&mut world);
        }
    }
}
