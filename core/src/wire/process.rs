//! `/proc/self/stat`: what the kernel tells of a process on one line.
//!
//! The name of the program stands in brackets and may hold anything, so the fields are counted from the last bracket.

use core::time::Duration;

/// What is read of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// In user mode and in the kernel, without its children.
    pub cpu: Duration,
    pub threads: u64,
    /// Since the host was booted.
    pub started: Duration,
    /// In pages.
    pub resident: u64,
}

/// Where the fields stand behind the name, the state being 0.
const USER: usize = 11;
const SYSTEM: usize = 12;
const THREADS: usize = 17;
const STARTED: usize = 19;
const RESIDENT: usize = 21;

/// Reads the line; `ticks` is how many there are in a second.
pub fn parse(line: &str, ticks: u64) -> Option<Stat> {
    let (_, fields) = line.rsplit_once(')')?;
    let field = |at| fields.split_ascii_whitespace().nth(at)?.parse::<u64>().ok();
    let time = |count: u64| {
        let nanos = u128::from(count).checked_mul(1_000_000_000)?.checked_div(u128::from(ticks))?;
        Some(Duration::from_nanos_u128(nanos))
    };
    Some(Stat {
        cpu: time(field(USER)?.saturating_add(field(SYSTEM)?))?,
        threads: field(THREADS)?,
        started: time(field(STARTED)?)?,
        resident: field(RESIDENT)?,
    })
}
