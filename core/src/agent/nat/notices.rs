//! What the operator is told of the endpoint.

use alloc::{format, string::String};
use core::time::Duration;

use super::{Found, Mapping};
use crate::{agent::notice::Notice, wire::grammar::ReachableAddr};

/// A new endpoint, or one that is found again; behind a symmetric NAT the port alone changes all the time and is not worth a line.
pub(super) fn found(known: Option<Found>, missed: bool, now: Found, mapping: Mapping) -> Notice {
    let text = format!("seen from outside, this node is at {}: {}", now.endpoint, words(mapping));
    let is_news = known.is_none_or(|known| {
        let moves = mapping == Mapping::Symmetric && known.nat_type == now.nat_type;
        let known_types = known.nat_type != now.nat_type && mapping != Mapping::Unknown;
        known.endpoint.ip() != now.endpoint.ip()
            || !moves && known.endpoint != now.endpoint
            || known_types
    });
    if is_news || missed { Notice::info(text) } else { Notice::debug(text) }
}

const fn words(mapping: Mapping) -> &'static str {
    match mapping {
        Mapping::None => "no NAT changes its port (full_cone)",
        Mapping::FullCone => "every server sees it there (full_cone)",
        Mapping::Symmetric => {
            "each server sees it elsewhere, so that peers may not reach it directly (symmetric)"
        }
        Mapping::Unknown => "one server answered, which does not tell the kind of NAT (unknown)",
    }
}

pub(super) fn missed(known: Option<ReachableAddr>, reason: &str) -> Notice {
    let then = match known {
        Some(endpoint) => format!("it stays at {endpoint}, as it was seen last"),
        None => "it is tried again".into(),
    };
    Notice::warn(format!("how this node is seen from outside is not found out: {reason}; {then}"))
}

pub(super) fn given_up(endpoint: ReachableAddr) -> Notice {
    Notice::warn(format!(
        "no server has confirmed the endpoint {endpoint} for an hour: it is not told any more"
    ))
}

pub(super) fn shortened(every: Duration, refresh: Duration) -> Notice {
    Notice::warn(format!(
        "the control plane lets the endpoint lapse early: it is reported again after {} s, and not after {} s \
         (nat.refresh_interval)",
        every.as_secs(),
        refresh.as_secs()
    ))
}

/// Of the servers that are of no use, while another one is.
pub(super) fn lame(faults: &[String]) -> Option<Notice> {
    (!faults.is_empty())
        .then(|| Notice::debug(format!("of the STUN servers: {}", faults.join("; "))))
}
