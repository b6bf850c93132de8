//! Who may pass: the bearer gate before all routes under `/v1/`, the node-id guard, and the local endpoints' bearer.
//!
//! Specification: "Authentication"; `decisions.md` sections 5 (Bearer gate, `{id}` in paths) and 7 (Percent-encoding).

use alloc::borrow::Cow;

use subtle::ConstantTimeEq;
use thiserror::Error;

use super::{Listener, site};
use crate::wire::{
    bearer::{self, Credential},
    http::{Headers, percent_decode},
};

/// Why a request is not let in; says which check failed and holds nothing of the credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("{0}")]
    Bearer(bearer::Refusal),
    #[error("the credential names another node")]
    Node,
    #[error("the credential carries another node secret key")]
    Key,
    #[error("the local endpoint takes its own bearer token")]
    Local,
}

/// The path of this call is addressed to another node than the one that the bearer names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the path names another node than the credential")]
pub struct NodeMismatch;

/// The path with its escapes replaced; as received where they are broken, which no route matches.
pub fn decoded(path: &str) -> Cow<'_, str> {
    if path.contains('%') {
        percent_decode(path).map_or(Cow::Borrowed(path), Cow::Owned)
    } else {
        Cow::Borrowed(path)
    }
}

/// Lets a request through the gate where one stands before its path.
pub fn admit(listener: Listener, path: &str, headers: &Headers) -> Result<(), Refusal> {
    match listener {
        Listener::Main if is_gated(&decoded(path)) => check(headers),
        Listener::Main | Listener::Tls => Ok(()),
    }
}

fn is_gated(path: &str) -> bool {
    path.starts_with("/v1/") && !matches!(path, "/v1/register" | "/v1/health")
}

fn check(headers: &Headers) -> Result<(), Refusal> {
    let credential = Credential::parse(single(headers)?).map_err(Refusal::Bearer)?;
    if credential.node != site::NODE_UUID {
        return Err(Refusal::Node);
    }
    if credential.key != site::node_secret_key() {
        return Err(Refusal::Key);
    }
    Ok(())
}

fn single(headers: &Headers) -> Result<&str, Refusal> {
    let mut values = headers.all("authorization");
    let value = values.next().ok_or(Refusal::Bearer(bearer::Refusal::Absent))?;
    match values.next() {
        None => Ok(value),
        Some(_) => Err(Refusal::Bearer(bearer::Refusal::Repeated)),
    }
}

/// Refuses a node id in the path that is not the fixture's, compared as plain strings.
pub fn guard(node: &str) -> Result<(), NodeMismatch> {
    if node == site::NODE_ID { Ok(()) } else { Err(NodeMismatch) }
}

/// Admits the one bearer of the local endpoints, whose refusal has no code.
pub fn admit_local(headers: &Headers) -> Result<(), Refusal> {
    let value = single(headers).map_err(|_| Refusal::Local)?;
    let token = value.strip_prefix("Bearer ").unwrap_or_default();
    let same: bool = token.as_bytes().ct_eq(site::LOCAL_BEARER.as_bytes()).into();
    if same { Ok(()) } else { Err(Refusal::Local) }
}
