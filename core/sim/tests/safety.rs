//! Drawn worlds: what must never happen does not, and when the faults are over everything comes to its end.

use std::{thread, time::Instant};

use meshward_sim::{Script, Summary, World};

/// How many worlds are run; more by the environment variable `MESHWARD_SEEDS`.
const SEEDS: u64 = 300;
/// How many failures are told in full.
const TOLD_MAX: usize = 3;

fn seeds() -> u64 {
    std::env::var("MESHWARD_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SEEDS)
}

/// Runs every worlds-th seed from `first` on.
fn run(first: u64, every: usize) -> (Vec<String>, Vec<Summary>) {
    let mut failures = Vec::new();
    let mut summaries = Vec::new();
    for seed in (first..seeds()).step_by(every) {
        let script = Script::drawn(seed);
        match World::new(script.clone()).run() {
            Ok(summary) => summaries.push(summary),
            Err(violation) => failures.push(format!("seed {seed}: {violation}\n{script:?}")),
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
    let hours = sum(|summary| summary.virtual_time.as_secs()) / 3600;
    // A world in which nothing happens proves nothing.
    assert!(sum(|summary| summary.crashes) > seeds() / 2, "too few crashes");
    assert!(sum(|summary| summary.runs) > seeds(), "too few runs");
    assert!(sum(|summary| summary.rotations) > seeds() / 2, "too few rotations");
    let seconds = begun.elapsed().as_secs_f64();
    eprintln!(
        "{} seeds in {seconds:.1} s: {hours} virtual hours, {} steps, {} crashes, {} runs, {} rotations",
        seeds(),
        sum(|summary| summary.steps),
        sum(|summary| summary.crashes),
        sum(|summary| summary.runs),
        sum(|summary| summary.rotations),
    );
}
