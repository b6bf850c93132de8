//! The limits of the report of an endpoint.
//!
//! Specification: "Limits" of the node agent (NAT re-report); `gaps-agent.md` 2.11.

use core::time::Duration;

use crate::backoff::Backoff;

/// Before the endpoint lapses it is reported again: "30 s before `stale_after`".
pub const MARGIN: Duration = Duration::from_secs(30);

/// The waits behind discoveries that found nothing and reports that got nowhere; none is longer than the refresh interval.
pub const RETRY: Backoff = Backoff {
    base: Duration::from_secs(5),
    factor: 2,
    cap: Duration::from_secs(60),
    jitter_percent: 25,
};

/// No server is waited for longer, whatever `nat.timeout` says, so that a report comes before the endpoint lapses.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(20);

/// How many servers are asked; those behind them in the list are not.
pub const SERVERS_MAX: usize = 8;

/// How long an endpoint is kept that no server confirms any more.
pub const KEPT_MAX: Duration = Duration::from_secs(3600);

/// From so many in a row on, a control plane that does not know this node is told as an error.
pub const STRANGER_MIN: u32 = 3;
