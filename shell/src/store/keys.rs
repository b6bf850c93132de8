//! The mesh key's private half, which never leaves this module but into its file.

use std::fmt;

use meshward_core::wire::grammar::{self, PublicKey};
use x25519_dalek::StaticSecret;
use zeroize::{Zeroize, Zeroizing};

/// An X25519 private key, zeroed when dropped.
pub(super) struct PrivateKey(StaticSecret);

impl PrivateKey {
    /// Draws a key, clamped as other WireGuard tools write it.
    pub(super) fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = Zeroizing::new([0; 32]);
        getrandom::fill(bytes.as_mut())?;
        bytes[0] &= 248;
        bytes[31] = bytes[31] & 127 | 64;
        Ok(Self(StaticSecret::from(*bytes)))
    }

    /// Reads the content of a key file; `None` where it is not standard base64 of 32 bytes, or is all zero.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.trim_ascii();
        let decoded = Zeroizing::new(grammar::base64_bytes(text)?);
        let mut bytes: [u8; 32] = decoded.as_slice().try_into().ok()?;
        let key = (bytes != [0; 32]).then(|| Self(StaticSecret::from(bytes)));
        bytes.zeroize();
        key
    }

    /// The public half; never all zero, because a clamped scalar does not take the base point to the identity.
    pub(super) fn public(&self) -> Option<PublicKey> {
        PublicKey::from_bytes(x25519_dalek::PublicKey::from(&self.0).to_bytes())
    }

    /// The content of its file.
    pub(super) fn text(&self) -> Zeroizing<String> {
        Zeroizing::new(grammar::base64_text(self.0.as_bytes()))
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

#[cfg(test)]
mod tests {
    use super::PrivateKey;

    #[test]
    fn a_generated_key_is_read_back_from_its_text_with_the_same_public_half() {
        let key = PrivateKey::generate().unwrap();
        let text = key.text();
        assert_eq!(text.len(), 44);
        let again = PrivateKey::parse(format!("{}\n", *text).as_bytes()).unwrap();
        assert_eq!(again.public().unwrap(), key.public().unwrap());
        assert_ne!(PrivateKey::generate().unwrap().public(), key.public());
        assert_eq!(format!("{key:?}"), "<secret>");
    }

    #[test]
    fn the_public_half_is_that_of_rfc_7748() {
        let text = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=";
        let key = PrivateKey::parse(text.as_bytes()).unwrap();
        let expected = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
        assert_eq!(key.public().unwrap().to_string(), expected);
    }

    #[test]
    fn a_file_that_holds_no_key_is_told_apart() {
        for text in ["", "AAAA", "not base64!", "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LC"] {
            assert!(PrivateKey::parse(text.as_bytes()).is_none(), "{text}");
        }
        assert!(PrivateKey::parse(&[0; 44]).is_none());
        assert!(PrivateKey::parse(&[0xff; 44]).is_none());
        let zero = format!("{}=", "A".repeat(43));
        assert!(PrivateKey::parse(zero.as_bytes()).is_none());
    }
}
