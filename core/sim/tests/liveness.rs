//! Worlds in which nothing works for twenty minutes: an hour after the faults are over, everything has come to its end.

use meshward_sim::{
    Event::{
        AskRotation, Block, Crash, Dispatch, FailWrites, RestartPlane, SetClock, Stop, Unblock,
    },
    Faults, Script, World,
    route::Route,
    script::{FAULTS_FOR, Spot},
};

/// How many worlds each kind of trouble is tried in.
const WORLDS: u64 = 12;

/// A world with work to do: executions and rotations all along.
fn busy(seed: u64) -> Script {
    (0..8).fold(Script::quiet(seed), |script, number| {
        let second = 100 + number * 120;
        let dispatch = Dispatch { name: number as u32, expires: 14_400, known: number % 4 != 3 };
        script.at(second, dispatch).at(second + 40, AskRotation)
    })
}

/// Plays each world to its end, where the checks demand an identity on both ends, no staged key, every execution
/// ended, accepted heartbeats and a wakeup to come.
fn all_comes_to_its_end(trouble: impl Fn(Script) -> Script) -> Vec<World> {
    (0..WORLDS)
        .map(|seed| {
            let mut world = World::new(trouble(busy(seed)));
            world.finish_script().unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
            world
        })
        .collect()
}

fn with(faults: Faults) -> impl Fn(Script) -> Script {
    move |script| Script { faults, ..script }
}

#[test]
fn without_any_fault_every_execution_runs_once_and_nothing_is_said_twice() {
    for world in all_comes_to_its_end(|script| script) {
        assert_eq!(world.journal.runs(), 6);
        for route in [Route::Ack, Route::Started, Route::Terminal] {
            assert_eq!(world.journal.served(route), [200; 8], "{route:?}");
        }
        assert_eq!(world.summary.missed, 0);
    }
}

#[test]
fn after_no_request_arrives() {
    let faults = Faults { lose_request: 1000, ..Faults::default() };
    for world in all_comes_to_its_end(with(faults)) {
        let served = world.journal.served(Route::Register);
        assert_eq!(served, [201], "nothing came through before");
    }
}

#[test]
fn after_no_reply_arrives() {
    all_comes_to_its_end(with(Faults { lose_reply: 1000, ..Faults::default() }));
}

#[test]
fn after_everything_is_refused() {
    all_comes_to_its_end(with(Faults { refuse: 1000, ..Faults::default() }));
}

/// The offers of a key are far apart by then, and yet it is decided soon, whenever it is that they come through.
#[test]
fn after_every_offer_of_a_key_is_refused() {
    let (block, unblock) =
        (Block { route: Route::Rotate, status: 503 }, Unblock { route: Route::Rotate });
    let refused = |script: Script| {
        let until = FAULTS_FOR + 40 * script.seed;
        script.at(50, block).at(until, unblock)
    };
    for world in all_comes_to_its_end(refused) {
        assert_eq!(world.journal.heard(Route::Rotate).last(), Some(&200));
    }
}

#[test]
fn after_every_message_comes_late() {
    all_comes_to_its_end(with(Faults { delay: 1000, ..Faults::default() }));
}

#[test]
fn after_every_message_comes_twice() {
    all_comes_to_its_end(with(Faults { duplicate: 1000, ..Faults::default() }));
}

#[test]
fn after_the_disk_refuses_every_write() {
    all_comes_to_its_end(|script| script.at(0, FailWrites { node: 0, count: u32::MAX }));
    all_comes_to_its_end(|script| script.at(50, FailWrites { node: 0, count: u32::MAX }));
}

#[test]
fn after_a_crash_every_half_minute() {
    all_comes_to_its_end(|script| {
        (0..FAULTS_FOR / 30).fold(script, |script, number| {
            let spot = Spot::Behind((number % 7) as u32);
            script.at(number * 30, Crash { node: 0, spot })
        })
    });
}

#[test]
fn after_a_stop_every_minute() {
    all_comes_to_its_end(|script| {
        (1..FAULTS_FOR / 60).fold(script, |script, number| script.at(number * 60, Stop { node: 0 }))
    });
}

#[test]
fn after_the_control_plane_restarts_every_minute() {
    all_comes_to_its_end(|script| {
        (1..FAULTS_FOR / 60).fold(script, |script, number| script.at(number * 60, RestartPlane))
    });
}

#[test]
fn after_the_clock_is_a_year_off() {
    for ahead in [31_536_000, -31_536_000] {
        all_comes_to_its_end(|script| script.at(10, SetClock { node: 0, ahead }));
    }
}

/// Nothing ticks: what a node does in an hour without work is its beats and pulls.
#[test]
fn an_idle_node_is_woken_only_for_its_beats_and_pulls() {
    let mut world = World::new(Script::quiet(1));
    world.finish_script().unwrap();
    let calls = |route: Route| world.journal.served(route).len() as u64;
    let (beats, pulls) = (calls(Route::Heartbeat), calls(Route::Pull));
    assert_eq!(beats, world.summary.virtual_time.as_secs() / 30);
    // The first, that of the stream when it opens, and those of two events.
    assert!(pulls <= beats + 4, "{pulls} pulls");
    // Each sign of life of the stream is sent and arrives; the two events do, and what opened it did.
    let alive = world.summary.virtual_time.as_secs() / 15;
    let stream = 2 * alive + 10;
    let reports = calls(Route::Report);
    assert_eq!(reports, 5, "those of the agent itself, once");
    // What it tells of itself, each endpoint behind a waking and an outcome; a waking and two looks each five minutes,
    // and what stirs, is looked at and is told of what changes around it.
    let endpoints = calls(Route::Endpoint);
    assert!(endpoints <= world.summary.virtual_time.as_secs() / 60 + 1, "{endpoints} endpoints");
    let told = endpoints + calls(Route::Manifest) + calls(Route::Violations);
    let senses =
        3 * told + 2 * endpoints + 3 * (world.summary.virtual_time.as_secs() / 300 + 1) + 20;
    // A start, a registration and a flush; of each call its arrival, answer and timeout; at most one waking for each
    // beat.
    assert!(
        world.summary.steps <= 6 + 3 * (beats + pulls + reports) + beats + pulls + stream + senses,
        "{}",
        world.summary.steps
    );
}
