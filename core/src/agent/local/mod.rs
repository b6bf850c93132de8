//! What the node-local API and the health listener answer: reads of what the agent knows.
//!
//! Specification: "Local HTTP API" and "Health listener"; `decisions.md` section 8 (Local API misses).

mod actions;
pub mod bearer;
pub mod gate;
pub mod head;
mod health;
mod hooks;
pub mod places;
mod report;
mod route;
pub mod secret;

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::Serialize;

use super::{
    hooks::Hooks, network::Network, readiness::Readiness, reports::Reports, secrets::Secrets,
    view::View,
};
use crate::wire::{
    http::Response,
    json::{self, Raw},
    local::{DELIVERY_MODE, ForwarderStatus, LocalError, Metadatum, StateSummary, Status},
};
pub use actions::{ran, read_order};
pub use health::health;
pub use hooks::{not_reloaded, reloaded};
pub use report::{CONTENT_TYPE_MAX, read_report, reported};
pub use route::{Ask, METRICS, Miss, REPORT_BODY_MAX, RUN_BODY_MAX, Read, route};

/// What there is to read.
#[derive(Clone, Debug)]
pub struct Shelf<'a> {
    pub view: &'a View,
    /// How the desired state reaches this node: metadata that no pull brings.
    pub delivery_mode: Option<&'static str>,
    pub network: &'a Network,
    pub secrets: &'a Secrets,
    /// The names of the built-in actions.
    pub builtins: &'a [String],
    pub hooks: &'a Hooks,
    pub reports: &'a Reports,
    pub readiness: Readiness,
    pub status: Status,
    pub logs: ForwarderStatus,
    pub audit: ForwarderStatus,
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
        Read::Actions => found(&actions::described(shelf.builtins, shelf.hooks)),
        Read::AuditStatus => found(&shelf.audit),
        Read::Hooks => found(&shelf.hooks.list()),
        Read::LogStatus => found(&shelf.logs),
        Read::Peers => found(&shelf.network.peers),
        Read::Policies => policy(shelf.network.policy.as_ref()),
        Read::Secrets => secret::hidden(found(&shelf.secrets.summary())),
        Read::Data => found(&shelf.view.data_keys().collect::<Vec<_>>()),
        Read::DataEntry(key) => shelf.view.data.get(&key).map_or_else(missing, found),
        Read::Metadata => found(&metadata(shelf)),
        Read::Metadatum(key) => match metadata(shelf).remove(&key) {
            Some(value) => found(&Metadatum { key, value }),
            None => missing(),
        },
        Read::Report(key) => report::look_up_report(shelf.reports, &key),
        Read::Reports => found(&shelf.reports.summaries().collect::<Vec<_>>()),
        Read::State => {
            let (secret_keys, report_keys) =
                (shelf.secrets.summary(), shelf.reports.summaries().collect());
            let metadata = metadata(shelf);
            found(&StateSummary { metadata, secret_keys, report_keys, ..shelf.view.summary() })
        }
        Read::Status => found(&shelf.status),
    }
}

/// That of the last good pull, and what the agent tells itself, which counts where both have a key.
fn metadata(shelf: &Shelf<'_>) -> BTreeMap<String, String> {
    let mut metadata = shelf.view.metadata.clone();
    let own = shelf.delivery_mode.map(|mode| (DELIVERY_MODE.into(), mode.into()));
    metadata.extend(own);
    metadata
}

/// The policy as it came, or an object without members where there is none.
fn policy(active: Option<&Raw>) -> Response {
    active.map_or_else(|| Response::json(200, b"{}".to_vec()), found)
}

fn found<T: Serialize>(value: &T) -> Response {
    Response::json(200, json::encode(value))
}

fn missing() -> Response {
    refusal(404, "not found")
}

pub fn refusal(status: u16, error: &str) -> Response {
    Response::json(status, json::encode(&LocalError { error: error.into() }))
}
