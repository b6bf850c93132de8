//! Whether an event counts: each check, its text and its place in the order, up to the bounds of time and of strictness.

use std::time::Duration;

use ed25519_dalek::{Signature, SigningKey};
use meshward_core::{
    agent::signing::{
        Effect, Input, KIND_SHOWN_MAX, KINDS_MAX, RECONCILING, Reaction, Refused, SKEW_MAX,
        Signing, TOLD_EVERY,
    },
    agent::{Level, Notice},
    time::Wall,
    wire::{
        event::{Event, sealed},
        grammar::{base64_bytes, base64_text},
        timestamp::Timestamp,
    },
};

use crate::{
    bench::{at, seconds, start},
    signed::Signer,
};

/// The machine of a node that registered with this key.
pub(crate) fn armed(signer: &Signer) -> Signing {
    Signing::default().step(start(), Input::Armed(signer.identity())).state
}

fn refused(signing: &Signing, now: Wall, data: &[u8]) -> String {
    match signing.judge(now, data) {
        Ok(event) => format!("accepted: {event:?}"),
        Err(refused) => refused.to_string(),
    }
}

const NOW: Duration = Duration::ZERO;

fn wall(since: Duration) -> Wall {
    at(since).wall
}

#[test]
fn both_vectors_of_the_contract_are_accepted() {
    let pair = SigningKey::from_bytes(&std::array::from_fn(|at| at as u8));
    let signer = Signer { id: "did:web:example.test#key-e2e".into(), pair };
    let signing = armed(&signer);
    let now = |text: &str| {
        let at = Timestamp::parse(text).expect("a time");
        Wall::from_origin(at.left(Wall::from_origin(Duration::ZERO)))
    };
    let one = br#"{"payload":{ "b" : 1.50, "a": "<x> &" },"id":"evt-vec-001","type":"node_state_updated","scope":"",
        "key_id":"did:web:example.test#key-e2e","issued_at":"2026-01-15T10:30:00.12Z","signature":
        "+3T1H78aHB1O0yGV8LHl35D8WmwVz3D06s9BDujdfiGPzBdVE2JqffazoeU92AbTlNw1A99OSCPJKZxdhe/xDQ=="}"#;
    let two = br#"{"id":"evt-vec-002","type":"rotate_keys","scope":"node","unknown":[1],
        "key_id":"did:web:example.test#key-e2e","issued_at":"2026-01-15T10:30:00Z","signature":
        "CnXN5Lo6+YDop86wvfgz5kS5fJZJ5qnMqZN2MS65xn+yhWDDR3KadOQm9tE0dVh1tC1JRrX5EBKIoxeKOPGgBQ=="}"#;
    let noon = now("2026-01-15T10:31:00Z");
    let kind = |data: &[u8]| signing.judge(noon, data).map(|event| event.kind);
    assert_eq!(kind(one), Ok("node_state_updated".into()));
    assert_eq!(kind(two), Ok("rotate_keys".into()));
    let other = String::from_utf8_lossy(two).replace("node", "nodf");
    assert_eq!(kind(other.as_bytes()), Err(Refused::Signature));
}

/// The members of an envelope as they are written.
#[derive(Clone)]
struct Members(Vec<(&'static str, String)>);

impl Members {
    fn sound(signer: &Signer) -> Self {
        let event = signer.event(wall(NOW), "policy_updated", "{}");
        let signature = base64_text(
            &ed25519_dalek::Signer::sign(&signer.pair, &event.signed_bytes()).to_bytes(),
        );
        let text = |text: String| format!("\"{text}\"");
        Self(vec![
            ("id", text(event.id)),
            ("type", text(event.kind)),
            ("scope", text(event.scope)),
            ("key_id", text(event.key_id)),
            ("issued_at", text(event.issued_at.to_string())),
            ("payload", "{}".into()),
            ("signature", text(signature)),
        ])
    }

    fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        let place = self.0.iter_mut().find(|(member, _)| *member == name).expect("a member");
        place.1 = value.into();
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.0.retain(|(member, _)| *member != name);
        self
    }

    fn text(&self) -> Vec<u8> {
        let members: Vec<_> =
            self.0.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(",")).into_bytes()
    }
}

#[test]
fn the_first_check_that_fails_gives_its_text_whatever_fails_behind_it() {
    let signer = Signer::new(1);
    let signing = armed(&signer);
    let sound = Members::sound(&signer);
    let time = |since: i64| {
        let now = wall(seconds(1_000));
        let moved = now.since_origin().saturating_sub(seconds(1_000));
        let moved = if since < 0 {
            moved - seconds(since.unsigned_abs())
        } else {
            moved + seconds(since.unsigned_abs())
        };
        format!("\"{}\"", Timestamp::from(Wall::from_origin(moved)))
    };
    // Each spoils one thing more than the next, and its own check comes first.
    let unsigned = sound.clone().with("signature", "\"AAAA\"");
    let unknown = unsigned.clone().with("key_id", "\"other\"");
    let stale = unknown.clone().with("issued_at", time(-301));
    let future = unknown.clone().with("issued_at", time(301));
    let spelled = time(-301).replace("Z\"", "+00:00\"");
    let odd = unknown.clone().with("issued_at", spelled);
    let undated = odd.clone().without("issued_at");
    let bare = undated.clone().with("signature", "\"\"");
    let kindless = bare.clone().with("type", "\"\"");
    let nameless = kindless.clone().with("id", "\"\"");
    let rows = [
        (nameless.clone(), "missing id"),
        (nameless.without("id"), "missing id"),
        (kindless.clone(), "missing type"),
        (kindless.without("type"), "missing type"),
        (bare.clone(), "missing signature"),
        (bare.without("signature"), "missing signature"),
        (undated, "missing issued_at"),
        (odd.clone().with("issued_at", "null"), "missing issued_at"),
        (odd.clone().with("issued_at", "\"0001-01-01T00:00:00Z\""), "missing issued_at"),
        (odd, "issued_at is not in its canonical form"),
        (stale, "event is stale"),
        (future, "event timestamp is in the future"),
        (unknown.clone(), "unknown signing key id"),
        (unknown.clone().with("key_id", "\"\""), "unknown signing key id"),
        (unknown.without("key_id"), "unknown signing key id"),
        (unsigned, "signature verification failed"),
    ];
    for (members, text) in rows {
        let data = members.text();
        assert_eq!(refused(&signing, wall(NOW), &data), text, "{}", data.escape_ascii());
    }
    assert!(signing.judge(wall(NOW), &sound.text()).is_ok());
}

#[test]
fn what_is_no_envelope_is_refused_as_malformed() {
    let signer = Signer::new(1);
    let (signing, sound) = (armed(&signer), Members::sound(&signer));
    let whole = String::from_utf8(sound.text()).expect("text");
    let deep = format!("{}{}", "[".repeat(64), "]".repeat(64));
    let rows: [Vec<u8>; 14] = [
        b"".into(),
        b"null".into(),
        b"[]".into(),
        b"{\"id\":\"e1\"".into(),
        b"\xff".into(),
        format!("{whole} x").into(),
        format!("\u{feff}{whole}").into(),
        whole.replace("{\"id\":", "{\"id\":\"e1\",\"id\":").into(),
        whole.replace("\"scope\":", "\"payload\":{},\"scope\":").into(),
        whole.replace("\"scope\":", "\"signature\":\"\",\"scope\":").into(),
        sound.clone().with("issued_at", "\"2026-01-15 10:30:00Z\"").text(),
        sound.clone().with("issued_at", "1800000000").text(),
        sound.clone().with("key_id", "7").text(),
        sound.with("payload", deep).text(),
    ];
    for data in rows {
        let judged = signing.judge(wall(NOW), &data);
        assert!(matches!(judged, Err(Refused::Malformed(_))), "{}", data.escape_ascii());
    }
    let fault = refused(&signing, wall(NOW), b"{\"id\":7,\"secret\":\"s3cr3t\"}");
    assert_eq!(fault, "malformed envelope: id: must be a string");
}

#[test]
fn an_event_of_exactly_five_minutes_counts_and_one_nanosecond_more_does_not() {
    let signer = Signer::new(1);
    let signing = armed(&signer);
    let nano = Duration::from_nanos(1);
    let noon = wall(seconds(10_000));
    let issued = |since: Duration| signer.envelope(Wall::from_origin(since), "policy_updated");
    let judged = |since: Duration| refused(&signing, noon, &issued(since));
    let noon_since = noon.since_origin();
    assert!(judged(noon_since - SKEW_MAX).starts_with("accepted"));
    assert!(judged(noon_since + SKEW_MAX).starts_with("accepted"));
    assert_eq!(judged(noon_since - SKEW_MAX - nano), "event is stale");
    assert_eq!(judged(noon_since + SKEW_MAX + nano), "event timestamp is in the future");
    assert_eq!(judged(Duration::ZERO), "event is stale");
}

#[test]
fn a_time_in_another_spelling_is_refused_even_where_its_instant_was_signed() {
    let signer = Signer::new(1);
    let (signing, sound) = (armed(&signer), Members::sound(&signer));
    let instant = Timestamp::from(wall(NOW)).to_string();
    let odd = [
        instant.replace('Z', ".0Z"),
        instant.replace('Z', ".000000000Z"),
        instant.replace('Z', "+00:00"),
        instant.replace('Z', "-00:00"),
    ];
    for odd in odd {
        let data = sound.clone().with("issued_at", format!("\"{odd}\"")).text();
        assert_eq!(signing.judge(wall(NOW), &data), Err(Refused::NotCanonical), "{odd}");
    }
    // Escapes of JSON are no spelling of the time.
    let escaped = instant.replace('-', "\\u002d");
    let data = sound.with("issued_at", format!("\"{escaped}\"")).text();
    assert!(signing.judge(wall(NOW), &data).is_ok());
}

#[test]
fn a_signature_has_one_spelling() {
    let signer = Signer::new(1);
    let signing = armed(&signer);
    let event = signer.event(wall(NOW), "policy_updated", "{}");
    let signed = event.signed_bytes();
    let bytes = ed25519_dalek::Signer::sign(&signer.pair, &signed).to_bytes();
    let text = base64_text(&bytes);
    let judged = |signature: &str| signing.judge(wall(NOW), &sealed(signed.clone(), signature));
    assert!(judged(&text).is_ok());
    // The last digit in front of the padding has four bits to spare; 64 bytes end in two equals signs.
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let last = text.as_bytes()[85] as char;
    for digit in digits.chars().filter(|digit| *digit != last) {
        let odd = format!("{}{digit}==", &text[..85]);
        assert_eq!(judged(&odd), Err(Refused::Signature), "{digit}");
    }
    let odd = [
        text.trim_end_matches('=').to_owned(),
        format!("{text}="),
        format!(" {text}"),
        format!("{text}\n"),
        text.replace(['+', '/'], "-"),
        base64_text(&bytes[..63]),
        base64_text(&[&bytes[..], &[0]].concat()),
    ];
    for odd in odd.iter().filter(|odd| **odd != text) {
        assert_eq!(judged(odd), Err(Refused::Signature), "{odd}");
    }
}

/// The order of the group, little-endian.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

#[test]
fn the_other_scalar_of_a_signature_is_refused() {
    let signer = Signer::new(1);
    let signing = armed(&signer);
    let event = signer.event(wall(NOW), "policy_updated", "{}");
    let mut bytes = ed25519_dalek::Signer::sign(&signer.pair, &event.signed_bytes()).to_bytes();
    let mut carry = 0;
    for (byte, order) in bytes[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        (*byte, carry) = ((sum & 0xff) as u8, sum >> 8);
    }
    let data = sealed(event.signed_bytes(), &base64_text(&bytes));
    assert_eq!(signing.judge(wall(NOW), &data), Err(Refused::Signature));
}

#[test]
fn nothing_counts_under_a_key_of_small_order() {
    // Under the neutral point a signature of the neutral point and zero fits any text.
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let mut identity = Signer::new(1).identity();
    identity.file.signing_public_key = base64_text(&neutral);
    let signing = Signing::default().step(start(), Input::Armed(identity)).state;
    let event = Signer::new(1).event(wall(NOW), "policy_updated", "{}");
    let forged = [neutral, [0; 32]].concat();
    let key = ed25519_dalek::VerifyingKey::from_bytes(&neutral).expect("a point");
    let signature = Signature::from_slice(&forged).expect("a signature");
    let lenient = ed25519_dalek::Verifier::verify(&key, &event.signed_bytes(), &signature);
    assert!(lenient.is_ok(), "the forgery is one");
    let data = sealed(event.signed_bytes(), &base64_text(&forged));
    assert_eq!(signing.judge(wall(NOW), &data), Err(Refused::Signature));
}

#[test]
fn a_registration_whose_key_is_no_point_verifies_nothing() {
    let mut identity = Signer::new(1).identity();
    let no_point = (0..=255)
        .map(|byte| [byte; 32])
        .find(|bytes| ed25519_dalek::VerifyingKey::from_bytes(bytes).is_err())
        .expect("half of all texts are no points");
    identity.file.signing_public_key = base64_text(&no_point);
    let signing = Signing::default().step(start(), Input::Armed(identity)).state;
    let data = Signer::new(1).envelope(wall(NOW), "policy_updated");
    assert_eq!(signing.judge(wall(NOW), &data), Err(Refused::Signature));
}

#[test]
fn before_there_is_an_identity_nothing_counts() {
    let data = Signer::new(1).envelope(wall(NOW), "policy_updated");
    assert_eq!(Signing::default().judge(wall(NOW), &data), Err(Refused::UnknownKey));
    let event = Signer::new(1).event(wall(NOW), "rotate_keys", "{}");
    let step = Signing::default().step(start(), Input::Judged(Ok(event)));
    assert_eq!(step.effects, []);
}

/// What the machine orders on one event that was verified.
fn led_to(signing: Signing, event: Event) -> (Signing, Vec<Effect>) {
    let step = signing.step(start(), Input::Judged(Ok(event)));
    (step.state, step.effects)
}

#[test]
fn each_type_of_the_contract_and_of_other_generations_has_its_reaction() {
    let signer = Signer::new(1);
    let contract = [
        "peer_added",
        "peer_removed",
        "peer_key_rotated",
        "peer_endpoint_changed",
        "policy_updated",
        "action_request",
        "session_setup",
        "session_revoked",
        "node_state_updated",
        "node_secrets_updated",
    ];
    for kind in contract {
        assert!(RECONCILING.contains(&kind), "{kind}");
    }
    for kind in RECONCILING {
        assert_eq!(Reaction::to(kind), Reaction::Reconcile);
        let (_, effects) = led_to(armed(&signer), signer.event(wall(NOW), kind, "[1]"));
        assert_eq!(effects, [Effect::Reconcile], "{kind}");
    }
    let (_, effects) = led_to(armed(&signer), signer.event(wall(NOW), "rotate_keys", "\"now\""));
    assert_eq!(effects, [Effect::RotateKeys]);
    for kind in ["Policy_updated", "policy_updated ", "", "rotate_key", "signing_key_rotate"] {
        assert_eq!(Reaction::to(kind), Reaction::Nothing, "{kind}");
    }
}

#[test]
fn an_unknown_type_is_told_once_at_debug_and_no_more_than_so_many_are_remembered() {
    let signer = Signer::new(1);
    let event = |kind: &str| signer.event(wall(NOW), kind, "{}");
    let (signing, effects) = led_to(armed(&signer), event("novel"));
    let told = "events of the type novel lead to nothing: it is not known";
    assert_eq!(effects, [Effect::Tell(Notice::debug(told))]);
    let (mut signing, effects) = led_to(signing, event("novel"));
    assert_eq!(effects, []);
    let mut lines = 1;
    for number in 0..10_000 {
        let (next, effects) = led_to(signing, event(&format!("novel-{number}")));
        (signing, lines) = (next, lines + effects.len());
    }
    assert_eq!(lines, KINDS_MAX);
    let long = "x".repeat(1 << 20);
    let (_, effects) = led_to(armed(&signer), event(&long));
    let told =
        format!("events of the type {} lead to nothing: it is not known", &long[..KIND_SHOWN_MAX]);
    assert_eq!(effects, [Effect::Tell(Notice::debug(told))]);
}

#[test]
fn a_flood_of_refused_events_is_told_once_for_each_reason_and_then_once_an_hour_with_its_count() {
    let mut signing = armed(&Signer::new(1));
    let before = signing.keys().cloned();
    let mut lines = Vec::new();
    let mut give = |signing: Signing, second: u64, refused: Refused| {
        let step = signing.step(at(seconds(second)), Input::Judged(Err(refused)));
        lines.extend(step.effects.into_iter().map(|effect| match effect {
            Effect::Tell(notice) => (second, notice),
            Effect::Keep(_) | Effect::Reconcile | Effect::RotateKeys => panic!("{effect:?}"),
        }));
        step.state
    };
    for number in 0..100_000 {
        let refused = if number % 2 == 0 { Refused::Signature } else { Refused::Stale };
        signing = give(signing, 1 + number / 1_000, refused);
    }
    let hour = TOLD_EVERY.as_secs();
    signing = give(signing, hour, Refused::Stale);
    signing = give(signing, hour + 1, Refused::Stale);
    signing = give(signing, hour + 2, Refused::Stale);
    assert_eq!(signing.keys().cloned(), before);
    let shown: Vec<_> = lines.iter().map(|(second, line)| (*second, line.text.as_str())).collect();
    let expected = [
        (1, "an event is refused and has no effect: signature verification failed"),
        (1, "an event is refused and has no effect: event is stale"),
        (
            hour + 1,
            "events are refused and have no effect, 50001 since this was told last: event is stale",
        ),
    ];
    assert_eq!(shown, expected);
    assert!(lines.iter().all(|(_, notice)| notice.level == Level::Error));
}

#[test]
fn the_public_key_of_a_signer_is_spelled_as_the_contract_does() {
    let text = Signer::new(1).public_text();
    assert_eq!(base64_bytes(&text).map(|bytes| bytes.len()), Some(32));
    assert_eq!(text.len(), 44);
}
