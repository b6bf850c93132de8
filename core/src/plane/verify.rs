//! Verification: whether the journal holds as many requests of a kind as were expected, now or within a while.
//!
//! | Condition | Answered before its time is over | Then |
//! |---|---|---|
//! | `at_least` n | holds, as soon as n have matched | fails |
//! | `count` n | fails, as soon as more than n have matched | holds with n |
//! | `at_most` n | fails, as soon as more than n have matched | holds |
//!
//! Unspecified: requests that the journal has let go are counted only where they came while it was waited; a reset and
//! an emptied journal leave who waits waiting, from none; what comes after the time is over counts no more.
//!
//! Specification: `decisions.md` section 6 names the journal that this reads.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::{cmp::Reverse, time::Duration};

use thiserror::Error;

use super::{
    journal::{ENTRIES_MAX, Entry, Journal},
    pattern::{self, Pattern},
};
use crate::{
    ids::{CallId, CorrelationId},
    time::{Mono, Now},
    wire::{
        http::{Body, UNREADABLE},
        journal::Verify,
        json::{self, Fault},
    },
};

/// The longest that is waited.
pub const WITHIN_MAX: Duration = Duration::from_secs(60);

/// How many may wait at once.
pub const WAITING_MAX: usize = 64;

/// How many of the closest misses are told.
pub const MISSES_MAX: usize = 3;

/// The highest count: the journal holds no more.
pub const COUNT_MAX: u64 = ENTRIES_MAX as u64;

/// Why a verification is refused, or fails.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the body is over 16 MiB")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the body is not a verification: {0}")]
    Malformed(Fault),
    #[error("{0}")]
    Pattern(pattern::Malformed),
    #[error("give exactly one of count, at_least and at_most")]
    Goal,
    #[error("counts go up to {COUNT_MAX}: the journal holds no more requests")]
    Count,
    #[error("within_ms goes up to {}", WITHIN_MAX.as_millis())]
    Within,
    #[error("{WAITING_MAX} verifications are waiting already; answer or give up one of them first")]
    Full,
    #[error("{0}")]
    Failed(String),
}

/// How many requests are expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    Exactly(u64),
    AtLeast(u64),
    AtMost(u64),
}

impl Goal {
    /// Whether so many are as expected.
    pub const fn holds(self, matched: u64) -> bool {
        match self {
            Self::Exactly(wanted) => matched == wanted,
            Self::AtLeast(wanted) => matched >= wanted,
            Self::AtMost(wanted) => matched <= wanted,
        }
    }

    /// What no further request can change; none where one can.
    const fn settled(self, matched: u64) -> Option<bool> {
        match self {
            Self::AtLeast(wanted) if matched >= wanted => Some(true),
            Self::Exactly(wanted) | Self::AtMost(wanted) if matched > wanted => Some(false),
            Self::AtLeast(_) | Self::Exactly(_) | Self::AtMost(_) => None,
        }
    }

    fn told(self) -> String {
        match self {
            Self::Exactly(wanted) => format!("exactly {wanted}"),
            Self::AtLeast(wanted) => format!("at least {wanted}"),
            Self::AtMost(wanted) => format!("at most {wanted}"),
        }
    }
}

/// What is expected, and how long it is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pattern: Pattern,
    goal: Goal,
    within: Duration,
}

/// Reads a condition, member by member.
pub fn read(body: &Body) -> Result<Condition, Refusal> {
    let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
    let text: Verify = json::decode_strict(bytes).map_err(Refusal::Malformed)?;
    let pattern = Pattern::parse(text.method.as_deref(), text.path.as_deref());
    let pattern = pattern.map_err(Refusal::Pattern)?;
    let goal = match (text.count, text.at_least, text.at_most) {
        (Some(count), None, None) => Goal::Exactly(count),
        (None, Some(count), None) => Goal::AtLeast(count),
        (None, None, Some(count)) => Goal::AtMost(count),
        (None, None, None)
        | (Some(_), Some(_), _)
        | (Some(_), _, Some(_))
        | (_, Some(_), Some(_)) => {
            return Err(Refusal::Goal);
        }
    };
    let (Goal::Exactly(wanted) | Goal::AtLeast(wanted) | Goal::AtMost(wanted)) = goal;
    if wanted > COUNT_MAX {
        return Err(Refusal::Count);
    }
    let within = Duration::from_millis(text.within_ms.unwrap_or_default());
    if within > WITHIN_MAX {
        return Err(Refusal::Within);
    }
    Ok(Condition { pattern, goal, within })
}

/// Who asked, for the answer that comes later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    pub call: CallId,
    pub path: String,
    pub correlation: CorrelationId,
}

/// A verification that is decided: how many matched, or why it fails.
pub type Verdict = (Asker, Result<u64, Refusal>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Waiting {
    asker: Asker,
    condition: Condition,
    until: Mono,
    matched: u64,
}

impl Waiting {
    fn verdict(self, holds: bool, journal: &Journal) -> Verdict {
        let verdict = if holds {
            Ok(self.matched)
        } else {
            Err(Refusal::Failed(self.condition.failure(self.matched, journal)))
        };
        (self.asker, verdict)
    }
}

/// The verifications that wait, in the order they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verifies(Vec<Waiting>);

impl Verifies {
    /// Decides a condition, or lets its asker wait.
    pub fn ask(
        &mut self,
        now: Now,
        asker: Asker,
        condition: Condition,
        journal: &Journal,
    ) -> Option<Verdict> {
        let matched = condition.matched(journal);
        let until = now.mono.after(condition.within);
        let waiting = Waiting { asker, condition, until, matched };
        let Condition { goal, within, .. } = waiting.condition;
        match goal.settled(matched) {
            Some(holds) => Some(waiting.verdict(holds, journal)),
            None if within.is_zero() => Some(waiting.verdict(goal.holds(matched), journal)),
            None if self.0.len() >= WAITING_MAX => Some((waiting.asker, Err(Refusal::Full))),
            None => {
                self.0.push(waiting);
                None
            }
        }
    }

    /// Counts an entry that the journal has just kept.
    pub fn count(&mut self, entry: &Entry) {
        for waiting in &mut self.0 {
            let means = waiting.condition.pattern.means(entry.method, &entry.path);
            waiting.matched = waiting.matched.saturating_add(u64::from(means));
        }
    }

    /// The journal was emptied: what waits goes on from nothing.
    pub fn restart(&mut self) {
        for waiting in &mut self.0 {
            waiting.matched = 0;
        }
    }

    /// Takes out what is decided by now.
    pub fn settle(&mut self, now: Now, journal: &Journal) -> Vec<Verdict> {
        let mut settled = Vec::new();
        let mut at = 0;
        while let Some(Waiting { condition, until, matched, .. }) = self.0.get(at) {
            let goal = condition.goal;
            let over = (*until <= now.mono).then(|| goal.holds(*matched));
            match goal.settled(*matched).or(over) {
                Some(holds) => settled.push(self.0.remove(at).verdict(holds, journal)),
                None => at += 1,
            }
        }
        settled
    }

    /// The asker is gone.
    pub fn forget(&mut self, call: CallId) {
        self.0.retain(|waiting| waiting.asker.call != call);
    }

    /// When the next one is over.
    pub fn wakeup(&self) -> Option<Mono> {
        self.0.iter().map(|waiting| waiting.until).min()
    }
}

impl Condition {
    fn matched(&self, journal: &Journal) -> u64 {
        let entries = journal.entries();
        let meant = entries.filter(|(_, entry)| self.pattern.means(entry.method, &entry.path));
        u64::try_from(meant.count()).unwrap_or(u64::MAX)
    }

    /// What was expected, what came, and what came closest to it.
    fn failure(&self, matched: u64, journal: &Journal) -> String {
        let wanted = self.goal.told();
        let shown = if matched_more(self.goal, matched) {
            self.matches(journal)
        } else {
            self.misses(journal)
        };
        let told = match (shown.is_empty(), matched_more(self.goal, matched)) {
            (true, _) => "nothing else was requested".to_string(),
            (false, true) => format!("the last: {}", shown.join(", ")),
            (false, false) => format!("closest: {}", shown.join(", ")),
        };
        format!("{matched} requests matched, {wanted} expected; {told}")
    }

    /// The last requests that were meant.
    fn matches(&self, journal: &Journal) -> Vec<String> {
        let meant = |entry: &Entry| self.pattern.means(entry.method, &entry.path);
        let entries = journal.entries().rev().filter(|(_, entry)| meant(entry));
        entries.take(MISSES_MAX).map(told).collect()
    }

    /// The requests that differ least from what was meant, of each path and method the last.
    fn misses(&self, journal: &Journal) -> Vec<String> {
        let mut misses: Vec<(usize, Reverse<u64>, &Entry)> = Vec::new();
        for (seq, entry) in journal.entries().rev() {
            let known = |(_, _, other): &(usize, Reverse<u64>, &Entry)| {
                other.method == entry.method && other.path == entry.path
            };
            if self.pattern.means(entry.method, &entry.path) || misses.iter().any(known) {
                continue;
            }
            misses.push((self.pattern.misses(&entry.path), Reverse(seq), entry));
            misses.sort_by_key(|(distance, seq, _)| (*distance, *seq));
            misses.truncate(MISSES_MAX);
        }
        misses.into_iter().map(|(_, Reverse(seq), entry)| told((seq, entry))).collect()
    }
}

const fn matched_more(goal: Goal, matched: u64) -> bool {
    matches!(goal.settled(matched), Some(false))
}

fn told((seq, entry): (u64, &Entry)) -> String {
    let (method, path) = (entry.method.name(), &entry.path);
    match entry.outcome.status {
        Some(status) => format!("#{seq} {method} {path} ({status})"),
        None => format!("#{seq} {method} {path} (no answer)"),
    }
}
