//! Requests over loopback to the running fixture, beside a bare axum answer of the same size from the same runtime.
//!
//! One connection is kept and asked again and again; every time holds the client too, so that a ratio between two
//! rows is nearer to one than the servers' own. Beside the rows the ratio of pairs is told, asked in turns. What the fixture does besides answering (gate, counters, journal) is in it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::mpsc,
};

use axum::{Router, body::Bytes, http::header::CONTENT_TYPE, routing::any};
use core::time::Duration;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use meshward_benches::{ASKING, keep_to, on_a_thread, tell, took};
use meshward_core::{
    plane::{journal::ENTRIES_MAX, site},
    time::Wall,
    wire::{
        call::{Call, Test},
        grammar::Checksum,
        heartbeat::{HeartbeatRequest, NatSummary},
        json::encode,
        timestamp::Timestamp,
    },
};
use meshward_fixture::{Fixture, Options};
use std::time::{Instant, SystemTime};

/// Both servers, each on a thread and a runtime of its own.
struct Servers {
    fixture: SocketAddr,
    bearer: String,
    bare: SocketAddr,
}

impl Servers {
    fn start(answer: Vec<u8>) -> Self {
        let (told, fixture) = mpsc::channel();
        on_a_thread(async move {
            let running = Fixture::start(Options::default()).await.expect("a fixture");
            told.send((running.addr(), running.bearer())).expect("somebody waits");
            core::future::pending::<()>().await;
        });
        let (told, bare) = mpsc::channel();
        on_a_thread(async move {
            let answer = Bytes::from(answer);
            let json = [(CONTENT_TYPE, "application/json")];
            let router = Router::new().fallback(any(move || async move { (json, answer) }));
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            told.send(listener.local_addr().expect("an address")).expect("somebody waits");
            axum::serve(listener, router).await.expect("it serves");
        });
        let (fixture, bearer) = fixture.recv().expect("a fixture");
        Self { fixture, bearer, bare: bare.recv().expect("a bare server") }
    }
}

/// One kept connection and the request it repeats.
struct Line {
    stream: BufReader<TcpStream>,
    request: Vec<u8>,
    body: Vec<u8>,
}

impl Line {
    fn new(addr: SocketAddr, servers: &Servers, call: &Call, body: &[u8]) -> Self {
        let stream = TcpStream::connect(addr).expect("a connection");
        stream.set_nodelay(true).expect("an option");
        let head = format!(
            "{} {} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
            call.method().name(),
            call.path(),
            servers.bearer,
            body.len()
        );
        let request = [head.as_bytes(), body].concat();
        Self { stream: BufReader::new(stream), request, body: Vec::new() }
    }

    /// Asks and reads the whole answer; insists on success, so that no bench measures a refusal.
    fn ask(&mut self) -> usize {
        self.stream.get_mut().write_all(&self.request).expect("it is taken");
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a status line");
        assert!(line.starts_with("HTTP/1.1 2"), "{line}");
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line).expect("a header");
            if line == "\r\n" {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a length");
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).expect("a body");
        length
    }
}

fn beside_bare(c: &mut Criterion, name: &str, call: &Call, body: &[u8]) {
    keep_to(ASKING);
    let probe = Servers::start(Vec::new());
    Line::new(probe.fixture, &probe, call, body).ask();
    let mut line = Line::new(probe.fixture, &probe, call, body);
    line.ask();
    let servers = Servers::start(line.body.clone());
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(1));
    for (row, addr) in [("bare axum", servers.bare), ("fixture", servers.fixture)] {
        let mut line = Line::new(addr, &servers, call, body);
        group.bench_function(row, |b| b.iter(|| line.ask()));
    }
    group.finish();
    let mut bare = Line::new(servers.bare, &servers, call, body);
    let mut own = Line::new(servers.fixture, &servers, call, body);
    tell(&format!("{name}, rate beside bare axum"), || {
        (took(PAIR_LEN, || bare.ask()), took(PAIR_LEN, || own.ask()))
    });
}

/// How often each side of a pair is asked.
const PAIR_LEN: u32 = 500;

fn heartbeat() -> Vec<u8> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time after 1970");
    encode(&HeartbeatRequest {
        client_now: Timestamp::from(Wall::from_origin(now)),
        binary_checksum: Checksum::from_bytes([1; 32]),
        binary_version: "1.4.2".into(),
        nat_summary: NatSummary::default(),
    })
}

fn serve(c: &mut Criterion) {
    let node = || site::NODE_ID.to_owned();
    beside_bare(c, "GET health", &Call::Health, b"");
    beside_bare(c, "POST heartbeat", &Call::Heartbeat { node: node() }, &heartbeat());
    beside_bare(c, "GET state", &Call::State { node: node() }, b"");
}

/// So many requests come between two looks at the journal, or each time into an empty one.
const BETWEEN: u64 = 100;

/// Times requests alone, with something else in front of every [`BETWEEN`] of them.
fn timed(rounds: u64, line: &mut Line, other: &mut Line) -> Duration {
    let mut spent = Duration::ZERO;
    for asked in 0..rounds {
        if asked % BETWEEN == 0 {
            other.ask();
        }
        let begun = Instant::now();
        line.ask();
        spent += begun.elapsed();
    }
    spent
}

/// Heartbeats into a journal that is emptied again and again, and into a full one, which lets an entry go for each.
fn journal(c: &mut Criterion) {
    keep_to(ASKING);
    let name = "POST heartbeat by what the journal holds";
    let call = Call::Heartbeat { node: site::NODE_ID.to_owned() };
    let lines = |other: Test| {
        let servers = Servers::start(Vec::new());
        let line = |call: &Call, body: &[u8]| Line::new(servers.fixture, &servers, call, body);
        let (mut beat, other) = (line(&call, &heartbeat()), line(&Call::Test(other), b""));
        for _ in 0..ENTRIES_MAX {
            beat.ask();
        }
        (beat, other)
    };
    let (mut little, mut full) = (lines(Test::ClearRequests), lines(Test::Info));
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(1));
    for (row, (beat, other)) in [("little", &mut little), ("all it can", &mut full)] {
        group.bench_function(row, |b| b.iter_custom(|rounds| timed(rounds, beat, other)));
    }
    group.finish();
    let turn = |(beat, other): &mut (Line, Line)| timed(PAIR_LEN.into(), beat, other);
    tell(&format!("{name}, rate of a full one"), || (turn(&mut little), turn(&mut full)));
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(3)).sample_size(30);
    targets = serve, journal
}
criterion_main!(benches);
