//! The stream within a whole agent: what it is asked for with, and what co-located programs see of it.

use std::time::Duration;

use meshward_core::{
    agent::{
        Act, Acted, Bytes, Caller, Change, Door, Effect, EventSettings, Failure, Heard, Input,
        Listen, Lost, Peer, SenseSettings, StagedFile, Stream,
        builtins::{ALL, RECONNECT},
        events::{BASE, DEGRADED_AFTER, POLL_INTERVAL},
        figures::Process,
        pull::FLOOR,
        readiness::Readiness,
    },
    backoff::Jitter,
    ids::CallId,
    wire::http::{Body, Headers, Method, Request, Response},
};

use crate::{
    bench::{Bench, NODE, nsk, responded, seconds, sent, sent_to, settings},
    events::{IDLE, REPROBE, answered, lost, refusal, stream_head},
    local_runs::{action, order},
};

/// An agent with an identity that asks for events.
struct Node {
    bench: Bench,
    stream: CallId,
}

fn listens(effects: &[Effect]) -> Vec<(CallId, Listen)> {
    let listens = effects.iter().filter_map(|effect| match effect {
        Effect::Act(Act::Listen(stream, listen)) => Some((*stream, listen.clone())),
        Effect::Act(_)
        | Effect::Gather
        | Effect::Store(_)
        | Effect::Keep { .. }
        | Effect::Send { .. }
        | Effect::Reply { .. }
        | Effect::Stream(_)
        | Effect::Tell(_)
        | Effect::Exit(_) => None,
    });
    listens.collect()
}

impl Node {
    fn armed() -> (Self, Vec<Effect>) {
        let events = EventSettings { idle_timeout: IDLE, reprobe_interval: REPROBE };
        let senses = SenseSettings { events: Some(events), ..SenseSettings::default() };
        let mut bench = Bench::new(settings());
        bench.settings.senses = senses;
        let memory = crate::bench::remembered(StagedFile::Missing);
        let effects = bench.give(Input::Restarted(Box::new(memory)));
        let stream = match listens(&effects).as_slice() {
            [(stream, Listen::Open { .. })] => *stream,
            other => panic!("{other:?}"),
        };
        (Self { bench, stream }, effects)
    }

    /// With its first pull answered and its stream open.
    fn streaming() -> Self {
        let (mut node, effects) = Self::armed();
        let (call, _) = sent_to(&effects, "/state");
        node.bench.answer(call, responded(200, r#"{"peers":[]}"#));
        node.bench.pass(FLOOR);
        let effects = node.heard(answered(&stream_head()));
        let (call, _) = sent_to(&effects, "/state");
        node.bench.answer(call, responded(200, r#"{"peers":[]}"#));
        node
    }

    fn heard(&mut self, heard: Heard) -> Vec<Effect> {
        let stream = self.stream;
        self.bench.give(Input::Acted(Acted::Heard { stream, heard, jitter: Jitter::NONE }))
    }

    /// Lets time pass with all of its ticks, and fails every try for the stream.
    fn outlasts(&mut self, time: Duration) -> Vec<Effect> {
        let until = self.bench.now.after(time);
        let mut all = Vec::new();
        while let Some(due) = self.bench.agent.wakeup().filter(|due| *due <= until.mono) {
            self.bench.pass(due.since(self.bench.now.mono));
            let effects = self.bench.give(Input::Ticked);
            for (stream, listen) in listens(&effects) {
                if let Listen::Open { .. } = listen {
                    self.stream = stream;
                    all.extend(self.heard(lost()));
                }
            }
            for (call, request) in sent(&effects) {
                if request.path.ends_with("/state") {
                    all.extend(self.bench.answer(call, responded(200, r#"{"peers":[]}"#)));
                }
            }
            all.extend(effects);
        }
        self.bench.pass(until.mono.since(self.bench.now.mono));
        all
    }

    fn ask(&mut self, path: &str) -> Response {
        let request = Request {
            method: Method::Get,
            path: path.into(),
            query: None,
            headers: Headers::new(),
            body: Body::EMPTY,
        };
        let caller = Caller { door: Door::Socket, peer: None::<Peer> };
        match self.bench.give(Input::Asked { call: CallId(5_000), caller, request }).as_slice() {
            [Effect::Reply { response, .. }] => response.clone(),
            [Effect::Stream(Stream::Open { .. })] => Response::empty(200),
            other => panic!("{other:?}"),
        }
    }

    fn text(&mut self, path: &str) -> String {
        String::from_utf8(self.ask(path).body).expect("a text")
    }
}

/// What watchers are told, without the frame around it.
fn changes(effects: &[Effect]) -> Vec<String> {
    let told = effects.iter().filter_map(|effect| match effect {
        Effect::Stream(Stream::Send { frame, .. }) => {
            let text = String::from_utf8(frame.0.to_vec()).expect("a text");
            text.lines().find_map(|line| line.strip_prefix("data: ")).map(str::to_owned)
        }
        Effect::Stream(_)
        | Effect::Act(_)
        | Effect::Gather
        | Effect::Store(_)
        | Effect::Keep { .. }
        | Effect::Send { .. }
        | Effect::Reply { .. }
        | Effect::Tell(_)
        | Effect::Exit(_) => None,
    });
    told.collect()
}

fn told(effects: &[Effect]) -> String {
    let texts = effects.iter().filter_map(|effect| match effect {
        Effect::Tell(notice) => Some(notice.text.as_str()),
        Effect::Stream(_)
        | Effect::Act(_)
        | Effect::Gather
        | Effect::Store(_)
        | Effect::Keep { .. }
        | Effect::Send { .. }
        | Effect::Reply { .. }
        | Effect::Exit(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

const MODE: &str = r#"{"kind":"metadata","key":"delivery_mode","version":null,"deleted":false}"#;
const READINESS: &str = r#"{"kind":"readiness","key":null,"version":null,"deleted":false}"#;

#[test]
fn a_reconnect_closes_the_stream_opens_it_anew_and_pulls() {
    let mut node = Node::streaming();
    node.bench.settings.actions.builtins = ALL.map(Into::into).into();
    node.bench.pass(BASE);
    let effects = order(&mut node.bench, 1, action(RECONNECT));
    let listens = listens(&effects);
    let [(closed, Listen::Close), (opened, Listen::Open { .. })] = listens.as_slice() else {
        panic!("{listens:?}")
    };
    assert_eq!(*closed, node.stream);
    assert_ne!(*opened, node.stream);
    sent_to(&effects, "/state");
}

#[test]
fn the_stream_is_asked_for_as_the_contract_says() {
    let (mut node, effects) = Node::armed();
    let [(_, Listen::Open { request, timeout, answer_max })] = &listens(&effects)[..] else {
        panic!("{effects:?}")
    };
    assert_eq!((request.method, &request.query), (Method::Get, &None));
    assert_eq!(request.path, format!("/v1/nodes/{NODE}/events"));
    assert_eq!(request.body, Body::EMPTY);
    let fields = |request: &Request| -> Vec<(String, String)> {
        request.headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let names: Vec<_> = fields(request).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["accept", "cache-control", "user-agent", "authorization"]);
    for (name, value) in [
        ("accept", "text/event-stream"),
        ("cache-control", "no-cache"),
        ("user-agent", "meshward/1.2.3"),
    ] {
        assert_eq!(request.headers.first(name), Some(value));
    }
    assert!(
        request
            .headers
            .first("authorization")
            .is_some_and(|it| it.starts_with("Bearer nsk_meshward_"))
    );
    assert_eq!((*timeout, *answer_max), (node.bench.settings.request_timeout, 256 << 10));
    // The next one goes on from where this one ended.
    node.heard(answered(&stream_head()));
    node.heard(Heard::Bytes(Bytes(b"id: 12\ndata: x\n\n".to_vec())));
    node.heard(lost());
    node.bench.pass(seconds(2));
    let effects = node.bench.give(Input::Ticked);
    let [(stream, Listen::Open { request, .. })] = &listens(&effects)[..] else {
        panic!("{effects:?}")
    };
    assert!(*stream > node.stream, "a name of its own");
    assert_eq!(request.headers.first("last-event-id"), Some("12"));
}

#[test]
fn an_opened_stream_pulls_once_more_behind_the_pull_under_way() {
    let (mut node, effects) = Node::armed();
    let (call, _) = sent_to(&effects, "/state");
    node.bench.pass(seconds(1));
    assert_eq!(sent(&node.heard(answered(&stream_head()))), [], "one at a time");
    let effects = node.bench.answer(call, responded(200, r#"{"peers":[]}"#));
    assert_eq!(sent(&effects), []);
    node.bench.pass(FLOOR);
    let (call, _) = sent_to(&node.bench.give(Input::Ticked), "/state");
    node.bench.answer(call, responded(200, r#"{"peers":[]}"#));
    assert_eq!(sent(&node.bench.give(Input::Ticked)), []);
}

#[test]
fn the_mode_is_metadata_that_no_pull_erases_overrides_or_brings_to_the_disk() {
    let (mut node, effects) = Node::armed();
    assert_eq!(node.text("/v1/state/metadata"), "{\"delivery_mode\":\"pull_only\"}\n");
    let (call, _) = sent_to(&effects, "/state");
    let state = r#"{"peers":[],"state":{"metadata":[{"key":"delivery_mode","value":"canary"},{"key":"a","value":"b"}]}}"#;
    let effects = node.bench.answer(call, responded(200, state));
    let kept: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Keep { file, change: Change::Write(content) } => {
                Some((file.name.clone(), String::from_utf8_lossy(&content.0).into_owned()))
            }
            Effect::Keep { .. }
            | Effect::Stream(_)
            | Effect::Act(_)
            | Effect::Gather
            | Effect::Store(_)
            | Effect::Send { .. }
            | Effect::Reply { .. }
            | Effect::Tell(_)
            | Effect::Exit(_) => None,
        })
        .collect();
    assert!(kept.iter().any(|(name, _)| name == "metadata.json"), "{kept:?}");
    assert!(kept.iter().all(|(_, content)| !content.contains("pull_only")), "{kept:?}");
    for (path, body) in [
        ("/v1/state/metadata", "{\"a\":\"b\",\"delivery_mode\":\"pull_only\"}\n"),
        (
            "/v1/state/metadata/delivery_mode",
            "{\"key\":\"delivery_mode\",\"value\":\"pull_only\"}\n",
        ),
    ] {
        assert_eq!(node.text(path), body);
    }
    assert!(node.text("/v1/state").contains(r#""metadata":{"a":"b","delivery_mode":"pull_only"}"#));
    assert!(node.text("/v1/status").contains(r#""delivery_mode":"pull_only""#));
    node.bench.pass(FLOOR);
    let opened = node.heard(answered(&stream_head()));
    assert!(node.text("/v1/state").contains(r#""delivery_mode":"streaming""#));
    assert!(node.text("/v1/status").contains(r#""delivery_mode":"streaming""#));
    // A pull without any state.
    let (call, _) = sent_to(&opened, "/state");
    node.bench.answer(call, responded(200, r#"{"peers":[]}"#));
    assert_eq!(node.text("/v1/state/metadata"), "{\"delivery_mode\":\"streaming\"}\n");
}

#[test]
fn without_a_sense_for_events_there_is_no_such_metadata() {
    let (mut bench, _) = Bench::armed(StagedFile::Missing);
    let mut node =
        Node { bench: core::mem::replace(&mut bench, Bench::new(settings())), stream: CallId(0) };
    assert_eq!(node.text("/v1/state/metadata"), "{}\n");
    assert_eq!(node.ask("/v1/state/metadata/delivery_mode").status, 404);
}

#[test]
fn watchers_are_told_of_the_mode_and_not_of_a_pulled_key_that_it_hides() {
    let mut node = Node::streaming();
    node.ask("/v1/watch");
    let state = r#"{"peers":[],"state":{"metadata":[{"key":"delivery_mode","value":"x"},{"key":"a","value":"b"}]}}"#;
    node.bench.pass(seconds(60));
    let (call, _) = sent_to(&node.bench.give(Input::Ticked), "/state");
    let effects = node.bench.answer(call, responded(200, state));
    assert_eq!(
        changes(&effects),
        [r#"{"kind":"metadata","key":"a","version":null,"deleted":false}"#]
    );
    node.heard(Heard::Ended(None));
    node.bench.pass(seconds(2));
    let effects = node.bench.give(Input::Ticked);
    node.stream = listens(&effects)[0].0;
    let effects = node.heard(refusal(501, "signed_event_bus_not_provisioned"));
    assert_eq!(changes(&effects), [MODE]);
    assert_eq!(node.text("/v1/state/metadata"), "{\"a\":\"b\",\"delivery_mode\":\"pull_only\"}\n");
}

#[test]
fn readiness_tells_a_refusal_and_degraded_delivery_and_heals_by_itself() {
    let (mut node, effects) = Node::armed();
    assert_eq!(node.bench.agent.readiness(), Readiness::Ready, "nothing is known to be wrong");
    let (call, _) = sent_to(&effects, "/state");
    node.bench.answer(call, responded(200, r#"{"peers":[]}"#));
    node.ask("/v1/watch");
    let effects = node.heard(refusal(404, "resource_not_found"));
    assert_eq!(node.bench.agent.readiness(), Readiness::EventsRefused);
    assert_eq!(changes(&effects), [READINESS]);
    assert!(node.text("/v1/status").contains("not ready: event delivery refused"));
    node.bench.pass(REPROBE);
    let effects = node.bench.give(Input::Ticked);
    node.stream = listens(&effects)[0].0;
    let effects = node.heard(answered(&stream_head()));
    assert_eq!(node.bench.agent.readiness(), Readiness::Ready);
    assert!(changes(&effects).contains(&READINESS.to_owned()), "{effects:?}");

    let mut node = Node::streaming();
    node.heard(lost());
    node.outlasts(seconds(299));
    assert_eq!(node.bench.agent.readiness(), Readiness::Ready);
    node.outlasts(seconds(1));
    assert_eq!(node.bench.agent.readiness(), Readiness::EventsDegraded);
    assert!(node.text("/v1/status").contains(r#""delivery_mode":"degraded_polling""#));
}

#[test]
fn a_poll_does_not_repeat_a_pull_that_is_under_way() {
    let mut node = Node::streaming();
    // Pulls come by the stream alone.
    node.bench.settings.reconcile_interval = seconds(86_400);
    let (call, _) = {
        node.bench.pass(seconds(60));
        sent_to(&node.bench.give(Input::Ticked), "/state")
    };
    node.bench.answer(call, responded(200, r#"{"peers":[]}"#));
    node.heard(lost());
    let first = DEGRADED_AFTER + (BASE + POLL_INTERVAL) / 2;
    node.outlasts(first - Duration::from_millis(500));
    node.bench.pass(Duration::from_millis(500));
    let effects = node.bench.give(Input::Ticked);
    let (call, _) = sent_to(&effects, "/state");
    for (stream, _) in listens(&effects) {
        node.stream = stream;
        node.heard(lost());
    }
    // It is not answered before the next poll is due.
    node.bench.pass(seconds(60));
    let effects = node.bench.give(Input::Ticked);
    assert!(sent(&effects).iter().all(|(_, request)| !request.path.ends_with("/state")));
    node.bench.answer(call, responded(200, r#"{"peers":[]}"#));
    let effects = node.bench.give(Input::Ticked);
    assert!(sent(&effects).iter().all(|(_, request)| !request.path.ends_with("/state")));
}

#[test]
fn a_drain_closes_the_stream_and_nothing_is_asked_for_any_more() {
    let mut node = Node::streaming();
    let effects = node.bench.give(Input::Draining);
    assert_eq!(listens(&effects), [(node.stream, Listen::Close)]);
    assert_eq!(node.heard(Heard::Ended(None)), []);
    let (mut node, _) = Node::armed();
    let effects = node.bench.give(Input::Draining);
    assert_eq!(listens(&effects), [(node.stream, Listen::Close)], "also while it is asked for");
}

#[test]
fn nothing_that_is_told_of_a_stream_holds_a_secret_of_this_node() {
    let (mut node, effects) = Node::armed();
    let [(_, Listen::Open { request, .. })] = &listens(&effects)[..] else { panic!("{effects:?}") };
    let bearer = request.headers.first("authorization").expect("a bearer").to_owned();
    let bearer = bearer.trim_start_matches("Bearer ").to_owned();
    let echoes = [
        match crate::bench::echoing(401, &format!("{bearer} {}", nsk().expose())) {
            meshward_core::agent::Answer::Responded(response) => Heard::Answered(response),
            other @ meshward_core::agent::Answer::Failed(_) => panic!("{other:?}"),
        },
        answered(&Response::empty(200).with("content-type", &bearer)),
        Heard::Ended(Some(Lost { failure: Failure::Unreachable, cause: bearer.clone() })),
    ];
    for heard in echoes {
        let told = told(&node.heard(heard));
        let payload = bearer.splitn(3, '_').last().expect("a payload");
        assert!(!told.is_empty() && !told.contains(payload), "{told}");
        assert!(!told.contains(nsk().expose()), "{told}");
        node.bench.pass(REPROBE * 2);
        let effects = node.bench.give(Input::Ticked);
        node.stream = listens(&effects).last().expect("it is asked for again").0;
    }
}

#[test]
fn an_unauthorized_stream_does_not_count_towards_a_fresh_registration() {
    let mut node = Node::streaming();
    for _ in 0..20 {
        node.heard(lost());
        node.bench.pass(REPROBE * 2);
        let effects = node.bench.give(Input::Ticked);
        assert!(!effects.contains(&Effect::Gather));
        node.stream = listens(&effects).last().expect("it is asked for again").0;
        let effects = node.heard(refusal(401, "nsk_revoked"));
        assert!(!effects.contains(&Effect::Gather));
        assert_eq!(node.bench.agent.readiness(), Readiness::EventsRefused);
        node.bench.pass(REPROBE * 2);
        let effects = node.bench.give(Input::Ticked);
        node.stream = listens(&effects).last().expect("it is asked for again").0;
    }
}

#[test]
fn streams_and_the_events_of_them_are_counted() {
    let mut node = Node::streaming();
    node.heard(Heard::Bytes(Bytes(b"data: {\n\n".to_vec())));
    node.heard(Heard::Bytes(Bytes(b"data: {\"id\":\"e1\",\"type\":\"t\"}\n\n".to_vec())));
    let asker = CallId(6_000);
    let told = |node: &mut Node| {
        let weighed = Acted::Weighed { asker, process: Process::default() };
        match node.bench.give(Input::Acted(weighed)).as_slice() {
            [Effect::Reply { response, .. }] => {
                crate::exposed::read(&String::from_utf8_lossy(&response.body)).expect("sound")
            }
            other => panic!("{other:?}"),
        }
    };
    let figures = told(&mut node);
    let of = |name: &str| figures.of(&format!("meshward_{name}"));
    assert_eq!((of("stream_requests_total"), of("stream_connects_total")), (1.0, 1.0));
    assert_eq!(of("stream_open"), 1.0);
    assert_eq!(of("events_refused_total{reason=\"malformed\"}"), 1.0);
    assert_eq!(of("events_refused_total{reason=\"missing_member\"}"), 1.0);
    assert_eq!(of("events_accepted_total"), 0.0);
    node.heard(lost());
    let figures = told(&mut node);
    assert_eq!(figures.of("meshward_stream_open"), 0.0);
    assert_eq!(figures.of("meshward_stream_connects_total"), 1.0);
}
