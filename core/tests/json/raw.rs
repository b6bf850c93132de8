//! Values that are kept as their text.

use meshward_core::wire::json::{Raw, encode};

use crate::{Inner, strict};

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
