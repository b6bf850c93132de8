//! How far the clock of this node is from that of the control plane.
//!
//! A time that a peer wrote lies between the sending of the request and the coming of the answer, so a slow answer is
//! no skew: only what lies outside of that counts.

use alloc::{format, string::String};
use core::time::Duration;

use crate::{
    duration,
    time::Wall,
    wire::{heartbeat::CLOCK_SKEW_MAX, timestamp::Timestamp},
};

/// From here on it is told although heartbeats are accepted: half of what is allowed.
pub const SKEW_WARN: Duration = Duration::from_secs(CLOCK_SKEW_MAX.as_secs() / 2);

/// Up to here the clocks agree again.
pub const SKEW_CALM: Duration = Duration::from_secs(CLOCK_SKEW_MAX.as_secs() / 4);

/// How exact the `Date` of an answer is.
pub const DATE_PRECISION: Duration = Duration::from_secs(1);

/// Where the clock of this node stands, seen from the one of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skew {
    /// No difference can be told.
    None,
    Ahead(Duration),
    Behind(Duration),
}

impl Skew {
    /// Measures it by what a peer wrote between the two readings of this node's clock, up to `precision` before it.
    pub fn measured(sent: Wall, received: Wall, at: Timestamp, precision: Duration) -> Self {
        let (first, last) = (sent.min(received), sent.max(received));
        let difference = if at < Timestamp::from(first) {
            Self::Ahead(at.skew(first).saturating_sub(precision))
        } else if at > Timestamp::from(last) {
            Self::Behind(at.skew(last))
        } else {
            Self::None
        };
        if difference.amount().is_zero() { Self::None } else { difference }
    }

    pub const fn amount(self) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Ahead(by) | Self::Behind(by) => by,
        }
    }

    /// In words, such as `4 h 3 min ahead of`, the control plane's clock.
    pub fn words(self) -> String {
        match self {
            Self::None => "in step with".into(),
            Self::Ahead(by) => format!("{} ahead of", duration::words(by)),
            Self::Behind(by) => format!("{} behind", duration::words(by)),
        }
    }
}
