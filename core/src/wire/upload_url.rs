//! The presigned address under which a node brings the output of a run, read before anything is sent to it.
//!
//! Specification: "Output upload" of the control plane and "Limits" of the node agent ("the node refuses an upload URL
//! with a weaker scheme than the control-plane base URL"); `decisions.md` section 8 (`object_key`). Unspecified: any
//! host may take an upload, since object stores live elsewhere, but no literal that means this machine or this link,
//! unless the control plane itself is reached there.

use alloc::{
    borrow::ToOwned as _,
    string::{String, ToString as _},
};
use core::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use thiserror::Error;

use super::http::percent_decode;
use crate::secret::Secret;

/// The longest upload URL, in bytes; presigned ones of object stores have about two thousand.
pub const UPLOAD_URL_MAX: usize = 8192;

/// Where the control plane is, as far as an upload URL is held against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Whether it is reached by https.
    pub is_encrypted: bool,
    /// Its host, an IPv6 address in brackets.
    pub host: String,
}

/// An upload URL that may be used; whoever holds it may upload, so it never shows.
#[derive(Clone, PartialEq, Eq)]
pub struct UploadUrl {
    text: Secret<String>,
    object_key: String,
}

/// Why an upload URL is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    #[error("it is longer than {UPLOAD_URL_MAX} bytes")]
    Long,
    #[error("it holds a character that no URL holds")]
    Character,
    #[error("it is not an absolute http or https URL")]
    Scheme,
    #[error("its scheme is weaker than that of control_plane.url")]
    Weaker,
    #[error("it holds a user or a password")]
    User,
    #[error("it holds a fragment")]
    Fragment,
    #[error("its host or port is none")]
    Host,
    #[error("its host means this machine or its link, where the control plane is not")]
    Here,
    #[error("its path names no object")]
    Path,
}

impl UploadUrl {
    /// Reads a URL that the control plane at `origin` has handed out.
    pub fn parse(text: &str, origin: &Origin) -> Result<Self, Fault> {
        if text.len() > UPLOAD_URL_MAX {
            return Err(Fault::Long);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
            return Err(Fault::Character);
        }
        let (scheme, rest) = text.split_once("://").ok_or(Fault::Scheme)?;
        let is_encrypted = scheme.eq_ignore_ascii_case("https");
        if !is_encrypted && !scheme.eq_ignore_ascii_case("http") {
            return Err(Fault::Scheme);
        }
        if origin.is_encrypted && !is_encrypted {
            return Err(Fault::Weaker);
        }
        if rest.contains('#') {
            return Err(Fault::Fragment);
        }
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(Fault::User);
        }
        let host = host(authority).ok_or(Fault::Host)?;
        if !host.eq_ignore_ascii_case(&origin.host) && is_here(host)? {
            return Err(Fault::Here);
        }
        let path = rest[authority.len()..].split('?').next().unwrap_or_default();
        let object_key = object_key(path).ok_or(Fault::Path)?;
        Ok(Self { text: Secret::new(text.to_owned()), object_key })
    }

    /// The URL itself, for the one place that uses it.
    pub const fn text(&self) -> &Secret<String> {
        &self.text
    }

    /// What the upload is called in the report: the path without its leading slash.
    pub fn object_key(&self) -> &str {
        &self.object_key
    }
}

impl fmt::Debug for UploadUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

/// Dot segments would be taken out on the way, and the name would be another.
fn object_key(path: &str) -> Option<String> {
    let key = percent_decode(path.strip_prefix('/')?)?;
    let dots = key.split('/').any(|segment| matches!(segment, "." | ".."));
    let sound = !key.is_empty() && !dots && !key.chars().any(char::is_control);
    sound.then_some(key)
}

/// The host of an authority with a sound port, or none.
fn host(authority: &str) -> Option<&str> {
    let end = if authority.starts_with('[') {
        authority.find(']')? + 1
    } else {
        authority.find(':').unwrap_or(authority.len())
    };
    let (host, port) = authority.split_at(end);
    let sound = match port.strip_prefix(':') {
        Some(digits) => {
            digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok()
        }
        None => port.is_empty(),
    };
    (sound && !host.is_empty()).then_some(host)
}

/// Whether a host means this machine, its link, or nobody alone.
fn is_here(host: &str) -> Result<bool, Fault> {
    if let Some(literal) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address: Ipv6Addr = literal.parse().map_err(|_| Fault::Host)?;
        return Ok(is_near(address.to_canonical()));
    }
    let named = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if !host.bytes().all(named) {
        return Err(Fault::Host);
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    let last = host.rsplit('.').next().unwrap_or_default();
    // What ends in a number is an address, and has many spellings that are read as another one elsewhere.
    let is_hex = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.to_ascii_lowercase().strip_prefix("0x").is_some_and(is_hex);
    if number {
        let address: Ipv4Addr = host.parse().map_err(|_| Fault::Host)?;
        return Ok(address.to_string() != host || is_near(IpAddr::V4(address)));
    }
    Ok(last.eq_ignore_ascii_case("localhost"))
}

fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_link_local()
                || address.is_multicast()
                || address.is_broadcast()
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unicast_link_local()
                || address.is_multicast()
        }
    }
}
