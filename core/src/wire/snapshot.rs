//! The desired-state snapshot: eight members, all always written, null where a block is not populated.
//!
//! A member that is left out is read as its empty value, so that one type serves `POST /test/configure-state`
//! (strict) and the pull (tolerant). Times and raw values are passed on as they came.
//!
//! Specification: "State snapshot", "Session entry" and "GET /v1/nodes/{id}/state".

use alloc::{borrow::Cow, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{
    execution::Execution,
    grammar::Name,
    json::{self, Raw},
    timestamp::Spelled,
};

/// What a node is to bring about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    pub peers: Vec<Peer>,
    /// An opaque object: the set of states may grow.
    pub reachability: Option<Raw>,
    pub policy: Option<Policy>,
    pub bridge: Option<Bridge>,
    pub state: Option<Entries>,
    pub reports: Option<Entries>,
    pub executions: Vec<Execution>,
    /// `None` is "not populated" and no signal to tear anything down; an empty list is.
    pub sessions: Option<Vec<Session>>,
}

/// Whether an object is a snapshot at all: it names one of the two lists that are never null.
pub fn is_one(bytes: &[u8]) -> bool {
    json::decode_tolerant::<Texts>(bytes)
        .is_ok_and(|texts| texts.peers.is_some() || texts.executions.is_some())
}

/// The policy of a snapshot as it stands there.
pub fn policy_text(bytes: &[u8]) -> Option<Raw> {
    json::decode_tolerant::<Texts>(bytes).ok()?.policy
}

/// The fingerprint of a policy; empty where it has none.
pub fn fingerprint(policy: &Raw) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Marked {
        fingerprint: String,
    }
    json::decode_tolerant::<Marked>(policy.text().as_bytes()).unwrap_or_default().fingerprint
}

/// The state that a block of reachability names, whatever that is called.
pub fn reachability_state(reachability: &Raw) -> Option<String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Seen {
        state: Option<String>,
    }
    json::decode_tolerant::<Seen>(reachability.text().as_bytes()).ok()?.state
}

#[derive(Deserialize)]
struct Texts {
    peers: Option<Raw>,
    policy: Option<Raw>,
    executions: Option<Raw>,
}

/// A snapshot as it is served: the parts that depend on the moment are projected, all others borrowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Projection<'s> {
    pub peers: &'s [Peer],
    pub reachability: &'s Option<Raw>,
    pub policy: &'s Option<Policy>,
    pub bridge: &'s Option<Bridge>,
    pub state: &'s Option<Entries>,
    pub reports: &'s Option<Entries>,
    pub executions: Vec<Cow<'s, Execution>>,
    pub sessions: Vec<&'s Session>,
}

/// Another node of the mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Peer {
    pub node_id: Name,
    pub mesh_ip: String,
    pub public_key: Name,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fallback_endpoint: String,
}

/// The rules of traffic, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    pub revision_id: Name,
    /// An opaque comparison key.
    pub fingerprint: Name,
    pub rules: Vec<Rule>,
}

/// One rule of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rule {
    pub action: String,
    pub protocol: String,
    pub source_cidr: String,
    pub destination_cidr: String,
    /// Present if and only if the protocol is tcp or udp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<Ports>,
}

/// A range of ports, both ends included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ports {
    pub from: u16,
    pub to: u16,
}

/// What a bridge node does; a null part is not populated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bridge {
    pub relay: Option<Relay>,
    pub user_access: Option<UserAccess>,
    pub ingress: Option<Ingress>,
    pub site_to_site: Option<SiteToSite>,
}

/// Relayed sessions between peers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Relay {
    pub sessions: Vec<RelaySession>,
}

/// Two peers that reach each other through this node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RelaySession {
    pub session_id: Name,
    pub peer_a_id: Name,
    pub peer_a_endpoint: String,
    pub peer_b_id: Name,
    pub peer_b_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Spelled>,
}

/// Access of users by their own tunnel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserAccess {
    pub enabled: bool,
    pub interface_name: Name,
    pub listen_port: u16,
    pub peers: Vec<UserPeer>,
}

/// A device of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserPeer {
    pub public_key: Name,
    pub allowed_ips: Vec<String>,
    pub label: Name,
}

/// Listeners that lead into the mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ingress {
    pub enabled: bool,
    pub rules: Vec<IngressRule>,
}

/// One listener and where it leads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IngressRule {
    pub rule_id: Name,
    pub listen_port: u16,
    pub target_addr: String,
    pub mode: String,
}

/// Tunnels to other networks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteToSite {
    pub enabled: bool,
    pub tunnels: Vec<Tunnel>,
}

/// One tunnel to another network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tunnel {
    pub tunnel_id: Name,
    pub remote_endpoint: String,
    pub remote_public_key: Name,
    pub local_subnets: Vec<String>,
    pub remote_subnets: Vec<String>,
    pub interface_name: Name,
    pub listen_port: u16,
}

/// A `state` or `reports` block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entries {
    pub metadata: Vec<Entry>,
    pub data: Vec<Entry>,
    pub reports: Vec<Entry>,
}

/// One key and its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    pub key: Name,
    /// Opaque.
    pub value: String,
    #[serde(skip_serializing_if = "Name::is_empty")]
    pub workload_tag: Name,
}

/// A session of a user through this node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    pub session_id: Name,
    pub jti: Name,
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Spelled>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout_seconds: Option<u32>,
}

/// Exactly one member in a sound entry, the one that `kind` selects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Target {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh: Option<SshTarget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k8s: Option<K8sTarget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpTarget>,
}

impl Target {
    /// Whether exactly one member is set.
    pub const fn is_one(&self) -> bool {
        matches!(
            (&self.ssh, &self.k8s, &self.tcp),
            (Some(_), None, None) | (None, Some(_), None) | (None, None, Some(_))
        )
    }
}

/// What an `ssh` session reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SshTarget {
    pub user: Name,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_commands: Option<Vec<String>>,
}

/// What a `k8s` session reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct K8sTarget {
    pub user: Name,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impersonate_groups: Option<Vec<Name>>,
}

/// What a `tcp` session reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TcpTarget {
    pub host: Name,
    pub port: u16,
}
