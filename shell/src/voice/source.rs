//! What every source of records has in common.

use std::{fmt, net::IpAddr};

use meshward_core::{
    agent::{Feed, Records, Source},
    wire::positions::Positions,
};

/// One source of records, as the kernel, a directory or a program.
///
/// It is asked on a thread of its own, one round at a time, and may block there: what hangs is left alone until it comes
/// back, and holds up nobody.
pub(crate) trait Collector: fmt::Debug + Send {
    /// Which one it is.
    fn source(&self) -> Source;

    /// What there is since the last round.
    fn collect(&mut self, wanted: &Wanted) -> Feed;
}

/// What a round of collecting asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// How many records a source that can wait may bring.
    pub(crate) room: usize,
    /// Where the sources go on; with the first round alone.
    pub(crate) from: Option<Positions>,
    /// The peers to measure, with their addresses in the mesh.
    pub(crate) peers: Vec<(String, IpAddr)>,
}

/// A feed that holds nothing yet.
pub(crate) const fn feed(source: Source, records: Records) -> Feed {
    Feed { source, records, marks: Vec::new(), more: false, lost: 0, troubles: Vec::new() }
}
