//! The routes of the hooks, through the whole agent: who may reload, what is listed, what is ordered.

use meshward_core::{
    agent::{Act, Acted, Caller, Door, Effect, FoundHook, Input, Peer, Scan, Sight, StagedFile},
    ids::CallId,
    wire::http::{Body, Headers, Method, Request},
};

use crate::{
    bench::{Bench, remembered, settings},
    hooks::{beside, digest, seen, whole},
};

const FORBIDDEN: &str = "{\"error\":\"forbidden: only root, the user of the agent and members of the group meshward may order this, by the local socket\"}\n";

fn started() -> (Bench, Vec<Effect>) {
    let mut bench = Bench::new(settings());
    bench.settings.actions.hooks = true;
    let effects = bench.give(Input::Restarted(Box::new(remembered(StagedFile::Missing))));
    (bench, effects)
}

/// Behind a first look that met this.
fn looked(files: &[FoundHook]) -> Bench {
    let (mut bench, _) = started();
    bench.give(scanned(seen(files)));
    bench
}

fn scanned(scan: Scan) -> Input {
    Input::Acted(Acted::Scanned(Box::new(scan)))
}

fn by(uid: u32, groups: &[u32]) -> Caller {
    let peer =
        Peer { uid, groups: groups.into(), agent: 990, order_group: Some(77), secret_group: None };
    Caller { door: Door::Socket, peer: Some(peer) }
}

fn ask(bench: &mut Bench, caller: &Caller, method: Method, path: &str) -> Vec<Effect> {
    let headers = Headers::new();
    let request = Request { method, path: path.into(), query: None, headers, body: Body::EMPTY };
    bench.give(Input::Asked { call: CallId(1), caller: caller.clone(), request })
}

fn reload(bench: &mut Bench, caller: &Caller) -> Vec<Effect> {
    ask(bench, caller, Method::Post, "/v1/hooks/reload")
}

fn answered(effects: &[Effect]) -> (u16, String) {
    match effects {
        [.., Effect::Reply { response, .. }] => {
            (response.status, String::from_utf8(response.body.clone()).expect("a text"))
        }
        other => panic!("{other:?}"),
    }
}

fn looks(effects: &[Effect]) -> bool {
    effects.contains(&Effect::Act(Act::Scan))
}

#[test]
fn the_first_look_is_ordered_before_anything_is_asked_of_the_control_plane() {
    let (_, effects) = started();
    let look = effects.iter().position(|effect| *effect == Effect::Act(Act::Scan));
    let call = effects.iter().position(|effect| matches!(effect, Effect::Send { .. }));
    assert!(look.expect("a look") < call.expect("a call"));
    let (_, effects) = Bench::armed(StagedFile::Missing);
    assert!(!looks(&effects), "there is no directory");
}

#[test]
fn hooks_are_listed_by_their_names_beside_the_actions() {
    let text = r#"{"description":"D","timeout":"1m","sandbox":"none","parameters":[{"name":"p","type":"string","required":true,"default":"d","description":"P"}]}"#;
    let mut bench = looked(&[whole("b", 2), beside("a", text)]);
    let (a, b) = (digest(1).to_hex(), digest(2).to_hex());
    let list = format!(
        "[{{\"name\":\"a\",\"description\":\"D\",\"source\":\"local\",\"checksum\":\"{a}\",\"parameters\":[\
         {{\"name\":\"p\",\"type\":\"string\",\"required\":true,\"default\":\"d\",\"description\":\"P\"}}],\
         \"timeout\":\"1m\",\"sandbox\":\"none\"}},\
         {{\"name\":\"b\",\"description\":\"\",\"source\":\"local\",\"checksum\":\"{b}\",\"parameters\":[],\
         \"timeout\":\"\",\"sandbox\":\"\"}}]"
    );
    let anybody = Caller::from(Door::Socket);
    let hooks = answered(&ask(&mut bench, &anybody, Method::Get, "/v1/hooks"));
    assert_eq!(hooks, (200, format!("{list}\n")));
    let (_, actions) = answered(&ask(&mut bench, &anybody, Method::Get, "/v1/actions"));
    assert!(actions.ends_with(&format!("\"hooks\":{list}}}\n")), "{actions}");
    bench.give(Input::Acted(Acted::Stirred));
    bench.pass(meshward_core::agent::hooks::DEBOUNCE);
    assert!(looks(&bench.give(Input::Ticked)));
    bench.give(scanned(seen(&[whole("b", 3)])));
    let (_, hooks) = answered(&ask(&mut bench, &anybody, Method::Get, "/v1/hooks"));
    let fault = ",\"sandbox\":\"\",\"fault\":\"it was changed since it was discovered\"}]\n";
    assert!(hooks.ends_with(fault), "{hooks}");
}

#[test]
fn a_reload_looks_and_answers_what_is_there_with_what_is_wrong() {
    let mut bench = looked(&[]);
    assert!(matches!(reload(&mut bench, &by(0, &[0]))[..], [Effect::Act(Act::Scan)]));
    let effects = bench.give(scanned(seen(&[beside("a", "{")])));
    let (status, body) = answered(&effects);
    assert_eq!(status, 200);
    assert!(body.starts_with("{\"status\":\"reloaded\",\"hooks\":[{\"name\":\"a\","), "{body}");
    assert!(body.contains("],\"warnings\":[\"hook a: its sidecar is passed over: "), "{body}");
    reload(&mut bench, &by(0, &[0]));
    let effects = bench.give(scanned(seen(&[])));
    assert_eq!(answered(&effects), (200, "{\"status\":\"reloaded\",\"hooks\":[]}\n".into()));
    reload(&mut bench, &by(0, &[0]));
    let failed = Scan { sight: Sight::Failed("/etc: no".into()), watched: Ok(()) };
    let error = "{\"error\":\"the hooks directory cannot be looked at: /etc: no\"}\n";
    assert_eq!(answered(&bench.give(scanned(failed))), (500, error.into()));
}

#[test]
fn root_the_agents_user_and_its_group_may_reload_and_others_are_told_who_may() {
    for (caller, may) in [
        (by(0, &[0]), true),
        (by(990, &[990]), true),
        (by(1000, &[1000, 77]), true),
        (by(1000, &[1000, 0]), false),
        (Caller::from(Door::Socket), false),
    ] {
        let mut bench = looked(&[]);
        let effects = reload(&mut bench, &caller);
        match may {
            true => assert!(looks(&effects), "{caller:?}"),
            false => assert_eq!(answered(&effects), (403, FORBIDDEN.into()), "{caller:?}"),
        }
    }
}

#[test]
fn a_reload_is_refused_where_nobody_looks_and_when_the_agent_ends() {
    let error = (503, "{\"error\":\"hook reloader not available\"}\n".to_owned());
    let (mut bench, _) = Bench::armed(StagedFile::Missing);
    assert_eq!(answered(&reload(&mut bench, &by(0, &[0]))), error);
    let mut bench = looked(&[]);
    reload(&mut bench, &by(0, &[0]));
    bench.give(Input::Draining);
    bench.pass(meshward_core::agent::DRAIN_MAX);
    let effects = bench.give(Input::Ticked);
    let replies: Vec<_> =
        effects.iter().filter(|effect| matches!(effect, Effect::Reply { .. })).cloned().collect();
    assert_eq!(answered(&replies), error, "who waited is answered");
    assert_eq!(answered(&reload(&mut bench, &by(0, &[0]))), error, "who asks behind the end too");
}
