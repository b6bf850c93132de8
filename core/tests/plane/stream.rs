//! The event log against the list of all events, and every row of the event routes through the plane.

use core::time::Duration;
use std::collections::BTreeMap;

use meshward_core::{
    ids::CallId,
    plane::{
        Arrival, Drawn, Effect, Input, Listener,
        stream::{
            self, Audience, CURSOR_MAX, Cursor, Opening, RING_BYTES, RING_LEN, STREAMS_MAX, Stream,
        },
    },
    time::Now,
    wire::{
        event::{Envelope, InjectEvent, Mode},
        http::{Body, Headers, Method, Request, Response},
        json::decode_strict,
        sse::Frame,
    },
};
use proptest::prelude::*;

use crate::{
    desk::{Desk, SIGNATURE, bearer, node, request, text, verdict},
    support,
};

/// What the model remembers: every event, and what each open stream has been given.
#[derive(Debug, Default)]
struct Remembered {
    descoped: bool,
    events: Vec<Frame>,
    unsigned: BTreeMap<CallId, InjectEvent>,
    open: BTreeMap<CallId, Vec<Frame>>,
}

#[derive(Clone, Debug)]
enum Move {
    Ask(Cursor),
    Leave(u64),
    Configure(Mode),
    Inject(&'static str),
    Sign(u64),
}

fn moves() -> impl Strategy<Value = Move> {
    let cursors = prop_oneof![
        Just(Cursor::Tail),
        Just(Cursor::Invalid),
        (0..120_u64).prop_map(Cursor::After),
        Just(Cursor::After(CURSOR_MAX)),
    ];
    prop_oneof![
        4 => cursors.prop_map(Move::Ask),
        2 => (0..200_u64).prop_map(Move::Leave),
        1 => prop_oneof![Just(Mode::Streaming), Just(Mode::Descoped)].prop_map(Move::Configure),
        8 => prop_oneof![Just("rotate_keys"), Just("policy_updated")].prop_map(Move::Inject),
        8 => (0..4_u64).prop_map(Move::Sign),
    ]
}

fn injected(kind: &str) -> InjectEvent {
    InjectEvent { id: "e".into(), kind: kind.into(), ..InjectEvent::default() }
}

/// The machine with what its streams have received.
#[derive(Default)]
struct Run {
    stream: Stream,
    model: Remembered,
    calls: u64,
    received: BTreeMap<CallId, Vec<Frame>>,
}

impl Run {
    fn step(&mut self, input: stream::Input) -> Vec<stream::Effect> {
        let step = core::mem::take(&mut self.stream).step(Now::default(), input);
        self.stream = step.state;
        for effect in &step.effects {
            match effect {
                stream::Effect::Send(frame) => {
                    self.received.values_mut().for_each(|frames| frames.push(frame.clone()));
                }
                stream::Effect::Close => self.received.clear(),
                stream::Effect::Open { .. }
                | stream::Effect::Sign(_)
                | stream::Effect::ArmRotation
                | stream::Effect::Accept
                | stream::Effect::Refuse(_) => {}
            }
        }
        step.effects
    }

    fn make(&mut self, made: &Move) {
        self.calls += 1;
        let call = CallId(self.calls);
        match made {
            Move::Ask(cursor) => self.ask(call, *cursor),
            Move::Leave(call) => self.leave(CallId(*call)),
            Move::Configure(mode) => self.configure(*mode),
            Move::Inject(kind) => self.inject(call, kind),
            Move::Sign(which) => self.sign(*which),
        }
    }

    fn ask(&mut self, call: CallId, cursor: Cursor) {
        let effects = self.step(stream::Input::Asked { call, cursor });
        let refused = |refusal| vec![stream::Effect::Refuse(refusal)];
        let events = &self.model.events;
        let from = match cursor {
            _ if self.model.descoped => {
                return assert_eq!(effects, refused(stream::Refusal::Descoped));
            }
            Cursor::Invalid => return assert_eq!(effects, refused(stream::Refusal::Cursor)),
            Cursor::Tail => events.len(),
            Cursor::After(sequence) => {
                usize::try_from(sequence).expect("a short log").min(events.len())
            }
        };
        let replay = events[from.max(events.len().saturating_sub(RING_LEN))..].to_vec();
        assert_eq!(effects, [stream::Effect::Open { replay: replay.clone() }]);
        self.model.open.insert(call, replay.clone());
        self.received.insert(call, replay);
    }

    fn leave(&mut self, call: CallId) {
        assert_eq!(self.step(stream::Input::Left { call }), []);
        self.model.open.remove(&call);
        self.model.unsigned.remove(&call);
        self.received.remove(&call);
    }

    fn configure(&mut self, mode: Mode) {
        let effects = self.step(stream::Input::Configured(mode));
        self.model.descoped = mode == Mode::Descoped;
        if self.model.descoped {
            self.model.open.clear();
            assert_eq!(effects, [stream::Effect::Close, stream::Effect::Accept]);
        } else {
            assert_eq!(effects, [stream::Effect::Accept]);
        }
    }

    fn inject(&mut self, call: CallId, kind: &str) {
        let event = injected(kind);
        let effects = self.step(stream::Input::Injected { call, event: event.clone() });
        assert!(matches!(effects.as_slice(), [stream::Effect::Sign(_)]), "{effects:?}");
        self.model.unsigned.insert(call, event);
    }

    /// Signs one of those that wait, or none where the call is unknown.
    fn sign(&mut self, which: u64) {
        let at = usize::try_from(which).expect("a small number");
        let call = self.model.unsigned.keys().nth(at).copied().unwrap_or_default();
        let effects = self.step(stream::Input::Signed { call, signature: "s".into() });
        let Some(event) = self.model.unsigned.remove(&call) else {
            return assert_eq!(effects, []);
        };
        let armed = event.kind == "rotate_keys";
        assert_eq!(effects.len(), if armed { 3 } else { 2 });
        assert_eq!(effects[0] == stream::Effect::ArmRotation, armed, "armed before the broadcast");
        assert_eq!(effects.last(), Some(&stream::Effect::Accept));
        let [.., stream::Effect::Send(frame), _] = effects.as_slice() else {
            panic!("{effects:?}");
        };
        let sequence = self.model.events.len() + 1;
        let start = format!("id: {sequence}\nevent: {}\ndata: {{\"id\":\"e\",", event.kind);
        assert!(frame.0.starts_with(start.as_bytes()), "{start}");
        self.model.events.push(frame.clone());
        self.model.open.values_mut().for_each(|frames| frames.push(frame.clone()));
    }
}

proptest! {
    #![proptest_config(support::seeds_in("stream"))]

    #[test]
    fn every_stream_gets_what_is_newer_than_its_cursor_once_and_in_order(
        moves in prop::collection::vec(moves(), 0..300)
    ) {
        let mut run = Run::default();
        for made in &moves {
            run.make(made);
            prop_assert_eq!(&run.received, &run.model.open);
            prop_assert!(run.stream.open().iter().eq(run.model.open.keys()));
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_frames(cursors in prop::collection::vec(0..9_u64, 0..40)) {
        let inputs: Vec<stream::Input> = cursors.iter().flat_map(|cursor| {
            let call = CallId(*cursor);
            let event = injected("policy_updated");
            [
                stream::Input::Asked { call, cursor: Cursor::After(*cursor) },
                stream::Input::Injected { call, event },
                stream::Input::Signed { call, signature: "s".into() },
            ]
        }).collect();
        support::replays(&Stream::default(), &inputs, |state, input| state.step(Now::default(), input));
    }
}

/// A plane whose calls each have a name of their own.
struct Floor {
    desk: Desk,
    calls: CallId,
}

impl Floor {
    fn open() -> Self {
        Self { desk: Desk::open(), calls: CallId(100) }
    }

    fn give(&mut self, input: Input) -> Vec<Effect> {
        let desk = &mut self.desk;
        let step = core::mem::take(&mut desk.plane).step(&desk.settings, desk.now, input);
        desk.plane = step.state;
        step.effects
    }

    /// Sends a request with the bearer; signatures are given at once.
    fn ask(&mut self, method: Method, target: &str, headers: Headers, body: Body) -> Vec<Effect> {
        self.calls = self.calls.next();
        let headers = headers.with("authorization", &bearer());
        let request = Request { headers, ..request(method, target, body) };
        let arrival = Arrival {
            listener: Listener::Main,
            request,
            begun: self.desk.now.mono,
            drawn: Drawn::default(),
        };
        let effects = self.give(Input::Requested { call: self.calls, arrival });
        let signed = effects.into_iter().flat_map(|effect| match effect {
            Effect::Sign { call, .. } => {
                self.give(Input::Signed { call, signature: SIGNATURE.into() })
            }
            Effect::Reply { .. }
            | Effect::Open { .. }
            | Effect::Cut { .. }
            | Effect::Send { .. }
            | Effect::Close => vec![effect],
        });
        signed.collect()
    }

    /// Asks for the stream with these values of the cursor's header.
    fn events(&mut self, cursors: &[&str]) -> Result<Opening, (u16, String)> {
        let headers = cursors
            .iter()
            .fold(Headers::new(), |headers, cursor| headers.with("last-event-id", cursor));
        let effects = self.ask(Method::Get, &node("events"), headers, Body::EMPTY);
        let Ok([answer]) = <[Effect; 1]>::try_from(effects) else { panic!("one answer") };
        match &answer {
            Effect::Open { call, opening, .. } => {
                assert_eq!(*call, self.calls);
                Ok(opening.clone())
            }
            Effect::Reply { call, response, .. } => {
                assert_eq!(*call, self.calls);
                Err(verdict(response))
            }
            Effect::Cut { .. } | Effect::Send { .. } | Effect::Close | Effect::Sign { .. } => {
                panic!("{answer:?}")
            }
        }
    }

    fn control(&mut self, path: &str, body: &str) -> Vec<Effect> {
        self.ask(Method::Post, path, Headers::new(), Body::Whole(body.into()))
    }

    fn inject(&mut self, body: &str) -> Frame {
        let effects = self.control("/test/inject-event", body);
        match <[Effect; 2]>::try_from(effects).expect("a broadcast and an answer") {
            [
                Effect::Send { audience: Audience::Everyone, frame },
                Effect::Reply { call, response, .. },
            ] => {
                assert_eq!((call, response), (self.calls, Response::empty(204)));
                frame
            }
            other => panic!("{other:?}"),
        }
    }

    fn refusal(&mut self, path: &str, body: Body) -> (u16, String) {
        let effects = self.ask(Method::Post, path, Headers::new(), body);
        match <[Effect; 1]>::try_from(effects).expect("one answer") {
            [Effect::Reply { response, .. }] => verdict(&response),
            [other] => panic!("{other:?}"),
        }
    }

    fn configure(&mut self, mode: &str) -> Vec<Effect> {
        self.control("/test/configure-events", &format!(r#"{{"mode":"{mode}"}}"#))
    }
}

const EVENT: &str = r#"{"id":"e","type":"policy_updated"}"#;

fn sequences(frames: &[Frame]) -> Vec<u64> {
    let sequence = |frame: &Frame| {
        let text = String::from_utf8(frame.0.to_vec()).expect("frames are text");
        let line = text.lines().next().expect("a line").to_owned();
        line.strip_prefix("id: ").expect("a sequence").parse().expect("a number")
    };
    frames.iter().map(sequence).collect()
}

/// The envelope inside a frame.
fn envelope(frame: &Frame) -> Envelope {
    let text = str::from_utf8(&frame.0).expect("frames are text");
    let data = text.lines().nth(2).and_then(|line| line.strip_prefix("data: ")).expect("data");
    decode_strict(data.as_bytes()).expect("an envelope")
}

#[test]
fn every_row_of_the_cursor_table_is_answered() {
    let mut floor = Floor::open();
    for _ in 0..3 {
        floor.inject(EVENT);
    }
    let replayed: [(&[&str], &[u64]); 9] = [
        (&[], &[]),
        (&[""], &[]),
        (&["0"], &[1, 2, 3]),
        (&["1"], &[2, 3]),
        (&["3"], &[]),
        (&["4"], &[]),
        (&["9223372036854775807"], &[]),
        (&["0002"], &[3]),
        (&["00000000000000000000000000000000000000001"], &[2, 3]),
    ];
    for (cursor, expected) in replayed {
        let opening = floor.events(cursor).expect("a stream");
        assert_eq!(sequences(&opening.replay), expected, "{cursor:?}");
    }
    let refused: [&[&str]; 18] = [
        &["-1"],
        &["-0"],
        &["+5"],
        &["abc"],
        &["1.5"],
        &["1e3"],
        &["0x1"],
        &[" 1"],
        &["1 2"],
        &["1,2"],
        &["٣"],
        &["\u{fffd}"],
        &["9223372036854775808"],
        &["18446744073709551616"],
        &["1", "1"],
        &["", ""],
        &["", "1"],
        &["1", "abc"],
    ];
    for cursor in refused {
        let verdict = floor.events(cursor).expect_err("no stream");
        assert_eq!(verdict, (400, "invalid_cursor".into()), "{cursor:?}");
    }
    assert_eq!(floor.desk.count("events_request_count"), 27);
    assert_eq!(floor.desk.count("unauthorized_count"), 0);
}

#[test]
fn the_head_of_a_stream_is_what_the_contract_says() {
    let mut floor = Floor::open();
    floor.desk.settings.header_prefix = "X-Other".into();
    floor.desk.settings.keep_alive = Duration::from_secs(3);
    let opening = floor.events(&[]).expect("a stream");
    assert_eq!(opening.response.status, 200);
    let headers: Vec<(&str, &str)> = opening.response.headers.iter().collect();
    let expected = [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache"),
        ("connection", "keep-alive"),
        ("x-other-api-version", "v1"),
    ];
    assert_eq!(headers, expected);
    assert!(opening.response.body.is_empty());
    assert_eq!(opening.keep_alive, Duration::from_secs(3));
}

#[test]
fn the_keep_alive_of_the_defaults_is_fifteen_seconds() {
    let opening = Floor::open().events(&[]).expect("a stream");
    assert_eq!(opening.keep_alive, Duration::from_secs(15));
}

#[test]
fn while_descoped_every_cursor_is_refused_and_counted_and_the_log_goes_on() {
    let mut floor = Floor::open();
    floor.events(&[]).expect("a stream");
    let effects = floor.configure("descoped");
    assert!(
        matches!(effects.as_slice(), [Effect::Close, Effect::Reply { response, .. }] if response.status == 204)
    );
    let gone = (501, "signed_event_bus_not_provisioned".to_owned());
    for cursor in [&[][..], &["abc"], &["1", "2"], &["0"]] {
        assert_eq!(floor.events(cursor).expect_err("no stream"), gone);
    }
    assert_eq!(floor.desk.count("events_request_count"), 5);
    floor.inject(EVENT);
    let effects = floor.configure("streaming");
    assert!(
        matches!(effects.as_slice(), [Effect::Reply { response, .. }] if response.status == 204)
    );
    assert!(floor.events(&[]).expect("a stream").replay.is_empty());
    assert_eq!(sequences(&floor.events(&["0"]).expect("a stream").replay), [1]);
    let effects = floor.configure("streaming");
    assert!(!effects.contains(&Effect::Close), "streams stay open: {effects:?}");
    assert_eq!(floor.desk.count("inject_event_count"), 1);
}

#[test]
fn the_mode_is_read_strictly() {
    let mut floor = Floor::open();
    let rows = [
        "",
        "null",
        "[]",
        "{}",
        "\"descoped\"",
        r#"{"mode":""}"#,
        r#"{"mode":null}"#,
        r#"{"mode":1}"#,
        r#"{"mode":"Descoped"}"#,
        r#"{"mode":"off"}"#,
        r#"{"mode":"descoped","extra":1}"#,
        r#"{"mode":"descoped"}{}"#,
        r#"{"mode":"streaming","mode":"descoped"}"#,
    ];
    for body in rows {
        let verdict = floor.refusal("/test/configure-events", Body::Whole(body.into()));
        assert_eq!(verdict, (400, String::new()), "{body}");
    }
    assert_eq!(floor.refusal("/test/configure-events", Body::Unreadable), (400, String::new()));
    assert_eq!(floor.refusal("/test/configure-events", Body::Oversized), (413, String::new()));
    floor.events(&[]).expect("a refused mode changes nothing");
    let seen = floor.desk.ask(Method::Get, "/test/last-request/configure_events", "");
    assert_eq!(text(&seen), rows[rows.len() - 1]);
}

#[test]
fn an_event_without_id_or_type_or_with_a_broken_one_is_refused() {
    let mut floor = Floor::open();
    let rows = [
        "",
        "null",
        "[]",
        "{}",
        "nonsense",
        r#"{"id":"e"}"#,
        r#"{"type":"t"}"#,
        r#"{"id":"","type":"t"}"#,
        r#"{"id":"e","type":""}"#,
        r#"{"id":null,"type":"t"}"#,
        r#"{"id":1,"type":"t"}"#,
        r#"{"id":"e","type":{}}"#,
        r#"{"id":"e","type":"t","scope":1}"#,
        r#"{"id":"a\nb","type":"t"}"#,
        r#"{"id":"e","type":"t\r"}"#,
        r#"{"id":"\u0000","type":"t"}"#,
        r#"{"id":"e","type":"a\u0000"}"#,
        r#"{"id":"e","type":"t\ndata: x"}"#,
        r#"{"id":"e","id":"f","type":"t"}"#,
        r#"{"id":"e","type":"t"} x"#,
        r#"{"id":"e","type":"t","payload":}"#,
        r#"{"id":"e","type":"t","payload":"\ud800"}"#,
    ];
    for body in rows {
        let verdict = floor.refusal("/test/inject-event", Body::Whole(body.into()));
        assert_eq!(verdict, (400, String::new()), "{body}");
    }
    let deep = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        format!(r#"{{"id":"e","type":"t","payload":{open}{close}}}"#)
    };
    let verdict = floor.refusal("/test/inject-event", Body::Whole(deep(64).into()));
    assert_eq!(verdict, (400, String::new()), "the object itself is one more");
    assert_eq!(floor.refusal("/test/inject-event", Body::Unreadable), (400, String::new()));
    assert_eq!(floor.refusal("/test/inject-event", Body::Oversized), (413, String::new()));
    assert_eq!(floor.desk.count("inject_event_count"), 0);
    let seen = floor.desk.ask(Method::Get, "/test/last-request/inject_event", "");
    assert_eq!(text(&seen), deep(64));
    assert_eq!(sequences(&[floor.inject(&deep(63))]), [1], "refused events take no number");
}

#[test]
fn an_event_is_stamped_and_its_payload_is_kept_as_text() {
    let mut floor = Floor::open();
    let frame = floor.inject(
        r#"{"signature":"mine","issued_at":"2020-01-01T00:00:00Z","key_id":"mine","unknown":[],
            "payload": { "b" : 1.50, "a":"<\b>", "b":1 },"scope":"domain:1","type":"x y","id":"e-1"}"#,
    );
    let expected = concat!(
        "id: 1\nevent: x y\ndata: {\"id\":\"e-1\",\"type\":\"x y\",\"scope\":\"domain:1\",",
        "\"key_id\":\"did:web:meshward.example#key-e2e\",\"issued_at\":\"2026-01-15T10:30:00Z\",",
        "\"payload\":{\"b\":1.50,\"a\":\"\\u003c\\b\\u003e\",\"b\":1},\"signature\":\"c2lnbmF0dXJl\"}\n\n",
    );
    assert_eq!(String::from_utf8_lossy(&frame.0), expected);
    for (payload, kept) in [("7", "7"), ("\"\\n\"", "\"\\n\""), ("[1, 2]", "[1,2]")] {
        let frame = floor.inject(&format!(r#"{{"id":"e","type":"t","payload":{payload}}}"#));
        assert_eq!(envelope(&frame).event.payload.expect("a payload").text(), kept);
    }
    for body in [EVENT, r#"{"id":"e","type":"t","scope":null,"payload":null}"#] {
        let frame = floor.inject(body);
        let text = String::from_utf8_lossy(&frame.0).into_owned();
        assert!(text.contains("\"scope\":\"\",") && text.contains("\"payload\":null,"), "{text}");
    }
}

#[test]
fn the_bytes_to_sign_are_those_that_the_envelope_gives_back() {
    let mut floor = Floor::open();
    let arrival = Arrival {
        listener: Listener::Main,
        request: request(Method::Post, "/test/inject-event", Body::Whole(EVENT.into())),
        begun: floor.desk.now.mono,
        drawn: Drawn::default(),
    };
    let effects = floor.give(Input::Requested { call: CallId(5), arrival });
    let [Effect::Sign { call: CallId(5), bytes }] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(floor.desk.count("inject_event_count"), 0, "not before it is signed");
    let signature = "c2ln".to_owned();
    let effects = floor.give(Input::Signed { call: CallId(5), signature });
    let [Effect::Send { frame, .. }, Effect::Reply { call: CallId(5), .. }] = effects.as_slice()
    else {
        panic!("{effects:?}");
    };
    let seen = envelope(frame);
    assert_eq!((&seen.event.signed_bytes(), seen.signature.as_str()), (bytes, "c2ln"));
    let again = floor.give(Input::Signed { call: CallId(5), signature: "c2ln".into() });
    assert_eq!(again, [], "a signature that nobody waits for");
}

#[test]
fn an_injector_that_left_before_its_signature_broadcasts_nothing() {
    let mut floor = Floor::open();
    let arrival = Arrival {
        listener: Listener::Main,
        request: request(Method::Post, "/test/inject-event", Body::Whole(EVENT.into())),
        begun: floor.desk.now.mono,
        drawn: Drawn::default(),
    };
    floor.give(Input::Requested { call: CallId(5), arrival });
    assert_eq!(floor.give(Input::Left { call: CallId(5) }), []);
    assert_eq!(floor.give(Input::Signed { call: CallId(5), signature: "c2ln".into() }), []);
    assert_eq!(floor.desk.count("inject_event_count"), 0);
}

#[test]
fn the_log_holds_the_newest_sixty_four_events() {
    let mut floor = Floor::open();
    for _ in 0..70 {
        floor.inject(EVENT);
    }
    let kept: Vec<u64> = (7..=70).collect();
    for cursor in ["0", "5", "6"] {
        assert_eq!(sequences(&floor.events(&[cursor]).expect("a stream").replay), kept);
    }
    assert_eq!(sequences(&floor.events(&["7"]).expect("a stream").replay), kept[1..]);
    assert_eq!(floor.desk.count("inject_event_count"), 70, "equal ids are events of their own");
}

#[test]
fn a_large_event_puts_older_ones_out_of_the_log_and_stays_until_the_next_whatever_its_size() {
    let mut floor = Floor::open();
    let replayed = |floor: &mut Floor| sequences(&floor.events(&["0"]).expect("a stream").replay);
    floor.inject(EVENT);
    // Each of these is sent as six bytes.
    let payload = "<".repeat(RING_BYTES / 6);
    floor.inject(&format!(r#"{{"id":"e","type":"t","payload":"{payload}"}}"#));
    assert_eq!(replayed(&mut floor), [2]);
    floor.inject(EVENT);
    assert_eq!(replayed(&mut floor), [3]);
    for _ in 0..RING_LEN {
        floor.inject(EVENT);
    }
    assert_eq!(replayed(&mut floor), (4..=67).collect::<Vec<u64>>(), "it no longer takes room");
}

#[test]
fn an_injected_rotation_arms_it_also_without_any_client() {
    let mut floor = Floor::open();
    let key = r#"{"new_public_key":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="}"#;
    assert_eq!(floor.desk.ask(Method::Post, "/v1/keys/rotate", key).status, 409);
    floor.inject(r#"{"id":"e","type":"rotate_keys ","payload":"now"}"#);
    assert_eq!(floor.desk.ask(Method::Post, "/v1/keys/rotate", key).status, 409);
    floor.configure("descoped");
    floor.inject(r#"{"id":"e","type":"rotate_keys","payload":"now"}"#);
    assert_eq!(floor.desk.ask(Method::Post, "/v1/keys/rotate", key).status, 200);
}

#[test]
fn without_a_good_bearer_and_with_another_method_nothing_is_counted() {
    let mut floor = Floor::open();
    let unauthorized =
        floor.desk.send(Listener::Main, request(Method::Get, &node("events"), Body::EMPTY));
    assert_eq!(verdict(&unauthorized), (401, "unauthorized".into()));
    for method in [Method::Head, Method::Post, Method::Other] {
        let response = floor.desk.ask(method, &node("events"), "");
        assert_eq!(response.status, 405);
        assert_eq!(response.headers.first("allow"), Some("GET"));
    }
    assert_eq!(floor.desk.count("events_request_count"), 0);
}

#[test]
fn a_reset_ends_the_streams_and_empties_the_log() {
    let mut floor = Floor::open();
    floor.inject(EVENT);
    floor.events(&[]).expect("a stream");
    let effects = floor.control("/test/reset", "");
    assert!(matches!(effects.as_slice(), [Effect::Close, Effect::Reply { .. }]), "{effects:?}");
    assert!(floor.events(&["0"]).expect("a stream").replay.is_empty());
    assert_eq!(sequences(&[floor.inject(EVENT)]), [1]);
}

#[test]
fn one_stream_too_many_is_refused_until_another_has_left() {
    let mut floor = Floor::open();
    let first = floor.calls.next();
    for _ in 0..STREAMS_MAX {
        floor.events(&[]).expect("a stream");
    }
    assert_eq!(floor.events(&[]).expect_err("no stream"), (503, String::new()));
    assert_eq!(floor.events(&["x"]).expect_err("no stream").0, 400, "the cursor comes first");
    floor.give(Input::Left { call: CallId(1) });
    assert_eq!(floor.events(&[]).expect_err("no stream").0, 503, "that was no stream");
    floor.give(Input::Left { call: first });
    floor.events(&[]).expect("a stream");
}
