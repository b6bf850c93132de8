//! A stream of events: the same items in whatever pieces it comes, and the same as another parser finds.

use bytes::Bytes;
use core::{convert::Infallible, time::Duration};
use futures_util::{FutureExt as _, StreamExt as _, stream};
use meshward_core::wire::sse::{
    FRAME_MAX, HELD_MAX, ID_MAX, Item, KIND_MAX, Parser, RETRY_MAX, RETRY_MIN,
};
use sse_stream::{Sse, SseByteStream};

/// What ends a block, whatever stands in front of it.
const END: &[u8] = b"\n\n";

/// The first byte says how many of the next ones tell where the stream is cut; the others are the stream.
pub fn sse(bytes: &[u8]) {
    let Some((count, rest)) = bytes.split_first() else { return };
    let (cuts, stream) = rest.split_at(usize::from(*count).min(rest.len()));
    let whole = told([stream]);
    assert_eq!(told(stream.chunks(1)), whole, "byte by byte");
    let half = stream.len() / 2;
    assert_eq!(told([&stream[..half], &stream[half..]]), whole, "in two halves");
    assert_eq!(told(pieces(cuts, stream)), whole, "in drawn pieces");
    compare(stream);
    // Where the stream is no text, the other parser gives up; the text of it is what the two can agree on.
    compare(String::from_utf8_lossy(stream).as_bytes());
}

/// Each byte of the cuts is the length of the next piece.
fn pieces<'b>(cuts: &[u8], stream: &'b [u8]) -> Vec<&'b [u8]> {
    let mut rest = stream;
    let mut pieces: Vec<_> = cuts
        .iter()
        .map(|cut| {
            let (piece, behind) = rest.split_at(usize::from(*cut).min(rest.len()));
            rest = behind;
            piece
        })
        .collect();
    pieces.push(rest);
    pieces
}

fn told<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<Item> {
    let mut parser = Parser::default();
    let mut items = Vec::new();
    for piece in pieces {
        items.extend(parser.push(piece));
        assert!(parser.held() <= HELD_MAX, "{} bytes are held", parser.held());
    }
    items
}

/// Compares with the other parser, where the two are to agree: it gives up on bytes that are no text, and has no limits.
fn compare(stream: &[u8]) {
    let stream = [stream, END].concat();
    if core::str::from_utf8(&stream).is_err() || stream.len() > FRAME_MAX || exceeds(&stream) {
        return;
    }
    assert_eq!(folded(told([stream.as_slice()])), folded(others(&stream)));
}

/// Whether a value is longer than ours may be, or a wait has more digits than the other parser can count.
fn exceeds(stream: &[u8]) -> bool {
    let long = ID_MAX.min(KIND_MAX);
    let digits = |line: &[u8]| line.iter().filter(|byte| byte.is_ascii_digit()).count();
    stream
        .split(|byte| matches!(byte, b'\r' | b'\n'))
        .any(|line| line.len() > long || digits(line) > 19)
}

/// What the other parser finds, as ours tells it: it makes a block of any field that counts, and keeps a wait for the end
/// of its block.
fn others(bytes: &[u8]) -> Vec<Item> {
    let source = stream::iter([Ok::<_, Infallible>(Bytes::copy_from_slice(bytes))]);
    let mut blocks = SseByteStream::new(source);
    let mut items = Vec::new();
    while let Some(block) = blocks.next().now_or_never().expect("the stream is here as a whole") {
        items.extend(as_ours(block.expect("the stream is text")));
    }
    items
}

fn as_ours(block: Sse) -> Vec<Item> {
    let Sse { event, data, id, retry } = block;
    let retry = retry.map(Duration::from_millis);
    let retry = retry.map(|retry| Item::Retry(retry.clamp(RETRY_MIN, RETRY_MAX)));
    let item = match (data, id) {
        (Some(data), id) => {
            let kind = event.filter(|kind| !kind.is_empty());
            let kind = kind.unwrap_or_else(|| "message".to_owned());
            Some(Item::Event { kind, data: data.into_bytes(), id })
        }
        (None, Some(id)) => Some(Item::Moved { id }),
        (None, None) => None,
    };
    retry.into_iter().chain(item).collect()
}

/// Of waits that follow on each other only the last one counts.
fn folded(items: Vec<Item>) -> Vec<Item> {
    let mut folded: Vec<Item> = Vec::new();
    for item in items {
        if matches!((folded.last(), &item), (Some(Item::Retry(_)), Item::Retry(_))) {
            folded.pop();
        }
        folded.push(item);
    }
    folded
}
