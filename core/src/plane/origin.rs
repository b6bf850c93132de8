//! Who may change the fixture from a browser: its own page, and nobody that a name or another site stands for.
//!
//! A page of another site can send requests to a fixture on the same machine. What it changes is refused by its
//! `Origin`; a name that such a site lets point at this machine is refused by `Host`. A client that is no browser sends
//! no `Origin`, and asks by an address.
//!
//! Specification: none; the routes under `/test/` are the fixture's own.

use thiserror::Error;

use crate::wire::{
    host,
    http::{Headers, Method},
};

/// Why a request may not change the fixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error(
        "the Host header names a site of the Internet: ask by an IP address, localhost, the name that the fixture listens on, a name without dots, or one that ends in .local, .internal or .test"
    )]
    Host,
    #[error("the Origin header is of another site than this fixture")]
    Origin,
}

/// Lets a request to a route under `/test/` through; one that only looks always passes.
///
/// The name that the fixture was told to listen on, `own`, is its operator's choice.
pub fn admit(method: Method, own: &str, headers: &Headers) -> Result<(), Refusal> {
    if matches!(method, Method::Get | Method::Head) {
        return Ok(());
    }
    if !host::asked(headers).all(|host| host::is_here(host, own)) {
        return Err(Refusal::Host);
    }
    let same = |origin: &str| {
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let is_host = |host: &str| authority.is_some_and(|named| named.eq_ignore_ascii_case(host));
        host::asked(headers).count() > 0 && host::asked(headers).all(is_host)
    };
    if headers.all("origin").all(same) { Ok(()) } else { Err(Refusal::Origin) }
}
