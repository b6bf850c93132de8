//! Registration: an ordered list of checks, of which the first that fails decides.
//!
//! Specification: "Registration" and "POST /v1/register"; `decisions.md` sections 5 (Register invariants) and 7.

use alloc::string::{String, ToString};

use thiserror::Error;

use super::{
    nonce::{self, Claim, Nonces},
    site,
};
use crate::wire::{
    grammar::{BootstrapToken, PublicKey, TokenKind, Uuid},
    http::{Body, UNREADABLE},
    json::{self, Fault},
    register::{Loose, NotAString, RegisterDraft, RegisterPeer, RegisterResponse, STRING_MAX},
};

/// The longest request body, in bytes.
pub const BODY_MAX: usize = 1 << 20;

/// What a registration that passed every check brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    pub claim: Claim,
    pub key: PublicKey,
}

/// Why a registration is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the body is over 1 MiB")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the body is not a JSON object: {0}")]
    Malformed(Fault),
    #[error("{0} must be a string")]
    NotAString(&'static str),
    #[error("{0} must not be empty")]
    Empty(&'static str),
    #[error("{0} must be at most 4096 characters")]
    TooLong(&'static str),
    #[error("{0} must not hold NUL")]
    Nul(&'static str),
    #[error("project_id must be a UUID of 8-4-4-4-12 hex digits and not the zero UUID")]
    ProjectId,
    #[error("public_key must be 44 characters of base64 for an X25519 key that is not zero")]
    PublicKey,
    #[error("bootstrap_token must be psb_<env>_<project>_<node|bridge>_<at least 20 of a-z, 2-7>")]
    Token,
    #[error("the bootstrap token admits bridges, not nodes")]
    Kind,
    #[error("the bootstrap token has been consumed")]
    TokenConsumed,
    #[error("the bootstrap token has expired")]
    TokenExpired,
    #[error("the bootstrap token has been revoked")]
    TokenRevoked,
    #[error("the bootstrap token does not belong to this project")]
    Project,
    #[error("{0}")]
    Nonce(nonce::Refusal),
    #[error("no resource has this resource_handle")]
    ResourceNotFound,
    #[error("the address pool is exhausted")]
    PoolExhausted,
    #[error("the address subrange is exhausted")]
    SubrangeExhausted,
    #[error("the address allocator is contended; try again")]
    AllocatorContention,
    #[error("an internal error was asked for by the resource handle")]
    Internal,
}

/// The members as strings; an absent one is empty.
#[derive(Debug)]
struct Members {
    project: String,
    handle: String,
    token: String,
    nonce: String,
    key: String,
    requested: String,
}

/// Judges a request body, in the order of the specification.
pub fn judge(body: &Body, nonces: &Nonces) -> Result<Registration, Refusal> {
    let members = Members::read(body)?;
    members.hold_invariants()?;
    let key = PublicKey::parse(&members.key).map_err(|_| Refusal::PublicKey)?;
    admit_token(&members.token)?;
    if members.project != site::PROJECT_ID {
        return Err(Refusal::Project);
    }
    let claim = Claim { project: members.project, nonce: members.nonce };
    nonces.check(&claim).map_err(Refusal::Nonce)?;
    find_resource(&members.handle)?;
    Ok(Registration { claim, key })
}

impl Members {
    fn read(body: &Body) -> Result<Self, Refusal> {
        let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
        let draft: RegisterDraft = json::decode_tolerant(bytes).map_err(Refusal::Malformed)?;
        let text = |name: &'static str, member: &Loose| {
            member
                .text()
                .map(Option::unwrap_or_default)
                .map_err(|NotAString| Refusal::NotAString(name))
        };
        Ok(Self {
            project: text("project_id", &draft.project_id)?,
            handle: text("resource_handle", &draft.resource_handle)?,
            token: text("bootstrap_token", &draft.bootstrap_token)?,
            nonce: text("nonce", &draft.nonce)?,
            key: text("public_key", &draft.public_key)?,
            requested: text("requested_resource_id", &draft.requested_resource_id)?,
        })
    }

    fn hold_invariants(&self) -> Result<(), Refusal> {
        let required = [
            ("bootstrap_token", &self.token),
            ("nonce", &self.nonce),
            ("resource_handle", &self.handle),
            ("project_id", &self.project),
        ];
        let others = [("public_key", &self.key), ("requested_resource_id", &self.requested)];
        if let Some((name, _)) = required.iter().find(|(_, text)| text.is_empty()) {
            return Err(Refusal::Empty(name));
        }
        for (name, text) in required.into_iter().chain(others) {
            if text.chars().count() > STRING_MAX {
                return Err(Refusal::TooLong(name));
            }
            if text.contains('\0')
                && matches!(name, "nonce" | "resource_handle" | "requested_resource_id")
            {
                return Err(Refusal::Nul(name));
            }
        }
        match Uuid::parse(&self.project) {
            Ok(project) if project != Uuid::ZERO => Ok(()),
            Ok(_) | Err(_) => Err(Refusal::ProjectId),
        }
    }
}

fn admit_token(text: &str) -> Result<(), Refusal> {
    let token = BootstrapToken::parse(text).map_err(|_| Refusal::Token)?;
    if token.kind == TokenKind::Bridge {
        return Err(Refusal::Kind);
    }
    let marks = [
        ("consumed", Refusal::TokenConsumed),
        ("expired", Refusal::TokenExpired),
        ("revoked", Refusal::TokenRevoked),
    ];
    match marks.into_iter().find(|(word, _)| token.mentions(word)) {
        Some((_, refusal)) => Err(refusal),
        None => Ok(()),
    }
}

/// Some handles stand for a refusal.
fn find_resource(handle: &str) -> Result<(), Refusal> {
    match handle {
        "unknown-resource" => Err(Refusal::ResourceNotFound),
        "exhausted-pool" => Err(Refusal::PoolExhausted),
        "exhausted-subrange" => Err(Refusal::SubrangeExhausted),
        "contended-allocator" => Err(Refusal::AllocatorContention),
        "boom-internal" => Err(Refusal::Internal),
        _ => Ok(()),
    }
}

/// The answer to a registration that passed.
pub fn response(signing_public_key: &str) -> RegisterResponse {
    let peer = |peer: &site::PeerConstant| RegisterPeer {
        node_id: peer.node_id.into(),
        mesh_ip: peer.mesh_ip.into(),
        public_key: peer.public_key.into(),
        fallback_endpoint: peer.fallback_endpoint.into(),
    };
    RegisterResponse {
        node_id: site::NODE_ID.into(),
        mesh_ip: site::MESH_IP.into(),
        signing_public_key: signing_public_key.to_string(),
        signing_key_id: site::SIGNING_KEY_ID.into(),
        nsk: site::node_secret_key().to_text(),
        peer_snapshot: site::PEERS.iter().map(peer).collect(),
        domain_mesh_cidr: site::DOMAIN_MESH_CIDR.into(),
    }
}
