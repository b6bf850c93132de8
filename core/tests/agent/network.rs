//! The peers and the policy that a pull brings, through the whole agent.

use meshward_core::{
    agent::{Caller, Door, Effect, Input, StagedFile, readiness::Readiness, verdict},
    ids::CallId,
    wire::{
        http::{Body, Headers, Method, Request},
        pulled::Block,
    },
};

use crate::bench::{Bench, responded, sent_to};

fn ask(bench: &mut Bench, method: Method, path: &str) -> (u16, String) {
    let headers = Headers::new();
    let request = Request { method, path: path.into(), query: None, headers, body: Body::EMPTY };
    let caller = Caller::from(Door::Socket);
    match bench.give(Input::Asked { call: CallId(1), caller, request }).as_slice() {
        [Effect::Reply { response, .. }] => {
            (response.status, String::from_utf8(response.body.clone()).expect("a text"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pull_brings_peers_and_the_policy_as_it_stands_there_and_a_null_one_takes_it_away() {
    let (mut bench, effects) = Bench::armed(StagedFile::Missing);
    assert_eq!(ask(&mut bench, Method::Get, "/v1/policies"), (200, "{}\n".into()));
    let (pull, _) = sent_to(&effects, "/state");
    let policy = r#"{ "revision_id":"r","later":[1e2],"rules":[]}"#;
    let peers = r#"[{"node_id":"n","mesh_ip":"10.0.0.2","public_key":"k"}]"#;
    bench.answer(pull, responded(200, &format!(r#"{{"peers":{peers},"policy":{policy}}}"#)));
    assert_eq!(ask(&mut bench, Method::Get, "/v1/policies"), (200, format!("{policy}\n")));
    let row = r#"[{"id":"n","public_key":"k","mesh_ip":"10.0.0.2","endpoint":""}]"#;
    assert_eq!(ask(&mut bench, Method::Get, "/v1/peers"), (200, format!("{row}\n")));
    bench.pass(crate::bench::seconds(60));
    let (pull, _) = sent_to(&bench.give(Input::Ticked), "/state");
    bench.answer(pull, responded(200, r#"{"peers":[],"policy":null}"#));
    assert_eq!(ask(&mut bench, Method::Get, "/v1/policies"), (200, "{}\n".into()));
    assert_eq!(ask(&mut bench, Method::Get, "/v1/peers"), (200, "[]\n".into()));
}

#[test]
fn the_policy_of_an_answer_is_read_as_it_stands_and_a_broken_one_is_none() {
    let policy = |body: &str| {
        let pulled = verdict::pull(&responded(200, body));
        let verdict::Fetched::Got(pulled) = pulled else { panic!("{pulled:?}") };
        pulled.policy.map(|raw| raw.text().to_owned())
    };
    assert_eq!(policy(r#"{"peers":[]}"#), None);
    assert_eq!(policy(r#"{"peers":[],"policy":null}"#), None);
    assert_eq!(policy(r#"{"peers":[],"policy":{ }}"#), Some("{ }".into()));
    for broken in [r#"{"peers":[],"policy":[]}"#, r#"{"peers":[],"policy":"x"}"#] {
        assert_eq!(policy(broken), None);
        let pulled = verdict::pull(&responded(200, broken));
        let verdict::Fetched::Got(pulled) = pulled else { panic!("{pulled:?}") };
        assert!(pulled.lacks(Block::Policy), "so what is known of it is kept");
    }
}

#[test]
fn a_listener_that_ends_by_itself_is_told_and_costs_the_readiness() {
    for (door, name) in [
        (Door::Health, "health listener"),
        (Door::Socket, "local socket"),
        (Door::Tcp, "TCP listener of the local API"),
    ] {
        let (mut bench, _) = Bench::armed(StagedFile::Missing);
        assert_eq!(bench.agent.readiness(), Readiness::Ready);
        match bench.give(Input::Broke(door)).as_slice() {
            [Effect::Tell(notice)] => assert!(notice.text.contains(name), "{notice}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(bench.agent.readiness(), Readiness::SubsystemStopped);
    }
}
