//! What the last pull leaves behind beside what is served of it.

use alloc::{boxed::Box, collections::BTreeSet};

use super::diff::Seen;
use crate::agent::{network::file::NetworkFile, view::View};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Last {
    pub(in crate::agent) file: NetworkFile,
    /// What the next one is compared with.
    pub(in crate::agent) seen: Seen,
    pub(in crate::agent) told: Told,
    /// What a start found, until there is an identity.
    pub(in crate::agent) found: Option<Box<View>>,
}

/// What was told of it, and is told again only when it has been well in between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// What could not be read.
    pub(in crate::agent) spoilt: BTreeSet<[u8; 16]>,
    /// More could not be read than is kept.
    pub(in crate::agent) is_crowded: bool,
    /// The policy had no fingerprint.
    pub(in crate::agent) is_unmarked: bool,
}
