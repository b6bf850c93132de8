//! Where lines go, and a program that brings them there.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    net::SocketAddr,
    process::{Child, Stdio},
    sync::mpsc::channel,
    thread,
    time::{Duration, Instant},
};

use meshward_benches::{ASKED, ASKING, keep_to, process::Process, tee::Tee};
use meshward_fixture::{Fixture, Options};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::runtime;

use crate::programs::{Forwarder, LOG, Work};

/// How long nothing may move that must come.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a program may take to end.
const ENDING: Duration = Duration::from_secs(40);

/// How often is looked whether something has come.
const GLANCE: Duration = Duration::from_millis(5);

/// Where lines go.
pub(crate) struct Plane {
    pub(crate) tee: Tee,
    pub(crate) bearer: String,
}

impl Plane {
    pub(crate) fn start() -> Self {
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

/// A program that runs on the core of those that are asked; it is ended when dropped.
pub(crate) struct Running {
    child: Child,
    pub(crate) process: Process,
    home: TempDir,
}

impl Running {
    /// Begins to follow a file that is empty, and has taken a batch of it.
    pub(crate) fn start(forwarder: &Forwarder, plane: &Plane, with: (u64, Work)) -> Self {
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
        running.wait(plane, (before, with.0));
        running
    }

    pub(crate) fn log(&self) -> BufWriter<File> {
        let log = File::options().append(true).open(self.home.path().join(LOG)).expect("a file");
        BufWriter::with_capacity(1 << 20, log)
    }

    /// Waits until so many records more are acknowledged than there were.
    pub(crate) fn wait(&self, plane: &Plane, (before, more): (u64, u64)) {
        let (mut begun, mut last) = (Instant::now(), 0);
        while last < more {
            let now = plane.tee.records() - before;
            if now > last {
                (begun, last) = (Instant::now(), now);
            }
            let said = || fs::read_to_string(self.home.path().join("stderr")).unwrap_or_default();
            assert!(
                begun.elapsed() < PATIENCE,
                "nothing comes any more; the program says:\n{}",
                said()
            );
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
        while begun.elapsed() < ENDING && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(GLANCE);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line as an HTTP server writes it, no two alike, of 150 bytes or so.
pub(crate) fn write_line(log: &mut impl io::Write, number: u64) {
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
