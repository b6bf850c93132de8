//! Metrics, logs and audit records, and the releases.
//!
//! Specification: "POST /v1/nodes/{id}/metrics" to "POST /v1/nodes/{id}/audit".

use super::{Answered, Asked};
use crate::{
    plane::{Plane, captures::Endpoint, counters::Counter, ingest, refusal::Denial, release},
    step::Step,
    time::Now,
    wire::{call::Sink, http::Response, ingest::IngestReceipt, json, timestamp::Timestamp},
};

impl Plane {
    /// One batch counts once, however many records it holds.
    pub(in crate::plane) fn ingest(mut self, sink: Sink, asked: Asked<'_>) -> Answered {
        if let Err(refusal) = ingest::judge_head(asked.settings, &asked.head.headers) {
            return Step::to(self).emit(Err(refusal.into()));
        }
        let (endpoint, counter) = match sink {
            Sink::Metrics => (Endpoint::Metrics, Counter::Metrics),
            Sink::Logs => (Endpoint::Logs, Counter::Logs),
            Sink::Audit => (Endpoint::Audit, Counter::Audits),
        };
        let read = ingest::read(sink, &asked.body);
        if !read.as_ref().is_err_and(ingest::Refusal::is_over_limit) {
            self.captures.keep(endpoint, asked.body);
        }
        match read {
            Ok(records) => {
                self.counters.count(counter);
                Step::to(self).emit(Ok(receipt(asked.now, records)))
            }
            Err(refusal) => Step::to(self).emit(Err(refusal.into())),
        }
    }
}

fn receipt(now: Now, records: usize) -> Response {
    let accepted_at = Timestamp::from(now.wall);
    let receipt = IngestReceipt { accepted_at, records: records as u64 };
    Response::json(202, json::encode(&receipt))
}

pub(super) fn release(tag: &str, asset: &str) -> Result<Response, Denial> {
    Ok(release::find(tag, asset)?.response())
}
