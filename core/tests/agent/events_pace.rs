//! The stream in time: how often it is asked for, when the mode changes, what the operator is told.

use std::time::Duration;

use meshward_core::{
    agent::{
        EventSettings, Heard,
        events::{
            BASE, CAP, DEGRADED_AFTER, Effect, Events, Input, Mode, POLL_INTERVAL, PROVEN_AFTER,
            PULL_SPREAD, SPREAD, Trouble,
        },
        notice::Level,
    },
    backoff::Jitter,
    ids::CallId,
    time::{Mono, Now},
    wire::http::Response,
};
use proptest::prelude::*;

use crate::{
    bench::{seconds, start},
    events::{
        IDLE, Line, REPROBE, answered, heard_bytes, levels, lost, orders, refusal, stream_head,
    },
};

const BUS: &str = "signed_event_bus_not_provisioned";

/// Lets the stream open, end in this way, and tells the waits until it is asked for again.
fn waits(line: &mut Line, times: usize, end: impl Fn(&mut Line)) -> Vec<u64> {
    let mut waits = Vec::new();
    for _ in 0..times {
        end(line);
        waits.push(line.reopened().0.as_millis().try_into().expect("a short wait"));
    }
    waits
}

#[test]
fn failures_double_the_wait_up_to_a_minute() {
    let mut line = Line::armed();
    let told = waits(&mut line, 4, |line| {
        line.heard(lost());
    });
    assert_eq!(told, [1_000, 16_750, 17_500, 19_000], "the middle of what may be drawn");
    let mut line = Line::armed();
    line.heard(answered(&stream_head()));
    line.heard(lost());
    line.reopened();
    let told = waits(&mut line, 9, |line| {
        line.heard(answered(&stream_head()));
        line.heard(lost());
    });
    let grown = [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000];
    assert_eq!(told, grown, "a stream that tells nothing changes nothing");
}

#[test]
fn a_second_connection_that_comes_to_nothing_spreads_the_nodes_evenly_over_half_a_minute() {
    let wait = |chance: u16| {
        let mut line = Line::armed();
        line.heard(lost());
        line.reopened();
        let jitter = Jitter::drawn(chance);
        line.give(Input::Heard { stream: line.last, heard: lost(), jitter });
        line.reopened().0
    };
    assert_eq!((wait(0), wait(2_000)), (Duration::from_millis(1_500), SPREAD));
    let drawn: Vec<_> = (0..=20).map(|step| wait(step * 100)).collect();
    let steps: Vec<_> = drawn.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    assert!(
        steps.iter().all(|step| step.abs_diff(steps[0]) < Duration::from_millis(1)),
        "{steps:?}"
    );
}

#[test]
fn a_control_plane_that_ended_its_streams_and_is_not_reached_behind_that_spreads_the_nodes() {
    let mut line = Line::streaming();
    line.heard(Heard::Ended(None));
    assert_eq!(line.reopened().0, Duration::from_millis(1_125));
    line.heard(lost());
    assert_eq!(line.reopened().0, Duration::from_millis(16_750), "the middle of what may be drawn");
    assert_eq!(orders(line.heard(answered(&stream_head()))), [], "and the pull is put off");
}

#[test]
fn a_control_plane_that_answers_is_there_and_spreads_nobody() {
    let mut line = Line::armed();
    let told = waits(&mut line, 4, |line| {
        line.heard(answered(&Response::empty(503)));
    });
    assert_eq!(told, [1_000, 2_000, 4_000, 8_000]);
    let effects = line.heard(answered(&stream_head()));
    assert_eq!(orders(effects), [Effect::Reconcile]);
    // An answer in between begins the count anew.
    let mut line = Line::armed();
    line.heard(lost());
    line.reopened();
    line.heard(answered(&Response::empty(503)));
    line.reopened();
    line.heard(lost());
    line.reopened();
    assert_eq!(orders(line.heard(answered(&stream_head()))), [Effect::Reconcile]);
}

#[test]
fn streams_that_open_and_end_again_and_again_are_asked_for_ever_more_seldom() {
    let mut line = Line::armed();
    let told = waits(&mut line, 8, |line| {
        line.heard(answered(&stream_head()));
        line.heard(Heard::Ended(None));
    });
    assert_eq!(told, [1_125, 2_250, 4_500, 9_000, 18_000, 36_000, 67_500, 67_500]);
    // An event that is verified, and only that, begins anew.
    line.heard(answered(&stream_head()));
    line.heard(heard_bytes(b"data: forged\n\n"));
    line.heard(Heard::Ended(None));
    assert_eq!(line.reopened().0, Duration::from_millis(67_500));
    line.heard(answered(&stream_head()));
    line.give(Input::Verified);
    line.heard(Heard::Ended(None));
    assert_eq!(line.reopened().0, Duration::from_millis(1_125));
}

#[test]
fn what_a_stream_asks_for_is_the_base_of_its_waits_within_bounds() {
    for (retry, base) in [("5000", 5_000), ("0", 1_000), ("99999999", 60_000), ("x", 1_000)] {
        let mut line = Line::streaming();
        line.heard(heard_bytes(format!("retry: {retry}\n\n").as_bytes()));
        line.give(Input::Verified);
        line.heard(lost());
        assert_eq!(line.reopened().0, Duration::from_millis(base), "{retry}");
        line.heard(answered(&Response::empty(429).with("retry-after", "2")));
        let asked = Duration::from_millis(base.max(2_000));
        assert_eq!(line.reopened().0, asked + asked / 8, "not below the base");
    }
}

#[test]
fn without_a_stream_for_five_minutes_the_state_is_polled_until_there_is_one() {
    for streamed in [true, false] {
        let mut line = if streamed { Line::streaming() } else { Line::armed() };
        let before = line.events.mode();
        line.heard(lost());
        let since = line.now;
        let mut polls = Vec::new();
        while line.now.mono.since(since.mono) < seconds(1_000) {
            let left = line.left().expect("something is due");
            assert!(left > Duration::ZERO || line.events.wakeup().is_some());
            line.pass(left);
            let mut effects = line.give(Input::Ticked);
            let opens = effects.iter().any(|effect| matches!(effect, Effect::Open { .. }));
            if opens {
                effects.extend(line.heard(lost()));
            }
            let elapsed = line.now.mono.since(since.mono);
            if effects.contains(&Effect::Poll) {
                polls.push(elapsed);
            }
            let mode = if elapsed < DEGRADED_AFTER { before } else { Mode::DegradedPolling };
            assert_eq!(line.events.mode(), mode, "{elapsed:?}");
        }
        let first = DEGRADED_AFTER + (BASE + POLL_INTERVAL) / 2;
        let due: Vec<_> = (0..11).map(|number| first + POLL_INTERVAL * number).collect();
        assert_eq!(polls[..11], due, "somewhere within a minute, then each minute");
        assert_eq!(line.events.trouble(), Some(Trouble::Degraded));
        line.reopened();
        let effects = line.heard(answered(&stream_head()));
        assert_eq!(levels(&effects), [Level::Info]);
        assert_eq!(orders(effects), []);
        assert_eq!((line.events.mode(), line.events.trouble()), (Mode::Streaming, None));
        line.pass((BASE + PULL_SPREAD) / 2);
        assert_eq!(line.give(Input::Ticked), [Effect::Reconcile], "not all nodes at once");
    }
}

#[test]
fn what_is_put_off_never_falls_due_at_once() {
    for chance in [0, 2_000] {
        let mut line = Line::armed();
        let lose = |line: &mut Line| {
            let (stream, jitter) = (line.last, Jitter::drawn(chance));
            line.give(Input::Heard { stream, heard: lost(), jitter });
        };
        lose(&mut line);
        line.pass(DEGRADED_AFTER);
        line.give(Input::Ticked);
        assert_eq!(line.events.mode(), Mode::DegradedPolling);
        let first = if chance == 0 { BASE } else { POLL_INTERVAL };
        assert_eq!(line.events.wakeup(), Some(line.now.mono.after(first)), "the first poll");
        lose(&mut line);
        line.reopened();
        let jitter = Jitter::drawn(chance);
        let heard = answered(&stream_head());
        let effects = line.give(Input::Heard { stream: line.last, heard, jitter });
        assert_eq!(orders(effects), [], "nor the pull that a stream brings");
    }
}

#[test]
fn the_time_that_a_stream_is_up_does_not_count_towards_polling() {
    let mut line = Line::streaming();
    for _ in 0..50 {
        line.heard(Heard::Ended(None));
        line.reopened();
        line.heard(answered(&stream_head()));
        assert_eq!(line.events.mode(), Mode::Streaming);
    }
}

#[test]
fn where_there_is_no_stream_every_try_is_a_probe_and_the_mode_stays_until_one_opens() {
    let mut line = Line::streaming();
    line.heard(Heard::Ended(None));
    line.reopened();
    let effects = line.heard(refusal(501, BUS));
    assert_eq!((levels(&effects), orders(effects)), (vec![Level::Info], vec![]));
    assert_eq!(line.events.mode(), Mode::PullOnly);
    let failing = || {
        [
            lost(),
            refusal(503, "x"),
            answered(&Response::empty(429).with("retry-after", "1")),
            answered(&Response::empty(204)),
            refusal(501, BUS),
            refusal(400, "invalid_cursor"),
        ]
    };
    for heard in failing().into_iter().chain(failing()) {
        assert!(line.reopened().0 >= REPROBE);
        line.heard(heard);
        assert_eq!((line.events.mode(), line.events.trouble()), (Mode::PullOnly, None));
    }
    // Refused as a probe it is told too.
    line.reopened();
    line.heard(refusal(403, "x"));
    assert_eq!(
        (line.events.mode(), line.events.trouble()),
        (Mode::PullOnly, Some(Trouble::Refused))
    );
    assert_eq!(line.reopened().0, REPROBE);
    line.heard(refusal(501, BUS));
    assert_eq!(line.events.trouble(), None, "there is none to be refused");
    line.reopened();
    line.heard(answered(&stream_head()));
    assert_eq!(line.events.mode(), Mode::Streaming);
}

#[test]
fn a_refusal_is_told_until_a_stream_opens_and_comes_before_polling() {
    let mut line = Line::streaming();
    line.heard(lost());
    line.reopened();
    assert_eq!(levels(&line.heard(refusal(401, "nsk_revoked"))), [Level::Debug, Level::Warn][1..]);
    assert_eq!(line.events.trouble(), Some(Trouble::Refused));
    for heard in [refusal(403, "x"), lost(), refusal(503, "x"), refusal(404, "x")] {
        line.reopened();
        assert_eq!(levels(&line.heard(heard)), [Level::Debug]);
        assert_eq!(line.events.trouble(), Some(Trouble::Refused));
    }
    assert_eq!(line.events.mode(), Mode::DegradedPolling, "it is polled meanwhile");
    line.reopened();
    assert_eq!(levels(&line.heard(answered(&stream_head()))), [Level::Info]);
    assert_eq!(line.events.trouble(), None);
}

#[test]
fn the_first_failure_of_a_row_is_a_warning_and_its_end_is_told_once_a_stream_is_good_for_something()
{
    let mut line = Line::streaming();
    line.give(Input::Verified);
    assert_eq!(levels(&line.heard(lost())), [Level::Warn]);
    for _ in 0..5 {
        line.reopened();
        assert_eq!(levels(&line.heard(lost())), [Level::Debug]);
        line.reopened();
        assert_eq!(levels(&line.heard(answered(&stream_head()))), [Level::Debug]);
        assert_eq!(levels(&line.heard(lost())), [Level::Debug], "no warning for each try");
    }
    line.reopened();
    line.heard(answered(&stream_head()));
    assert_eq!(levels(&line.give(Input::Verified)), [Level::Info]);
    assert_eq!(levels(&line.give(Input::Verified)), []);
    assert_eq!(levels(&line.heard(lost())), [Level::Warn]);
    line.reopened();
    line.heard(answered(&stream_head()));
    line.pass(PROVEN_AFTER);
    assert_eq!(levels(&line.give(Input::Ticked)), [Level::Info]);
}

#[test]
fn clean_ends_are_told_when_they_are_no_chance_any_more() {
    let mut line = Line::armed();
    let mut warnings = 0;
    for _ in 0..20 {
        line.heard(answered(&stream_head()));
        let told = levels(&line.heard(Heard::Ended(None)));
        warnings += told.iter().filter(|level| **level == Level::Warn).count();
        line.reopened();
    }
    assert_eq!(warnings, 1);
}

/// What the far end, the clock and the agent do next.
#[derive(Clone, Debug)]
enum Move {
    Answer(u16, Option<u16>),
    Stream,
    NoStream,
    Bytes(Vec<u8>),
    Verified,
    Ended(bool),
    /// Until the machine wants to be woken.
    Woken,
    /// So many milliseconds, and a tick whether or not one was wanted.
    Passes(u32),
    Armed,
    Quieted,
    /// Of a stream that is not the one.
    Stray(u64),
}

fn moves() -> impl Strategy<Value = Vec<(Move, u16)>> {
    let status =
        prop::sample::select(vec![204, 301, 400, 401, 403, 404, 409, 422, 429, 500, 501, 503]);
    let step = prop_oneof![
        3 => (status, prop::option::of(0_u16..4_000)).prop_map(|(status, after)| Move::Answer(status, after)),
        3 => Just(Move::Stream),
        1 => Just(Move::NoStream),
        2 => prop::sample::select(vec![
            &b": keep-alive\n\n"[..], b"id: 1\ndata: x\n\n", b"id: 9\ndata: x\n\n", b"data: x\n\n", b"retry: 3000\n\n",
            b"retry: 1\n\n", b"id: 4", b"\n\n",
        ]).prop_map(|bytes| Move::Bytes(bytes.to_vec())),
        1 => Just(Move::Verified),
        3 => any::<bool>().prop_map(Move::Ended),
        8 => Just(Move::Woken),
        2 => (0_u32..100_000).prop_map(Move::Passes),
        1 => Just(Move::Armed),
        1 => Just(Move::Quieted),
        1 => (100_u64..200).prop_map(Move::Stray),
    ];
    prop::collection::vec((step, any::<u16>()), 1..120)
}

/// What the rules allow, kept beside the machine by what passes between it and the world alone.
struct Judge {
    events: Events,
    now: Now,
    last: CallId,
    /// The stream that is asked for, or open.
    open: Option<CallId>,
    is_streaming: bool,
    up_since: Mono,
    /// Failures and ends since a stream was good for something.
    in_a_row: u32,
    /// Connections that came to nothing since the last answer, but for those that fell silent.
    unanswered: u32,
    /// Nothing may be asked for before.
    not_before: Mono,
    is_descoped: bool,
    /// Until when the pull has to come that a stream has brought.
    owed: Option<Mono>,
    /// The greatest base that a stream may have asked for is not looked at: a second is the least.
    polls: Vec<Mono>,
}

impl Judge {
    fn give(&mut self, input: Input) -> Vec<Effect> {
        let settings = EventSettings { idle_timeout: IDLE, reprobe_interval: REPROBE };
        let step =
            std::mem::take(&mut self.events).step(&settings, self.last.next(), self.now, input);
        self.events = step.state;
        step.effects
    }

    /// The stream has failed or ended; what is the least wait.
    fn over(&mut self, least: Duration) {
        if self.is_streaming && self.now.mono.since(self.up_since) >= PROVEN_AFTER {
            // The tick that proves it may not have come; then the wait is only longer.
            self.in_a_row = 0;
        }
        self.in_a_row += 1;
        let grown = Duration::from_millis(750) * 2_u32.pow(self.in_a_row.min(7) - 1);
        let floor = grown.min(CAP * 3 / 4);
        let floor = if least.is_zero() { floor } else { least };
        let probes = if self.is_descoped { REPROBE * 9 / 10 } else { Duration::ZERO };
        self.not_before = self.now.mono.after(floor.max(probes));
        self.open = None;
        self.is_streaming = false;
    }

    fn look(&mut self, effects: &[Effect], opens_freely: bool) {
        let reconciles = effects.iter().filter(|one| **one == Effect::Reconcile).count();
        assert!(reconciles <= 1, "{effects:?}");
        for effect in effects {
            match effect {
                Effect::Open { stream, .. } => {
                    assert_eq!(self.open, None, "two streams at once");
                    assert!(
                        opens_freely || self.not_before <= self.now.mono,
                        "asked for too early"
                    );
                    assert_eq!(*stream, self.last.next());
                    self.last = *stream;
                    self.open = Some(*stream);
                }
                Effect::Close(stream) => {
                    assert_eq!(self.open.take(), Some(*stream), "closed is what is open");
                    self.is_streaming = false;
                }
                Effect::Poll => self.polls.push(self.now.mono),
                Effect::Judge(_) => assert!(self.is_streaming),
                Effect::Reconcile => self.owed = None,
                Effect::Tell(_) => {}
            }
        }
        assert!(self.owed.is_none_or(|due| due > self.now.mono), "a stream leads to a pull");
    }

    fn take(&mut self, one: Move, jitter: Jitter) {
        let (open, asked) = (self.open, self.open.filter(|_| !self.is_streaming));
        match one {
            Move::Answer(status, after) => {
                let response = Response::empty(status);
                let response = match after {
                    Some(after) => response.with("retry-after", &after.to_string()),
                    None => response,
                };
                self.hear(asked, answered(&response), jitter);
            }
            Move::Stream => self.hear(asked, answered(&stream_head()), jitter),
            Move::NoStream => self.hear(asked, refusal(501, BUS), jitter),
            Move::Bytes(bytes) => self.hear(open, heard_bytes(&bytes), jitter),
            Move::Ended(true) => self.hear(open, Heard::Ended(None), jitter),
            Move::Ended(false) => self.hear(open, lost(), jitter),
            Move::Stray(name) => self.hear(Some(CallId(name + 1_000_000)), lost(), jitter),
            Move::Verified => {
                let effects = self.give(Input::Verified);
                if self.is_streaming {
                    self.in_a_row = 0;
                }
                self.look(&effects, false);
            }
            Move::Armed => {
                self.in_a_row = 0;
                self.unanswered = 0;
                self.is_descoped = false;
                self.owed = None;
                let effects = self.give(Input::Armed);
                self.look(&effects, true);
            }
            Move::Quieted => {
                let effects = self.give(Input::Quieted);
                self.owed = None;
                self.look(&effects, false);
                assert_eq!((self.open, self.events.wakeup()), (None, None));
            }
            Move::Woken => self.wake(),
            Move::Passes(time) => {
                self.now = self.now.after(Duration::from_millis(time.into()));
                self.tick();
            }
        }
    }

    fn wake(&mut self) {
        let Some(due) = self.events.wakeup() else { return };
        self.now = self.now.after(due.since(self.now.mono));
        self.tick();
        let next = self.events.wakeup();
        assert!(next.is_none_or(|next| next > self.now.mono), "a tick that changes nothing");
    }

    fn hear(&mut self, stream: Option<CallId>, heard: Heard, jitter: Jitter) {
        let Some(stream) = stream else { return };
        let is_own = self.open == Some(stream);
        let was_asked = is_own && !self.is_streaming;
        let effects = self.give(Input::Heard { stream, heard: heard.clone(), jitter });
        if !is_own {
            assert_eq!(effects, [], "what is no longer followed");
            return;
        }
        if matches!(heard, Heard::Ended(_)) {
            self.unanswered += 1;
        }
        if was_asked {
            self.judge_answer(&heard, &effects);
        } else if matches!(heard, Heard::Ended(_)) {
            self.over(Duration::ZERO);
        }
        self.look(&effects, false);
    }

    fn judge_answer(&mut self, heard: &Heard, effects: &[Effect]) {
        match heard {
            Heard::Answered(response) if *response == stream_head() => {
                self.is_streaming = true;
                self.is_descoped = false;
                self.up_since = self.now.mono;
                // The machine may count failures that are forgotten here.
                let at_once = orders(effects.to_vec()) == [Effect::Reconcile];
                assert!(self.unanswered < 2 || !at_once, "not all nodes at once");
                assert!(self.unanswered > 0 || at_once, "what answers is there");
                self.unanswered = 0;
                if !at_once {
                    assert_eq!(orders(effects.to_vec()), []);
                    let due = self.now.mono.after(PULL_SPREAD + seconds(1));
                    self.owed.get_or_insert(due);
                }
                assert_eq!(self.events.mode(), Mode::Streaming);
            }
            Heard::Answered(response) => {
                self.unanswered = 0;
                let after =
                    response.headers.first("retry-after").filter(|_| response.status == 429);
                let after = after.and_then(|after| after.parse().ok()).map(Duration::from_secs);
                let is_bus = *heard == refusal(501, BUS);
                let least = match response.status {
                    401 | 403 | 404 => REPROBE * 9 / 10,
                    501 if is_bus => REPROBE * 9 / 10,
                    429 => {
                        after.map_or(Duration::ZERO, |after| after.clamp(seconds(1), seconds(3600)))
                    }
                    _ => Duration::ZERO,
                };
                self.is_descoped |= is_bus;
                let open = self.open;
                let in_a_row = self.in_a_row;
                self.over(least);
                // Neither a refusal nor the lack of a stream is a failure of the connection.
                if is_bus || matches!(response.status, 401 | 403 | 404) {
                    self.in_a_row = in_a_row;
                }
                // What follows with a body is closed.
                self.open = open.filter(|_| response.is_success());
            }
            Heard::Ended(_) => self.over(Duration::ZERO),
            Heard::Bytes(_) => {}
        }
    }

    fn tick(&mut self) {
        let lasted = self.is_streaming && self.now.mono.since(self.up_since) >= PROVEN_AFTER;
        let effects = self.give(Input::Ticked);
        let closes = effects.iter().any(|effect| matches!(effect, Effect::Close(_)));
        if lasted {
            self.in_a_row = 0;
        }
        self.look(&effects, false);
        if closes {
            self.over(Duration::ZERO);
        }
    }
}

proptest! {
    #![proptest_config(crate::support::seeds_in("events"))]

    #[test]
    fn whatever_is_answered_there_is_one_stream_at_a_time_and_none_is_asked_for_too_early(moves in moves()) {
        let mut judge = Judge {
            events: Events::default(),
            now: start(),
            last: CallId(0),
            open: None,
            is_streaming: false,
            up_since: start().mono,
            in_a_row: 0,
            unanswered: 0,
            not_before: start().mono,
            is_descoped: false,
            owed: None,
            polls: Vec::new(),
        };
        let effects = judge.give(Input::Armed);
        judge.look(&effects, true);
        for (one, chance) in moves {
            judge.take(one, Jitter::drawn(chance));
        }
        for pair in judge.polls.windows(2) {
            prop_assert!(pair[1].since(pair[0]) >= POLL_INTERVAL);
        }
    }
}
