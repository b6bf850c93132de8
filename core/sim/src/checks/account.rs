//! The numbers of a pipeline: they add up behind each step, and each that moves has its cause in what was told.

use meshward_core::agent::{
    Pipe, Spooled,
    voice::{
        BUFFER_BYTES_MAX, Reason,
        figures::{Outcome, PipeFigures},
    },
};

use super::{
    ledger::{Fate, Heard},
    witness::Found,
};

/// What a step was told of one pipeline.
#[derive(Clone, Debug, Default)]
pub(super) struct Cause {
    /// Records that were handed over, and what of them the filter keeps back.
    pub(super) collected: u64,
    pub(super) minor: u64,
    /// Records that sources lost.
    pub(super) lost: u64,
    pub(super) answer: Option<Heard>,
    disk: Option<Disk>,
}

/// What the disk told.
#[derive(Clone, Copy, Debug)]
enum Disk {
    Opened(u64),
    Appended(u64),
    Failed,
    Refused,
    Moved,
}

/// What a pipeline is held to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) batch: usize,
    pub(super) spool: bool,
    /// The process ends with this step.
    pub(super) exits: bool,
}

impl Cause {
    pub(super) fn of_spool(spooled: &Spooled) -> Self {
        let disk = match spooled {
            Spooled::Opened { waiting, .. } => Disk::Opened(*waiting),
            Spooled::Appended { given_up, .. } => Disk::Appended(*given_up),
            Spooled::Failed(_) => Disk::Failed,
            Spooled::Refused { .. } => Disk::Refused,
            Spooled::Read { .. } | Spooled::Unread(_) | Spooled::Settled { .. } => Disk::Moved,
        };
        Self { disk: Some(disk), ..Self::default() }
    }
}

/// Nothing has moved yet.
pub(super) fn none(pipe: Pipe) -> PipeFigures {
    PipeFigures {
        pipe,
        collected: 0,
        sent: 0,
        filtered: 0,
        local_only: 0,
        dropped: Reason::ALL.map(|reason| (reason, 0)).into(),
        damaged_bytes: 0,
        held_records: 0,
        held_bytes: 0,
        requests: Outcome::ALL.map(|outcome| (outcome, 0)).into(),
        last_success: None,
        local: None,
        sources: Vec::new(),
    }
}

pub(super) fn dropped(figures: &PipeFigures, reason: Reason) -> u64 {
    figures.dropped.iter().find(|(of, _)| *of == reason).map_or(0, |(_, count)| *count)
}

/// Drops of which it is not known whose they were.
pub(super) fn unnamed(figures: &PipeFigures) -> u64 {
    dropped(figures, Reason::Full) + dropped(figures, Reason::Damaged)
}

/// Drops that an operator is to learn of.
pub(super) fn worth_telling(figures: &PipeFigures) -> u64 {
    let all: u64 = figures.dropped.iter().map(|(_, count)| count).sum();
    all - dropped(figures, Reason::NotProvisioned) - dropped(figures, Reason::Unconvertible)
}

/// Whether the batch that was answered is done with.
pub(super) fn has_settled(before: &PipeFigures, now: &PipeFigures, heard: &Heard) -> bool {
    let more = |reason| dropped(now, reason) - dropped(before, reason);
    0 < match heard.fate {
        Fate::Taken => now.sent - before.sent,
        Fate::Malformed => more(Reason::Malformed),
        Fate::TooLarge => more(Reason::TooLarge),
        Fate::Unprovisioned => more(Reason::NotProvisioned),
        Fate::Kept => 0,
    }
}

/// Holds each number that has moved against what was told.
pub(super) fn explain(
    (before, now): (&PipeFigures, &PipeFigures),
    cause: &Cause,
    limits: &Limits,
    found: &mut Found,
) {
    let ends: u64 = now.dropped.iter().map(|(_, count)| count).sum();
    found.unless(
        now.collected == now.sent + now.filtered + now.local_only + ends + now.held_records,
        "what is collected is sent, kept back, dropped or held",
    );
    within(now, limits, found);
    let opened = match cause.disk {
        Some(Disk::Opened(waiting)) => waiting,
        Some(Disk::Appended(_) | Disk::Failed | Disk::Refused | Disk::Moved) | None => 0,
    };
    let more = now.collected.checked_sub(before.collected).unwrap_or(u64::MAX);
    // What the agent does itself is audited.
    let own = if now.pipe == Pipe::Audit { 6 } else { 0 };
    let least = cause.collected + cause.lost + opened;
    found.unless((least..=least + own).contains(&more), "what is handed over is counted, once");
    let kept_back = now.filtered - before.filtered;
    found.unless(kept_back == cause.minor, "the filter keeps back what it is to keep back");
    answered((before, now), cause.answer.as_ref(), found);
    for (reason, count) in &now.dropped {
        let more = count - dropped(before, *reason);
        found.unless(
            more == 0 || is_caused(*reason, more, (before, cause), limits),
            "every drop has its reason in what was told",
        );
    }
}

fn within(now: &PipeFigures, limits: &Limits, found: &mut Found) {
    let most = 2 * limits.batch as u64;
    found.unless(
        limits.spool || now.held_records <= most,
        "no more is held in memory than twice a batch",
    );
    // What waits for the disk has as many of its own.
    let bytes = BUFFER_BYTES_MAX as u64 * if limits.spool { 2 } else { 1 };
    found.unless(now.held_bytes <= bytes, "no more bytes are held than are set");
}

/// The whole batch is sent or dropped, or nothing of it.
fn answered((before, now): (&PipeFigures, &PipeFigures), heard: Option<&Heard>, found: &mut Found) {
    let whole = |fate| heard.filter(|heard| heard.fate == fate).map_or(0, |heard| heard.ids.len());
    let nobody = heard.is_some_and(|heard| heard.is_abandoned);
    let is_whole = |more: u64, fate| {
        let whole = whole(fate) as u64;
        more == whole || nobody && more == 0
    };
    let more = |reason| dropped(now, reason) - dropped(before, reason);
    found.unless(
        is_whole(now.sent - before.sent, Fate::Taken),
        "what is counted as sent was taken, and what was taken is",
    );
    found.unless(
        is_whole(more(Reason::Malformed), Fate::Malformed),
        "a batch that is called malformed is dropped",
    );
    found.unless(
        is_whole(more(Reason::NotProvisioned), Fate::Unprovisioned),
        "what nobody is set up to take is dropped",
    );
    let alone = whole(Fate::TooLarge) == 1;
    found.unless(
        more(Reason::TooLarge) <= u64::from(alone),
        "of what is too large one record alone is dropped",
    );
}

fn is_caused(
    reason: Reason,
    more: u64,
    (before, cause): (&PipeFigures, &Cause),
    limits: &Limits,
) -> bool {
    match reason {
        Reason::Full => match cause.disk {
            Some(Disk::Appended(given_up)) => more == given_up,
            Some(Disk::Failed | Disk::Refused) => true,
            Some(Disk::Opened(_) | Disk::Moved) | None => {
                let most = 2 * limits.batch as u64;
                let full = before.held_records + cause.collected > most;
                full && more <= before.held_records + cause.collected - most
            }
        },
        Reason::LostAtSource => more == cause.lost,
        Reason::Damaged => false,
        Reason::Stopped => limits.exits || matches!(cause.disk, Some(Disk::Failed)),
        // Each has its own sentence, or is left out wherever it comes up.
        Reason::Malformed | Reason::NotProvisioned | Reason::TooLarge | Reason::Unconvertible => {
            true
        }
    }
}
