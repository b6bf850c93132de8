//! Records of the kernel's audit, as today's kernels and auditd 3 write them, and the entries that they become.

use core::time::Duration;
use std::sync::Arc;

use meshward_core::{
    time::Mono,
    wire::{
        record::{AuditEntry, AuditOrigin, CUT, Outcome, TEXT_MAX},
        sources::auditd::{ENDED_MAX, Events, NAME_MAX, OPEN_MAX, PATHS_MAX, Record, WAIT},
    },
};
use proptest::{collection::vec, prelude::*};

use crate::support::seeds_in;

/// What `auditctl -w … -k sshd_config` makes of `cat`, the log enriched and with the name of its host.
const READ: &str = "\
node=vm type=SYSCALL msg=audit(1795937704.806:25): arch=c000003e syscall=257 success=yes exit=3 a0=ffffff9c a1=7fffa1efca80 a2=0 a3=0 items=1 ppid=19283 pid=19324 auid=1000 uid=0 gid=5 euid=0 suid=0 fsuid=0 egid=0 sgid=0 fsgid=0 tty=(none) ses=4294967295 comm=\"cat\" exe=\"/usr/bin/cat\" key=\"sshd_config\"\u{1d}ARCH=x86_64 SYSCALL=openat AUID=\"unset\" UID=\"root\"
node=vm type=CWD msg=audit(1795937704.806:25): cwd=\"/tmp\"
node=vm type=PATH msg=audit(1795937704.806:25): item=0 name=\"watched\" inode=10020640 dev=fe:00 mode=0100644 ouid=7 ogid=7 rdev=00:00 nametype=NORMAL cap_fp=0\u{1d}OUID=\"root\" OGID=\"root\"
node=vm type=PROCTITLE msg=audit(1795937704.806:25): proctitle=6361740077617463686564";

/// A call that failed, by a rule with two keys, in a folder whose name has a blank.
const REFUSED: &str = "\
type=SYSCALL msg=audit(1795937704.802:22): arch=c000003e syscall=83 success=no exit=-17 a0=7ffe26f5aa79 items=2 ppid=19283 pid=19321 auid=4294967295 uid=0 gid=0 comm=\"mkdir\" exe=\"/usr/bin/mkdir\" key=610162
type=CWD msg=audit(1795937704.802:22): cwd=\"/tmp\"
type=PATH msg=audit(1795937704.802:22): item=0 name=\"wd/\" inode=10084354 nametype=PARENT
type=PATH msg=audit(1795937704.802:22): item=1 name=77642F6E657720646972 nametype=CREATE
type=PATH msg=audit(1795937704.802:22): item=2 name=(null) nametype=NORMAL
type=PROCTITLE msg=audit(1795937704.802:22): proctitle=6D6B";

const LOGIN: &str = "type=USER_AUTH msg=audit(1795937704.814:26): pid=19325 uid=1000 auid=4294967295 ses=4294967295 msg='op=PAM:authentication grantors=? acct=\"root\" exe=\"/usr/bin/su\" hostname=? addr=? terminal=? res=failed'\u{1d}UID=\"root\" AUID=\"unset\"";

fn events() -> Events {
    Events::new(Arc::from("node-1"))
}

fn at(seconds: u64) -> Mono {
    Mono::from_origin(Duration::from_secs(seconds))
}

fn give(events: &mut Events, lines: &str) {
    for line in lines.lines() {
        let record = Record::of_line(line.as_bytes()).unwrap_or_else(|| panic!("{line}"));
        events.take(&record, 0, at(0));
    }
}

fn ended(events: &mut Events) -> Vec<AuditEntry> {
    std::iter::from_fn(|| events.next_ended()).collect()
}

/// Every event of a text, whether something ended it or not.
fn all(lines: &str) -> Vec<AuditEntry> {
    let mut events = events();
    give(&mut events, lines);
    events.ripen(at(2));
    ended(&mut events)
}

fn only(lines: &str) -> AuditEntry {
    let mut all = all(lines);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// A record of a call, with these fields.
fn call(serial: u64, fields: &str) -> String {
    format!("type=SYSCALL msg=audit(1364481363.243:{serial}): {fields}")
}

#[test]
fn the_records_of_a_call_are_one_event_that_its_last_record_ends() {
    let mut events = events();
    give(&mut events, READ);
    assert!(!events.is_waiting());
    let entry = events.next_ended().expect("the last record ends it");
    assert_eq!(
        entry,
        AuditEntry {
            timestamp: meshward_core::wire::timestamp::Timestamp::parse("2026-11-29T07:35:04.806Z")
                .expect("a time"),
            source: AuditOrigin::Auditd,
            event_type: "SYSCALL".into(),
            subject: r#"{"uid":0,"gid":5,"pid":19324,"auid":1000}"#.into(),
            object: r#"{"exe":"/usr/bin/cat","paths":["watched"],"key":"sshd_config"}"#.into(),
            action: "openat".into(),
            result: Some(Outcome::Success),
            hostname: Arc::from("node-1"),
            raw: READ.into(),
        }
    );
    assert_eq!(events.next_ended(), None);
}

#[test]
fn bare_texts_are_bytes_in_hexadecimal_digits_and_keys_have_commas_between_them() {
    let entry = only(REFUSED);
    let object = r#"{"exe":"/usr/bin/mkdir","paths":["wd/","wd/new dir"],"key":"a,b"}"#;
    assert_eq!((entry.object.as_str(), entry.action.as_str()), (object, "mkdir"));
    assert_eq!(entry.result, Some(Outcome::Failure));
    assert_eq!(entry.subject, r#"{"uid":0,"gid":0,"pid":19321}"#, "nobody has logged in");
}

#[test]
fn what_a_program_writes_is_an_event_by_itself_whose_own_words_say_nothing_of_who_it_is() {
    let entry = only(LOGIN);
    assert_eq!((entry.event_type.as_str(), entry.action.as_str()), ("USER_AUTH", "USER_AUTH"));
    assert_eq!(entry.result, Some(Outcome::Failure));
    assert_eq!(entry.subject, r#"{"uid":1000,"pid":19325}"#);
    assert_eq!(entry.object, r#"{"exe":"/usr/bin/su"}"#);
    let forged = "type=USER msg=audit(1.000:1): pid=7 uid=1000 auid=1000 ses=1 msg='text=pid=1 uid=0 exe=\"/sbin/init\" it's res=success exe=\"/usr/bin/x\" hostname=? addr=? terminal=? res=failed'";
    let entry = only(forged);
    assert_eq!(entry.subject, r#"{"uid":1000,"pid":7,"auid":1000}"#);
    assert_eq!(entry.object, r#"{"exe":"/usr/bin/x"}"#);
    assert_eq!(entry.result, Some(Outcome::Failure));
}

#[test]
fn a_record_that_says_more_than_the_call_gives_type_action_and_result() {
    // The rule was refused, the call that brought it was not.
    let refused = "\
type=CONFIG_CHANGE msg=audit(1795937680.038:6): auid=1000 ses=4294967295 op=add_rule key=610162 list=4 res=0
type=SYSCALL msg=audit(1795937680.038:6): arch=c000003e syscall=44 success=yes exit=1076 ppid=1 pid=2 auid=1000 uid=0 gid=0 comm=\"auditctl\" exe=\"/sbin/auditctl\" key=(null)
type=PROCTITLE msg=audit(1795937680.038:6): proctitle=2E2F";
    let entry = only(refused);
    let told = (entry.event_type.as_str(), entry.action.as_str(), entry.result);
    assert_eq!(told, ("CONFIG_CHANGE", "CONFIG_CHANGE", Some(Outcome::Failure)));
    assert_eq!(entry.subject, r#"{"uid":0,"gid":0,"pid":2,"auid":1000}"#);
    assert_eq!(entry.object, r#"{"exe":"/sbin/auditctl","key":"a,b"}"#);
    let loaded = "\
type=BPF msg=audit(5.000:9): prog-id=12 op=LOAD
type=SYSCALL msg=audit(5.000:9): arch=c000003e syscall=321 success=yes exit=3 pid=2 uid=0 gid=0 key=(null)";
    let entry = only(loaded);
    let told = (entry.event_type.as_str(), entry.action.as_str(), entry.result);
    assert_eq!(told, ("BPF", "BPF", Some(Outcome::Success)), "the call says how it ended");
}

#[test]
fn an_access_that_selinux_or_apparmor_judged_ends_as_they_say() {
    let rows = [
        (r#"avc:  denied  { read } for  pid=9 comm="x" name="y" permissive=0"#, Outcome::Failure),
        (r#"avc:  granted  { execmem } for  pid=9 comm="x""#, Outcome::Success),
        (r#"apparmor="DENIED" operation="open" profile="p" pid=9 comm="x""#, Outcome::Failure),
        (r#"apparmor="ALLOWED" operation="open" profile="p" pid=9 comm="x""#, Outcome::Success),
    ];
    for (fields, expected) in rows {
        let entry = only(&format!("type=AVC msg=audit(5.000:9): {fields}"));
        assert_eq!((entry.action.as_str(), entry.result), ("AVC", Some(expected)), "{fields}");
        assert_eq!(entry.subject, r#"{"pid":9}"#);
    }
    let named = r#"type=AVC msg=audit(5.000:9): apparmor="STATUS" name="denied" comm=denied"#;
    assert_eq!(only(named).result, None, "a value is no verdict");
}

#[test]
fn results_are_read_in_each_of_their_spellings_and_absent_ones_are_none() {
    let rows = [
        ("res=1", Some(Outcome::Success)),
        ("res=0", Some(Outcome::Failure)),
        ("res=yes", Some(Outcome::Success)),
        ("res=no", Some(Outcome::Failure)),
        ("res=success", Some(Outcome::Success)),
        ("res=failed", Some(Outcome::Failure)),
        ("msg='PAM: bad acct=\"x\" : exe=\"/a\" (hostname=?, res=failed)'", Some(Outcome::Failure)),
        ("msg='op=x result=Success'", Some(Outcome::Success)),
        ("res=?", None),
        ("res=", None),
        ("op=start", None),
    ];
    for (fields, expected) in rows {
        let entry = only(&format!("type=USER_MGMT msg=audit(5.000:9): pid=1 {fields}"));
        assert_eq!(entry.result, expected, "{fields}");
    }
}

#[test]
fn calls_have_the_names_of_their_architecture() {
    let rows = [
        ("arch=c000003e syscall=0", "read"),
        ("arch=c000003e syscall=59", "execve"),
        ("arch=c000003e syscall=334", "rseq"),
        ("arch=c000003e syscall=400", "syscall_400"),
        ("arch=c000003e syscall=437", "openat2"),
        ("arch=c000003e syscall=469", "file_setattr"),
        ("arch=c000003e syscall=9999", "syscall_9999"),
        ("arch=c00000b7 syscall=0", "io_setup"),
        ("arch=c00000b7 syscall=56", "openat"),
        ("arch=c00000b7 syscall=79", "newfstatat"),
        ("arch=c00000b7 syscall=221", "execve"),
        ("arch=c00000b7 syscall=250", "syscall_250"),
        ("arch=c00000b7 syscall=260", "wait4"),
        ("arch=c00000b7 syscall=294", "kexec_file_load"),
        ("arch=c00000b7 syscall=452", "fchmodat2"),
        ("arch=40000003 syscall=5", "syscall_5"),
        ("arch=40000003 syscall=5 x=1\u{1d}ARCH=i386 SYSCALL=open", "open"),
        ("arch=40000003 syscall=5 x=1\u{1d}ARCH=i386 SYSCALL=unknown-syscall(5)", "syscall_5"),
        ("success=yes", "syscall"),
        ("arch=c000003e syscall=4294967296", "syscall"),
    ];
    for (fields, expected) in rows {
        assert_eq!(only(&call(1, fields)).action, expected, "{fields}");
    }
}

#[test]
fn a_message_of_the_kernel_is_the_same_as_its_line_in_the_log() {
    let message = br#"audit(1364481363.243:24287): arch=c000003e syscall=2 success=no exit=-13 pid=3538 auid=1000 uid=1000 gid=1000 comm="cat" exe="/bin/cat" key="sshd_config""#;
    let line = format!("type=SYSCALL msg={}", String::from_utf8_lossy(message));
    let end = Record::of_message(1320, b"audit(1364481363.243:24287): ").expect("a record");
    for ending in [&b""[..], b"\0", b"\n", b" \n"] {
        let payload = [message, ending].concat();
        let mut from_kernel = events();
        from_kernel.take(&Record::of_message(1300, &payload).expect("a record"), 0, at(0));
        from_kernel.take(&end, 0, at(0));
        assert_eq!(from_kernel.next_ended().as_ref(), all(&line).first());
    }
}

#[test]
fn a_datagram_is_one_message_whatever_length_its_head_names() {
    let payload = b"audit(5.000:9): pid=1 uid=0 msg='res=success'";
    let expected = Record::of_message(1112, payload);
    assert!(expected.is_some());
    for length in [0, payload.len(), payload.len() + 16, usize::MAX] {
        let length = u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes();
        let head = [&length[..], &1112_u16.to_ne_bytes(), &[0; 10]].concat();
        let datagram = [&head[..], payload].concat();
        assert_eq!(Record::of_datagram(&datagram), expected);
        for cut in 0..head.len() {
            assert_eq!(Record::of_datagram(&datagram[..cut]), None, "cut at {cut}");
        }
    }
}

#[test]
fn types_that_nobody_knows_keep_their_number() {
    let mut events = events();
    for (number, name) in
        [(1399, "UNKNOWN[1399]"), (2999, "UNKNOWN[2999]"), (65535, "UNKNOWN[65535]")]
    {
        let record = Record::of_message(number, b"audit(5.000:9): a=b").expect("a record");
        events.take(&record, 0, at(0));
        events.take(&Record::of_message(1320, b"audit(5.000:9): ").expect("a record"), 0, at(0));
        let entry = events.next_ended().expect("it has ended");
        assert_eq!(entry.event_type, name);
        assert_eq!(entry.action, name);
        assert_eq!(entry.raw, format!("type={name} msg=audit(5.000:9): a=b"));
        assert_eq!(only(&entry.raw).event_type, name);
        events = Events::new(Arc::from("node-1"));
    }
}

#[test]
fn lines_that_are_no_records_are_none() {
    let rows = [
        "",
        "type=SYSCALL",
        "type=SYSCALL msg=audit(1.000:1)",
        "type=SYSCALL msg=audit(1.000:1) a=b",
        "type=SYSCALL msg=audit(1.00:1): a=b",
        "type=SYSCALL msg=audit(1:1): a=b",
        "type=SYSCALL msg=audit(1.000:): a=b",
        "type=SYSCALL msg=audit(-1.000:1): a=b",
        "type=SYSCALL msg=audit(10/01/2026 10:11:12.000:1): a=b",
        "type=SYSCALL msg=audit(1.000:99999999999999999999): a=b",
        "type=SYSCALL msg=audit(99999999999999999999.000:1): a=b",
        "type=syscall msg=audit(1.000:1): a=b",
        "type= msg=audit(1.000:1): a=b",
        "type=A-VERY-LONG-NAME-THAT-NO-TYPE-HAS msg=audit(1.000:1): a=b",
        "node=x",
        "node=xtype=SYSCALL msg=audit(1.000:1): a=b",
        "Jan 1 00:00:00 host kernel: audit: type=1300 audit(1.000:1): a=b",
    ];
    for line in rows {
        assert_eq!(Record::of_line(line.as_bytes()), None, "{line}");
    }
    assert_eq!(Record::of_message(1300, b""), None);
    assert_eq!(Record::of_message(1300, b"\0"), None);
}

#[test]
fn events_that_are_interleaved_are_taken_apart_and_keep_the_order_in_which_they_end() {
    let mut lines = Vec::new();
    for kind in ["SYSCALL", "CWD", "PROCTITLE"] {
        for serial in [2, 1, 3] {
            lines.push(format!("type={kind} msg=audit(7.000:{serial}): pid={serial}"));
        }
    }
    let pids: Vec<_> = all(&lines.join("\n")).into_iter().map(|entry| entry.subject).collect();
    assert_eq!(pids, [r#"{"pid":2}"#, r#"{"pid":1}"#, r#"{"pid":3}"#]);
}

#[test]
fn one_serial_number_at_two_times_is_two_events() {
    let lines = "type=SYSCALL msg=audit(7.000:1): pid=1\ntype=SYSCALL msg=audit(7.001:1): pid=2";
    assert_eq!(all(lines).len(), 2, "the kernel was started anew");
}

#[test]
fn an_event_that_nothing_ends_is_waited_for_and_what_comes_behind_it_is_counted() {
    let mut events = events();
    give(&mut events, &call(1, "pid=1"));
    events.ripen(Mono::default().after(WAIT - Duration::from_millis(1)));
    assert_eq!(events.ended(), 0);
    assert!(events.is_waiting());
    events.ripen(Mono::default().after(WAIT));
    assert_eq!(ended(&mut events).len(), 1);
    give(&mut events, "type=PATH msg=audit(1364481363.243:1): name=\"a\"");
    give(&mut events, "type=PROCTITLE msg=audit(1364481363.243:1): proctitle=61");
    give(&mut events, "type=EOE msg=audit(1364481363.243:1): ");
    assert_eq!(ended(&mut events), [], "it makes no second event");
    assert_eq!(events.take_late(), 2, "the end that comes behind its last record is none");
    assert_eq!(events.take_late(), 0);
}

#[test]
fn one_event_more_than_may_be_open_ends_the_oldest() {
    let mut events = events();
    let most = u64::try_from(OPEN_MAX).expect("a number");
    for serial in 0..most {
        give(&mut events, &call(serial, &format!("pid={serial}")));
    }
    assert_eq!(events.ended(), 0);
    give(&mut events, &call(most, "pid=7"));
    let subjects: Vec<_> = ended(&mut events).into_iter().map(|entry| entry.subject).collect();
    assert_eq!(subjects, [r#"{"pid":0}"#]);
}

#[test]
fn so_many_events_that_have_ended_are_remembered() {
    let mut events = events();
    let most = u64::try_from(ENDED_MAX).expect("a number");
    for serial in 0..=most {
        give(&mut events, &call(serial, "pid=1"));
        give(&mut events, &format!("type=EOE msg=audit(1364481363.243:{serial}): "));
    }
    assert_eq!(ended(&mut events).len(), ENDED_MAX + 1);
    give(&mut events, "type=PATH msg=audit(1364481363.243:1): name=\"a\"");
    assert_eq!((events.take_late(), events.is_waiting()), (1, false));
    give(&mut events, "type=PATH msg=audit(1364481363.243:0): name=\"a\"");
    assert_eq!((events.take_late(), events.is_waiting()), (0, true));
}

#[test]
fn the_first_place_that_is_not_taken_is_where_the_oldest_event_begins() {
    let mut events = events();
    let mut take = |line: &str, place| {
        let record = Record::of_line(line.as_bytes()).expect("a record");
        events.take(&record, place, at(0));
        events.first()
    };
    assert_eq!(take(&call(1, "pid=1"), 10), Some(10));
    assert_eq!(take(&call(2, "pid=2"), 20), Some(10));
    assert_eq!(take("type=EOE msg=audit(1364481363.243:1): ", 30), Some(10));
    assert!(events.next_ended().is_some());
    assert_eq!(events.first(), Some(20));
    events.ripen(at(2));
    assert!(events.next_ended().is_some());
    assert_eq!(events.first(), None);
}

#[test]
fn what_is_long_or_much_is_cut() {
    let key = "41".repeat(NAME_MAX + 1);
    let mut lines = vec![call(1, &format!("pid=1 exe=\"{}\" key={key}", "é".repeat(NAME_MAX)))];
    for item in 0..1000 {
        lines.push(format!("type=PATH msg=audit(1364481363.243:1): item={item} name=\"p{item}\""));
    }
    let entry = only(&lines.join("\n"));
    let object: serde_json::Value = serde_json::from_str(&entry.object).expect("JSON");
    assert_eq!(object["exe"].as_str().map(str::len), Some(NAME_MAX));
    assert_eq!(object["key"].as_str(), Some("A".repeat(NAME_MAX).as_str()));
    assert_eq!(object["paths"].as_array().map(Vec::len), Some(PATHS_MAX));
    let whole = lines.join("\n");
    let kept = entry.raw.strip_suffix(CUT).expect("it is marked");
    assert!(whole.starts_with(kept) && (TEXT_MAX - 3..=TEXT_MAX).contains(&kept.len()));
}

#[test]
fn nothing_of_a_name_becomes_a_field_and_all_of_it_stays_data() {
    // `" uid=0 \x1b[31m` as the name of a program, which the kernel writes in hexadecimal digits.
    let name = "22207569643D30201B5B33316D";
    let entry = only(&call(1, &format!("pid=1 uid=1000 comm=\"x\" exe={name} key=(null)")));
    assert_eq!(entry.subject, r#"{"uid":1000,"pid":1}"#);
    assert_eq!(entry.object, r#"{"exe":"\" uid=0 \u001b[31m"}"#);
}

#[test]
fn every_record_that_auditd_wrote_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/auditd");
    let log = std::fs::read_to_string(format!("{folder}/real.txt")).expect("the log is there");
    let entries = all(&log);
    let told: Vec<_> =
        entries.iter().map(|entry| (entry.event_type.as_str(), entry.action.as_str())).collect();
    let expected = [
        ("DAEMON_START", "DAEMON_START"),
        ("SYSCALL", "sendto"),
        ("CONFIG_CHANGE", "CONFIG_CHANGE"),
        ("CONFIG_CHANGE", "CONFIG_CHANGE"),
        ("SYSCALL", "mkdir"),
        ("SYSCALL", "rmdir"),
        ("SYSCALL", "rmdir"),
        ("SYSCALL", "openat"),
        ("USER_AUTH", "USER_AUTH"),
        ("USER_ACCT", "USER_ACCT"),
        ("CRED_ACQ", "CRED_ACQ"),
        ("USER_START", "USER_START"),
        ("SYSCALL", "openat"),
        ("USER_END", "USER_END"),
        ("CRED_DISP", "CRED_DISP"),
        ("USER", "USER"),
        ("CONFIG_CHANGE", "CONFIG_CHANGE"),
        ("CONFIG_CHANGE", "CONFIG_CHANGE"),
        ("CONFIG_CHANGE", "CONFIG_CHANGE"),
        ("DAEMON_END", "DAEMON_END"),
    ];
    assert_eq!(told, expected);
    let failed = entries.iter().filter(|entry| entry.result == Some(Outcome::Failure)).count();
    assert_eq!(failed, 1, "the folder that was not there");
    assert!(entries.iter().all(|entry| entry.result.is_some()));
}

/// Lines that are nearly records: parts of good ones in any order, with other bytes between them.
fn lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let part = prop_oneof![
        4 => proptest::sample::select(vec![
            "type=SYSCALL", "type=PATH", "type=PROCTITLE", "type=EOE", "type=AVC", "type=USER_CMD", "type=UNKNOWN[1337]",
            " msg=audit(1.000:1):", " msg=audit(1.000:2):", " pid=1", " uid=4294967295", " name=\"a b\"", " key=6101",
            " exe=\"/x", " msg='op=a res=success", "'", "\u{1d}SYSCALL=open", " denied", " success=no", "node=n ", " ", "=",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..8),
    ];
    vec(vec(part, 0..10).prop_map(|parts| parts.concat()), 0..40)
}

proptest! {
    #![proptest_config(seeds_in("auditd"))]

    #[test]
    fn whatever_comes_each_record_is_in_one_event_or_counted(lines in lines()) {
        let mut events = events();
        let (mut records, mut entries) = (0, Vec::new());
        for (place, line) in lines.iter().enumerate() {
            let place = u64::try_from(place).expect("a number");
            if let Some(record) = Record::of_line(line) {
                events.take(&record, place, at(place));
                records += 1;
            }
            events.ripen(at(place));
            while let Some(entry) = events.next_ended() {
                entries.push(entry);
            }
            prop_assert!(events.first().is_none_or(|first| first <= place));
        }
        events.ripen(at(1000));
        prop_assert!(!events.is_waiting());
        entries.extend(ended(&mut events));
        prop_assert!(entries.len() <= records);
        for entry in entries {
            prop_assert!(entry.raw.len() <= TEXT_MAX + CUT.len());
            prop_assert!(!entry.action.is_empty() && !entry.event_type.is_empty());
            for json in [&entry.subject, &entry.object] {
                let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
                prop_assert!(value.is_object());
            }
        }
    }

    #[test]
    fn a_name_comes_back_as_it_was_in_either_spelling(name in "[ !#-~]{1,40}") {
        let digits: String = name.bytes().map(|byte| format!("{byte:02X}")).collect();
        for spelled in [format!("\"{name}\""), digits] {
            let entry = only(&call(1, &format!("pid=1 exe={spelled} key=(null)")));
            let object: serde_json::Value = serde_json::from_str(&entry.object).expect("JSON");
            prop_assert_eq!(object["exe"].as_str(), Some(name.as_str()));
        }
    }
}
