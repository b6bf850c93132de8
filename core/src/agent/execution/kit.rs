//! What the dispatch is lent for one step.

use crate::agent::{facts::ActionSettings, hooks::Hooks};

/// What an entry is judged and run by.
#[derive(Clone, Copy, Debug)]
pub struct Kit<'k> {
    pub settings: &'k ActionSettings,
    pub hooks: &'k Hooks,
    /// The id of this node, as hooks are told it.
    pub node: &'k str,
}
