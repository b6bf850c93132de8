//! Lines that are written to a file, followed and brought to the fixture, by the agent and by `syslog-ng`, which both
//! post NDJSON to the same route; then both at rest. The peer is left out where it is not installed.
//!
//! Each takes its turn, so that a machine that drifts does so for both. The programs keep to one core; who writes, the
//! fixture and the way to it keep to the other. A line counts once a receipt of the fixture has acknowledged it.
//!
//! | Variable | Default | Says |
//! |---|---|---|
//! | `MESHWARD_AGENT` | built anew | the agent to run |
//! | `MESHWARD_PEER` | `syslog-ng` | the peer to run |
//! | `MESHWARD_TURNS` | 3 | how often both take turns |
//! | `MESHWARD_RATE` | 10000 | lines a second |
//! | `MESHWARD_SECONDS` | 60 | how long they are written |
//! | `MESHWARD_LINES` | 1000000 | how many lines there are at once, where nothing holds them back |
//! | `MESHWARD_BATCH` | 200 | the most lines of one request |
//! | `MESHWARD_IDLE_SECONDS` | 120 | how long both rest |

use std::{
    env,
    fmt::Display,
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::channel,
    thread,
    time::{Duration, Instant},
};

use meshward_benches::{ASKED, ASKING, keep_to, process::Process, tee::Tee};
use meshward_core::plane::site;
use meshward_fixture::{Fixture, Options};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::runtime;

/// How long anything that must come may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often is looked whether it has come.
const GLANCE: Duration = Duration::from_millis(5);
/// How many lines are written at once, a hundred times a second.
const STROKES: u64 = 100;
/// How long a program is left alone before it counts as at rest.
const SETTLING: Duration = Duration::from_secs(45);

/// How long and how much.
struct Lengths {
    turns: u64,
    rate: u64,
    seconds: u64,
    lines: u64,
    batch: u64,
    idle: Duration,
}

impl Lengths {
    fn new() -> Self {
        Self {
            turns: number("MESHWARD_TURNS", 3).max(1),
            rate: number("MESHWARD_RATE", 10_000).max(STROKES),
            seconds: number("MESHWARD_SECONDS", 60).max(1),
            lines: number("MESHWARD_LINES", 1_000_000),
            batch: number("MESHWARD_BATCH", 200).max(1),
            idle: Duration::from_secs(number("MESHWARD_IDLE_SECONDS", 120)),
        }
    }
}

fn number(name: &str, default: u64) -> u64 {
    let Ok(text) = env::var(name) else { return default };
    text.parse().unwrap_or_else(|_| panic!("{name} must be a whole number, and is {text:?}"))
}

/// Where lines go.
struct Plane {
    tee: Tee,
    bearer: String,
}

impl Plane {
    fn start() -> Self {
        let (told, heard) = channel();
        thread::spawn(move || {
            keep_to(ASKING);
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let running = Fixture::start(Options::default()).await.expect("a fixture");
                told.send((running.addr(), running.bearer())).expect("somebody waits");
                core::future::pending::<()>().await;
            });
        });
        let (place, bearer): (SocketAddr, String) = heard.recv().expect("a fixture");
        Self { tee: Tee::new(place).expect("a port"), bearer }
    }
}

/// A program that follows a file.
#[derive(Clone)]
enum Forwarder {
    Agent(PathBuf),
    Peer(Peer),
}

#[derive(Clone)]
struct Peer {
    program: PathBuf,
    version: String,
    /// Before 4.0 it sends bodies as they are.
    packs: bool,
}

/// Of the agent: all that it does by default, or the file alone.
#[derive(Clone, Copy, PartialEq)]
enum Work {
    Default,
    File,
}

impl Forwarder {
    const fn name(&self) -> &'static str {
        match self {
            Self::Agent(_) => "agent",
            Self::Peer(_) => "syslog-ng",
        }
    }

    fn command(&self, home: &Path, plane: &Plane, (batch, work): (u64, Work)) -> Command {
        match self {
            Self::Agent(program) => agent(program, home, plane, (batch, work)),
            Self::Peer(peer) => peer.command(home, plane, batch),
        }
    }
}

/// What the file is called that both follow.
const LOG: &str = "app.log";

fn agent(program: &Path, home: &Path, plane: &Plane, (batch, work): (u64, Work)) -> Command {
    let rest = match work {
        Work::Default => "",
        Work::File => {
            "journald = false\n[metrics]\nenabled = false\n[audit]\nenabled = false\n[actions]\nenabled = false\n"
        }
    };
    let text = format!(
        "[node]\ndata_dir = {:?}\nrun_dir = {:?}\n[control_plane]\nurl = \"http://{}\"\n[health]\nenabled = false\n\
         [nat]\nenabled = false\n[registration]\nproject_id = {:?}\nresource_handle = \"node-1\"\n\
         token_value = \"psb_dev_abc_node_aaaaaaaaaaaaaaaaaaaa\"\n[tunnel]\nbackend = \"none\"\n\
         [logs]\nfile_patterns = [{:?}]\nbatch_size = {batch}\n{rest}",
        home.join("data"),
        home.join("run"),
        plane.tee.place,
        site::PROJECT_ID,
        home.join(LOG),
    );
    let config = home.join("config.toml");
    fs::write(&config, text).expect("a file");
    let mut command = Command::new(program);
    command.arg("--config").arg(config).arg("run");
    command
}

impl Peer {
    /// `None` where it is not installed.
    fn find(home: &Path) -> Option<Self> {
        let program: PathBuf =
            env::var_os("MESHWARD_PEER").map_or("syslog-ng".into(), PathBuf::from);
        let told = Command::new(&program).arg("--version").output().ok()?;
        let version = String::from_utf8_lossy(&told.stdout).lines().next()?.to_owned();
        let peer = Self { program, version, packs: true };
        let config = home.join("tried.conf");
        fs::write(&config, peer.config(home, "http://127.0.0.1", ("none", 1))).expect("a file");
        let tried = Command::new(&peer.program).arg("-s").arg("-f").arg(&config).output().ok()?;
        Some(Self { packs: tried.status.success(), ..peer })
    }

    fn config(&self, home: &Path, url: &str, (bearer, batch): (&str, u64)) -> String {
        let version = self.version.split(['(', ')']).nth(1).unwrap_or("3.38");
        let version: Vec<&str> = version.split('.').take(2).collect();
        let packed = if self.packs { "content-compression(\"gzip\")" } else { "" };
        format!(
            "@version: {version}\noptions {{ stats-freq(0); use-dns(no); keep-hostname(no); }};\n\
             source s {{ file({log:?} flags(no-parse) follow-freq(1) log-iw-size({window})); }};\n\
             destination d {{ http(url(\"{url}/v1/nodes/{node}/logs\") method(\"POST\")\n\
             headers(\"Authorization: Bearer {bearer}\", \"X-Service-Sent-At: 2026-01-01T00:00:00Z\",\n\
             \"Content-Type: application/x-ndjson\")\n\
             body('$(format-json severity=info unit={unit} hostname=$HOST message=$MSG timestamp=$ISODATE)')\n\
             batch-lines({batch}) batch-timeout(1000) delimiter(\"\\n\") workers(1) {packed}); }};\n\
             log {{ source(s); destination(d); flags(flow-control); }};\n",
            version = version.join("."),
            log = home.join(LOG),
            unit = home.join(LOG).display(),
            node = site::NODE_ID,
            window = (2 * batch).max(1_000),
        )
    }

    fn command(&self, home: &Path, plane: &Plane, batch: u64) -> Command {
        let url = format!("http://{}", plane.tee.place);
        let config = home.join("syslog-ng.conf");
        fs::write(&config, self.config(home, &url, (&plane.bearer, batch))).expect("a file");
        let mut command = Command::new(&self.program);
        command.env("TZ", "UTC").arg("-F").arg("--no-caps").arg("-f").arg(config);
        for (option, name) in [("-R", "persist"), ("-p", "pid"), ("-c", "control")] {
            command.arg(option).arg(home.join(name));
        }
        command
    }
}

/// A program that runs on the core of those that are asked; it is ended when dropped.
struct Running {
    child: Child,
    process: Process,
    home: TempDir,
}

impl Running {
    /// Begins to follow a file that is empty, and has taken a batch of it.
    fn start(forwarder: &Forwarder, plane: &Plane, with: (u64, Work)) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        File::create(home.path().join(LOG)).expect("a file");
        let mut command = forwarder.command(home.path(), plane, with);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(File::create(home.path().join("stderr")).expect("a file"));
        let begun = thread::spawn(move || {
            keep_to(ASKED);
            command.spawn().expect("it starts")
        });
        let child = begun.join().expect("it starts");
        let running = Self { process: Process(child.id()), child, home };
        let before = plane.tee.records();
        let mut log = running.log();
        for line in 0..with.0 {
            write_line(&mut log, line);
        }
        log.flush().expect("there is room");
        running.wait(|| plane.tee.records() - before >= with.0);
        running
    }

    fn log(&self) -> BufWriter<File> {
        let log = File::options().append(true).open(self.home.path().join(LOG)).expect("a file");
        BufWriter::with_capacity(1 << 20, log)
    }

    fn wait(&self, mut is_there: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_there() {
            let said = || fs::read_to_string(self.home.path().join("stderr")).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "it does not come; the program says:\n{}", said());
            thread::sleep(GLANCE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let pid = Pid::from_child(&self.child);
        let _ = kill_process(pid, Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(40) && matches!(self.child.try_wait(), Ok(None))
        {
            thread::sleep(GLANCE);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line as an HTTP server writes it, no two alike, of 150 bytes or so.
fn write_line(log: &mut impl io::Write, number: u64) {
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let line = writeln!(
        log,
        "2026-11-29T10:15:{:02}.{:03}Z web[{}]: {}.{}.{}.{} \"GET /v1/items/{:x}?page={} HTTP/1.1\" {} {} {:.3} \
         request={number:08} agent=\"Mozilla/5.0 (X11)\"",
        mixed % 60,
        mixed % 1_000,
        1_000 + mixed % 7,
        10,
        mixed >> 56,
        (mixed >> 48) & 255,
        (mixed >> 40) & 255,
        mixed >> 36,
        mixed % 40,
        [200, 200, 200, 304, 404, 500][usize::try_from(mixed % 6).unwrap_or_default()],
        mixed % 90_000,
        (mixed % 3_000) as f64 / 1_000.0,
    );
    line.expect("there is room");
}

/// What a turn came to.
#[derive(Clone, Copy)]
struct Turn {
    sent: u64,
    received: u64,
    took: Duration,
    cpu: Duration,
    peak: u64,
    after: u64,
    bytes: u64,
    receipts: u64,
}

/// Writes at a rate until the time is over, and waits for the last line.
fn at_a_rate(running: &Running, plane: &Plane, lengths: &Lengths) -> Turn {
    let sent = lengths.rate * lengths.seconds;
    measured(running, plane, sent, || {
        let (mut log, begun) = (running.log(), Instant::now());
        for stroke in 0..lengths.seconds * STROKES {
            let due = begun + Duration::from_micros(stroke * 1_000_000 / STROKES);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let first = stroke * lengths.rate / STROKES;
            for line in first..(stroke + 1) * lengths.rate / STROKES {
                write_line(&mut log, line);
            }
            log.flush().expect("there is room");
        }
        begun
    })
}

/// Has all lines there at once; the time begins with the first that is received, as each looks at the file when it likes.
fn at_once(running: &Running, plane: &Plane, lengths: &Lengths) -> Turn {
    let before = plane.tee.records();
    measured(running, plane, lengths.lines, || {
        let mut log = BufWriter::with_capacity(1 << 20, Vec::new());
        (0..lengths.lines).for_each(|line| write_line(&mut log, line));
        running.log().write_all(&log.into_inner().expect("memory")).expect("there is room");
        running.wait(|| plane.tee.records() > before);
        Instant::now()
    })
}

fn measured(running: &Running, plane: &Plane, sent: u64, write: impl FnOnce() -> Instant) -> Turn {
    let tee = &plane.tee;
    let (records, receipts, bytes) = (tee.records(), tee.receipts(), tee.sent());
    let cpu = running.process.cpu();
    let begun = write();
    running.wait(|| tee.records() - records >= sent);
    let took = begun.elapsed();
    // What comes twice comes soon.
    thread::sleep(Duration::from_secs(1));
    Turn {
        sent,
        received: tee.records() - records,
        took,
        cpu: running.process.cpu() - cpu,
        peak: running.process.peak(),
        after: running.process.memory().0,
        bytes: tee.sent() - bytes,
        receipts: tee.receipts() - receipts,
    }
}

/// The middle one of many, and the least and the most.
fn spread(values: impl Iterator<Item = f64>, digits: usize) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (least, most) = (values[0], values[values.len() - 1]);
    let median = values[values.len() / 2];
    format!("{median:.digits$} ({least:.digits$} to {most:.digits$})")
}

fn tell(text: impl Display) {
    let mut out = io::stdout();
    writeln!(out, "{text}").and_then(|()| out.flush()).expect("somebody reads");
}

fn tell_turns(what: &str, forwarder: &Forwarder, turns: &[Turn], seconds: Option<u64>) {
    let of = |value: fn(&Turn) -> f64, digits| spread(turns.iter().map(value), digits);
    let total = |value: fn(&Turn) -> u64| turns.iter().map(value).sum::<u64>();
    let share = seconds.map_or_else(String::new, |seconds| {
        let share = |turn: &Turn| turn.cpu.as_secs_f64() / seconds as f64 * 100.0;
        format!("{} % of a core, ", spread(turns.iter().map(share), 2))
    });
    tell(format_args!(
        "{what}, {:<10} {share}{} us of CPU a line, {} lines/s, peak {} MiB, then {} MiB, {} lines a request, {} bytes sent a line, \
         {} lines written, {} received",
        forwarder.name(),
        of(|turn| turn.cpu.as_secs_f64() * 1e6 / turn.sent as f64, 2),
        of(|turn| turn.sent as f64 / turn.took.as_secs_f64(), 0),
        of(|turn| turn.peak as f64 / 1024.0, 1),
        of(|turn| turn.after as f64 / 1024.0, 1),
        of(|turn| turn.received as f64 / turn.receipts as f64, 0),
        of(|turn| turn.bytes as f64 / turn.sent as f64, 1),
        total(|turn| turn.sent),
        total(|turn| turn.received),
    ));
}

/// All take turns, each by a process of its own.
fn in_turns(
    what: &str,
    forwarders: &[Forwarder],
    (plane, lengths, seconds): (&Plane, &Lengths, Option<u64>),
    turn: fn(&Running, &Plane, &Lengths) -> Turn,
) {
    let mut turns = vec![Vec::new(); forwarders.len()];
    for _ in 0..lengths.turns {
        for (forwarder, turns) in forwarders.iter().zip(&mut turns) {
            let running = Running::start(forwarder, plane, (lengths.batch, Work::File));
            turns.push(turn(&running, plane, lengths));
        }
    }
    for (forwarder, turns) in forwarders.iter().zip(&turns) {
        tell_turns(what, forwarder, turns, seconds);
    }
}

/// All rest side by side, each with one file that nobody writes to.
fn at_rest(resting: &[(&str, &Forwarder, Work)], plane: &Plane, lengths: &Lengths) {
    let start = |(_, forwarder, work): &(&str, &Forwarder, Work)| {
        Running::start(forwarder, plane, (lengths.batch, *work))
    };
    let all: Vec<Running> = resting.iter().map(start).collect();
    thread::sleep(SETTLING);
    let begun: Vec<_> = all.iter().map(|one| (one.process.cpu(), one.process.sleeps())).collect();
    let watches: Vec<_> = all.iter().map(|one| switches(one.process, lengths.idle)).collect();
    thread::sleep(lengths.idle);
    let seconds = lengths.idle.as_secs_f64();
    for (((name, _, _), one), ((cpu, sleeps), watch)) in
        resting.iter().zip(&all).zip(begun.into_iter().zip(watches))
    {
        let (resident, own) = one.process.memory();
        let cpu = one.process.cpu() - cpu;
        let slept: u64 = one
            .process
            .sleeps()
            .iter()
            .map(|(thread, count)| count - sleeps.get(thread).unwrap_or(&0))
            .sum();
        let switched = watch.and_then(|watch| switched(watch)).map_or_else(
            || "unknown without perf".to_owned(),
            |count| format!("{:.2}", count as f64 / seconds),
        );
        tell(format_args!(
            "at rest, {name:<22} {:.1} MiB resident, {:.1} MiB of its own share, {:.1} ms of CPU a minute, {:.2} sleeps/s of \
             threads that stay, {switched} switches/s of all, {} threads, {} files open",
            resident as f64 / 1024.0,
            own as f64 / 1024.0,
            cpu.as_secs_f64() * 60_000.0 / seconds,
            slept as f64 / seconds,
            one.process.threads(),
            one.process.open_files(),
        ));
    }
}

/// Counts all switches of a process, those of its short threads and children too; `None` where `perf` is not installed.
fn switches(process: Process, time: Duration) -> Option<Child> {
    let (pid, time) = (process.0.to_string(), time.as_secs().to_string());
    let arguments = ["stat", "-x,", "-e", "context-switches", "-p", &pid, "--", "sleep", &time];
    let mut perf = Command::new("perf");
    perf.args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()
}

fn switched(watch: Child) -> Option<u64> {
    let told = watch.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&told.stderr).into_owned();
    text.lines().find(|line| line.contains("context-switches"))?.split(',').next()?.parse().ok()
}

/// The agent that was named, or one that is built here and now.
fn agent_program() -> PathBuf {
    if let Some(named) = env::var_os("MESHWARD_AGENT") {
        return named.into();
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["build", "--release", "--locked", "-p", "meshward-shell", "--bin", "meshward"];
    let built = Command::new(cargo).args(arguments).status().expect("cargo runs");
    assert!(built.success(), "the agent cannot be built; MESHWARD_AGENT names one that is there");
    let own = env::current_exe().expect("a path");
    own.ancestors().nth(2).expect("a target directory").join("meshward")
}

fn main() {
    keep_to(ASKING);
    let (lengths, home) = (Lengths::new(), tempfile::tempdir().expect("a folder"));
    let mut forwarders = vec![Forwarder::Agent(agent_program())];
    match Peer::find(home.path()) {
        Some(peer) => {
            let packs = if peer.packs { "packs its batches" } else { "cannot pack its batches" };
            tell(format_args!("{}, which {packs}", peer.version));
            forwarders.push(Forwarder::Peer(peer));
        }
        None => tell("syslog-ng with its module for HTTP is not installed, and is left out"),
    }
    let plane = Plane::start();
    let rated = format!("{} lines/s for {} s", lengths.rate, lengths.seconds);
    in_turns(&rated, &forwarders, (&plane, &lengths, Some(lengths.seconds)), at_a_rate);
    let rushed = format!("{} lines at once", lengths.lines);
    in_turns(&rushed, &forwarders, (&plane, &lengths, None), at_once);
    let (agent, peer) = (&forwarders[0], forwarders.get(1));
    let mut resting =
        vec![("agent", agent, Work::Default), ("agent, a file alone", agent, Work::File)];
    resting.extend(peer.map(|peer| ("syslog-ng", peer, Work::File)));
    at_rest(&resting, &plane, &lengths);
}
