//! What must hold: one function an invariant, named as a sentence. Written from the specification and from what
//! crosses the network, without the code of either end.
//!
//! A fault that voids a promise is named where the promise is checked and not filtered out of the scripts.

mod all;
mod archive;
mod authority;
mod executions;
mod keys;
mod pace;
mod presence;
mod reports;
mod sessions;
mod streams;
mod witness;

use archive::Archive;
use authority::Authority;
use executions::Executions;
use keys::Keys;
use pace::Pace;
use presence::Presence;
use reports::Reports;
use sessions::Sessions;
use streams::Streams;
use witness::Found;
pub use witness::{Beginning, Opening, Rest, Sending, Serving, Violation};

#[derive(Clone, Debug)]
pub struct Checks {
    found: Found,
    archive: Archive,
    authority: Authority,
    executions: Executions,
    keys: Keys,
    pace: Pace,
    presence: Presence,
    reports: Reports,
    sessions: Sessions,
    streams: Streams,
}

impl Checks {
    /// For so many nodes; several bear the one name that the control plane knows.
    pub fn of(nodes: usize) -> Self {
        Self {
            found: Found::default(),
            archive: Archive::of(nodes),
            authority: Authority::of(nodes),
            executions: Executions::of(nodes),
            keys: Keys::of(nodes),
            pace: Pace::of(nodes),
            presence: Presence::of(nodes),
            reports: Reports::of(nodes),
            sessions: Sessions::of(nodes),
            streams: Streams::of(nodes),
        }
    }
}
