//! A stream of events taken apart: what each line means, what is too long, and that no cut of the stream matters.

use core::time::Duration;

use meshward_core::wire::sse::{
    FRAME_MAX, Frame, HELD_MAX, ID_MAX, Item, KEEP_ALIVE, KIND_MAX, Parser,
};
use proptest::prelude::*;

use crate::support;

fn event(kind: &str, data: &str, id: Option<&str>) -> Item {
    Item::Event { kind: kind.into(), data: data.into(), id: id.map(Into::into) }
}

fn message(data: &str) -> Item {
    event("message", data, None)
}

fn moved(id: &str) -> Item {
    Item::Moved { id: id.into() }
}

const fn retry(millis: u64) -> Item {
    Item::Retry(Duration::from_millis(millis))
}

/// What a stream tells that comes in these pieces, of which none may make the parser hold more than it may.
fn told<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<Item> {
    let mut parser = Parser::default();
    let mut items = Vec::new();
    for piece in pieces {
        items.extend(parser.push(piece));
        assert!(parser.held() <= HELD_MAX, "{} bytes are held", parser.held());
    }
    items
}

fn whole(stream: impl AsRef<[u8]>) -> Vec<Item> {
    told([stream.as_ref()])
}

/// A stream with what it tells.
type Row = (&'static [u8], Vec<Item>);

/// What the contract's server sends, and the examples of the text that is followed.
fn sent() -> Vec<Row> {
    vec![
            // What the contract's server sends.
            (
                b"id: 7\nevent: policy_updated\ndata: {\"a\":1}\n\n",
                vec![event("policy_updated", "{\"a\":1}", Some("7"))],
            ),
            (b": keep-alive\n\n", vec![]),
            (b": keep-alive\n: keep-alive\ndata: x\n\n", vec![message("x")]),
            // The examples of the text that is followed.
            (
                b"data: This is the first message.\n\ndata: This is the second message, it\n\
                data: has two lines.\n\ndata: This is the third message.\n\n",
                vec![
                    message("This is the first message."),
                    message("This is the second message, it\nhas two lines."),
                    message("This is the third message."),
                ],
            ),
            (
                b"event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n",
                vec![event("add", "73857293", None), event("remove", "2153", None)],
            ),
            (b"data: YHOO\ndata: +2\ndata: 10\n\n", vec![message("YHOO\n+2\n10")]),
            (
                b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
                vec![
                    event("message", "first event", Some("1")),
                    event("message", "second event", Some("")),
                    message(" third event"),
                ],
            ),
            (b"data\n\ndata\ndata\n\ndata:", vec![message(""), message("\n")]),
            (b"data:test\n\ndata: test\n\n", vec![message("test"), message("test")]),
    ]
}

/// Ends of lines, in any mix, and marks in front.
fn ends() -> Vec<Row> {
    vec![
        // Ends of lines, in any mix.
        (b"data: a\r\rdata: b\n\ndata: c\r\n\r\n", vec![message("a"), message("b"), message("c")]),
        (
            b"data: a\r\n\rdata: b\n\r\ndata: c\r\n\n",
            vec![message("a"), message("b"), message("c")],
        ),
        (b"data: a\rdata: b\ndata: c\r\ndata\r\n\r\n", vec![message("a\nb\nc\n")]),
        (b"\r\n\n\r\r\n", vec![]),
        (b"data: a\r\n", vec![]),
        (b"data: a", vec![]),
        (b"", vec![]),
        // One mark in front counts for nothing, anything else is a name.
        (b"\xef\xbb\xbfdata: a\n\n", vec![message("a")]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", vec![]),
        (b"\xef\xbbdata: a\n\ndata: b\n\n", vec![message("b")]),
        (b"\xefdata: a\n\ndata: b\n\n", vec![message("b")]),
        (b"\xef\nid:1\n\n", vec![moved("1")]),
        (b"\xef\xbb\n\xef\xbb\xbfdata: a\n\n", vec![]),
        (b"\xef\xbb\xbf", vec![]),
        (b"\n\xef\xbb\xbfdata: a\n\n", vec![]),
    ]
}

/// Names of fields, the space behind the colon, and data as it came.
fn names() -> Vec<Row> {
    vec![
        // Names.
        (b"Data: a\nDATA: b\ndata : c\n data: d\ndat: e\ndatas: f\nevents: g\n\n", vec![]),
        (b"data: a\nunknown: b\nunknown\nunknown:\n:data: c\n:\n\n", vec![message("a")]),
        (b"events:x\neven:x\nretryy:5\nidd:5\ni:5\ndata\n\n", vec![message("")]),
        (b"data\0: a\n\0data: b\n\n", vec![]),
        // One space behind the colon counts for nothing.
        (b"data:  a\ndata:\tb\ndata: \n\n", vec![message(" a\n\tb\n")]),
        (b"data::a\ndata: :\n\n", vec![message(":a\n:")]),
        (b"event:  a\nid:  b \ndata:c\n\n", vec![event(" a", "c", Some(" b "))]),
        // Data is the bytes as they came.
        (b"data: \0a\0\n\n", vec![message("\0a\0")]),
        (
            b"data: \xff\xfe\xc3\n\n",
            vec![Item::Event { kind: "message".into(), data: vec![0xff, 0xfe, 0xc3], id: None }],
        ),
        ("data: é€𝄞\n\n".as_bytes(), vec![message("é€𝄞")]),
    ]
}

/// The kind and the id of a frame.
fn values() -> Vec<Row> {
    vec![
        // The kind is the last one named, of this frame alone.
        (b"event: a\nevent: b\ndata: x\n\ndata: y\n\n", vec![event("b", "x", None), message("y")]),
        (b"event: a\nevent\ndata: x\n\n", vec![message("x")]),
        (b"event: a\n\ndata: x\n\n", vec![message("x")]),
        ("event: é\ndata: x\n\n".as_bytes(), vec![event("é", "x", None)]),
        (b"event: \xff\ndata: x\n\n", vec![event("\u{fffd}", "x", None)]),
        // So is the id; one with a NUL does not count.
        (
            b"id: 1\nid: 2\ndata: x\n\ndata: y\n\n",
            vec![event("message", "x", Some("2")), message("y")],
        ),
        (b"id: 1\nid: 2\0\ndata: x\n\n", vec![event("message", "x", Some("1"))]),
        (b"id: \0\n\n", vec![]),
        (b"id: 1\n\n", vec![moved("1")]),
        (b"id: 1\nevent: a\n\nid\n\n", vec![moved("1"), moved("")]),
        ("id: é\n\n".as_bytes(), vec![moved("é")]),
        (b"id: \xc3\n\n", vec![moved("\u{fffd}")]),
    ]
}

/// Waits.
fn waits() -> Vec<Row> {
    vec![
        // Waits, in milliseconds and within bounds, told at the end of their line.
        (b"retry: 2500\n", vec![retry(2_500)]),
        (b"retry:1000\nretry:60000\n", vec![retry(1_000), retry(60_000)]),
        (b"retry: 0\nretry: 999\n", vec![retry(1_000), retry(1_000)]),
        (b"retry: 60001\nretry: 18446744073709551616\n", vec![retry(60_000), retry(60_000)]),
        (b"retry: 0000000000000000000000000002000\n", vec![retry(2_000)]),
        (b"retry\nretry:\nretry: \nretry: -1\nretry: +1\nretry: 1.5\nretry: 1s\n", vec![]),
        (b"retry:  2000\nretry: 2000 \nretry: \xd9\xa1\nretry: 20\x0000\n", vec![]),
        (b"data: a\nretry: 3000\n\n", vec![retry(3_000), message("a")]),
        (b"retry: 3000", vec![]),
    ]
}

fn table() -> Vec<Row> {
    [sent(), ends(), names(), values(), waits()].concat()
}

#[test]
fn each_stream_of_the_table_tells_what_stands_beside_it() {
    for (stream, expected) in table() {
        assert_eq!(whole(stream), expected, "{}", stream.escape_ascii());
    }
}

/// A stream tells the same whatever single place it is cut at, and byte by byte.
fn no_cut_matters(stream: &[u8]) {
    let expected = whole(stream);
    for at in 0..=stream.len() {
        let (head, tail) = stream.split_at(at);
        assert_eq!(told([head, tail]), expected, "{} cut at {at}", stream.escape_ascii());
        assert_eq!(told([head, &[], tail]), expected, "{} cut at {at}", stream.escape_ascii());
    }
    assert_eq!(told(stream.chunks(1)), expected, "{} byte by byte", stream.escape_ascii());
}

#[test]
fn no_cut_of_any_stream_of_the_table_matters() {
    for (stream, _) in table() {
        no_cut_matters(stream);
    }
    let all: Vec<u8> = table().into_iter().flat_map(|(stream, _)| stream.to_vec()).collect();
    no_cut_matters(&all);
}

#[test]
fn what_the_encoder_writes_is_read_back() {
    let frames = [
        Frame::event(1, "rotate_keys", b"{}"),
        Frame::event(u64::MAX, "", b""),
        Frame::event(3, "a:b", "é".as_bytes()),
    ];
    let bytes: Vec<u8> =
        frames.iter().flat_map(|frame| [&*frame.0, KEEP_ALIVE]).flatten().copied().collect();
    let expected = [
        event("rotate_keys", "{}", Some("1")),
        event("message", "", Some("18446744073709551615")),
        event("a:b", "é", Some("3")),
    ];
    assert_eq!(whole(&bytes), expected);
    no_cut_matters(&bytes);
}

/// A frame with so many bytes of data between what stands before and behind.
fn long(before: &str, length: usize, behind: &str) -> Vec<u8> {
    [before.as_bytes(), &vec![b'x'; length], behind.as_bytes()].concat()
}

const SKIPPED: Item = Item::Skipped { id: None };

#[test]
fn a_frame_of_exactly_one_mebibyte_is_told_and_a_longer_one_is_passed_over() {
    let most = "x".repeat(FRAME_MAX);
    assert_eq!(whole(long("data: ", FRAME_MAX, "\n\n")), [message(&most)]);
    assert_eq!(whole(long("data: ", FRAME_MAX + 1, "\n\n")), [SKIPPED]);
    // What joins two lines counts.
    assert_eq!(
        whole(long("data: ", FRAME_MAX - 1, "\ndata\n\n")),
        [message(&(most[1..].to_owned() + "\n"))]
    );
    assert_eq!(whole(long("data: ", FRAME_MAX, "\ndata\n\n")), [SKIPPED]);
    assert_eq!(whole(long("data\ndata: ", FRAME_MAX, "\n\n")), [SKIPPED]);
}

#[test]
fn of_a_frame_that_is_passed_over_the_id_is_told_wherever_it_stands_and_the_stream_goes_on() {
    let with = |id: &str| Item::Skipped { id: Some(id.into()) };
    let after = "data: y\n\n";
    let rows = [
        (long("id: 1\ndata: ", FRAME_MAX + 1, "\n\n"), vec![with("1")]),
        (long("data: ", FRAME_MAX + 1, "\nid: 2\n\n"), vec![with("2")]),
        (long("id: 1\ndata: ", FRAME_MAX + 1, "\nid: 2\nid: 3\0\ndata: z\n\n"), vec![with("2")]),
        (long("data: ", FRAME_MAX + 1, "\nretry: 2000\n\n"), vec![retry(2_000), SKIPPED]),
    ];
    for (mut stream, mut expected) in rows {
        stream.extend_from_slice(after.as_bytes());
        expected.push(message("y"));
        assert_eq!(whole(&stream), expected);
        for stride in [1, 7, 4096, FRAME_MAX] {
            assert_eq!(told(stream.chunks(stride)), expected, "in pieces of {stride}");
        }
    }
}

#[test]
fn data_in_many_lines_is_held_to_the_same_limit() {
    let lines = "data: 0123456789abcde\n".repeat(FRAME_MAX / 16);
    let expected = "0123456789abcde\n".repeat(FRAME_MAX / 16);
    assert_eq!(whole(lines.clone() + "\n"), [message(expected.trim_end())]);
    assert_eq!(whole(lines.clone() + "data\n\n"), [message(&expected)]);
    assert_eq!(whole(lines + "data: x\n\n"), [SKIPPED]);
}

#[test]
fn a_kind_or_an_id_that_is_too_long_is_as_if_it_were_not_there() {
    let (kind, id) = ("k".repeat(KIND_MAX), "i".repeat(ID_MAX));
    let stream = format!("event: a\nid: 1\nevent: {kind}\nid: {id}\ndata: x\n\n");
    assert_eq!(whole(&stream), [event(&kind, "x", Some(&id))]);
    no_cut_matters(stream.as_bytes());
    let stream =
        format!("event: a\nid: 1\nevent: {kind}k\nid: {id}i\nretry: 1000{id}\ndata: x\n\n");
    assert_eq!(whole(&stream), [event("a", "x", Some("1"))]);
    no_cut_matters(stream.as_bytes());
    assert_eq!(whole(format!("id: {id}i\n\n")), []);
}

#[test]
fn no_line_makes_the_parser_hold_more_than_it_may_however_long_it_goes_on() {
    let begun = [
        "data: ",
        "data",
        "id: ",
        "event:",
        "retry: ",
        ": ",
        "unknown: ",
        "x",
        "",
        " ",
        "\u{feff}data:",
    ];
    for beginning in begun {
        let mut parser = Parser::default();
        parser.push(beginning.as_bytes());
        for byte in [b'x', 0xff] {
            let piece = vec![byte; 1 << 16];
            for _ in 0..20 {
                assert_eq!(parser.push(&piece), [], "{beginning:?}");
                assert!(parser.held() <= HELD_MAX, "{beginning:?}: {} bytes", parser.held());
            }
        }
        // The stream goes on behind the line, whatever became of it.
        let skipped = beginning.contains("data:").then_some(SKIPPED);
        let expected: Vec<_> = skipped.into_iter().chain([message("y")]).collect();
        assert_eq!(parser.push(b"\n\ndata: y\n\n"), expected, "{beginning:?}");
        assert!(parser.held() < 4 * (ID_MAX + KIND_MAX), "{} bytes stay", parser.held());
    }
}

#[test]
fn a_frame_of_one_mebibyte_that_comes_byte_by_byte_is_read_in_one_pass() {
    // Whatever looked at a byte again would take half a trillion steps.
    let stream = long("id: 1\ndata: ", FRAME_MAX, "\n\n");
    let expected = event("message", &"x".repeat(FRAME_MAX), Some("1"));
    assert_eq!(told(stream.chunks(1)), [expected]);
    let ends = b"\r\n".repeat(FRAME_MAX / 2);
    assert_eq!(told(ends.chunks(1)), []);
    let ids = b"id:\n\n".repeat(1 << 16);
    assert_eq!(told(ids.chunks(1)).len(), 1 << 16);
}

proptest! {
    #![proptest_config(support::seeds_in("sse"))]

    #[test]
    fn no_cut_of_a_drawn_stream_matters(
        lines in prop::collection::vec(
            "(data|id|event|retry|x|\u{feff}data|)(: |:|)(é|a|[0-9]{1,5}|\0| )?(\r\n|\r|\n)", 0..24
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let stream = lines.concat().into_bytes();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]);
        let expected = whole(&stream);
        prop_assert_eq!(&told(pieces), &expected);
        prop_assert_eq!(&told(stream.chunks(1)), &expected);
    }
}
