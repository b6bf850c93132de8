//! Error answers: the table of codes, and what a reader takes from an answer.

use meshward_core::wire::{
    http::Response,
    problem::{CODE_MAX, CORRELATION_ID_MAX, Code, DETAIL_MAX, READ_MAX, Seen, read, title},
};

/// The rows of the specification's table of errors that have a code.
const ERRORS: [(u16, &str); 21] = [
    (
        400,
        "public_key_invalid malformed_heartbeat_request clock_skew binary_checksum_empty binary_version_empty",
    ),
    (
        400,
        "malformed_keys_rotate_request binary_checksum_invalid malformed_endpoint_request endpoint_clock_skew",
    ),
    (
        400,
        "endpoint_unparseable invalid_cursor malformed_execution_callback malformed_session_activity",
    ),
    (400, "ingest_batch_malformed ingest_sent_at_invalid invalid_report"),
    (400, "integrity_violations_empty integrity_violations_too_many"),
    (401, "unauthorized nsk_invalid nsk_revoked"),
    (
        403,
        "kind_mismatch project_mismatch token_consumed token_expired token_revoked nonce_collision",
    ),
    (403, "nsk_node_mismatch permission_denied"),
    (
        404,
        "resource_not_found session_not_found secret_not_found secret_version_not_found report_not_found",
    ),
    (404, "endpoint_peer_not_found keys_rotate_peer_not_found"),
    (409, "keys_rotate_no_pending_rotation execution_already_terminal invalid_state_transition"),
    (409, "session_already_revoked session_expired"),
    (410, "endpoint_peer_gone"),
    (413, "keys_rotate_body_too_large endpoint_body_too_large inline_output_too_large"),
    (413, "integrity_violations_body_too_large"),
    (415, "ingest_encoding_unsupported"),
    (422, "keys_rotate_public_key_invalid keys_rotate_public_key_unchanged"),
    (429, "per_node_rate_limited per_domain_rate_limited"),
    (501, "signed_event_bus_not_provisioned secrets_not_provisioned reports_not_provisioned"),
    (501, "observability_ingest_not_provisioned"),
    (503, "pool_exhausted subrange_exhausted allocator_contention secretbackend_unavailable"),
];

/// The codes that only the route tables have.
const ROUTES: [(u16, &str); 9] = [
    (
        400,
        "malformed_capabilities_request ssh_host_key_fingerprint_invalid declared_hooks_too_many",
    ),
    (400, "declared_hook_invalid declared_hook_duplicate invalid_version ingest_encoding_invalid"),
    (400, "malformed_integrity_violations_request integrity_violation_kind_invalid"),
    (400, "integrity_violation_detected_by_invalid integrity_violation_artifact_id_empty"),
    (
        400,
        "integrity_violation_kind_mismatch integrity_violation_host_key_fingerprint_invalid integrity_violation_checksum_invalid",
    ),
    (413, "capabilities_body_too_large ingest_body_too_large ingest_batch_too_many_records"),
    (429, "capacity_exceeded"),
    (501, "reachability_not_provisioned"),
    (503, "ingest_buffer_unavailable"),
];

fn problem(body: impl Into<Vec<u8>>) -> Response {
    let headers = Response::empty(403).with("Content-Type", "application/problem+json");
    Response { body: body.into(), ..headers }
}

#[test]
fn every_code_has_the_status_of_the_tables() {
    let rows = ERRORS.iter().chain(&ROUTES);
    let mut expected: Vec<(u16, &str)> = rows
        .flat_map(|(status, codes)| codes.split(' ').map(move |code| (*status, code)))
        .collect();
    let mut table: Vec<(u16, &str)> =
        Code::TABLE.iter().map(|(_, status, text)| (*status, *text)).collect();
    expected.sort_unstable();
    table.sort_unstable();
    assert_eq!(table, expected);
    table.dedup();
    assert_eq!(table.len(), Code::TABLE.len());
}

#[test]
fn every_code_is_read_as_it_is_written() {
    for (code, status, text) in Code::TABLE {
        assert_eq!(&Code::parse(text), code);
        assert_eq!((code.as_str(), code.status()), (*text, *status));
        assert_ne!(title(*status), "Error", "{status}");
    }
}

#[test]
fn an_unknown_code_is_carried_through() {
    for text in ["openbao_unavailable", "Unauthorized", "clock-skew", "malformed_endpoint_requestt"]
    {
        assert_eq!(Code::parse(text), Code::Other(text.into()));
        assert_eq!(Code::parse(text).as_str(), text);
        let seen = read(&problem(format!(r#"{{"code":"{text}"}}"#)));
        assert_eq!(seen.code, Some(Code::Other(text.into())));
    }
}

#[test]
fn titles_are_those_of_rfc_9110() {
    for (status, text) in [
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
        assert_eq!(title(status), text);
    }
}

#[test]
fn an_answer_is_read_whole() {
    let text = r#"{"type":"about:blank","title":"Forbidden","status":403,"detail":"no","instance":"/x","correlation_id":"c1","code":"token_consumed","extra":{"a":[1]}}"#;
    let expected =
        Seen { code: Some(Code::TokenConsumed), detail: "no".into(), correlation_id: "c1".into() };
    assert_eq!(read(&problem(text)), expected);
    assert_eq!(read(&problem(text).with("X-Correlation-Id", "c2")), expected);
}

#[test]
fn the_header_tells_the_correlation_id_where_the_body_does_not() {
    let long = "c".repeat(CORRELATION_ID_MAX + 1);
    for body in [
        "{}".to_owned(),
        r#"{"correlation_id":""}"#.into(),
        r#"{"correlation_id":null}"#.into(),
        r#"{"correlation_id":7}"#.into(),
        format!(r#"{{"correlation_id":"{long}"}}"#),
        r#"{"correlation_id":"a\nb"}"#.into(),
        String::new(),
        "null".into(),
        "[1]".into(),
        "not JSON".into(),
        " ".repeat(READ_MAX) + "{}",
    ] {
        let seen = read(&problem(body.clone()).with("X-Correlation-Id", "from-header"));
        assert_eq!(seen.correlation_id, "from-header", "{body}");
        assert_eq!(read(&problem(body)).correlation_id, "");
    }
    for header in ["", "a\u{1b}[31m", "é", &long] {
        assert_eq!(read(&problem("{}").with("x-correlation-id", header)).correlation_id, "");
    }
}

#[test]
fn nothing_is_read_from_another_content_type() {
    let body = br#"{"code":"unauthorized","correlation_id":"c","detail":"d"}"#;
    for content_type in [
        "application/json",
        "text/html",
        "",
        "application/problem",
        "application/problem+jsonx",
        "application/problem+json2; a=b",
    ] {
        let response = Response {
            body: body.to_vec(),
            ..Response::empty(401).with("content-type", content_type)
        };
        assert_eq!(
            read(&response.with("x-correlation-id", "c")),
            Seen::default(),
            "{content_type}"
        );
    }
    assert_eq!(read(&Response { body: body.to_vec(), ..Response::empty(401) }), Seen::default());
    for content_type in [
        "application/problem+json",
        "Application/Problem+JSON",
        "application/problem+json; charset=utf-8",
        "application/problem+json ;x=y",
    ] {
        let response = Response {
            body: body.to_vec(),
            ..Response::empty(401).with("content-type", content_type)
        };
        assert_eq!(read(&response).code, Some(Code::Unauthorized), "{content_type}");
    }
}

#[test]
fn an_answer_is_read_up_to_its_limit() {
    let padded = |length: usize| {
        let text = r#"{"code":"unauthorized"}"#;
        format!("{text}{}", " ".repeat(length - text.len()))
    };
    assert_eq!(read(&problem(padded(READ_MAX))).code, Some(Code::Unauthorized));
    assert_eq!(read(&problem(padded(READ_MAX + 1))).code, None);
}

#[test]
fn a_code_that_is_no_short_printable_text_is_none() {
    let code = |spelling: &str| read(&problem(format!(r#"{{"code":{spelling}}}"#))).code;
    let quoted = |text: &str| code(&format!("\"{text}\""));
    assert_eq!(quoted(&"c".repeat(CODE_MAX)), Some(Code::Other("c".repeat(CODE_MAX))));
    for text in [&"c".repeat(CODE_MAX + 1), "", "a\\nb", "\\u001b[31m", "é", "\\u0000", "\\u007f"]
    {
        assert_eq!(quoted(text), None, "{text}");
    }
    for spelling in ["null", "7", "[\"unauthorized\"]", "{}", "true"] {
        assert_eq!(code(spelling), None, "{spelling}");
    }
}

#[test]
fn a_member_of_a_wrong_kind_does_not_hide_the_others() {
    let seen = read(&problem(
        r#"{"detail":{"a":1},"code":"clock_skew","correlation_id":[1],"status":"x"}"#,
    ));
    assert_eq!(seen, Seen { code: Some(Code::ClockSkew), ..Seen::default() });
}

#[test]
fn a_detail_is_one_line_of_bounded_length() {
    let detail = |text: &str| read(&problem(format!(r#"{{"detail":"{text}"}}"#))).detail;
    assert_eq!(detail("a\\r\\nb\\u001b[0m\\u0000\\u009b\\u202e é"), "ab[0m é");
    assert_eq!(detail(&"é".repeat(DETAIL_MAX + 1)), "é".repeat(DETAIL_MAX));
}
