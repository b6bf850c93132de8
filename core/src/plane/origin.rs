//! Who may change the fixture from a browser: its own page, and nobody that a name or another site stands for.
//!
//! A page of another site can send requests to a fixture on the same machine. What it changes is refused by its
//! `Origin`; a name that such a site lets point at this machine is refused by `Host`. A client that is no browser sends
//! no `Origin`, and asks by an address.
//!
//! Specification: none; the routes under `/test/` are the fixture's own.

use core::net::{Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use crate::wire::http::{Headers, Method};

/// Why a request may not change the fixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error(
        "the Host header names a site of the Internet: ask by an IP address, localhost, a name without dots, or one that ends in .local, .internal or .test"
    )]
    Host,
    #[error("the Origin header is of another site than this fixture")]
    Origin,
}

/// Domains that nobody can register, and that private networks use.
const LOCAL: [&str; 4] = ["internal", "local", "localhost", "test"];

/// Lets a request to a route under `/test/` through; one that only looks always passes.
pub fn admit(method: Method, headers: &Headers) -> Result<(), Refusal> {
    if matches!(method, Method::Get | Method::Head) {
        return Ok(());
    }
    let host = headers.first("host").unwrap_or_default();
    if !host.is_empty() && !is_here(name(host)) {
        return Err(Refusal::Host);
    }
    let own = |origin: &str| {
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
    };
    if headers.all("origin").all(own) { Ok(()) } else { Err(Refusal::Origin) }
}

/// The host without its port.
fn name(host: &str) -> &str {
    if host.starts_with('[') {
        return host.split_inclusive(']').next().unwrap_or(host);
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

/// Whether no site of the Internet can have this name.
fn is_here(name: &str) -> bool {
    let literal = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match literal {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => {
            let domain = name.rsplit_once('.').map(|(_, last)| last.to_ascii_lowercase());
            let local = domain.is_none_or(|last| LOCAL.contains(&last.as_str()));
            !name.is_empty() && (local || name.parse::<Ipv4Addr>().is_ok())
        }
    }
}
