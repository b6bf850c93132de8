//! Bodies of the routes that tell what was requested, and that wait for it.
//!
//! Specification: `decisions.md` sections 6 and 7 (`GET /test/requests`); the body of `POST /test/verify`.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::timestamp::Timestamp;

/// What `GET /test/requests` answers, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Requests<'j> {
    pub requests: Vec<Entry<'j>>,
}

/// One answered request; what it lacks is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry<'j> {
    pub seq: u64,
    pub time: Timestamp,
    pub method: &'static str,
    pub path: &'j str,
    pub query: Option<&'j str>,
    /// Null where a fault let no answer out.
    pub status: Option<u16>,
    pub code: Option<&'j str>,
    /// Which rule of which machine refused the request.
    pub rule: Option<&'j str>,
    pub duration_ms: u64,
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub body: Option<&'j str>,
}

/// The body of `POST /test/verify` as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verify {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u64>,
}

/// What a verification that holds is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matched {
    pub matched: u64,
}
