//! The counters of `GET /test/assertions`: what one answered request may add to them.

use std::collections::BTreeMap;

use meshward_core::wire::{
    call::{Call, Sink, Test},
    http::{Method, Response},
};

use crate::request::Drawn;

pub(crate) type Counts = BTreeMap<String, u64>;

/// Reads the body of `GET /test/assertions`.
pub(crate) fn read(response: &Response) -> Counts {
    assert_eq!(response.status, 200, "the counters can always be read");
    serde_json::from_slice(&response.body).expect("the counters are an object of integers")
}

/// Compares the counters before and after one request with what its answer says about it.
pub(crate) fn check(before: &Counts, after: &Counts, drawn: &Drawn, response: &Response) {
    if is_reset(drawn, response) {
        assert!(after.values().all(|count| *count == 0), "a reset leaves no count: {after:?}");
        return;
    }
    assert!(before.keys().eq(after.keys()), "the set of counters is fixed");
    let moved: Vec<(&str, u64)> = after
        .iter()
        .map(|(name, count)| {
            (name.as_str(), count.checked_sub(before[name]).expect("no counter decreases"))
        })
        .filter(|(_, added)| *added > 0)
        .collect();
    match due(drawn, response) {
        Due::Nothing => assert!(moved.is_empty(), "{drawn:?} moved {moved:?}"),
        Due::One(name) => assert_eq!(moved, [(name, 1)], "{drawn:?}"),
        Due::OneOrNothing(name) => {
            assert!(moved.is_empty() || moved == [(name, 1)], "{drawn:?} moved {moved:?}");
        }
        Due::AnyOne => assert!(moved.len() <= 1, "{drawn:?} moved {moved:?}"),
    }
}

pub(crate) fn is_reset(drawn: &Drawn, response: &Response) -> bool {
    drawn.call == Some(Call::Test(Test::Reset)) && response.status == 204
}

/// What a request adds, as the specification tells it for its route.
enum Due {
    Nothing,
    One(&'static str),
    /// A replay adds nothing.
    OneOrNothing(&'static str),
    /// The path was drawn raw and may be any route.
    AnyOne,
}

fn due(drawn: &Drawn, response: &Response) -> Due {
    let Some(call) = &drawn.call else { return Due::AnyOne };
    if response.status == 401 {
        // The local endpoints have a bearer of their own.
        let local = matches!(call, Call::Local(_));
        return if local { Due::Nothing } else { Due::One("unauthorized_count") };
    }
    let routed = drawn.request.method == call.method()
        || drawn.request.method == Method::Head && call.method() == Method::Get;
    match call {
        Call::Register if routed => Due::One("registration_count"),
        Call::Events { .. } if drawn.request.method == Method::Get => {
            Due::One("events_request_count")
        }
        Call::Session { .. } if response.status == 409 => {
            Due::One("session_activity_rejected_count")
        }
        Call::Secret { .. } if response.status == 429 => Due::One("secrets_rate_limited_count"),
        _ if !response.is_success() || !routed => Due::Nothing,
        Call::Local(Sink::Metrics) => Due::One("local_metrics_count"),
        Call::Local(Sink::Logs) => Due::One("local_logs_count"),
        Call::Local(Sink::Audit) => Due::One("local_audit_count"),
        Call::Heartbeat { .. } => Due::One("heartbeat_count"),
        Call::RotateKeys => Due::OneOrNothing("key_rotate_count"),
        Call::State { .. } => Due::One("state_count"),
        Call::Execution { .. } => Due::One("execution_callback_count"),
        Call::ExecOutput { .. } => Due::One("execution_upload_count"),
        Call::Capabilities { .. } => Due::One("capabilities_count"),
        Call::Endpoint { .. } => Due::One("endpoint_count"),
        Call::Session { .. } => Due::One("session_activity_count"),
        Call::Secret { .. } => Due::One("secrets_count"),
        Call::PutReport { .. } => Due::One("report_put_count"),
        Call::DeleteReport { .. } => Due::One("report_delete_count"),
        Call::Ingest { sink: Sink::Metrics, .. } => Due::One("metrics_count"),
        Call::Ingest { sink: Sink::Logs, .. } => Due::One("logs_count"),
        Call::Ingest { sink: Sink::Audit, .. } => Due::One("audit_count"),
        Call::IntegrityViolations { .. } => Due::One("integrity_violation_count"),
        Call::Test(Test::InjectEvent) => Due::One("inject_event_count"),
        Call::Health
        | Call::Register
        | Call::Reachability { .. }
        | Call::Events { .. }
        | Call::Release { .. }
        | Call::OpenApi
        | Call::Test(_) => Due::Nothing,
    }
}
