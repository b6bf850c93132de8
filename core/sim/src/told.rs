//! Which records a batch holds, read from its bytes without the types of either end.

use meshward_core::{
    agent::Pipe,
    wire::{
        http::{Body, Request},
        json,
        timestamp::Timestamp,
    },
};
use serde::Deserialize;

use crate::chatter::{self, HUGE, Id};

/// A record as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// None of what no source has told.
    pub id: Option<Id>,
    pub at: Option<Timestamp>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Members {
    action: String,
    message: String,
    name: String,
    timestamp: Option<Timestamp>,
    value: f64,
}

/// The records of a request on one of the routes of the pipelines, as they are sent.
pub(crate) fn body(request: &Request) -> Option<(Pipe, &[u8])> {
    let (_, last) = request.path.rsplit_once('/')?;
    let pipe = Pipe::ALL.into_iter().find(|pipe| pipe.name() == last)?;
    match &request.body {
        Body::Whole(bytes) if request.path.starts_with("/v1/nodes/") => Some((pipe, bytes)),
        Body::Whole(_) | Body::Oversized | Body::Unreadable => None,
    }
}

/// Whether something between the two lets a request not pass for its size.
pub(crate) fn is_too_large(request: &Request) -> bool {
    let holds = |bytes: &[u8]| bytes.windows(HUGE.len()).any(|text| text == HUGE.as_bytes());
    body(request).is_some_and(|(_, bytes)| holds(bytes))
}

/// Each of the records, in their order.
pub(crate) fn read(pipe: Pipe, body: &[u8]) -> Vec<Told> {
    let members: Vec<Members> = match pipe {
        Pipe::Metrics => json::decode_tolerant(body).unwrap_or_default(),
        Pipe::Logs | Pipe::Audit => {
            let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.map(|line| json::decode_tolerant(line).unwrap_or_default()).collect()
        }
    };
    let told = members.into_iter().map(|members| Told {
        at: members.timestamp,
        id: match pipe {
            Pipe::Metrics => chatter::reads(&members.name, members.value),
            Pipe::Logs => chatter::named(&members.message),
            Pipe::Audit => chatter::named(&members.action),
        },
    });
    told.collect()
}
