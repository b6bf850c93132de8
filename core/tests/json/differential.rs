//! The door against a second reader, on texts with a few changes.

use meshward_core::wire::json::{Kind, Raw, decode_strict, encode};
use proptest::prelude::*;
use serde_json::Value;

use crate::seeds;

fn values() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e12..1e12).prop_map(Value::from),
        "[a-c\"\\\\\u{0}-\u{20}é😀]{0,6}".prop_map(Value::from),
    ];
    scalar.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-c\n]{0,2}", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// One change to a text: where, how many bytes go, and what comes there instead.
fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, Vec<u8>)>> {
    let tokens = prop::sample::select(
        &[
            "", " ", "\n", "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud83d", "\\ude00",
            "0", "-", "1", ".", "e", "E+", "null", "true", "false", "\"a\":", "\u{b}", "\u{feff}",
            "é",
        ][..],
    )
    .prop_map(|token: &str| token.as_bytes().to_vec());
    let bytes = any::<u8>().prop_map(|byte| vec![byte]);
    prop::collection::vec(
        (any::<prop::sample::Index>(), 0..3_usize, prop_oneof![4 => tokens, 1 => bytes]),
        0..4,
    )
}

fn changed(mut text: Vec<u8>, changes: Vec<(prop::sample::Index, usize, Vec<u8>)>) -> Vec<u8> {
    for (at, gone, new) in changes {
        let at = at.index(text.len() + 1);
        let end = (at + gone).min(text.len());
        text.splice(at..end, new);
    }
    text
}

/// Equal but for how a number is held.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap_or(0.0), other.as_f64().unwrap_or(0.0));
            (one - other).abs() <= one.abs() * 1e-12
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, one)| other.get(name).is_some_and(|other| is_same(one, other)))
        }
        (one, other) => one == other,
    }
}

proptest! {
    #![proptest_config(seeds::seeds_in("json"))]

    #[test]
    fn the_door_agrees_with_a_second_reader(value in values(), changes in changes()) {
        let text = changed(value.to_string().into_bytes(), changes);
        let expected = serde_json::from_slice::<Value>(&text);
        match (decode_strict::<Value>(&text), expected) {
            (Ok(one), Ok(other)) => prop_assert!(is_same(&one, &other), "{one} is not {other}"),
            (Err(_), Err(_)) => {}
            (Err(fault), Ok(_)) => prop_assert_eq!(fault.kind, Kind::Duplicate),
            (Ok(_), Err(error)) => prop_assert!(false, "only the second reader refused: {}", error),
        }
    }

    #[test]
    fn raw_agrees_with_a_second_reader(value in values(), changes in changes()) {
        let text = changed(value.to_string().into_bytes(), changes);
        let expected = serde_json::from_slice::<Value>(&text);
        let raw = std::str::from_utf8(&text).ok().and_then(Raw::parse);
        match (raw, expected) {
            (Some(raw), Ok(value)) => {
                prop_assert!(is_same(&value, &serde_json::from_str(raw.text()).expect("well-formed")));
            }
            (Some(_), Err(error)) => prop_assert!(error.to_string().contains("out of range"), "{}", error),
            (None, refused) => prop_assert!(refused.is_err()),
        }
    }

    #[test]
    fn what_is_written_is_read_again(value in values()) {
        prop_assert!(is_same(&decode_strict(&encode(&value)).expect("well-formed"), &value));
    }
}
