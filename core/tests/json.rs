//! The JSON door: what it takes, what it refuses and where, and that no fault holds a value.

#[path = "support/seeds.rs"]
mod seeds;

use std::collections::BTreeMap;

use meshward_core::wire::{
    execution::Callback,
    json::{DEPTH_MAX, Fault, Kind, Raw, decode_strict, decode_tolerant, encode},
    snapshot::Snapshot,
};
use proptest::prelude::*;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Outer {
    count: u16,
    signed: i64,
    big: u64,
    share: f64,
    is_on: bool,
    name: String,
    inner: Option<Inner>,
    list: Vec<Inner>,
    map: BTreeMap<String, Inner>,
    raw: Option<Raw>,
    kind: Option<Letter>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Inner {
    name: String,
    raw: Option<Raw>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Letter {
    Alpha,
    Beta,
}

fn strict<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    decode_strict(text.as_bytes())
}

fn tolerant<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    decode_tolerant(text.as_bytes())
}

/// Refused by both doors for the same reason, which is returned.
#[track_caller]
fn refused(text: &str) -> Fault {
    let fault = strict::<Outer>(text).expect_err(text);
    assert_eq!(tolerant::<Outer>(text).expect_err(text), fault, "{text}");
    fault
}

fn arrays(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

fn objects(depth: usize) -> String {
    format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth))
}

const WELL_FORMED: [&str; 34] = [
    "null",
    "true",
    "false",
    "0",
    "-0",
    "10",
    "-1",
    "1.5",
    "0.0",
    "1e1",
    "1E+1",
    "1e-1",
    "-0.0e00",
    r#""""#,
    r#""a""#,
    r#""é😀""#,
    "\"\u{7f}\u{2028}\"",
    r#""\"\\\/\b\f\n\r\t""#,
    r#""\u0041\u00e9\uFFFF""#,
    r#""\ud83d\ude00""#,
    r#""\uD83D\uDE00""#,
    r#""\u0000""#,
    "[]",
    "[ ]",
    "[1]",
    "[1,2]",
    "[[],{}]",
    "{}",
    "{ }",
    r#"{"":0}"#,
    r#"{"a":1,"b":2}"#,
    " \t\r\n1\n",
    "[ 1 , 2 ]",
    "{ \"a\" : 1 , \"b\" : [ ] }",
];

const MALFORMED: [&str; 76] = [
    "",
    " ",
    "\u{feff}1",
    "\u{a0}1",
    "\u{b}1",
    "nul",
    "nulll",
    "NULL",
    "True",
    "NaN",
    "Infinity",
    "-Infinity",
    "undefined",
    "+1",
    "-",
    "--1",
    "01",
    "-01",
    "00",
    ".5",
    "-.5",
    "1.",
    "1.e1",
    "1e",
    "1e+",
    "1e1.5",
    "0x10",
    "1_000",
    "1 2",
    "1,",
    "'a'",
    "\"",
    "\"a",
    "\"\\\"",
    "\"\\",
    r#""\a""#,
    r#""\x41""#,
    r#""\U0041""#,
    r#""\u""#,
    r#""\u004""#,
    r#""\u004g""#,
    r#""\u+041""#,
    r#""\ud83d""#,
    r#""\ude00""#,
    r#""\ud83d\ud83d""#,
    r#""\ud83dx""#,
    r#""\ud83d\n""#,
    r#""\ud83d\u0041""#,
    "\"a\nb\"",
    "\"a\tb\"",
    "\"\u{0}\"",
    "\"\u{1f}\"",
    "\"\\é\"",
    "\"\\u00é\"",
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1}",
    "[]]",
    "{",
    "}",
    r#"{"a"}"#,
    r#"{"a":}"#,
    r#"{"a":1,}"#,
    r#"{,"a":1}"#,
    r#"{"a":1 "b":2}"#,
    "{a:1}",
    "{1:1}",
    "{null:1}",
    "{'a':1}",
    r#"{"a":1]"#,
    "[1] // end",
];

#[test]
fn every_text_of_the_grammar_is_taken() {
    for text in WELL_FORMED {
        assert!(strict::<Value>(text).is_ok(), "{text}");
        assert_eq!(Raw::parse(text).map(|raw| raw.text().to_owned()), Some(text.trim().into()));
        let ignored = format!(r#"{{"unknown":{text},"count":7}}"#);
        assert_eq!(tolerant::<Outer>(&ignored).expect(text).count, 7);
    }
}

#[test]
fn nothing_outside_the_grammar_is_taken() {
    for text in MALFORMED {
        let fault = strict::<Value>(text).expect_err(text);
        assert!(matches!(fault.kind, Kind::Syntax(_) | Kind::Trailing(_)), "{text}: {fault}");
        assert_eq!(Raw::parse(text), None, "{text}");
        assert!(tolerant::<Outer>(&format!(r#"{{"unknown":{text}}}"#)).is_err(), "{text}");
        assert!(tolerant::<Outer>(&format!(r#"{{"raw":{text}}}"#)).is_err(), "{text}");
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_refused() {
    for bytes in [&b"\"\xff\""[..], b"\"\xc3\"", b"\"\xed\xa0\x80\"", b"\"\xc0\x80\"", b"\xef\xbb"]
    {
        assert_eq!(decode_strict::<Value>(bytes).expect_err("not UTF-8").kind, Kind::NotUtf8);
    }
}

#[test]
fn data_behind_the_value_is_refused_and_white_space_is_not() {
    assert!(strict::<Outer>("{} \t\r\n").is_ok());
    for text in ["{}x", "{} {}", "{},", "{}\u{0}", "{}null"] {
        assert_eq!(
            refused(text).kind,
            Kind::Trailing(text[2..].trim_start().len().abs_diff(text.len()))
        );
    }
}

#[test]
fn depth_64_is_taken_and_65_refused() {
    assert_eq!(DEPTH_MAX, 64);
    for nested in [arrays, objects] {
        assert!(strict::<Value>(&nested(64)).is_ok());
        assert_eq!(strict::<Value>(&nested(65)).expect_err("too deep").kind, Kind::TooDeep);
        assert!(Raw::parse(&nested(64)).is_some());
        assert!(Raw::parse(&nested(65)).is_none());
        for member in ["raw", "unknown"] {
            let body = |depth| format!(r#"{{"{member}":{}}}"#, nested(depth));
            assert!(tolerant::<Outer>(&body(63)).is_ok(), "{member}");
            assert_eq!(tolerant::<Outer>(&body(64)).expect_err(member).kind, Kind::TooDeep);
        }
        let typed = |depth| format!(r#"{{"list":[{{"raw":{}}}]}}"#, nested(depth));
        assert!(strict::<Outer>(&typed(61)).is_ok());
        assert_eq!(refused(&typed(62)).kind, Kind::TooDeep);
    }
}

#[test]
fn brackets_that_were_closed_do_not_count_as_depth() {
    let many = format!("[{}]", vec![arrays(63); 100].join(","));
    assert!(strict::<Value>(&many).is_ok());
    assert!(Raw::parse(&many).is_some());
    let body = format!(r#"{{"list":[{}],"raw":{}}}"#, vec!["{}"; 100].join(","), arrays(63));
    assert!(strict::<Outer>(&body).is_ok());
}

#[test]
fn endless_brackets_end_at_the_limit_and_not_with_the_stack() {
    let text = "[".repeat(1_000_000);
    assert_eq!(strict::<Value>(&text).expect_err("too deep").kind, Kind::TooDeep);
    assert!(Raw::parse(&text).is_none());
}

#[test]
fn duplicate_members_are_refused_at_every_typed_level() {
    for (text, path) in [
        (r#"{"count":1,"count":1}"#, "count"),
        (r#"{"count":1,"c\u006funt":1}"#, "count"),
        (r#"{"count":null,"count":1}"#, "count"),
        (r#"{"count":null,"count":null}"#, "count"),
        (r#"{"inner":{"name":"a","n\u0061me":"b"}}"#, "inner.name"),
        (r#"{"list":[{},{"name":"a","name":"a"}]}"#, "list[1].name"),
        (r#"{"map":{"k":{},"\u006b":{}}}"#, "map.k"),
        (r#"{"map":{"k":{"name":"","name":""}}}"#, "map.k.name"),
    ] {
        let fault = refused(text);
        assert_eq!((&fault.kind, fault.path()), (&Kind::Duplicate, path), "{text}");
    }
    let unknown = r#"{"x":1,"x":2}"#;
    assert_eq!(tolerant::<Outer>(unknown).expect_err(unknown).kind, Kind::Duplicate);
}

#[test]
fn duplicates_inside_raw_and_ignored_values_are_carried() {
    let text = r#"{"raw":{"a":1,"a":2}}"#;
    let raw = strict::<Outer>(text).expect(text).raw.expect("present");
    assert_eq!(raw.text(), r#"{"a":1,"a":2}"#);
    assert!(tolerant::<Outer>(r#"{"unknown":{"a":1,"a":2}}"#).is_ok());
}

#[test]
fn an_array_is_no_object_at_any_level() {
    for (text, path) in [
        ("[]", ""),
        ("[1,2,3]", ""),
        (r#"{"inner":[]}"#, "inner"),
        (r#"{"inner":["a",null]}"#, "inner"),
        (r#"{"list":[["a"]]}"#, "list[0]"),
        (r#"{"map":[]}"#, "map"),
        (r#"{"map":{"k":["a"]}}"#, "map.k"),
    ] {
        let fault = refused(text);
        assert_eq!((&fault.kind, fault.path()), (&Kind::from("an object"), path), "{text}");
    }
    for text in [r#"{"peers":[["a"]]}"#, r#"{"policy":[]}"#, r#"{"bridge":{"relay":[]}}"#] {
        assert!(strict::<Snapshot>(text).is_err(), "{text}");
    }
    assert!(strict::<Callback>(r#"["ack"]"#).is_err());
    assert!(strict::<Callback>(r#"{"status":"ack","output":["aGk="]}"#).is_err());
}

#[test]
fn a_value_of_another_kind_is_refused_with_its_path() {
    for (text, path, what) in [
        ("null", "", "an object"),
        ("7", "", "an object"),
        (r#""text""#, "", "an object"),
        (r#"{"count":"7"}"#, "count", "an integer"),
        (r#"{"count":true}"#, "count", "an integer"),
        (r#"{"count":[]}"#, "count", "an integer"),
        (r#"{"share":"1"}"#, "share", "a number"),
        (r#"{"is_on":1}"#, "is_on", "true or false"),
        (r#"{"is_on":"true"}"#, "is_on", "true or false"),
        (r#"{"name":1}"#, "name", "a string"),
        (r#"{"list":{}}"#, "list", "an array"),
        (r#"{"list":[null]}"#, "list[0]", "an object"),
        (r#"{"map":{"k":null}}"#, "map.k", "an object"),
        (r#"{"kind":1}"#, "kind", "a string"),
        (r#"{"kind":{"alpha":null}}"#, "kind", "a string"),
        (r#"{"kind":"gamma"}"#, "kind", "one of alpha, beta"),
        (r#"{"kind":"Alpha"}"#, "kind", "one of alpha, beta"),
    ] {
        let fault = refused(text);
        assert_eq!((&fault.kind, fault.path()), (&Kind::from(what), path), "{text}");
    }
}

#[test]
fn null_for_a_member_is_the_same_as_absence() {
    let text = r#"{"count":null,"signed":null,"share":null,"is_on":null,"name":null,"inner":null,
        "list":null,"map":null,"raw":null,"kind":null}"#;
    assert_eq!(strict::<Outer>(text), Ok(Outer::default()));
    assert_eq!(tolerant::<Outer>(text), Ok(Outer::default()));
    let fault = strict::<Callback>(r#"{"status":null}"#).expect_err("required");
    assert_eq!((&fault.kind, fault.path()), (&Kind::Missing, "status"));
    assert_eq!(strict::<Outer>(r#"{"no_such":null}"#).expect_err("unknown").kind, Kind::Unknown);
}

#[test]
fn a_missing_required_member_is_named() {
    for text in ["{}", r#"{"exit_code":0}"#] {
        let fault = strict::<Callback>(text).expect_err(text);
        assert_eq!(fault.to_string(), "status: required member is missing");
    }
}

#[test]
fn integers_have_neither_fraction_nor_exponent_and_keep_their_range() {
    for (text, expected) in [("0", 0), ("-0", 0), ("65535", 65_535)] {
        let body = format!(r#"{{"count":{text}}}"#);
        assert_eq!(strict::<Outer>(&body).expect(text).count, expected);
    }
    for text in ["-1", "65536", "1.0", "1e0", "1E2", "0.0", "-0.0", "99999999999999999999999"] {
        assert_eq!(refused(&format!(r#"{{"count":{text}}}"#)).path(), "count", "{text}");
    }
    for (text, expected) in
        [("-9223372036854775808", i64::MIN), ("9223372036854775807", i64::MAX), ("-0", 0)]
    {
        let body = format!(r#"{{"signed":{text}}}"#);
        assert_eq!(strict::<Outer>(&body).expect(text).signed, expected);
    }
    for text in ["-9223372036854775809", "9223372036854775808"] {
        assert_eq!(refused(&format!(r#"{{"signed":{text}}}"#)).path(), "signed", "{text}");
    }
    let body = r#"{"big":18446744073709551615}"#;
    assert_eq!(strict::<Outer>(body).expect(body).big, u64::MAX);
    refused(r#"{"big":18446744073709551616}"#);
}

#[test]
fn floats_are_finite() {
    for (text, expected) in [("1", 1.0), ("-0.5e1", -5.0), ("1e308", 1e308), ("1e-400", 0.0)] {
        let body = format!(r#"{{"share":{text}}}"#);
        assert_eq!(
            strict::<Outer>(&body).expect(text).share.total_cmp(&expected),
            std::cmp::Ordering::Equal
        );
    }
    for text in ["1e309", "-1e309", "1e999999999999"] {
        assert_eq!(refused(&format!(r#"{{"share":{text}}}"#)).path(), "share", "{text}");
    }
}

#[test]
fn unknown_members_are_named_by_the_strict_door_and_passed_over_by_the_tolerant_one() {
    for (text, path) in [
        (r#"{"more":1}"#, "more"),
        (r#"{"Count":1}"#, "Count"),
        (r#"{"count ":1}"#, "count "),
        (r#"{"":1}"#, ""),
        (r#"{"inner":{"more":{}}}"#, "inner.more"),
        (r#"{"list":[{},{"more":[]}]}"#, "list[1].more"),
        (r#"{"map":{"k":{"more":"x"}}}"#, "map.k.more"),
    ] {
        let fault = strict::<Outer>(text).expect_err(text);
        assert_eq!((&fault.kind, fault.path()), (&Kind::Unknown, path), "{text}");
        assert!(tolerant::<Outer>(text).is_ok(), "{text}");
    }
    assert!(strict::<Outer>(r#"{"raw":{"more":1}}"#).is_ok());
}

#[test]
fn a_long_or_hostile_member_name_is_cut_in_the_path() {
    let text = format!(r#"{{"{}\n\u001b":1}}"#, "x".repeat(1000));
    assert_eq!(strict::<Outer>(&text).expect_err("unknown").path(), "x".repeat(64));
    let fault = strict::<Outer>(r#"{"a\n\u001b[31mb":1}"#).expect_err("unknown");
    assert_eq!(fault.path(), "a[31mb");
}

#[test]
fn no_fault_holds_a_value() {
    const CANARY: &str = "canary7531";
    for value in [
        format!(r#""{CANARY}""#),
        format!(r#"{{"x":"{CANARY}"}}"#),
        format!(r#"["{CANARY}"]"#),
        format!(r#""{CANARY}\q""#),
        format!(r#""{CANARY}"#),
        format!(r#""{CANARY}" {CANARY}"#),
        "75317531".into(),
        "-75317531".into(),
        "7531.7531".into(),
        "7531e7531".into(),
    ] {
        for member in [
            "count", "signed", "big", "share", "is_on", "name", "inner", "list", "map", "raw",
            "kind", "unknown",
        ] {
            let body = format!(r#"{{"{member}":{value}}}"#);
            for fault in [strict::<Outer>(&body).err(), tolerant::<Outer>(&body).err()] {
                let shown = fault.map(|fault| format!("{fault} {fault:?}")).unwrap_or_default();
                assert!(!shown.contains("7531"), "{body}: {shown}");
            }
        }
        let snapshot = format!(r#"{{"executions":[{{"requested_at":{value}}}]}}"#);
        let shown = strict::<Snapshot>(&snapshot).expect_err("no timestamp").to_string();
        assert!(!shown.contains("7531"), "{shown}");
        assert!(
            shown.starts_with("executions[0].requested_at: ") || shown.contains("JSON"),
            "{shown}"
        );
    }
}

#[test]
fn raw_text_is_verbatim_in_both_directions() {
    for text in [
        r#"{"b":1,"a":2,"b":3}"#,
        r#"{ "a" : 1.50 ,  "b":[ 1E5, -0 ] }"#,
        "9007199254740993",
        r#""\u0041\/é""#,
        "[]",
        "true",
    ] {
        let body = format!(r#"{{"name":"","raw":{text}}}"#);
        let inner: Inner = strict(&body).expect(text);
        assert_eq!(inner.raw.as_ref().map(Raw::text), Some(text));
        assert_eq!(encode(&inner), body.into_bytes());
    }
    let padded: Inner = strict("{\"raw\": \n{ } \n}").expect("padded");
    assert_eq!(padded.raw.as_ref().map(Raw::text), Some("{ }"));
}

#[test]
fn raw_knows_objects_and_null_and_hides_its_text() {
    let raw = |text| Raw::parse(text).expect(text);
    assert!(raw(" {}").is_object() && !raw("[{}]").is_object());
    assert!(raw(" null ").is_null() && !raw("\"null\"").is_null());
    assert_eq!(format!("{:?}", raw(r#"{"k":"canary"}"#)), "Raw(14 bytes)");
}

#[test]
fn a_borrowed_text_may_hold_escapes() {
    let inner: Inner = strict(r#"{"n\u0061me":"\u0061\"\ud83d\ude00b"}"#).expect("escapes");
    assert_eq!(inner.name, "a\"😀b");
}

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
