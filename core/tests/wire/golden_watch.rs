//! Golden texts of the journal, verification and faults.

use meshward_core::wire::{
    faults::{FaultRule, ServedRule, ServedRules},
    journal::{Entry, Matched, Requests, Verify},
};

use crate::golden::{at, both, raw, written};

#[test]
fn fault_rules() {
    both(
        "fault_rule.answer",
        &FaultRule {
            method: Some("POST".into()),
            path: Some("/v1/nodes/*/heartbeat".into()),
            times: Some(3),
            probability: Some(raw("0.50")),
            seed: Some(7),
            delay_ms: Some(250),
            status: Some(503),
            code: Some("ingest_buffer_unavailable".into()),
            retry_after: Some(raw("\"Thu, 15 Jan 2026 10:31:00 GMT\"")),
            content_type: Some("text/html".into()),
            drop: Some(false),
            reset: Some("after_headers".into()),
            never: Some(false),
            truncate_after: Some(16),
            dribble_ms: Some(5),
            malformed_chunk: Some(true),
            clock_offset_ms: Some(-90_000),
            corrupt_signature: Some(true),
            stream: Some("stall".into()),
        },
    );
    let least = FaultRule { path: Some("/v1/**".into()), drop: Some(true), ..FaultRule::default() };
    both("fault_rule.least", &least);
    let rule = FaultRule { times: Some(2), ..least };
    let served = ServedRules { faults: vec![ServedRule { id: 4, left: 1, rule: &rule }] };
    written("fault_rules.served", &served);
}

#[test]
fn requests() {
    let refused = Entry {
        seq: 1,
        time: at("2026-01-15T10:30:00Z"),
        method: "PUT",
        path: "/exec-output/run%201",
        query: Some("token=***"),
        status: Some(404),
        code: None,
        rule: Some("upload.unknown"),
        duration_ms: 3,
        request_bytes: 5,
        response_bytes: 211,
        body: Some("bytes"),
    };
    let lost = Entry {
        seq: 2,
        time: at("2026-01-15T10:30:00.5Z"),
        method: "POST",
        path: "/v1/register",
        query: None,
        status: None,
        rule: Some("fault.1"),
        duration_ms: 0,
        request_bytes: 0,
        response_bytes: 0,
        body: None,
        ..refused.clone()
    };
    written("requests.served", &Requests { requests: vec![refused, lost] });
}

#[test]
fn verify() {
    both(
        "verify.waiting",
        &Verify {
            method: Some("GET".into()),
            path: Some("/v1/nodes/*/state".into()),
            count: Some(1),
            at_least: Some(2),
            at_most: Some(3),
            within_ms: Some(5000),
        },
    );
    both("matched.two", &Matched { matched: 2 });
}
