//! Error answers: the table of codes, and what their reader takes from them.

use std::collections::BTreeSet;

use meshward_core::wire::{
    http::Response,
    problem::{
        BODY_MAX, CODE_MAX, CONTENT_TYPE, CORRELATION_HEADER, CORRELATION_ID_MAX, Code, Seen, read,
        title,
    },
};

/// The codes of the specification by status, written down a second time.
const CODES: [(u16, &str); 12] = [
    (
        400,
        "public_key_invalid malformed_heartbeat_request clock_skew binary_checksum_empty \
         binary_version_empty malformed_keys_rotate_request malformed_capabilities_request \
         binary_checksum_invalid ssh_host_key_fingerprint_invalid declared_hooks_too_many \
         declared_hook_invalid declared_hook_duplicate malformed_endpoint_request \
         endpoint_clock_skew endpoint_unparseable invalid_cursor malformed_execution_callback \
         malformed_session_activity invalid_version invalid_report ingest_batch_malformed \
         ingest_encoding_invalid ingest_sent_at_invalid malformed_integrity_violations_request \
         integrity_violations_empty integrity_violations_too_many integrity_violation_kind_invalid \
         integrity_violation_detected_by_invalid integrity_violation_artifact_id_empty \
         integrity_violation_kind_mismatch integrity_violation_checksum_invalid \
         integrity_violation_host_key_fingerprint_invalid",
    ),
    (401, "unauthorized nsk_invalid nsk_revoked"),
    (
        403,
        "kind_mismatch project_mismatch token_consumed token_expired token_revoked nonce_collision \
         nsk_node_mismatch node_id_mismatch permission_denied",
    ),
    (
        404,
        "resource_not_found session_not_found secret_not_found secret_version_not_found \
         report_not_found node_not_found execution_not_found endpoint_peer_not_found \
         keys_rotate_peer_not_found",
    ),
    (
        409,
        "keys_rotate_no_pending_rotation execution_already_terminal invalid_state_transition \
         session_already_revoked session_expired",
    ),
    (410, "endpoint_peer_gone"),
    (
        413,
        "keys_rotate_body_too_large capabilities_body_too_large endpoint_body_too_large \
         inline_output_too_large ingest_body_too_large ingest_batch_too_many_records \
         integrity_violations_body_too_large payload_too_large report_quota_exceeded",
    ),
    (415, "ingest_encoding_unsupported"),
    (422, "keys_rotate_public_key_invalid keys_rotate_public_key_unchanged"),
    (429, "per_node_rate_limited per_domain_rate_limited capacity_exceeded"),
    (
        501,
        "signed_event_bus_not_provisioned secrets_not_provisioned reports_not_provisioned \
         observability_ingest_not_provisioned heartbeat_not_provisioned endpoint_not_provisioned \
         capabilities_not_provisioned keys_rotate_not_provisioned \
         integrity_violations_not_provisioned execution_callback_not_provisioned \
         access_session_not_provisioned reachability_not_provisioned",
    ),
    (
        503,
        "pool_exhausted subrange_exhausted allocator_contention secretbackend_unavailable \
         ingest_buffer_unavailable event_stream_unavailable datastore_unavailable",
    ),
];

fn answer(body: &str) -> Response {
    Response::empty(400).with("content-type", CONTENT_TYPE).with_body(body)
}

trait WithBody {
    fn with_body(self, body: &str) -> Self;
}

impl WithBody for Response {
    fn with_body(mut self, body: &str) -> Self {
        self.body = body.into();
        self
    }
}

#[test]
fn every_code_has_the_status_of_the_table() {
    let mut known = BTreeSet::new();
    for (status, codes) in CODES {
        for text in codes.split_whitespace() {
            let code = Code::parse(text);
            assert!(!matches!(code, Code::Other(_)), "{text}");
            assert_eq!((code.status(), code.as_str()), (status, text));
            assert!(known.insert(text), "{text} stands twice");
        }
    }
    let table: BTreeSet<&str> = Code::TABLE.iter().map(|(_, _, text)| *text).collect();
    assert_eq!(table, known);
    assert_eq!(Code::TABLE.len(), known.len());
    assert!(Code::TABLE.iter().all(|(code, status, _)| code.status() == *status));
}

#[test]
fn the_slip_of_the_table_is_no_code_of_its_own() {
    assert_eq!(
        Code::parse("malformed_endpoint_requestt"),
        Code::Other("malformed_endpoint_requestt".into())
    );
}

#[test]
fn an_unknown_code_is_carried_through() {
    let code = Code::parse("brand_new");
    assert_eq!((code.as_str(), code.status()), ("brand_new", 500));
}

#[test]
fn every_status_of_the_table_has_a_title() {
    for (status, expected) in [
        (400, "Bad Request"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "Not Found"),
        (405, "Method Not Allowed"),
        (409, "Conflict"),
        (410, "Gone"),
        (413, "Content Too Large"),
        (415, "Unsupported Media Type"),
        (422, "Unprocessable Content"),
        (429, "Too Many Requests"),
        (500, "Internal Server Error"),
        (501, "Not Implemented"),
        (503, "Service Unavailable"),
    ] {
        assert_eq!(title(status), expected);
    }
}

#[test]
fn the_reader_takes_code_detail_and_correlation_id() {
    let seen =
        read(&answer(r#"{"code":"clock_skew","detail":"61 s","correlation_id":"c1","more":[1]}"#));
    let expected =
        Seen { code: Some(Code::ClockSkew), detail: "61 s".into(), correlation_id: "c1".into() };
    assert_eq!(seen, expected);
}

#[test]
fn the_media_type_decides_whether_a_body_is_read() {
    let body = r#"{"code":"clock_skew"}"#;
    for (kind, is_read) in [
        ("application/problem+json", true),
        ("Application/Problem+JSON; charset=utf-8", true),
        ("application/problem+json ;v=1", true),
        ("application/json", false),
        ("text/html", false),
        ("", false),
    ] {
        let seen = read(&Response::empty(400).with("content-type", kind).with_body(body));
        assert_eq!(seen.code.is_some(), is_read, "{kind}");
    }
    assert_eq!(read(&Response::empty(400).with_body(body)), Seen::default());
}

#[test]
fn a_body_beyond_its_limit_or_broken_is_as_if_absent() {
    let padded = |length: usize| {
        let body = r#"{"code":"clock_skew"}"#;
        format!("{body}{}", " ".repeat(length - body.len()))
    };
    assert_eq!(read(&answer(&padded(BODY_MAX))).code, Some(Code::ClockSkew));
    assert_eq!(read(&answer(&padded(BODY_MAX + 1))), Seen::default());
    for broken in ["", "null", "[]", "{", r#"{"code":7}"#, "<html>"] {
        assert_eq!(read(&answer(broken)), Seen::default(), "{broken}");
    }
}

#[test]
fn a_code_that_is_too_long_or_unprintable_is_dropped() {
    let code = |text: &str| read(&answer(&format!(r#"{{"code":"{text}"}}"#))).code;
    let longest = "x".repeat(CODE_MAX);
    assert_eq!(code(&longest), Some(Code::Other(longest.clone())));
    assert_eq!(code(&format!("{longest}x")), None);
    for text in ["", "é", r"a\nb", r"\u001b[31m", r"\u007f"] {
        assert_eq!(code(text), None, "{text}");
    }
}

#[test]
fn the_correlation_id_comes_from_the_body_first_and_else_from_the_header() {
    let id = |body: &str, header: &str| {
        read(&answer(body).with(CORRELATION_HEADER, header)).correlation_id
    };
    assert_eq!(id(r#"{"correlation_id":"body"}"#, "header"), "body");
    assert_eq!(id("{}", "header"), "header");
    assert_eq!(id(r#"{"correlation_id":""}"#, "header"), "header");
    assert_eq!(id(r#"{"correlation_id":"a\nb"}"#, "header"), "header");
    assert_eq!(id("not json", "header"), "header");
    let longest = "x".repeat(CORRELATION_ID_MAX);
    assert_eq!(id(&format!(r#"{{"correlation_id":"{longest}"}}"#), "header"), longest);
    assert_eq!(id(&format!(r#"{{"correlation_id":"{longest}x"}}"#), "header"), "header");
    assert_eq!(id("{}", &format!("{longest}x")), "");
    let bare = Response::empty(502).with(CORRELATION_HEADER, "header");
    assert_eq!(read(&bare).correlation_id, "header");
}
