//! The snapshot that the fixture serves until another one is configured.
//!
//! Specification: "State snapshot" (Default fixture).

use alloc::{vec, vec::Vec};

use super::site;
use crate::wire::{
    grammar::Name,
    json::Raw,
    snapshot::{
        Bridge, Entries, Entry, Ingress, IngressRule, Peer, Policy, Ports, Relay, RelaySession,
        Rule, SiteToSite, Snapshot, Tunnel, UserAccess, UserPeer,
    },
    timestamp::Spelled,
};

const REACHABILITY: &str = r#"{"state":"never_reported","changed_at":"2026-01-01T00:00:00Z"}"#;
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nmock-ca-cert\n-----END CERTIFICATE-----";

/// Builds the snapshot; its holder keeps it.
pub fn default_snapshot() -> Snapshot {
    Snapshot {
        peers: peers(),
        reachability: Raw::parse(REACHABILITY),
        policy: Some(policy()),
        bridge: Some(bridge()),
        state: Some(entries()),
        reports: Some(entries()),
        executions: Vec::new(),
        sessions: Some(Vec::new()),
    }
}

fn peers() -> Vec<Peer> {
    let peer = |peer: &site::PeerConstant| Peer {
        node_id: peer.node_id.into(),
        mesh_ip: peer.mesh_ip.into(),
        public_key: peer.public_key.into(),
        fallback_endpoint: peer.fallback_endpoint.into(),
    };
    site::PEERS.iter().map(peer).collect()
}

fn policy() -> Policy {
    let rule = |protocol: &str, destination: &str, ports| Rule {
        action: "allow".into(),
        protocol: protocol.into(),
        source_cidr: site::DOMAIN_MESH_CIDR.into(),
        destination_cidr: destination.into(),
        ports,
    };
    Policy {
        revision_id: "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0c1".into(),
        fingerprint: "mq5VQd1rmHDRTzUBvWEEVEKrjbpfB6ua9LnkurdsBzY=".into(),
        rules: vec![
            rule("any", site::DOMAIN_MESH_CIDR, None),
            rule("tcp", "0.0.0.0/0", Some(Ports { from: 443, to: 443 })),
        ],
    }
}

fn bridge() -> Bridge {
    Bridge {
        relay: Some(Relay { sessions: vec![relay_session()] }),
        user_access: Some(user_access()),
        ingress: Some(ingress()),
        site_to_site: Some(SiteToSite { enabled: true, tunnels: vec![tunnel()] }),
    }
}

fn relay_session() -> RelaySession {
    RelaySession {
        session_id: "relay-sess-001".into(),
        peer_a_id: "peer-001".into(),
        peer_a_endpoint: "203.0.113.1:51820".into(),
        peer_b_id: "peer-003".into(),
        peer_b_endpoint: "203.0.113.3:51820".into(),
        expires_at: Spelled::parse("2099-12-31T23:59:59Z").ok(),
    }
}

fn user_access() -> UserAccess {
    let peer = UserPeer {
        public_key: "ua-pub-key-001".into(),
        allowed_ips: vec!["10.100.0.1/32".into()],
        label: "admin-laptop".into(),
    };
    UserAccess {
        enabled: true,
        interface_name: "wg-access0".into(),
        listen_port: 51821,
        peers: vec![peer],
    }
}

fn ingress() -> Ingress {
    let rule = IngressRule {
        rule_id: "ingress-001".into(),
        listen_port: 443,
        target_addr: "10.99.0.2:8443".into(),
        mode: "tcp".into(),
    };
    Ingress { enabled: true, rules: vec![rule] }
}

fn tunnel() -> Tunnel {
    Tunnel {
        tunnel_id: "s2s-001".into(),
        remote_endpoint: "198.51.100.1:51820".into(),
        remote_public_key: "s2s-remote-pub-key-001".into(),
        local_subnets: vec![site::DOMAIN_MESH_CIDR.into()],
        remote_subnets: vec!["172.16.0.0/16".into()],
        interface_name: "wg-s2s0".into(),
        listen_port: 51822,
    }
}

fn entries() -> Entries {
    let entry = |key: &str, value: &str| Entry {
        key: Name::from(key),
        value: value.into(),
        workload_tag: Name::default(),
    };
    Entries {
        metadata: vec![entry("environment", "e2e-test"), entry("region", "mock-region-1")],
        data: vec![
            entry("app/config", r#"{"log_level":"info","max_conns":100}"#),
            entry("certs/ca", CERTIFICATE),
        ],
        reports: Vec::new(),
    }
}
