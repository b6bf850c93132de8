//! The JSON door on typed members: objects, absence, ranges, and where a fault says it is.

use meshward_core::wire::{
    execution::Callback,
    heartbeat::HeartbeatDraft,
    json::{self, Kind, Raw, decode_strict, decode_tolerant},
    rotation::{KeyRotateDraft, Receipt},
    snapshot::Snapshot,
};
use serde::Deserialize;

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Numbers {
    signed: i64,
    unsigned: u64,
    port: u16,
    small: i32,
    double: f64,
}

fn number(member: &str, spelling: &str) -> Result<Numbers, String> {
    let text = format!(r#"{{"{member}":{spelling}}}"#);
    decode_strict(text.as_bytes()).map_err(|fault| fault.to_string())
}

#[test]
fn an_array_where_an_object_is_due_is_refused_at_every_level() {
    for text in [
        r#"["started",0,null]"#,
        r#"{"status":"succeeded","output":["QQ==","",""]}"#,
        r#"{"status":"succeeded","output":[]}"#,
        "[]",
    ] {
        let fault = decode_strict::<Callback>(text.as_bytes()).unwrap_err();
        assert_eq!(fault.kind, Kind::Expected("an object".into()), "{text}");
        assert!(decode_tolerant::<Callback>(text.as_bytes()).is_err());
    }
    for text in [
        r#"{"policy":["r","f",[]]}"#,
        r#"{"bridge":[null,null,null,null]}"#,
        r#"{"bridge":{"relay":[[]]}}"#,
        r#"{"peers":[["n","m","p",""]]}"#,
        r#"{"policy":{"rules":[{"ports":[1,2]}]}}"#,
        r#"{"sessions":[{"target":["ssh"]}]}"#,
        r#"{"sessions":[{"target":{"tcp":["h",1]}}]}"#,
        r#"{"state":{"data":[["k","v",""]]}}"#,
        r#"{"executions":[["e"]]}"#,
        "[[]]",
    ] {
        let fault = decode_strict::<Snapshot>(text.as_bytes()).unwrap_err();
        assert_eq!(fault.kind, Kind::Expected("an object".into()), "{text}");
    }
    assert!(decode_strict::<KeyRotateDraft>(br#"["AQ=="]"#).is_err());
    assert!(decode_strict::<HeartbeatDraft>(b"[]").is_err());
}

#[test]
fn a_scalar_or_null_is_no_object() {
    for text in ["null", "1", "\"a\"", "true"] {
        let fault = decode_strict::<KeyRotateDraft>(text.as_bytes()).unwrap_err();
        assert_eq!(fault.kind, Kind::Expected("an object".into()), "{text}");
    }
}

#[test]
fn text_that_is_not_json_is_told_from_a_value_of_another_kind() {
    let fault = |text: &str| decode_strict::<KeyRotateDraft>(text.as_bytes()).unwrap_err();
    assert_eq!(fault("{\"new_public_key\":nope}").kind, Kind::Syntax(18));
    assert_eq!(fault("[1,]").kind, Kind::Syntax(3));
    assert_eq!(fault("{\"new_public_key\":[1]}").to_string(), "new_public_key: must be a string");
}

#[test]
fn null_is_absence_for_a_member_of_a_struct() {
    let bare: Callback = decode_strict(br#"{"status":"ack"}"#).unwrap();
    let nulls = br#"{"exit_code":null,"status":"ack","output":null,"error":null,"declared_output_bytes":null}"#;
    assert_eq!(decode_strict::<Callback>(nulls).unwrap(), bare);
    let output = br#"{"status":"ack","output":{"inline":null,"object_key":null,"sha256":null}}"#;
    assert_eq!(decode_strict::<Callback>(output).unwrap().output, Some(Default::default()));
    assert_eq!(
        decode_strict::<KeyRotateDraft>(br#"{"new_public_key":null}"#),
        Ok(Default::default())
    );
    assert_eq!(decode_strict::<Numbers>(br#"{"port":null,"double":null}"#), Ok(Default::default()));
    let fault = decode_strict::<Callback>(br#"{"status":null}"#).unwrap_err();
    assert_eq!((fault.path(), &fault.kind), ("status", &Kind::Missing));
    assert_eq!(
        decode_strict::<HeartbeatDraft>(br#"{"nat_summary":null}"#).unwrap().nat_summary,
        None
    );
}

#[test]
fn a_null_counts_as_a_member_that_stands() {
    let fault =
        decode_strict::<Callback>(br#"{"status":"ack","error":null,"error":"x"}"#).unwrap_err();
    assert_eq!((fault.path(), &fault.kind), ("error", &Kind::Duplicate));
    let fault = decode_strict::<Callback>(br#"{"status":"ack","surplus":null}"#).unwrap_err();
    assert_eq!((fault.path(), &fault.kind), ("surplus", &Kind::Unknown));
}

#[test]
fn null_in_an_array_or_a_map_is_no_absence() {
    assert!(decode_strict::<Snapshot>(br#"{"peers":[null]}"#).is_err());
    assert!(decode_strict::<Vec<String>>(b"[null]").is_err());
    assert_eq!(decode_strict::<Vec<Option<u8>>>(b"[null,1]"), Ok(vec![None, Some(1)]));
    type Map<T> = std::collections::BTreeMap<String, T>;
    assert!(decode_strict::<Map<String>>(br#"{"a":null}"#).is_err());
    assert!(decode_strict::<Map<Raw>>(br#"{"a":null}"#).unwrap()["a"].is_null());
}

#[test]
fn integers_have_no_fraction_and_stay_in_their_range() {
    assert_eq!(number("signed", "-0").unwrap().signed, 0);
    assert_eq!(number("unsigned", "-0").unwrap().unsigned, 0);
    assert_eq!(number("port", "-0").unwrap().port, 0);
    assert_eq!(number("signed", "9223372036854775807").unwrap().signed, i64::MAX);
    assert_eq!(number("signed", "-9223372036854775808").unwrap().signed, i64::MIN);
    assert_eq!(number("unsigned", "18446744073709551615").unwrap().unsigned, u64::MAX);
    assert_eq!(number("port", "65535").unwrap().port, u16::MAX);
    assert_eq!(number("small", "-2147483648").unwrap().small, i32::MIN);
    for (member, spelling) in [
        ("signed", "9223372036854775808"),
        ("signed", "-9223372036854775809"),
        ("unsigned", "18446744073709551616"),
        ("unsigned", "-1"),
        ("port", "65536"),
        ("port", "-1"),
        ("small", "2147483648"),
        ("small", "-2147483649"),
    ] {
        let told = number(member, spelling).unwrap_err();
        assert!(told.starts_with(&format!("{member}: must be an integer")), "{told}");
    }
    for spelling in ["1.0", "1e0", "1E2", "0.0", "-0.0", "\"1\"", "true", "[1]", "{}"] {
        for member in ["signed", "unsigned", "port", "small"] {
            assert!(number(member, spelling).is_err(), "{member} {spelling}");
        }
    }
    assert_eq!(number("port", "70000").unwrap_err(), "port: must be an integer from 0 to 65535");
}

#[test]
fn a_double_is_finite() {
    assert_eq!(number("double", "1").unwrap().double.to_bits(), 1.0_f64.to_bits());
    assert_eq!(number("double", "-2.5e1").unwrap().double.to_bits(), (-25.0_f64).to_bits());
    assert_eq!(number("double", "1e-400").unwrap().double.to_bits(), 0);
    assert_eq!(
        number("double", "1.7976931348623157e308").unwrap().double.to_bits(),
        f64::MAX.to_bits()
    );
    for spelling in ["1e400", "-1e400", "1e9999"] {
        let told = number("double", spelling).unwrap_err();
        assert_eq!(told, "double: must be a number that fits a double");
    }
    assert_eq!(number("double", "\"1\"").unwrap_err(), "double: must be a number");
}

#[test]
fn an_unknown_member_is_named_by_its_path() {
    for (text, path) in [
        (r#"{"status":"ack","extra":1}"#, "extra"),
        (r#"{"status":"ack","Status":"ack"}"#, "Status"),
        (r#"{"status":"ack","output":{"inline":"","more":1}}"#, "output.more"),
    ] {
        let fault = decode_strict::<Callback>(text.as_bytes()).unwrap_err();
        assert_eq!((fault.path(), &fault.kind), (path, &Kind::Unknown), "{text}");
        assert_eq!(fault.to_string(), format!("{path}: unknown member"));
        assert!(decode_tolerant::<Callback>(text.as_bytes()).is_ok(), "{text}");
    }
    let wrong =
        decode_strict::<Callback>(br#"{"status":"ack","output":{"inline":5}}"#).unwrap_err();
    assert_eq!(wrong.to_string(), "output.inline: must be a string");
    let text = br#"{"bridge":{"user_access":{"peers":[{},{"allowed_ips":["a",1]}]}}}"#;
    let wrong = decode_strict::<Snapshot>(text).unwrap_err();
    assert_eq!(wrong.path(), "bridge.user_access.peers[1].allowed_ips[1]");
}

#[test]
fn a_name_in_a_fault_is_short_and_on_one_line() {
    let text = format!(r#"{{"{}\n\u001b[31m\u202e":1}}"#, "x".repeat(1000));
    let fault = decode_strict::<KeyRotateDraft>(text.as_bytes()).unwrap_err();
    assert_eq!(fault.path(), "x".repeat(64));
    let escaped = decode_strict::<KeyRotateDraft>(b"{\"a\\n\\u001b[31m\\u202eb\":1}").unwrap_err();
    assert_eq!(escaped.path(), "a[31mb");
}

#[test]
fn a_closed_set_names_its_members_and_is_exact() {
    for status in ["pending", "timeout", "", "ACK", "ack ", "acknowledged"] {
        let text = format!(r#"{{"status":"{status}"}}"#);
        let fault = decode_strict::<Callback>(text.as_bytes()).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "status: must be one of ack, started, succeeded, failed, cancelled"
        );
    }
    for text in [r#"{"status":1}"#, r#"{"status":{"ack":null}}"#, r#"{"status":["ack"]}"#] {
        assert_eq!(decode_strict::<Callback>(text.as_bytes()).unwrap_err().path(), "status");
    }
    assert_eq!(
        decode_strict::<Callback>(b"{}").unwrap_err().to_string(),
        "status: required member is missing"
    );
}

#[test]
fn nul_is_refused_in_identifiers_and_admitted_in_values() {
    for text in [
        r#"{"peers":[{"node_id":"a\u0000"}]}"#,
        r#"{"executions":[{"execution_id":"\u0000"}]}"#,
        r#"{"executions":[{"action":"\u0000"}]}"#,
        r#"{"sessions":[{"session_id":"\u0000"}]}"#,
        r#"{"state":{"data":[{"key":"\u0000"}]}}"#,
        r#"{"policy":{"revision_id":"\u0000"}}"#,
    ] {
        let fault = decode_strict::<Snapshot>(text.as_bytes()).unwrap_err();
        assert!(fault.to_string().ends_with(": must not hold NUL"), "{fault}");
    }
    let value = br#"{"state":{"data":[{"key":"k","value":"\u0000"}]}}"#;
    let snapshot: Snapshot = decode_strict(value).unwrap();
    assert_eq!(snapshot.state.unwrap().data[0].value, "\0");
}

#[test]
fn an_array_or_object_that_goes_on_is_refused() {
    assert_eq!(decode_strict::<(u8, u8)>(b"[1,2]"), Ok((1, 2)));
    assert!(decode_strict::<(u8, u8)>(b"[1,2,3]").is_err());
    assert!(decode_strict::<(u8, u8)>(b"[1]").is_err());
    assert_eq!(decode_strict::<Vec<(u8, u8)>>(b"[[1,2],[3,4]]"), Ok(vec![(1, 2), (3, 4)]));
}

#[test]
fn an_integer_keeps_its_value_through_a_receipt() {
    let text = br#"{"rotation_id":"r","kid":"k","wrap_key_version":18446744073709551615}"#;
    let receipt: Receipt = decode_tolerant(text).unwrap();
    assert_eq!(receipt.wrap_key_version, u64::MAX);
    assert_eq!(json::encode(&receipt), text);
}

/// Knows three members, of which one is spelled with a character that needs no escape.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Three {
    first: u8,
    #[serde(rename = "zweite é")]
    second: u8,
    third: u8,
}

#[test]
fn members_are_found_in_any_order_and_spelling_and_none_stands_twice() {
    let all = Three { first: 1, second: 2, third: 3 };
    let members = [r#""first":1"#, r#""zweite é":2"#, r#" "third" : 3"#];
    let escaped = [r#""\u0066irst":1"#, r#""zweite \u00e9":2"#, r#""thir\u0064":3"#];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for spelling in 0..8 {
            let one = |at: usize| if spelling >> at & 1 == 1 { escaped[at] } else { members[at] };
            let list = order.map(one);
            let text = format!("{{{}}}", list.join(","));
            assert_eq!(decode_strict::<Three>(text.as_bytes()).as_ref(), Ok(&all), "{text}");
            for twice in order {
                let text = format!("{{{},{}}}", list.join(","), one(twice));
                let fault = decode_strict::<Three>(text.as_bytes()).unwrap_err();
                assert_eq!(fault.kind, Kind::Duplicate, "{text}");
            }
        }
    }
    for near in ["firs", "first ", "firstx", "", "secon", "thirdthird"] {
        let text = format!("{{\"{near}\":1}}");
        assert_eq!(decode_strict::<Three>(text.as_bytes()).unwrap_err().kind, Kind::Unknown);
        assert_eq!(decode_tolerant::<Three>(text.as_bytes()), Ok(Three::default()));
    }
}

#[test]
fn an_object_of_many_members_has_each_once() {
    type Map = std::collections::BTreeMap<String, u32>;
    for count in [1, 15, 16, 17, 18, 40, 400] {
        let members: Vec<String> = (0..count).map(|at| format!("\"m{at}\":{at}")).collect();
        let text = format!("{{{}}}", members.join(","));
        assert_eq!(decode_strict::<Map>(text.as_bytes()).unwrap().len(), count);
        for twice in [0, count / 2, count - 1] {
            let text = format!("{{{},\"\\u006d{twice}\":0}}", members.join(","));
            let fault = decode_strict::<Map>(text.as_bytes()).unwrap_err();
            assert_eq!((fault.path(), &fault.kind), (&*format!("m{twice}"), &Kind::Duplicate));
        }
    }
}
