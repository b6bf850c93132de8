//! UUIDs, read in one form and written in lower case.

use alloc::string::ToString;
use core::fmt;

use serde::{Serialize, Serializer};

use super::Malformed;

/// A UUID of any version.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// The UUID that names nothing.
    pub const ZERO: Self = Self([0; 16]);

    /// A UUID as it stands in an envelope.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// A UUIDv4 made of drawn bytes.
    pub const fn drawn(mut bytes: [u8; 16]) -> Self {
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }

    /// The bytes, in the order in which they are written.
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Reads 8-4-4-4-12 hex digits of either case, and no other form.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let mut bytes = [0; 16];
        let mut digits = 0;
        if text.len() != 36 {
            return Err(Malformed::Uuid);
        }
        for (at, character) in text.chars().enumerate() {
            if matches!(at, 8 | 13 | 18 | 23) {
                if character != '-' {
                    return Err(Malformed::Uuid);
                }
                continue;
            }
            let digit = character
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
                .ok_or(Malformed::Uuid)?;
            bytes[digits / 2] = bytes[digits / 2] << 4 | digit;
            digits += 1;
        }
        Ok(Self(bytes))
    }

    /// Reads the one spelling that this type writes.
    pub fn parse_canonical(text: &str) -> Result<Self, Malformed> {
        let uuid = Self::parse(text)?;
        if uuid.to_string() == text { Ok(uuid) } else { Err(Malformed::Uuid) }
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Uuid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
