//! What a control plane says is told to the operator without the secrets of this node, which it may have echoed.
//!
//! Specification: "Authentication" of the node agent.

use alloc::{string::String, vec::Vec};

use super::{
    facts::{Effect, Exit},
    notice::Notice,
    post::BEARER_ENV,
};
use crate::{secret::Secret, wire::identity::Identity};

/// What stands in the place of a secret.
const MARK: &str = "<secret>";
/// Anything shorter would be found in innocent words.
const SECRET_MIN: usize = 8;

/// The secrets that an answer may hold.
pub(super) struct Scrub(Vec<Secret<String>>);

impl Scrub {
    /// A bootstrap token that was sent, and the key of an identity in each way in which it is spelled.
    pub(super) fn of(token: Option<&Secret<String>>, identity: Option<&Identity>) -> Self {
        let mut secrets: Vec<_> = token.cloned().into_iter().collect();
        if let Some(identity) = identity {
            let envelope = identity.credential().envelope(BEARER_ENV);
            let payload = envelope.expose().splitn(3, '_').last().unwrap_or_default();
            secrets.push(Secret::new(String::from(payload)));
            secrets.push(identity.key.to_text());
        }
        secrets.retain(|secret| secret.expose().len() >= SECRET_MIN);
        Self(secrets)
    }

    /// Takes the secrets out of everything that is told.
    pub(super) fn effects(&self, effects: &mut [Effect]) {
        for effect in effects {
            match effect {
                Effect::Tell(Notice { text, .. })
                | Effect::Exit(
                    Exit::Refused { reason: text, .. } | Exit::GaveUp { reason: text, .. },
                ) => {
                    self.text(text);
                }
                Effect::Gather
                | Effect::Store(_)
                | Effect::Keep { .. }
                | Effect::Send { .. }
                | Effect::Act(_)
                | Effect::Reply { .. }
                | Effect::Stream(_)
                | Effect::Exit(
                    Exit::Drained
                    | Exit::Registered { .. }
                    | Exit::Unprepared(_)
                    | Exit::Unusable { .. },
                ) => {}
            }
        }
    }

    fn text(&self, text: &mut String) {
        for secret in self.0.iter().map(Secret::expose) {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), MARK);
            }
        }
    }
}
