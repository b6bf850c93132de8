//! Secrets: every name has the same value in every version up to the current one, unless too many are asked for.
//!
//! The checks come in this order, and the first that fails answers:
//!
//! | Check | Also |
//! |---|---|
//! | the name is in its grammar | |
//! | `version`, where one is given, is plain decimal from 1 on | |
//! | no refusal for too many requests is due | one refusal fewer is due |
//! | the version exists | |
//!
//! Specification: "GET /v1/nodes/{id}/secrets/{key}"; `gaps-control-plane.md` section 1.15; `decisions.md` section 7
//! (Secret `version`). Unspecified: a version beyond 64 bits is one beyond the current version.

use thiserror::Error;

use crate::{
    step::Step,
    time::Now,
    wire::{
        grammar::SecretKey,
        http::{Body, UNREADABLE, percent_decode},
        json::{self, Fault},
        secret::ConfigureSecrets,
    },
};

/// A fact for the secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The node asked for a secret of a sound name, `None` being the current version.
    Asked { version: Option<u64> },
    /// The operator changed what is above zero here.
    Configured(ConfigureSecrets),
}

/// An order of the secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Answer with an envelope of this version.
    Seal {
        version: u64,
    },
    Refuse(Refusal),
}

/// Why a secret is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error(
        "no secret has this name: it must begin with a letter and hold at most 63 of a-z, 0-9, underscore and hyphen"
    )]
    NotFound,
    #[error("version must be a positive integer in plain decimal")]
    InvalidVersion,
    #[error("too many requests from this node; wait for {retry_after_seconds} s")]
    RateLimited { retry_after_seconds: u64 },
    #[error("the secret has no such version")]
    VersionNotFound,
}

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unconfigured {
    #[error("the body is over 16 MiB")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the body does not configure secrets: {0}")]
    Malformed(Fault),
}

/// What the store of secrets answers next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secrets {
    current_version: u64,
    /// How many requests are refused before the next is served.
    rate_limit_next: u64,
    retry_after_seconds: u64,
}

impl Default for Secrets {
    fn default() -> Self {
        Self { current_version: 1, rate_limit_next: 0, retry_after_seconds: 1 }
    }
}

/// Reads what is asked for: the name out of the path, the version out of the query.
pub fn read(key: &str, query: Option<&str>) -> Result<Option<u64>, Refusal> {
    SecretKey::parse(key).map_err(|_| Refusal::NotFound)?;
    let members = query.into_iter().flat_map(|query| query.split('&'));
    let mut members = members.map(|member| member.split_once('=').unwrap_or((member, "")));
    let given = members.find(|(name, _)| percent_decode(name).as_deref() == Some("version"));
    match given {
        None | Some((_, "")) => Ok(None),
        Some((_, value)) => version(value).map(Some).ok_or(Refusal::InvalidVersion),
    }
}

/// Plain decimal from 1 on, without sign and leading zero; a number beyond 64 bits is the greatest.
fn version(value: &str) -> Option<u64> {
    let digits = percent_decode(value)?;
    let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// Reads a configuration out of a request body.
pub fn read_configuration(body: &Body) -> Result<ConfigureSecrets, Unconfigured> {
    let bytes = body.whole(Unconfigured::TooLarge, Unconfigured::Unreadable)?;
    json::decode_strict(bytes).map_err(Unconfigured::Malformed)
}

impl Secrets {
    /// Moves on one input.
    pub fn step(self, _now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Asked { version } => self.asked(version),
            Input::Configured(configured) => Step::to(self.configured(&configured)),
        }
    }

    fn asked(mut self, version: Option<u64>) -> Step<Self, Effect> {
        let version = version.unwrap_or(self.current_version);
        let effect = if self.rate_limit_next > 0 {
            self.rate_limit_next -= 1;
            let retry_after_seconds = self.retry_after_seconds;
            Effect::Refuse(Refusal::RateLimited { retry_after_seconds })
        } else if version > self.current_version {
            Effect::Refuse(Refusal::VersionNotFound)
        } else {
            Effect::Seal { version }
        };
        Step::to(self).emit(effect)
    }

    fn configured(self, configured: &ConfigureSecrets) -> Self {
        let above_zero = |given: i64, known: u64| match u64::try_from(given) {
            Ok(given @ 1..) => given,
            Ok(0) | Err(_) => known,
        };
        Self {
            current_version: above_zero(configured.current_version, self.current_version),
            rate_limit_next: above_zero(configured.rate_limit_next, self.rate_limit_next),
            retry_after_seconds: above_zero(
                configured.retry_after_seconds,
                self.retry_after_seconds,
            ),
        }
    }
}
