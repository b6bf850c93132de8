//! Key rotation against the list of completed rotations, and row by row through the plane.

use meshward_core::{
    plane::rotation::{Effect, Input, Refusal, Rotation},
    time::Now,
    wire::{
        grammar::PublicKey,
        http::{Body, Method},
    },
};
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use crate::{
    desk::{Desk, node, text, verdict},
    support,
};

fn key(seed: u8) -> PublicKey {
    PublicKey::from_bytes([seed; 32]).expect("no seed is zero")
}

/// What the specification remembers: whether one is pending, the current key, the keys in order of completion.
#[derive(Clone, Debug, Default)]
struct Remembered {
    armed: bool,
    current: Option<PublicKey>,
    completed: Vec<PublicKey>,
    expected: Option<Verdict>,
}

#[derive(Clone, Debug, PartialEq)]
enum Verdict {
    Completed(u64),
    Replayed(u64),
    Refused(Refusal),
}

impl Remembered {
    fn submitted(mut self, key: PublicKey) -> Self {
        let stored = self.completed.iter().position(|known| *known == key);
        self.expected = Some(match stored {
            Some(at) => Verdict::Replayed(at as u64 + 1),
            None if self.current == Some(key) => Verdict::Refused(Refusal::KeyUnchanged),
            None if !self.armed => Verdict::Refused(Refusal::NoPendingRotation),
            None => {
                self.completed.push(key);
                self.current = Some(key);
                self.armed = false;
                Verdict::Completed(self.completed.len() as u64)
            }
        });
        self
    }
}

fn inputs() -> impl Strategy<Value = Input> {
    let keys = || (1..6u8).prop_map(key);
    prop_oneof![
        2 => Just(Input::Armed),
        1 => keys().prop_map(|key| Input::Registered { key }),
        4 => keys().prop_map(|key| Input::Submitted { key }),
    ]
}

struct Model;

impl ReferenceStateMachine for Model {
    type State = Remembered;
    type Transition = Input;

    fn init_state() -> BoxedStrategy<Remembered> {
        Just(Remembered::default()).boxed()
    }

    fn transitions(_: &Remembered) -> BoxedStrategy<Input> {
        inputs().boxed()
    }

    fn apply(state: Remembered, input: &Input) -> Remembered {
        match *input {
            Input::Armed => Remembered { armed: true, expected: None, ..state },
            Input::Registered { key } => Remembered { current: Some(key), expected: None, ..state },
            Input::Submitted { key } => state.submitted(key),
        }
    }
}

struct Machine;

impl StateMachineTest for Machine {
    type SystemUnderTest = Rotation;
    type Reference = Model;

    fn init_test(_: &Remembered) -> Rotation {
        Rotation::default()
    }

    fn apply(rotation: Rotation, model: &Remembered, input: Input) -> Rotation {
        let step = rotation.step(Now::default(), input);
        let verdicts: Vec<Verdict> = step.effects.into_iter().map(seen).collect();
        assert_eq!(verdicts, Vec::from_iter(model.expected.clone()));
        step.state
    }
}

fn seen(effect: Effect) -> Verdict {
    match effect {
        Effect::Complete(receipt) => {
            assert_eq!(
                receipt.rotation_id,
                format!("e2e-rotation-{:04}", receipt.wrap_key_version)
            );
            assert_eq!(receipt.kid, "did:web:meshward.example#psk-2026-04");
            Verdict::Completed(receipt.wrap_key_version)
        }
        Effect::Replay(receipt) => Verdict::Replayed(receipt.wrap_key_version),
        Effect::Refuse(refusal) => Verdict::Refused(refusal),
    }
}

prop_state_machine! {
    #![proptest_config(support::seeds_in("rotation"))]
    #[test]
    fn every_receipt_is_replayed_for_good_and_every_other_key_needs_a_pending_rotation(
        sequential 1..80 => Machine
    );
}

proptest! {
    #![proptest_config(support::seeds_in("rotation"))]
    #[test]
    fn the_same_inputs_give_the_same_receipts(inputs in prop::collection::vec(inputs(), 0..40)) {
        support::replays(&Rotation::default(), &inputs, |state, input| state.step(Now::default(), input));
    }
}

fn rotate(desk: &mut Desk, key: PublicKey) -> (u16, String) {
    let body = format!("{{\"new_public_key\":\"{key}\"}}");
    let response = desk.ask(Method::Post, "/v1/keys/rotate", &body);
    match response.status {
        200 => (200, text(&response)),
        _ => verdict(&response),
    }
}

fn arm(desk: &mut Desk) {
    let response = desk.ask(Method::Post, "/test/configure-heartbeat", r#"{"rotate_keys":true}"#);
    assert_eq!(response.status, 204);
}

#[test]
fn every_row_of_the_rotation_checks_earns_its_code() {
    let mut desk = Desk::open();
    let zero = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let rows = [
        ("".into(), 400, "malformed_keys_rotate_request"),
        ("null".into(), 400, "malformed_keys_rotate_request"),
        ("[]".into(), 400, "malformed_keys_rotate_request"),
        (r#"{"new_public_key":"x","node_id":"y"}"#.into(), 400, "malformed_keys_rotate_request"),
        (r#"{"new_public_key":1}"#.into(), 400, "malformed_keys_rotate_request"),
        ("{}".into(), 422, "keys_rotate_public_key_invalid"),
        (format!("{{\"new_public_key\":\"{zero}\"}}"), 422, "keys_rotate_public_key_invalid"),
        (format!("{{\"new_public_key\":\"{}\"}}", key(9)), 409, "keys_rotate_no_pending_rotation"),
    ];
    for (body, status, code) in rows {
        let response = desk.ask(Method::Post, "/v1/keys/rotate", &body);
        assert_eq!(verdict(&response), (status, code.to_owned()), "{body}");
    }
    let oversized = desk.ask_with(Method::Post, "/v1/keys/rotate", Body::Oversized);
    assert_eq!(verdict(&oversized), (413, "keys_rotate_body_too_large".into()));
    let cut = desk.ask_with(Method::Post, "/v1/keys/rotate", Body::Unreadable);
    assert_eq!(verdict(&cut), (400, "malformed_keys_rotate_request".into()));
    assert_eq!(desk.count("key_rotate_count"), 0);
}

#[test]
fn a_replay_neither_counts_nor_disarms() {
    let mut desk = Desk::open();
    arm(&mut desk);
    let first = rotate(&mut desk, key(1));
    assert_eq!(first.0, 200);
    arm(&mut desk);
    assert_eq!(rotate(&mut desk, key(1)), first);
    assert_eq!(desk.count("key_rotate_count"), 1);
    assert!(rotate(&mut desk, key(2)).1.contains("\"wrap_key_version\":2"));
    assert_eq!(rotate(&mut desk, key(1)), first, "an older receipt is still replayed");
    assert_eq!(rotate(&mut desk, key(3)), (409, "keys_rotate_no_pending_rotation".into()));
    assert_eq!(desk.count("key_rotate_count"), 2);
}

#[test]
fn the_registered_key_is_unchanged_also_while_armed() {
    let mut desk = Desk::open();
    let body = format!(
        r#"{{"project_id":"0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a0","resource_handle":"r",
        "bootstrap_token":"psb_test_proj_node_abcdefghijklmnopqrst","nonce":"n","public_key":"{}"}}"#,
        key(4)
    );
    assert_eq!(desk.ask(Method::Post, "/v1/register", &body).status, 201);
    arm(&mut desk);
    assert_eq!(rotate(&mut desk, key(4)), (422, "keys_rotate_public_key_unchanged".into()));
    assert_eq!(rotate(&mut desk, key(5)).0, 200, "the refusal did not disarm");
}

#[test]
fn a_served_heartbeat_that_asks_for_a_rotation_arms_again() {
    let mut desk = Desk::open();
    arm(&mut desk);
    assert_eq!(rotate(&mut desk, key(1)).0, 200);
    assert_eq!(rotate(&mut desk, key(2)).0, 409);
    let beat = r#"{"client_now":"2026-01-15T10:30:00Z","binary_version":"1","nat_summary":{},
        "binary_checksum":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="}"#;
    assert_eq!(desk.ask(Method::Post, &node("heartbeat"), beat).status, 200);
    assert_eq!(rotate(&mut desk, key(2)).0, 200);
}
