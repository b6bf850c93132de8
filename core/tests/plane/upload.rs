//! Uploads by themselves: how much may come, what is held, and what is not shown.

use meshward_core::{
    ids::ExecutionId,
    plane::upload::{Effect, Input, Refusal, STORED_MAX, Token, Uploads, with},
    time::Now,
    wire::http::Body,
};

/// The digest of "abc".
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn id(text: &str) -> ExecutionId {
    ExecutionId(text.into())
}

fn give(uploads: &mut Uploads, input: Input) -> Effect {
    let step = std::mem::take(uploads).step(Now::default(), input);
    *uploads = step.state;
    step.effects[0]
}

fn declare(uploads: &mut Uploads, execution: &str, bytes: u64) -> Token {
    match give(uploads, Input::Declared { execution: id(execution), bytes }) {
        Effect::Issue(token) => token,
        other @ (Effect::Accept | Effect::Refuse(_)) => panic!("{other:?}"),
    }
}

fn put(uploads: &mut Uploads, execution: &str, token: Token, bytes: &[u8]) -> Effect {
    let body = Body::Whole(bytes.to_vec());
    give(uploads, Input::Put { execution: id(execution), token: Some(token), body })
}

#[test]
fn an_upload_may_bring_what_was_declared_until_it_has_come_and_nothing_elsewhere() {
    let mut uploads = Uploads::default();
    let token = declare(&mut uploads, "e1", 5);
    assert_eq!(uploads.room(&id("e1"), Some(token)), Some(5));
    assert_eq!(uploads.room(&id("e2"), Some(token)), None);
    assert_eq!(uploads.room(&id("e1"), Token::parse("exec-upload-0002")), None);
    assert_eq!(uploads.room(&id("e1"), None), None);
    assert_eq!(put(&mut uploads, "e1", token, b"abc"), Effect::Accept);
    assert_eq!(uploads.room(&id("e1"), Some(token)), None);
}

#[test]
fn all_that_is_held_is_counted_up_to_its_limit() {
    let mut uploads = Uploads::default();
    for (bytes, stored) in [(&b"abc"[..], 3), (b"", 3), (b"defgh", 8)] {
        let token = declare(&mut uploads, "e1", 9);
        assert_eq!(put(&mut uploads, "e1", token, bytes), Effect::Accept);
        assert_eq!(uploads.stored(), stored);
    }
    let token = declare(&mut uploads, "e1", 2);
    assert_eq!(put(&mut uploads, "e1", token, b"abc"), Effect::Refuse(Refusal::TooLarge));
    assert_eq!(uploads.stored(), 8, "what was refused is not held");
    assert_eq!(with(STORED_MAX - 3, 3), Some(STORED_MAX));
    assert_eq!(with(STORED_MAX - 3, 4), None);
    assert_eq!(with(usize::MAX, 1), None);
}

#[test]
fn an_object_key_names_its_execution_as_it_is_or_percent_encoded() {
    let mut uploads = Uploads::default();
    let token = declare(&mut uploads, "run 1", 9);
    put(&mut uploads, "run 1", token, b"abc");
    for (key, held) in [
        ("exec-output/run 1", true),
        ("exec-output/run%201", true),
        ("exec-output/run+1", false),
        ("exec-output/other", false),
        ("run 1", false),
    ] {
        assert_eq!(uploads.holds(&id("run 1"), key, ABC), held, "{key}");
    }
}

#[test]
fn uploaded_bytes_are_not_printed() {
    let mut uploads = Uploads::default();
    let token = declare(&mut uploads, "e1", 9);
    put(&mut uploads, "e1", token, b"canary");
    let shown = format!("{uploads:?}");
    assert!(shown.contains("6 bytes") && !shown.contains("canary") && !shown.contains("99, 97"));
}
