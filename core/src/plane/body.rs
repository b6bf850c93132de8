//! How much of a request's body is read, told from its head alone.
//!
//! Specification: "Limits"; `decisions.md` section 7 (Body cap where none is named; gzip).

use super::{
    Listener, Plane, Settings, admit, endpoint, ingest, integrity, register, reports, route, serve,
    session, upload::Token,
};
use crate::{
    ids::ExecutionId,
    wire::{
        call::{Call, Test},
        execution,
        http::{Headers, Request},
        rotation,
    },
};

/// The longest body where the specification names no cap, in bytes.
const BODY_MAX: usize = 16 << 20;

/// How a body is read that a test or a co-located program sends, where it is announced as gzip.
const INFLATING: BodyRule = BodyRule::inflating(BODY_MAX, BODY_MAX);

/// How the body of a request is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyRule {
    /// The longest body as it is sent, in bytes; one byte more makes it oversized.
    pub cap: usize,
    /// The longest body after inflating, in bytes; `None` where the body is taken as it is sent.
    pub inflated_cap: Option<usize>,
}

impl BodyRule {
    /// Nothing is read.
    pub const UNREAD: Self = Self::plain(0);

    /// Taken as it is sent.
    pub const fn plain(cap: usize) -> Self {
        Self { cap, inflated_cap: None }
    }

    /// Inflated.
    pub const fn inflating(cap: usize, inflated_cap: usize) -> Self {
        Self { cap, inflated_cap: Some(inflated_cap) }
    }

    /// What this is for a body with these headers: one that is not announced as gzip is taken as it is sent.
    fn announced(self, headers: &Headers) -> Self {
        let encoding = headers.first("content-encoding").unwrap_or_default().trim();
        match encoding.eq_ignore_ascii_case("gzip") {
            true => self,
            false => Self::plain(self.cap),
        }
    }
}

/// Tells from the head alone how the body is to be read; a request that is refused for its head is not read at all.
pub fn body_rule(settings: &Settings, listener: Listener, head: &Request) -> BodyRule {
    rule_of(settings, listener, head, route::route(listener, head.method, &head.path))
}

fn rule_of(
    settings: &Settings,
    listener: Listener,
    head: &Request,
    routed: Result<Call, route::Miss>,
) -> BodyRule {
    if admit::admit(listener, &head.path, &head.headers).is_err() {
        return BodyRule::UNREAD;
    }
    match routed {
        Ok(Call::Ingest { .. }) if ingest::judge_head(settings, &head.headers).is_err() => {
            BodyRule::UNREAD
        }
        Ok(Call::Local(_)) if admit::admit_local(&head.headers).is_err() => BodyRule::UNREAD,
        Ok(Call::PutReport { key, .. }) if reports::key(&key).is_err() => BodyRule::UNREAD,
        Ok(call) => rule(&call).announced(&head.headers),
        Err(_) => BodyRule::UNREAD,
    }
}

/// Whether a head announces that nothing follows it, in no encoding.
fn is_bodiless(headers: &Headers) -> bool {
    headers.first("transfer-encoding").is_none()
        && headers.all("content-length").all(|length| length == "0")
        && headers.first("content-encoding").is_none()
}

/// Whether a route has no body that it could refuse.
pub(super) fn is_unread(call: &Call) -> bool {
    rule(call) == BodyRule::UNREAD
}

fn rule(call: &Call) -> BodyRule {
    match call {
        Call::Register => BodyRule::plain(register::BODY_MAX),
        Call::RotateKeys => BodyRule::plain(rotation::BODY_MAX),
        Call::Endpoint { .. } => BodyRule::plain(endpoint::BODY_MAX),
        Call::Execution { .. } => BodyRule::plain(execution::BODY_MAX),
        Call::ExecOutput { .. } => BodyRule::plain(UPLOAD_MAX),
        Call::Session { .. } => BodyRule::plain(session::BODY_MAX),
        Call::IntegrityViolations { .. } => BodyRule::plain(integrity::BODY_MAX),
        Call::Heartbeat { .. } | Call::Capabilities { .. } | Call::PutReport { .. } => {
            BodyRule::plain(BODY_MAX)
        }
        Call::Ingest { .. } => ingest::BODY_RULE,
        Call::Local(_) => INFLATING,
        Call::Test(test) => test_rule(test),
        Call::Health
        | Call::State { .. }
        | Call::Reachability { .. }
        | Call::Events { .. }
        | Call::Secret { .. }
        | Call::DeleteReport { .. }
        | Call::Release { .. }
        | Call::OpenApi => BodyRule::UNREAD,
    }
}

const fn test_rule(test: &Test) -> BodyRule {
    match test {
        Test::ConfigureState
        | Test::ConfigureHeartbeat
        | Test::ConfigureEndpoint
        | Test::ConfigureEvents
        | Test::ConfigureSecrets
        | Test::InjectEvent
        | Test::Verify
        | Test::AddFault => INFLATING,
        Test::Bearer
        | Test::Assertions
        | Test::LastRequest { .. }
        | Test::Requests
        | Test::ClearRequests
        | Test::Faults
        | Test::ClearFaults
        | Test::RemoveFault { .. }
        | Test::Executions
        | Test::ExecOutput { .. }
        | Test::Info
        | Test::Reset
        | Test::TlsCert
        | Test::Ui => BodyRule::UNREAD,
    }
}

/// No upload URL is minted for more.
const UPLOAD_MAX: usize = execution::DECLARED_OUTPUT_MAX as usize;

impl Plane {
    /// As [`body_rule`], and an upload is read no further than its own token allows; where there is no body, nothing is
    /// asked of the route.
    pub fn body_rule(&self, settings: &Settings, listener: Listener, head: &Request) -> BodyRule {
        if is_bodiless(&head.headers) {
            return BodyRule::UNREAD;
        }
        match route::route(listener, head.method, &head.path) {
            Ok(Call::ExecOutput { execution }) => {
                let token = serve::token(head.query.as_deref());
                BodyRule::plain(self.upload_room(&ExecutionId(execution), token))
            }
            routed => rule_of(settings, listener, head, routed),
        }
    }

    fn upload_room(&self, execution: &ExecutionId, token: Option<Token>) -> usize {
        let room = self.executions.uploads().room(execution, token).unwrap_or_default();
        usize::try_from(room).unwrap_or(UPLOAD_MAX)
    }
}
