//! Entries of the journal: what each field becomes, and what is no entry.

use std::sync::Arc;

use meshward_core::wire::{
    ingest::Severity,
    record::{CUT, LogSource, TEXT_MAX},
    sources::journald::{Entry, NotAnEntry, UNIT_MAX, is_cursor},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support;

fn decode(line: impl AsRef<[u8]>) -> Result<Entry, NotAnEntry> {
    Entry::decode(line.as_ref(), &Arc::from("node-1"))
}

/// An entry with these members besides those that it must have.
fn entry(members: Value) -> Entry {
    let mut line = json!({ "__CURSOR": "s=1;i=2", "__REALTIME_TIMESTAMP": "1767225600123456", "MESSAGE": "m" });
    for (name, value) in members.as_object().into_iter().flatten() {
        line[name.as_str()] = value.clone();
    }
    decode(line.to_string()).expect("an entry")
}

fn message(message: Value) -> Option<String> {
    entry(json!({ "MESSAGE": message })).log.map(|log| log.message)
}

#[test]
fn an_entry_is_read_as_the_tool_writes_it() {
    let line = r#"{"__CURSOR":"s=d4;i=5b3;b=ce;m=12;t=64;x=f2","__REALTIME_TIMESTAMP":"1767225600123456",
        "__MONOTONIC_TIMESTAMP":"302","_BOOT_ID":"ce","_SYSTEMD_UNIT":"ssh.service","SYSLOG_IDENTIFIER":"sshd",
        "PRIORITY":"3","MESSAGE":"Connection closed","_PID":"812"}"#;
    let entry = decode(line).unwrap();
    assert_eq!((entry.cursor.as_str(), entry.pid), ("s=d4;i=5b3;b=ce;m=12;t=64;x=f2", Some(812)));
    let log = entry.log.unwrap();
    assert_eq!(log.timestamp.to_string(), "2026-01-01T00:00:00.123456Z");
    assert_eq!((log.source, log.severity), (LogSource::Journald, Severity::Err));
    assert_eq!(
        (&*log.unit, &*log.message, &*log.hostname),
        ("ssh.service", "Connection closed", "node-1")
    );
}

#[test]
fn a_message_is_a_text_or_bytes_or_the_first_of_several() {
    assert_eq!(message(json!("\u{1b}[31m{\"a\":1}\n")), Some("\u{1b}[31m{\"a\":1}\n".to_owned()));
    assert_eq!(message(json!([104, 105, 255])), Some("hi\u{fffd}".to_owned()));
    assert_eq!(message(json!(["first", "second"])), Some("first".to_owned()));
    assert_eq!(message(json!([[104, 105], "second"])), Some("hi".to_owned()));
    assert_eq!(message(json!([null, "second"])), Some("second".to_owned()));
    for none in [
        json!(null),
        json!(""),
        json!([]),
        json!([[]]),
        json!(7),
        json!(-1),
        json!(true),
        json!({ "a": [1] }),
    ] {
        assert_eq!(message(none.clone()), None, "{none}");
    }
}

#[test]
fn a_long_message_is_cut_as_text_and_as_bytes() {
    let cut = format!("{}{CUT}", "x".repeat(TEXT_MAX));
    assert_eq!(message(json!("x".repeat(TEXT_MAX))), Some("x".repeat(TEXT_MAX)));
    assert_eq!(message(json!("x".repeat(TEXT_MAX + 1))), Some(cut.clone()));
    assert_eq!(message(json!(vec![b'x'; TEXT_MAX])), Some("x".repeat(TEXT_MAX)));
    assert_eq!(message(json!(vec![b'x'; 3 * TEXT_MAX])), Some(cut));
}

#[test]
fn the_priority_is_the_severity_and_an_unknown_one_is_info() {
    for (number, severity) in Severity::ALL.into_iter().enumerate() {
        let log = entry(json!({ "PRIORITY": number.to_string() })).log.unwrap();
        assert_eq!(log.severity, severity);
    }
    for unknown in [
        json!("8"),
        json!("-1"),
        json!(""),
        json!("err"),
        json!(null),
        json!(3),
        json!("99999999999999999999"),
    ] {
        assert_eq!(
            entry(json!({ "PRIORITY": unknown })).log.unwrap().severity,
            Severity::Info,
            "{unknown}"
        );
    }
}

#[test]
fn the_unit_is_that_of_systemd_or_what_the_program_calls_itself() {
    let unit = |members| entry(members).log.unwrap().unit.to_string();
    assert_eq!(
        unit(json!({ "_SYSTEMD_UNIT": "a.service", "SYSLOG_IDENTIFIER": "a" })),
        "a.service"
    );
    assert_eq!(unit(json!({ "SYSLOG_IDENTIFIER": "kernel" })), "kernel");
    assert_eq!(unit(json!({ "_SYSTEMD_UNIT": "", "SYSLOG_IDENTIFIER": ["a", "b"] })), "a");
    assert_eq!(unit(json!({})), "");
    assert_eq!(unit(json!({ "SYSLOG_IDENTIFIER": "a\0b" })), "a\u{fffd}b");
    assert_eq!(
        unit(json!({ "SYSLOG_IDENTIFIER": "é".repeat(UNIT_MAX) })),
        "é".repeat(UNIT_MAX / 2)
    );
}

#[test]
fn a_line_without_cursor_or_time_is_no_entry() {
    let time = r#""__REALTIME_TIMESTAMP":"1""#;
    let cursor = r#""__CURSOR":"s=1""#;
    let rows = [
        String::new(),
        "-- No entries --".to_owned(),
        "[]".to_owned(),
        format!("{{{time}}}"),
        format!("{{{cursor}}}"),
        format!("{{{time},\"__CURSOR\":\"\"}}"),
        format!("{{{time},\"__CURSOR\":\"a b\"}}"),
        format!("{{{time},\"__CURSOR\":null}}"),
        format!("{{{cursor},\"__REALTIME_TIMESTAMP\":\"-1\"}}"),
        format!("{{{cursor},\"__REALTIME_TIMESTAMP\":\"99999999999999999999\"}}"),
        format!("{{{cursor},{time},{time}}}"),
        format!("{{{cursor},{time},\"MESSAGE\":[256]}}"),
        format!("{{{cursor},{time}}}}}"),
        format!("{{{cursor},{time}"),
    ];
    for line in rows {
        assert_eq!(decode(&line), Err(NotAnEntry), "{line}");
    }
    assert!(decode(format!("{{{cursor},{time}}}")).is_ok_and(|entry| entry.log.is_none()));
}

#[test]
fn a_time_beyond_the_years_that_can_be_written_is_the_last_one() {
    let log = entry(json!({ "__REALTIME_TIMESTAMP": u64::MAX.to_string() })).log.unwrap();
    assert_eq!(log.timestamp.to_string(), "9999-12-31T23:59:59.999999999Z");
}

#[test]
fn a_cursor_is_printable_and_of_some_length() {
    assert!(is_cursor("s=1;i=2") && is_cursor(&"x".repeat(4096)));
    for text in ["", "a b", "a\n", "a\0", "é", &"x".repeat(4097)] {
        assert!(!is_cursor(text), "{text:?}");
    }
}

proptest! {
    #![proptest_config(support::seeds_in("sources_journald"))]

    #[test]
    fn any_bytes_are_an_entry_or_none(bytes: Vec<u8>) {
        let _ = decode(&bytes);
    }

    #[test]
    fn a_message_comes_as_it_was_written(text in "\\PC{0,50}", bytes: Vec<u8>) {
        prop_assert_eq!(message(json!(text)).unwrap_or_default(), text);
        let lossy = String::from_utf8_lossy(&bytes).into_owned();
        prop_assert_eq!(message(json!(bytes)).unwrap_or_default(), lossy);
    }
}
