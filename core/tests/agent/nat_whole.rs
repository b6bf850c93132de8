//! The endpoint in the whole agent: what is ordered, what is sent, and what heartbeats tell of it.

use meshward_core::{
    agent::{
        Act, Acted, Agent, Answer, Discovery, Effect, Failure, Input, Level, Notice, Purpose,
        StagedFile, readiness::Readiness,
    },
    backoff::Jitter,
    ids::CallId,
    wire::http::{Body, Request},
};
use serde_json::{Value, json};

use crate::{
    bench::{Bench, NODE, problem, remembered, responded, seconds, sent, sent_to, settings},
    nat_mapping::{self, sees},
};

const HERE: &str = "198.51.100.7:40000";
const HEARTBEAT: &str = "/heartbeat";
const ENDPOINT: &str = "/endpoint";

/// A registered agent that senses its NAT, and its first orders.
fn armed() -> (Bench, Vec<Effect>) {
    let mut settings = settings();
    settings.senses.nat = Some(nat_mapping::settings());
    let mut bench = Bench::new(settings);
    let effects = bench.give(Input::Restarted(Box::new(remembered(StagedFile::Missing))));
    (bench, effects)
}

fn discoveries(effects: &[Effect]) -> Vec<&Discovery> {
    effects
        .iter()
        .filter_map(
            |effect| {
                if let Effect::Act(Act::Discover(order)) = effect { Some(order) } else { None }
            },
        )
        .collect()
}

fn notices(effects: &[Effect]) -> Vec<&Notice> {
    effects
        .iter()
        .filter_map(|effect| if let Effect::Tell(notice) = effect { Some(notice) } else { None })
        .collect()
}

fn found(bench: &mut Bench, round: u64) -> Vec<Effect> {
    let outcome = Ok(vec![sees(1, HERE), sees(2, HERE)]);
    bench.give(Input::Acted(Acted::Discovered { round, outcome, jitter: Jitter::NONE }))
}

fn body(request: &Request) -> Value {
    let Body::Whole(body) = &request.body else { panic!("it has a body: {request:?}") };
    serde_json::from_slice(body).expect("JSON")
}

/// What the heartbeat among these orders tells of the NAT, and its call.
fn summary(effects: &[Effect]) -> (CallId, Value) {
    let (call, request) = sent_to(effects, HEARTBEAT);
    (call, body(&request)["nat_summary"].clone())
}

/// Lets the time pass until the next heartbeat, all others being left alone.
fn next_beat(bench: &mut Bench, call: CallId) -> (CallId, Value) {
    let accepted =
        r#"{"accepted_at":"2027-01-15T08:00:00Z","reconcile":false,"rotate_keys":false}"#;
    bench.answer(call, responded(200, accepted));
    bench.pass(seconds(30));
    summary(&bench.give(Input::Ticked))
}

#[test]
fn an_agent_asks_reports_and_tells_its_endpoint_in_heartbeats() {
    let (mut bench, effects) = armed();
    let [discovery] = discoveries(&effects)[..] else { panic!("one discovery: {effects:?}") };
    assert_eq!((discovery.port, discovery.timeout), (51820, seconds(5)));
    let (beat, summary) = summary(&effects);
    assert_eq!(summary, json!({}));
    let round = discovery.round;
    let effects = found(&mut bench, round);
    let (call, request) = sent_to(&effects, ENDPOINT);
    assert_eq!(
        format!("{:?} {}", request.method, request.path),
        format!("Put /v1/nodes/{NODE}/endpoint")
    );
    assert_eq!(
        body(&request),
        json!({"endpoint": HERE, "nat_type": "full_cone", "reported_at": "2027-01-15T08:00:00Z"})
    );
    let (beat, summary) = next_beat(&mut bench, beat);
    assert_eq!(summary, json!({"endpoint": HERE, "nat_type": "full_cone"}));
    bench.answer(call, problem(410, "endpoint_peer_gone"));
    let (_, summary) = next_beat(&mut bench, beat);
    assert_eq!(summary["endpoint"], HERE, "a refused report takes nothing of what is known");
}

#[test]
fn a_report_is_on_its_way_once() {
    let (mut bench, _) = armed();
    let (call, _) = sent_to(&found(&mut bench, 1), ENDPOINT);
    for _ in 0..10 {
        bench.pass(seconds(60));
        let again =
            [bench.give(Input::Ticked), found(&mut bench, 1), found(&mut bench, 2)].concat();
        assert!(!sent(&again).iter().any(|(_, request)| request.path.ends_with(ENDPOINT)));
    }
    bench.answer(call, Answer::Failed(Failure::TimedOut.into()));
    bench.pass(seconds(10));
    assert_eq!(discoveries(&bench.give(Input::Ticked)).len(), 1);
}

#[test]
fn refused_reports_count_nothing_against_the_identity() {
    let (mut bench, _) = armed();
    let mut round = 1;
    for _ in 0..20 {
        let (call, _) = sent_to(&found(&mut bench, round), ENDPOINT);
        let effects = bench.answer(call, problem(401, "nsk_revoked"));
        assert!(!effects.contains(&Effect::Gather), "{effects:?}");
        bench.pass(seconds(60));
        let effects = bench.give(Input::Ticked);
        round = discoveries(&effects)[0].round;
    }
    assert_eq!(bench.agent.readiness(), Readiness::Ready);
}

#[test]
fn no_secret_of_an_answer_is_told() {
    let (mut bench, _) = armed();
    let (call, request) = sent_to(&found(&mut bench, 1), ENDPOINT);
    let bearer = request.headers.first("authorization").unwrap().to_owned();
    let token = bearer.strip_prefix("Bearer ").unwrap();
    let effects = bench.answer(call, crate::bench::echoing(400, token));
    let [notice] = notices(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!(notice.level, Level::Warn);
    assert!(!notice.text.contains(token), "{notice}");
}

#[test]
fn an_agent_that_stops_or_only_registers_or_is_told_not_to_asks_nobody() {
    let (mut bench, _) = armed();
    bench.give(Input::Draining);
    let late = found(&mut bench, 1);
    assert!(sent(&late).is_empty() && discoveries(&late).is_empty(), "{late:?}");

    let mut registering = settings();
    registering.purpose = Purpose::Register;
    registering.senses.nat = Some(nat_mapping::settings());
    for settings in [registering, settings()] {
        let mut bench = Bench::new(settings);
        let effects = bench.give(Input::Restarted(Box::new(remembered(StagedFile::Missing))));
        assert!(discoveries(&effects).is_empty(), "{effects:?}");
        let effects = found(&mut bench, 1);
        assert!(effects.is_empty(), "{effects:?}");
    }
    assert_eq!(Agent::default().wakeup(), None);
}
