//! A pull with entries that are none: they cost themselves, and any other block the whole answer.

use meshward_core::wire::{
    pulled::{self, Block, Pulled},
    snapshot::Snapshot,
};

fn read(executions: &str, sessions: &str) -> Pulled {
    let text = format!(
        r#"{{"peers":[],"policy":{{"rules":[],"new":1}},"executions":{executions},"sessions":{sessions},"later":{{}}}}"#
    );
    pulled::read(text.as_bytes()).expect("the blocks are sound")
}

fn spoilt(pulled: &Pulled) -> Vec<(Block, usize, Option<&str>)> {
    pulled.spoilt.iter().map(|entry| (entry.block, entry.index, entry.id.as_deref())).collect()
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

#[test]
fn any_other_block_that_cannot_be_read_spoils_the_answer() {
    for text in [
        r#"{"peers":[7],"executions":[]}"#,
        r#"{"peers":[],"executions":{}}"#,
        r#"{"peers":[],"executions":[],"sessions":7}"#,
        r#"{"peers":[],"executions":[],"state":[]}"#,
        r#"{"peers":[],"executions":[7]"#,
        "[]",
    ] {
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
