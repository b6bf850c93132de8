//! A pull of which parts cannot be read: each block, and each entry of a list, costs itself alone.

use meshward_core::wire::{
    pulled::{self, Block, OBJECTS_MAX, Pulled, SPOILT_MAX, Spoilt, VALUES_MAX},
    snapshot::Snapshot,
};

fn read(executions: &str, sessions: &str) -> Pulled {
    let text = format!(
        r#"{{"peers":[],"policy":{{"rules":[],"new":1}},"executions":{executions},"sessions":{sessions},"later":{{}}}}"#
    );
    pulled::read(text.as_bytes()).expect("the blocks are sound")
}

fn spoilt(pulled: &Pulled) -> Vec<(Block, usize, Option<&str>)> {
    let place = |entry: &Spoilt| entry.index.expect("an entry");
    pulled.spoilt.iter().map(|entry| (entry.block, place(entry), entry.id.as_deref())).collect()
}

#[test]
fn sound_entries_stay_beside_those_that_cannot_be_read() {
    let executions = r#"[{"execution_id":"a"},7,{"execution_id":"b","status":1},{"execution_id":9},
        {"execution_id":"c","expires_at":"soon"},{"execution_id":"d","later":true},null,[],
        {"execution_id":"e","execution_id":"f"}]"#;
    let sessions = r#"[{"session_id":"s"},{"session_id":"t","idle_timeout_seconds":-1}]"#;
    let pulled = read(executions, sessions);
    let ids: Vec<_> =
        pulled.snapshot.executions.iter().map(|entry| entry.execution_id.as_str()).collect();
    assert_eq!(ids, ["a", "d"]);
    let expected = [
        (Block::Executions, 1, None),
        (Block::Executions, 2, Some("b")),
        (Block::Executions, 3, None),
        (Block::Executions, 4, Some("c")),
        (Block::Executions, 6, None),
        (Block::Executions, 7, None),
        (Block::Executions, 8, None),
        (Block::Sessions, 1, Some("t")),
    ];
    assert_eq!(spoilt(&pulled), expected);
    assert_eq!(pulled.snapshot.sessions.map(|sessions| sessions.len()), Some(1));
    assert_eq!(
        pulled.policy.map(|raw| raw.text().to_owned()).as_deref(),
        Some(r#"{"rules":[],"new":1}"#)
    );
}

#[test]
fn a_null_block_of_sessions_stays_null_and_an_empty_one_empty() {
    assert_eq!(read("[7]", "null").snapshot.sessions, None);
    assert_eq!(read("[7]", "[]").snapshot.sessions, Some(Vec::new()));
}

/// Every block with a text that is none of its kind.
const BROKEN: [(&str, Block, &str); 14] = [
    ("peers", Block::Peers, "7"),
    ("peers", Block::Peers, "{}"),
    ("policy", Block::Policy, "[]"),
    ("policy", Block::Policy, r#"{"rules":[{"ports":{"from":-1}}]}"#),
    ("policy", Block::Policy, r#"{"rules":[],"rules":[]}"#),
    ("bridge", Block::Bridge, r#"{"ingress":{"rules":[{"listen_port":70000}]}}"#),
    ("bridge", Block::Bridge, "\"x\""),
    ("state", Block::State, "[]"),
    ("state", Block::Metadata, r#"{"metadata":7,"data":[{"key":"d","value":"2"}]}"#),
    ("state", Block::Data, r#"{"data":{}}"#),
    ("reports", Block::Reports, r#"{"data":[7]}"#),
    ("executions", Block::Executions, "{}"),
    ("sessions", Block::Sessions, "7"),
    ("sessions", Block::Sessions, "{}"),
];

const SOUND: [(&str, &str); 7] = [
    ("peers", r#"[{"node_id":"n"}]"#),
    ("policy", r#"{"fingerprint":"f"}"#),
    ("bridge", r#"{"relay":{}}"#),
    ("state", r#"{"metadata":[{"key":"m","value":"1"}],"data":[{"key":"d","value":"2"}]}"#),
    ("reports", r#"{"data":[{"key":"d","value":"2"}]}"#),
    ("executions", r#"[{"execution_id":"e"}]"#),
    ("sessions", r#"[{"session_id":"s"}]"#),
];

#[test]
fn a_block_that_cannot_be_read_costs_itself_and_no_other() {
    for (member, block, text) in BROKEN {
        let members = SOUND.map(|(name, sound)| {
            format!(r#""{name}":{}"#, if name == member { text } else { sound })
        });
        let pulled = pulled::read(format!("{{{}}}", members.join(",")).as_bytes());
        let pulled = pulled.unwrap_or_else(|fault| panic!("{member} {text}: {fault}"));
        let [Spoilt { block: found, index: None, id: None, .. }] = pulled.spoilt.as_slice() else {
            panic!("{member} {text}: {:?}", pulled.spoilt)
        };
        assert_eq!(*found, block, "{member} {text}");
        assert!(pulled.lacks(block) && pulled.unread(&[block]).may_hold("any"), "{member} {text}");
        let snapshot = &pulled.snapshot;
        let read = [
            ("peers", snapshot.peers.len() == 1),
            ("policy", snapshot.policy.is_some() && pulled.policy.is_some()),
            ("bridge", snapshot.bridge.is_some()),
            ("state", snapshot.state.as_ref().is_some_and(|state| state.data.len() == 1)),
            ("reports", snapshot.reports.is_some()),
            ("executions", snapshot.executions.len() == 1),
            ("sessions", snapshot.sessions.as_ref().is_some_and(|all| all.len() == 1)),
        ];
        for (name, is_read) in read {
            let broken = name == member && block != Block::Metadata;
            assert_eq!(is_read, !broken, "{name} beside {member} {text}");
        }
    }
}

#[test]
fn peers_and_entries_of_the_state_that_cannot_be_read_are_known_by_their_ids() {
    let text = r#"{"peers":[{"node_id":"a"},{"node_id":"b","mesh_ip":7},{"node_id":"c"}],
        "state":{"metadata":[{"key":"m","value":7}],"data":[{"key":"d","value":"1"},{"key":"e","value":[]},7]}}"#;
    let pulled = pulled::read(text.as_bytes()).expect("an object");
    let expected = [
        (Block::Peers, 1, Some("b")),
        (Block::Metadata, 0, Some("m")),
        (Block::Data, 1, Some("e")),
        (Block::Data, 2, None),
    ];
    assert_eq!(spoilt(&pulled), expected);
    assert_eq!(pulled.snapshot.peers.len(), 2);
    let peers = pulled.unread(&[Block::Peers]);
    assert!(peers.may_hold("b") && !peers.may_hold("a"));
    assert!(pulled.unread(&[Block::State, Block::Data]).may_hold("whatever"));
    assert!(!pulled.lacks(Block::Data));
}

#[test]
fn what_is_no_object_is_no_pull() {
    for text in [r#"{"peers":[],"executions":[7]"#, "[]", "7", "", r#"{"peers":[],"peers":[]}"#] {
        assert!(pulled::read(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn a_sound_pull_is_read_whole() {
    let pulled = read(r#"[{"execution_id":"a"}]"#, "[]");
    assert_eq!(pulled.spoilt, []);
    assert_eq!(pulled.snapshot.executions.len(), 1);
    assert_eq!(pulled::read(b"{}").map(|pulled| pulled.snapshot), Ok(Snapshot::default()));
}

#[test]
fn an_answer_of_more_objects_or_values_than_are_read_is_no_pull() {
    let many = |item: &str, count: usize| {
        format!(r#"{{"peers":[{}],"sessions":null}}"#, vec![item; count].join(","))
    };
    // The snapshot is an object itself, and its two members are apart by a comma.
    for (item, most) in [("{}", OBJECTS_MAX - 1), ("0", VALUES_MAX)] {
        pulled::read(many(item, most).as_bytes()).expect("so many are read");
        let fault = pulled::read(many(item, most + 1).as_bytes()).expect_err("and no more");
        assert_eq!(fault.to_string(), "too many values");
    }
    let quoted = format!(
        r#"{{"state":{{"metadata":[{{"key":"a","value":"\"{}"}}]}}}}"#,
        "{,".repeat(VALUES_MAX)
    );
    let read = pulled::read(quoted.as_bytes()).expect("a text holds no values");
    assert_eq!(read.spoilt, []);
}

#[test]
fn entries_that_cannot_be_read_are_told_apart_up_to_a_limit_and_then_stand_for_the_rest() {
    let text = format!(r#"{{"peers":[{}]}}"#, vec!["0"; SPOILT_MAX + 10].join(","));
    let read = pulled::read(text.as_bytes()).expect("a pull");
    assert_eq!(read.spoilt.len(), SPOILT_MAX + 1);
    assert!(read.unread(&[Block::Peers]).any);
}
