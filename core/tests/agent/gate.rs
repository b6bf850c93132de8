//! Who may read secrets, and who may order: every door, peer, setting and route.

use meshward_core::{
    agent::{
        Caller, Door, Effect, Input, Peer, StagedFile,
        local::gate::{admits, may_order},
    },
    ids::CallId,
    wire::http::{Body, Headers, Method, Request, Response},
};

use crate::bench::Bench;

const GROUP: u32 = 991;
const DENIED: &str = "{\"error\":\"forbidden: insufficient privileges for secret access\"}\n";

fn peer(uid: u32, groups: &[u32], secret_group: Option<u32>) -> Peer {
    Peer { uid, groups: groups.into(), agent: 990, order_group: None, secret_group }
}

/// Peers of the socket, and whether they pass a gate that is closed.
fn peers() -> Vec<(Option<Peer>, bool)> {
    vec![
        (None, false),
        (Some(peer(0, &[0], None)), true),
        (Some(peer(0, &[0], Some(GROUP))), true),
        (Some(peer(0, &[], Some(GROUP))), true),
        (Some(peer(1000, &[1000], Some(GROUP))), false),
        (Some(peer(1000, &[0], Some(GROUP))), false),
        (Some(peer(1000, &[], Some(GROUP))), false),
        (Some(peer(1000, &[GROUP], Some(GROUP))), true),
        (Some(peer(1000, &[1000, 5, GROUP], Some(GROUP))), true),
        (Some(peer(1000, &[GROUP], None)), false),
        (Some(peer(65_534, &[GROUP], Some(GROUP))), false),
        (Some(peer(1000, &[65_534], Some(65_534))), false),
        (Some(peer(0, &[65_534], Some(65_534))), true),
    ]
}

fn callers() -> Vec<(Caller, bool)> {
    let of = |door: Door, knows: bool| {
        peers().into_iter().map(move |(peer, admitted)| (Caller { door, peer }, knows && admitted))
    };
    of(Door::Socket, true).chain(of(Door::Tcp, false)).collect()
}

#[test]
fn a_closed_gate_lets_root_and_members_through_and_an_open_one_everybody() {
    for (caller, admitted) in callers() {
        assert_eq!(admits(true, &caller), admitted, "{caller:?}");
        assert!(admits(false, &caller), "{caller:?}");
    }
}

#[test]
fn root_the_agents_user_and_members_of_its_group_may_order_by_the_socket_and_nobody_else() {
    let of = |uid, groups: &[u32], order_group| {
        // The group of the secrets is another one, and lends no right.
        Peer { order_group, ..peer(uid, groups, Some(77)) }
    };
    let rows = [
        (None, false),
        (Some(of(0, &[0], None)), true),
        (Some(of(0, &[], Some(GROUP))), true),
        (Some(of(990, &[990], None)), true),
        (Some(of(990, &[], Some(GROUP))), true),
        (Some(of(1000, &[1000, 77, 0, 990], Some(GROUP))), false),
        (Some(of(1000, &[1000, GROUP], Some(GROUP))), true),
        (Some(of(1000, &[GROUP], None)), false),
        (Some(of(65_534, &[GROUP], Some(GROUP))), false),
        (Some(Peer { agent: 65_534, ..of(65_534, &[GROUP], Some(GROUP)) }), false),
        (Some(of(1000, &[65_534], Some(65_534))), false),
    ];
    for (peer, may) in rows {
        for door in [Door::Socket, Door::Tcp, Door::Health] {
            let caller = Caller { door, peer: peer.clone() };
            assert_eq!(may_order(&caller), may && door == Door::Socket, "{caller:?}");
        }
    }
}

fn ask(bench: &mut Bench, caller: &Caller, method: Method, path: &str) -> Vec<Effect> {
    let headers = Headers::new();
    let request = Request { method, path: path.into(), query: None, headers, body: Body::EMPTY };
    bench.give(Input::Asked { call: CallId(1), caller: caller.clone(), request })
}

fn denied(effects: &[Effect]) -> bool {
    matches!(effects, [Effect::Reply { response: Response { status: 403, body, .. }, .. }] if body == DENIED.as_bytes())
}

#[test]
fn the_gate_stands_before_the_secrets_and_before_nothing_else() {
    let guarded = ["/v1/state/secrets", "/v1/state/secrets/db", "/v1/state/secrets/NO?version=x"];
    let open = [
        "/v1/state",
        "/v1/state/metadata",
        "/v1/state/data",
        "/v1/status",
        "/v1/state/secretsx",
        "/v1/peers",
    ];
    for (caller, admitted) in
        callers().into_iter().filter(|(caller, _)| caller.door == Door::Socket)
    {
        for closed in [true, false] {
            let (mut bench, _) = Bench::armed(StagedFile::Missing);
            bench.settings.secret_auth_enabled = closed;
            for path in guarded {
                for method in [Method::Get, Method::Head] {
                    let effects = ask(&mut bench, &caller, method, path);
                    assert_eq!(denied(&effects), closed && !admitted, "{closed} {caller:?} {path}");
                }
            }
            for path in open {
                assert!(!denied(&ask(&mut bench, &caller, Method::Get, path)), "{path}");
            }
        }
    }
}

#[test]
fn a_wrong_method_is_told_before_the_gate_is_met() {
    let (mut bench, _) = Bench::armed(StagedFile::Missing);
    bench.settings.secret_auth_enabled = true;
    let stranger = Caller { door: Door::Socket, peer: None };
    let effects = ask(&mut bench, &stranger, Method::Put, "/v1/state/secrets/db");
    assert!(matches!(
        effects.as_slice(),
        [Effect::Reply { response: Response { status: 405, .. }, .. }]
    ));
}
