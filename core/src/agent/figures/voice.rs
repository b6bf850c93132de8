//! The figures of the pipelines: what came in, what went out, what is held, what was let go.

use alloc::vec::Vec;
use core::time::Duration;

use crate::{
    agent::facts::{Pipe, Source},
    wire::exposition::{Exposition, Number},
};

/// What a pipeline tells of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipeFigures {
    pub pipe: Pipe,
    pub collected: u64,
    pub sent: u64,
    /// By reason, each of a closed list.
    pub dropped: Vec<(&'static str, u64)>,
    pub held: u64,
    pub held_bytes: u64,
    /// By outcome, each of a closed list.
    pub requests: Vec<(&'static str, u64)>,
    /// Since a batch was accepted; absent while none was.
    pub last_success: Option<Duration>,
}

/// Writes the figures of these pipelines, and how many records each source had to let go.
pub fn voice(out: &mut Exposition, pipes: &[PipeFigures], lost: &[(Source, u64)]) {
    let count = |of: fn(&PipeFigures) -> u64| {
        pipes.iter().map(move |figures| (figures.pipe.name(), of(figures)))
    };
    out.counter("meshward_ingest_records_collected_total", "Records that sources brought.")
        .each("pipeline", count(|figures| figures.collected));
    out.counter("meshward_ingest_records_sent_total", "Records that were accepted.")
        .each("pipeline", count(|figures| figures.sent));
    sorted(
        out,
        ("meshward_ingest_records_dropped_total", "Records that were given up.", "reason"),
        pipes.iter().map(|figures| (figures.pipe, figures.dropped.as_slice())),
    );
    out.gauge("meshward_ingest_records_held", "Records that wait.")
        .each("pipeline", count(|figures| figures.held));
    out.gauge("meshward_ingest_records_held_bytes", "What the records take that wait.")
        .each("pipeline", count(|figures| figures.held_bytes));
    sorted(
        out,
        ("meshward_ingest_requests_total", "Batches that were sent.", "outcome"),
        pipes.iter().map(|figures| (figures.pipe, figures.requests.as_slice())),
    );
    let ages =
        pipes.iter().filter_map(|figures| Some((figures.pipe.name(), figures.last_success?)));
    out.gauge("meshward_ingest_last_success_age_seconds", "Since a batch was accepted.")
        .each("pipeline", ages);
    out.counter("meshward_source_lost_total", "Records that a source had to let go.")
        .each("source", lost.iter().map(|(source, lost)| (source.name(), *lost)));
}

/// What is counted by pipeline and by one label more.
fn sorted<'p>(
    out: &mut Exposition,
    (name, help, label): (&'static str, &'static str, &'static str),
    rows: impl Iterator<Item = (Pipe, &'p [(&'static str, u64)])>,
) {
    let mut family = out.counter(name, help);
    for (pipe, counts) in rows {
        for (value, count) in counts {
            family = family.sample(&[("pipeline", pipe.name()), (label, *value)], *count);
        }
    }
    family.only(None::<Number>);
}
