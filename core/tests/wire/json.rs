//! The JSON door on texts: what RFC 8259 admits, and the bounds that are added to it.

use std::collections::BTreeMap;

use meshward_core::wire::json::{DEPTH_MAX, Fault, Kind, Raw, decode_strict, decode_tolerant};
use serde::Deserialize;
use serde_json::Value;

/// Knows no member, so that each value in it is passed over.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Passer {}

/// Reads a value in the three ways the door has: kept as text, passed over, looked into.
fn three_ways(text: &[u8]) -> [Result<(), Fault>; 3] {
    let member = [b"{\"m\":", text, b"}"].concat();
    [
        decode_tolerant::<Raw>(text).map(drop),
        decode_tolerant::<Passer>(&member).map(drop),
        decode_tolerant::<Value>(text).map(drop),
    ]
}

fn accepted(text: impl AsRef<[u8]>) {
    for (way, outcome) in three_ways(text.as_ref()).into_iter().enumerate() {
        assert_eq!(outcome, Ok(()), "way {way}: {}", String::from_utf8_lossy(text.as_ref()));
    }
}

fn refused(text: impl AsRef<[u8]>) {
    for (way, outcome) in three_ways(text.as_ref()).into_iter().enumerate() {
        assert!(outcome.is_err(), "way {way}: {}", String::from_utf8_lossy(text.as_ref()));
    }
}

#[test]
fn every_form_of_rfc_8259_is_accepted() {
    for text in [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1",
        "-1",
        "10",
        "0.0",
        "1.5",
        "-0.1e-2",
        "1e0",
        "1E+5",
        "1e-5",
        "123456789012345678901234567890",
        "\"\"",
        "\"a\"",
        "\"\u{7f}\"",
        "\"é\"",
        "\"\u{1f600}\"",
        r#""\"""#,
        r#""\\""#,
        r#""\/""#,
        r#""\b\f\n\r\t""#,
        r#""\u0000""#,
        r#""\u00e9""#,
        r#""\u00E9""#,
        r#""\ud83d\ude00""#,
        r#""\uD83D\uDE00""#,
        r#""\ud800\udc00""#,
        r#""\udbff\udfff""#,
        r#""\uffff""#,
        "[]",
        "[ ]",
        "[1]",
        "[1,2]",
        "[ 1 , 2 ]",
        "[[],{}]",
        "{}",
        "{ }",
        r#"{"a":1}"#,
        r#"{ "a" : 1 , "b" : [ ] }"#,
        r#"{"":""}"#,
        " \t\r\n1 \t\r\n",
    ] {
        accepted(text);
    }
}

/// What looks like JSON and is not.
const REFUSED: &[&str] = &[
    "",
    " ",
    "nul",
    "nulll",
    "Null",
    "TRUE",
    "tru",
    "truefalse",
    "undefined",
    "NaN",
    "Infinity",
    "-Infinity",
    "+1",
    "01",
    "-01",
    "00",
    "1.",
    ".5",
    "-.5",
    "1.e5",
    "1e",
    "1e+",
    "1e1.5",
    "-",
    "--1",
    "0x10",
    "1_000",
    "1 2",
    "\"",
    "\"a",
    "a\"",
    "'a'",
    r#""\""#,
    r#""\a""#,
    r#""\x41""#,
    r#""\u12""#,
    r#""\u123g""#,
    r#""\u+123""#,
    r#""\U0041""#,
    r#""\0""#,
    "\"\n\"",
    "\"\t\"",
    "\"\0\"",
    "\"\u{1f}\"",
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1;2]",
    "[}",
    "{",
    "}",
    "{]",
    r#"{"a"}"#,
    r#"{"a":}"#,
    r#"{"a" 1}"#,
    r#"{"a":1,}"#,
    r#"{,"a":1}"#,
    r#"{"a":1 "b":2}"#,
    r#"{a:1}"#,
    r#"{'a':1}"#,
    r#"{1:1}"#,
    r#"{null:1}"#,
    r#"{"a":1}}"#,
    r#"{"a":1}{}"#,
    "[]]",
    "1,",
    "// c\n1",
    "/* c */1",
    "1#",
    "\u{a0}1",
    "\u{b}1",
    "\u{c}1",
    "1\u{2028}",
];

#[test]
fn everything_else_is_refused() {
    for text in REFUSED {
        refused(text);
    }
}

#[test]
fn lone_surrogates_are_refused() {
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\ud800""#,
        r#""\udc00\ud800""#,
        r#""\ud800x""#,
        r#""\ud800\n""#,
        r#""\ud800\u0041""#,
        r#""\ud83d\ude0""#,
        r#"{"\ud800":1}"#,
    ] {
        refused(text);
    }
}

#[test]
fn a_byte_order_mark_and_bytes_that_are_no_utf_8_are_refused() {
    refused("\u{feff}{}");
    refused(b"\xef\xbb\xbf1");
    refused(b"\"\xff\"");
    refused(b"\"\xc0\x80\"");
    refused(b"\"\xed\xa0\x80\"");
    refused(b"1\xff");
    assert_eq!(decode_strict::<Raw>(b"\"\xff\"").unwrap_err().kind, Kind::NotUtf8);
}

#[test]
fn data_behind_the_value_is_refused_and_its_place_is_told() {
    let fault = decode_strict::<Raw>(b"{} x").unwrap_err();
    assert_eq!(fault.kind, Kind::Trailing(3));
    assert_eq!(fault.to_string(), "data after the JSON value at byte 3");
    assert!(decode_strict::<Raw>(b"{} \r\n\t").is_ok());
    assert_eq!(decode_strict::<Raw>(b"1\0").unwrap_err().kind, Kind::Trailing(1));
}

/// `depth` arrays and objects in each other, by turns where `mixed`.
fn nested(depth: usize, open: [&str; 2], close: [&str; 2]) -> String {
    let opened: String = (0..depth).map(|at| open[at % 2]).collect();
    let closed: String = (0..depth).rev().map(|at| close[at % 2]).collect();
    // An object needs a value behind its name.
    let inner = if opened.ends_with(':') { "0" } else { "" };
    opened + inner + &closed
}

#[test]
fn a_depth_of_64_is_accepted_and_65_is_refused() {
    let array = (["[", "["], ["]", "]"]);
    let object = ([r#"{"a":"#, r#"{"a":"#], ["}", "}"]);
    let mixed = ([r#"{"a":"#, "["], ["}", "]"]);
    let other = (["[", r#"{"a":"#], ["]", "}"]);
    for (open, close) in [array, object, mixed, other] {
        let deep = nested(DEPTH_MAX, open, close);
        assert!(decode_tolerant::<Raw>(deep.as_bytes()).is_ok());
        assert!(decode_tolerant::<Value>(deep.as_bytes()).is_ok());
        let deeper = nested(DEPTH_MAX + 1, open, close);
        assert_eq!(decode_tolerant::<Raw>(deeper.as_bytes()).unwrap_err().kind, Kind::TooDeep);
        assert_eq!(decode_tolerant::<Value>(deeper.as_bytes()).unwrap_err().kind, Kind::TooDeep);
        assert_eq!(Raw::parse(&deep).map(|raw| raw.text().len()), Some(deep.len()));
        assert_eq!(Raw::parse(&deeper), None);
    }
}

#[test]
fn ignored_and_raw_members_count_from_the_outermost_value() {
    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Holder {
        raw: Option<Raw>,
    }
    for name in ["raw", "ignored"] {
        let text = |depth| format!(r#"{{"{name}":{}}}"#, nested(depth, ["["; 2], ["]"; 2]));
        let at_limit = decode_tolerant::<Holder>(text(DEPTH_MAX - 1).as_bytes()).unwrap();
        assert_eq!(at_limit.raw.is_some(), name == "raw");
        let fault = decode_tolerant::<Holder>(text(DEPTH_MAX).as_bytes()).unwrap_err();
        assert_eq!((fault.path(), &fault.kind), (name, &Kind::TooDeep));
    }
}

#[test]
fn two_million_open_brackets_are_refused_at_once() {
    for bracket in ["[", r#"{"a":"#] {
        refused(bracket.repeat(2_000_000));
    }
}

#[test]
fn a_member_stands_once_however_it_is_spelled() {
    type Map = BTreeMap<String, Value>;
    for (text, path) in [
        (r#"{"a":1,"a":1}"#, "a"),
        (r#"{"a":1,"b":2,"\u0061":1}"#, "a"),
        (r#"{"\u0061":1,"a":null}"#, "a"),
        (r#"{"o":{"b":1,"b":1}}"#, "o.b"),
        (r#"{"l":[0,{"b":1,"c":{"d":1,"\u0064":1}}]}"#, "l[1].c.d"),
        (r#"{"\ud83d\ude00":1,"😀":1}"#, "😀"),
    ] {
        let fault = decode_tolerant::<Map>(text.as_bytes()).unwrap_err();
        assert_eq!((fault.path(), fault.kind.clone()), (path, Kind::Duplicate), "{text}");
        assert_eq!(fault.to_string(), format!("{path}: member stands twice"));
    }
    assert!(decode_tolerant::<Map>(br#"{"a":{"b":1},"b":1,"A":1}"#).is_ok());
}

#[test]
fn raw_text_keeps_spelling_order_duplicates_and_white_space() {
    for text in [
        r#"{"b":1,"a":2,"b":3}"#,
        "18446744073709551616",
        "1e9999",
        "-0",
        "1.50",
        "{ \"a\" :\n\t1 }",
        r#""\u0061\/""#,
        "[1,\r\n 2]",
        "null",
        r#"{"a":{"a":1,"a":[1e5,1E5]}}"#,
    ] {
        let padded = format!(" \n{text}\t ");
        let raw: Raw = decode_strict(padded.as_bytes()).unwrap();
        assert_eq!(raw.text(), text);
        assert_eq!(meshward_core::wire::json::encode(&raw), text.as_bytes());
        assert_eq!(Raw::parse(&padded), Some(raw.clone()));
        let member = meshward_core::wire::json::encode(&BTreeMap::from([("m", &raw)]));
        assert_eq!(member, format!(r#"{{"m":{text}}}"#).as_bytes());
        assert_eq!(raw.is_object(), text.starts_with('{'));
        assert_eq!(raw.is_null(), text == "null");
    }
    for text in ["", "{", "1 2", "{\"a\":}", "\"\\ud800\""] {
        assert_eq!(Raw::parse(text), None);
    }
}
