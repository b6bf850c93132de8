//! The stream of events: what reaches a node by it, what is missed, and what nobody signed.

use meshward_sim::{
    Event::{Block, Bus, Crash, RestartPlane, SetClock, Unblock},
    Script, World,
    net::Fate,
    route::Route::{Events, Pull, Rotate},
    script::{
        Bus::{
            Babble, Change, Cut, Descope, Forge, Hush, Restore, RotateKeys, RotateSigning, Stall,
        },
        Flow, Forgery, Spot,
    },
};

use crate::support::{play, play_until, sent};

/// What the node holds of the entry that changes.
fn held(world: &World) -> Option<String> {
    let agent = world.nodes[0].agent.as_ref()?;
    Some(agent.view().data.get("work/changed")?.payload.text().to_owned())
}

#[test]
fn a_change_that_an_event_tells_of_is_pulled_at_once() {
    let script = Script::quiet(1).at(105, Bus(Change));
    assert_eq!(held(&play_until(script.clone(), 104)), None);
    assert!(held(&play_until(script.clone(), 106)).is_some());
    assert_eq!(sent(&play(script), Pull, 105, 106), 1);
}

#[test]
fn a_change_that_no_event_tells_of_is_there_within_one_interval() {
    let script = Script::quiet(1).at(105, Bus(Hush));
    assert_eq!(held(&play_until(script.clone(), 106)), None);
    assert!(held(&play_until(script, 166)).is_some());
}

#[test]
fn a_stream_in_pieces_of_any_size_tells_the_same() {
    for piece in [1, 2, 3, 7, 64, 400] {
        let flow = Flow { piece, ..Flow::PLAIN };
        let world = play(Script::quiet(1).flows(1, flow).at(105, Bus(Change)));
        assert_eq!(world.summary.reactions, 3, "the event, and two behind the faults: {piece}");
        assert_eq!(world.journal.served(Events), [200]);
    }
}

#[test]
fn a_stream_that_is_cut_at_any_byte_is_followed_from_its_last_event() {
    let whole = 500;
    for cut in (0..whole).step_by(23) {
        let flow = Flow { cut: Some(cut), ..Flow::PLAIN };
        let script = Script::quiet(1).flows(1, flow).at(105, Bus(Change)).at(106, Bus(Change));
        let world = play(script.clone());
        assert_eq!(world.journal.served(Events), [200, 200], "{cut}");
        assert!(held(&play_until(script, 110)).is_some(), "{cut}");
    }
}

#[test]
fn a_silent_stream_counts_as_broken_behind_its_idle_limit() {
    let flow = Flow { stall: Some(0), ..Flow::PLAIN };
    let world = play(Script::quiet(1).flows(1, flow));
    assert_eq!(world.journal.served(Events), [200, 200]);
    assert_eq!(sent(&world, Events, 88, 96), 1);
}

/// Found by a drawn world: the check counted the failures before a stream that the node itself had broken off.
#[test]
fn a_stream_that_was_up_for_long_makes_up_for_earlier_failures_though_it_fell_silent() {
    let lost = |script: Script, nth| script.meets(Events, nth, Fate::LOST_REQUEST);
    let script = (1..=3).fold(Script::quiet(1), lost);
    let script = script.at(200, Bus(Stall { node: 0, seconds: 120 })).at(300, Bus(Cut { node: 0 }));
    let world = play(script);
    assert_eq!(world.journal.served(Events), [200, 200, 200]);
    assert_eq!(sent(&world, Events, 300, 303), 1, "as if it were the second failure");
}

#[test]
fn a_number_that_was_missed_leads_to_a_pull() {
    let script = Script::quiet(1)
        .at(100, Bus(Stall { node: 0, seconds: 8 }))
        .at(101, Bus(Babble { count: 80 }))
        .at(110, Bus(Babble { count: 1 }));
    let world = play(script);
    assert_eq!(world.summary.dropped, 16, "the buffer is full");
    assert_eq!(sent(&world, Pull, 108, 110), 0, "of what it knows nothing comes");
    assert_eq!(sent(&world, Pull, 110, 111), 1);
}

/// Found by a drawn world: the gap and the event behind it were two causes of one moment, and two pulls.
#[test]
fn a_missed_number_and_the_event_behind_it_make_one_pull() {
    let script = Script::quiet(1)
        .at(100, Bus(Change))
        .at(105, Bus(Forge { node: 0, forgery: Forgery::Content }))
        .at(110, Bus(Change));
    assert_eq!(sent(&play(script), Pull, 110, 112), 1);
}

#[test]
fn a_ring_that_was_overrun_while_nobody_listened_leads_to_a_pull_all_the_same() {
    let script = Script::quiet(1)
        .at(100, Bus(Cut { node: 0 }))
        .at(100, Bus(Change))
        .at(100, Bus(Babble { count: 100 }));
    let world = play_until(script, 103);
    assert!(held(&world).is_some());
}

#[test]
fn a_cursor_that_the_control_plane_refuses_is_let_go_and_asked_for_no_more() {
    for huge in [true, false] {
        let script = Script::quiet(1)
            .at(100, Bus(Change))
            .at(105, Bus(Forge { node: 0, forgery: Forgery::Cursor { huge } }))
            .at(106, Bus(Cut { node: 0 }));
        let world = play(script);
        assert_eq!(world.journal.served(Events), [200, 400, 200]);
    }
}

#[test]
fn bytes_that_the_control_plane_did_not_sign_lead_to_nothing() {
    let forgeries = [Forgery::Signature, Forgery::Content, Forgery::Stranger, Forgery::Noise];
    for forgery in forgeries {
        let script = Script::quiet(1).at(100, Bus(Change)).at(105, Bus(Forge { node: 0, forgery }));
        let world = play(script);
        assert_eq!(sent(&world, Pull, 105, 110), 0, "{forgery:?}");
        assert_eq!(world.summary.reactions, 3, "{forgery:?}");
    }
}

#[test]
fn a_rotated_key_counts_through_a_crash_and_the_one_before_until_its_end() {
    let former = Bus(Forge { node: 0, forgery: Forgery::Former });
    let script = Script::quiet(1)
        .at(65, Bus(RotateSigning { transition: 40 }))
        .at(75, former)
        .at(76, Crash { node: 0, spot: Spot::Behind(0) })
        .at(136, former)
        .at(145, Bus(Change));
    let world = play(script);
    assert_eq!(world.journal.deaths(), 1);
    assert_eq!(sent(&world, Pull, 75, 76), 1, "it counts for a while");
    assert_eq!(sent(&world, Pull, 136, 138), 0, "its time is over");
    assert_eq!(sent(&world, Pull, 145, 146), 1, "what the next life is told counts");
}

#[test]
fn a_replayed_rotation_leads_back_to_no_key() {
    let script = Script::quiet(1)
        .at(65, Bus(RotateSigning { transition: 0 }))
        .at(70, Bus(RotateSigning { transition: 100 }))
        .at(72, Bus(Forge { node: 0, forgery: Forgery::Replay { back: 1 } }))
        .at(73, Bus(Forge { node: 0, forgery: Forgery::Rollback }))
        .at(75, Bus(Change));
    let world = play(script);
    assert_eq!(sent(&world, Pull, 75, 76), 1, "the newest key counts");
}

#[test]
fn an_event_that_asks_for_a_new_key_rotates_it_at_once() {
    let world = play(Script::quiet(1).at(105, Bus(RotateKeys)));
    assert_eq!(world.journal.served(Rotate), [200]);
    assert_eq!(sent(&world, Rotate, 105, 106), 1);
}

#[test]
fn an_event_counts_for_five_minutes_of_the_nodes_own_clock() {
    let script = Script::quiet(1)
        .at(95, SetClock { node: 0, ahead: 310 })
        .at(105, Bus(Change))
        .at(115, SetClock { node: 0, ahead: 0 });
    assert_eq!(sent(&play(script), Pull, 105, 106), 0);
}

#[test]
fn a_control_plane_without_streams_is_probed_and_followed_when_it_has_them_again() {
    let script = Script::quiet(1).at(100, Bus(Descope)).at(400, Bus(Restore));
    let world = play(script);
    assert_eq!(world.journal.served(Events), [200, 501, 200]);
}

#[test]
fn a_refusal_of_the_stream_is_probed_seldom_and_heals() {
    for status in [401, 403, 404] {
        let script = Script::quiet(1)
            .at(99, Block { route: Events, status })
            .at(100, Bus(Cut { node: 0 }))
            .at(300, Unblock { route: Events });
        let world = play(script);
        assert_eq!(world.journal.heard(Events), [200, status, 200]);
        assert_eq!(sent(&world, Events, 103, 600), 0, "{status}");
    }
}

#[test]
fn a_control_plane_that_starts_anew_is_followed_though_it_counts_from_one_again() {
    let script = Script::quiet(1).at(95, Bus(Change)).at(100, RestartPlane).at(110, Bus(Change));
    let world = play(script);
    assert_eq!(world.journal.served(Events), [200, 200]);
    // Its key is another, which no event of the one before has named.
    assert_eq!(sent(&world, Pull, 110, 111), 1, "the number that went back is a gap");
}
