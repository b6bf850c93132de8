//! Bootstrap tokens.

use alloc::string::{String, ToString};

use super::Malformed;
use crate::secret::Secret;

/// What a bootstrap token admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Bridge,
    Node,
}

/// A bootstrap token of the form `psb_<env>_<project>_<kind>_<random>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapToken {
    pub kind: TokenKind,
    random: Secret<String>,
}

impl BootstrapToken {
    /// Reads a token of the specification's pattern.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let mut parts = text.split('_');
        let mut part = || parts.next().ok_or(Malformed::Token);
        let (prefix, env, project, kind, random) = (part()?, part()?, part()?, part()?, part()?);
        let kind = match kind {
            "bridge" => TokenKind::Bridge,
            "node" => TokenKind::Node,
            _ => return Err(Malformed::Token),
        };
        let legal = prefix == "psb"
            && !env.is_empty()
            && env.bytes().all(|byte| byte.is_ascii_lowercase())
            && !project.is_empty()
            && project.bytes().all(is_base32)
            && random.len() >= 20
            && random.bytes().all(is_base32)
            && parts.next().is_none();
        if legal {
            Ok(Self { kind, random: Secret::new(random.to_string()) })
        } else {
            Err(Malformed::Token)
        }
    }

    /// Whether the random segment holds a word; the fixture reads its own refusals there.
    pub fn mentions(&self, word: &str) -> bool {
        self.random.expose().contains(word)
    }
}

const fn is_base32(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'2'..=b'7')
}
