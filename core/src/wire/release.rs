//! The bundle beside a released file: its digest, and a signature of its bytes.
//!
//! Specification: "Fixture control routes" (`/releases/`), whose shapes it does not show.

use alloc::string::String;

use serde::Serialize;

/// A bundle in the form of Sigstore, signed by a key and without a transparency log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bundle {
    pub media_type: &'static str,
    pub verification_material: VerificationMaterial,
    pub message_signature: MessageSignature,
}

impl Bundle {
    pub const MEDIA_TYPE: &'static str = "application/vnd.dev.sigstore.bundle.v0.3+json";
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerificationMaterial {
    pub public_key: PublicKeyIdentifier,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PublicKeyIdentifier {
    pub hint: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageSignature {
    pub message_digest: MessageDigest,
    /// Base64 of an Ed25519 signature of the bytes themselves.
    pub signature: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MessageDigest {
    pub algorithm: &'static str,
    /// Standard base64.
    pub digest: String,
}

impl MessageDigest {
    pub const SHA2_256: &'static str = "SHA2_256";
}
