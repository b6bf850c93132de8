//! Whether the host that a request wants names this machine or network, and not a site of the Internet that lets its name point here.
//!
//! Specification: none; both programs guard what a page of another site could reach on the same machine.

use core::net::{Ipv4Addr, Ipv6Addr};

use super::http::Headers;

/// The field.
const HOST: &str = "host";

/// Domains that nobody can register, and that private networks use.
const LOCAL: [&str; 4] = ["internal", "local", "localhost", "test"];

/// Holds the authority of a target in absolute form as one `Host` more: whoever judges where a request wants to go has to
/// find both here, as a proxy looks at the one and a server at the other.
pub fn hold(headers: &mut Headers, authority: &str) {
    headers.push(HOST, authority);
}

/// What a request names as the host that it wants, by its header and its target.
pub fn asked(headers: &Headers) -> impl Iterator<Item = &str> {
    headers.all(HOST)
}

/// Whether the header is absent, or names an address, the name `own` that the operator listens on, or a name that no
/// site of the Internet can have.
pub fn is_here(header: &str, own: &str) -> bool {
    let name = name(header);
    let is_own = !own.is_empty() && name.eq_ignore_ascii_case(own);
    header.is_empty() || is_own || is_private(name)
}

/// The host without its port.
fn name(host: &str) -> &str {
    if host.starts_with('[') {
        return host.split_inclusive(']').next().unwrap_or(host);
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

fn is_private(name: &str) -> bool {
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
