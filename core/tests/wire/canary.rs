//! No fault of the JSON door shows a value, wherever in a body it stands.

use meshward_core::wire::{
    capabilities::{CapabilityManifestDraft, CapabilityManifestResponse},
    control::Health,
    endpoint::{EndpointDraft, EndpointResponse},
    execution::{Callback, CallbackResponse, Execution},
    heartbeat::{HeartbeatDraft, HeartbeatResponse},
    identity::IdentityFile,
    integrity::{IntegrityViolationsDraft, IntegrityViolationsResponse},
    json::{decode_strict, decode_tolerant},
    local::{DataEntry, StateSummary, Status},
    register::{RegisterDraft, RegisterResponse},
    report::{ReportRequest, ReportResponse},
    rotation::{KeyRotateDraft, Receipt},
    secret::ConfigureSecrets,
    session::Activity,
    snapshot::{Session, Snapshot},
};
use serde::de::DeserializeOwned;

use crate::golden::{Part, golden, parts};

/// Values of every kind, each with a part that no rule, path or range holds.
const CANARIES: [&str; 9] = [
    r#""CANARY""#,
    r#""CANARY\u0000""#,
    r#"["CANARY"]"#,
    r#"{"x":"CANARY"}"#,
    "271828",
    "271828.1828",
    "-271828",
    "271828271828271828271828",
    r#""CANARY"#,
];

/// Reads the golden text with each scalar replaced by each canary, and counts the faults.
fn faults<T: DeserializeOwned>(name: &str) -> usize {
    let text = golden(name);
    let mut count = 0;
    for (_, range) in parts(&text).into_iter().filter(|(part, _)| *part == Part::Scalar) {
        for canary in CANARIES {
            let body = format!("{}{canary}{}", &text[..range.start], &text[range.end..]);
            let outcomes =
                [decode_strict::<T>(body.as_bytes()), decode_tolerant::<T>(body.as_bytes())];
            for fault in outcomes.into_iter().filter_map(Result::err) {
                let told = format!("{fault} {fault:?} {fault:#?}");
                assert!(!told.contains("CANARY") && !told.contains("271828"), "{name}: {told}");
                count += 1;
            }
        }
    }
    count
}

#[test]
fn a_fault_never_shows_the_value() {
    for (name, count) in [
        ("callback.failed", faults::<Callback>("callback.failed")),
        ("callback.succeeded_uploaded", faults::<Callback>("callback.succeeded_uploaded")),
        ("callback_response.upload", faults::<CallbackResponse>("callback_response.upload")),
        ("capability_manifest.full", faults::<CapabilityManifestDraft>("capability_manifest.full")),
        (
            "capability_manifest_response.changed",
            faults::<CapabilityManifestResponse>("capability_manifest_response.changed"),
        ),
        ("endpoint_request.ipv4", faults::<EndpointDraft>("endpoint_request.ipv4")),
        ("endpoint_response.default", faults::<EndpointResponse>("endpoint_response.default")),
        ("execution.parameters", faults::<Execution>("execution.parameters")),
        ("health.ok", faults::<Health>("health.ok")),
        ("heartbeat_request.discovered", faults::<HeartbeatDraft>("heartbeat_request.discovered")),
        ("heartbeat_response.default", faults::<HeartbeatResponse>("heartbeat_response.default")),
        ("identity.rotated", faults::<IdentityFile>("identity.rotated")),
        (
            "integrity_violations.kinds",
            faults::<IntegrityViolationsDraft>("integrity_violations.kinds"),
        ),
        (
            "integrity_violations_response.four",
            faults::<IntegrityViolationsResponse>("integrity_violations_response.four"),
        ),
        ("key_rotate_request.valid", faults::<KeyRotateDraft>("key_rotate_request.valid")),
        ("key_rotate_response.first", faults::<Receipt>("key_rotate_response.first")),
        ("local_data.entry", faults::<DataEntry>("local_data.entry")),
        ("local_state.full", faults::<StateSummary>("local_state.full")),
        ("local_status.ready", faults::<Status>("local_status.ready")),
        ("register_request.full", faults::<RegisterDraft>("register_request.full")),
        ("register_response.created", faults::<RegisterResponse>("register_response.created")),
        ("report_request.tagged", faults::<ReportRequest>("report_request.tagged")),
        ("report_response.accepted", faults::<ReportResponse>("report_response.accepted")),
        ("configure_secrets.full", faults::<ConfigureSecrets>("configure_secrets.full")),
        ("session_activity.ssh", faults::<Activity>("session_activity.ssh")),
        ("session_activity.k8s", faults::<Activity>("session_activity.k8s")),
        ("session_activity.tcp_ended", faults::<Activity>("session_activity.tcp_ended")),
        ("session.ssh", faults::<Session>("session.ssh")),
        ("snapshot.default", faults::<Snapshot>("snapshot.default")),
    ] {
        assert!(count > 0, "{name}: nothing was refused");
    }
}
