//! Texts with a grammar, as types that only `parse` makes.
//!
//! Specification: "Resources and their fields" and `decisions.md` section 5 (Base64, `ip:port`).

mod addr;
mod encoding;
mod fingerprint;
mod key;
mod name;
mod token;
mod uuid;

use thiserror::Error;

pub use addr::{PeerAddr, ReachableAddr};
pub use encoding::{base64_bytes, base64_text};
pub use fingerprint::Fingerprint;
pub use key::{Checksum, NodeSecretKey, PublicKey, SigningKey};
pub use name::{Name, ReportKey, SecretKey};
pub use token::{BootstrapToken, TokenKind};
pub use uuid::Uuid;

pub(crate) use encoding::sha256_hex;
pub(super) use encoding::{base64url_bytes, base64url_slice, base64url_text};

/// A text outside its grammar; the message tells the grammar and never the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    #[error("must be 44 characters of standard base64 for 32 bytes")]
    Base64Key,
    #[error("must be 64 lower-case hex digits or 44 characters of standard base64 for 32 bytes")]
    Checksum,
    #[error("must be SHA256: and base64, as ssh-keygen -l shows it")]
    Fingerprint,
    #[error("must be host:port with an IP address and a port from 0 to 65535")]
    PeerAddr,
    #[error("must be a base64 X25519 key that is not all zero")]
    PublicKey,
    #[error(
        "must be ip:port with a port from 1 to 65535 and a host that is not loopback, link-local or unspecified"
    )]
    ReachableAddr,
    #[error(
        "must begin with a letter of a-z and hold at most 128 of a-z, 0-9, dot, underscore and hyphen"
    )]
    ReportKey,
    #[error(
        "must begin with a letter of a-z and hold at most 63 of a-z, 0-9, underscore and hyphen"
    )]
    SecretKey,
    #[error("must be psb_<env>_<project>_<node|bridge>_<at least 20 of a-z, 2-7>")]
    Token,
    #[error("must be a UUID of 8-4-4-4-12 hex digits")]
    Uuid,
}
