//! What the head of a request tells alone, before anything of its body is read or asked for.
//!
//! Specification: "Authentication" of the node agent, rule 1; "Local HTTP API".

use alloc::string::ToString as _;

use super::{Ask, bearer, health, missed, refusal, route};
use crate::{
    agent::facts::{Door, TcpSettings},
    wire::{
        framing::{Flaw, Refused},
        http::{Request, Response},
    },
};

/// Finds the question that a request asks, or its answer where it may not ask, or asks nothing.
pub fn asked(tcp: Option<&TcpSettings>, door: Door, head: &Request) -> Result<Ask, Response> {
    if door == Door::Tcp {
        bearer::admit(tcp, &head.headers)?;
    }
    route(head.method, &head.path).map_err(missed)
}

/// How much of the body behind a head is read, in bytes, or the answer where no more is needed for it.
pub fn read_max(tcp: Option<&TcpSettings>, door: Door, head: &Request) -> Result<usize, Response> {
    match door {
        Door::Health => Ok(0),
        Door::Socket | Door::Tcp => asked(tcp, door, head).map(|ask| ask.body_max()),
    }
}

/// Whether the answer may take longer than others.
pub fn takes_long(door: Door, head: &Request) -> bool {
    match door {
        Door::Health => false,
        Door::Socket | Door::Tcp => {
            route(head.method, &head.path).is_ok_and(|ask| ask.takes_long())
        }
    }
}

/// Answers a head that is no request. One that only tells its length twice is judged like any other before.
pub fn turned_away(tcp: Option<&TcpSettings>, door: Door, refused: &Refused) -> Response {
    let (status, text) = (refused.flaw.status(), refused.flaw.to_string());
    match door {
        Door::Health => health::line(status, &text),
        Door::Socket | Door::Tcp if refused.flaw == Flaw::RepeatedLength => {
            asked(tcp, door, &refused.request).map_or_else(|no| no, |_| refusal(status, &text))
        }
        Door::Socket | Door::Tcp => refusal(status, &text),
    }
}
