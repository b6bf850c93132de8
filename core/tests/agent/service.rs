//! What the service manager is told, row by row; and that only an agent that gets on feeds its watchdog.

use std::time::Duration;

use meshward_core::{
    agent::{
        Input as Fact, Level, Notice, StagedFile,
        readiness::Readiness,
        service::{
            Address, BEATS_MISSED, BadAddress, EXTEND_EVERY, Effect, Input, RETRY, Round, Service,
            address, reloading, watchdog,
        },
    },
    step::Step,
    time::Mono,
};
use proptest::prelude::*;

use crate::{
    bench::{Bench, responded, seconds, sent_to, settings},
    support,
};

const PERIOD: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(30);

fn registering() -> Round {
    Round {
        readiness: Readiness::RegistrationPending,
        is_armed: false,
        is_draining: false,
        is_overdue: false,
        patience: PATIENCE,
        is_writing: true,
    }
}

fn ready() -> Round {
    Round { readiness: Readiness::Ready, is_armed: true, ..registering() }
}

struct Host {
    service: Service,
    now: Mono,
}

impl Host {
    fn new(watchdog: Option<Duration>) -> Self {
        Self { service: Service::new(watchdog), now: Mono::from_origin(seconds(1000)) }
    }

    fn give(&mut self, input: Input) -> Vec<Effect> {
        let step = std::mem::take(&mut self.service).step(self.now, input);
        self.service = step.state;
        step.effects
    }

    /// What a round leads to, as the lines of its one datagram.
    fn passed(&mut self, round: Round) -> Vec<String> {
        match self.give(Input::Passed(round)).as_slice() {
            [] | [Effect::Tell(_)] => Vec::new(),
            [Effect::Notify(text)] | [Effect::Notify(text), Effect::Tell(_)] => {
                text.lines().map(str::to_owned).collect()
            }
            more => panic!("{more:?}"),
        }
    }

    fn wait(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }
}

#[test]
fn a_start_is_extended_until_there_is_an_identity_and_ready_is_told_once() {
    let mut host = Host::new(None);
    let pending = "STATUS=not ready: registration pending";
    assert_eq!(host.passed(registering()), [pending, "EXTEND_TIMEOUT_USEC=60000000"]);
    assert_eq!(host.passed(registering()), [] as [&str; 0]);
    assert_eq!(host.service.wakeup(), Some(host.now.after(EXTEND_EVERY)));
    host.wait(EXTEND_EVERY);
    assert_eq!(host.passed(registering()), ["EXTEND_TIMEOUT_USEC=60000000"]);
    let refused = Round { readiness: Readiness::IdentityRefused, ..ready() };
    assert_eq!(host.passed(refused), ["READY=1", "STATUS=not ready: identity refused"]);
    assert_eq!(host.service.wakeup(), None);
    assert_eq!(host.passed(ready()), ["STATUS=ready"]);
    host.wait(EXTEND_EVERY * 10);
    assert_eq!(host.passed(ready()), [] as [&str; 0]);
}

#[test]
fn a_stop_is_told_once_and_nobody_becomes_ready_behind_it() {
    let mut host = Host::new(None);
    host.passed(registering());
    let stopping = Round { is_draining: true, ..registering() };
    assert_eq!(host.passed(stopping), ["STOPPING=1", "STATUS=draining"]);
    assert_eq!(host.passed(Round { is_armed: true, ..stopping }), [] as [&str; 0]);
    assert_eq!(host.service.wakeup(), None, "a stop is not extended");
}

#[test]
fn the_watchdog_is_fed_by_rounds_at_half_its_period_and_no_more_often() {
    let mut host = Host::new(Some(PERIOD));
    assert_eq!(host.passed(ready()), ["READY=1", "STATUS=ready", "WATCHDOG=1"]);
    assert_eq!(host.service.wakeup(), Some(host.now.after(PERIOD / 2)));
    host.wait(PERIOD / 2 - seconds(1));
    assert_eq!(host.passed(ready()), [] as [&str; 0]);
    host.wait(seconds(1));
    assert_eq!(host.passed(ready()), ["WATCHDOG=1"]);
    let draining = Round { is_draining: true, ..ready() };
    host.wait(PERIOD / 2);
    assert_eq!(host.passed(draining), ["STOPPING=1", "STATUS=draining", "WATCHDOG=1"]);
}

#[test]
fn an_agent_that_does_not_get_on_starves_the_watchdog_and_says_so_once() {
    let overdue = Round { is_overdue: true, ..ready() };
    let dead = Round { is_writing: false, ..ready() };
    for (round, word) in [(overdue, "heartbeats are overdue"), (dead, "below state/ has ended")] {
        let mut host = Host::new(Some(PERIOD));
        host.passed(ready());
        // The patience with a request that may still be given up.
        host.give(Input::Passed(round));
        host.wait(PERIOD / 2 + seconds(1));
        let told = host.give(Input::Passed(round));
        assert!(
            matches!(&told[..], [Effect::Tell(Notice { level: Level::Error, text })] if text.contains(word)),
            "{told:?}"
        );
        host.wait(PERIOD / 2);
        assert_eq!(host.give(Input::Passed(round)), []);
        host.wait(PERIOD / 2);
        assert_eq!(host.passed(ready()), ["WATCHDOG=1"], "it gets on again");
    }
}

#[test]
fn a_heartbeat_that_is_late_behind_a_suspend_starves_nothing_before_its_request_could_end() {
    let mut host = Host::new(Some(PERIOD));
    host.passed(ready());
    host.wait(Duration::from_secs(8 * 3600));
    let overdue = Round { is_overdue: true, ..ready() };
    assert_eq!(host.passed(overdue), ["WATCHDOG=1"]);
    host.wait(PATIENCE);
    assert_eq!(host.passed(overdue), ["WATCHDOG=1"]);
    host.wait(PATIENCE);
    assert_eq!(host.passed(overdue), [] as [&str; 0]);
}

#[test]
fn what_was_not_taken_is_told_again_as_a_whole_after_a_rest() {
    let mut host = Host::new(Some(PERIOD));
    host.passed(ready());
    assert_eq!(host.give(Input::Untaken), []);
    assert_eq!(host.passed(ready()), [] as [&str; 0]);
    assert_eq!(host.service.wakeup(), Some(host.now.after(RETRY)));
    host.wait(RETRY);
    assert_eq!(host.passed(ready()), ["READY=1", "STATUS=ready", "WATCHDOG=1"]);
}

#[test]
fn a_whole_agent_is_overdue_when_its_heartbeat_is_neither_answered_nor_given_up() {
    let (mut bench, effects) = Bench::armed(StagedFile::Missing);
    let round = |bench: &Bench| bench.agent.round(&bench.settings, bench.now.mono, true);
    let expected = Round { is_armed: true, is_overdue: false, ..ready() };
    assert_eq!(round(&bench), expected);
    let interval = settings().heartbeat_interval;
    bench.pass(interval * BEATS_MISSED);
    assert!(!round(&bench).is_overdue);
    bench.pass(seconds(1));
    assert!(round(&bench).is_overdue);
    let (beat, _) = sent_to(&effects, "/heartbeat");
    bench.answer(beat, responded(500, "{}"));
    assert!(!round(&bench).is_overdue, "one that failed was answered");
    bench.give(Fact::Draining);
    let stopping = round(&bench);
    assert!(stopping.is_draining && !stopping.is_overdue);
    let fresh = Bench::new(settings());
    assert!(!round(&fresh).is_armed);
}

#[test]
fn the_watchdog_of_another_process_is_not_fed() {
    let period = Some(Duration::from_millis(200));
    let rows = [
        (Some("200000"), None, period),
        (Some("200000"), Some("7"), period),
        (Some("200000"), Some("8"), None),
        (Some("200000"), Some(""), None),
        (Some("0"), None, None),
        (Some(""), None, None),
        (Some("-1"), None, None),
        (Some("1s"), Some("7"), None),
        (None, Some("7"), None),
    ];
    for (usec, pid, expected) in rows {
        assert_eq!(watchdog(usec, pid, 7), expected, "{usec:?} {pid:?}");
    }
}

#[test]
fn the_socket_is_a_path_or_an_abstract_name() {
    assert_eq!(address(""), Ok(None));
    assert_eq!(address("/run/notify"), Ok(Some(Address::Path("/run/notify"))));
    assert_eq!(address("@a/b"), Ok(Some(Address::Abstract("a/b"))));
    for wrong in ["run/notify", "@", "/", "vsock:2:9", "é"] {
        assert_eq!(address(wrong), Err(BadAddress), "{wrong}");
    }
}

#[test]
fn a_reload_is_told_with_its_time() {
    assert_eq!(reloading(seconds(3)), "RELOADING=1\nMONOTONIC_USEC=3000000");
}

proptest! {
    #![proptest_config(support::seeds_in("agent_service"))]

    /// Whatever the rounds are: no two feedings within half a period, and a round at the wakeup moves it on.
    #[test]
    fn rounds_are_wanted_one_after_the_other_and_feed_no_faster_than_the_pace(
        rounds in prop::collection::vec((0_u64..40_000, any::<[bool; 4]>(), any::<bool>()), 1..60),
    ) {
        let mut host = Host::new(Some(PERIOD));
        let mut fed: Option<Mono> = None;
        for (waited, [is_armed, is_draining, is_overdue, is_writing], is_taken) in rounds {
            host.wait(Duration::from_millis(waited));
            let round = Round { is_armed, is_draining, is_overdue, is_writing, ..ready() };
            let Step { state, effects } = host.service.clone().step(host.now, Input::Passed(round));
            prop_assert!(state.wakeup().is_none_or(|due| due > host.now));
            host.service = state;
            let told = format!("{effects:?}");
            if told.contains("WATCHDOG=1") {
                prop_assert!(is_writing);
                prop_assert!(fed.is_none_or(|before| host.now.since(before) >= PERIOD / 2));
                fed = Some(host.now);
            }
            if !is_taken && told.contains("Notify") {
                fed = None;
                host.give(Input::Untaken);
            }
        }
    }
}
