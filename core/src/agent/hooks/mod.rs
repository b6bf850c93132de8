//! The hooks of this node: which were discovered, and the digest that each is held to as long as this process lives.
//!
//! Specification: "Built-in actions" (hook runs) of the node agent.

use alloc::{collections::BTreeMap, string::String};

use crate::wire::grammar::Checksum;

/// The hooks that may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// The digest of each at its first discovery.
    pins: BTreeMap<String, Checksum>,
}

impl Hooks {
    /// The digest that a discovered hook is held to.
    pub fn pin(&self, name: &str) -> Option<Checksum> {
        self.pins.get(name).copied()
    }
}
