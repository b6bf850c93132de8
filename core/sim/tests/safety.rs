//! Drawn worlds: what must never happen does not, and when the faults are over everything comes to its end.

use std::{thread, time::Instant};

use meshward_sim::{Faults, Script, Summary, World};

/// How many worlds are run; more by the environment variable `MESHWARD_SEEDS`.
const SEEDS: u64 = 300;
/// How many failures are told in full.
const TOLD_MAX: usize = 2;

fn seeds() -> u64 {
    std::env::var("MESHWARD_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SEEDS)
}

/// Runs every so manieth seed from `first` on.
fn run(first: u64, every: usize) -> (Vec<String>, Vec<Summary>) {
    let mut failures = Vec::new();
    let mut summaries = Vec::new();
    for seed in (first..seeds()).step_by(every) {
        match World::new(Script::drawn(seed)).run() {
            Ok(summary) => summaries.push(summary),
            Err(violation) => failures.push(format!("seed {seed}: {violation}")),
        }
    }
    (failures, summaries)
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures of a long run are read by a person")]
fn every_promise_holds_in_every_drawn_world() {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let begun = Instant::now();
    let (failures, summaries): (Vec<_>, Vec<_>) = thread::scope(|scope| {
        let started: Vec<_> =
            (0..workers).map(|first| scope.spawn(move || run(first as u64, workers))).collect();
        started.into_iter().map(|worker| worker.join().unwrap()).unzip()
    });
    let (failures, summaries) = (failures.concat(), summaries.concat());
    let told: Vec<_> = failures.iter().take(TOLD_MAX).cloned().collect();
    assert!(
        failures.is_empty(),
        "{} of {} seeds failed:\n{}",
        failures.len(),
        seeds(),
        told.join("\n")
    );
    let sum = |of: fn(&Summary) -> u64| summaries.iter().map(of).sum::<u64>();
    let (events, missed) = (sum(|summary| summary.events), sum(|summary| summary.missed));
    // A world in which nothing happens proves nothing.
    assert!(sum(|summary| summary.crashes) > seeds() / 2, "too few crashes");
    assert!(sum(|summary| summary.runs) > seeds() / 2, "too few runs");
    assert!(sum(|summary| summary.sessions) > seeds() / 4, "too few sessions");
    assert!(sum(|summary| summary.uploads) > seeds() / 60, "too few uploads");
    assert!(sum(|summary| summary.rotations) > seeds() / 3, "too few rotations");
    assert!(sum(|summary| summary.streams) > seeds(), "too few streams");
    assert!(sum(|summary| summary.reactions) > seeds() / 2, "too few events that count");
    assert!(sum(|summary| summary.signers) > seeds() / 8, "too few rotations of the signing key");
    assert!(sum(|summary| summary.suspends) > seeds() / 8, "too few pauses");
    assert!(sum(|summary| summary.jumps) > seeds() / 4, "too few jumps of clocks");
    assert!(sum(|summary| summary.records) > seeds() * 20, "too few records");
    assert!(sum(|summary| summary.forged) > seeds() / 8, "too few forged events");
    assert!(missed * 3 < events, "{missed} of {events} events could not happen");
    let seconds = begun.elapsed().as_secs_f64();
    let hours = sum(|summary| summary.virtual_time.as_secs()) as f64 / 3600.0;
    eprintln!(
        "{} seeds in {seconds:.1} s: {:.0} seeds/s, {:.0} virtual hours/s; {} steps, {} crashes, {} runs, \
         {} uploads, {} sessions, {} rotations, {missed} of {events} events could not happen; {} streams, {} events \
         signed of which {} were missed by a full buffer and {} led to something, {} rotations of the signing key, {} \
         forged, {} jumps and drifts of clocks, {} pauses and suspensions, {} records taken",
        seeds(),
        seeds() as f64 / seconds,
        hours / seconds,
        sum(|summary| summary.steps),
        sum(|summary| summary.crashes),
        sum(|summary| summary.runs),
        sum(|summary| summary.uploads),
        sum(|summary| summary.sessions),
        sum(|summary| summary.rotations),
        sum(|summary| summary.streams),
        sum(|summary| summary.signed),
        sum(|summary| summary.dropped),
        sum(|summary| summary.reactions),
        sum(|summary| summary.signers),
        sum(|summary| summary.forged),
        sum(|summary| summary.jumps),
        sum(|summary| summary.suspends),
        sum(|summary| summary.records),
    );
}

/// What a failure prints is what took place: played again without any drawing, it does the same to the byte.
#[test]
fn the_record_of_a_drawn_world_replays_it() {
    for seed in 0..24 {
        let mut drawn = World::new(Script::drawn(seed));
        drawn.finish_script().unwrap();
        let record = drawn.record();
        assert_eq!(record.faults, Faults::default());
        let mut replayed = World::new(record.clone());
        replayed.finish_script().unwrap();
        assert_eq!(drawn.summary, replayed.summary, "seed {seed}");
        assert!(drawn.journal == replayed.journal, "seed {seed} takes another course");
        assert!(drawn.plane == replayed.plane, "seed {seed} ends elsewhere");
        assert_eq!(record, replayed.record(), "seed {seed}");
    }
}

#[test]
fn a_record_prints_as_the_rust_that_makes_it() {
    use meshward_core::agent::OrderKind::Commit;
    use meshward_sim::{
        Event::{AskRotation, Crash},
        net::{Fate, Passage::After, Passage::Lost},
        route::Route::Rotate,
        script::Spot::Write,
    };
    let script = Script::quiet(7)
        .meets(Rotate, 1, Fate { request: After(20), reply: Lost, instead: None })
        .at(60, AskRotation)
        .at(61, Crash { node: 0, spot: Write(Commit, 1) });
    let text = "Script::quiet(7)\n    \
        .meets(Rotate, 1, Fate { request: After(20), reply: Lost, instead: None })\n    \
        .at(60, AskRotation)\n    \
        .at(61, Crash { node: 0, spot: Write(Commit, 1) })";
    assert_eq!(format!("{script:?}"), text);
}
