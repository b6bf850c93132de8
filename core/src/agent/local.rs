//! What the node-local API and the health listener answer: reads of what the agent knows.
//!
//! Specification: "Local HTTP API" and "Health listener"; `decisions.md` section 8 (Local API misses).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use super::{facts::Door, readiness::Readiness, view::View};
use crate::wire::{
    http::{Method, Request, Response, percent_decode},
    json,
    local::{LocalError, Metadatum, Status},
};

/// What there is to read.
#[derive(Clone, Debug)]
pub struct Shelf<'a> {
    pub view: &'a View,
    pub readiness: Readiness,
    pub status: Status,
}

/// Answers one request.
pub fn answer(shelf: &Shelf<'_>, door: Door, request: &Request) -> Response {
    match door {
        Door::Health => health(shelf.readiness, request),
        Door::Socket => state(shelf, request),
    }
}

fn health(readiness: Readiness, request: &Request) -> Response {
    let known = matches!(request.path.as_str(), "/healthz" | "/readyz");
    match (known, request.method) {
        (false, _) => line(404, "not found"),
        (true, Method::Get | Method::Head)
            if request.path == "/healthz" || readiness.is_ready() =>
        {
            line(200, "ok")
        }
        (true, Method::Get | Method::Head) => line(503, readiness.as_str()),
        (true, Method::Post | Method::Put | Method::Delete | Method::Other) => {
            line(405, "method not allowed").with("allow", "GET, HEAD")
        }
    }
}

fn line(status: u16, text: &str) -> Response {
    let mut body = text.as_bytes().to_vec();
    body.push(b'\n');
    Response { body, ..Response::empty(status) }.with("content-type", "text/plain; charset=utf-8")
}

/// A route that reads.
enum Read {
    Data,
    DataEntry(String),
    Metadata,
    Metadatum(String),
    State,
    Status,
}

fn state(shelf: &Shelf<'_>, request: &Request) -> Response {
    let Some(read) = route(&request.path) else { return refusal(404, "not found") };
    match request.method {
        Method::Get | Method::Head => look_up(shelf, read),
        Method::Post | Method::Put | Method::Delete | Method::Other => {
            refusal(405, "method not allowed").with("allow", "GET, HEAD")
        }
    }
}

/// A key may hold slashes, encoded or not.
fn route(path: &str) -> Option<Read> {
    let path = percent_decode(path)?;
    let key = |prefix: &str| {
        path.strip_prefix(prefix).filter(|key| !key.is_empty()).map(ToString::to_string)
    };
    match path.as_str() {
        "/v1/state" => Some(Read::State),
        "/v1/state/data" => Some(Read::Data),
        "/v1/state/metadata" => Some(Read::Metadata),
        "/v1/status" => Some(Read::Status),
        _ => key("/v1/state/data/")
            .map(Read::DataEntry)
            .or_else(|| key("/v1/state/metadata/").map(Read::Metadatum)),
    }
}

fn look_up(shelf: &Shelf<'_>, read: Read) -> Response {
    match read {
        Read::Data => found(&shelf.view.data_keys().collect::<Vec<_>>()),
        Read::DataEntry(key) => shelf.view.data.get(&key).map_or_else(missing, found),
        Read::Metadata => found(&shelf.view.metadata),
        Read::Metadatum(key) => match shelf.view.metadata.get(&key) {
            Some(value) => found(&Metadatum { key, value: value.clone() }),
            None => missing(),
        },
        Read::State => found(&shelf.view.summary()),
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
