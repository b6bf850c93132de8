//! A flood of log lines and of audit events, which grows faster than any agent reads and never gets too far ahead of it.
//!
//! Every fifth log line is longer than a line may be, so that the limit of bytes is met as well as that of records.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// The files that log lines go to, side by side.
const FILES: [&str; 3] = ["a.log", "b.log", "c.log"];

/// A log file that is as long is renamed, and another one begun; the agent is to follow it under both names.
const FILE_MAX: u64 = 4 << 20;

/// Lines for each log file, and audit events, in one breath.
const BREATH: u64 = 8;

const BETWEEN_BREATHS: Duration = Duration::from_millis(10);

/// How long the text of a long line is.
const LONG: usize = 20 << 10;

/// What is counted of one kind of records.
#[derive(Debug, Default)]
pub(crate) struct Count {
    /// Records that stand in the files.
    pub(crate) written: AtomicU64,
    /// Records that the agent has read, as it tells itself.
    pub(crate) read: AtomicU64,
}

impl Count {
    fn is_ahead(&self, most: u64) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        written.saturating_sub(self.read.load(Ordering::Relaxed)) >= most
    }

    fn wrote(&self, records: u64) {
        self.written.fetch_add(records, Ordering::Relaxed);
    }
}

/// Where the flood goes, and how far it has come.
#[derive(Debug)]
pub(crate) struct Bed {
    pub(crate) folder: PathBuf,
    pub(crate) events: PathBuf,
    pub(crate) logs: Count,
    pub(crate) audit: Count,
    /// How many records of a kind the flood may be ahead of the agent.
    ahead_max: u64,
    is_open: AtomicBool,
    is_over: AtomicBool,
    /// The flood has seen that it is shut.
    is_still: AtomicBool,
}

/// The flood, which ends with this value.
#[derive(Debug)]
pub(crate) struct Flood {
    pub(crate) bed: Arc<Bed>,
    writer: Option<JoinHandle<()>>,
}

impl Flood {
    /// A shut one, whose files are there and empty.
    pub(crate) fn new(home: &Path, ahead_max: u64) -> Self {
        let (folder, events) = (home.join("flood"), home.join("k8s.log"));
        fs::create_dir(&folder).unwrap();
        fs::write(&events, "").unwrap();
        let bed = Arc::new(Bed {
            folder,
            events,
            logs: Count::default(),
            audit: Count::default(),
            ahead_max,
            is_open: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            is_still: AtomicBool::new(false),
        });
        let own = Arc::clone(&bed);
        Self { bed, writer: Some(thread::spawn(move || own.flow())) }
    }

    pub(crate) fn open(&self) {
        self.bed.is_open.store(true, Ordering::SeqCst);
    }

    pub(crate) fn shut(&self) {
        self.bed.is_open.store(false, Ordering::SeqCst);
        // The writer, which has found it open until now, says so anew.
        self.bed.is_still.store(false, Ordering::SeqCst);
    }

    /// Whether nothing is being written, and nothing will be.
    pub(crate) fn is_still(&self) -> bool {
        self.bed.is_still.load(Ordering::SeqCst)
    }

    /// Removes what was renamed, and begins the file of events anew; only while the agent has read all of it.
    pub(crate) fn clear(&self) {
        for entry in fs::read_dir(&self.bed.folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending != "log") {
                fs::remove_file(path).unwrap();
            }
        }
        fs::rename(&self.bed.events, self.bed.events.with_extension("log.1")).unwrap();
        fs::write(&self.bed.events, "").unwrap();
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.bed.is_over.store(true, Ordering::SeqCst);
        if let Some(writer) = self.writer.take() {
            // A writer that failed has failed the test by its silence.
            let _ = writer.join();
        }
    }
}

impl Bed {
    fn flow(&self) {
        let mut breath = 0;
        while !self.is_over.load(Ordering::SeqCst) {
            let is_open = self.is_open.load(Ordering::SeqCst);
            if is_open && !self.logs.is_ahead(self.ahead_max) {
                self.log(breath);
            }
            if is_open && !self.audit.is_ahead(self.ahead_max) {
                append(&self.events, &events(breath));
                self.audit.wrote(BREATH);
            }
            if !is_open {
                self.is_still.store(true, Ordering::SeqCst);
            }
            breath += 1;
            thread::park_timeout(BETWEEN_BREATHS);
        }
    }

    fn log(&self, breath: u64) {
        for name in FILES {
            let path = self.folder.join(name);
            append(&path, &lines(breath));
            self.logs.wrote(BREATH);
            if fs::metadata(&path).unwrap().len() > FILE_MAX {
                fs::rename(&path, self.folder.join(format!("{name}.{breath}"))).unwrap();
            }
        }
    }
}

fn append(path: &Path, text: &str) {
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn lines(breath: u64) -> String {
    let mut text = String::new();
    for line in 0..BREATH {
        let number = breath * BREATH + line;
        let length = if number.is_multiple_of(5) { LONG } else { 100 };
        writeln!(text, "{number} {:/>length$}", number.wrapping_mul(0x9e37_79b9)).unwrap();
    }
    text
}

fn events(breath: u64) -> String {
    let mut text = String::new();
    for event in 0..BREATH {
        writeln!(
            text,
            "{{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"stage\":\"ResponseComplete\",\"verb\":\"get\",\
             \"auditID\":\"{breath}-{event}\",\"user\":{{\"username\":\"system:admin\"}},\"responseStatus\":{{\"code\":200}},\
             \"objectRef\":{{\"resource\":\"pods\",\"namespace\":\"default\",\"name\":\"web-{breath}\"}},\
             \"stageTimestamp\":\"2026-03-01T10:00:00Z\"}}"
        )
        .unwrap();
    }
    text
}
