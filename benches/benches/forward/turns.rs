//! The turns of the programs with a file that grows.

use std::{
    io::{BufWriter, Write as _},
    thread,
    time::{Duration, Instant},
};

use crate::{
    Lengths, STROKES,
    programs::{Forwarder, Work},
    running::{Plane, Running, write_line},
    tell,
};

/// What a turn came to.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
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
pub(crate) fn at_a_rate(running: &Running, plane: &Plane, lengths: &Lengths) -> Turn {
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
pub(crate) fn at_once(running: &Running, plane: &Plane, lengths: &Lengths) -> Turn {
    let before = plane.tee.records();
    measured(running, plane, lengths.lines, || {
        let mut log = BufWriter::with_capacity(1 << 20, Vec::new());
        (0..lengths.lines).for_each(|line| write_line(&mut log, line));
        running.log().write_all(&log.into_inner().expect("memory")).expect("there is room");
        running.wait(plane, (before, 1));
        Instant::now()
    })
}

fn measured(running: &Running, plane: &Plane, sent: u64, write: impl FnOnce() -> Instant) -> Turn {
    let tee = &plane.tee;
    let (records, receipts, bytes) = (tee.records(), tee.receipts(), tee.sent());
    let cpu = running.process.cpu();
    let begun = write();
    running.wait(plane, (records, sent));
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

fn tell_turns(what: &str, (forwarder, turns): (&Forwarder, &[Turn]), lengths: &Lengths) {
    let of = |value: &dyn Fn(&Turn) -> f64, digits| spread(turns.iter().map(value), digits);
    let total = |value: fn(&Turn) -> u64| turns.iter().map(value).sum::<u64>();
    let a_line = |turn: &Turn| turn.cpu.as_secs_f64() / turn.sent as f64;
    let mib = |kib: u64| kib as f64 / 1024.0;
    tell(format_args!(
        "{what}, {}: {} s, {} lines/s, {} us of CPU a line, {} % of a core at {} lines/s, peak {} MiB, then {} MiB, \
         {} lines a request, {} bytes a line, {} lines written, {} acknowledged",
        forwarder.name(),
        of(&|turn| turn.took.as_secs_f64(), 1),
        of(&|turn| turn.sent as f64 / turn.took.as_secs_f64(), 0),
        of(&|turn| a_line(turn) * 1e6, 2),
        of(&|turn| a_line(turn) * 100.0 * lengths.rate as f64, 2),
        lengths.rate,
        of(&|turn| mib(turn.peak), 1),
        of(&|turn| mib(turn.after), 1),
        of(&|turn| turn.received as f64 / turn.receipts as f64, 0),
        of(&|turn| turn.bytes as f64 / turn.sent as f64, 1),
        total(|turn| turn.sent),
        total(|turn| turn.received),
    ));
}

/// All take turns, each by a process of its own.
pub(crate) fn in_turns(
    what: &str,
    forwarders: &[Forwarder],
    (plane, lengths): (&Plane, &Lengths),
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
        tell_turns(what, (forwarder, turns), lengths);
    }
}
