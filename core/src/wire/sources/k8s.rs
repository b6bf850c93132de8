//! The audit log of a Kubernetes API server: one event of `audit.k8s.io` a line.
//!
//! | Of an entry | From |
//! |---|---|
//! | `timestamp` | `stageTimestamp`, else `requestReceivedTimestamp` |
//! | `event_type` | `stage`, empty without one: the verb is the action already, and one request makes an event a stage |
//! | `subject` | `{"username":…,"groups":[…]}` of the user who asked |
//! | `object` | the text `namespace/resource/name`, parts that are missing being empty; of what is no resource the path |
//! | `action` | `verb` |
//! | `result` | success where the status is 2xx, failure for any other, none without one |
//!
//! A time is needed, and a verb or the kind; what is null is absent.
//!
//! Unspecified: the shape of an event; it is that of `audit.k8s.io/v1`. Specification: "Internal record shapes (local
//! endpoint delivery)"; `decisions.md` section 8 (k8s audit); `gaps-agent.md` 4.1 (k8s audit).

use alloc::{borrow::Cow, format, string::String, sync::Arc, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{lines, raw};
use crate::wire::{
    json,
    record::{AuditEntry, AuditOrigin, Outcome},
    timestamp::Timestamp,
};

/// The longest line that is read, in bytes; an event may hold the bodies of its request and its answer.
pub const LINE_MAX: usize = 1 << 20;

/// How many groups of a user are named.
pub const GROUPS_MAX: usize = 64;

/// The longest name of a user, a group, a verb or a part of an object, in bytes; what is longer is cut.
pub const NAME_MAX: usize = 1 << 10;

const GROUP: &str = "audit.k8s.io/";
const KIND: &str = "Event";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'t> {
    #[serde(borrow)]
    kind: Option<Cow<'t, str>>,
    #[serde(borrow)]
    api_version: Option<Cow<'t, str>>,
    #[serde(borrow)]
    stage: Option<Cow<'t, str>>,
    #[serde(borrow)]
    verb: Option<Cow<'t, str>>,
    #[serde(borrow, rename = "requestURI")]
    request_uri: Option<Cow<'t, str>>,
    #[serde(borrow)]
    user: Option<User<'t>>,
    #[serde(borrow)]
    object_ref: Option<ObjectRef<'t>>,
    response_status: Option<Status>,
    #[serde(borrow)]
    request_received_timestamp: Option<Cow<'t, str>>,
    #[serde(borrow)]
    stage_timestamp: Option<Cow<'t, str>>,
}

impl Event<'_> {
    /// Whether it is an event for all that it says of itself, which may be that somebody does something, and no more.
    fn is_meant(&self) -> bool {
        let (kind, group, verb) = (given(&self.kind), given(&self.api_version), given(&self.verb));
        let is_kind = kind.is_empty() || kind == KIND;
        let is_group = group.is_empty() || group.starts_with(GROUP);
        is_kind && is_group && !(kind.is_empty() && verb.is_empty())
    }
}

#[derive(Deserialize)]
struct User<'t> {
    #[serde(borrow, default)]
    username: Cow<'t, str>,
    #[serde(borrow, default)]
    groups: Vec<Cow<'t, str>>,
}

#[derive(Deserialize)]
struct ObjectRef<'t> {
    #[serde(borrow, default)]
    namespace: Cow<'t, str>,
    #[serde(borrow, default)]
    resource: Cow<'t, str>,
    #[serde(borrow, default)]
    name: Cow<'t, str>,
}

#[derive(Deserialize)]
struct Status {
    code: Option<i64>,
}

#[derive(Default, Serialize)]
struct Subject {
    username: String,
    groups: Vec<String>,
}

/// Reads one line; `None` where it is no such event.
pub fn entry(line: &[u8], hostname: &Arc<str>) -> Option<AuditEntry> {
    let event: Event<'_> = json::decode_tolerant(line).ok()?;
    if !event.is_meant() {
        return None;
    }
    let set = |text: &Option<Cow<'_, str>>| {
        Timestamp::parse(text.as_deref()?).ok().filter(|at| !at.is_zero())
    };
    Some(AuditEntry {
        timestamp: set(&event.stage_timestamp)
            .or_else(|| set(&event.request_received_timestamp))?,
        source: AuditOrigin::K8sAudit,
        event_type: name(given(&event.stage)),
        subject: text(json::encode(&subject(event.user.as_ref()))),
        object: text(json::encode(&object(&event))),
        action: name(given(&event.verb)),
        result: event.response_status.as_ref().and_then(result),
        hostname: Arc::clone(hostname),
        raw: lines::text(line),
    })
}

fn subject(user: Option<&User<'_>>) -> Subject {
    let Some(User { username, groups }) = user else { return Subject::default() };
    let groups = groups.iter().take(GROUPS_MAX).map(|group| name(group)).collect();
    Subject { username: name(username), groups }
}

/// What is null is absent.
fn given<'t>(text: &'t Option<Cow<'_, str>>) -> &'t str {
    text.as_deref().unwrap_or_default()
}

/// A query may hold what is nobody's business.
fn object(event: &Event<'_>) -> String {
    match &event.object_ref {
        Some(of) => format!("{}/{}/{}", name(&of.namespace), name(&of.resource), name(&of.name)),
        None => name(given(&event.request_uri).split('?').next().unwrap_or_default()),
    }
}

fn result(status: &Status) -> Option<Outcome> {
    match status.code? {
        200..=299 => Some(Outcome::Success),
        // What a status without a code is written as by older servers.
        0 => None,
        _ => Some(Outcome::Failure),
    }
}

fn name(text: &str) -> String {
    raw::short(text.as_bytes(), NAME_MAX)
}

fn text(json: Vec<u8>) -> String {
    String::from_utf8(json).expect("JSON is written as text")
}
