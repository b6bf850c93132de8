//! Virtual time a second of the simulated world, its faults on: an element is one virtual second of one agent.

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use meshward_sim::{Script, World};

/// Which worlds are run; each has other faults.
const SEEDS: core::ops::Range<u64> = 0..8;

fn run(seed: u64) -> Duration {
    let summary = World::new(Script::drawn(seed)).run().expect("the promises hold in this world");
    summary.virtual_time
}

fn worlds(c: &mut Criterion) {
    let virtual_time: Duration = SEEDS.map(run).sum();
    let mut group = c.benchmark_group("simulation");
    group.sample_size(10);
    group.throughput(Throughput::Elements(virtual_time.as_secs()));
    group.bench_function("eight worlds", |b| {
        b.iter(|| SEEDS.map(|seed| run(black_box(seed))).sum::<Duration>())
    });
    group.finish();
}

criterion_group!(benches, worlds);
criterion_main!(benches);
