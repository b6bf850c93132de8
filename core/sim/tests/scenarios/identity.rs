//! Registration, and what becomes of an identity.

use meshward_core::{
    agent::OrderKind,
    plane::site,
    wire::http::{Body, Headers, Method, Request},
};
use meshward_sim::{
    Event::{AskRotation, Crash, Damage, FailWrites, PutToken, RestartPlane, Revoke, SetClock},
    Script, World,
    net::Fate,
    route::Route::{Heartbeat, Register, Rotate},
    script::{FAULTS_FOR, Spot, Token},
};

use crate::support::{exited_with, play, play_until, writes};

#[test]
fn a_lost_registration_request_is_sent_again_and_registers() {
    let world = play(Script::quiet(1).meets(Register, 1, Fate::LOST_REQUEST));
    assert_eq!(world.journal.heard(Register), [0, 201]);
    assert_eq!(world.journal.served(Register), [201]);
    assert_eq!(world.journal.deaths(), 0);
}

#[test]
fn a_lost_registration_reply_ends_in_nonce_collision_and_a_fresh_start_registers() {
    let world = play(Script::quiet(1).meets(Register, 1, Fate::LOST_REPLY));
    assert_eq!(world.journal.heard(Register), [0, 403, 201]);
    assert_eq!(world.journal.served(Register), [201, 403, 201]);
    assert!(exited_with(&world, "nonce_collision"));
    assert_eq!(world.nodes[0].life, 2);
}

#[test]
fn a_repeated_registration_request_is_refused_behind_the_answer_that_counts() {
    let world = play(Script::quiet(1).meets(Register, 1, Fate::repeated(5000)));
    assert_eq!(world.journal.served(Register), [201, 403]);
    assert_eq!(world.journal.heard(Register), [201]);
    assert_eq!(world.journal.deaths(), 0);
}

#[test]
fn a_registration_that_is_put_off_keeps_its_nonce_and_key() {
    let script = [429, 503, 500, 501]
        .into_iter()
        .zip(1..)
        .fold(Script::quiet(1), |script, (status, nth)| {
            script.meets(Register, nth, Fate::instead(status))
        });
    let world = play(script);
    assert_eq!(world.journal.heard(Register), [429, 503, 500, 501, 201]);
    assert_eq!(writes(&world, "private_key"), 1);
}

#[test]
fn a_registration_gives_up_after_its_window_and_the_next_start_registers() {
    let script = (1..=11)
        .fold(Script::quiet(1), |script, nth| script.meets(Register, nth, Fate::instead(503)));
    let world = play(script);
    assert!(exited_with(&world, "gave up"), "{:?}", world.journal);
    assert_eq!(world.journal.served(Register), [201]);
}

/// The control plane's own refusal, which the network cannot bring about.
#[test]
fn a_refused_registration_records_no_nonce() {
    let mut world = World::new(Script::quiet(1));
    let mut register = |handle: &str| {
        let body = format!(
            "{{\"project_id\":\"{}\",\"resource_handle\":\"{handle}\",\
             \"bootstrap_token\":\"psb_dev_sim_node_aaaaaaaaaaaaaaaaaaaa\",\
             \"nonce\":\"7b1c8f5e-2a1d-4c55-9d27-0e9b6a3f4c11\",\
             \"public_key\":\"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\"}}",
            site::PROJECT_ID
        );
        let request = Request {
            method: Method::Post,
            path: "/v1/register".to_owned(),
            query: None,
            headers: Headers::new(),
            body: Body::Whole(body.into_bytes()),
        };
        world.ask_plane(request).status
    };
    assert_eq!(register("contended-allocator"), 503);
    assert_eq!(register("unknown-resource"), 404);
    assert_eq!(register("boom-internal"), 500);
    assert_eq!(register("sim-node"), 201);
    assert_eq!(register("sim-node"), 403);
}

#[test]
fn a_crash_behind_the_accepted_registration_registers_afresh_with_another_nonce() {
    let world = play(Script::quiet(1).at(0, Crash { node: 0, spot: Spot::Heard(Register) }));
    assert_eq!(world.journal.served(Register), [201, 201]);
    assert_eq!(world.journal.deaths(), 1);
}

#[test]
fn a_crash_before_any_write_of_an_identity_leaves_none() {
    for write in 0..3 {
        let spot = Spot::Write(OrderKind::Persist, write);
        let script = Script::quiet(1).at(0, Crash { node: 0, spot });
        let broken = play_until(script.clone(), 10);
        assert_eq!(broken.journal.deaths(), 1);
        assert_eq!(broken.nodes[0].disk.identity, None);
        let world = play(script);
        assert_eq!(world.journal.served(Register), [201, 201]);
    }
}

#[test]
fn an_identity_that_cannot_be_written_is_held_and_written_later() {
    let late = Fate::late(3000);
    let script = Script::quiet(1).meets(Register, 1, late).at(2, FailWrites { node: 0, count: 4 });
    let world = play(script);
    assert_eq!(world.journal.served(Register), [201]);
    assert_eq!(world.journal.deaths(), 0);
}

#[test]
fn a_damaged_identity_is_set_aside_and_the_node_registers_afresh() {
    let script = Script::quiet(1)
        .at(100, Damage { node: 0 })
        .at(100, Crash { node: 0, spot: Spot::Behind(0) });
    let world = play(script);
    assert_eq!(world.journal.served(Register), [201, 201]);
}

#[test]
fn a_damaged_identity_that_cannot_be_set_aside_is_not_mixed_with_a_new_one() {
    let script = Script::quiet(1)
        .at(100, Damage { node: 0 })
        .at(100, FailWrites { node: 0, count: 1 })
        .at(100, Crash { node: 0, spot: Spot::Behind(0) });
    let world = play(script);
    assert!(exited_with(&world, "disk takes no new identity"));
    assert_eq!(world.journal.served(Register), [201, 201]);
}

#[test]
fn a_start_with_an_identity_asks_nobody_to_register() {
    let world = play(Script::quiet(1).at(100, Crash { node: 0, spot: Spot::Behind(0) }));
    assert_eq!(world.journal.served(Register), [201]);
    assert_eq!(world.nodes[0].life, 2);
}

#[test]
fn a_restarted_control_plane_finds_the_node_still_in_place() {
    let world = play(Script::quiet(1).at(100, RestartPlane));
    assert_eq!(world.journal.served(Register), [201]);
    assert!(world.journal.served(Heartbeat).iter().all(|status| *status == 200));
}

#[test]
fn a_wrong_clock_has_its_heartbeats_refused_and_registers_nothing_anew() {
    for ahead in [61, -61, 31_536_000, -31_536_000] {
        let script = Script::quiet(1)
            .at(100, SetClock { node: 0, ahead })
            .at(400, SetClock { node: 0, ahead: 0 });
        let world = play(script);
        let refused = world.journal.served(Heartbeat).iter().filter(|s| **s == 400).count();
        assert_eq!(refused, 10, "{ahead} s ahead");
        assert_eq!(world.journal.served(Register), [201]);
        assert_eq!(world.journal.deaths(), 0);
    }
}

#[test]
fn a_node_that_is_refused_for_a_minute_registers_afresh() {
    let script = Script::quiet(1).at(100, Revoke { node: 0 });
    let early = play_until(script.clone(), 165);
    assert_eq!(early.journal.served(Register), [201]);
    assert!(early.journal.heard(Heartbeat).contains(&401));
    let world = play(script);
    assert_eq!(world.journal.served(Register), [201, 201]);
    assert_eq!(world.journal.deaths(), 0);
    assert_eq!(writes(&world, "private_key"), 2);
}

#[test]
fn a_node_without_a_token_stays_what_it_is_until_there_is_one() {
    let script = Script::quiet(1)
        .at(90, PutToken { node: 0, token: Token::None })
        .at(100, Revoke { node: 0 })
        .at(900, PutToken { node: 0, token: Token::Good });
    let without = play_until(script.clone(), 900);
    assert_eq!(without.journal.served(Register), [201]);
    assert_eq!(writes(&without, "moved out"), 0);
    let world = play(script);
    assert_eq!(world.journal.served(Register), [201, 201]);
}

#[test]
fn a_node_that_is_refused_afresh_goes_back_and_spends_no_token_twice() {
    let script = Script::quiet(1)
        .at(90, PutToken { node: 0, token: Token::Consumed })
        .at(100, Revoke { node: 0 });
    let before = play_until(script.clone(), 100);
    let refused = play_until(script.clone(), 1100);
    assert_eq!(refused.journal.served(Register), [201, 403]);
    assert_eq!(refused.nodes[0].disk, before.nodes[0].disk, "all is where it was");
    assert_eq!(refused.journal.deaths(), 0);
    play(script);
}

#[test]
fn a_crash_while_an_identity_makes_room_brings_it_back() {
    let crashes = (0..5).map(|write| Spot::Write(OrderKind::Retire, write)).chain([
        Spot::Write(OrderKind::MakeKey, 0),
        Spot::Sent(Register),
        Spot::Heard(Register),
        Spot::Write(OrderKind::Persist, 0),
        Spot::Write(OrderKind::Persist, 2),
        Spot::Write(OrderKind::Persist, 3),
    ]);
    for spot in crashes {
        let script = Script::quiet(1).at(100, Revoke { node: 0 }).at(100, Crash { node: 0, spot });
        let world = play(script);
        assert_eq!(world.journal.deaths(), 1, "{spot:?}");
        assert_eq!(world.nodes[0].disk.refused, None);
    }
}

#[test]
fn a_crash_while_an_identity_comes_back_loses_nothing_of_it() {
    for write in 0..5 {
        let spot = Spot::Write(OrderKind::Restore, write);
        let script = Script::quiet(1)
            .at(90, PutToken { node: 0, token: Token::Consumed })
            .at(100, Revoke { node: 0 })
            .at(100, Crash { node: 0, spot });
        let before = play_until(script.clone(), 100);
        let broken = play_until(script.clone(), 240);
        assert_eq!(broken.journal.deaths(), 1, "{spot:?}");
        assert_eq!(broken.nodes[0].disk, before.nodes[0].disk);
        play(script);
    }
}

#[test]
fn an_identity_whose_successor_is_lost_on_the_way_goes_on_as_it_was() {
    let script = Script::quiet(1).at(100, Revoke { node: 0 }).meets(Register, 2, Fate::LOST_REPLY);
    let world = play(script);
    assert_eq!(world.journal.heard(Register), [201, 0, 403]);
    assert_eq!(world.journal.deaths(), 0);
}

/// Found by a drawn world: what was damaged makes room as it is, and comes back as it is.
#[test]
fn a_damaged_identity_that_makes_room_and_comes_back_is_set_aside_by_the_next_start() {
    let mut away = 0;
    for second in (FAULTS_FOR - 200..FAULTS_FOR - 60).step_by(10) {
        let script = Script::quiet(1)
            .at(second, Revoke { node: 0 })
            .at(second, Damage { node: 0 })
            .meets(Register, 2, Fate::LOST_REPLY);
        let broken = play_until(script.clone(), FAULTS_FOR);
        away += usize::from(broken.nodes[0].disk.identity.is_none());
        let world = play(script);
        assert!(world.journal.deaths() >= 1, "revoked at {second}");
        assert!(world.nodes[0].disk.identity().is_some(), "revoked at {second}");
    }
    assert!(away > 0, "it has made room in none of them");
}

/// Found by a drawn world: with a staged key the identity is whole on the disk before the last order that brings it back.
#[test]
fn a_crash_while_an_identity_with_a_staged_key_comes_back_in_the_place_of_a_lost_one() {
    for write in 0..6 {
        let spot = Spot::Write(OrderKind::Restore, write);
        let script = Script::quiet(1)
            .at(80, AskRotation)
            .at(100, Revoke { node: 0 })
            .at(100, Crash { node: 0, spot })
            .meets(Rotate, 1, Fate::LOST_REQUEST)
            .meets(Register, 2, Fate::LOST_REPLY);
        let world = play(script);
        assert_eq!(world.journal.heard(Register)[..3], [201, 0, 403], "{spot:?}");
        assert_eq!(world.nodes[0].disk.refused, None, "{spot:?}");
    }
}

/// Found by a drawn world: an identity that cannot make room goes on at once, and offers its staged key afresh.
#[test]
fn an_identity_that_the_disk_keeps_from_making_room_goes_on_and_offers_its_staged_key() {
    let script = Script::quiet(1)
        .at(80, AskRotation)
        .at(100, Revoke { node: 0 })
        .at(101, FailWrites { node: 0, count: 1 })
        .meets(Rotate, 1, Fate::LOST_REQUEST);
    let world = play(script);
    assert_eq!(world.journal.deaths(), 0);
    assert_eq!(world.nodes[0].disk.refused, None);
}
