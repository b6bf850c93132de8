//! Who may ask by TCP: whoever holds the token, and no page of another site.
//!
//! There is no count of failed tries: a token of 16 bytes is not found by trying, a shorter one is warned of, and what
//! does not hold it gets no further than this comparison.
//!
//! Specification: "Authentication" of the node agent, rule 1.

use sha2::{Digest as _, Sha256};

use super::refusal;
use crate::{
    agent::facts::TcpSettings,
    secret::Secret,
    wire::{
        host,
        http::{Headers, Response},
    },
};

/// Lets a request pass, or answers it: first the token, then where it says it comes from.
pub fn admit(settings: Option<&TcpSettings>, headers: &Headers) -> Result<(), Response> {
    let Some(settings) = settings.filter(|settings| holds_token(settings, headers)) else {
        return Err(refusal(401, "unauthorized").with("www-authenticate", "Bearer"));
    };
    let is_here = host::asked(headers).all(|host| host::is_here(host, &settings.host));
    // A client that is no browser sends none.
    let is_page = headers.first("origin").is_some();
    if is_here && !is_page { Ok(()) } else { Err(refusal(403, "forbidden")) }
}

/// Compares digests, in constant time.
fn holds_token(settings: &TcpSettings, headers: &Headers) -> bool {
    let field = headers.first("authorization").filter(|_| !headers.is_repeated("authorization"));
    let bearer = |(scheme, token): (&str, &str)| {
        scheme.eq_ignore_ascii_case("bearer")
            && Secret::new(Sha256::digest(token).into()) == settings.token_digest
    };
    field.and_then(|field| field.split_once(' ')).is_some_and(bearer)
}
