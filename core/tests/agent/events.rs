//! The stream of events, row by row: what each answer means, what each phase makes of each input, cursors, gaps, silence.

use std::time::Duration;

use meshward_core::{
    agent::{
        Answer, Bytes, EventSettings, Failure, Heard, Lost,
        events::{
            BASE, Effect, Events, GAP_INTERVAL, Input, Mode, PROVEN_AFTER, PULL_SPREAD, Trouble,
        },
        notice::Level,
        verdict::stream::{self, Streamed},
    },
    backoff::Jitter,
    ids::CallId,
    time::Now,
    wire::{http::Response, sse::Frame},
};

use crate::bench::{problem, seconds, start};

pub(crate) const IDLE: Duration = seconds(90);
pub(crate) const REPROBE: Duration = seconds(600);

/// One machine with its clock.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) events: Events,
    pub(crate) now: Now,
    /// The stream that was asked for last.
    pub(crate) last: CallId,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self { events: Events::default(), now: start(), last: CallId(0) }
    }

    /// Asked for, without an answer.
    pub(crate) fn armed() -> Self {
        let mut line = Self::new();
        assert_eq!(line.give(Input::Armed), [open(1, None)]);
        line
    }

    /// Open.
    pub(crate) fn streaming() -> Self {
        let mut line = Self::armed();
        line.heard(answered(&stream_head()));
        line
    }

    pub(crate) fn give(&mut self, input: Input) -> Vec<Effect> {
        let settings = EventSettings { idle_timeout: IDLE, reprobe_interval: REPROBE };
        let fresh = self.last.next();
        let step = std::mem::take(&mut self.events).step(&settings, fresh, self.now, input);
        self.events = step.state;
        for effect in &step.effects {
            if let Effect::Open { stream, .. } = effect {
                assert_eq!(*stream, fresh, "each stream has a new name");
                self.last = fresh;
            }
        }
        step.effects
    }

    pub(crate) fn heard(&mut self, heard: Heard) -> Vec<Effect> {
        self.heard_of(self.last, heard)
    }

    fn heard_of(&mut self, stream: CallId, heard: Heard) -> Vec<Effect> {
        self.give(Input::Heard { stream, heard, jitter: Jitter::NONE })
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Vec<Effect> {
        self.heard(heard_bytes(bytes))
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    /// The time until the machine wants to be woken.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.events.wakeup().map(|due| due.since(self.now.mono))
    }

    /// Lets the time pass until the stream is asked for again, and tells how much.
    pub(crate) fn reopened(&mut self) -> (Duration, Option<String>) {
        let since = self.now;
        for _ in 0..100 {
            let left = self.left().expect("something is due");
            self.pass(left);
            for effect in self.give(Input::Ticked) {
                if let Effect::Open { cursor, .. } = effect {
                    return (self.now.mono.since(since.mono), cursor);
                }
            }
        }
        panic!("it is never asked for again")
    }

    /// How far the stream is, as what it does tells.
    fn phase(&self) -> &'static str {
        let mut rests = self.clone();
        let closes = !rests.give(Input::Quieted).is_empty();
        let mut later = self.clone();
        later.pass(seconds(1_000_000));
        let opens = later.give(Input::Ticked).iter().any(|one| matches!(one, Effect::Open { .. }));
        let mut reads = self.clone();
        reads.pass(seconds(1));
        reads.bytes(b":");
        match (closes, opens, reads.events != self.events) {
            (true, false, false) => "connecting",
            (true, false, true) => "streaming",
            (false, true, false) => "waiting",
            (false, false, false) => "off",
            other => panic!("{other:?} of {self:?}"),
        }
    }
}

pub(crate) fn open(stream: u64, cursor: Option<&str>) -> Effect {
    Effect::Open { stream: CallId(stream), cursor: cursor.map(Into::into) }
}

pub(crate) fn stream_head() -> Response {
    Response::empty(200).with("content-type", "text/event-stream")
}

pub(crate) fn answered(response: &Response) -> Heard {
    Heard::Answered(response.clone())
}

pub(crate) fn refusal(status: u16, code: &str) -> Heard {
    match problem(status, code) {
        Answer::Responded(response) => Heard::Answered(response),
        failed @ Answer::Failed(_) => panic!("{failed:?}"),
    }
}

pub(crate) fn heard_bytes(bytes: &[u8]) -> Heard {
    Heard::Bytes(Bytes(bytes.to_vec()))
}

pub(crate) fn lost() -> Heard {
    Heard::Ended(Some(Lost::from(Failure::Unreachable)))
}

/// What is ordered, without the words for the operator.
pub(crate) fn orders(effects: Vec<Effect>) -> Vec<Effect> {
    effects.into_iter().filter(|effect| !matches!(effect, Effect::Tell(_))).collect()
}

pub(crate) fn levels(effects: &[Effect]) -> Vec<Level> {
    let told = effects.iter().filter_map(|effect| match effect {
        Effect::Tell(notice) => Some(notice.level),
        Effect::Open { .. }
        | Effect::Close(_)
        | Effect::Judge(_)
        | Effect::Reconcile
        | Effect::Poll => None,
    });
    told.collect()
}

fn frame(id: u64) -> Vec<u8> {
    Frame::event(id, "t", format!("{id}").as_bytes()).0.to_vec()
}

fn judged(id: u64) -> Effect {
    Effect::Judge(format!("{id}").into_bytes())
}

#[test]
fn each_answer_means_what_its_row_says() {
    let typed = |status: u16, kind: &str| Response::empty(status).with("content-type", kind);
    let coded = |status: u16, code: &str| match refusal(status, code) {
        Heard::Answered(response) => response,
        other @ (Heard::Bytes(_) | Heard::Ended(_)) => panic!("{other:?}"),
    };
    let name = |response: &Response| match stream::read(response, start().wall) {
        Streamed::Opened => "opened",
        Streamed::NotProvisioned(_) => "not provisioned",
        Streamed::Unacceptable(_) => "unacceptable",
        Streamed::Refused(_) => "refused",
        Streamed::Throttled(_) => "throttled",
        Streamed::Failed(_) => "failed",
    };
    let rows = [
        (typed(200, "text/event-stream"), "opened"),
        (typed(200, "Text/Event-Stream; charset=utf-8"), "opened"),
        (typed(200, "text/event-stream-x"), "failed"),
        (typed(200, "text/html"), "failed"),
        (typed(200, "text/event-stream").with("content-type", "text/html"), "failed"),
        (Response::empty(200), "failed"),
        (typed(201, "text/event-stream"), "failed"),
        (Response::empty(204), "failed"),
        (typed(206, "text/event-stream"), "failed"),
        (Response::empty(301).with("location", "http://other.example/"), "failed"),
        (Response::empty(304), "failed"),
        (coded(400, "invalid_cursor"), "unacceptable"),
        (Response::empty(400), "unacceptable"),
        (coded(401, "nsk_revoked"), "refused"),
        (Response::empty(401), "refused"),
        (Response::empty(403), "refused"),
        (Response::empty(404), "refused"),
        (Response::empty(405), "failed"),
        (Response::empty(408), "failed"),
        (Response::empty(409), "failed"),
        (Response::empty(422), "failed"),
        (Response::empty(429), "throttled"),
        (Response::empty(500), "failed"),
        (coded(501, "signed_event_bus_not_provisioned"), "not provisioned"),
        (coded(501, "secrets_not_provisioned"), "failed"),
        (Response::empty(501), "failed"),
        (Response::empty(503), "failed"),
        (Response::empty(599), "failed"),
    ];
    for (response, expected) in rows {
        assert_eq!(name(&response), expected, "{response:?}");
    }
}

#[test]
fn each_answer_leads_to_the_next_try_of_its_row() {
    let retry = |value: &str| answered(&Response::empty(429).with("retry-after", value));
    let second = seconds(1);
    let rows = [
        (refusal(501, "signed_event_bus_not_provisioned"), REPROBE, None),
        (refusal(401, "unauthorized"), REPROBE, Some(Trouble::Refused)),
        (refusal(403, "kind_mismatch"), REPROBE, Some(Trouble::Refused)),
        (refusal(404, "resource_not_found"), REPROBE, Some(Trouble::Refused)),
        (refusal(400, "invalid_cursor"), second, None),
        (refusal(503, "pool_exhausted"), second, None),
        (answered(&Response::empty(429)), second, None),
        // Asked for in words, it is up to a quarter more: in the middle of that without a draw.
        (retry("0"), Duration::from_millis(1_125), None),
        (retry("40"), seconds(45), None),
        (retry("9999999999"), seconds(3600), None),
        (retry("soon"), second, None),
        (answered(&Response::empty(302)), second, None),
        (lost(), second, None),
        (Heard::Ended(None), second, None),
    ];
    for (heard, wait, trouble) in rows {
        // Before any stream, the mode is what there is then: pulls alone.
        let mut line = Line::armed();
        assert_eq!(orders(line.heard(heard.clone())), [], "{heard:?}");
        assert_eq!((line.events.mode(), line.events.trouble()), (Mode::PullOnly, trouble));
        assert_eq!(line.reopened(), (wait, None), "{heard:?}");
    }
    let mut line = Line::armed();
    assert_eq!(orders(line.heard(answered(&stream_head()))), [Effect::Reconcile]);
    assert_eq!((line.events.mode(), line.events.trouble()), (Mode::Streaming, None));
}

#[test]
fn a_success_that_is_no_stream_is_closed_since_a_body_would_follow() {
    for status in [200, 201, 204, 206] {
        let mut line = Line::armed();
        let answer = answered(&Response::empty(status).with("content-type", "text/html"));
        assert_eq!(orders(line.heard(answer)), [Effect::Close(CallId(1))]);
        assert_eq!(line.phase(), "waiting");
    }
}

/// An input, the phase behind it, and what it leads to.
type Row = (&'static str, Input, &'static str, Vec<Effect>);

/// What a phase makes of what concerns its own stream, and of the rest.
fn rows(line: &Line) -> Vec<Row> {
    let before = line.phase();
    let named = line.last;
    let opened = Effect::Open { stream: CallId(named.0 + 1), cursor: None };
    let is_open = matches!(before, "connecting" | "streaming");
    let closes = is_open.then_some(Effect::Close(named));
    let own = |heard: Heard| Input::Heard { stream: named, heard, jitter: Jitter::NONE };
    let is_asked = before == "connecting";
    let ended = if is_open { "waiting" } else { before };
    let reconciles = is_asked.then_some(Effect::Reconcile).into_iter().collect();
    let judges = (before == "streaming").then(|| judged(7)).into_iter().collect();
    vec![
        ("armed", Input::Armed, "connecting", closes.clone().into_iter().chain([opened]).collect()),
        ("quieted", Input::Quieted, "off", closes.clone().into_iter().collect()),
        (
            "ordered at the moment of the last request",
            Input::Ordered,
            if before == "off" { "off" } else { "waiting" },
            closes.into_iter().collect(),
        ),
        ("verified", Input::Verified, before, vec![]),
        ("ticked", Input::Ticked, before, vec![]),
        (
            "a stream",
            own(answered(&stream_head())),
            if is_asked { "streaming" } else { before },
            reconciles,
        ),
        (
            "an error",
            own(refusal(503, "pool_exhausted")),
            if is_asked { "waiting" } else { before },
            vec![],
        ),
        ("bytes", own(heard_bytes(&frame(7))), before, judges),
        ("a clean end", own(Heard::Ended(None)), ended, vec![]),
        ("an end", own(lost()), ended, vec![]),
    ]
}

#[test]
fn each_phase_makes_of_each_input_what_its_row_says() {
    let mut waiting = Line::armed();
    waiting.heard(lost());
    let strays = || {
        let strays = [answered(&stream_head()), refusal(401, "x"), heard_bytes(&frame(7)), lost()];
        strays.map(|heard| Input::Heard { stream: CallId(77), heard, jitter: Jitter::NONE })
    };
    let mut met = 0;
    for line in [Line::new(), Line::armed(), Line::streaming(), waiting] {
        let before = line.phase();
        let strays = strays().map(|input| ("another stream", input, before, vec![]));
        for (what, input, after, effects) in rows(&line).into_iter().chain(strays) {
            let mut line = line.clone();
            assert_eq!(orders(line.give(input)), effects, "{before}, {what}");
            assert_eq!(line.phase(), after, "{before}, {what}");
            met += 1;
        }
    }
    assert_eq!(met, 4 * 14);
}

#[test]
fn an_order_opens_the_stream_anew_at_once_from_where_it_was() {
    let mut streaming = Line::streaming();
    streaming.bytes(&frame(7));
    let mut refused = Line::armed();
    refused.heard(refusal(403, "x"));
    let rows =
        [(Line::armed(), Some(1), None), (streaming, Some(1), Some("7")), (refused, None, None)];
    for (mut line, open_before, cursor) in rows {
        line.pass(BASE);
        let closed = open_before.map(|named| Effect::Close(CallId(named)));
        let expected: Vec<_> = closed.into_iter().chain([open(2, cursor)]).collect();
        assert_eq!(orders(line.give(Input::Ordered)), expected);
        assert_eq!(orders(line.heard(answered(&stream_head()))), [Effect::Reconcile]);
        assert_eq!(line.phase(), "streaming");
    }
}

#[test]
fn orders_without_end_ask_for_one_stream_a_second() {
    let mut line = Line::streaming();
    let (began, mut opened) = (line.now.mono, 0);
    while line.now.mono.since(began) < seconds(60) {
        line.pass(Duration::from_millis(50));
        for input in [Input::Ordered, Input::Ticked] {
            let effects = line.give(input);
            opened += effects.iter().filter(|one| matches!(one, Effect::Open { .. })).count();
        }
    }
    assert_eq!(opened, 60);
}

#[test]
fn no_order_shortens_a_wait_that_the_control_plane_asks_for() {
    let mut line = Line::armed();
    let busy = Response::empty(429).with("retry-after", "300");
    line.heard(answered(&busy));
    line.pass(seconds(10));
    assert_eq!(orders(line.give(Input::Ordered)), []);
    assert!(line.reopened().0 >= seconds(290));
}

#[test]
fn what_is_heard_of_a_stream_that_was_closed_or_has_ended_changes_nothing() {
    let mut line = Line::streaming();
    line.give(Input::Quieted);
    let before = line.clone();
    for heard in [answered(&stream_head()), heard_bytes(&frame(1)), lost(), Heard::Ended(None)] {
        assert_eq!(line.heard(heard), []);
        assert_eq!(line.events, before.events);
    }
    let mut line = Line::streaming();
    line.heard(lost());
    line.reopened();
    let before = line.clone();
    for heard in [answered(&stream_head()), heard_bytes(&frame(1)), lost(), Heard::Ended(None)] {
        assert_eq!(line.heard_of(CallId(1), heard), [], "the one before it");
        assert_eq!(line.events, before.events);
    }
}

#[test]
fn frames_are_judged_in_order_and_the_cursor_is_where_the_last_of_them_was() {
    let mut line = Line::streaming();
    let whole: Vec<u8> = (4..7).flat_map(frame).collect();
    assert_eq!(line.bytes(&whole), [judged(4), judged(5), judged(6)]);
    // A frame is judged when its end has come, wherever it was cut.
    let next = frame(7);
    let (front, behind) = next.split_at(9);
    assert_eq!(line.bytes(front), []);
    let mut cut = line.clone();
    cut.heard(lost());
    assert_eq!(cut.reopened().1.as_deref(), Some("6"), "half a frame moves nothing");
    assert_eq!(line.bytes(behind), [judged(7)]);
    line.heard(lost());
    assert_eq!(line.reopened().1.as_deref(), Some("7"));
    // What comes next is no gap, and what was missed is one.
    line.heard(answered(&stream_head()));
    assert_eq!(line.bytes(&frame(8)), [judged(8)]);
    line.heard(lost());
    line.reopened();
    line.heard(answered(&stream_head()));
    assert_eq!(line.bytes(&frame(10)), [judged(10), Effect::Reconcile]);
}

#[test]
fn a_gap_leads_to_a_reconcile_and_a_flood_of_gaps_to_one_a_second() {
    let mut line = Line::streaming();
    assert_eq!(line.bytes(&frame(5)), [judged(5)], "the first is behind nothing");
    assert_eq!(line.bytes(&frame(7)), [judged(7), Effect::Reconcile]);
    let mut reconciles = 0;
    for id in 0..1_050 {
        line.pass(Duration::from_millis(10));
        let effects = line.bytes(&frame(id * 2 + 9));
        reconciles += effects.iter().filter(|effect| **effect == Effect::Reconcile).count();
    }
    assert_eq!(reconciles, 10, "in ten seconds and a half");
    // The last is owed, and told when its second is over.
    assert!(line.left().is_some_and(|left| left <= GAP_INTERVAL));
    line.pass(GAP_INTERVAL);
    assert_eq!(line.give(Input::Ticked), [Effect::Reconcile]);
    line.pass(GAP_INTERVAL);
    assert_eq!(line.give(Input::Ticked), []);
}

#[test]
fn every_departure_from_the_sequence_is_a_gap_and_an_id_that_is_no_number_is_none() {
    let rows: [(&[u8], bool, Option<&str>); 11] = [
        (b"id: 6\ndata: x\n\n", false, Some("6")),
        (b"id: 5\ndata: x\n\n", true, Some("5")),
        (b"id: 7\ndata: x\n\n", true, Some("7")),
        (b"id: 1\ndata: x\n\n", true, Some("1")),
        (b"id: 7\n\n", true, Some("7")),
        (b"data: x\n\n", false, Some("5")),
        (b"id: abc\ndata: x\n\n", false, Some("abc")),
        (b"id\ndata: x\n\n", false, None),
        (b"id: \xc3\xa9\ndata: x\n\n", false, None),
        (b"id: a b\ndata: x\n\n", false, None),
        (b"id: 99999999999999999999999\ndata: x\n\n", false, Some("99999999999999999999999")),
    ];
    for (bytes, is_gap, cursor) in rows {
        let mut line = Line::streaming();
        line.bytes(&frame(5));
        let effects = line.bytes(bytes);
        assert_eq!(effects.contains(&Effect::Reconcile), is_gap, "{effects:?}");
        line.heard(lost());
        assert_eq!(line.reopened().1.as_deref(), cursor, "{bytes:?}");
    }
}

#[test]
fn a_frame_that_is_too_long_is_missed_and_the_stream_goes_on() {
    let mut line = Line::streaming();
    line.bytes(&frame(1));
    let mut long = b"id: 2\ndata: ".to_vec();
    long.resize((1 << 20) + 100, b'x');
    assert_eq!(line.bytes(&long), []);
    let effects = line.bytes(b"\n\n");
    assert_eq!(levels(&effects), [Level::Warn]);
    assert_eq!(orders(effects), [Effect::Reconcile], "as one that never came");
    assert_eq!(line.bytes(&frame(3)), [judged(3)]);
    line.pass(seconds(10));
    long.extend(b"\n\n");
    assert_eq!(levels(&line.bytes(&long)), [Level::Debug], "it is told once a stream");
}

#[test]
fn a_refused_cursor_is_cleared_and_asked_with_once() {
    let mut line = Line::streaming();
    line.bytes(&frame(5));
    line.heard(lost());
    assert_eq!(line.reopened().1.as_deref(), Some("5"));
    line.heard(refusal(400, "invalid_cursor"));
    let (first, cursor) = line.reopened();
    assert_eq!(cursor, None);
    line.heard(refusal(400, "invalid_cursor"));
    let (second, _) = line.reopened();
    assert!(second > first, "and never in a loop");
}

#[test]
fn a_new_identity_begins_with_nothing_of_the_old() {
    let mut line = Line::streaming();
    line.bytes(b"retry: 30000\n\n");
    line.bytes(&frame(5));
    line.heard(refusal(503, "x"));
    line.heard(lost());
    line.reopened();
    line.heard(refusal(401, "unauthorized"));
    assert_eq!(line.events.trouble(), Some(Trouble::Refused));
    assert_eq!(line.give(Input::Quieted), []);
    assert_eq!(line.left(), None, "it rests");
    let next = line.last.0 + 1;
    assert_eq!(line.give(Input::Armed), [open(next, None)]);
    assert_eq!((line.events.mode(), line.events.trouble()), (Mode::PullOnly, None));
    line.heard(lost());
    assert_eq!(line.reopened(), (seconds(1), None));
}

#[test]
fn a_silent_stream_is_closed_and_a_sign_of_life_keeps_it() {
    let mut line = Line::streaming();
    for _ in 0..10 {
        line.pass(IDLE - seconds(1));
        assert_eq!(orders(line.give(Input::Ticked)), []);
        assert_eq!(line.bytes(b": keep-alive\n\n"), []);
    }
    line.pass(IDLE - Duration::from_nanos(1));
    assert_eq!(orders(line.give(Input::Ticked)), []);
    line.pass(Duration::from_nanos(1));
    assert_eq!(line.left(), Some(Duration::ZERO));
    let stream = line.last;
    let effects = line.give(Input::Ticked);
    assert_eq!(levels(&effects), [Level::Warn]);
    assert_eq!(orders(effects), [Effect::Close(stream)]);
    assert_eq!(line.reopened().0, seconds(1));
}

#[test]
fn a_byte_at_a_time_is_a_sign_of_life_each() {
    let mut line = Line::streaming();
    let mut judgements = 0;
    for byte in frame(1) {
        line.pass(IDLE - seconds(1));
        judgements += line.bytes(&[byte]).iter().filter(|one| **one == judged(1)).count();
    }
    assert_eq!((judgements, line.phase()), (1, "streaming"));
}

#[test]
fn a_suspended_machine_wakes_to_one_close_and_one_request_a_while_later() {
    let mut line = Line::streaming();
    line.give(Input::Verified);
    line.pass(seconds(8 * 3600));
    let stream = line.last;
    assert_eq!(orders(line.give(Input::Ticked)), [Effect::Close(stream)]);
    assert_eq!(orders(line.give(Input::Ticked)), []);
    assert_eq!(line.left(), Some(seconds(1)));
    let mut waiting = Line::armed();
    waiting.heard(lost());
    waiting.pass(seconds(8 * 3600));
    let orders = orders(waiting.give(Input::Ticked));
    assert_eq!(orders, [open(2, None)], "and a poll within a minute");
}

#[test]
fn a_stream_that_was_up_a_minute_is_proven_as_by_an_event() {
    let mut line = Line::armed();
    for _ in 0..4 {
        line.heard(lost());
        line.reopened();
    }
    line.heard(answered(&stream_head()));
    let put_off = (BASE + PULL_SPREAD) / 2;
    line.pass(put_off);
    assert_eq!(line.give(Input::Ticked), [Effect::Reconcile]);
    line.pass(PROVEN_AFTER - put_off - Duration::from_nanos(1));
    let mut early = line.clone();
    early.heard(lost());
    assert_eq!(early.reopened().0, seconds(16), "the control plane is there");
    assert_eq!(line.left(), Some(Duration::from_nanos(1)));
    line.pass(Duration::from_nanos(1));
    assert_eq!(line.give(Input::Ticked), [], "nothing to tell: the mode was");
    line.heard(lost());
    assert_eq!(line.reopened().0, seconds(1));
}
