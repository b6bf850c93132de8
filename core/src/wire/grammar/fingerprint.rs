//! Fingerprints of SSH host keys.

use alloc::string::{String, ToString};
use core::fmt;

use serde::{Serialize, Serializer};

use super::Malformed;

/// The fingerprint of an SSH host key: `^SHA256:[A-Za-z0-9+/]+={0,2}$`, and nothing stricter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Reads a fingerprint as `ssh-keygen -l` shows it, padded or not.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let base64 = text.strip_prefix("SHA256:").ok_or(Malformed::Fingerprint)?;
        let digits = base64.trim_end_matches('=');
        let legal = !digits.is_empty()
            && base64.len() - digits.len() <= 2
            && digits
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
        if legal { Ok(Self(text.to_string())) } else { Err(Malformed::Fingerprint) }
    }

    /// The fingerprint as it was read.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
