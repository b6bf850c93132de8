//! The capability manifest of the node: stored as a whole, and each new one compared with the one before.
//!
//! | Stored | Reported | `fields_changed` | `host_key_changed` |
//! |---|---|---|---|
//! | nothing | a manifest | the members present | false |
//! | a manifest | the same, its hooks in any order | none | false |
//! | a manifest | another | the members that differ | whether a fingerprint replaced another |
//!
//! Specification: "Capabilities" and "PUT /v1/nodes/{id}/capabilities"; `decisions.md` section 7 (`fields_changed`,
//! Hooks checked). Unspecified: an empty list of hooks is the same as none, as an empty fingerprint is.

use alloc::{
    collections::BTreeSet,
    string::{String, ToString as _},
    vec::Vec,
};

use thiserror::Error;

use crate::{
    step::Step,
    time::Now,
    wire::{
        capabilities::{
            CapabilityManifestDraft, CapabilityManifestRequest, CapabilityManifestResponse,
            DECLARED_HOOKS_MAX, DeclaredHook, DeclaredHookDraft,
        },
        grammar::{Checksum, Fingerprint},
        http::Body,
        json::{self, Fault},
    },
};

/// A fact for the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A manifest passed every check.
    Reported(CapabilityManifestRequest),
}

/// An order of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Answer(CapabilityManifestResponse),
}

/// Why a manifest is refused; a number is the position of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the body is over 16 MiB")]
    TooLarge,
    #[error("the body could not be read to its end")]
    Unreadable,
    #[error("the body is not a capability manifest: {0}")]
    Malformed(Fault),
    #[error("binary_version must not be empty")]
    Version,
    #[error(
        "binary_checksum must be 44 characters of standard base64 for 32 bytes; hex is not taken"
    )]
    Checksum,
    #[error("ssh_host_key_fingerprint must be SHA256: and base64, as ssh-keygen -l shows it")]
    Fingerprint,
    #[error("declared_hooks must hold at most 128 hooks")]
    TooManyHooks,
    #[error("declared_hooks[{0}] must have a name and a checksum of standard base64 for 32 bytes")]
    Hook(usize),
    #[error("declared_hooks[{0}].name stands twice")]
    DuplicateHook(usize),
}

/// The manifest in force, its hooks in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(Option<CapabilityManifestRequest>);

/// Reads a manifest out of a request body and judges it, in the order of the contract's checks.
pub fn read(body: &Body) -> Result<CapabilityManifestRequest, Refusal> {
    let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
    let draft: CapabilityManifestDraft = json::decode_strict(bytes).map_err(Refusal::Malformed)?;
    if draft.binary_version.trim().is_empty() {
        return Err(Refusal::Version);
    }
    let binary_checksum =
        Checksum::parse_base64(&draft.binary_checksum).map_err(|_| Refusal::Checksum)?;
    let ssh_host_key_fingerprint = match draft.ssh_host_key_fingerprint.as_str() {
        "" => None,
        text => Some(Fingerprint::parse(text).map_err(|_| Refusal::Fingerprint)?),
    };
    Ok(CapabilityManifestRequest {
        binary_version: draft.binary_version,
        binary_checksum,
        ssh_host_key_fingerprint,
        declared_hooks: hooks(draft.declared_hooks)?,
    })
}

/// One pass in array order: the first hook that fails decides, and of one hook its own members before its name's use.
fn hooks(drafts: Vec<DeclaredHookDraft>) -> Result<Vec<DeclaredHook>, Refusal> {
    if drafts.len() > DECLARED_HOOKS_MAX {
        return Err(Refusal::TooManyHooks);
    }
    let mut names = BTreeSet::new();
    let mut hooks = Vec::with_capacity(drafts.len());
    for (at, draft) in drafts.into_iter().enumerate() {
        let checksum = Checksum::parse_base64(&draft.checksum).map_err(|_| Refusal::Hook(at))?;
        if draft.name.as_str().trim().is_empty() {
            return Err(Refusal::Hook(at));
        }
        if !names.insert(draft.name.clone()) {
            return Err(Refusal::DuplicateHook(at));
        }
        hooks.push(DeclaredHook { name: draft.name, checksum });
    }
    Ok(hooks)
}

impl Capabilities {
    /// Moves on one input.
    pub fn step(self, now: Now, input: Input) -> Step<Self, Effect> {
        let Input::Reported(mut fresh) = input;
        fresh.declared_hooks.sort_by(|one, other| one.name.cmp(&other.name));
        let stored = self.0.as_ref();
        let answer = CapabilityManifestResponse {
            accepted_at: now.wall.into(),
            fields_changed: changed(stored, &fresh),
            host_key_changed: is_rekeyed(stored, &fresh),
        };
        Step::to(Self(Some(fresh))).emit(Effect::Answer(answer))
    }
}

/// The members that differ, sorted by name.
fn changed(
    stored: Option<&CapabilityManifestRequest>,
    fresh: &CapabilityManifestRequest,
) -> Vec<String> {
    let hooks = stored.map(|stored| &*stored.declared_hooks).unwrap_or_default();
    let key = stored.and_then(|stored| stored.ssh_host_key_fingerprint.as_ref());
    let is_same_checksum =
        |stored: &CapabilityManifestRequest| stored.binary_checksum == fresh.binary_checksum;
    let is_same_version =
        |stored: &CapabilityManifestRequest| stored.binary_version == fresh.binary_version;
    let members = [
        ("binary_checksum", !stored.is_some_and(is_same_checksum)),
        ("binary_version", !stored.is_some_and(is_same_version)),
        ("declared_hooks", hooks != fresh.declared_hooks),
        ("ssh_host_key_fingerprint", key != fresh.ssh_host_key_fingerprint.as_ref()),
    ];
    members.iter().filter(|(_, differs)| *differs).map(|(name, _)| name.to_string()).collect()
}

/// A host key that appears or disappears has not been replaced.
fn is_rekeyed(
    stored: Option<&CapabilityManifestRequest>,
    fresh: &CapabilityManifestRequest,
) -> bool {
    let before = stored.and_then(|stored| stored.ssh_host_key_fingerprint.as_ref());
    let after = fresh.ssh_host_key_fingerprint.as_ref();
    before.zip(after).is_some_and(|(before, after)| before != after)
}
