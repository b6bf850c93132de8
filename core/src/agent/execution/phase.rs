//! How far one execution has come: its callbacks before the run, the run, and its terminal report.

use crate::{
    time::Mono,
    wire::execution::{Callback, Execution, Status},
};

/// The entry whose callbacks are under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Current {
    pub(super) entry: Execution,
    pub(super) errand: Errand,
    pub(super) leg: Status,
    pub(super) deadline: Mono,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    Claim,
    Walk(&'static str),
    /// One report of an outcome on a pull: of a lost run, or of one whose report was not taken.
    Report(Callback),
}

/// A run of this process, or its terminal report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Active {
    Running,
    Reporting { callback: Callback, tries: usize },
    Resting { callback: Callback, tries: usize, due: Mono },
}

impl Active {
    /// When the terminal report is sent again.
    pub(super) const fn due(&self) -> Option<Mono> {
        match self {
            Self::Resting { due, .. } => Some(*due),
            Self::Running | Self::Reporting { .. } => None,
        }
    }
}
