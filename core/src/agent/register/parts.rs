//! What a registration is made of on its way from a draft to an identity.

use alloc::string::String;

use super::Tried;
use crate::{
    agent::facts::TokenSource,
    secret::Secret,
    time::Mono,
    wire::{grammar::Uuid, identity::Corrupt, register::RegisterRequest},
};

/// What a registration comes behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    Nothing,
    /// A private key without a record: what a registration that was cut off leaves.
    Remains,
    /// Why the files that are there make no identity.
    Corrupt(Corrupt),
    /// An identity that the control plane does not admit any more.
    Refused(Tried),
}

/// A registration that lacks only its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub project_id: String,
    pub resource_handle: String,
    pub requested_resource_id: Option<String>,
    pub bootstrap_token: Secret<String>,
    pub source: TokenSource,
    pub nonce: Uuid,
    pub before: Before,
}

impl Draft {
    pub(super) fn tried(&self) -> Tried {
        match &self.before {
            Before::Refused(tried) => tried.clone(),
            Before::Nothing | Before::Remains | Before::Corrupt(_) => Tried::default(),
        }
    }
}

/// One logical registration, over all its tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub request: RegisterRequest,
    pub source: TokenSource,
    pub before: Before,
    pub begun: Mono,
    pub failures: u32,
}
