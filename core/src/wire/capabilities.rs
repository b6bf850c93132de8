//! The capability manifest: what a node runs, which hooks it declares and which SSH host key it has.
//!
//! Specification: "Capabilities" and "PUT /v1/nodes/{id}/capabilities".

use alloc::{string::String, vec::Vec};
use core::fmt;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{SeqAccess, Visitor},
};

use super::{
    grammar::{Checksum, Fingerprint, Name},
    timestamp::Timestamp,
};

/// "Declared hooks: 128".
pub const DECLARED_HOOKS_MAX: usize = 128;

/// What an agent sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CapabilityManifestRequest {
    pub binary_version: String,
    pub binary_checksum: Checksum,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_host_key_fingerprint: Option<Fingerprint>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub declared_hooks: Vec<DeclaredHook>,
}

/// A hook that a node offers, by its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeclaredHook {
    pub name: Name,
    pub checksum: Checksum,
}

/// The request as it came: decoded strictly, each member judged in the order of the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CapabilityManifestDraft {
    pub binary_version: String,
    pub binary_checksum: String,
    /// An empty one came, other than one that was left out.
    pub ssh_host_key_fingerprint: Option<String>,
    /// No more than one over the most that are accepted; any further ones were decoded and dropped. An empty list came,
    /// other than one that was left out.
    #[serde(deserialize_with = "leading_hooks")]
    pub declared_hooks: Option<Vec<DeclaredHookDraft>>,
}

/// A hook as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DeclaredHookDraft {
    pub name: Name,
    pub checksum: String,
}

/// Decodes every hook and keeps as many as tell that there are too many, so that a body of 16 MiB does not become a
/// list of many times its size.
fn leading_hooks<'t, D: Deserializer<'t>>(
    deserializer: D,
) -> Result<Option<Vec<DeclaredHookDraft>>, D::Error> {
    struct Leading;
    impl<'t> Visitor<'t> for Leading {
        type Value = Vec<DeclaredHookDraft>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'t>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
            let mut hooks = Vec::new();
            while let Some(hook) = elements.next_element()? {
                if hooks.len() <= DECLARED_HOOKS_MAX {
                    hooks.push(hook);
                }
            }
            Ok(hooks)
        }
    }
    deserializer.deserialize_seq(Leading).map(Some)
}

/// What the control plane answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityManifestResponse {
    pub accepted_at: Timestamp,
    /// The members that differ from the manifest before, sorted; a set that may grow.
    pub fields_changed: Vec<String>,
    pub host_key_changed: bool,
}
