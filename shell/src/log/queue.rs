//! Lines on their way to standard error or to journald, which never hold up who writes them, and whose loss ends nothing.
//!
//! A reader that does not read fills its pipe, and a write to a full pipe stops the one thread that does the work. Lines
//! therefore go through a bounded queue to a thread of their own; what the queue has no room for is counted and lost.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use meshward_core::{legible, time::Mono};
use tracing::warn;
use tracing_subscriber::fmt::MakeWriter;

use super::{
    journal::{Journal, is_passing},
    limit::Limit,
};
use crate::clock;

/// Lines that wait to be written.
const QUEUE_LEN: usize = 1024;

/// How long the end of the program waits for the lines that are left.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(250);

/// Enough for a loop that copies bytes.
const STACK: usize = 128 << 10;

/// How long a line waits until a journald that is not there is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// Where lines go.
#[derive(Debug)]
pub(super) enum Sink {
    Stderr,
    Journal(Journal),
}

impl From<Journal> for Sink {
    fn from(journal: Journal) -> Self {
        Self::Journal(journal)
    }
}

impl Sink {
    /// Writes one line, and tells whether it is written. One for a journald that is not there waits for it.
    fn write(&self, line: &[u8]) -> bool {
        match self {
            // A closed standard error leaves nobody to tell.
            Self::Stderr => {
                drop(io::stderr().write_all(line));
                true
            }
            Self::Journal(journal) => loop {
                match journal.send(line) {
                    Ok(()) => return true,
                    Err(error) if is_passing(&error) => thread::sleep(RETRY),
                    Err(_) => return false,
                }
            },
        }
    }
}

#[derive(Debug)]
enum Item {
    Line(Vec<u8>),
    /// Something was held back, to be told when its time has come.
    Wake,
    /// Answers once everything before it is written.
    Flush(SyncSender<()>),
}

/// The near end of the queue.
#[derive(Clone, Debug)]
pub struct Queue {
    items: SyncSender<Item>,
    lost: Arc<AtomicU64>,
    limit: Limit,
}

impl Queue {
    /// Takes a line as it is.
    pub(super) fn push(&self, line: Vec<u8>) {
        if self.items.try_send(Item::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn wake(&self) {
        // A full queue wakes its thread anyway.
        let _ = self.items.try_send(Item::Wake);
    }

    /// What was held back is told by the thread of the queue.
    pub(super) fn limit(&self) -> Limit {
        self.limit.clone()
    }
}

impl Write for Queue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(fit(line).into_bytes());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The line without what steers a terminal or begins another line, whoever the text in it came from.
pub(super) fn fit(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let (text, end) = text.strip_suffix('\n').map_or((&*text, ""), |text| (text, "\n"));
    format!("{}{end}", legible::line(text))
}

impl<'w> MakeWriter<'w> for Queue {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}

/// Writes what is left when it goes out of scope, as far as the reader lets it.
#[derive(Debug)]
pub struct Flushed {
    items: SyncSender<Item>,
    limit: Limit,
}

impl Drop for Flushed {
    fn drop(&mut self) {
        self.limit.rest();
        let (written, waiting) = sync_channel(1);
        if self.items.try_send(Item::Flush(written)).is_ok() {
            // Nobody reads: the lines are given up.
            let _: Result<(), RecvTimeoutError> = waiting.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

/// Starts a thread that writes to standard error.
pub fn start() -> io::Result<(Queue, Flushed)> {
    start_to(Sink::Stderr)
}

/// Starts the thread that writes.
pub(super) fn start_to(sink: Sink) -> io::Result<(Queue, Flushed)> {
    let (items, queued) = sync_channel(QUEUE_LEN);
    let queue = Queue { items: items.clone(), lost: Arc::default(), limit: Limit::default() };
    let (lost, limit) = (Arc::clone(&queue.lost), queue.limit());
    let writer = thread::Builder::new().name("log".to_owned()).stack_size(STACK);
    writer.spawn(move || write_out(&queued, &sink, (&lost, &limit)))?;
    let limit = queue.limit();
    Ok((queue, Flushed { items, limit }))
}

fn write_out(queued: &Receiver<Item>, sink: &Sink, (lost, limit): (&AtomicU64, &Limit)) {
    let mut due = None;
    while let Ok(item) = next(queued, due) {
        let is_written = match item {
            Some(Item::Line(line)) => sink.write(&line),
            Some(Item::Flush(written)) => {
                // Who waited has given up.
                let _ = written.try_send(());
                true
            }
            Some(Item::Wake) | None => true,
        };
        due = limit.tell(clock::now().mono);
        if !is_written {
            lost.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let lines = lost.swap(0, Ordering::Relaxed);
        if lines > 0 {
            warn!(lines, "log lines were lost: they were not taken fast enough");
        }
    }
}

/// The next item, or none where something held back is due before one comes.
fn next(queued: &Receiver<Item>, due: Option<Mono>) -> Result<Option<Item>, RecvTimeoutError> {
    let Some(due) = due else {
        return queued.recv().map(Some).map_err(|_| RecvTimeoutError::Disconnected);
    };
    match queued.recv_timeout(due.since(clock::now().mono)) {
        Ok(item) => Ok(Some(item)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(RecvTimeoutError::Disconnected),
    }
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn a_line_of_the_log_stays_one_line_and_steers_no_terminal_whatever_a_peer_sent() {
        assert_eq!(fit("é ok\n".as_bytes()), "é ok\n");
        let given = b"a\n<0>forged\x1b[2J\xc2\x9b\x7f\xe2\x80\xae\xff b\n";
        let shown = fit(given);
        assert_eq!(shown, "a\u{fffd}<0>forged\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}\u{fffd} b\n");
        assert_eq!(fit(b""), "");
    }
}
