//! Which question a request asks, and how long its body may be.
//!
//! Specification: "Local HTTP API"; `decisions.md` section 8 (Local API misses).

use alloc::{borrow::ToOwned as _, string::String};

use crate::wire::{
    grammar::ReportKey,
    http::{Method, percent_decode},
};

/// "Local API report write body: 1 MiB".
pub const REPORT_BODY_MAX: usize = 1 << 20;

/// "actions/run 64 KiB".
pub const RUN_BODY_MAX: usize = 64 << 10;

/// The figures of the agent, at each of its doors.
pub const METRICS: &str = "/metrics";

/// What a program asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    Read(Read),
    DeleteReport(String),
    Metrics,
    PutReport(String),
    ReloadHooks,
    RunAction,
    Secret(String),
    Watch,
}

impl Ask {
    /// How much of its body is read, in bytes; what the rest of it would not change is not read at all.
    pub fn body_max(&self) -> usize {
        match self {
            Self::PutReport(key) if ReportKey::parse(key).is_ok() => REPORT_BODY_MAX,
            Self::RunAction => RUN_BODY_MAX,
            Self::PutReport(_)
            | Self::Read(_)
            | Self::DeleteReport(_)
            | Self::Metrics
            | Self::ReloadHooks
            | Self::Secret(_)
            | Self::Watch => 0,
        }
    }

    /// Whether it is answered when a run has ended, which has a limit of its own.
    pub const fn takes_long(&self) -> bool {
        match self {
            Self::RunAction => true,
            Self::DeleteReport(_)
            | Self::Metrics
            | Self::PutReport(_)
            | Self::Read(_)
            | Self::ReloadHooks
            | Self::Secret(_)
            | Self::Watch => false,
        }
    }
}

/// What is known already, and only looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    Actions,
    AuditStatus,
    Data,
    DataEntry(String),
    Hooks,
    LogStatus,
    Metadata,
    Metadatum(String),
    Peers,
    Policies,
    Report(String),
    Reports,
    Secrets,
    State,
    Status,
}

/// Why a request asks nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    NotFound,
    Method {
        /// The methods that would do.
        allow: &'static str,
    },
}

/// What a path names.
enum Place {
    /// To be read, by this.
    Read(Ask),
    /// To be ordered, by this.
    Order(Ask),
    Report(String),
}

/// Finds the question that a request asks.
pub fn route(method: Method, path: &str) -> Result<Ask, Miss> {
    let place = place(path).ok_or(Miss::NotFound)?;
    match (place, method) {
        (Place::Read(ask), Method::Get | Method::Head) | (Place::Order(ask), Method::Post) => {
            Ok(ask)
        }
        (Place::Report(key), Method::Get | Method::Head) => Ok(Ask::Read(Read::Report(key))),
        (Place::Report(key), Method::Put) => Ok(Ask::PutReport(key)),
        (Place::Report(key), Method::Delete) => Ok(Ask::DeleteReport(key)),
        (Place::Read(_), _) => Err(Miss::Method { allow: "GET, HEAD" }),
        (Place::Order(_), _) => Err(Miss::Method { allow: "POST" }),
        (Place::Report(_), _) => Err(Miss::Method { allow: "DELETE, GET, HEAD, PUT" }),
    }
}

/// The words of a path are compared as they came; a key is decoded once.
fn place(path: &str) -> Option<Place> {
    if path == METRICS {
        return Some(Place::Read(Ask::Metrics));
    }
    let rest = path.strip_prefix("/v1/")?;
    let read = |read| Some(Place::Read(Ask::Read(read)));
    match rest {
        "actions" => read(Read::Actions),
        "actions/run" => Some(Place::Order(Ask::RunAction)),
        "audit/status" => read(Read::AuditStatus),
        "hooks" => read(Read::Hooks),
        "hooks/reload" => Some(Place::Order(Ask::ReloadHooks)),
        "log-status" => read(Read::LogStatus),
        "peers" => read(Read::Peers),
        "policies" => read(Read::Policies),
        "state" => read(Read::State),
        "state/data" => read(Read::Data),
        "state/metadata" => read(Read::Metadata),
        "state/report" => read(Read::Reports),
        "state/secrets" => read(Read::Secrets),
        "status" => read(Read::Status),
        "watch" => Some(Place::Read(Ask::Watch)),
        _ => entry(rest.strip_prefix("state/")?),
    }
}

/// A key of metadata or data may hold slashes, encoded or not; one of a report or secret that does is refused as a
/// key, and a path with more words than a key names nothing.
fn entry(rest: &str) -> Option<Place> {
    let (block, key) = rest.split_once('/').filter(|(_, key)| !key.is_empty())?;
    let decoded = percent_decode(key);
    match block {
        "data" => Some(Place::Read(Ask::Read(Read::DataEntry(decoded?)))),
        "metadata" => Some(Place::Read(Ask::Read(Read::Metadatum(decoded?)))),
        "report" | "secrets" if key.contains('/') => None,
        // What cannot be decoded is no key either, and is refused with the others.
        "report" => Some(Place::Report(decoded.unwrap_or_else(|| key.to_owned()))),
        "secrets" => Some(Place::Read(Ask::Secret(decoded.unwrap_or_else(|| key.to_owned())))),
        _ => None,
    }
}
