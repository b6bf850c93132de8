//! Where requests end on a connection, whatever pieces it comes in, and which heads are refused.

use meshward_core::wire::{
    framing::{CHUNK_LINE_MAX, FIELDS_MAX, Flaw, Framing, HEAD_MAX, Piece, Refused},
    http::Method,
};
use proptest::prelude::*;

/// What a connection brought: the targets of its heads, how many bytes passed, and what was refused.
#[derive(Debug, Default, PartialEq, Eq)]
struct Brought {
    targets: Vec<String>,
    passed: usize,
    refused: Option<Refused>,
    /// Whether a body broke its framing.
    is_lost: bool,
}

/// Gives the bytes in parts that end at these places, as a socket would.
fn bring(bytes: &[u8], ends: &[usize]) -> Brought {
    let (mut framing, mut brought, mut held) =
        (Framing::new(HEAD_MAX), Brought::default(), Vec::new());
    let mut from = 0;
    for end in ends.iter().copied().chain([bytes.len()]) {
        held.extend_from_slice(&bytes[from..end]);
        from = end;
        loop {
            let known = framing.known();
            let length = match framing.next(&held) {
                Piece::Partial => break,
                Piece::Head { length, target } => {
                    assert_eq!(known, 0, "a head came in the middle of a body");
                    brought.targets.push(target.to_owned());
                    length
                }
                Piece::Body { length } => length,
                Piece::Lost => return Brought { is_lost: true, ..brought },
                Piece::Refused(refused) => {
                    brought.refused = Some(*refused);
                    return brought;
                }
            };
            assert!(length > 0 && length <= held.len(), "{length} of {}", held.len());
            held.drain(..length);
            brought.passed += length;
        }
    }
    brought
}

fn flaw(head: &str) -> Option<Flaw> {
    bring(head.as_bytes(), &[]).refused.map(|refused| refused.flaw)
}

#[test]
fn requests_follow_each_other_with_bodies_of_every_kind() {
    let requests = [
        "GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /b?c=d HTTP/1.1\r\nContent-Length: 5\r\n\r\nGET /",
        "POST /e HTTP/1.1\r\ntransfer-encoding: gzip, Chunked\r\n\r\n3;name=value\r\nGET\r\n0\r\nX: y\r\n\r\n",
        "PUT /f HTTP/1.0\r\ncontent-length: 0\r\n\r\n",
        "\r\nPUT http://host/g HTTP/1.1\nTransfer-Encoding: chunked\nContent-Length: 3\n\n0\r\n\r\n",
        "DELETE /h HTTP/1.1\r\n\r\n",
    ];
    let bytes = requests.concat();
    let brought = bring(bytes.as_bytes(), &[]);
    assert_eq!(brought.targets, ["/a", "/b?c=d", "/e", "/f", "http://host/g", "/h"]);
    assert_eq!((brought.passed, brought.refused), (bytes.len(), None));
}

#[test]
fn each_flaw_is_told_from_the_others() {
    let head = |fields: &str| format!("POST /a HTTP/1.1\r\n{fields}\r\n");
    let rows = [
        ("\u{16}\u{3}\u{1}\r\n".to_owned(), Flaw::Broken),
        ("GET /a HTTP/2.0\r\n\r\n".to_owned(), Flaw::Broken),
        ("GET /a\r\n\r\n".to_owned(), Flaw::Broken),
        ("GET /a b HTTP/1.1\r\n\r\n".to_owned(), Flaw::Broken),
        (head("no colon\r\n"), Flaw::BrokenField),
        (head("A : b\r\n"), Flaw::BrokenField),
        (head("A: b\r\n folded\r\n"), Flaw::BrokenField),
        (head("A: \0\r\n"), Flaw::BrokenField),
        (head("Transfer-Encoding: \u{e9},chunked\r\n"), Flaw::BadEncoding),
        (head("Content-Length: +1\r\n"), Flaw::BadLength),
        (head("Content-Length: -1\r\n"), Flaw::BadLength),
        (head("Content-Length:\r\n"), Flaw::BadLength),
        (head("Content-Length: 1, 1\r\n"), Flaw::BadLength),
        (head("Content-Length: 0x1\r\n"), Flaw::BadLength),
        (head("Content-Length: 18446744073709551612\r\n"), Flaw::BadLength),
        (head("Content-Length: 18446744073709551616\r\n"), Flaw::BadLength),
        (head("Content-Length: 1\r\ncontent-length: 1\r\n"), Flaw::RepeatedLength),
        (head("Content-Length: 1\r\nContent-Length: 2\r\n"), Flaw::RepeatedLength),
        (
            head("Content-Length: 1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n"),
            Flaw::RepeatedLength,
        ),
        (head("Transfer-Encoding: gzip\r\n"), Flaw::BadEncoding),
        (head("Transfer-Encoding: chunked, gzip\r\n"), Flaw::BadEncoding),
        (head("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n"), Flaw::BadEncoding),
        ("POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(), Flaw::BadEncoding),
        (head(&"A: b\r\n".repeat(FIELDS_MAX + 1)), Flaw::TooManyFields),
        (head(&format!("A: {}\r\n", "b".repeat(HEAD_MAX))), Flaw::HeadTooLong(HEAD_MAX)),
        (format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(HEAD_MAX)), Flaw::TargetTooLong(HEAD_MAX)),
    ];
    for (head, expected) in rows {
        assert_eq!(flaw(&head), Some(expected), "{:.80}", head);
    }
}

#[test]
fn what_is_just_within_a_limit_is_a_request() {
    let fields = "A: b\r\n".repeat(FIELDS_MAX);
    let around = "GET / HTTP/1.1\r\nA: \r\n\r\n".len();
    let value = "b".repeat(HEAD_MAX - around);
    let heads = [
        format!("GET / HTTP/1.1\r\n{fields}\r\n"),
        format!("GET / HTTP/1.1\r\nA: {value}\r\n\r\n"),
        "GET / HTTP/1.1\r\nContent-Length: 18446744073709551611\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nContent-Length: 007\r\n\r\n".to_owned(),
    ];
    for head in heads {
        let brought = bring(head.as_bytes(), &[]);
        assert_eq!((brought.passed, brought.refused), (head.len(), None), "{:.80}", head);
    }
    let over = format!("GET / HTTP/1.1\r\nA: {value}b\r\n\r\n");
    assert_eq!(flaw(&over), Some(Flaw::HeadTooLong(HEAD_MAX)));
}

#[test]
fn a_connection_may_have_a_shorter_longest_head_and_says_which() {
    let told = |head: &str| match Framing::new(64).next(head.as_bytes()) {
        Piece::Refused(refused) => Some((refused.flaw.status(), refused.flaw.to_string())),
        Piece::Head { length, .. } => {
            assert_eq!(length, head.len());
            None
        }
        other @ (Piece::Partial | Piece::Body { .. } | Piece::Lost) => panic!("{other:?}"),
    };
    let head = |length: usize| format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "b".repeat(length - 23));
    assert_eq!(head(64).len(), 64);
    assert_eq!(told(&head(64)), None);
    let long = "the head of the request is longer than 64 bytes";
    assert_eq!(told(&head(65)), Some((431, long.to_owned())));
    let target = "the target of the request makes its head longer than 64 bytes";
    assert_eq!(told(&format!("GET /{}", "a".repeat(64))), Some((414, target.to_owned())));
}

#[test]
fn what_was_read_of_a_refused_head_is_told() {
    let head =
        "PUT http://host/a?b=c HTTP/1.0\r\nX: y\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n";
    let refused = bring(head.as_bytes(), &[]).refused.expect("a repeated length is refused");
    assert!(refused.is_old);
    assert_eq!(refused.request.method, Method::Put);
    assert_eq!(
        (refused.request.path.as_str(), refused.request.query.as_deref()),
        ("/a", Some("b=c"))
    );
    assert_eq!(refused.request.headers.all("content-length").count(), 2);
    assert_eq!(refused.request.headers.first("x"), Some("y"));

    let refused = bring(b"GET /a://b?c HTTP/1.1\r\nbroken\r\n\r\n", &[]).refused;
    assert_eq!(refused.expect("no colon").request.path, "/a://b", "this is no address");

    let refused = bring(b"GET /a HTTP/1.1\r\nX: y\r\nbroken\r\n\r\n", &[]).refused;
    let request = refused.expect("a line without a colon is refused").request;
    assert_eq!((request.method, request.path.as_str()), (Method::Get, "/a"));
    assert_eq!(request.headers.iter().count(), 0, "the fields of a broken head are not relied on");
}

#[test]
fn nothing_passes_of_a_body_that_breaks_its_framing_nor_of_what_is_behind() {
    let head = "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let long = format!("1;{}", "x".repeat(8 << 10));
    let trailers = format!("0\r\nX: {}", "x".repeat(HEAD_MAX));
    let zeros = format!("{}22\r\n", "0".repeat(18));
    let rows = [
        ("x\r\n", 0),
        ("1x\r\n", 0),
        ("fffffffffffffffff\r\n", 0),
        (&zeros, 0),
        (&long, 0),
        ("0\r\nno colon\r\n", 3),
        ("0\r\n\n", 3),
        ("0\r\nX: y\n\n", 3),
        ("0\r\nX: y\n\r\n", 3),
        ("0\r\nX: y\r\n\n", 3),
        (&trailers, 3),
    ];
    for (body, passed) in rows {
        let bytes = format!("{head}{body}GET /b HTTP/1.1\r\n\r\n");
        let ends: Vec<usize> = (1..bytes.len()).collect();
        for ends in [&[], ends.as_slice()] {
            let brought = bring(bytes.as_bytes(), ends);
            assert_eq!(brought.targets, ["/a"], "{:.40}", body);
            assert_eq!(
                (brought.passed, brought.is_lost),
                (head.len() + passed, true),
                "{:.40}",
                body
            );
        }
    }
}

#[test]
fn a_line_of_a_body_that_does_not_end_is_waited_for_up_to_its_limit() {
    let head = "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let rows = [("1;".to_owned(), 0, CHUNK_LINE_MAX), ("0\r\nX: ".to_owned(), 3, HEAD_MAX)];
    for (start, passed, limit) in rows {
        for length in [limit - 1, limit] {
            let line = format!("{start}{}", "x".repeat(passed + length - start.len()));
            let brought = bring(format!("{head}{line}").as_bytes(), &[]);
            assert_eq!(brought.passed, head.len() + passed, "{length} of {limit}");
            assert_eq!(brought.is_lost, length == limit, "{length} of {limit}");
        }
    }
}

fn message() -> impl Strategy<Value = String> {
    let length =
        |body: &String| format!("POST /l HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let chunked = |chunks: Vec<String>| {
        let body: String =
            chunks.iter().map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len())).collect();
        format!("PUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{body}0\r\n\r\n")
    };
    prop_oneof![
        "GET /[a-z]{0,9} HTTP/1\\.[01]\r\n(A: [a-z ]{0,9}\r\n){0,3}\r\n",
        "[\r\nG: ]{0,40}".prop_map(move |body| length(&body)),
        prop::collection::vec("[\r\nG0: ]{1,20}", 0..4).prop_map(chunked),
        "[\\x00-\\x7f]{0,30}",
        Just("POST /r HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx".to_owned()),
    ]
}

proptest! {
    #[test]
    fn the_pieces_that_a_connection_comes_in_make_no_difference(
        messages in prop::collection::vec(message(), 0..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        // An end that is looked for finds a head that is broken, however late.
        let bytes = (messages.concat() + "\r\n\r\n").into_bytes();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        ends.sort_unstable();
        let whole = bring(&bytes, &[]);
        let parts = bring(&bytes, &ends);
        prop_assert_eq!(&whole.targets, &parts.targets);
        prop_assert_eq!(whole.refused.as_ref().map(|refused| refused.flaw), parts.refused.map(|refused| refused.flaw));
    }
}
