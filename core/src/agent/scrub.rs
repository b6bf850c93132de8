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

/// How bootstrap tokens begin, and how long what begins so is at the least to be one, or much of one.
const TOKEN_START: &str = "psb_";
const TOKEN_MIN: usize = 16;

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
        hide_tokens(text);
        for secret in self.0.iter().map(Secret::expose) {
            hide(text, secret);
        }
    }
}

/// Puts the mark in the place of what is spelled as bootstrap tokens are, since one that was used up is known no more.
fn hide_tokens(text: &mut String) {
    let is_of_one = |letter: &char| matches!(letter, 'a'..='z' | '0'..='9' | '_');
    let mut from = 0;
    while let Some(at) = text[from..].find(TOKEN_START).map(|at| from + at) {
        // All of these are of one byte.
        let length = text[at..].chars().take_while(is_of_one).count();
        from = at + length;
        if length >= TOKEN_MIN {
            text.replace_range(at..from, MARK);
            from = at + MARK.len();
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
    fn what_is_spelled_as_a_bootstrap_token_is_hidden_whoever_it_belongs_to() {
        for (text, expected) in [
            ("no psb_dev_abc_node_aaaaaaaaaaaaaaaaaaaa here", "no <secret> here"),
            ("cut: psb_dev_abc_node_aaa", "cut: <secret>"),
            ("psb_dev_abc_node_aaaaäpsb_dev_abc_node_bbbb", "<secret>ä<secret>"),
            ("xpsb_dev_abc_bridge_7", "x<secret>"),
            ("psb_size and psb_", "psb_size and psb_"),
        ] {
            let mut told = text.to_owned();
            hide_tokens(&mut told);
            assert_eq!(told, expected);
        }
    }

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
