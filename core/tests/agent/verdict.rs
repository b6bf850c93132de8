//! Answers by their tables: every row, the codes nobody knows, and bodies that are no problem documents.

use meshward_core::{
    agent::{
        Answer, Failure,
        verdict::{self, Called, Delivery, Fetched, Registered, Rotated},
    },
    wire::{heartbeat::HeartbeatResponse, http::Response, identity::Unusable, problem::Code},
};

use crate::bench::{nsk, problem, registration_body, responded, start};

const FAILURES: [Failure; 3] =
    [Failure::Unreachable, Failure::TimedOut, Failure::Oversized { status: 500 }];

fn register(answer: Answer) -> Registered {
    verdict::register(answer, start().wall)
}

#[test]
fn an_object_that_is_no_snapshot_wipes_nothing() {
    let failed = |body: &str| matches!(verdict::pull(&responded(200, body)), Fetched::Failed(_));
    for body in ["{}", r#"{"error":"please log in"}"#, r#"{"state":null,"peers":null}"#, "[]", ""] {
        assert!(failed(body), "{body}");
    }
    for body in [r#"{"peers":[]}"#, r#"{"executions":[],"state":null}"#, r#"{"state":{"data":[]}}"#]
    {
        assert!(!failed(body), "{body}");
    }
}

#[test]
fn registration_answers_stop_or_retry_as_the_reaction_table_says() {
    let stops = [
        (400, "public_key_invalid"),
        (400, "news"),
        (401, "unauthorized"),
        (403, "kind_mismatch"),
        (403, "project_mismatch"),
        (403, "token_consumed"),
        (403, "token_expired"),
        (403, "token_revoked"),
        (403, "nonce_collision"),
        (404, "resource_not_found"),
        (409, "news"),
        (422, "news"),
    ];
    for (status, code) in stops {
        let expected = Some(Code::parse(code));
        let verdict = register(problem(status, code));
        let Registered::Stop { status: told, code, .. } = verdict else {
            panic!("{status} {code}: {verdict:?}")
        };
        assert_eq!((told, code), (status, expected));
    }
    let retries = [
        (429, "news"),
        (500, "news"),
        (503, "pool_exhausted"),
        (503, "subrange_exhausted"),
        (503, "allocator_contention"),
    ];
    for (status, code) in retries {
        let verdict = register(problem(status, code));
        assert!(matches!(verdict, Registered::Retry(_)), "{status} {code}: {verdict:?}");
    }
}

#[test]
fn registration_answers_outside_the_table_stop_below_500_and_retry_above_and_on_408() {
    for status in 300..600 {
        let verdict = register(responded(status, ""));
        let retries = matches!(status, 408 | 429 | 500..);
        assert_eq!(matches!(verdict, Registered::Retry(_)), retries, "{status}");
        assert_eq!(matches!(verdict, Registered::Stop { .. }), !retries, "{status}");
    }
    for failure in FAILURES {
        assert!(
            matches!(register(Answer::Failed(failure.into())), Registered::Retry(_)),
            "{failure}"
        );
    }
}

#[test]
fn retry_after_is_read_on_429_alone() {
    for status in [408, 429, 500, 503] {
        let response = Response::empty(status).with("Retry-After", "7");
        let Registered::Retry(trouble) = register(Answer::Responded(response)) else {
            panic!("{status} is retried")
        };
        assert_eq!(trouble.retry_after.map(|wait| wait.as_secs()), (status == 429).then_some(7));
    }
}

#[test]
fn any_2xx_with_a_registration_is_accepted_and_one_without_is_unusable() {
    let body = registration_body(nsk().expose());
    for status in [200, 201, 299] {
        assert!(matches!(register(responded(status, &body)), Registered::Accepted(_)), "{status}");
        for body in ["", "{}", "[]", "<html>"] {
            assert_eq!(
                register(responded(status, body)),
                Registered::Unusable(Unusable::Json),
                "{status} {body}"
            );
        }
    }
}

#[test]
fn rotation_answers_follow_steps_three_to_five() {
    let unchanged = problem(422, "keys_rotate_public_key_unchanged");
    assert_eq!(verdict::rotate(unchanged), Rotated::Unchanged);
    let nothing = problem(409, "keys_rotate_no_pending_rotation");
    assert_eq!(verdict::rotate(nothing), Rotated::NothingPending);
    let refusals = [
        (400, "news"),
        (403, "nsk_node_mismatch"),
        (413, "keys_rotate_body_too_large"),
        (404, "keys_rotate_peer_not_found"),
        (422, "keys_rotate_public_key_invalid"),
    ];
    for (status, code) in refusals {
        let verdict = verdict::rotate(problem(status, code));
        assert!(matches!(verdict, Rotated::Refused(_)), "{status} {code}: {verdict:?}");
    }
    let undecided = [(401, "unauthorized"), (404, "news"), (409, "news"), (422, "news")];
    for (status, code) in undecided.into_iter().chain([(429, "news"), (500, "news"), (302, "x")]) {
        let verdict = verdict::rotate(problem(status, code));
        assert!(matches!(verdict, Rotated::Undecided(_)), "{status} {code}: {verdict:?}");
    }
    for failure in FAILURES {
        assert!(matches!(verdict::rotate(Answer::Failed(failure.into())), Rotated::Undecided(_)));
    }
}

#[test]
fn a_rotation_receipt_completes_only_when_it_is_whole() {
    let whole = r#"{"rotation_id":"r","kid":"k","wrap_key_version":1,"more":[]}"#;
    assert!(matches!(verdict::rotate(responded(200, whole)), Rotated::Completed(_)));
    let lacking = [
        "",
        "{}",
        r#"{"rotation_id":"","kid":"k","wrap_key_version":1}"#,
        r#"{"rotation_id":"r","kid":"","wrap_key_version":1}"#,
        r#"{"rotation_id":"r","kid":"k"}"#,
    ];
    for body in lacking {
        let verdict = verdict::rotate(responded(200, body));
        assert!(matches!(verdict, Rotated::Undecided(_)), "{body}: {verdict:?}");
    }
}

#[test]
fn callback_answers_are_accepted_refused_unacceptable_or_failed() {
    assert_eq!(verdict::callback(responded(200, r#"{"status":"ack"}"#)), Called::Accepted);
    for body in ["", "{}", "nonsense"] {
        let verdict = verdict::callback(responded(200, body));
        assert!(matches!(verdict, Called::Failed(_)), "{body}: {verdict:?}");
    }
    let refusals = [
        (403, "nsk_node_mismatch"),
        (409, "invalid_state_transition"),
        (409, "execution_already_terminal"),
    ];
    for (status, code) in refusals {
        let verdict = verdict::callback(problem(status, code));
        assert!(matches!(verdict, Called::Refused(_)), "{status} {code}: {verdict:?}");
    }
    let unacceptable = [
        (400, "malformed_execution_callback", false),
        (400, "news", false),
        (413, "news", false),
        (413, "inline_output_too_large", true),
    ];
    for (status, code, too_large) in unacceptable {
        let verdict = verdict::callback(problem(status, code));
        let Called::Unacceptable { inline_too_large, .. } = verdict else {
            panic!("{status} {code}: {verdict:?}")
        };
        assert_eq!(inline_too_large, too_large, "{status} {code}");
    }
    for status in [302, 401, 403, 404, 408, 409, 422, 429, 500, 503] {
        let verdict = verdict::callback(problem(status, "news"));
        assert!(matches!(verdict, Called::Failed(_)), "{status}: {verdict:?}");
    }
    for failure in FAILURES {
        assert!(matches!(verdict::callback(Answer::Failed(failure.into())), Called::Failed(_)));
    }
}

#[test]
fn authenticated_answers_are_got_unauthorized_skewed_or_failed() {
    let fetch = verdict::fetch::<HeartbeatResponse>;
    let body =
        r#"{"accepted_at":"2026-01-15T10:30:00Z","reconcile":true,"rotate_keys":false,"x":1}"#;
    assert!(matches!(fetch(&responded(200, body)), Fetched::Got(got) if got.reconcile));
    for code in ["unauthorized", "nsk_invalid", "nsk_revoked", "news"] {
        assert!(matches!(fetch(&problem(401, code)), Fetched::Unauthorized(_)), "{code}");
    }
    assert!(matches!(fetch(&problem(400, "clock_skew")), Fetched::ClockSkew(_)));
    for (status, code) in [(400, "news"), (403, "nsk_node_mismatch"), (404, "x"), (500, "x")] {
        assert!(matches!(fetch(&problem(status, code)), Fetched::Failed(_)), "{status} {code}");
    }
    for body in ["", "{}", "[]"] {
        assert!(matches!(fetch(&responded(200, body)), Fetched::Failed(_)), "{body}");
    }
}

#[test]
fn a_code_counts_only_in_a_problem_document() {
    let body = r#"{"code":"execution_already_terminal","correlation_id":"c0ffee"}"#;
    assert_eq!(verdict::callback(responded(409, body)), Called::Failed("409".into()));
    let Registered::Stop { code, reason, .. } = register(responded(403, body)) else {
        panic!("403 stops")
    };
    assert_eq!((code, reason.as_str()), (None, "403"));
}

#[test]
fn the_reason_tells_status_code_detail_and_the_id_of_the_body_before_that_of_the_header() {
    let text = |body: &str| {
        let response = Response { body: body.into(), ..Response::empty(409) }
            .with("Content-Type", "Application/Problem+JSON; charset=utf-8")
            .with("X-Correlation-Id", "in-header");
        let Called::Failed(reason) = verdict::callback(Answer::Responded(response)) else {
            panic!("an unknown code fails")
        };
        reason
    };
    let full = r#"{"code":"news","detail":"told so","correlation_id":"in-body"}"#;
    assert_eq!(text(full), "409: news: told so (correlation id in-body)");
    assert_eq!(text("{}"), "409 (correlation id in-header)");
    assert_eq!(text("broken"), "409 (correlation id in-header)");
}

/// What a report and its deletion meet alike.
fn undelivered(read: fn(&Answer) -> Delivery) {
    let Delivery::Invalid(reason) = read(&problem(400, "invalid_report")) else {
        panic!("never taken")
    };
    assert_eq!(reason, "400: invalid_report: told so (correlation id c0ffee)");
    assert_eq!(read(&problem(501, "reports_not_provisioned")), Delivery::NotProvisioned);
    let transient = [
        (400, "news"),
        (401, "unauthorized"),
        (403, "nsk_node_mismatch"),
        (404, "news"),
        (408, "news"),
        (409, "news"),
        (413, "news"),
        (429, "news"),
        (500, "news"),
        (501, "news"),
        (503, "news"),
        (501, "invalid_report"),
        (400, "reports_not_provisioned"),
        (302, "news"),
    ];
    for (status, code) in transient {
        let delivery = read(&problem(status, code));
        assert!(matches!(delivery, Delivery::Transient(_)), "{status} {code}: {delivery:?}");
    }
    for failure in FAILURES {
        assert!(matches!(read(&Answer::Failed(failure.into())), Delivery::Transient(_)));
    }
}

#[test]
fn a_report_is_delivered_by_a_body_that_says_so() {
    undelivered(verdict::put_report);
    let accepted = r#"{"accepted_at":"2027-01-15T08:00:00Z","key":"a"}"#;
    for status in [200, 201, 299] {
        assert_eq!(verdict::put_report(&responded(status, accepted)), Delivery::Delivered);
        for body in ["", "nonsense", "[]", "{}"] {
            let delivery = verdict::put_report(&responded(status, body));
            assert!(matches!(delivery, Delivery::Transient(_)), "{status} {body}");
        }
    }
    let missing = verdict::put_report(&problem(404, "report_not_found"));
    assert!(matches!(missing, Delivery::Transient(_)));
}

#[test]
fn a_deletion_is_delivered_by_any_success_and_where_nothing_is_there() {
    undelivered(verdict::delete_report);
    for status in [200, 204] {
        assert_eq!(verdict::delete_report(&responded(status, "")), Delivery::Delivered);
    }
    let missing = problem(404, "report_not_found");
    assert_eq!(verdict::delete_report(&missing), Delivery::Delivered);
}
