//! What the benches share: threads that keep to one core, and pairs of times that are compared in turns.

pub mod process;
pub mod tee;

use std::{
    future::Future,
    hint::black_box,
    io::{self, Write as _},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    thread::{CpuSet, sched_setaffinity},
    time::{ClockId, clock_gettime},
};
use tokio::runtime;

/// The core of what asks, and that of what is asked: whether two threads share a core makes more of a difference than
/// what they do.
pub const ASKING: usize = 0;
pub const ASKED: usize = 1;

/// How many pairs a ratio is the median of.
const PAIRS: usize = 41;

/// Keeps this thread to one core; where there is but one, nothing can be kept apart.
pub fn keep_to(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core);
    let _kept = sched_setaffinity(None, &cores);
}

/// Runs a server until the bench ends, on a runtime and a core beside those of who asks it.
pub fn on_a_thread(work: impl Future<Output = ()> + Send + 'static) {
    thread::spawn(move || {
        keep_to(ASKED);
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(work);
    });
}

/// How long something takes that is done so many times.
pub fn took<T>(times: u32, mut work: impl FnMut() -> T) -> Duration {
    let begun = Instant::now();
    (0..times).for_each(|_| drop(black_box(work())));
    begun.elapsed()
}

/// How much time of this thread something takes that is done so many times; other work on the machine does not count.
pub fn worked<T>(times: u32, mut work: impl FnMut() -> T) -> Duration {
    let begun = of_this_thread();
    (0..times).for_each(|_| drop(black_box(work())));
    of_this_thread() - begun
}

fn of_this_thread() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Tells the first time of a pair over the second, as the median of many: a shared machine drifts from one second to the
/// next, so the two take turns.
pub fn tell(what: &str, mut pair: impl FnMut() -> (Duration, Duration)) {
    let ratio = |(first, second): (Duration, Duration)| first.as_secs_f64() / second.as_secs_f64();
    let mut ratios: Vec<f64> = (0..PAIRS).map(|_| ratio(pair())).collect();
    ratios.sort_by(f64::total_cmp);
    let (least, median, most) = (ratios[0], ratios[PAIRS / 2], ratios[PAIRS - 1]);
    let told = format!("{what}: {median:.2}, from {least:.2} to {most:.2}\n");
    io::stdout().write_all(told.as_bytes()).expect("somebody reads");
}
