//! The grammar of RFC 8259, the encoding, and the limit on depth.

use meshward_core::wire::json::{DEPTH_MAX, Kind, Raw, decode_strict};
use serde_json::Value;

use crate::{Outer, refused, strict, tolerant};

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
    for (text, byte) in [("{}x", 2), ("{} {}", 3), ("{},", 2), ("{}\u{0}", 2), ("{}\n null", 4)] {
        assert_eq!(refused(text).kind, Kind::Trailing(byte), "{text}");
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
