//! How far one session has come: its listener, its row that tells of the begin, and the one of the end.

use core::net::SocketAddr;

use super::entry::Target;
use crate::{
    agent::facts::Carried,
    time::{Mono, Now},
    wire::{
        session::{Phase, TcpActivity, TerminatedBy},
        timestamp::Timestamp,
    },
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Live {
    pub(super) target: Target,
    /// As the control plane named it last.
    pub(super) expires_at: Timestamp,
    /// `sessions.default_timeout` behind its opening.
    pub(super) until: Mono,
    /// When its end is looked for next.
    pub(super) due: Mono,
    pub(super) started: Started,
    pub(super) stage: Stage,
}

/// What the control plane knows of the begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Started {
    Untold,
    Posted,
    /// It may have arrived all the same.
    Failed,
    Accepted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    Opening,
    Open {
        endpoint: SocketAddr,
    },
    /// The listener is told to close.
    Closing {
        cause: Cause,
    },
    /// The listener is gone, and the row that tells so is not taken yet.
    Ended(Ended),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ended {
    pub(super) cause: Cause,
    pub(super) carried: Carried,
    pub(super) row: Row,
}

/// The row that tells of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Row {
    /// The row of the begin is not answered yet.
    Held,
    /// The first try was at `first`.
    Posted {
        first: Mono,
        tries: usize,
    },
    Resting {
        first: Mono,
        tries: usize,
        due: Mono,
    },
}

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cause {
    Expired,
    Idle,
    /// It left the block.
    Unlisted,
    Shutdown,
    /// The control plane said so.
    Drained,
    /// Its listener ended by itself.
    Broke,
}

impl Cause {
    pub(super) const fn terminated_by(self) -> TerminatedBy {
        match self {
            Self::Expired => TerminatedBy::TtlExpired,
            Self::Idle => TerminatedBy::IdleTimeout,
            Self::Unlisted | Self::Shutdown | Self::Drained | Self::Broke => {
                TerminatedBy::AgentClose
            }
        }
    }

    /// In words, for the operator.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "its time is over",
            Self::Idle => "nothing passed for its idle window",
            Self::Unlisted => "it is not listed any more",
            Self::Shutdown => "the agent stops",
            Self::Drained => "the control plane has ended it",
            Self::Broke => "its listener ended by itself",
        }
    }

    /// Whether it is not opened again as long as it is listed.
    pub(super) const fn settles(self) -> bool {
        match self {
            Self::Expired | Self::Idle | Self::Drained | Self::Broke => true,
            Self::Unlisted | Self::Shutdown => false,
        }
    }
}

impl Live {
    pub(super) const fn has_listener(&self) -> bool {
        match self.stage {
            Stage::Opening | Stage::Open { .. } | Stage::Closing { .. } => true,
            Stage::Ended(_) => false,
        }
    }

    /// Neither told to close nor gone.
    pub(super) const fn is_kept(&self) -> bool {
        match self.stage {
            Stage::Opening | Stage::Open { .. } => true,
            Stage::Closing { .. } | Stage::Ended(_) => false,
        }
    }

    pub(super) fn is_expired(&self, now: Now) -> bool {
        self.until <= now.mono || !self.expires_at.is_after(now.wall)
    }

    /// When its end is to be looked for, as both clocks stand now.
    pub(super) fn next_look(&self, now: Now) -> Mono {
        self.until.min(now.mono.after(self.expires_at.left(now.wall)))
    }

    pub(super) const fn wakeup(&self) -> Option<Mono> {
        match self.stage {
            Stage::Opening | Stage::Open { .. } => Some(self.due),
            Stage::Ended(Ended { row: Row::Resting { due, .. }, .. }) => Some(due),
            Stage::Closing { .. } | Stage::Ended(_) => None,
        }
    }

    pub(super) fn started_row(&self, endpoint: SocketAddr) -> TcpActivity {
        TcpActivity {
            listener_endpoint: alloc::format!("{endpoint}"),
            ..self.row(Phase::SessionStarted)
        }
    }

    pub(super) fn ended_row(&self, ended: &Ended) -> TcpActivity {
        TcpActivity {
            bytes_in: Some(ended.carried.bytes_in),
            bytes_out: Some(ended.carried.bytes_out),
            terminated_by: Some(ended.cause.terminated_by()),
            ..self.row(Phase::SessionEnded)
        }
    }

    fn row(&self, phase: Phase) -> TcpActivity {
        TcpActivity {
            target_host: crate::wire::grammar::Name(self.target.host.clone()),
            target_port: Some(self.target.port),
            ..TcpActivity::of(phase)
        }
    }
}
