//! The two releases that the fixture serves: one whose bundle is good, one whose bundle is garbage.
//!
//! | Tag | `meshward-linux-<arch>` | `meshward-linux-<arch>.sigstore.json` |
//! |---|---|---|
//! | `v9.9.9` | the file | its bundle: digest and signature belong to the file |
//! | `v9.9.8` | the same file | `garbage not a bundle` |
//!
//! Any text stands for the architecture. No bearer, no counter.
//!
//! Specification: "Fixture control routes" (`/releases/`); `gaps-control-plane.md` 1.21.
//!
//! Unspecified: which key signs. It is the constant [`PUBLIC_KEY`], so that a client can pin it.

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::wire::{
    grammar::base64_text,
    http::Response,
    json,
    release::{Bundle, MessageDigest, MessageSignature, PublicKeyIdentifier, VerificationMaterial},
};

const PREFIX: &str = "meshward-linux-";
const BUNDLE_SUFFIX: &str = ".sigstore.json";

/// What stands for the program of every release and architecture.
pub const FILE: &[u8] =
    b"#!/bin/sh\n# Stands for a release of the node agent; it does nothing.\nexit 0\n";

/// Base64 of the Ed25519 key that signed [`FILE`]; its private half is public too and signs nothing else.
pub const PUBLIC_KEY: &str = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";

const SIGNATURE: &str =
    "XUZFQLlVnvGKv4/4C5XM6R/qFudQIiL2aXCAoByZEXle46dH9wVQXZ454cadh0NM15BpOz+/V1A3XIHnErofCw==";

const GARBAGE: &[u8] = b"garbage not a bundle";

/// Why nothing is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("there are the releases v9.9.9 and v9.9.8")]
    Tag,
    #[error(
        "the assets of a release are meshward-linux-<arch> and meshward-linux-<arch>.sigstore.json"
    )]
    Asset,
}

/// What is served under `/releases/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asset {
    File,
    Bundle,
    Garbage,
}

/// Finds an asset by the segments of its path.
pub fn find(tag: &str, asset: &str) -> Result<Asset, Refusal> {
    let bundle = match tag {
        "v9.9.9" => Asset::Bundle,
        "v9.9.8" => Asset::Garbage,
        _ => return Err(Refusal::Tag),
    };
    let rest = asset.strip_prefix(PREFIX).ok_or(Refusal::Asset)?;
    Ok(if rest.ends_with(BUNDLE_SUFFIX) { bundle } else { Asset::File })
}

impl Asset {
    pub fn response(self) -> Response {
        match self {
            Self::File => of_type("application/octet-stream", FILE),
            Self::Bundle => Response::json(200, json::encode(&bundle())),
            Self::Garbage => of_type("application/json", GARBAGE),
        }
    }
}

fn of_type(content_type: &str, bytes: &[u8]) -> Response {
    let mut response = Response::empty(200).with("content-type", content_type);
    response.body.extend_from_slice(bytes);
    response
}

fn bundle() -> Bundle {
    Bundle {
        media_type: Bundle::MEDIA_TYPE,
        verification_material: VerificationMaterial {
            public_key: PublicKeyIdentifier { hint: PUBLIC_KEY },
        },
        message_signature: MessageSignature {
            message_digest: MessageDigest {
                algorithm: MessageDigest::SHA2_256,
                digest: base64_text(&Sha256::digest(FILE)),
            },
            signature: SIGNATURE,
        },
    }
}
