//! What the node-local API and the health listener answer: reads of what the agent knows.
//!
//! Specification: "Local HTTP API" and "Health listener"; `decisions.md` section 8 (Local API misses).

mod health;
mod route;

use alloc::vec::Vec;

use serde::Serialize;

use super::{facts::Door, readiness::Readiness, view::View};
use crate::wire::{
    http::{Method, Request, Response},
    json,
    local::{LocalError, Metadatum, Status},
};
use route::{Read, route};

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
        Door::Health => health::health(shelf.readiness, request),
        Door::Socket => state(shelf, request),
    }
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
