//! Which question a path asks.

use alloc::string::{String, ToString};

use crate::wire::http::percent_decode;

/// A route that reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Read {
    Data,
    DataEntry(String),
    Metadata,
    Metadatum(String),
    State,
    Status,
}

/// A key may hold slashes, encoded or not.
pub(super) fn route(path: &str) -> Option<Read> {
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
