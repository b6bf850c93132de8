//! Reads of the node-local API over its socket, beside a bare axum answer of the same size over a socket of its own.
//!
//! A report is put beside one atomic write of the same bytes in the same folder, both of which wait for the disk.
//! Beside the rows the ratios of pairs are told, asked in turns.
//!
//! One connection is kept and asked again and again; every time holds the client too, so that a ratio between two
//! rows is nearer to one than the servers' own.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::mpsc,
};

use axum::{Router, body::Bytes, http::header::CONTENT_TYPE, routing::any};
use core::time::Duration;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use meshward_benches::{ASKING, keep_to, on_a_thread, tell, took};
use meshward_core::{agent::Purpose, plane::site};
use meshward_fixture::{Fixture, Options};
use meshward_shell::config::{Config, Sources};
use tempfile::TempDir;
use tokio::{net::UnixListener, time::interval};

/// Starts a fixture and an agent, and waits until the agent serves what it has pulled.
fn agent(home: &TempDir) -> PathBuf {
    let (told, plane) = mpsc::channel();
    on_a_thread(async move {
        let running = Fixture::start(Options::default()).await.expect("a fixture");
        told.send(running.url()).expect("somebody waits");
        core::future::pending::<()>().await;
    });
    let url = plane.recv().expect("a fixture");
    let text = format!(
        "[node]\ndata_dir = {:?}\nrun_dir = {:?}\n[control_plane]\nurl = {url:?}\n[health]\nenabled = false\n\
         [nat]\nenabled = false\n\
         [registration]\nproject_id = {:?}\nresource_handle = \"node-1\"\n\
         token_value = \"psb_dev_abc_node_aaaaaaaaaaaaaaaaaaaa\"\n",
        home.path().join("data"),
        home.path().join("run"),
        site::PROJECT_ID,
    );
    let file = home.path().join("config.toml");
    fs::write(&file, text).expect("a file");
    let config = Config::load(&Sources::file_only(&file)).expect("a configuration").config;
    let socket = config.local_api.socket_path.clone();
    let (told, ready) = mpsc::channel();
    let waited = socket.clone();
    on_a_thread(async move {
        let run = meshward_shell::run::run(&config, Purpose::Run, core::future::pending());
        tokio::select! {
            ended = run => panic!("the agent ended: {ended:?}"),
            () = pulled(&waited, told) => core::future::pending().await,
        }
    });
    ready.recv().expect("an agent");
    socket
}

/// Looks, on a thread that may block, until the agent has pulled its state.
async fn pulled(socket: &Path, told: mpsc::Sender<()>) {
    let mut glance = interval(Duration::from_millis(20));
    loop {
        glance.tick().await;
        let socket = socket.to_owned();
        let look = move || {
            UnixStream::connect(&socket).is_ok() && Line::new(&socket, METADATUM).status() == 200
        };
        if tokio::task::spawn_blocking(look).await.expect("a look") {
            break;
        }
    }
    told.send(()).expect("somebody waits");
    core::future::pending::<()>().await;
}

/// Serves the same answer whatever is asked.
fn bare(home: &TempDir, answer: Vec<u8>) -> PathBuf {
    let socket = home.path().join(format!("bare-{}", answer.len()));
    let (told, ready) = mpsc::channel();
    let place = socket.clone();
    on_a_thread(async move {
        let answer = Bytes::from(answer);
        let json = [(CONTENT_TYPE, "application/json")];
        let router = Router::new().fallback(any(move |_body: Bytes| async move { (json, answer) }));
        let listener = UnixListener::bind(place).expect("a socket");
        told.send(()).expect("somebody waits");
        axum::serve(listener, router).await.expect("it serves");
    });
    ready.recv().expect("a bare server");
    socket
}

/// One kept connection and the request it repeats.
struct Line {
    stream: BufReader<UnixStream>,
    request: String,
    body: Vec<u8>,
}

impl Line {
    fn new(socket: &Path, path: &str) -> Self {
        Self::asking(socket, format!("GET {path} HTTP/1.1\r\nhost: node\r\n\r\n"))
    }

    fn put(socket: &Path, path: &str, body: &str) -> Self {
        let head = format!("PUT {path} HTTP/1.1\r\nhost: node\r\ncontent-length: {}", body.len());
        Self::asking(socket, format!("{head}\r\n\r\n{body}"))
    }

    fn asking(socket: &Path, request: String) -> Self {
        let stream = UnixStream::connect(socket).expect("a connection");
        Self { stream: BufReader::new(stream), request, body: Vec::new() }
    }

    /// Asks, reads the whole answer, and tells its status.
    fn status(&mut self) -> u16 {
        self.stream.get_mut().write_all(self.request.as_bytes()).expect("it is taken");
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a status line");
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut length = 0;
        while line != "\r\n" {
            line.clear();
            self.stream.read_line(&mut line).expect("a header");
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a length");
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).expect("a body");
        status.expect("a status")
    }

    /// Insists on success, so that no bench measures a refusal.
    fn ask(&mut self) -> usize {
        assert_eq!(self.status(), 200);
        self.body.len()
    }
}

const METADATUM: &str = "/v1/state/metadata/region";

fn local(c: &mut Criterion) {
    keep_to(ASKING);
    let home = tempfile::tempdir().expect("a folder");
    let socket = agent(&home);
    for path in [METADATUM, "/v1/state"] {
        let mut line = Line::new(&socket, path);
        line.ask();
        let beside = bare(&home, line.body);
        let mut group = c.benchmark_group(format!("GET {path}"));
        group.throughput(Throughput::Elements(1));
        for (row, socket) in [("bare axum", &beside), ("agent", &socket)] {
            let mut line = Line::new(socket, path);
            group.bench_function(row, |b| b.iter(|| line.ask()));
        }
        group.finish();
        let (mut bare, mut own) = (Line::new(&beside, path), Line::new(&socket, path));
        tell(&format!("GET {path}, rate beside bare axum"), || {
            (took(PAIR_LEN, || bare.ask()), took(PAIR_LEN, || own.ask()))
        });
    }
}

/// Replaces a file as a whole: temporary file, its `fsync`, renaming, `fsync` of the folder.
fn replace(folder: &File, place: &Path, bytes: &[u8]) {
    let draft = place.with_extension("new");
    let mut file = File::create(&draft).expect("a file");
    file.write_all(bytes).expect("it is written");
    file.sync_all().expect("it is durable");
    drop(file);
    fs::rename(&draft, place).expect("it is in its place");
    folder.sync_all().expect("its name is durable");
}

/// How often each side of a pair is asked, where nothing waits for a disk and where both do.
const PAIR_LEN: u32 = 500;
const DISK_PAIR_LEN: u32 = 20;

fn report(c: &mut Criterion) {
    keep_to(ASKING);
    let home = tempfile::tempdir().expect("a folder");
    let socket = agent(&home);
    let body =
        format!(r#"{{"content_type":"application/json","payload":"{}"}}"#, "x".repeat(1 << 10));
    // An idle connection is closed after a while, so each measurement has one of its own.
    let put = || Line::put(&socket, "/v1/state/report/app.health", &body);
    put().ask();
    let place = home.path().join("data/state/report");
    let folder = File::open(&place).expect("the folder of the reports");
    let bytes = fs::read(place.join("app.health.json")).expect("the report");
    let beside = place.join("beside");
    let mut group = c.benchmark_group("PUT /v1/state/report/app.health");
    group.throughput(Throughput::Elements(1));
    group.bench_function("one atomic write", |b| b.iter(|| replace(&folder, &beside, &bytes)));
    let mut line = put();
    line.ask();
    let plain = bare(&home, line.body);
    let mut line = Line::put(&plain, "/v1/state/report/app.health", &body);
    group.bench_function("bare axum, which keeps nothing", |b| b.iter(|| line.ask()));
    let mut line = put();
    group.bench_function("agent", |b| b.iter(|| line.ask()));
    group.finish();
    let mut line = put();
    tell("a report beside an atomic write, time", || {
        let agent = took(DISK_PAIR_LEN, || assert!(line.ask() > 0, "the report as it is kept"));
        (agent, took(DISK_PAIR_LEN, || replace(&folder, &beside, &bytes)))
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(3)).sample_size(30);
    targets = local, report
}
criterion_main!(benches);
