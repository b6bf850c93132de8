//! The limits of the dispatch.
//!
//! Specification: "Limits" of the node agent.

use core::time::Duration;

/// "Dispatcher pass budget 20 s; a settlement needs 15 s of budget to start".
pub const PASS_BUDGET: Duration = Duration::from_secs(20);
pub const SETTLEMENT_BUDGET: Duration = Duration::from_secs(15);
/// "Claim handshake deadline 5 s": for the whole claim, a whole walk, and each report of a lost run.
pub const CLAIM_DEADLINE: Duration = Duration::from_secs(5);
/// "Terminal callback retries: 3 attempts, backoff 500 ms then 1 s".
pub const TERMINAL_WAITS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(1)];
/// "Orphan report retries 5": the attempts in all, one on each pull.
pub const ORPHAN_REPORTS_MAX: u32 = 5;
/// How long an upload may take; so long the run counts as active.
pub const UPLOAD_TIMEOUT: Duration = Duration::from_secs(60);
/// How long, at a stop, all that is told of one run may take: the announcement, the upload and the report.
pub const STOP_BUDGET: Duration = Duration::from_secs(5);
/// How many entries of a pull are looked at.
pub const LISTED_MAX: usize = 8192;
/// How many outcomes are kept whose report was not taken.
pub const UNREPORTED_MAX: usize = 256;
