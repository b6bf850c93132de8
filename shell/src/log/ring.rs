//! The last lines of the agent's own log, kept in memory for `logs.snapshot`: as many as fit, the oldest dropped first.

use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

use meshward_core::{agent::builtins, time::Wall};
use tracing_subscriber::fmt::MakeWriter;

use super::queue::fit;
use crate::clock;

/// How many lines are kept.
pub const LINES_MAX: usize = 10_000;

/// How many bytes the kept lines have together.
pub const BYTES_MAX: usize = 2 << 20;

/// How many bytes of one line are kept.
pub const LINE_MAX: usize = 16 << 10;

/// What stands at the end of a line that was cut; it counts inside the limit.
const CUT: &str = "...[truncated]";

// Whoever asks for all that may be asked for gets it.
const _: () = assert!(LINES_MAX as u64 == builtins::LINES_MAX);

/// The kept lines; a clone is the same ring.
#[derive(Clone, Debug, Default)]
pub struct Ring(Arc<Mutex<Lines>>);

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<Line>,
    bytes: usize,
}

#[derive(Debug)]
struct Line {
    at: Wall,
    text: String,
}

impl Ring {
    /// The newest lines, oldest first, each with its line feed: as many as asked for, none from before the moment, and no
    /// more than fit into `max` bytes.
    pub fn newest(&self, asked: builtins::Snapshot, max: usize) -> Vec<u8> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_wanted = |line: &&Line| !asked.since.is_some_and(|since| since.is_after(line.at));
        let mut room = max;
        let fits = |line: &&Line| {
            let left = room.checked_sub(line.text.len() + 1);
            room = left.unwrap_or_default();
            left.is_some()
        };
        let newest = lines.kept.iter().rev().filter(is_wanted).take(asked.lines).take_while(fits);
        let newest: Vec<_> = newest.collect();
        let mut text = Vec::with_capacity(newest.iter().map(|line| line.text.len() + 1).sum());
        for line in newest.iter().rev() {
            text.extend_from_slice(line.text.as_bytes());
            text.push(b'\n');
        }
        text
    }

    fn keep(&self, at: Wall, text: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.bytes += text.len();
        lines.kept.push_back(Line { at, text });
        while lines.kept.len() > LINES_MAX || lines.bytes > BYTES_MAX {
            let Some(oldest) = lines.kept.pop_front() else { return };
            lines.bytes -= oldest.text.len();
        }
    }
}

impl Write for Ring {
    /// Takes one line, as the log is written.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.keep(clock::now().wall, short(fit(line)));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for Ring {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}

/// A line without its line feed, up to its limit.
fn short(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
    }
    if text.len() > LINE_MAX {
        text.truncate(text.floor_char_boundary(LINE_MAX - CUT.len()));
        text.push_str(CUT);
    }
    text.shrink_to_fit();
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use meshward_core::wire::timestamp::Timestamp;

    use super::*;

    fn at(second: u64) -> Wall {
        Wall::from_origin(Duration::from_secs(second))
    }

    fn filled() -> Ring {
        let ring = Ring::default();
        for second in 1..=9 {
            ring.keep(at(second), format!("line {second}"));
        }
        ring
    }

    fn newest(ring: &Ring, lines: usize, since: Option<u64>, max: usize) -> String {
        let since = since.map(|second| Timestamp::from(at(second)));
        String::from_utf8(ring.newest(builtins::Snapshot { lines, since }, max)).unwrap()
    }

    #[test]
    fn the_newest_lines_are_told_in_their_order_as_far_as_they_are_wanted_and_fit() {
        let ring = filled();
        assert_eq!(newest(&ring, 2, None, 100), "line 8\nline 9\n");
        assert_eq!(newest(&ring, 100, Some(8), 100), "line 8\nline 9\n");
        assert_eq!(newest(&ring, 1, Some(8), 100), "line 9\n");
        assert_eq!(newest(&ring, 100, Some(10), 100), "");
        assert_eq!(newest(&ring, 100, None, 14), "line 8\nline 9\n");
        assert_eq!(newest(&ring, 100, None, 13), "line 9\n");
        assert_eq!(newest(&ring, 100, None, 6), "");
        assert_eq!(newest(&ring, 100, None, 1 << 20).lines().count(), 9);
        assert_eq!(newest(&Ring::default(), 100, None, 100), "");
    }

    #[test]
    fn a_line_that_does_not_fit_hides_those_before_it_instead_of_leaving_a_gap() {
        let ring = Ring::default();
        for text in ["a", "much longer", "b"] {
            ring.keep(at(1), text.to_owned());
        }
        assert_eq!(newest(&ring, 100, None, 6), "b\n");
    }

    #[test]
    fn lines_and_bytes_are_bounded_and_the_oldest_are_dropped() {
        let ring = Ring::default();
        for number in 0..LINES_MAX + 5 {
            ring.keep(at(1), number.to_string());
        }
        let kept = newest(&ring, usize::MAX, None, usize::MAX);
        assert_eq!((kept.lines().count(), kept.lines().next()), (LINES_MAX, Some("5")));
        for number in 0..BYTES_MAX / LINE_MAX + 5 {
            ring.keep(at(1), format!("{number:>LINE_MAX$}"));
        }
        let kept = newest(&ring, usize::MAX, None, usize::MAX);
        assert_eq!(kept.lines().count(), BYTES_MAX / LINE_MAX);
        assert_eq!(kept.lines().next().map(str::trim), Some("5"));
    }

    #[test]
    fn a_long_line_is_cut_and_one_that_would_steer_is_not_kept_as_it_came() {
        let mut ring = Ring::default();
        ring.write_all(format!("{}\n", "é".repeat(LINE_MAX)).as_bytes()).unwrap();
        ring.write_all(b"a\nforged \x1b[2J\n").unwrap();
        let kept = newest(&ring, 100, None, usize::MAX);
        let lines: Vec<_> = kept.lines().collect();
        assert!(lines[0].len() <= LINE_MAX && lines[0].ends_with("é...[truncated]"));
        assert_eq!(lines[1..], ["a\u{fffd}forged \u{fffd}[2J"]);
    }

    #[test]
    fn what_is_logged_is_kept_with_its_time_at_the_level_of_the_log() {
        use tracing_subscriber::{filter::LevelFilter, layer::SubscriberExt as _};
        let ring = Ring::default();
        let log = tracing_subscriber::registry()
            .with(LevelFilter::INFO)
            .with(super::super::kept(ring.clone()));
        tracing::subscriber::with_default(log, || {
            tracing::info!(answer = 42, "told");
            tracing::debug!("not told");
        });
        let kept = newest(&ring, 100, Some(1), usize::MAX);
        let (time, rest) = kept.split_once(' ').unwrap();
        assert!(Timestamp::parse(time).is_ok(), "{kept}");
        assert_eq!(rest.trim_start(), "INFO told answer=42\n");
    }
}
