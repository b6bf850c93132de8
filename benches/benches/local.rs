//! Reads of the node-local API over its socket, beside a bare axum answer of the same size over a socket of its own.
//!
//! One connection is kept and asked again and again; every time holds the client too, so that a ratio between two
//! rows is nearer to one than the servers' own.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
};

use axum::{Router, body::Bytes, http::header::CONTENT_TYPE, routing::any};
use core::time::Duration;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use meshward_core::{agent::Purpose, plane::site};
use meshward_fixture::{Fixture, Options};
use meshward_shell::config::{Config, Sources};
use tempfile::TempDir;
use tokio::{net::UnixListener, runtime, time::interval};

fn on_a_thread(work: impl Future<Output = ()> + Send + 'static) {
    thread::spawn(move || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(work);
    });
}

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
         [registration]\nproject_id = {:?}\nresource_handle = \"node-1\"\n\
         token_value = \"psb_dev_abc_node_aaaaaaaaaaaaaaaaaaaa\"\n",
        home.path().join("data"),
        home.path().join("run"),
        site::PROJECT_ID,
    );
    let file = home.path().join("config.toml");
    std::fs::write(&file, text).expect("a file");
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
        let router = Router::new().fallback(any(move || async move { (json, answer) }));
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
        let stream = UnixStream::connect(socket).expect("a connection");
        let request = format!("GET {path} HTTP/1.1\r\nhost: node\r\n\r\n");
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
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(3)).sample_size(30);
    targets = local
}
criterion_main!(benches);
