//! Every record is accounted for: what became of it, and why it was dropped where it was.
//!
//! Drops are told in one warning at most every [`TELL_EVERY`] a pipeline, with their counts by reason; at a stop what it is
//! too early to warn of is told for information. Records that the control plane is not set up for are told of once, by their
//! batch; those that lack what it demands are part of what a healthy node collects, and are counted alone.
//!
//! Specification: "Agent-side conversion rules for ingest" (sending behaviour on ingest errors).

use alloc::{format, string::String, vec::Vec};
use core::time::Duration;

use super::figures::Outcome;
use crate::{
    agent::{facts::Pipe, notice::Notice},
    time::Mono,
};

/// "Dropped records are summarized in a warning at most once every five minutes."
pub const TELL_EVERY: Duration = Duration::from_secs(300);

/// Why a record was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It was spoilt on the disk.
    Damaged,
    /// There was no room for it any longer.
    Full,
    /// Its source had to let it go.
    LostAtSource,
    /// The control plane called its batch malformed.
    Malformed,
    /// The control plane is not set up to take it.
    NotProvisioned,
    /// The agent stopped, or the pipeline was turned off.
    Stopped,
    /// It is too large for the control plane, alone in its batch.
    TooLarge,
    /// It lacks what the control plane demands of a record.
    Unconvertible,
}

impl Reason {
    pub const ALL: [Self; 8] = [
        Self::Damaged,
        Self::Full,
        Self::LostAtSource,
        Self::Malformed,
        Self::NotProvisioned,
        Self::Stopped,
        Self::TooLarge,
        Self::Unconvertible,
    ];

    /// Its name, fit for a label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Full => "full",
            Self::LostAtSource => "lost_at_source",
            Self::Malformed => "malformed",
            Self::NotProvisioned => "not_provisioned",
            Self::Stopped => "stopped",
            Self::TooLarge => "too_large",
            Self::Unconvertible => "unconvertible",
        }
    }

    /// As an operator reads it, with the mend where there is one; absent where it is worth no warning.
    const fn words(self) -> Option<&'static str> {
        Some(match self {
            Self::NotProvisioned | Self::Unconvertible => return None,
            Self::Damaged => "as they were spoilt on the disk",
            Self::Full => {
                "for want of room (raise batch_size or spool_max_bytes, or mend what keeps the control plane from taking them)"
            }
            Self::LostAtSource => {
                "by their source, which was faster than they were read, or wrote what is no record"
            }
            Self::Malformed => "as the control plane called their batch malformed",
            Self::Stopped => "at a stop",
            Self::TooLarge => "as too large for the control plane",
        })
    }

    /// Which of them are not lost, if any.
    const fn except(self, pipe: Pipe) -> &'static str {
        let Self::Stopped = self else { return "" };
        match pipe {
            Pipe::Metrics => "",
            Pipe::Logs => " (those of files and of the journal are read again after a start)",
            Pipe::Audit => " (those of a file are read again after a start)",
        }
    }
}

/// What became of the records of one pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) collected: u64,
    pub(super) sent: u64,
    pub(super) filtered: u64,
    pub(super) local_only: u64,
    /// Of what was on the disk.
    pub(super) damaged_bytes: u64,
    dropped: [u64; Reason::ALL.len()],
    requests: [u64; Outcome::ALL.len()],
    /// Of `dropped`, what was told.
    told: [u64; Reason::ALL.len()],
    told_at: Option<Mono>,
}

impl Account {
    pub(super) const fn drop(&mut self, reason: Reason, records: usize) {
        self.dropped[reason as usize] += records as u64;
    }

    pub(super) const fn lose(&mut self, records: u64) {
        self.dropped[Reason::LostAtSource as usize] += records;
    }

    pub(super) const fn ended(&mut self, outcome: Outcome) {
        self.requests[outcome as usize] += 1;
    }

    pub(super) const fn dropped(&self, reason: Reason) -> u64 {
        self.dropped[reason as usize]
    }

    pub(super) const fn requests(&self, outcome: Outcome) -> u64 {
        self.requests[outcome as usize]
    }

    /// How many requests did not end well.
    pub(super) fn failures(&self) -> u64 {
        self.requests.iter().sum::<u64>() - self.requests(Outcome::Accepted)
    }

    /// When what is untold may be told, if anything is.
    pub(super) fn due(&self) -> Option<Mono> {
        let is_untold = Reason::ALL.iter().any(|reason| self.untold(*reason) > 0);
        is_untold.then(|| self.told_at.map_or_else(Mono::default, |at| at.after(TELL_EVERY)))
    }

    /// Sums up what was dropped since the last summary, where it is time for one.
    pub(super) fn tell(&mut self, now: Mono, pipe: Pipe) -> Option<Notice> {
        if self.due()? > now {
            return None;
        }
        self.told_at = Some(now);
        self.sum_up(pipe).map(Notice::warn)
    }

    /// As [`Account::tell`], for the last time: what it is too early to warn of is told all the same.
    pub(super) fn tell_last(&mut self, now: Mono, pipe: Pipe) -> Option<Notice> {
        self.tell(now, pipe).or_else(|| self.sum_up(pipe).map(Notice::info))
    }

    fn sum_up(&mut self, pipe: Pipe) -> Option<String> {
        let parts: Vec<String> = Reason::ALL
            .into_iter()
            .filter(|reason| self.untold(*reason) > 0)
            .filter_map(|reason| {
                let (count, words, except) =
                    (self.untold(reason), reason.words()?, reason.except(pipe));
                Some(format!("{count} {words}{except}"))
            })
            .collect();
        self.told = self.dropped;
        if parts.is_empty() {
            return None;
        }
        Some(format!("records of the {} were dropped: {}", pipe.name(), parts.join("; ")))
    }

    const fn untold(&self, reason: Reason) -> u64 {
        match reason.words() {
            Some(_) => self.dropped[reason as usize] - self.told[reason as usize],
            None => 0,
        }
    }
}
