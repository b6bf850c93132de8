//! Golden texts of the state snapshot and of the entries in it.

use std::borrow::Cow;

use meshward_core::wire::{
    execution::Execution,
    grammar::Name,
    json::{decode_strict, encode},
    snapshot::{
        Bridge, Entries, Entry, Ingress, IngressRule, K8sTarget, Peer, Policy, Ports, Projection,
        Relay, RelaySession, Rule, Session, SiteToSite, Snapshot, SshTarget, Target, TcpTarget,
        Tunnel, UserAccess, UserPeer,
    },
    timestamp::Spelled,
};

use crate::golden::{both, golden, raw};

const KEY_A: &str = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
const KEY_B: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

fn spelled(text: &str) -> Spelled {
    Spelled::parse(text).expect("a timestamp")
}

fn name(text: &str) -> Name {
    Name(text.into())
}

fn peers() -> Vec<Peer> {
    let peer = |node: &str, mesh_ip: &str, key: &str, endpoint: &str| Peer {
        node_id: name(node),
        mesh_ip: mesh_ip.into(),
        public_key: key.into(),
        fallback_endpoint: endpoint.into(),
    };
    vec![
        peer("0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0b1", "10.99.0.2", KEY_A, "203.0.113.1:51820"),
        peer("0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0b2", "10.99.0.3", KEY_B, ""),
    ]
}

fn policy() -> Policy {
    let rule = |protocol: &str, destination: &str, ports| Rule {
        action: "allow".into(),
        protocol: protocol.into(),
        source_cidr: "10.99.0.0/24".into(),
        destination_cidr: destination.into(),
        ports,
    };
    Policy {
        revision_id: name("0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0c1"),
        fingerprint: "mq5VQd1rmHDRTzUBvWEEVEKrjbpfB6ua9LnkurdsBzY=".into(),
        rules: vec![
            rule("any", "10.99.0.0/24", None),
            rule("tcp", "0.0.0.0/0", Some(Ports { from: 443, to: 443 })),
        ],
    }
}

fn bridge() -> Bridge {
    let session = RelaySession {
        session_id: name("relay-sess-001"),
        peer_a_id: name("peer-001"),
        peer_a_endpoint: "203.0.113.1:51820".into(),
        peer_b_id: name("peer-003"),
        peer_b_endpoint: "203.0.113.3:51820".into(),
        expires_at: Some(spelled("2099-12-31T23:59:59Z")),
    };
    let user = UserPeer {
        public_key: "ua-pub-key-001".into(),
        allowed_ips: vec!["10.100.0.1/32".into()],
        label: "admin-laptop".into(),
    };
    let rule = IngressRule {
        rule_id: name("ingress-001"),
        listen_port: 443,
        target_addr: "10.99.0.2:8443".into(),
        mode: "tcp".into(),
    };
    let tunnel = Tunnel {
        tunnel_id: name("s2s-001"),
        remote_endpoint: "198.51.100.1:51820".into(),
        remote_public_key: "s2s-remote-pub-key-001".into(),
        local_subnets: vec!["10.99.0.0/24".into()],
        remote_subnets: vec!["172.16.0.0/16".into()],
        interface_name: name("wg-s2s0"),
        listen_port: 51822,
    };
    Bridge {
        relay: Some(Relay { sessions: vec![session] }),
        user_access: Some(UserAccess {
            enabled: true,
            interface_name: name("wg-access0"),
            listen_port: 51821,
            peers: vec![user],
        }),
        ingress: Some(Ingress { enabled: true, rules: vec![rule] }),
        site_to_site: Some(SiteToSite { enabled: true, tunnels: vec![tunnel] }),
    }
}

fn entries() -> Entries {
    let entry = |key: &str, value: &str| Entry {
        key: name(key),
        value: value.into(),
        workload_tag: Name::default(),
    };
    let certificate = "-----BEGIN CERTIFICATE-----\nmock-ca-cert\n-----END CERTIFICATE-----";
    Entries {
        metadata: vec![entry("environment", "e2e-test"), entry("region", "mock-region-1")],
        data: vec![
            entry("app/config", r#"{"log_level":"info","max_conns":100}"#),
            entry("certs/ca", certificate),
        ],
        reports: Vec::new(),
    }
}

fn snapshot() -> Snapshot {
    Snapshot {
        peers: peers(),
        reachability: Some(raw(
            r#"{"state":"never_reported","changed_at":"2026-01-01T00:00:00Z"}"#,
        )),
        policy: Some(policy()),
        bridge: Some(bridge()),
        state: Some(entries()),
        reports: Some(entries()),
        executions: Vec::new(),
        sessions: Some(Vec::new()),
    }
}

#[test]
fn the_default_snapshot_has_all_its_blocks() {
    both("snapshot.default", &snapshot());
}

#[test]
fn a_projection_is_written_as_a_snapshot() {
    let whole = Snapshot {
        executions: vec![execution()],
        sessions: Some(vec![session_tcp()]),
        ..snapshot()
    };
    let projection = Projection {
        peers: &whole.peers,
        reachability: &whole.reachability,
        policy: &whole.policy,
        bridge: &whole.bridge,
        state: &whole.state,
        reports: &whole.reports,
        executions: whole.executions.iter().map(Cow::Borrowed).collect(),
        sessions: whole.sessions.iter().flatten().collect(),
    };
    assert_eq!(encode(&projection), encode(&whole));
}

#[test]
fn all_eight_members_are_written_and_a_missing_one_is_read_as_empty() {
    let empty = Snapshot::default();
    both("snapshot.nulls", &empty);
    assert_eq!(decode_strict::<Snapshot>(b"{}"), Ok(empty.clone()));
    assert_ne!(Snapshot { sessions: Some(Vec::new()), ..empty.clone() }, empty);
}

#[test]
fn a_block_without_content_is_not_null() {
    let blocks = Snapshot {
        reachability: Some(raw("{}")),
        policy: Some(Policy::default()),
        bridge: Some(Bridge::default()),
        state: Some(Entries::default()),
        reports: Some(Entries::default()),
        sessions: Some(Vec::new()),
        ..Snapshot::default()
    };
    both("snapshot.empty_blocks", &blocks);
    let spare =
        br#"{"reachability":{},"policy":{},"bridge":{},"state":{},"reports":{},"sessions":[]}"#;
    assert_eq!(decode_strict::<Snapshot>(spare), Ok(blocks));
}

fn execution() -> Execution {
    Execution {
        execution_id: name("exec-1"),
        action: name("diagnostics.collect"),
        kind: "builtin".into(),
        parameters: Some(raw(
            r#"{"z":18446744073709551616,"a":-0,"rate":1e400,"deep":{"b":[1.50,"\u0061"],"b":null}}"#,
        )),
        status: "pending".into(),
        requested_at: Some(spelled("2026-01-15T10:30:00.500Z")),
        expires_at: Some(spelled("2026-01-15T12:30:00+01:00")),
    }
}

#[test]
fn parameters_keep_big_integers_order_and_duplicates() {
    both("execution.parameters", &execution());
}

#[test]
fn parameters_may_be_null() {
    let entry = Execution {
        execution_id: name("exec-2"),
        action: name("restart"),
        kind: "hook".into(),
        parameters: None,
        status: "ack".into(),
        requested_at: Some(spelled("2026-01-15T10:30:00Z")),
        expires_at: Some(spelled("2099-12-31T23:59:59Z")),
    };
    both("execution.null_parameters", &entry);
    let spare = Execution { requested_at: None, expires_at: None, ..entry };
    let text = golden("execution.null_parameters");
    let cut = text.find(r#","requested_at""#).unwrap();
    assert_eq!(encode(&spare), format!("{}}}", &text[..cut]).into_bytes());
}

fn session(id: &str, kind: &str, target: Target, idle: Option<u32>) -> Session {
    Session {
        session_id: name(id),
        jti: name(id),
        kind: kind.into(),
        target: Some(target),
        expires_at: Some(spelled("2099-12-31T23:59:59Z")),
        idle_timeout_seconds: idle,
    }
}

fn session_tcp() -> Session {
    let tcp = TcpTarget { host: "10.99.0.2".into(), port: 5432 };
    session("sess-3", "tcp", Target { tcp: Some(tcp), ..Target::default() }, Some(0))
}

#[test]
fn a_session_has_the_one_target_of_its_kind() {
    let ssh = SshTarget {
        user: name("ops"),
        allowed_commands: Some(vec!["uptime".into(), "df -h".into()]),
    };
    both(
        "session.ssh",
        &session("sess-1", "ssh", Target { ssh: Some(ssh), ..Target::default() }, Some(300)),
    );
    let k8s = K8sTarget { user: name("viewer"), impersonate_groups: Some(vec!["readers".into()]) };
    both(
        "session.k8s",
        &session("sess-2", "k8s", Target { k8s: Some(k8s), ..Target::default() }, None),
    );
    both("session.tcp", &session_tcp());
}

#[test]
fn a_state_entry_may_have_a_tag() {
    let entry = Entry { key: name("status.mesh"), value: "up".into(), workload_tag: "edge".into() };
    both("entry.tagged", &entry);
}
