//! The audit of the kernel, as auditd writes it to its log and as the kernel multicasts it: records, put together to the
//! events that they tell of.
//!
//! | Record | What it does |
//! |---|---|
//! | of a user program, of the daemon, of labelled networking | is an event by itself |
//! | `SYSCALL` | tells who did what and whether it succeeded |
//! | `CONFIG_CHANGE`, `AVC`, `LOGIN` and others that say more than the call | gives the event its type, its action and its result |
//! | `PATH` | names a file |
//! | `PROCTITLE` | is the last one of its event |
//! | `EOE` | ends its event; the log does not hold it |
//!
//! Of an event that nothing ends the records are waited for as long as [`WAIT`]. What comes for an event that has ended
//! is counted and let go.
//!
//! Unspecified: how records become one entry; the grammar is that of the Linux Audit Project ("audit event fields",
//! `libaudit.h`). Specification: "Internal record shapes (local endpoint delivery)"; `gaps-agent.md` 4.1 (auditd).

mod entry;
mod group;
mod kind;
mod record;
mod syscall;

use core::time::Duration;

pub use group::Events;
pub use record::Record;

/// The longest line that is read, in bytes; the kernel's own limit is 8,970 and auditd adds names to it.
pub const LINE_MAX: usize = 64 << 10;

/// How long the rest of an event is waited for.
pub const WAIT: Duration = Duration::from_secs(2);

/// How many events may be open at once; one more ends the oldest.
pub const OPEN_MAX: usize = 64;

/// How many events that have ended are remembered, so that what comes late makes no second one.
pub const ENDED_MAX: usize = 256;

/// How many files of one event are named.
pub const PATHS_MAX: usize = 16;

/// The longest name of a program, a file or a key, in bytes; what is longer is cut.
pub const NAME_MAX: usize = 4 << 10;
