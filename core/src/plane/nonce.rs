//! The ledger of nonces: a successful registration records its nonce, and the same one never registers again.
//!
//! | State | Trigger | Next |
//! |---|---|---|
//! | unrecorded | a registration that passed every check | recorded |
//! | recorded | the same project and nonce | unchanged, refused |
//!
//! Only a digest of each pair is kept, so that long nonces cost no memory. No other branch of a registration comes
//! here, so no refusal records anything.
//!
//! Specification: "Bootstrap token and nonce".

use alloc::{collections::BTreeSet, string::String};

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::{step::Step, time::Now};

/// The most nonces that are kept.
pub const LEDGER_MAX: usize = 1 << 20;

/// What a registration lays claim to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub project: String,
    pub nonce: String,
}

/// A fact for the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A registration passed every other check.
    Claimed(Claim),
}

/// An order of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Accept,
    Refuse(Refusal),
}

/// Why a claim is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("this nonce has registered before; draw a fresh one for each attempt")]
    Collision,
    #[error("the ledger of nonces is full; POST /test/reset empties it")]
    Full,
}

/// The nonces of all successful registrations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nonces(BTreeSet<[u8; 32]>);

impl Nonces {
    /// Moves on one input.
    pub fn step(mut self, _now: Now, input: Input) -> Step<Self, Effect> {
        let Input::Claimed(claim) = input;
        match self.check(&claim) {
            Ok(()) => {
                self.0.insert(digest(&claim));
                Step::to(self).emit(Effect::Accept)
            }
            Err(refusal) => Step::to(self).emit(Effect::Refuse(refusal)),
        }
    }

    /// Tells whether a claim would be accepted now.
    pub fn check(&self, claim: &Claim) -> Result<(), Refusal> {
        if self.0.contains(&digest(claim)) {
            Err(Refusal::Collision)
        } else if self.0.len() >= LEDGER_MAX {
            Err(Refusal::Full)
        } else {
            Ok(())
        }
    }
}

fn digest(claim: &Claim) -> [u8; 32] {
    let project = Sha256::new().chain_update(&claim.project).chain_update(b"|");
    project.chain_update(&claim.nonce).finalize().into()
}
