//! What must hold: one function an invariant, named as a sentence. Written from the specification and from what
//! crosses the network, without the code of either end.
//!
//! A fault that voids a promise is named where the promise is checked and not filtered out of the scripts.

mod account;
mod all;
mod archive;
mod authority;
mod endpoint;
mod executions;
mod integrity;
mod keys;
mod ledger;
mod manifest;
mod pace;
mod presence;
mod reports;
mod sessions;
mod streams;
mod tries;
mod voice;
mod witness;

use archive::Archive;
use authority::Authority;
use endpoint::Endpoint;
use executions::Executions;
use integrity::Integrity;
use keys::Keys;
use manifest::Manifest;
use pace::Pace;
use presence::Presence;
use reports::Reports;
use sessions::Sessions;
use streams::Streams;
use tries::Tries;
use voice::Voice;
use witness::Found;
pub use witness::{Beginning, Opening, Rest, Sending, Serving, Violation};

use crate::script::Speech;

/// The file of `state/` that tells what the files of a node were.
const CHECKSUMS: &str = "checksums.json";
/// The one that tells how far sources were read.
const POSITIONS: &str = "positions.json";

#[derive(Clone, Debug)]
pub struct Checks {
    found: Found,
    archive: Archive,
    authority: Authority,
    endpoint: Endpoint,
    executions: Executions,
    integrity: Integrity,
    keys: Keys,
    manifest: Manifest,
    pace: Pace,
    presence: Presence,
    reports: Reports,
    sessions: Sessions,
    streams: Streams,
    tries: Tries,
    voice: Voice,
}

impl Checks {
    /// For so many nodes; several bear the one name that the control plane knows.
    pub fn of(nodes: usize, speech: Option<Speech>) -> Self {
        Self {
            found: Found::default(),
            archive: Archive::of(nodes),
            authority: Authority::of(nodes),
            endpoint: Endpoint::of(nodes),
            executions: Executions::of(nodes),
            integrity: Integrity::of(nodes),
            keys: Keys::of(nodes),
            manifest: Manifest::of(nodes),
            pace: Pace::of(nodes),
            presence: Presence::of(nodes),
            reports: Reports::of(nodes),
            sessions: Sessions::of(nodes),
            streams: Streams::of(nodes),
            tries: Tries::of(nodes),
            voice: Voice::of(nodes, speech),
        }
    }
}
