//! How many lines one place of the program may log: the flood of one never hides another.
//!
//! | Line | Becomes |
//! |---|---|
//! | for debugging | a line: who wants these wants all of them |
//! | one of the first [`LINES_MAX`] of its kind within [`PERIOD`] | a line |
//! | another of its kind | held back and counted; told in one line when the period is over |
//! | of a kind beyond [`SITES_MAX`] at its level | counted with the others of that sort, within the same limit |
//!
//! A kind is the place in the program and the text without its digits and without what stands in quotes. Each level has
//! its own room, so that no number of warnings holds back the first error of a kind.

use alloc::{borrow::ToOwned as _, collections::BTreeMap, string::String, vec::Vec};
use core::{mem, time::Duration};

use super::Level;
use crate::time::Mono;

/// How many lines of one kind are written within a period.
pub const LINES_MAX: u32 = 20;

/// How long lines of one kind are counted together.
pub const PERIOD: Duration = Duration::from_secs(60);

/// How many kinds are told apart at each level.
pub const SITES_MAX: usize = 128;

/// So much of a text makes its kind, in characters.
pub const KIND_MAX: usize = 64;

/// So much is kept of a text that is held back, in characters.
pub const SAMPLE_MAX: usize = 256;

/// Where a line comes from, and what kind of line it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    file: &'static str,
    line: u32,
    kind: String,
}

impl Site {
    pub fn new(file: &'static str, line: u32, text: &str) -> Self {
        Self { file, line, kind: kind(text) }
    }
}

/// Lines that were held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub level: Level,
    pub count: u64,
    /// The first of them.
    pub sample: String,
}

/// The lines of this period, by what they come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    levels: BTreeMap<Level, BTreeMap<Site, Window>>,
    /// Held back in periods that are over, and not told yet.
    over: Vec<Held>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Window {
    until: Mono,
    lines: u32,
    held: u64,
    sample: String,
}

/// Whether a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Written,
    /// Held back, and the first of its kind in this period.
    HeldFirst,
    Held,
}

impl Rate {
    /// Judges a line.
    pub fn line(&mut self, now: Mono, level: Level, site: Site, text: &str) -> Verdict {
        if level == Level::Debug {
            return Verdict::Written;
        }
        let sites = self.levels.entry(level).or_default();
        let is_known = sites.contains_key(&site);
        if !is_known && sites.len() >= SITES_MAX {
            end(sites, level, now, &mut self.over);
        }
        let site = match is_known || sites.len() < SITES_MAX {
            true => site,
            false => Site::default(),
        };
        let fresh =
            || Window { until: now.after(PERIOD), lines: 0, held: 0, sample: String::new() };
        let window = sites.entry(site).or_insert_with(fresh);
        if window.until <= now {
            self.over.extend(mem::replace(window, fresh()).into_held(level));
        }
        window.take(text)
    }

    /// What was held back in periods that are over by now.
    pub fn over(&mut self, now: Mono) -> Vec<Held> {
        for (level, sites) in &mut self.levels {
            end(sites, *level, now, &mut self.over);
        }
        mem::take(&mut self.over)
    }

    /// What is held back, however long its period goes on.
    pub fn rest(&mut self) -> Vec<Held> {
        let mut held = mem::take(&mut self.over);
        for (level, sites) in mem::take(&mut self.levels) {
            held.extend(sites.into_values().filter_map(|window| window.into_held(level)));
        }
        held
    }

    /// When something is held back whose period is over.
    pub fn wakeup(&self) -> Option<Mono> {
        let windows = self.levels.values().flat_map(BTreeMap::values);
        let due = windows.filter(|window| window.held > 0).map(|window| window.until).min();
        if self.over.is_empty() { due } else { Some(Mono::default()) }
    }
}

/// Lets go of the periods that are over.
fn end(sites: &mut BTreeMap<Site, Window>, level: Level, now: Mono, over: &mut Vec<Held>) {
    sites.retain(|_, window| {
        let is_over = window.until <= now;
        if is_over {
            over.extend(mem::replace(window, Window::ended()).into_held(level));
        }
        !is_over
    });
}

impl Window {
    const fn ended() -> Self {
        Self { until: Mono::from_origin(Duration::ZERO), lines: 0, held: 0, sample: String::new() }
    }

    fn take(&mut self, text: &str) -> Verdict {
        if self.lines < LINES_MAX {
            self.lines += 1;
            return Verdict::Written;
        }
        self.held = self.held.saturating_add(1);
        if self.held > 1 {
            return Verdict::Held;
        }
        self.sample = text.chars().take(SAMPLE_MAX).collect();
        Verdict::HeldFirst
    }

    fn into_held(self, level: Level) -> Option<Held> {
        (self.held > 0).then_some(Held { level, count: self.held, sample: self.sample })
    }
}

/// A text without what differs from line to line of the same kind.
fn kind(text: &str) -> String {
    let unquoted = text.split('"').step_by(2).flat_map(str::chars);
    let kind: String = unquoted.filter(|c| !c.is_ascii_digit()).take(KIND_MAX).collect();
    kind.trim_end().to_owned()
}
