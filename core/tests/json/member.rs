//! Members of typed objects: their kinds, their paths, and what a fault tells of them.

use meshward_core::wire::{execution::Callback, json::Kind, snapshot::Snapshot};

use crate::{Outer, refused, strict, tolerant};

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
