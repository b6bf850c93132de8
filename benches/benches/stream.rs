//! Events: making a frame, and bringing it to many streams, beside making it anew for each of them.

use core::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use meshward_core::{
    ids::CallId,
    plane::{site, stream::Audience},
    time::Wall,
    wire::{
        event::{Event, sealed},
        json::Raw,
        sse::Frame,
        timestamp::Timestamp,
    },
};
use meshward_fixture::{Feed, Streams};

/// As long as the base64 of an Ed25519 signature.
const SIGNATURE: &str =
    "+3T1H78aHB1O0yGV8LHl35D8WmwVz3D06s9BDujdfiGPzBdVE2JqffazoeU92AbTlNw1A99OSCPJKZxdhe/xDQ==";

fn event(payload: &str) -> Event {
    Event {
        id: "evt-0190a8b8".into(),
        kind: "node_state_updated".into(),
        scope: "node:0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3".into(),
        key_id: site::SIGNING_KEY_ID.into(),
        issued_at: Timestamp::from(Wall::from_origin(Duration::from_millis(1_800_000_000_123))),
        payload: Raw::parse(payload),
    }
}

/// A payload of about so many bytes, spaced as people write it.
fn payload(length: usize) -> String {
    let member = "{ \"key\": \"app/config\", \"value\": \"{\\\"level\\\": <info>}\", \"n\": 1.50 }";
    let members = vec![member; length.div_ceil(member.len())];
    format!("{{\"data\": [{}]}}", members.join(", "))
}

fn frame(sequence: u64, event: &Event) -> Frame {
    Frame::event(sequence, &event.kind, &sealed(event.signed_bytes(), SIGNATURE))
}

fn encoding(c: &mut Criterion) {
    let mut group = c.benchmark_group("event frame");
    for length in [64, 4 << 10, 256 << 10] {
        let event = event(&payload(length));
        group.throughput(Throughput::Bytes(frame(1, &event).0.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(length), |b| b.iter(|| frame(1, &event)));
    }
    group.finish();
}

/// Open streams with the feeds that their connections would read.
struct Crowd {
    streams: Streams,
    feeds: Vec<Feed>,
}

impl Crowd {
    fn of(size: u64) -> Self {
        let mut streams = Streams::default();
        let feeds = (0..size).map(|call| streams.open(CallId(call))).collect();
        Self { streams, feeds }
    }

    /// Takes the one frame that each stream has been sent.
    fn drain(&mut self) {
        for feed in &mut self.feeds {
            feed.try_recv().expect("every stream was sent the frame");
        }
    }
}

fn fan_out(c: &mut Criterion) {
    let event = event(&payload(256));
    let mut group = c.benchmark_group("event fan-out");
    for size in [1, 100, 1000] {
        group.throughput(Throughput::Elements(size));
        let mut crowd = Crowd::of(size);
        group.bench_function(BenchmarkId::new("one frame for all", size), |b| {
            b.iter(|| {
                crowd.streams.send(&Audience::Everyone, &frame(1, &event));
                crowd.drain();
            });
        });
        let alone: Vec<Audience> =
            (0..size).map(|call| Audience::Only(vec![CallId(call)])).collect();
        group.bench_function(BenchmarkId::new("a frame for each", size), |b| {
            b.iter(|| {
                alone.iter().for_each(|one| crowd.streams.send(one, &frame(1, &event)));
                crowd.drain();
            });
        });
    }
    group.finish();
}

criterion_group!(benches, encoding, fan_out);
criterion_main!(benches);
