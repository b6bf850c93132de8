//! What the node-local API and the health listener answer: reads of what the agent knows.
//!
//! Specification: "Local HTTP API" and "Health listener"; `decisions.md` section 8 (Local API misses).

mod health;
mod report;
mod route;

use alloc::vec::Vec;

use serde::Serialize;

use super::{readiness::Readiness, reports::Reports, view::View};
use crate::wire::{
    http::Response,
    json,
    local::{LocalError, Metadatum, StateSummary, Status},
};
pub use health::health;
pub use report::{CONTENT_TYPE_MAX, read_report, reported};
pub use route::{Ask, BODY_MAX, Miss, REPORT_BODY_MAX, Read, body_max, route};

/// What there is to read.
#[derive(Clone, Debug)]
pub struct Shelf<'a> {
    pub view: &'a View,
    pub reports: &'a Reports,
    pub readiness: Readiness,
    pub status: Status,
}

/// Answers a request that asks nothing.
pub fn missed(miss: Miss) -> Response {
    match miss {
        Miss::NotFound => missing(),
        Miss::Method { allow } => refusal(405, "method not allowed").with("allow", allow),
    }
}

/// The answer where a part of the agent that is asked for does not run.
pub fn unavailable(error: &str) -> Response {
    refusal(503, error)
}

/// Answers what is only looked up.
pub fn look_up(shelf: &Shelf<'_>, read: Read) -> Response {
    match read {
        Read::Actions
        | Read::AuditStatus
        | Read::Hooks
        | Read::LogStatus
        | Read::Peers
        | Read::Policies
        | Read::Secrets => unavailable("not available"),
        Read::Data => found(&shelf.view.data_keys().collect::<Vec<_>>()),
        Read::DataEntry(key) => shelf.view.data.get(&key).map_or_else(missing, found),
        Read::Metadata => found(&shelf.view.metadata),
        Read::Metadatum(key) => match shelf.view.metadata.get(&key) {
            Some(value) => found(&Metadatum { key, value: value.clone() }),
            None => missing(),
        },
        Read::Report(key) => report::look_up_report(shelf.reports, &key),
        Read::Reports => found(&shelf.reports.summaries().collect::<Vec<_>>()),
        Read::State => {
            let report_keys = shelf.reports.summaries().collect();
            found(&StateSummary { report_keys, ..shelf.view.summary() })
        }
        Read::Status => found(&shelf.status),
    }
}

fn found<T: Serialize>(value: &T) -> Response {
    Response::json(200, json::encode(value))
}

fn missing() -> Response {
    refusal(404, "not found")
}

fn refusal(status: u16, error: &str) -> Response {
    Response::json(status, json::encode(&LocalError { error: error.into() }))
}
