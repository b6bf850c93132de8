//! Why the process ends.

use alloc::string::String;
use core::time::Duration;

use thiserror::Error;

use super::gathered::Unprepared;
use crate::wire::{identity::Unusable, problem::Code};

/// Why the process ends.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Exit {
    #[error("stopped")]
    Drained,
    /// There is an identity, and nothing else was asked for.
    #[error("registered")]
    Registered { node_id: String, mesh_ip: String },
    /// A registration cannot even be tried.
    #[error("{0}")]
    Unprepared(Unprepared),
    /// The control plane refused for good.
    #[error("the control plane refused the registration: {reason}")]
    Refused { status: u16, code: Option<Code>, reason: String },
    /// Transient failures for all of the retry window.
    #[error(
        "registration gave up after {} s, as the next try would begin beyond registration.max_retry_duration: {reason}",
        .after.as_secs()
    )]
    GaveUp { after: Duration, reason: String },
    /// A 201 that holds no usable identity.
    #[error("the registration was accepted but the answer is unusable: {reason}")]
    Unusable { reason: Unusable },
}
