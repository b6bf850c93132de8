//! The report of the endpoint: every row of the machine's table, its waits by both clocks, and what the operator is told.

use std::time::Duration;

use meshward_core::{
    agent::{
        Discovery, Level, NatSettings, Notice, Seen,
        heartbeat::skew::Skew,
        nat::{Effect, Input, KEPT_MAX, MARGIN, Nat, SERVERS_MAX, TIMEOUT_MAX},
        verdict::{
            Trouble,
            endpoint::{Lease, Reported},
        },
    },
    backoff::Jitter,
    step::Step,
    time::{Now, Wall},
    wire::{endpoint::NatType, grammar::ReachableAddr, timestamp::Timestamp},
};
use proptest::prelude::*;

use crate::{
    bench::{seconds, start},
    nat_mapping::{sees, settings, silent},
    support::{replays, seeds_in},
};

const HERE: &str = "198.51.100.7:40000";
const THERE: &str = "198.51.100.9:40000";

type Make = fn() -> Scout;

/// A machine with its clocks; what it tells is kept apart from what it orders.
struct Scout {
    nat: Nat,
    settings: NatSettings,
    now: Now,
    round: u64,
    told: Vec<Notice>,
}

impl Scout {
    fn new() -> Self {
        Self { nat: Nat::default(), settings: settings(), now: start(), round: 0, told: Vec::new() }
    }

    /// One that probes.
    fn probing() -> Self {
        let mut scout = Self::new();
        let discovery = scout.discovery(1);
        assert_eq!(scout.give(Input::Armed), [discovery]);
        scout
    }

    /// One that has sent its report.
    fn reporting() -> Self {
        let mut scout = Self::probing();
        assert_eq!(scout.found(&[sees(1, HERE), sees(2, HERE)]), [report(HERE, NatType::FullCone)]);
        scout
    }

    /// One that waits behind an acceptance for this long.
    fn accepted(ttl: u64) -> Self {
        let mut scout = Self::reporting();
        assert_eq!(scout.accept(ttl), []);
        scout
    }

    fn discovery(&self, round: u64) -> Effect {
        let NatSettings { port, servers, timeout, .. } = self.settings.clone();
        Effect::Discover(Discovery { round, port, servers, timeout })
    }

    fn give(&mut self, input: Input) -> Vec<Effect> {
        let Step { state, effects } =
            std::mem::take(&mut self.nat).step(&self.settings, self.now, input);
        self.nat = state;
        let mut orders = Vec::new();
        for effect in effects {
            match effect {
                Effect::Tell(notice) => self.told.push(notice),
                Effect::Discover(ref discovery) => {
                    self.round = discovery.round;
                    orders.push(effect);
                }
                Effect::Report { .. } => orders.push(effect),
            }
        }
        orders
    }

    fn outcome(&mut self, outcome: Result<Vec<Result<Seen, String>>, String>) -> Vec<Effect> {
        self.give(Input::Discovered { round: self.round, outcome, jitter: Jitter::NONE })
    }

    fn found(&mut self, answers: &[Result<Seen, String>]) -> Vec<Effect> {
        self.outcome(Ok(answers.to_vec()))
    }

    fn missed(&mut self) -> Vec<Effect> {
        self.found(&[silent(), silent(), silent()])
    }

    fn answer(&mut self, reported: Reported) -> Vec<Effect> {
        self.give(Input::Reported { reported, jitter: Jitter::NONE })
    }

    /// The control plane, whose clock is this node's, accepts for so many seconds.
    fn accept(&mut self, ttl: u64) -> Vec<Effect> {
        self.answer(Reported::Accepted(lease(
            Some(self.now.wall),
            self.now.after(seconds(ttl)).wall,
        )))
    }

    /// The time until the wakeup that is wanted.
    fn left(&self) -> Option<Duration> {
        self.nat.wakeup().map(|due| due.since(self.now.mono))
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    /// Moves to the wakeup, which begins the next round.
    fn wake(&mut self) -> Duration {
        let left = self.left().expect("a wakeup is wanted");
        self.pass(left);
        let discovery = self.discovery(self.round + 1);
        assert_eq!(self.give(Input::Ticked), [discovery]);
        left
    }

    /// The levels of what was told since this was asked last.
    fn levels(&mut self) -> Vec<Level> {
        std::mem::take(&mut self.told).iter().map(|notice| notice.level).collect()
    }
}

fn report(endpoint: &str, nat_type: NatType) -> Effect {
    let endpoint = ReachableAddr::parse(endpoint).expect("an address that can be reached");
    Effect::Report { endpoint, nat_type }
}

fn lease(accepted_at: Option<Wall>, stale_after: Wall) -> Lease {
    let accepted_at = accepted_at.map(Timestamp::from);
    Lease { accepted_at, stale_after: Some(Timestamp::from(stale_after)) }
}

fn failed() -> Reported {
    Reported::Failed("down".into())
}

#[test]
fn a_node_that_is_armed_asks_at_once_reports_and_waits() {
    let mut scout = Scout::accepted(300);
    assert_eq!(scout.left(), Some(seconds(60)));
    let found = scout.nat.found().unwrap();
    assert_eq!((found.endpoint.to_string().as_str(), found.nat_type), (HERE, NatType::FullCone));
    assert_eq!(scout.wake(), seconds(60));
}

#[test]
fn nothing_happens_before_it_is_armed_and_once_it_is_quieted() {
    let mut quieted = Scout::accepted(300);
    assert_eq!(quieted.give(Input::Quieted), []);
    for mut scout in [Scout::new(), quieted] {
        for input in [Input::Ticked, Input::Quieted] {
            assert_eq!(scout.give(input), []);
        }
        assert_eq!(scout.found(&[sees(1, HERE)]), []);
        assert_eq!(scout.accept(300), []);
        assert_eq!((scout.left(), scout.nat.found()), (None, None));
    }
}

#[test]
fn an_input_that_nobody_waits_for_changes_nothing() {
    let rows: [(Make, Vec<Input>); 3] = [
        (
            Scout::probing,
            vec![
                Input::Armed,
                Input::Ticked,
                Input::Reported { reported: failed(), jitter: Jitter::NONE },
            ],
        ),
        (Scout::reporting, vec![Input::Armed, Input::Ticked]),
        (
            || Scout::accepted(300),
            vec![Input::Armed, Input::Reported { reported: failed(), jitter: Jitter::NONE }],
        ),
    ];
    for (make, inputs) in rows {
        for input in inputs {
            let mut scout = make();
            let before = scout.nat.clone();
            assert_eq!(scout.give(input.clone()), [], "{input:?}");
            assert_eq!(scout.nat, before, "{input:?}");
        }
    }
}

#[test]
fn the_outcome_of_an_earlier_round_is_ignored() {
    let mut scout = Scout::probing();
    scout.give(Input::Quieted);
    assert_eq!(scout.give(Input::Armed), [scout.discovery(2)]);
    let late =
        Input::Discovered { round: 1, outcome: Ok(vec![sees(1, THERE)]), jitter: Jitter::NONE };
    assert_eq!(scout.give(late), []);
    assert_eq!(scout.found(&[sees(1, HERE)]), [report(HERE, NatType::Unknown)]);
}

#[test]
fn the_next_round_begins_thirty_seconds_before_the_endpoint_lapses() {
    // What the control plane gives, and how long is waited with a refresh of a minute and a floor of ten seconds.
    let rows = [
        (300, 60),
        (91, 60),
        (90, 60),
        (89, 59),
        (60, 30),
        (41, 11),
        (40, 10),
        (39, 10),
        (30, 10),
        (1, 10),
        (0, 10),
    ];
    for (ttl, wait) in rows {
        assert_eq!(Scout::accepted(ttl).wake(), seconds(wait), "{ttl}");
    }
}

#[test]
fn a_time_that_is_absent_or_long_past_neither_hurries_nor_overflows() {
    let none = Lease::default();
    let first = Wall::from_origin(Duration::ZERO);
    let last = Wall::from_origin(Duration::MAX);
    let now = start().wall;
    let rows = [
        (none, 60),
        (Lease { accepted_at: Some(Timestamp::from(now)), ..none }, 60),
        (lease(None, first), 10),
        (lease(Some(now), first), 10),
        (lease(Some(last), first), 10),
        (lease(None, last), 60),
        (lease(Some(first), last), 60),
        (lease(Some(last), last), 10),
    ];
    for (lease, wait) in rows {
        let mut scout = Scout::reporting();
        scout.answer(Reported::Accepted(lease));
        assert_eq!(scout.wake(), seconds(wait), "{lease:?}");
    }
}

#[test]
fn clocks_that_are_apart_never_let_the_endpoint_lapse_by_the_one_of_the_control_plane() {
    for (ahead, wait) in [(0, 30), (20, 10), (50, 10)] {
        let mut scout = Scout::reporting();
        let accepted = Wall::from_origin(scout.now.wall.since_origin() - seconds(ahead));
        scout.answer(Reported::Accepted(lease(Some(accepted), accepted.after(seconds(60)))));
        assert_eq!(scout.wake(), seconds(wait), "this node is {ahead} s ahead");
    }
    let mut scout = Scout::reporting();
    let accepted = scout.now.wall.after(seconds(50));
    scout.answer(Reported::Accepted(lease(Some(accepted), accepted.after(seconds(60)))));
    assert_eq!(scout.wake(), seconds(30), "this node is 50 s behind");
}

#[test]
fn the_floor_holds_where_it_is_longer_than_the_refresh_interval() {
    let mut scout = Scout::reporting();
    scout.settings.min_report_interval = seconds(300);
    scout.accept(60);
    assert_eq!(scout.wake(), seconds(300));
    scout.missed();
    scout.answer(failed());
    assert_eq!(scout.wake(), seconds(300));
}

#[test]
fn a_wall_clock_that_is_set_forward_ends_the_wait_and_one_that_is_set_back_does_not_stretch_it() {
    let mut scout = Scout::accepted(80);
    assert_eq!(scout.left(), Some(seconds(50)));
    scout.pass(seconds(10));
    scout.now.wall = scout.now.wall.after(seconds(3600));
    assert_eq!(scout.give(Input::Ticked), [scout.discovery(2)]);

    let mut scout = Scout::accepted(80);
    scout.now.wall = Wall::from_origin(Duration::ZERO);
    scout.pass(seconds(49));
    assert_eq!(scout.give(Input::Ticked), []);
    assert_eq!(scout.wake(), seconds(1), "fifty seconds by the clock of the control plane");

    let mut scout = Scout::accepted(300);
    scout.now.wall = scout.now.wall.after(seconds(3600));
    scout.pass(seconds(9));
    assert_eq!(scout.give(Input::Ticked), [], "the floor holds whatever the wall clock does");
}

#[test]
fn a_first_discovery_that_fails_is_tried_again_with_growing_waits() {
    let mut scout = Scout::probing();
    for wait in [5, 10, 20, 40, 60, 60] {
        assert_eq!(scout.missed(), []);
        assert_eq!(scout.nat.found(), None);
        assert_eq!(scout.wake(), seconds(wait));
    }
    assert_eq!(scout.outcome(Err("the port is taken".into())), []);
    assert_eq!(scout.wake(), seconds(60));
    let warned = scout.levels();
    assert_eq!(warned.iter().filter(|level| **level == Level::Warn).count(), 1, "{warned:?}");
    assert_eq!(scout.found(&[sees(1, HERE)]), [report(HERE, NatType::Unknown)]);
    assert_eq!(scout.levels(), [Level::Info]);
}

#[test]
fn the_wait_behind_a_failure_is_no_longer_than_the_refresh_interval() {
    let mut scout = Scout::probing();
    scout.settings.refresh_interval = seconds(12);
    for wait in [5, 10, 12, 12] {
        scout.missed();
        assert_eq!(scout.wake(), seconds(wait));
    }
}

#[test]
fn a_later_failure_keeps_the_endpoint_reports_it_again_and_warns_once_until_it_recovers() {
    let mut scout = Scout::accepted(300);
    assert_eq!(scout.levels(), [Level::Info]);
    for level in [Level::Warn, Level::Debug, Level::Debug] {
        scout.wake();
        assert_eq!(scout.missed(), [report(HERE, NatType::FullCone)]);
        assert!(scout.nat.found().is_some());
        scout.accept(300);
        assert_eq!(scout.levels(), [level]);
    }
    scout.wake();
    assert_eq!(scout.found(&[sees(1, HERE), sees(2, HERE)]), [report(HERE, NatType::FullCone)]);
    assert_eq!(scout.levels(), [Level::Info], "that it is found again is told");
    scout.accept(300);
    scout.wake();
    scout.missed();
    assert_eq!(scout.levels(), [Level::Warn]);
}

#[test]
fn an_endpoint_that_no_server_confirms_for_an_hour_is_given_up() {
    let mut scout = Scout::accepted(300);
    scout.pass(KEPT_MAX - seconds(1));
    scout.give(Input::Ticked);
    assert_eq!(scout.missed(), [report(HERE, NatType::FullCone)]);
    scout.accept(300);
    scout.wake();
    scout.levels();
    assert_eq!(scout.missed(), []);
    assert_eq!(scout.nat.found(), None);
    assert_eq!(scout.levels(), [Level::Debug, Level::Warn]);
    assert_eq!(scout.wake(), seconds(10), "the second failure in a row");
    assert_eq!(scout.found(&[sees(1, HERE)]), [report(HERE, NatType::Unknown)]);
}

#[test]
fn a_new_endpoint_is_told_once() {
    let mut scout = Scout::accepted(300);
    let (same, moved) = ([sees(1, HERE), sees(2, HERE)], [sees(1, THERE), sees(2, THERE)]);
    let rows = [
        (&same[..], Level::Debug),
        (&moved[..], Level::Info),
        (&moved[..], Level::Debug),
        (&same[..], Level::Info),
    ];
    scout.levels();
    for (answers, level) in rows {
        scout.wake();
        scout.found(answers);
        assert_eq!(scout.levels(), [level], "{answers:?}");
        scout.accept(300);
    }
    scout.wake();
    scout.found(&[sees(1, HERE), silent()]);
    assert_eq!(
        scout.levels(),
        [Level::Debug, Level::Debug],
        "a silent server is worth no line of its own"
    );
}

#[test]
fn behind_a_symmetric_nat_the_port_changes_without_a_word() {
    let mut scout = Scout::accepted(300);
    let rows = [
        ("198.51.100.7:1001", "198.51.100.7:1002", Level::Info),
        ("198.51.100.7:1003", "198.51.100.7:1004", Level::Debug),
        ("198.51.100.8:1003", "198.51.100.8:1004", Level::Info),
    ];
    scout.levels();
    for (one, two, level) in rows {
        scout.wake();
        assert_eq!(scout.found(&[sees(1, one), sees(2, two)]), [report(one, NatType::Symmetric)]);
        assert_eq!(scout.levels(), [level]);
        scout.accept(300);
    }
}

#[test]
fn a_clock_that_is_off_is_told_with_what_it_is_off_and_waits_for_the_next_round() {
    let mut scout = Scout::reporting();
    scout.told.clear();
    let skew = Skew::Behind(seconds(75));
    scout.answer(Reported::ClockSkew { reason: "400".into(), skew });
    let [notice] = scout.told.as_slice() else { panic!("{:?}", scout.told) };
    assert_eq!(notice.level, Level::Error);
    assert_eq!(
        notice.text,
        "the report of the endpoint: it was refused: 400. The clock of this node is off (1 min 15 s behind \
         the control plane's): check its time service (NTP)"
    );
    assert_eq!(scout.wake(), seconds(60));
}

#[test]
fn each_other_answer_has_its_wait_and_is_told_once_until_it_changes() {
    let limited = |wait: Option<u64>| {
        Reported::Limited(Trouble { reason: "429".into(), retry_after: wait.map(seconds) })
    };
    let rows = [
        (Reported::ClockSkew { reason: "400".into(), skew: Skew::None }, 60, Level::Error),
        (Reported::Unacceptable("400".into()), 60, Level::Warn),
        (Reported::Unauthorized("401".into()), 60, Level::Warn),
        (limited(None), 60, Level::Warn),
        (limited(Some(7)), 60, Level::Warn),
        (limited(Some(600)), 600, Level::Warn),
    ];
    for (reported, wait, level) in rows {
        let mut scout = Scout::reporting();
        scout.told.clear();
        for level in [level, Level::Debug] {
            assert_eq!(scout.answer(reported.clone()), []);
            assert_eq!(scout.levels(), [level], "{reported:?}");
            assert_eq!(scout.wake(), seconds(wait), "{reported:?}");
            scout.found(&[sees(1, HERE), sees(2, HERE)]);
            scout.told.clear();
        }
        scout.accept(300);
        assert_eq!(scout.levels(), [Level::Info], "that it is accepted again is told");
    }
}

#[test]
fn a_report_that_fails_is_repeated_sooner_but_never_below_the_floor() {
    let mut scout = Scout::reporting();
    for wait in [10, 10, 20, 40, 60, 60] {
        scout.answer(failed());
        assert_eq!(scout.wake(), seconds(wait));
        scout.found(&[sees(1, HERE), sees(2, HERE)]);
    }
    scout.accept(300);
    scout.wake();
    scout.found(&[sees(1, HERE), sees(2, HERE)]);
    scout.answer(failed());
    assert_eq!(scout.wake(), seconds(10), "an acceptance counts anew");
}

#[test]
fn a_node_that_is_not_known_warns_and_from_the_third_in_a_row_it_is_an_error() {
    let mut scout = Scout::reporting();
    let stranger = || Reported::Stranger("410".into());
    scout.told.clear();
    let refuse = |scout: &mut Scout, reported: Reported| {
        scout.told.clear();
        scout.answer(reported);
        let levels = scout.levels();
        assert_eq!(scout.wake(), seconds(60));
        scout.found(&[sees(1, HERE), sees(2, HERE)]);
        levels
    };
    for level in [Level::Warn, Level::Debug, Level::Error, Level::Debug] {
        assert_eq!(refuse(&mut scout, stranger()), [level]);
    }
    assert_eq!(refuse(&mut scout, Reported::Unauthorized("401".into())), [Level::Warn]);
    assert_eq!(refuse(&mut scout, stranger()), [Level::Debug], "only an acceptance counts anew");
    scout.accept(300);
    scout.wake();
    scout.found(&[sees(1, HERE), sees(2, HERE)]);
    assert_eq!(refuse(&mut scout, stranger()), [Level::Warn]);
}

/// The lines that are seen without asking for more, of this many rounds a minute apart.
fn loud_lines(rounds: u64, reported: impl Fn(u64) -> Reported) -> Vec<String> {
    let mut scout = Scout::reporting();
    scout.told.clear();
    for round in 0..rounds {
        scout.answer(reported(round));
        scout.pass(scout.left().expect("the next round").max(seconds(60)));
        scout.give(Input::Ticked);
        scout.found(&[sees(1, HERE), sees(2, HERE)]);
    }
    scout.accept(300);
    let loud = scout.told.iter().filter(|notice| notice.level != Level::Debug);
    loud.map(|notice| notice.text.clone()).collect()
}

#[test]
fn a_node_that_is_not_known_for_hours_is_told_the_first_time_the_third_and_then_hourly() {
    let words = |count: u32, behind: &str| {
        format!(
            "the report of the endpoint: the control plane does not know this node ({count} in a row): 410{behind}"
        )
    };
    let told = loud_lines(130, |_| Reported::Stranger("410".into()));
    let expected = [
        words(1, ""),
        words(3, ""),
        words(63, " (failure 63 in a row, for 1 h 2 min)"),
        words(123, " (failure 123 in a row, for 2 h 2 min)"),
        "the endpoint is accepted again, after 130 failures in a row within 2 h 10 min".into(),
    ];
    assert_eq!(told, expected);
}

#[test]
fn refusals_that_alternate_are_told_once_each_and_fill_no_log() {
    let kinds = [
        Reported::Unauthorized("401".into()),
        failed(),
        Reported::Stranger("404".into()),
        Reported::Unacceptable("413".into()),
    ];
    let told = loud_lines(60, |round| kinds[round as usize % kinds.len()].clone());
    assert_eq!(told.len(), kinds.len() + 2, "that it is not known twice, and the end: {told:#?}");
}

#[test]
fn a_node_that_no_server_answers_for_a_day_is_told_so_hourly() {
    let mut scout = Scout::probing();
    for _ in 0..24 * 60 {
        scout.missed();
        scout.pass(seconds(60));
        scout.give(Input::Ticked);
    }
    let levels = scout.levels();
    assert_eq!(levels.iter().filter(|level| **level == Level::Warn).count(), 24);
}

#[test]
fn shortened_rounds_are_warned_of_once() {
    let mut scout = Scout::reporting();
    scout.told.clear();
    let rows = [
        (60, vec![Level::Warn]),
        (60, vec![]),
        (45, vec![]),
        (300, vec![]),
        (60, vec![Level::Warn]),
    ];
    for (ttl, levels) in rows {
        scout.accept(ttl);
        assert_eq!(scout.levels(), levels, "{ttl}");
        scout.wake();
        scout.found(&[sees(1, HERE), sees(2, HERE)]);
        scout.told.clear();
    }
}

#[test]
fn a_new_identity_begins_afresh_and_keeps_the_floor() {
    let mut scout = Scout::reporting();
    scout.pass(seconds(3));
    scout.give(Input::Quieted);
    assert_eq!(scout.nat.found(), None);
    assert_eq!(scout.give(Input::Armed), []);
    assert_eq!(scout.wake(), seconds(7));
    assert_eq!(scout.missed(), [], "what an earlier identity found is not kept");
    let mut rested = Scout::accepted(300);
    rested.give(Input::Quieted);
    rested.pass(seconds(10));
    assert_eq!(rested.give(Input::Armed), [rested.discovery(2)]);
}

#[test]
fn without_servers_it_says_so_and_rests() {
    let mut scout = Scout::new();
    scout.settings.servers.clear();
    assert_eq!(scout.give(Input::Armed), []);
    assert_eq!((scout.levels(), scout.left()), (vec![Level::Warn], None));
}

#[test]
fn so_many_servers_are_asked_so_long_and_no_more() {
    let mut scout = Scout::new();
    scout.settings.timeout = seconds(600);
    scout.settings.servers = (0..20).map(|at| format!("s{at}:3478")).collect();
    let orders = scout.give(Input::Armed);
    let [Effect::Discover(discovery)] = orders.as_slice() else { panic!("{orders:?}") };
    assert_eq!(discovery.servers, scout.settings.servers[..SERVERS_MAX]);
    assert_eq!(discovery.timeout, TIMEOUT_MAX);
    assert!(TIMEOUT_MAX < MARGIN, "a report comes before the endpoint lapses");
}

#[test]
fn a_resume_from_suspend_leads_to_one_discovery_and_one_report() {
    for (lapsed, make) in [(true, (|| Scout::accepted(300)) as Make), (false, Scout::reporting)] {
        let mut scout = make();
        scout.pass(seconds(8 * 3600));
        let mut reports = 0;
        // A second of ticks, outcomes and answers, as fast as they come.
        for _ in 0..20 {
            scout.pass(Duration::from_millis(50));
            scout.give(Input::Ticked);
            let found = scout.found(&[sees(1, THERE), sees(2, THERE)]);
            reports += found.iter().filter(|order| matches!(order, Effect::Report { .. })).count();
            scout.answer(failed());
        }
        assert_eq!(reports, usize::from(lapsed));
    }
}

/// What happens around a machine.
#[derive(Clone, Debug)]
enum Event {
    Given(Input),
    /// The outcome of the round that is under way.
    Found {
        answers: Vec<Option<bool>>,
        chance: u16,
    },
    Accepted {
        accepted: Option<i64>,
        stale: Option<i64>,
    },
    Passed(u64),
    /// The wall clock is set this far forward or back.
    Set(i64),
    Woken,
}

fn moved(wall: Wall, by: i64) -> Wall {
    let by_less = Duration::from_secs(by.unsigned_abs());
    match by < 0 {
        true => Wall::from_origin(wall.since_origin().saturating_sub(by_less)),
        false => wall.after(by_less),
    }
}

fn offset() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -120_i64..400, 1 => Just(i64::MIN / 4), 1 => Just(1 << 40)]
}

fn refusal() -> impl Strategy<Value = Reported> {
    prop::sample::select(vec![
        failed(),
        Reported::Stranger("410".into()),
        Reported::Unauthorized("401".into()),
        Reported::Unacceptable("400".into()),
        Reported::ClockSkew { reason: "400".into(), skew: Skew::None },
        Reported::Limited(Trouble { reason: "429".into(), retry_after: Some(seconds(3)) }),
    ])
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => Just(Event::Given(Input::Armed)),
        1 => prop::bool::weighted(0.3).prop_map(|quieted| {
            Event::Given(if quieted { Input::Quieted } else { Input::Ticked })
        }),
        3 => (refusal(), any::<u16>()).prop_map(|(reported, chance)| {
            Event::Given(Input::Reported { reported, jitter: Jitter::drawn(chance) })
        }),
        8 => (prop::collection::vec(prop::option::weighted(0.7, any::<bool>()), 1..4), any::<u16>())
            .prop_map(|(answers, chance)| Event::Found { answers, chance }),
        6 => (prop::option::weighted(0.8, offset()), prop::option::weighted(0.8, offset()))
            .prop_map(|(accepted, stale)| Event::Accepted { accepted, stale }),
        2 => (0_u64..90).prop_map(Event::Passed),
        1 => (0_u64..100_000).prop_map(Event::Passed),
        2 => offset().prop_map(Event::Set),
        8 => Just(Event::Woken),
    ]
}

impl Scout {
    /// The input of an event, with the clocks moved.
    fn input(&mut self, event: Event) -> Option<Input> {
        let wall = self.now.wall;
        match event {
            Event::Given(input) => Some(input),
            Event::Found { answers, chance } => {
                let answer = |(at, here): (usize, &Option<bool>)| match here {
                    Some(here) => sees(
                        u8::try_from(at).expect("few answers"),
                        if *here { HERE } else { THERE },
                    ),
                    None => silent(),
                };
                let outcome = Ok(answers.iter().enumerate().map(answer).collect());
                let jitter = Jitter::drawn(chance);
                Some(Input::Discovered { round: self.round, outcome, jitter })
            }
            Event::Accepted { accepted, stale } => {
                let at = |by: Option<i64>| by.map(|by| Timestamp::from(moved(wall, by)));
                let lease = Lease { accepted_at: at(accepted), stale_after: at(stale) };
                Some(Input::Reported { reported: Reported::Accepted(lease), jitter: Jitter::NONE })
            }
            Event::Passed(time) => {
                self.pass(seconds(time));
                None
            }
            Event::Set(by) => {
                self.now.wall = moved(wall, by);
                None
            }
            Event::Woken => {
                self.pass(self.left()?);
                Some(Input::Ticked)
            }
        }
    }
}

/// How long the wait behind an acceptance is at most: the words of the specification, by either clock.
fn at_most(settings: &NatSettings, now: Now, lease: &Lease) -> Duration {
    let own = lease.stale_after.map(|at| at.left(now.wall).saturating_sub(seconds(30)));
    let theirs = lease.lasts().map(|lasts| lasts.saturating_sub(seconds(30)));
    let waits = [own, theirs, Some(settings.refresh_interval)];
    let wait = waits.into_iter().flatten().min().unwrap_or_default();
    wait.max(settings.min_report_interval)
}

proptest! {
    #![proptest_config(seeds_in("nat"))]
    #[test]
    fn reports_keep_their_distance_and_never_come_too_late(
        events in prop::collection::vec(event(), 0..60),
        refresh in 10_u64..120,
        floor in 1_u64..90,
    ) {
        let mut scout = Scout::new();
        scout.settings.refresh_interval = seconds(refresh);
        scout.settings.min_report_interval = seconds(floor);
        let mut posted: Option<Now> = None;
        scout.give(Input::Armed);
        for event in events {
            let is_wake = matches!(event, Event::Woken);
            let Some(input) = scout.input(event) else { continue };
            let (before, due) = (scout.nat.clone(), scout.nat.wakeup());
            let orders = scout.give(input.clone());
            prop_assert!(orders.len() <= 1, "{:?}", orders);
            if let [Effect::Report { .. }] = orders.as_slice() {
                if let Some(posted) = posted {
                    prop_assert!(scout.now.mono.since(posted.mono) >= seconds(floor));
                }
                posted = Some(scout.now);
            }
            match &input {
                Input::Reported { reported: Reported::Accepted(lease), .. } if before != scout.nat => {
                    let most = at_most(&scout.settings, scout.now, lease);
                    prop_assert_eq!(scout.left(), Some(most), "{:?}", lease);
                }
                Input::Reported { .. } | Input::Discovered { .. } | Input::Armed => {
                    let most = seconds(refresh).max(seconds(floor));
                    prop_assert!(scout.left().is_none_or(|left| left <= most), "{:?}", scout.left());
                }
                Input::Quieted | Input::Retimed | Input::Ticked => {}
            }
            if is_wake {
                prop_assert!(scout.nat.wakeup().is_none_or(|next| Some(next) > due));
            }
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_orders(events in prop::collection::vec(event(), 0..40)) {
        let mut scout = Scout::new();
        let mut inputs = vec![(scout.now, Input::Armed)];
        scout.give(Input::Armed);
        for event in events {
            if let Some(input) = scout.input(event) {
                scout.give(input.clone());
                inputs.push((scout.now, input));
            }
        }
        let settings = scout.settings;
        replays(&Nat::default(), &inputs, |nat, (now, input)| nat.step(&settings, now, input));
    }
}
