//! The figures of the pipelines: what came in, what went out, what is held, what was let go.

use alloc::vec::Vec;
use core::time::Duration;

use crate::{
    agent::voice::figures::{Figures, PipeFigures},
    time::Mono,
    wire::exposition::{Exposition, Number},
};

/// A name, what it means, and the label beside that of the pipeline.
type Family = (&'static str, &'static str, &'static str);

/// What is counted of a pipeline, each with the value of the other label.
type Sorts = fn(&PipeFigures) -> Vec<(&'static str, u64)>;

/// Writes the figures of the pipelines that are on.
pub(super) fn voice(out: &mut Exposition, figures: &Figures, now: Mono) {
    let pipes = &figures.pipes;
    let count = |of: fn(&PipeFigures) -> u64| {
        pipes.iter().map(move |figures| (figures.pipe.name(), of(figures)))
    };
    out.counter("meshward_ingest_records_collected_total", "Records that sources had.")
        .each("pipeline", count(|figures| figures.collected));
    out.counter("meshward_ingest_records_sent_total", "Records that the control plane has taken.")
        .each("pipeline", count(|figures| figures.sent));
    out.counter("meshward_ingest_records_filtered_total", "Records that a filter kept back.")
        .each("pipeline", count(|figures| figures.filtered));
    out.counter(
        "meshward_ingest_records_local_only_total",
        "Records that the control plane has no word for, and that are done with.",
    )
    .each("pipeline", count(|figures| figures.local_only));
    let dropped = |figures: &PipeFigures| {
        figures.dropped.iter().map(|(reason, count)| (reason.name(), *count)).collect()
    };
    sorted(
        out,
        ("meshward_ingest_records_dropped_total", "Records that were given up.", "reason"),
        (pipes, dropped),
    );
    out.gauge("meshward_ingest_records_held", "Records that wait.")
        .each("pipeline", count(|figures| figures.held_records));
    out.gauge("meshward_ingest_records_held_bytes", "What the records take in memory that wait.")
        .each("pipeline", count(|figures| figures.held_bytes));
    out.counter(
        "meshward_ingest_spool_damaged_bytes_total",
        "What was damaged of the records that waited on the disk.",
    )
    .each("pipeline", count(|figures| figures.damaged_bytes));
    let requests = |figures: &PipeFigures| {
        figures.requests.iter().map(|(outcome, count)| (outcome.name(), *count)).collect()
    };
    sorted(
        out,
        ("meshward_ingest_requests_total", "Batches that were sent.", "outcome"),
        (pipes, requests),
    );
    let age = |figures: &PipeFigures| -> Option<(&'static str, Duration)> {
        Some((figures.pipe.name(), now.since(figures.last_success?)))
    };
    out.gauge("meshward_ingest_last_success_age_seconds", "Since a batch was taken.")
        .each("pipeline", pipes.iter().filter_map(age));
    copies(out, pipes);
    sources(out, pipes);
}

fn copies(out: &mut Exposition, pipes: &[PipeFigures]) {
    let copies = |figures: &PipeFigures| {
        let local = figures.local.unwrap_or_default();
        Vec::from([("delivered", local.delivered), ("failed", local.failed)])
    };
    sorted(
        out,
        ("meshward_local_records_total", "Records for a local endpoint.", "outcome"),
        (pipes, copies),
    );
}

fn sources(out: &mut Exposition, pipes: &[PipeFigures]) {
    let all = || pipes.iter().flat_map(|figures| &figures.sources);
    out.gauge("meshward_source_troubles", "Troubles that the last round of a source told of.")
        .each("source", all().map(|of| (of.source.name(), of.troubles)));
    out.counter("meshward_source_lost_total", "Records that a source had to let go.")
        .each("source", all().map(|of| (of.source.name(), of.lost)));
}

/// What is counted by pipeline and by one label more.
fn sorted(out: &mut Exposition, (name, help, label): Family, (pipes, of): (&[PipeFigures], Sorts)) {
    let mut family = out.counter(name, help);
    for figures in pipes {
        for (value, count) in of(figures) {
            let labels = [("pipeline", figures.pipe.name()), (label, value)];
            family = family.sample(&labels, Number::Whole(count));
        }
    }
    family.only(None::<Number>);
}
