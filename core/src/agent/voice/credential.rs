//! The token of a local endpoint: a secret of the control plane, remembered for a while.
//!
//! | Remembered | Then |
//! |---|---|
//! | for less than [`TOKEN_MAX_AGE`], under the key that is configured | it is used |
//! | longer, and nothing was asked for a while | it is asked for |
//! | longer, and that could not be fetched or opened | the old one is used |
//! | nothing, and that could not be fetched or opened | there is none |
//!
//! Specification: "Agent-side conversion rules for ingest" (local endpoint delivery).

use alloc::string::String;
use core::time::Duration;

use crate::{secret::Secret, time::Mono};

/// "cached for 5 minutes"
pub const TOKEN_MAX_AGE: Duration = Duration::from_secs(300);

/// How long until a token is asked for again that could not be had: with a stale one at hand, which serves meanwhile ...
pub const ASK_AGAIN: Duration = Duration::from_secs(10);

/// ... and with none.
pub const ASK_SOON: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Credential {
    token: Option<Token>,
    /// When it could not be had last, and why.
    missed: Option<(Mono, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    /// The name of the secret.
    key: String,
    value: Secret<String>,
    since: Mono,
}

/// What there is to deliver with.
pub(super) enum Have<'c> {
    Token(&'c Secret<String>),
    /// It is to be asked for first.
    Ask,
    /// There is none, for this reason.
    None(&'c str),
}

impl Credential {
    pub(super) fn have(&self, now: Mono, key: &str) -> Have<'_> {
        let token = self.token.as_ref().filter(|token| token.key == key);
        let wait = if token.is_some() { ASK_AGAIN } else { ASK_SOON };
        let has_missed = self.missed.as_ref().filter(|(at, _)| now.since(*at) < wait);
        match (token, has_missed) {
            (Some(token), _) if now.since(token.since) < TOKEN_MAX_AGE => Have::Token(&token.value),
            (_, None) => Have::Ask,
            (Some(stale), Some(_)) => Have::Token(&stale.value),
            (None, Some((_, reason))) => Have::None(reason),
        }
    }

    pub(super) fn fetched(
        &mut self,
        now: Mono,
        key: &str,
        outcome: Result<Secret<String>, String>,
    ) {
        match outcome {
            Ok(value) => {
                self.token = Some(Token { key: key.into(), value, since: now });
                self.missed = None;
            }
            Err(reason) => self.missed = Some((now, reason)),
        }
    }
}
