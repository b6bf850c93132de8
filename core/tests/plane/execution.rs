//! Executions: the whole table, a model of long walks, the guards in their order, and uploads.

use meshward_core::{
    plane::execution::{Advance, Effect, Input, Progress},
    step::Step,
    time::Now,
    wire::{
        execution::Status,
        http::{Body, Method},
    },
};
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use crate::{
    desk::{Desk, node, text, verdict},
    support,
};
use Status::{Ack, Cancelled, Failed, Started, Succeeded};

/// The legal rows of the specification's table: current, reported, with declared bytes.
const LEGAL: [(Option<Status>, Status, bool); 11] = [
    (None, Ack, false),
    (None, Ack, true),
    (Some(Ack), Started, false),
    (Some(Ack), Started, true),
    (Some(Started), Started, true),
    (Some(Started), Succeeded, false),
    (Some(Started), Succeeded, true),
    (Some(Started), Failed, false),
    (Some(Started), Failed, true),
    (Some(Started), Cancelled, false),
    (Some(Started), Cancelled, true),
];

#[test]
fn every_status_meets_every_callback_as_the_table_says() {
    let currents = [None].into_iter().chain(Status::ALL.map(Some));
    for current in currents {
        for (status, declares) in Status::ALL.into_iter().flat_map(|s| [(s, false), (s, true)]) {
            let step = Progress(current).step(Now::default(), Input::Reported { status, declares });
            let expected = if LEGAL.contains(&(current, status, declares)) {
                let mints = status == Started && declares;
                let effect = if mints { Effect::AcceptAndMint } else { Effect::Accept };
                Step::to(Progress(Some(status))).emit(effect(status))
            } else if current.is_some_and(Status::is_terminal) {
                Step::to(Progress(current)).emit(Effect::Refuse(Advance::AlreadyTerminal))
            } else {
                Step::to(Progress(current)).emit(Effect::Refuse(Advance::InvalidTransition))
            };
            assert_eq!(step, expected, "{current:?} meets {status:?}, declaring: {declares}");
        }
    }
}

fn inputs() -> impl Strategy<Value = Input> {
    let statuses = || prop::sample::select(Status::ALL.to_vec());
    prop_oneof![
        8 => (statuses(), any::<bool>()).prop_map(|(status, declares)| Input::Reported { status, declares }),
        1 => prop::sample::select(vec![Ack, Started]).prop_map(|status| Input::Seeded { status }),
    ]
}

/// The walk of one execution: the statuses it took, in order.
struct Walk;

impl ReferenceStateMachine for Walk {
    type State = Vec<Status>;
    type Transition = Input;

    fn init_state() -> BoxedStrategy<Vec<Status>> {
        Just(Vec::new()).boxed()
    }

    fn transitions(_: &Vec<Status>) -> BoxedStrategy<Input> {
        inputs().boxed()
    }

    fn apply(mut walk: Vec<Status>, input: &Input) -> Vec<Status> {
        match *input {
            Input::Seeded { status } if walk.is_empty() => walk.push(status),
            Input::Reported { status, declares }
                if LEGAL.contains(&(walk.last().copied(), status, declares)) =>
            {
                walk.push(status);
            }
            Input::Seeded { .. } | Input::Reported { .. } => {}
        }
        walk
    }
}

struct Machine;

impl StateMachineTest for Machine {
    type SystemUnderTest = Progress;
    type Reference = Walk;

    fn init_test(_: &Vec<Status>) -> Progress {
        Progress::default()
    }

    fn apply(progress: Progress, walk: &Vec<Status>, input: Input) -> Progress {
        let step = progress.step(Now::default(), input);
        assert_eq!(step.state, Progress(walk.last().copied()));
        let ends = walk.iter().filter(|status| status.is_terminal()).count();
        assert!(ends <= 1, "an execution ends once: {walk:?}");
        step.state
    }
}

prop_state_machine! {
    #![proptest_config(support::seeds_in("execution"))]
    #[test]
    fn an_execution_walks_the_table_and_ends_once(sequential 1..40 => Machine);
}

proptest! {
    #![proptest_config(support::seeds_in("execution"))]
    #[test]
    fn the_same_callbacks_give_the_same_effects(inputs in prop::collection::vec(inputs(), 0..30)) {
        support::replays(&Progress::default(), &inputs, |state, input| state.step(Now::default(), input));
    }
}

const MALFORMED: &str = "malformed_execution_callback";

fn report(desk: &mut Desk, body: &str) -> (u16, String) {
    verdict(&desk.ask(Method::Post, &node("executions/e1"), body))
}

fn walk_to_started(desk: &mut Desk) {
    for body in [r#"{"status":"ack"}"#, r#"{"status":"started"}"#] {
        assert_eq!(report(desk, body).0, 200);
    }
}

/// The size of base64 with this many bytes behind it, all zero.
fn inline(bytes: usize) -> String {
    let padding = (3 - bytes % 3) % 3;
    let digits = "A".repeat((bytes + padding) / 3 * 4 - padding);
    format!(r#"{{"status":"ack","output":{{"inline":"{digits}{}"}}}}"#, "=".repeat(padding))
}

#[test]
fn every_guard_refuses_in_its_turn_and_changes_nothing() {
    let mut desk = Desk::open();
    let foreign = desk.ask(Method::Post, "/v1/nodes/other/executions/e1", "not json");
    assert_eq!(verdict(&foreign), (403, "nsk_node_mismatch".into()));
    for torn in [Body::Oversized, Body::Unreadable] {
        let answer = desk.ask_with(Method::Post, &node("executions/e1"), torn);
        assert_eq!(verdict(&answer), (400, MALFORMED.into()));
    }
    assert_eq!(desk.ask(Method::Get, "/test/last-request/execution_callback", "").status, 404);
    let rows = [
        ("", 400, MALFORMED),
        ("null", 400, MALFORMED),
        ("{}", 400, MALFORMED),
        (r#"{"status":"pending"}"#, 400, MALFORMED),
        (r#"{"status":"ack","extra":1}"#, 400, MALFORMED),
        (r#"{"status":"ack","output":{"extra":1}}"#, 400, MALFORMED),
        (r#"{"status":"ack","exit_code":1.0}"#, 400, MALFORMED),
        (r#"{"status":"ack","declared_output_bytes":1073741825}"#, 400, MALFORMED),
        (r#"{"status":"failed","output":{"inline":"!"}}"#, 400, MALFORMED),
        (&inline(16_385), 413, "inline_output_too_large"),
        (r#"{"status":"started"}"#, 409, "invalid_state_transition"),
        (r#"{"status":"ack","output":{"object_key":"exec-output/e1"}}"#, 400, MALFORMED),
    ];
    for (body, status, code) in rows {
        assert_eq!(report(&mut desk, body), (status, code.to_owned()), "{body}");
    }
    assert_eq!(text(&desk.ask(Method::Get, "/test/executions", "")), "{}\n");
    assert_eq!(desk.count("execution_callback_count"), 0);
    let nul = desk.ask(Method::Post, &node("executions/e%00"), r#"{"status":"ack"}"#);
    assert_eq!(verdict(&nul), (400, MALFORMED.into()));
    let largest = r#"{"status":"ack","declared_output_bytes":1073741824}"#;
    assert_eq!(report(&mut Desk::open(), largest).0, 200, "exactly at the limit");
    assert_eq!(report(&mut desk, &inline(16_384)).0, 200, "exactly at the limit");
}

#[test]
fn a_settled_execution_refuses_everything() {
    let mut desk = Desk::open();
    walk_to_started(&mut desk);
    let repeated = report(&mut desk, r#"{"status":"started","declared_output_bytes":0}"#);
    assert_eq!(repeated, (409, "invalid_state_transition".into()));
    let done = r#"{"status":"succeeded","exit_code":0,"output":{"sha256":"ignored"}}"#;
    assert_eq!(report(&mut desk, done).0, 200);
    assert_eq!(report(&mut desk, done), (409, "execution_already_terminal".into()));
    assert_eq!(desk.count("execution_callback_count"), 3);
    assert_eq!(text(&desk.ask(Method::Get, "/test/executions", "")), "{\"e1\":\"succeeded\"}\n");
}

/// The digest of the bytes "abc".
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn settle(key: &str, digest: &str) -> String {
    format!(r#"{{"status":"succeeded","output":{{"object_key":"{key}","sha256":"{digest}"}}}}"#)
}

#[test]
fn an_upload_goes_through_once_and_its_digest_settles_the_execution() {
    let mut desk = Desk::open();
    assert_eq!(report(&mut desk, r#"{"status":"ack"}"#).0, 200);
    let declaring = r#"{"status":"started","declared_output_bytes":3}"#;
    let minted = text(&desk.ask(Method::Post, &node("executions/e1"), declaring));
    let url = "http://plane.test:80/exec-output/e1?token=exec-upload-0001";
    assert_eq!(minted, format!("{{\"status\":\"started\",\"output_upload_url\":\"{url}\"}}\n"));

    let mut put = |target: &str, body: Body| verdict(&desk.ask_with(Method::Put, target, body));
    let good = "/exec-output/e1?x=1&token=exec-upload-0001&token=other";
    let abc = || Body::Whole(b"abc".to_vec());
    assert_eq!(put("/exec-output/e1", abc()).0, 404);
    assert_eq!(put("/exec-output/e1?token=exec-upload-1", abc()).0, 404);
    assert_eq!(put("/exec-output/e2?token=exec-upload-0001", abc()).0, 404);
    assert_eq!(put(good, Body::Whole(b"abcd".to_vec())), (413, String::new()));
    assert_eq!(put(good, Body::Oversized), (413, String::new()));
    assert_eq!(put(good, Body::Unreadable), (400, String::new()));
    assert_eq!(put(good, abc()).0, 200);
    assert_eq!(put(good, abc()), (409, String::new()));
    assert_eq!(put(good, Body::Oversized), (409, String::new()), "used comes before its size");

    assert_eq!(desk.count("execution_upload_count"), 1);
    let stored = desk.ask(Method::Get, "/test/exec-output/e1", "");
    assert_eq!((stored.status, stored.body.as_slice()), (200, b"abc".as_slice()));
    for (key, digest) in [
        ("exec-output/e2", ABC),
        ("e1", ABC),
        ("exec-output/e1", ""),
        ("exec-output/e1", &ABC.to_uppercase()),
    ] {
        assert_eq!(
            report(&mut desk, &settle(key, digest)),
            (400, MALFORMED.into()),
            "{key} {digest}"
        );
    }
    assert_eq!(report(&mut desk, &settle("exec-output/e1", ABC)).0, 200);
}

#[test]
fn a_second_declaration_mints_a_second_url_and_either_digest_settles() {
    let mut desk = Desk::open();
    walk_to_started(&mut desk);
    for number in 1..=2 {
        let declaring = r#"{"status":"started","declared_output_bytes":9}"#;
        let minted = text(&desk.ask(Method::Post, &node("executions/e1"), declaring));
        assert!(minted.contains(&format!("exec-upload-000{number}")), "{minted}");
    }
    for (token, bytes) in [("exec-upload-0002", "later"), ("exec-upload-0001", "abc")] {
        let target = format!("/exec-output/e1?token={token}");
        assert_eq!(desk.ask(Method::Put, &target, bytes).status, 200);
    }
    assert_eq!(report(&mut desk, &settle("exec-output/e1", ABC)).0, 200);
}
