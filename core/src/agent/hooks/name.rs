//! Which names a hook can have, and which files of the hooks directory are none by their names.
//!
//! Specification: "the hook name must not contain `/`, `\` or `..`"; `gaps-agent.md` section 2.8 (Discovery).

use crate::legible;

/// The longest name, in bytes: as long as the disk takes with the name of its sidecar.
pub const NAME_MAX: usize = 250;

/// What the name of a sidecar has behind the one of its hook.
pub const SIDECAR_SUFFIX: &str = ".json";

/// What a name in the hooks directory tells of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named<'n> {
    /// It may be a hook.
    Hook(&'n str),
    /// It never is one, and nobody is told: sidecars, and what editors and copying programs hide while they work.
    Other,
    /// It could be one, but for its name.
    Misnamed,
}

/// Reads a name as the disk has it.
pub fn named(bytes: &[u8]) -> Named<'_> {
    if bytes.starts_with(b".") || bytes.ends_with(SIDECAR_SUFFIX.as_bytes()) {
        return Named::Other;
    }
    match core::str::from_utf8(bytes) {
        Ok(name) if is_legal(name) => Named::Hook(name),
        Ok(_) | Err(_) => Named::Misnamed,
    }
}

/// Whether a hook can have this name.
pub fn is_legal(name: &str) -> bool {
    let hidden = name.starts_with('.') || name.ends_with(SIDECAR_SUFFIX);
    let steers = name.contains(|one| matches!(one, '/' | '\\') || legible::steers(one));
    !name.is_empty() && name.len() <= NAME_MAX && !hidden && !steers && !name.contains("..")
}
