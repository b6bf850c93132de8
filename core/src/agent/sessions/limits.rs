//! The limits of sessions.
//!
//! Specification: "Limits" of the node agent; `gaps-agent.md` 2.9; `decisions.md` section 8 (Sessions).

use core::time::Duration;

/// How many entries of a block are looked at.
pub const LISTED_MAX: usize = 1024;
/// How many ended sessions may wait for their row to be taken before no further one is opened.
pub const ENDED_MAX: usize = 64;
/// Within which time a row that tells of a begin is answered.
pub const STARTED_TIMEOUT: Duration = Duration::from_secs(15);
/// Within which time one that tells of an end is answered.
pub const ENDED_TIMEOUT: Duration = Duration::from_secs(2);
/// "Otherwise three tries within 10 s": the waits between them, and all of it.
pub const ENDED_WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
pub const ENDED_WINDOW: Duration = Duration::from_secs(10);
/// "2 s for copy loops so counters are final".
pub const CLOSE_MAX: Duration = Duration::from_secs(2);
/// How long a connection to a target is tried.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
