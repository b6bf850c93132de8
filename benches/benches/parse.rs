//! A stream of events taken apart, beside another parser in the same run: frames of several sizes, in pieces of several.
//!
//! The other one takes the pieces out of a stream that is always ready, so that nothing is waited for. It checks that
//! data is UTF-8, which here the JSON door does; ours bounds what it holds, and tells the id of each frame.

use std::{convert::Infallible, hint::black_box};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use futures_util::{FutureExt as _, StreamExt as _, stream};
use meshward_core::wire::sse::{Frame, Item, KEEP_ALIVE, Parser};
use sse_stream::SseByteStream;

/// About how long a whole stream is.
const LENGTH: usize = 4 << 20;

/// As much as a read brings, a segment of a network, and a trickle.
const PIECES: [usize; 3] = [16 << 10, 1460, 64];

/// A stream of frames with so much data each, and its number of frames; a sign of life stands between some.
fn frames(data: usize) -> (Vec<u8>, usize) {
    let member = br#"{"key":"app/config","value":"level=info","n":1.50},"#;
    let data: Vec<u8> = member.iter().copied().cycle().take(data).collect();
    let (mut bytes, mut count) = (Vec::new(), 0);
    while bytes.len() < LENGTH {
        count += 1;
        bytes.extend_from_slice(&Frame::event(count, "node_state_updated", &data).0);
        if count % 8 == 0 {
            bytes.extend_from_slice(KEEP_ALIVE);
        }
    }
    (bytes, usize::try_from(count).expect("few frames"))
}

fn ours(pieces: &[Bytes]) -> usize {
    let mut parser = Parser::default();
    let items = pieces.iter().flat_map(|piece| parser.push(piece));
    items.filter(|item| matches!(black_box(item), Item::Event { .. })).count()
}

fn others(pieces: &[Bytes]) -> usize {
    let pieces = pieces.iter().cloned().map(Ok::<_, Infallible>);
    let mut blocks = SseByteStream::new(stream::iter(pieces));
    let mut count = 0;
    while let Some(block) = blocks.next().now_or_never().expect("all is there") {
        count += usize::from(black_box(block).is_ok_and(|block| block.data.is_some()));
    }
    count
}

fn parse(c: &mut Criterion) {
    for data in [100, 2 << 10, 64 << 10, 1 << 20] {
        let (bytes, count) = frames(data);
        let mut group = c.benchmark_group(format!("frames of {data} bytes"));
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        let bytes = Bytes::from(bytes);
        for length in PIECES {
            let cut = (0..bytes.len()).step_by(length);
            let pieces: Vec<_> =
                cut.map(|at| bytes.slice(at..bytes.len().min(at + length))).collect();
            assert_eq!((ours(&pieces), others(&pieces)), (count, count), "both find every frame");
            group.bench_function(BenchmarkId::new("ours", length), |b| b.iter(|| ours(&pieces)));
            group.bench_function(BenchmarkId::new("sse-stream", length), |b| {
                b.iter(|| others(&pieces))
            });
        }
        group.finish();
    }
}

criterion_group!(benches, parse);
criterion_main!(benches);
