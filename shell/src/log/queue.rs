//! Lines on their way to standard error, which never hold up who writes them, and whose loss ends nothing.
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

use meshward_core::legible;
use tracing::warn;
use tracing_subscriber::fmt::MakeWriter;

/// Lines that wait to be written.
const QUEUE_LEN: usize = 1024;

/// How long the end of the program waits for the lines that are left.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(250);

/// Enough for a loop that copies bytes.
const STACK: usize = 128 << 10;

#[derive(Debug)]
enum Item {
    Line(Vec<u8>),
    /// Answers once everything before it is written.
    Flush(SyncSender<()>),
}

/// The near end of the queue.
#[derive(Clone, Debug)]
pub struct Queue {
    items: SyncSender<Item>,
    lost: Arc<AtomicU64>,
}

impl Write for Queue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.items.try_send(Item::Line(fit(line).into_bytes())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
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
pub struct Flushed(SyncSender<Item>);

impl Drop for Flushed {
    fn drop(&mut self) {
        let (written, waiting) = sync_channel(1);
        if self.0.try_send(Item::Flush(written)).is_ok() {
            // Nobody reads: the lines are given up.
            let _: Result<(), RecvTimeoutError> = waiting.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

/// Starts the thread that writes.
pub fn start() -> io::Result<(Queue, Flushed)> {
    let (items, queued) = sync_channel(QUEUE_LEN);
    let queue = Queue { items: items.clone(), lost: Arc::default() };
    let lost = Arc::clone(&queue.lost);
    let writer = thread::Builder::new().name("log".to_owned()).stack_size(STACK);
    writer.spawn(move || write_out(&queued, &lost))?;
    Ok((queue, Flushed(items)))
}

fn write_out(queued: &Receiver<Item>, lost: &AtomicU64) {
    for item in queued {
        match item {
            // A closed standard error leaves nobody to tell.
            Item::Line(line) => drop(io::stderr().write_all(&line)),
            Item::Flush(written) => drop(written.try_send(())),
        }
        let lines = lost.swap(0, Ordering::Relaxed);
        if lines > 0 {
            warn!(lines, "log lines were lost: standard error was not read fast enough");
        }
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
