//! The signed bytes of an event: both vectors, every escape, and what of the payload's text is kept.

use meshward_core::wire::{
    event::{ConfigureEvents, Envelope, Event, InjectEvent, Mode, sealed},
    json::{Raw, decode_strict, decode_tolerant, encode},
    timestamp::Timestamp,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::{
    golden::{at, both, raw, read},
    support,
};

const KEY: &str = "did:web:example.test#key-e2e";

fn event(id: &str, kind: &str, payload: &str) -> Event {
    Event {
        id: id.into(),
        kind: kind.into(),
        scope: String::new(),
        key_id: KEY.into(),
        issued_at: at("2026-01-15T10:30:00Z"),
        payload: Some(raw(payload)),
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("signed bytes are UTF-8")
}

/// The payload as it stands in the signed bytes.
fn canonical(payload: &str) -> String {
    let text = text(event("i", "t", payload).signed_bytes());
    let (_, rest) = text.split_once("\"payload\":").expect("the payload is there");
    rest.strip_suffix('}').expect("nothing follows the payload").into()
}

/// A text as it stands in the signed bytes.
fn quoted(id: &str) -> String {
    let text = text(event(id, "t", "1").signed_bytes());
    let (first, _) = text.split_once(",\"type\":").expect("the type follows");
    first.strip_prefix("{\"id\":").expect("the id comes first").into()
}

#[test]
fn the_first_vector_keeps_numbers_and_order_and_escapes_for_html() {
    let signed = r#"{"id":"evt-vec-001","type":"node_state_updated","scope":"","key_id":"did:web:example.test#key-e2e","issued_at":"2026-01-15T10:30:00.12Z","payload":{"b":1.50,"a":"\u003cx\u003e \u0026"}}"#;
    let payload = "{ \"b\" : 1.50,\r\n\t\"a\" : \"<x> &\" }";
    let event = Event {
        issued_at: at("2026-01-15T11:30:00.120+01:00"),
        ..event("evt-vec-001", "node_state_updated", payload)
    };
    assert_eq!(text(event.signed_bytes()), signed);
    assert_eq!(signed.len(), 185);
}

#[test]
fn the_second_vector_has_a_scope_and_no_payload() {
    let signed = r#"{"id":"evt-vec-002","type":"rotate_keys","scope":"node","key_id":"did:web:example.test#key-e2e","issued_at":"2026-01-15T10:30:00Z","payload":null}"#;
    let event =
        Event { scope: "node".into(), payload: None, ..event("evt-vec-002", "rotate_keys", "1") };
    assert_eq!(text(event.signed_bytes()), signed);
    assert_eq!(signed.len(), 146);
}

#[test]
fn every_escape_of_a_string_has_its_one_form() {
    let rows = [
        ("plain", "plain"),
        ("\"", "\\\""),
        ("\\", "\\\\"),
        ("/", "/"),
        ("\u{8}\u{c}\n\r\t", "\\b\\f\\n\\r\\t"),
        ("\0\u{1}\u{b}\u{1f}", "\\u0000\\u0001\\u000b\\u001f"),
        ("<>&", "\\u003c\\u003e\\u0026"),
        ("\u{2028}\u{2029}", "\\u2028\\u2029"),
        ("\u{7f}\u{a0}\u{2027}\u{202a}é𝄞'", "\u{7f}\u{a0}\u{2027}\u{202a}é𝄞'"),
    ];
    for (given, escaped) in rows {
        assert_eq!(quoted(given), format!("\"{escaped}\""), "{given:?}");
    }
    for code in 0..0x20 {
        let character = char::from_u32(code).expect("a control character");
        let value: String = serde_json::from_str(&quoted(&character.to_string())).expect("JSON");
        assert_eq!(value, character.to_string());
    }
}

#[test]
fn of_a_payload_only_white_space_between_tokens_and_five_characters_change() {
    let rows = [
        (" null\n", "null"),
        ("[ 1 , 2.50 ,\t-0, 1E+2 ,1e400]", "[1,2.50,-0,1E+2,1e400]"),
        (r#"{"z":1,"a":2,"z":3}"#, r#"{"z":1,"a":2,"z":3}"#),
        (r#"" a  b ""#, r#"" a  b ""#),
        (r#"{ "a\"  b" : "c\\" , "d" : " \\\" " }"#, r#"{"a\"  b":"c\\","d":" \\\" "}"#),
        (r#""\u003C\/\b\u0008\u00E9""#, r#""\u003C\/\b\u0008\u00E9""#),
        ("\"<\u{2028}>\u{2029}&é𝄞\"", "\"\\u003c\\u2028\\u003e\\u2029\\u0026é𝄞\""),
        (r#"{"<": 1}"#, "{\"\\u003c\":1}"),
        ("18446744073709551617", "18446744073709551617"),
    ];
    for (given, kept) in rows {
        assert_eq!(canonical(given), kept, "{given}");
    }
}

#[test]
fn an_envelope_is_the_signed_text_with_the_signature_as_last_member() {
    let event = event("e", "policy_updated", "{ }");
    let signed = text(event.signed_bytes());
    let body = signed.strip_suffix('}').expect("an object");
    let envelope = Envelope { event, signature: "c2ln+/==".into() };
    let expected = format!("{body},\"signature\":\"c2ln+/==\"}}");
    assert_eq!(text(envelope.text()), expected);
    assert_eq!(text(sealed(signed.into_bytes(), "c2ln+/==")), expected);
    assert_eq!(text(encode(&envelope)), expected);
}

#[test]
fn envelope() {
    let whole = Envelope {
        event: Event {
            scope: "domain:0190a8b8".into(),
            ..event("evt-1", "node_state_updated", r#"{"revision":1.50,"note":"\u003c"}"#)
        },
        signature: "c2lnbmF0dXJl".into(),
    };
    both("envelope.full", &whole);
    let bare = Envelope {
        event: Event { payload: None, ..event("evt-2", "rotate_keys", "1") },
        signature: "c2lnbmF0dXJl".into(),
    };
    both("envelope.null", &bare);
}

#[test]
fn what_an_envelope_lacks_is_empty_and_its_time_is_not_set() {
    let seen: Envelope = decode_tolerant(br#"{"extra":1}"#).expect("every member is optional");
    assert_eq!(seen.event.issued_at, Timestamp::ZERO);
    assert!(seen.event.id.is_empty() && seen.event.kind.is_empty() && seen.signature.is_empty());
    assert_eq!(seen.event.payload, None);
}

#[test]
fn inject_event() {
    let whole = InjectEvent {
        id: "evt-1".into(),
        kind: "policy_updated".into(),
        scope: "node".into(),
        payload: Some(raw(r#"{"a":1.0,"a":2}"#)),
    };
    both("inject_event.full", &whole);
    let stamped: InjectEvent = decode_tolerant(
        br#"{"id":"evt-1","type":"policy_updated","scope":"node","payload":{"a":1.0,"a":2},
        "key_id":7,"issued_at":"yesterday","signature":[]}"#,
    )
    .expect("what is stamped later is passed over");
    assert_eq!(stamped, whole);
}

#[test]
fn configure_events() {
    both("configure_events.descoped", &ConfigureEvents { mode: Mode::Descoped });
    read("configure_events.streaming", &ConfigureEvents { mode: Mode::Streaming });
    for odd in [r#"{"mode":"Streaming"}"#, r#"{"mode":null}"#, "{}", r#"{"mode":["descoped"]}"#] {
        decode_strict::<ConfigureEvents>(odd.as_bytes()).expect_err(odd);
    }
}

fn json() -> impl Strategy<Value = String> {
    let space = || "[ \t\r\n]{0,2}";
    let scalar = prop_oneof![
        "-?(0|[1-9][0-9]{0,4})(\\.[0-9]{1,3})?([eE][+-]?[0-9])?",
        "\"([ <>&a-c:,{}\\[\\]\u{2028}é]|\\\\[\"\\\\/bfnrt]|\\\\u00[0-7][0-9A-Fa-f]){0,8}\"",
        Just("null".to_owned()),
        Just("true".to_owned()),
    ];
    let leaf = (space(), scalar, space()).prop_map(|(before, text, after)| before + &text + &after);
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4);
        let members = prop::collection::vec(("[ab<]", inner), 0..4);
        prop_oneof![
            list.prop_map(|list| format!("[{}]", list.join(","))),
            members.prop_map(|members| {
                let shown: Vec<String> =
                    members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", shown.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(support::seeds_in("event"))]

    #[test]
    fn a_canonical_payload_is_the_same_value_on_one_line_and_canonical_itself(given in json()) {
        let kept = canonical(&given);
        let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        prop_assert_eq!(value(&given), value(&kept));
        let escaped = ['\n', '\r', '<', '>', '&', '\u{2028}', '\u{2029}'];
        prop_assert!(!kept.contains(escaped));
        prop_assert_eq!(&canonical(&kept), &kept);
    }

    #[test]
    fn an_envelope_is_verified_over_the_bytes_that_were_signed(
        texts in prop::array::uniform4(any::<String>()),
        payload in prop::option::of(json()),
        nanos in 0..1_000_000_000_u32,
    ) {
        let [id, kind, scope, key_id] = texts;
        let issued_at = at(&format!("2026-01-15T10:30:00.{nanos:09}Z"));
        let payload = payload.and_then(|text| Raw::parse(&text));
        let event = Event { id, kind, scope, key_id, issued_at, payload };
        let signed = event.signed_bytes();
        let sent = Envelope { event, signature: "c2ln".into() }.text();
        let seen: Envelope = decode_strict(&sent).expect("an envelope is read back");
        prop_assert_eq!(seen.event.signed_bytes(), signed);
        prop_assert_eq!(seen.signature.as_str(), "c2ln");
        let strings: Value = serde_json::from_slice(&sent).expect("JSON");
        prop_assert_eq!(strings["id"].as_str(), Some(seen.event.id.as_str()));
    }
}
