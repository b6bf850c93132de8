//! Sessions against the list of all snapshots, and every row of the checks through the plane.

use core::time::Duration;
use std::collections::BTreeMap;

use meshward_core::{
    ids::SessionId,
    plane::session::{Effect, Input, Refusal, Sessions, TRACKED_MAX},
    time::{Mono, Now, Wall},
    wire::{
        http::{Body, Method},
        timestamp::Timestamp,
    },
};
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use crate::{
    desk::{Desk, node, text, verdict},
    support,
};

const MALFORMED: &str = "malformed_session_activity";
const SSH: &str = r#"{"ssh":{"command":"ls"}}"#;

fn id(name: u8) -> SessionId {
    SessionId(format!("s{name}"))
}

fn wall(second: u64) -> Wall {
    Wall::from_origin(Duration::from_secs(second))
}

fn now(second: u64) -> Now {
    Now { mono: Mono::default(), wall: wall(second) }
}

/// Deadlines by session, in seconds.
type Post = BTreeMap<u8, Option<u64>>;

fn configured(post: &Post) -> Input {
    let deadline = |at: &u64| Timestamp::from(wall(*at));
    Input::Configured(
        post.iter().map(|(name, until)| (id(*name), until.as_ref().map(deadline))).collect(),
    )
}

#[derive(Clone, Debug)]
enum Act {
    Wait(u64),
    Post(Post),
    Ask(u8),
}

/// What the specification remembers: every snapshot with the second it came in.
#[derive(Clone, Debug, Default)]
struct Remembered {
    second: u64,
    posts: Vec<(u64, Post)>,
    expected: Option<Effect>,
}

impl Remembered {
    /// Walks from the first snapshot that named the session to the present.
    fn verdict(&self, name: u8) -> Effect {
        let mut deadline = None;
        for (at, post) in &self.posts {
            let named = post.get(&name);
            match (deadline, named) {
                (None, None) => {}
                (Some(until), _) if until <= *at => return Effect::Refuse(Refusal::Expired),
                (Some(_), None) => return Effect::Refuse(Refusal::AlreadyRevoked),
                (None | Some(_), Some(None)) => return Effect::Refuse(Refusal::Expired),
                (None | Some(_), Some(Some(until))) => deadline = Some(*until),
            }
        }
        match deadline {
            None => Effect::Refuse(Refusal::NotFound),
            Some(until) if until <= self.second => Effect::Refuse(Refusal::Expired),
            Some(_) => Effect::Accept,
        }
    }
}

struct Model;

impl ReferenceStateMachine for Model {
    type State = Remembered;
    type Transition = Act;

    fn init_state() -> BoxedStrategy<Remembered> {
        Just(Remembered { second: 100, ..Remembered::default() }).boxed()
    }

    fn transitions(state: &Remembered) -> BoxedStrategy<Act> {
        let second = state.second;
        let deadline = prop_oneof![1 => Just(None), 9 => (second - 1..second + 9).prop_map(Some)];
        prop_oneof![
            2 => (0..4u64).prop_map(Act::Wait),
            3 => prop::collection::btree_map(0..4u8, deadline, 0..4).prop_map(Act::Post),
            5 => (0..5u8).prop_map(Act::Ask),
        ]
        .boxed()
    }

    fn apply(mut state: Remembered, act: &Act) -> Remembered {
        state.expected = None;
        match act {
            Act::Wait(seconds) => state.second += seconds,
            Act::Post(post) => {
                state.posts.push((state.second, post.clone()));
                state.expected = Some(Effect::Accept);
            }
            Act::Ask(name) => state.expected = Some(state.verdict(*name)),
        }
        state
    }
}

struct Machine;

impl StateMachineTest for Machine {
    type SystemUnderTest = Sessions;
    type Reference = Model;

    fn init_test(_: &Remembered) -> Sessions {
        Sessions::default()
    }

    fn apply(sessions: Sessions, model: &Remembered, act: Act) -> Sessions {
        let input = match act {
            Act::Wait(_) => return sessions,
            Act::Post(post) => configured(&post),
            Act::Ask(name) => Input::Reported(id(name)),
        };
        let step = sessions.step(now(model.second), input);
        assert_eq!(step.effects, Vec::from_iter(model.expected.clone()));
        step.state
    }
}

prop_state_machine! {
    #![proptest_config(support::seeds_in("session"))]
    #[test]
    fn whichever_end_came_first_stays_whatever_is_posted_later(sequential 1..60 => Machine);
}

proptest! {
    #![proptest_config(support::seeds_in("session"))]
    #[test]
    fn the_same_inputs_give_the_same_verdicts(
        inputs in prop::collection::vec((95..110u64, prop::option::of(0..4u8)), 0..40)
    ) {
        support::replays(&Sessions::default(), &inputs, |state, (second, asked)| {
            let post = Post::from([(second as u8 % 4, Some(104))]);
            let input = asked.map_or_else(|| configured(&post), |name| Input::Reported(id(name)));
            state.step(now(second), input)
        });
    }
}

fn refused(sessions: Sessions, second: u64) -> (Sessions, Option<Refusal>) {
    let step = sessions.step(now(second), Input::Reported(id(1)));
    match step.effects.as_slice() {
        [Effect::Accept] => (step.state, None),
        [Effect::Refuse(refusal)] => (step.state, Some(refusal.clone())),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_end_that_was_seen_outlives_a_clock_that_goes_back() {
    let sessions = Sessions::default().step(now(10), configured(&Post::from([(1, Some(20))])));
    let (sessions, verdict) = refused(sessions.state, 20);
    assert_eq!(verdict, Some(Refusal::Expired));
    assert_eq!(refused(sessions, 10).1, Some(Refusal::Expired));
}

#[test]
fn a_full_table_refuses_the_snapshot_and_goes_on_with_what_it_knows() {
    let many = |count: usize| {
        let deadline = Some(Timestamp::from(wall(100)));
        let named = (0..count).map(|name| (SessionId(format!("s{name}")), deadline));
        Input::Configured(named.collect())
    };
    let full = Sessions::default().step(now(10), many(TRACKED_MAX));
    assert_eq!(full.effects, [Effect::Accept]);
    let refused = full.state.clone().step(now(10), many(TRACKED_MAX + 1));
    assert_eq!(refused.effects, [Effect::Refuse(Refusal::Full)]);
    assert_eq!(refused.state, full.state, "nothing was revoked either");
    assert_eq!(full.state.step(now(11), many(TRACKED_MAX)).effects, [Effect::Accept]);
}

fn tell(desk: &mut Desk, session: &str, row: &str) -> (u16, String) {
    verdict(&desk.ask(Method::Post, &node(&format!("sessions/{session}")), row))
}

/// Posts a snapshot with these sessions, the deadlines in seconds from the desk's time.
fn post(desk: &mut Desk, sessions: &[(&str, Option<i64>)]) {
    let entry = |(name, until): &(&str, Option<i64>)| {
        let wall = desk.now.wall.since_origin().as_secs().cast_signed();
        let deadline = until.map(|seconds| {
            let at = Timestamp::from(self::wall((wall + seconds).cast_unsigned()));
            format!(r#","expires_at":"{at}""#)
        });
        format!(r#"{{"session_id":"{name}"{}}}"#, deadline.unwrap_or_default())
    };
    let entries: Vec<String> = sessions.iter().map(entry).collect();
    let body = format!(r#"{{"sessions":[{}]}}"#, entries.join(","));
    assert_eq!(desk.ask(Method::Post, "/test/configure-state", &body).status, 204);
}

fn wait(desk: &mut Desk, seconds: u64) {
    desk.now = desk.now.after(Duration::from_secs(seconds));
}

fn counts(desk: &mut Desk) -> (u64, u64) {
    (desk.count("session_activity_count"), desk.count("session_activity_rejected_count"))
}

#[test]
fn every_row_of_the_liveness_table_earns_its_answer_and_its_counter() {
    let not_found = (404, "session_not_found".to_owned());
    let revoked = (409, "session_already_revoked".to_owned());
    let expired = (409, "session_expired".to_owned());
    let mut desk = Desk::open();
    assert_eq!(tell(&mut desk, "s", SSH), not_found);
    post(&mut desk, &[("s", Some(60)), ("t", Some(5)), ("now", Some(0)), ("never", None)]);
    assert_eq!(tell(&mut desk, "s", SSH), (204, String::new()));
    assert_eq!(tell(&mut desk, "other", SSH), not_found);
    assert_eq!(counts(&mut desk), (1, 0), "404 moves nothing");
    assert_eq!(tell(&mut desk, "now", SSH), expired);
    assert_eq!(tell(&mut desk, "never", SSH), expired);
    wait(&mut desk, 4);
    assert_eq!(tell(&mut desk, "t", SSH), (204, String::new()));
    wait(&mut desk, 1);
    post(&mut desk, &[]);
    assert_eq!(tell(&mut desk, "s", SSH), revoked);
    assert_eq!(tell(&mut desk, "t", SSH), expired, "it had lapsed before it was left out");
    post(&mut desk, &[("s", Some(60)), ("t", Some(60)), ("never", Some(60))]);
    assert_eq!(tell(&mut desk, "s", SSH), revoked);
    assert_eq!(tell(&mut desk, "t", SSH), expired);
    assert_eq!(tell(&mut desk, "never", SSH), expired);
    assert_eq!(counts(&mut desk), (2, 7));
    let served = text(&desk.ask(Method::Get, &node("state"), ""));
    assert!(served.contains(r#""session_id":"s""#), "an entry is served by its deadline alone");
    wait(&mut desk, 60);
    assert_eq!(tell(&mut desk, "s", SSH), revoked, "what came first stays");
}

#[test]
fn a_later_deadline_extends_a_live_session_and_an_earlier_one_ends_it() {
    let mut desk = Desk::open();
    post(&mut desk, &[("s", Some(10)), ("t", Some(10))]);
    wait(&mut desk, 9);
    post(&mut desk, &[("s", Some(10)), ("t", Some(-1))]);
    wait(&mut desk, 9);
    assert_eq!(tell(&mut desk, "s", SSH).0, 204);
    assert_eq!(tell(&mut desk, "t", SSH).1, "session_expired");
}

#[test]
fn a_snapshot_without_the_block_leaves_every_session_out() {
    for body in [r#"{"sessions":null}"#, "{}"] {
        let mut desk = Desk::open();
        post(&mut desk, &[("s", Some(60))]);
        assert_eq!(desk.ask(Method::Post, "/test/configure-state", body).status, 204);
        assert_eq!(tell(&mut desk, "s", SSH).1, "session_already_revoked", "{body}");
    }
}

#[test]
fn a_refused_snapshot_and_a_changed_heartbeat_revoke_nothing() {
    let mut desk = Desk::open();
    post(&mut desk, &[("s", Some(60))]);
    assert_eq!(desk.ask(Method::Post, "/test/configure-state", "[]").status, 400);
    assert_eq!(desk.ask(Method::Post, "/test/configure-heartbeat", "{}").status, 204);
    assert_eq!(tell(&mut desk, "s", SSH).0, 204);
}

#[test]
fn of_several_entries_with_one_id_the_latest_deadline_counts() {
    for entries in [[Some(60), Some(-1), None], [None, Some(-1), Some(60)]] {
        let mut desk = Desk::open();
        post(&mut desk, &entries.map(|until| ("s", until)));
        assert_eq!(tell(&mut desk, "s", SSH).0, 204, "{entries:?}");
        wait(&mut desk, 60);
        assert_eq!(tell(&mut desk, "s", SSH).1, "session_expired", "{entries:?}");
    }
}

#[test]
fn a_reset_forgets_every_session() {
    let mut desk = Desk::open();
    post(&mut desk, &[("s", None)]);
    assert_eq!(desk.ask(Method::Post, "/test/reset", "").status, 204);
    assert_eq!(tell(&mut desk, "s", SSH).0, 404);
}

#[test]
fn an_id_with_any_characters_is_found_by_its_encoded_path() {
    let mut desk = Desk::open();
    post(&mut desk, &[("a b%é", Some(60))]);
    assert_eq!(tell(&mut desk, "a%20b%25%C3%A9", SSH).0, 204);
}

#[test]
fn the_guard_the_cap_the_shape_and_the_liveness_come_in_this_order() {
    let mut desk = Desk::open();
    let elsewhere = "/v1/nodes/0190A8B8-A0C0-7A0A-8A0A-A0A0A0A0A0A3/sessions/s";
    let mismatch = (403, "nsk_node_mismatch".to_owned());
    let malformed = (400, MALFORMED.to_owned());
    for body in [Body::Oversized, Body::Unreadable, Body::Whole(b"[".to_vec())] {
        assert_eq!(verdict(&desk.ask_with(Method::Post, elsewhere, body)), mismatch);
    }
    let captured = |desk: &mut Desk| {
        let response = desk.ask(Method::Get, "/test/last-request/session_activity", "");
        (response.status == 200).then(|| text(&response))
    };
    for body in [Body::Oversized, Body::Unreadable] {
        let response = desk.ask_with(Method::Post, &node("sessions/s"), body);
        assert_eq!(verdict(&response), malformed, "and not 413, nor 404 for the unknown session");
    }
    assert_eq!(captured(&mut desk), None, "nothing was kept so far");
    assert_eq!(tell(&mut desk, "unknown", "[1"), malformed, "the shape before the session");
    assert_eq!(captured(&mut desk).as_deref(), Some("[1"), "kept although it is refused");
    assert_eq!(tell(&mut desk, "a%00", SSH), malformed);
    post(&mut desk, &[("ended", None)]);
    assert_eq!(tell(&mut desk, "ended", "{}"), malformed, "the shape before the end");
    assert_eq!(counts(&mut desk), (0, 0), "neither 403 nor 400 moves a counter");
}

#[test]
fn every_row_of_the_shape_rules_is_refused() {
    let mut desk = Desk::open();
    post(&mut desk, &[("s", Some(60))]);
    let long = format!(r#"{{"ssh":{{"command":"{}"}}}}"#, "é".repeat(512) + "x");
    let rows = [
        "",
        "null",
        "[]",
        "1",
        "{} {}",
        r#"{"ssh":{"command":"a"}} 1"#,
        r#"{"rdp":{}}"#,
        // Not exactly one.
        "{}",
        r#"{"ssh":null,"k8s":null,"tcp":null}"#,
        r#"{"ssh":{"command":"a"},"k8s":{"verb":"get"}}"#,
        r#"{"k8s":{"verb":"get"},"tcp":{"phase":"session_started"}}"#,
        r#"{"ssh":{"command":"a"},"tcp":{"phase":"session_ended"}}"#,
        r#"{"ssh":{"command":"a"},"k8s":{"verb":"get"},"tcp":{"phase":"session_ended"}}"#,
        r#"{"ssh":{"command":"a"},"ssh":{"command":"a"}}"#,
        // The rules of ssh.
        r#"{"ssh":{}}"#,
        r#"{"ssh":[]}"#,
        r#"{"ssh":{"command":""}}"#,
        r#"{"ssh":{"command":null}}"#,
        r#"{"ssh":{"command":1}}"#,
        r#"{"ssh":{"command":"a","extra":1}}"#,
        r#"{"ssh":{"command":"a","exit_code":1.0}}"#,
        r#"{"ssh":{"command":"a","exit_code":9223372036854775808}}"#,
        r#"{"ssh":{"command":"a","exit_code":"0"}}"#,
        r#"{"ssh":{"command":"a","started_at":"2026-01-15 10:30:00Z"}}"#,
        r#"{"ssh":{"command":"a","started_at":""}}"#,
        r#"{"ssh":{"command":"a","completed_at":1768473000}}"#,
        &long,
        // The rules of k8s.
        r#"{"k8s":{}}"#,
        r#"{"k8s":{"verb":""}}"#,
        r#"{"k8s":{"verb":"get","duration_ms":-1}}"#,
        r#"{"k8s":{"verb":"get","duration_ms":18446744073709551616}}"#,
        r#"{"k8s":{"verb":"get","status_code":1e2}}"#,
        r#"{"k8s":{"verb":"get","name":"a\u0000"}}"#,
        r#"{"k8s":{"verb":"get","labels":{}}}"#,
        // The rules of tcp.
        r#"{"tcp":{}}"#,
        r#"{"tcp":{"phase":""}}"#,
        r#"{"tcp":{"phase":"started"}}"#,
        r#"{"tcp":{"phase":"SESSION_STARTED"}}"#,
        r#"{"tcp":{"phase":"session_ended","terminated_by":"closed"}}"#,
        r#"{"tcp":{"phase":"session_started","terminated_by":"because"}}"#,
        r#"{"tcp":{"phase":"session_ended","terminated_by":1}}"#,
        r#"{"tcp":{"phase":"session_ended","bytes_in":-1}}"#,
        r#"{"tcp":{"phase":"session_ended","bytes_out":0.0}}"#,
        r#"{"tcp":{"phase":"session_started","target_port":65536}}"#,
        r#"{"tcp":{"phase":"session_started","target_port":"22"}}"#,
        r#"{"tcp":{"phase":"session_started","peer":""}}"#,
    ];
    for row in rows {
        assert_eq!(tell(&mut desk, "s", row), (400, MALFORMED.to_owned()), "{row}");
    }
    assert_eq!(counts(&mut desk), (0, 0));
}

#[test]
fn every_sound_row_is_accepted_whatever_the_kind_of_its_session() {
    let mut desk = Desk::open();
    post(&mut desk, &[("s", Some(60))]);
    let exact = format!(r#"{{"ssh":{{"command":"{}"}}}}"#, "é".repeat(512));
    let rows = [
        SSH,
        r#"{"ssh":{"command":" "},"k8s":null}"#,
        r#"{"ssh":{"command":"a\u0000b","exit_code":-9223372036854775808,"started_at":null}}"#,
        r#"{"ssh":{"command":"a","exit_code":-0,"started_at":"2026-01-15T11:30:00+01:00","completed_at":"0001-01-01T00:00:00Z"}}"#,
        &exact,
        r#"{"k8s":{"verb":"get"}}"#,
        r#"{"k8s":{"verb":"get","resource_kind":"","namespace":"","name":"","status_code":-1,"duration_ms":18446744073709551615}}"#,
        r#"{"tcp":{"phase":"session_started"}}"#,
        r#"{"tcp":{"phase":"session_started","terminated_by":"ttl_expired","bytes_in":1}}"#,
        r#"{"tcp":{"phase":"session_ended"}}"#,
        r#"{"tcp":{"phase":"session_ended","terminated_by":"","listener_endpoint":"127.0.0.1:1"}}"#,
        r#"{"tcp":{"phase":"session_ended","terminated_by":"idle_timeout","bytes_in":0,"bytes_out":18446744073709551615}}"#,
        r#"{"tcp":{"phase":"session_ended","terminated_by":"operator_revoke","target_port":0}}"#,
        r#"{"tcp":{"phase":"session_ended","terminated_by":"agent_close","target_host":"db","target_port":65535}}"#,
    ];
    for row in rows {
        let response = desk.ask(Method::Post, &node("sessions/s"), row);
        assert_eq!((response.status, response.body.len()), (204, 0), "{row}: {}", text(&response));
    }
    assert_eq!(counts(&mut desk), (rows.len() as u64, 0));
}
