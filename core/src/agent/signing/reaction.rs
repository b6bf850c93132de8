//! What an event leads to: its type alone decides, as it stands in the verified envelope.
//!
//! Specification: "Events" (Event types); `gaps-agent.md` section 2.5 (Event to reaction).

/// What an event leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The desired state is pulled, which holds all that an event tells of.
    Reconcile,
    /// The mesh key is rotated.
    RotateKeys,
    /// The signing keys change.
    RotateSigningKey,
    /// Nobody knows the type.
    Nothing,
}

/// The types after which the desired state is pulled: those of the contract, and what other generations call them.
pub const RECONCILING: [&str; 14] = [
    "action_request",
    "bridge_config_updated",
    "node_secrets_updated",
    "node_state_updated",
    "peer_added",
    "peer_deregistered",
    "peer_endpoint_changed",
    "peer_key_rotated",
    "peer_psk_assigned",
    "peer_registered",
    "peer_removed",
    "policy_updated",
    "session_revoked",
    "session_setup",
];

impl Reaction {
    /// The reaction to events of this type.
    pub fn to(kind: &str) -> Self {
        match kind {
            "rotate_keys" => Self::RotateKeys,
            "signing_key_rotated" => Self::RotateSigningKey,
            kind if RECONCILING.contains(&kind) => Self::Reconcile,
            _ => Self::Nothing,
        }
    }
}
