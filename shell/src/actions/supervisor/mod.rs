//! The process that runs a program for the agent and leaves nothing of it behind, whatever the program does.
//!
//! ```text
//! agent ── guard ── watch ── the program ── what it begins
//! ```
//!
//! Guard and watch are the agent's own image, executed anew by a hidden word, in a session of their own. Both asked the
//! kernel for what loses its parent below them. The watch begins the program and ends it by the rules of `phase`; it
//! is told by the end of its socket that the agent wants that, or is no more. The guard ends everything where the watch
//! was killed or does not come to an end, and the watch does where the guard was killed. Where both were, the agent
//! ends the rest of their session, and a control group ends all.
//!
//! There is no namespace around a run, since what an operator lets a node do concerns the node: its services, processes
//! and devices.

mod descendants;
mod event;
mod guard;
mod memory;
mod order;
mod phase;
mod watch;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::OnceLock,
    time::Duration,
};

pub use memory::sealed;
pub use order::Limits;
pub(super) use {
    descendants::end_session,
    event::{Begin, EVENT_LEN, Event},
    memory::text,
    order::{Order, monotonic},
    phase::{GRACE, LINGER},
};

/// The first argument of a supervisor.
pub(super) const WORD: &str = "supervise-a-run";

/// How long after it should have, a run may not have ended before the guard ends it.
const GUARD_PATIENCE: Duration = GRACE.saturating_add(Duration::from_millis(250));

/// Which image supervises runs.
static IMAGE: OnceLock<PathBuf> = OnceLock::new();

/// Becomes a supervisor where the command line asks for one; otherwise this image is the one that supervises the runs of
/// this process.
///
/// A binary that runs an agent calls it before anything else, while it has one thread.
pub fn supervise_if_asked() -> Option<ExitCode> {
    if std::env::args_os().nth(1).as_deref() == Some(OsStr::new(WORD)) {
        return Some(guard::main());
    }
    use_image(Path::new("/proc/self/exe"));
    None
}

/// Lets another image supervise the runs of this process: one of which the `main` calls [`supervise_if_asked`]. The
/// first call counts.
///
/// A test that runs an agent in its own process names one of the binaries of its package.
pub fn use_image(path: &Path) {
    IMAGE.get_or_init(|| path.to_owned());
}

/// `None` where nobody named one.
pub(super) fn image() -> Option<&'static Path> {
    IMAGE.get().map(PathBuf::as_path)
}
