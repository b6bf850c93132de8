//! What the pipelines have done, in numbers: a snapshot for whoever shows them.
//!
//! Every count grows from the start of the process and never falls. Of one pipeline it always holds that `collected` is
//! the sum of `sent`, `filtered`, `local_only`, all of `dropped`, and `held_records`.

use alloc::vec::Vec;

use super::accounting::Reason;
use crate::{
    agent::facts::{Pipe, Source},
    time::Mono,
};

/// The numbers of the pipelines that are on, in the order of [`Pipe::ALL`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub pipes: Vec<PipeFigures>,
}

/// The numbers of one pipeline. A record is a point, a line or an audited event, however many samples a point holds; one that was
/// too large for a body counts by its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipeFigures {
    pub pipe: Pipe,
    /// Records that sources had, those included that they lost themselves.
    pub collected: u64,
    /// Records that the control plane has taken.
    pub sent: u64,
    /// Records that the filter of the logs kept back.
    pub filtered: u64,
    /// Records that the control plane has no word for, and that are done with.
    pub local_only: u64,
    /// Every reason, in the order of [`Reason::ALL`], with how many records were dropped for it.
    pub dropped: Vec<(Reason, u64)>,
    /// What was on the disk and is no record, in bytes.
    pub damaged_bytes: u64,
    /// Records that wait or are on their way now.
    pub held_records: u64,
    /// What those of them take that are in memory, in bytes.
    pub held_bytes: u64,
    /// Every outcome, in the order of [`Outcome::ALL`], with how many requests to the control plane ended so.
    pub requests: Vec<(Outcome, u64)>,
    /// When the control plane took a batch last.
    pub last_success: Option<Mono>,
    /// Absent where the pipeline has no local endpoint.
    pub local: Option<LocalFigures>,
    /// The sources that have brought anything yet, or were in trouble.
    pub sources: Vec<SourceFigures>,
}

/// What became of the records for a local endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalFigures {
    pub delivered: u64,
    pub failed: u64,
}

/// How one source does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFigures {
    pub source: Source,
    /// How many troubles its last round told of.
    pub troubles: u64,
    /// Records that it lost itself, as where the kernel's queue overflowed.
    pub lost: u64,
}

/// How a request of a pipeline to the control plane ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Accepted,
    Malformed,
    TooLarge,
    NotProvisioned,
    Unauthorized,
    /// Any other error answer, and none at all.
    Failed,
}

impl Outcome {
    pub const ALL: [Self; 6] = [
        Self::Accepted,
        Self::Malformed,
        Self::TooLarge,
        Self::NotProvisioned,
        Self::Unauthorized,
        Self::Failed,
    ];

    /// Its name, fit for a label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::NotProvisioned => "not_provisioned",
            Self::Unauthorized => "unauthorized",
            Self::Failed => "failed",
        }
    }
}
