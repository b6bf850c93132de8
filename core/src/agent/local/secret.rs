//! The read of one secret: what is asked for, and how it is answered.
//!
//! Specification: "Local HTTP API" (secret read outcomes).

use alloc::string::ToString as _;

use super::refusal;
use crate::{
    agent::verdict::secret::{Sealed, Withheld, version},
    wire::{
        grammar::{NodeSecretKey, SecretKey},
        http::{Response, percent_decode},
        local::SecretEntry,
    },
};

/// Reads which secret is asked for, and which version, `None` being the current one: first the version, then the key.
pub fn wanted(key: &str, query: Option<&str>) -> Result<(SecretKey, Option<u64>), Response> {
    let members = query.unwrap_or_default().split('&');
    let mut pairs = members.map(|member| member.split_once('=').unwrap_or((member, "")));
    let given = pairs.find(|(name, _)| percent_decode(name).as_deref() == Some("version"));
    let version = match given {
        None => None,
        Some((_, text)) => Some(
            percent_decode(text)
                .and_then(|text| version(&text))
                .ok_or_else(|| hidden(refusal(400, "invalid version")))?,
        ),
    };
    let key = SecretKey::parse(key).map_err(|_| hidden(refusal(400, "invalid secret key")))?;
    Ok((key, version))
}

/// Opens an envelope and answers its value.
pub fn revealed(
    node: &NodeSecretKey,
    key: &SecretKey,
    sealed: &Sealed,
) -> Result<Response, Withheld> {
    let value = sealed.open(node)?;
    let text = core::str::from_utf8(value.expose()).map_err(|_| Withheld::Unopened)?;
    let entry = SecretEntry { key: key.as_str(), value: text, version: sealed.version };
    Ok(Response::hidden_json(200, entry.encode()))
}

/// Answers why there is no value.
pub fn withheld(why: &Withheld) -> Response {
    let (status, text) = why.told();
    let response = hidden(refusal(status, text));
    match why {
        Withheld::RateLimited { retry_after: Some(seconds) } => {
            response.with("retry-after", &seconds.to_string())
        }
        Withheld::RateLimited { retry_after: None }
        | Withheld::Forbidden
        | Withheld::NotFound
        | Withheld::Unavailable(_)
        | Withheld::Unopened => response,
    }
}

/// Nothing of this route is to be kept by anyone.
pub fn hidden(response: Response) -> Response {
    response.with("cache-control", "no-store")
}
