//! How far one execution has come: its callbacks before the run, the run, and its terminal report.

use alloc::boxed::Box;

use super::report::Report;
use crate::{
    agent::facts::Bytes,
    time::Mono,
    wire::execution::{Callback, Execution, Output, Status},
};

/// The entry whose callbacks are under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Current {
    pub(super) entry: Execution,
    pub(super) errand: Errand,
    pub(super) leg: Status,
    pub(super) deadline: Mono,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Errand {
    Claim,
    Walk(&'static str),
    /// One report of an outcome on a pull: of a lost run, or of one whose report was not taken.
    Report(Box<Report>),
}

/// A run of this process, or its terminal report.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Active {
    pub(super) stage: Stage,
    /// At a stop: past this nothing more is tried.
    pub(super) until: Option<Mono>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    Running,
    /// The whole output is announced; the callback holds what of it goes inline otherwise.
    Declaring {
        callback: Callback,
        whole: Bytes,
    },
    /// The whole output is on its way, and is referred to like this.
    Uploading {
        callback: Callback,
        referred: Output,
    },
    Reporting {
        report: Report,
        tries: usize,
    },
    Resting {
        report: Report,
        tries: usize,
        due: Mono,
    },
}

impl Active {
    /// When something is to be done with it by itself.
    pub(super) fn due(&self) -> Option<Mono> {
        let due = match self.stage {
            Stage::Resting { due, .. } => Some(due),
            Stage::Running
            | Stage::Declaring { .. }
            | Stage::Uploading { .. }
            | Stage::Reporting { .. } => None,
        };
        due.into_iter().chain(self.until).min()
    }

    pub(super) fn is_running(&self) -> bool {
        self.stage == Stage::Running
    }
}
