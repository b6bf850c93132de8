//! The pipelines through the whole agent: collected, sent, delivered, kept and handed back, and what the agent audits of
//! itself.

use std::net::IpAddr;

use meshward_core::{
    agent::{
        Act, Acted, Caller, Captured, Carried, Cause, Change, Collect, Collected, Content, Door,
        Effect, Ending, Feed, Folder, FoundContent, FoundFile, Input, Memory, Peer, Pipe,
        PipeSettings, Records, RunId, SessionFact, Source, StagedFile, StateFile, Stored, Voice,
        VoiceSettings,
    },
    ids::{CallId, SessionId},
    secret::Secret,
    time::Wall,
    wire::{
        grammar::NodeSecretKey,
        http::{Body, Headers, Method, Request, Response},
        positions::Positions,
        record::{MetricPoint, PointGroup, Reading},
        secret::seal,
        timestamp::Timestamp,
    },
};

use crate::{
    bench::{
        Bench, NODE, execution_id, problem, remembered, responded, seconds, sent_to, settings,
    },
    voice::{cursor, feed, line, lines, logs_only, pipe, with_local},
};

fn started(voice: VoiceSettings, state: Vec<FoundFile>) -> (Bench, Vec<Effect>) {
    let mut bench = Bench::new(settings());
    bench.settings.voice = voice;
    let memory = Memory { state, ..remembered(StagedFile::Missing) };
    let effects = bench.give(Input::Restarted(Box::new(memory)));
    settle(&mut bench, &effects);
    (bench, effects)
}

/// The disk takes whatever it was given.
fn settle(bench: &mut Bench, effects: &[Effect]) {
    for effect in effects {
        if let Effect::Keep { file, .. } = effect {
            let more = bench.give(Input::Kept { file: file.clone(), outcome: Ok(()) });
            settle(bench, &more);
        }
    }
}

fn file() -> StateFile {
    StateFile { folder: Folder::Root, name: "positions.json".into() }
}

fn orders(effects: &[Effect]) -> Vec<Voice> {
    let orders = effects.iter().filter_map(|effect| {
        let Effect::Act(Act::Voice(order)) = effect else { return None };
        Some(order.clone())
    });
    orders.collect()
}

fn round(effects: &[Effect]) -> Collect {
    let mut rounds = orders(effects).into_iter().filter_map(|order| {
        let Voice::Collect(collect) = order else { return None };
        Some(collect)
    });
    rounds.next().expect("a round is begun")
}

fn shipment(effects: &[Effect]) -> Option<(CallId, Request)> {
    orders(effects).into_iter().find_map(|order| {
        let Voice::Ship { call, request, .. } = order else { return None };
        Some((call, request))
    })
}

fn delivery(effects: &[Effect]) -> Option<(CallId, String, Secret<String>)> {
    orders(effects).into_iter().find_map(|order| {
        let Voice::Deliver { call, body, token, timeout, .. } = order else { return None };
        assert_eq!(timeout, seconds(10));
        Some((call, String::from_utf8(body.0).expect("text"), token))
    })
}

fn kept(effects: &[Effect]) -> Option<Positions> {
    effects.iter().find_map(|effect| {
        let Effect::Keep { file: named, change: Change::Write(Content(bytes)) } = effect else {
            return None;
        };
        (*named == file()).then(|| Positions::decode(bytes).expect("they are sound"))
    })
}

fn brings(pipe: Pipe, round: u64, feed: Feed) -> Input {
    Input::Acted(Acted::Collected(Box::new(Collected { pipe, round, feeds: vec![feed] })))
}

fn marked(numbers: std::ops::Range<usize>, mark: &str) -> Feed {
    let marks = vec![("journald".into(), Some(cursor(mark)))];
    Feed { marks, ..feed(Source::Journald, Records::Lines(lines(numbers))) }
}

fn body(request: &Request) -> String {
    match &request.body {
        Body::Whole(bytes) => String::from_utf8(bytes.clone()).expect("it is text"),
        other @ (Body::Oversized | Body::Unreadable) => panic!("{other:?}"),
    }
}

fn stamped(wall: Wall) -> String {
    Timestamp::from(wall).to_string()
}

const RECEIPT: &str = r#"{"accepted_at":"2027-01-15T08:00:00.000000001Z","records":4}"#;

#[test]
fn what_is_collected_is_taken_and_the_next_process_goes_on_behind_it() {
    let (mut bench, effects) = started(logs_only(), Vec::new());
    let collect = round(&effects);
    assert_eq!((collect.pipe, collect.round, collect.room), (Pipe::Logs, 1, 8));
    assert_eq!(collect.from, Some(Positions::default()));
    let effects = bench.give(brings(Pipe::Logs, 1, marked(0..4, "c1")));
    let (call, request) = shipment(&effects).expect("a batch is full");
    assert_eq!((request.method, request.path), (Method::Post, format!("/v1/nodes/{NODE}/logs")));
    let header = |name| request.headers.first(name);
    assert_eq!(header("content-type"), Some("application/x-ndjson"));
    assert_eq!(header("x-service-sent-at"), Some(stamped(bench.now.wall).as_str()));
    assert!(header("authorization").is_some_and(|value| value.starts_with("Bearer nsk_")));
    assert_eq!(header("content-encoding"), None, "it has no more than 1 KiB");
    let effects = bench.answer(call, responded(202, RECEIPT));
    let positions = kept(&effects).expect("they are written");
    assert_eq!(positions.places["journald"], cursor("c1"));
    bench.give(Input::Kept { file: file(), outcome: Ok(()) });

    let content = FoundContent::Bytes(Content(positions.encode()));
    let (_, effects) = started(logs_only(), vec![FoundFile { file: file(), content }]);
    assert_eq!(round(&effects).from, Some(positions));
}

#[test]
fn each_try_is_stamped_anew_and_what_is_large_says_that_it_is_packed() {
    let (mut bench, _) = started(logs_only(), Vec::new());
    let long = line(&"x".repeat(1_000));
    let brought = feed(Source::Journald, Records::Lines(vec![long; 4]));
    let effects = bench.give(brings(Pipe::Logs, 1, brought));
    let (call, first) = shipment(&effects).expect("a batch is full");
    assert_eq!(first.headers.first("content-encoding"), Some("gzip"));
    bench.pass(seconds(1));
    bench.answer(call, problem(400, "ingest_sent_at_invalid"));
    bench.pass(seconds(29));
    let effects = bench.give(Input::Ticked);
    let (_, second) = shipment(&effects).expect("it goes again");
    assert_eq!(body(&first), body(&second));
    let stamp = stamped(bench.now.wall);
    assert_eq!(second.headers.first("x-service-sent-at"), Some(stamp.as_str()));
    assert_ne!(first.headers.first("x-service-sent-at"), Some(stamp.as_str()));
}

#[test]
fn a_copy_goes_to_the_local_endpoint_with_the_secret_of_the_control_plane() {
    let logs = Some(with_local(pipe(&[Source::Journald])));
    let (mut bench, _) = started(VoiceSettings { logs, ..logs_only() }, Vec::new());
    let effects = bench.give(brings(Pipe::Logs, 1, marked(0..4, "c1")));
    assert!(shipment(&effects).is_some() && delivery(&effects).is_none());
    let (call, request) = sent_to(&effects, "/secrets/sink");
    assert_eq!(request.path, format!("/v1/nodes/{NODE}/secrets/sink"));
    let key = NodeSecretKey::from_bytes([9; 32]);
    let envelope = seal(&key, [1; 12], b"token\n").expect("it is short");
    let response = Response { body: envelope, ..Response::empty(200) }
        .with("X-Service-Secret-Version", "1")
        .with("X-Service-Secret-KID", "k1");
    let effects = bench.answer(call, meshward_core::agent::Answer::Responded(response));
    let (call, body, token) = delivery(&effects).expect("there is a token");
    assert_eq!((token.expose().as_str(), body.matches("line ").count()), ("token", 4));
    let printed = format!("{:?} {effects:?}", bench.agent);
    assert!(!printed.contains("token\\n") && !printed.contains("\"token\""));
    bench.answer(call, responded(500, ""));
    let figures = bench.agent.voice_figures(&bench.settings);
    let local = figures.pipes[0].local.expect("it has one");
    assert_eq!((local.delivered, local.failed), (0, 4));
}

#[test]
fn metrics_are_rounded_off_with_what_the_core_alone_knows() {
    let metrics = Some(pipe(&[Source::System, Source::Stats]));
    let voice = VoiceSettings { metrics, peers: true, ..VoiceSettings::default() };
    let (mut bench, effects) = started(voice, Vec::new());
    assert_eq!(round(&effects).peers, [], "no peer was pulled yet");
    let (call, _) = sent_to(&effects, "/state");
    let peers = r#"{"peers":[{"node_id":"n2","public_key":"","mesh_ip":"10.0.0.2"},
        {"node_id":"n3","public_key":"","mesh_ip":"nowhere"}]}"#;
    bench.answer(call, responded(200, peers));
    bench.pass(seconds(9));
    let group = PointGroup::Agent;
    let timestamp = Timestamp::from(bench.now.wall);
    let data = vec![(Reading::UptimeSeconds, 99.0), (Reading::GoroutineCount, 7.0)];
    let point = MetricPoint { timestamp, group, peer_id: None, data };
    bench.give(brings(Pipe::Metrics, 1, feed(Source::Stats, Records::Points(vec![point]))));
    bench.pass(seconds(1));
    let effects = bench.give(Input::Ticked);
    assert_eq!(round(&effects).peers, [("n2".to_owned(), IpAddr::from([10, 0, 0, 2]))]);
    // A round without the source has a point all the same.
    bench.pass(seconds(1));
    bench.give(brings(Pipe::Metrics, 2, feed(Source::System, Records::Points(Vec::new()))));
    bench.pass(seconds(19));
    let effects = bench.give(Input::Ticked);
    let (_, request) = shipment(&effects).expect("the report is due");
    assert!(request.path.ends_with("/metrics"));
    assert_eq!(request.headers.first("content-type"), Some("application/json"));
    let body = body(&request);
    let sample = |name: &str, value: &str| {
        body.contains(&format!(r#"{{"group":"agent_stats","name":"{name}","value":{value},"#))
    };
    assert!(sample("goroutine_count", "7") && sample("reconnect_count", "0"), "{body}");
    assert!(sample("uptime_seconds", "9") && sample("uptime_seconds", "11"), "{body}");
    assert!(!sample("uptime_seconds", "99"));
}

/// The events that this agent tells of itself to a local endpoint.
fn audit() -> VoiceSettings {
    let settings = PipeSettings { batch_size: 100, ..pipe(&[]) };
    VoiceSettings { audit: Some(with_local(settings)), logs: None, ..logs_only() }
}

#[test]
fn what_the_agent_does_is_audited_without_a_parameter_or_a_secret() {
    let (mut bench, effects) = started(audit(), Vec::new());
    let (call, _) = sent_to(&effects, "/state");
    let entry = r#"{"executions":[{"execution_id":"e1","action":"diagnostics.collect","type":"builtin",
        "status":"pending","expires_at":"2099-01-01T00:00:00Z","parameters":{"password":"hunter2"}}]}"#;
    let effects = bench.answer(call, responded(200, entry));
    let (call, _) = sent_to(&effects, "/executions/e1");
    let effects = bench.answer(call, responded(200, r#"{"status":"ack"}"#));
    let (call, _) = sent_to(&effects, "/executions/e1");
    bench.answer(call, responded(200, r#"{"status":"started"}"#));
    let printed = Captured { bytes: b"hunter2".into(), cut: false };
    let ending = Ending { cause: Cause::Exited(3), stdout: printed, stderr: Captured::default() };
    let id = RunId::Execution(execution_id("e1"));
    bench.give(Input::Acted(Acted::Finished { id, ending }));
    let peer = Peer { uid: 0, groups: Vec::new(), agent: 0, order_group: None, secret_group: None };
    let caller = Caller { peer: Some(peer), ..Caller::from(Door::Socket) };
    let body = br#"{"action":"diagnostics.collect","parameters":{"password":"hunter2"}}"#;
    let request = Request {
        method: Method::Post,
        path: "/v1/actions/run".into(),
        query: None,
        headers: Headers::new(),
        body: Body::Whole(body.to_vec()),
    };
    bench.give(Input::Asked { call: CallId(900), caller, request });
    let session = SessionId("s1".into());
    let carried = Carried { bytes_in: 1, bytes_out: 2 };
    bench.give(Input::Acted(Acted::Session(session, SessionFact::Closed(carried))));
    bench.give(Input::Stored(Stored::Committed));
    bench.pass(seconds(30));
    let effects = bench.give(Input::Ticked);
    let (call, _) = sent_to(&effects, "/secrets/sink");
    assert!(shipment(&effects).is_none(), "the control plane has no word for them");
    let envelope = seal(&NodeSecretKey::from_bytes([9; 32]), [1; 12], b"token").expect("short");
    let response =
        Response { body: envelope, ..Response::empty(200) }.with("X-Service-Secret-Version", "1");
    let effects = bench.answer(call, meshward_core::agent::Answer::Responded(response));
    let (_, body, _) = delivery(&effects).expect("there is a token");
    assert!(!body.contains("hunter2") && !body.contains("password"), "{body}");
    let told = |text: &str| assert!(body.contains(text), "{text} in {body}");
    told(
        r#""event_type":"agent","subject":{"process":"meshward"},"object":{"version":"1.2.3"},"action":"start","result":"success","hostname":"node-1","raw":""}"#,
    );
    told(
        r#""object":{"execution_id":"e1","action":"diagnostics.collect"},"action":"begin","result":"success""#,
    );
    told(r#""object":{"execution_id":"e1","end":"exit code 3"},"action":"end","result":"failure""#);
    told(
        r#""event_type":"local_run","subject":{"uid":"0"},"object":{"action":"diagnostics.collect"},"action":"begin""#,
    );
    told(
        r#""event_type":"session","subject":{"process":"control plane"},"object":{"session_id":"s1"},"action":"close""#,
    );
    told(&format!(
        r#""event_type":"rotation","subject":{{"process":"meshward"}},"object":{{"node_id":"{NODE}"}}"#
    ));
}

#[test]
fn a_drain_brings_away_what_is_held_and_waits_for_it_five_seconds_at_most() {
    let (mut bench, _) = started(logs_only(), Vec::new());
    bench.give(brings(Pipe::Logs, 1, marked(0..2, "c1")));
    let effects = bench.give(Input::Draining);
    let (call, request) = shipment(&effects).expect("it is flushed");
    assert_eq!(body(&request).lines().count(), 2);
    assert!(effects.iter().all(|effect| !matches!(effect, Effect::Exit(_))));
    let effects = bench.answer(call, responded(202, RECEIPT));
    assert!(kept(&effects).is_some());
    assert!(
        effects.iter().all(|effect| !matches!(effect, Effect::Exit(_))),
        "the disk is waited for"
    );
    let effects = bench.give(Input::Kept { file: file(), outcome: Ok(()) });
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Exit(_))));

    let (mut bench, _) = started(logs_only(), Vec::new());
    bench.give(brings(Pipe::Logs, 1, marked(0..2, "c1")));
    bench.give(Input::Draining);
    bench.pass(seconds(5));
    let effects = bench.give(Input::Ticked);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Exit(_))), "{effects:?}");
    assert!(kept(&effects).is_none());
}

#[test]
fn co_located_programs_are_told_how_the_pipelines_do() {
    let (mut bench, _) = started(logs_only(), Vec::new());
    bench.give(brings(Pipe::Logs, 1, marked(0..3, "c1")));
    let told = |bench: &mut Bench, path: &str| {
        let request = Request {
            method: Method::Get,
            path: path.into(),
            query: None,
            headers: Headers::new(),
            body: Body::EMPTY,
        };
        let caller = Caller::from(Door::Socket);
        let effects = bench.give(Input::Asked { call: CallId(900), caller, request });
        let [Effect::Reply { response, .. }] = effects.as_slice() else { panic!("{effects:?}") };
        (response.status, String::from_utf8(response.body.clone()).expect("text"))
    };
    let expected = r#"{"enabled":true,"buffer_size":3,"source_count":1,"error_count":0}"#;
    assert_eq!(told(&mut bench, "/v1/log-status"), (200, format!("{expected}\n")));
    let expected = r#"{"enabled":false,"buffer_size":0,"source_count":0,"error_count":0}"#;
    assert_eq!(told(&mut bench, "/v1/audit/status"), (200, format!("{expected}\n")));
    bench.pass(seconds(30));
    let effects = bench.give(Input::Ticked);
    let (call, _) = shipment(&effects).expect("the report is due");
    bench.answer(call, responded(202, RECEIPT));
    let at = stamped(bench.now.wall);
    let expected = format!(
        "{{\"enabled\":true,\"buffer_size\":0,\"source_count\":1,\"error_count\":0,\"last_report_at\":\"{at}\"}}\n"
    );
    assert_eq!(told(&mut bench, "/v1/log-status"), (200, expected));
    assert_eq!(bench.agent.status(bench.now).queues.logs, 0);
}

#[test]
fn a_refused_credential_counts_for_the_standing() {
    let (mut bench, _) = started(logs_only(), Vec::new());
    let effects = bench.give(brings(Pipe::Logs, 1, marked(0..4, "c1")));
    let (call, _) = shipment(&effects).expect("a batch is full");
    assert!(!bench.agent.readiness().as_str().contains("identity refused"));
    bench.answer(call, problem(401, "nsk_revoked"));
    assert!(bench.agent.readiness().as_str().contains("identity refused"));
}

/// The fifth refusal within more than a minute would lead to a token and a fresh registration.
#[test]
fn a_batch_that_is_refused_during_a_drain_begins_no_registration() {
    for is_draining in [false, true] {
        let (mut bench, _) = started(logs_only(), Vec::new());
        let mut effects = bench.give(brings(Pipe::Logs, 1, marked(0..4, "c1")));
        for _ in 0..4 {
            let (call, _) = shipment(&effects).expect("it goes again");
            bench.answer(call, problem(401, "nsk_revoked"));
            bench.pass(seconds(30));
            effects = bench.give(Input::Ticked);
        }
        let (call, _) = shipment(&effects).expect("it goes again");
        if is_draining {
            bench.give(Input::Draining);
        }
        let effects = bench.answer(call, problem(401, "nsk_revoked"));
        assert_eq!(effects.contains(&Effect::Gather), !is_draining);
    }
}
