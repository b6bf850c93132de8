//! `logs.snapshot`: how much of the agent's own log is asked for.

use super::{Parameters, parameters::number};
use crate::{duration, time::Wall, wire::timestamp::Timestamp};

/// How many lines are told where nothing is said.
pub const LINES_DEFAULT: u64 = 100;
/// How many lines are told at most.
pub const LINES_MAX: u64 = 10_000;

/// What is asked for: the last lines, and none from before a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub lines: usize,
    pub since: Option<Timestamp>,
}

/// Reads the parameters; `since` is a time, or how long ago.
pub fn snapshot(parameters: &Parameters, now: Wall) -> Result<Snapshot, &'static str> {
    let lines = number(parameters, "lines", 1..=LINES_MAX, LINES_DEFAULT);
    let since = match parameters.get("since").map(alloc::string::String::as_str) {
        None | Some("") => None,
        Some(text) => Some(moment(text, now)?),
    };
    Ok(Snapshot { lines: usize::try_from(lines).unwrap_or(usize::MAX), since })
}

fn moment(text: &str, now: Wall) -> Result<Timestamp, &'static str> {
    const FORM: &str =
        "since must be a time such as 2026-01-15T10:30:00Z, or a duration such as 15m";
    if let Ok(time) = Timestamp::parse(text) {
        return Ok(time);
    }
    let ago = duration::parse(text).map_err(|_| FORM)?;
    Ok(Timestamp::from(Wall::from_origin(now.since_origin().saturating_sub(ago))))
}
