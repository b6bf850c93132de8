//! The JSON door beside another reader: the sets of accepted texts differ only where the decisions say so.

use meshward_core::wire::json::{self, Kind, Raw};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::Value;

use crate::support::seeds_in;

/// Pieces that a text is made and broken with.
const PIECES: [&str; 41] = [
    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\u0041", "\\ud83d", "\\ude00", "\\n", "\\/",
    "u", "a", "b", "0", "1", "9", "-", "+", ".", "e", "E", "null", "true", "false", " ", "\t",
    "\n", "\r", "\u{0}", "\u{1f}", "\u{7f}", "é", "😀", "\u{feff}", "\"a\":", "1e5", "-0",
];

fn space() -> impl Strategy<Value = String> {
    "[ \t\n\r]{0,2}"
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "null",
            "true",
            "false",
            "0",
            "-0",
            "1.0",
            "1e0",
            "18446744073709551616",
            "-9223372036854775808"
        ])
        .prop_map(str::to_owned),
        any::<i64>().prop_map(|number| number.to_string()),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
        name(),
    ]
}

/// A string that often equals another one, by other spelling.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            r#""a""#,
            r#""\u0061""#,
            r#""b""#,
            r#""\ud83d\ude00""#,
            r#""😀""#,
            r#""""#,
            r#""\"\\\/""#
        ])
        .prop_map(str::to_owned),
        any::<String>().prop_map(|text| serde_json::to_string(&text).expect("a string is JSON")),
    ]
}

fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(5, 40, 5, |inner| {
        let spaced = (space(), inner, space())
            .prop_map(|(before, value, after)| before + &value + &after)
            .boxed();
        let member = (space(), name(), space(), spaced.clone());
        let member = member
            .prop_map(|(before, name, after, value)| format!("{before}{name}{after}:{value}"));
        prop_oneof![
            vec(spaced, 0..5).prop_map(|values| format!("[{}]", values.join(","))),
            vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

/// Puts a piece in the place of up to two characters.
fn broken(text: &str, (at, length, piece): (usize, usize, &str)) -> String {
    let characters: Vec<char> = text.chars().collect();
    let at = at % (characters.len() + 1);
    let end = (at + length).min(characters.len());
    let (before, after) = (&characters[..at], &characters[end..]);
    before.iter().collect::<String>() + piece + &after.iter().collect::<String>()
}

/// Whether two values are the same but for the last digits of a fraction.
fn alike(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(ours), Value::Number(theirs)) => {
            let (Some(a), Some(b)) = (ours.as_f64(), theirs.as_f64()) else { return false };
            (a - b).abs() <= a.abs().max(b.abs()) * 1e-14 + f64::MIN_POSITIVE
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| alike(a, b))
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|((a, v), (b, w))| a == b && alike(v, w))
        }
        _ => ours == theirs,
    }
}

fn compare(text: &str) {
    let theirs = serde_json::from_str::<Value>(text);
    let ours = json::decode_strict::<Value>(text.as_bytes());
    let raw = Raw::parse(text);
    match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => assert!(alike(ours, theirs), "{text}: {ours} {theirs}"),
        (Err(fault), Ok(_)) => assert_eq!(fault.kind, Kind::Duplicate, "{text}"),
        (Ok(ours), Err(theirs)) => panic!("{text}: {ours}, but {theirs}"),
        (Err(_), Err(_)) => {}
    }
    let fits = Kind::Expected("a number that fits a double".into());
    let kept = ours.as_ref().err().is_none_or(|f| f.kind == Kind::Duplicate || f.kind == fits);
    match raw {
        Some(raw) => {
            assert!(kept, "{text}: kept as text, but {ours:?}");
            assert_eq!(raw.text(), text.trim_matches([' ', '\t', '\n', '\r']));
            assert_eq!(json::encode(&raw), raw.text().as_bytes());
        }
        // A duplicate or a number out of range may stand in front of what is no JSON.
        None => assert!(ours.is_err(), "{text}"),
    }
}

proptest! {
    #![proptest_config(seeds_in("json"))]

    #[test]
    fn a_sound_text_is_read_as_another_reader_reads_it(text in value()) {
        prop_assert!(Raw::parse(&text).is_some());
        compare(&text);
    }

    #[test]
    fn a_broken_text_is_accepted_only_where_another_reader_accepts_it(
        text in value(),
        breaks in vec((any::<usize>(), 0_usize..3, select(&PIECES[..])), 1..4),
    ) {
        compare(&breaks.into_iter().fold(text, |text, part| broken(&text, part)));
    }

    #[test]
    fn any_pieces_in_any_order_are_judged_alike(pieces in vec(select(&PIECES[..]), 0..12)) {
        compare(&pieces.concat());
    }

    #[test]
    fn no_bytes_make_the_door_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = json::decode_strict::<meshward_core::wire::snapshot::Snapshot>(&bytes);
        let _ = json::decode_tolerant::<Value>(&bytes);
    }
}
