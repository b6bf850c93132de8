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
            hide(text, secret);
        }
    }
}

/// Puts the mark in the place of a secret, and of as much of its beginning as a text holds that was cut.
fn hide(text: &mut String, secret: &str) {
    let Some(start) = secret.get(..SECRET_MIN) else { return };
    let mut from = 0;
    while let Some(at) = text[from..].find(start).map(|at| from + at) {
        let alike = text[at..].chars().zip(secret.chars()).take_while(|(one, other)| one == other);
        let length: usize = alike.map(|(one, _)| one.len_utf8()).sum();
        text.replace_range(at..at + length, MARK);
        from = at + MARK.len();
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned as _;

    use super::*;

    #[test]
    fn a_secret_is_hidden_whole_cut_and_more_than_once_and_nothing_else_is() {
        for (text, expected) in [
            ("a s3cr3t-and-long b", "a <secret> b"),
            ("cut: s3cr3t-and-lon", "cut: <secret>"),
            ("cut: s3cr3t-a", "cut: <secret>"),
            ("s3cr3t-and-longs3cr3t-and-long", "<secret><secret>"),
            ("s3cr3t-aXs3cr3t-and-long", "<secret>X<secret>"),
            ("ä s3cr3t-ä s3cr3t", "ä s3cr3t-ä s3cr3t"),
        ] {
            let mut told = text.to_owned();
            hide(&mut told, "s3cr3t-and-long");
            assert_eq!(told, expected);
        }
        let mut told = "short".to_owned();
        hide(&mut told, "short");
        assert_eq!(told, "short");
    }
}
