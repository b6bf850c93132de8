//! The capability manifest of the node: stored as a whole, and each new one compared with the one before.
//!
//! | Stored | Reported | `fields_changed` | `host_key_changed` |
//! |---|---|---|---|
//! | nothing | a manifest | the members present | false |
//! | a manifest | the same, its hooks in any order | none | false |
//! | a manifest | another | the members that differ | whether a fingerprint replaced another |
//!
//! Specification: "Capabilities" and "PUT /v1/nodes/{id}/capabilities"; `decisions.md` section 7 (`fields_changed`,
//! Hooks checked). Unspecified: an empty list of hooks is the same as none, as an empty fingerprint is, but for the first
//! manifest, where both are members that are present.

use alloc::{collections::BTreeSet, string::String, vec::Vec};

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
        http::{Body, UNREADABLE},
        json::{self, Fault},
    },
};

/// A fact for the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A manifest passed every check.
    Reported(Read),
}

/// A manifest that was read, and the names of the members that it came with, sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    pub manifest: CapabilityManifestRequest,
    pub present: Vec<&'static str>,
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
    #[error("{UNREADABLE}")]
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
pub fn read(body: &Body) -> Result<Read, Refusal> {
    let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
    let draft: CapabilityManifestDraft = json::decode_strict(bytes).map_err(Refusal::Malformed)?;
    if draft.binary_version.trim().is_empty() {
        return Err(Refusal::Version);
    }
    let binary_checksum =
        Checksum::parse_base64(&draft.binary_checksum).map_err(|_| Refusal::Checksum)?;
    let present = present(&draft);
    let ssh_host_key_fingerprint = match draft.ssh_host_key_fingerprint.as_deref() {
        None | Some("") => None,
        Some(text) => Some(Fingerprint::parse(text).map_err(|_| Refusal::Fingerprint)?),
    };
    let manifest = CapabilityManifestRequest {
        binary_version: draft.binary_version,
        binary_checksum,
        ssh_host_key_fingerprint,
        declared_hooks: hooks(draft.declared_hooks.unwrap_or_default())?,
    };
    Ok(Read { manifest, present })
}

/// The members of a manifest whose version and checksum are sound, and so are there.
fn present(draft: &CapabilityManifestDraft) -> Vec<&'static str> {
    named([
        ("binary_checksum", true),
        ("binary_version", true),
        ("declared_hooks", draft.declared_hooks.is_some()),
        ("ssh_host_key_fingerprint", draft.ssh_host_key_fingerprint.is_some()),
    ])
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
        let Input::Reported(Read { manifest: mut fresh, present }) = input;
        fresh.declared_hooks.sort_by(|one, other| one.name.cmp(&other.name));
        let stored = self.0.as_ref();
        let fields = stored.map_or(present, |stored| changed(stored, &fresh));
        let answer = CapabilityManifestResponse {
            accepted_at: now.wall.into(),
            fields_changed: fields.into_iter().map(String::from).collect(),
            host_key_changed: stored.is_some_and(|stored| is_rekeyed(stored, &fresh)),
        };
        Step::to(Self(Some(fresh))).emit(Effect::Answer(answer))
    }
}

/// The members that differ.
fn changed(
    stored: &CapabilityManifestRequest,
    fresh: &CapabilityManifestRequest,
) -> Vec<&'static str> {
    let (before, after) = (&stored.ssh_host_key_fingerprint, &fresh.ssh_host_key_fingerprint);
    named([
        ("binary_checksum", stored.binary_checksum != fresh.binary_checksum),
        ("binary_version", stored.binary_version != fresh.binary_version),
        ("declared_hooks", stored.declared_hooks != fresh.declared_hooks),
        ("ssh_host_key_fingerprint", before != after),
    ])
}

/// The names of the members that are to be told.
fn named(members: [(&'static str, bool); 4]) -> Vec<&'static str> {
    members.into_iter().filter(|(_, told)| *told).map(|(name, _)| name).collect()
}

/// A host key that appears or disappears has not been replaced.
fn is_rekeyed(stored: &CapabilityManifestRequest, fresh: &CapabilityManifestRequest) -> bool {
    let (before, after) = (&stored.ssh_host_key_fingerprint, &fresh.ssh_host_key_fingerprint);
    before.as_ref().zip(after.as_ref()).is_some_and(|(before, after)| before != after)
}
