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
//!
//! A length of 0 leaves its part out. What the columns hold is told by `docs/performance.md`.

mod programs;
mod rest;
mod running;
mod turns;

use std::{
    env,
    fmt::Display,
    io::{self, Write as _},
    time::Duration,
};

use meshward_benches::{ASKING, keep_to};
use programs::{Forwarder, Peer, agent_program};
use running::Plane;

/// How many times a second lines are written.
const STROKES: u64 = 100;

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
            seconds: number("MESHWARD_SECONDS", 60),
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

fn tell(text: impl Display) {
    let mut out = io::stdout();
    writeln!(out, "{text}").and_then(|()| out.flush()).expect("somebody reads");
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
    if lengths.seconds > 0 {
        let what = format!("{} lines/s for {} s", lengths.rate, lengths.seconds);
        turns::in_turns(&what, &forwarders, (&plane, &lengths), turns::at_a_rate);
    }
    if lengths.lines > 0 {
        let what = format!("{} lines at once", lengths.lines);
        turns::in_turns(&what, &forwarders, (&plane, &lengths), turns::at_once);
    }
    if !lengths.idle.is_zero() {
        rest::at_rest(&forwarders, &plane, &lengths);
    }
}
