//! What a node tells of itself: manifests, endpoints and violations, as decode targets and as bodies of requests.

use meshward_core::{
    time::Now,
    wire::{
        capabilities::{
            CapabilityManifestDraft, CapabilityManifestRequest, CapabilityManifestResponse,
            DeclaredHook,
        },
        endpoint::{ConfigureEndpoint, EndpointDraft, EndpointRequest, EndpointResponse, NatType},
        grammar::{Checksum, Fingerprint, Name, PeerAddr, ReachableAddr},
        integrity::{
            DetectedBy, Finding, IntegrityViolation, IntegrityViolationDraft,
            IntegrityViolationsDraft, IntegrityViolationsRequest, IntegrityViolationsResponse,
            Kind, Seen,
        },
        json::{decode_strict, encode},
        timestamp::Timestamp,
    },
};

use crate::decode::round_trip;

/// The capability manifest and its answer.
pub fn decode_capabilities(bytes: &[u8]) {
    round_trip::<CapabilityManifestResponse>(bytes);
    let Ok(draft) = decode_strict::<CapabilityManifestDraft>(bytes) else { return };
    let Some(request) = manifest_of(&draft) else { return };
    let text = encode(&request);
    assert_eq!(Ok(draft), decode_strict(&text), "the plane reads what the agent writes");
}

/// The draft as the manifest that an agent would have sent, where there is one: it leaves out what is empty.
fn manifest_of(draft: &CapabilityManifestDraft) -> Option<CapabilityManifestRequest> {
    let key = draft.ssh_host_key_fingerprint.as_deref().map(Fingerprint::parse);
    if draft.declared_hooks.as_ref().is_some_and(Vec::is_empty) {
        return None;
    }
    let hooks = draft.declared_hooks.iter().flatten().map(|hook| {
        let checksum = Checksum::parse_base64(&hook.checksum).ok()?;
        Some(DeclaredHook { name: hook.name.clone(), checksum })
    });
    Some(CapabilityManifestRequest {
        binary_version: draft.binary_version.clone(),
        binary_checksum: Checksum::parse_base64(&draft.binary_checksum).ok()?,
        ssh_host_key_fingerprint: key.transpose().ok()?,
        declared_hooks: hooks.collect::<Option<_>>()?,
    })
}

/// An empty text is an absent member.
fn optional<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text.is_empty() { Some(None) } else { parse(text).map(Some) }
}

/// The NAT endpoint, its answer and the body that configures the answer.
pub fn decode_endpoint(bytes: &[u8]) {
    round_trip::<EndpointResponse>(bytes);
    round_trip::<ConfigureEndpoint>(bytes);
    let Ok(draft) = decode_strict::<EndpointDraft>(bytes) else { return };
    let (Ok(endpoint), Some(reported_at)) =
        (ReachableAddr::parse(&draft.endpoint), draft.reported_at)
    else {
        return;
    };
    let request = EndpointRequest { endpoint, nat_type: draft.nat_type, reported_at };
    let again: EndpointDraft =
        decode_strict(&encode(&request)).expect("the plane reads what the agent writes");
    assert_eq!(ReachableAddr::parse(&again.endpoint), Ok(endpoint));
    assert_eq!((again.nat_type, again.reported_at), (draft.nat_type, draft.reported_at));
}

/// The batch of integrity violations and its answer.
pub fn decode_integrity(bytes: &[u8]) {
    round_trip::<IntegrityViolationsResponse>(bytes);
    let Ok(draft) = decode_strict::<IntegrityViolationsDraft>(bytes) else { return };
    let entries = draft.violations.iter().map(violation_of);
    let Some(violations) = entries.collect::<Option<Vec<_>>>() else { return };
    let text = encode(&IntegrityViolationsRequest { violations });
    assert_eq!(Ok(draft), decode_strict(&text), "the plane reads what the agent writes");
}

/// The draft as the entry that an agent would have sent, where there is one.
fn violation_of(draft: &IntegrityViolationDraft) -> Option<IntegrityViolation> {
    let has_digests = !(draft.observed_checksum.is_empty() && draft.expected_checksum.is_empty());
    let has_keys =
        !(draft.observed_fingerprint.is_empty() && draft.expected_fingerprint.is_empty());
    let digests = || {
        seen(&draft.observed_checksum, &draft.expected_checksum, |text| {
            Checksum::parse_base64(text).ok()
        })
    };
    let keys = || {
        seen(&draft.observed_fingerprint, &draft.expected_fingerprint, |text| {
            Fingerprint::parse(text).ok()
        })
    };
    let finding = match Kind::parse(&draft.kind)? {
        Kind::BinaryChecksum if !has_keys => Finding::BinaryChecksum(digests()?),
        Kind::HookChecksum if !has_keys => Finding::HookChecksum(digests()?),
        Kind::SshHostKey if !has_digests => Finding::SshHostKey(keys()?),
        Kind::BinaryChecksum | Kind::HookChecksum | Kind::SshHostKey => return None,
    };
    let detected_by = DetectedBy::parse(&draft.detected_by)?;
    Some(IntegrityViolation { finding, detected_by, artifact_id: draft.artifact_id.clone() })
}

fn seen<T>(observed: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Seen<T>> {
    Some(Seen { observed: parse(observed)?, expected: optional(expected, &parse)? })
}

/// A manifest; hook names of a higher choice collide.
pub(crate) fn manifest(choice: u8) -> CapabilityManifestRequest {
    let names = if choice < 128 { ["a", "b", "c"] } else { ["a", "b", "a"] };
    let hook = |name: &str| DeclaredHook {
        name: Name::from(name),
        checksum: Checksum::from_bytes([choice % 8; 32]),
    };
    let key = format!("SHA256:{}", choice % 4);
    CapabilityManifestRequest {
        binary_version: if choice == 255 { String::new() } else { (choice % 2).to_string() },
        binary_checksum: Checksum::from_bytes([choice % 3; 32]),
        ssh_host_key_fingerprint: Fingerprint::parse(&key)
            .ok()
            .filter(|_| !choice.is_multiple_of(5)),
        declared_hooks: names[..usize::from(choice % 4)].iter().copied().map(hook).collect(),
    }
}

/// A report, its time not set where the choice is high.
pub(crate) fn endpoint(choice: u8, now: Now) -> EndpointRequest {
    let addr = PeerAddr::parse(&format!("203.0.113.{choice}:{}", 1 + u16::from(choice)));
    let endpoint = addr.ok().and_then(ReachableAddr::new).expect("the address can be reached");
    let reported_at = if choice < 240 { Timestamp::from(now.wall) } else { Timestamp::ZERO };
    EndpointRequest { endpoint, nat_type: NatType::ALL[usize::from(choice % 5)], reported_at }
}

/// A batch of as many entries as the choice, most of them legal in number.
pub(crate) fn violations(choice: u8) -> IntegrityViolationsRequest {
    let entry = |at: u8| {
        let digest = Seen { observed: Checksum::from_bytes([at; 32]), expected: None };
        let key = Fingerprint::parse("SHA256:abc").expect("a fingerprint");
        let key = Seen { observed: key.clone(), expected: Some(key) };
        let (finding, detected_by) = match at % 3 {
            0 => (Finding::BinaryChecksum(digest), DetectedBy::StartupScan),
            1 => (Finding::HookChecksum(digest), DetectedBy::Inotify),
            _ => (Finding::SshHostKey(key), DetectedBy::PreDispatch),
        };
        IntegrityViolation { finding, detected_by, artifact_id: Name(format!("artifact {at}")) }
    };
    IntegrityViolationsRequest { violations: (0..choice).map(entry).collect() }
}

/// A TTL, out of its range where the choice is zero or high.
pub(crate) fn ttl(choice: u8) -> ConfigureEndpoint {
    let seconds = if choice < 240 { i64::from(choice) } else { -i64::from(choice) };
    ConfigureEndpoint { ttl_seconds: Some(seconds) }
}
