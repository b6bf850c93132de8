//! Batches of metrics, logs and audit records: gates on the head, then the records, all of them or none.
//!
//! | # | Check | Refused with |
//! |---|---|---|
//! | 1 | `Content-Encoding` is absent, empty, `identity` or `gzip` | 415 `ingest_encoding_unsupported` |
//! | 2 | `X-Service-Sent-At` stands once and is RFC 3339 | 400 `ingest_sent_at_invalid` |
//! | 3 | at most 4 MiB as sent, 16 MiB inflated, 10,000 records | 413 `ingest_body_too_large`, not captured |
//! | 4 | read and inflated to its end | 400 `ingest_batch_malformed`, not captured |
//! | 5 | each record keeps its rules, and there is one | 400 `ingest_batch_malformed` |
//!
//! The first two are told from the head alone, so a batch that they refuse is not read. Nothing is kept of a batch
//! but its bytes in the captures.
//!
//! Specification: "Ingest records", "POST /v1/nodes/{id}/metrics" to "Shared ingest rules"; `decisions.md` sections 5
//! (Order on ingest, Ingest limits) and 7 (gzip).

use alloc::string::String;

use thiserror::Error;

use super::{BodyRule, Settings};
use crate::wire::{
    call::Sink,
    http::{Body, Headers, UNREADABLE},
    ingest::{
        AuditEvent, INFLATED_MAX, LogLine, RECORDS_MAX, SENT_AT, WIRE_MAX, count_elements,
        count_samples,
    },
    json::{self, Fault},
    timestamp::Timestamp,
};

/// Why a batch is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("Content-Encoding must be gzip or identity, or left out")]
    Encoding,
    #[error("{header} must stand once, as an RFC 3339 timestamp such as 2026-01-15T10:30:00Z")]
    SentAt { header: String },
    #[error("a batch has at most 4 MiB as it is sent and 16 MiB inflated; send fewer records")]
    TooLarge,
    #[error("a batch has at most 10,000 records; send the others in a batch of their own")]
    TooManyRecords,
    #[error("{UNREADABLE}, or is not the gzip it is announced as")]
    Unreadable,
    #[error("line {line} is not UTF-8")]
    NotUtf8 { line: usize },
    #[error("the batch holds no record")]
    NoRecord,
    #[error("line {line}: {fault}")]
    Line { line: usize, fault: Fault },
    #[error("the body is not an array of samples: {0}")]
    Samples(Fault),
}

impl Refusal {
    /// Whether the body is over a limit, so that nothing of it is captured.
    pub const fn is_over_limit(&self) -> bool {
        matches!(self, Self::TooLarge | Self::TooManyRecords)
    }
}

/// How a batch in gzip is read whose head passes [`judge_head`].
pub(super) const BODY_RULE: BodyRule = BodyRule::inflating(WIRE_MAX, INFLATED_MAX);

/// Judges the head of a batch: its encoding, then when it was sent.
pub fn judge_head(settings: &Settings, headers: &Headers) -> Result<(), Refusal> {
    let mut encodings = headers.all("content-encoding");
    let encoding = encodings.next().unwrap_or_default().trim();
    let known = ["", "identity", "gzip"].iter().any(|known| encoding.eq_ignore_ascii_case(known));
    if !known || encodings.next().is_some() {
        return Err(Refusal::Encoding);
    }
    let header = settings.header(SENT_AT);
    let mut times = headers.all(&header);
    let sent_at = times.next().map(Timestamp::parse);
    if matches!(sent_at, Some(Ok(_))) && times.next().is_none() {
        Ok(())
    } else {
        drop(times);
        Err(Refusal::SentAt { header })
    }
}

/// Reads the records of a batch and counts them.
pub fn read(sink: Sink, body: &Body) -> Result<usize, Refusal> {
    let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
    match sink {
        Sink::Metrics => samples(bytes),
        Sink::Logs => lines(bytes, |line| json::decode_strict_text::<LogLine<'_>>(line).map(drop)),
        Sink::Audit => {
            lines(bytes, |line| json::decode_strict_text::<AuditEvent<'_>>(line).map(drop))
        }
    }
}

fn samples(bytes: &[u8]) -> Result<usize, Refusal> {
    let read = count_samples(bytes);
    // The limit stands in front of the rules of a record, but only a well-formed array can be counted.
    let count = read.as_ref().ok().copied().or_else(|| count_elements(bytes));
    match count {
        Some(count) if count > RECORDS_MAX => Err(Refusal::TooManyRecords),
        Some(0) => Err(Refusal::NoRecord),
        Some(_) | None => read.map_err(Refusal::Samples),
    }
}

/// Lines that are blank are passed over; a line is told by its number in the whole text.
fn lines(bytes: &[u8], decode: impl Fn(&str) -> Result<(), Fault>) -> Result<usize, Refusal> {
    let read = match str::from_utf8(bytes) {
        Ok(text) => each_line(text, decode),
        Err(fault) => {
            let line = bytes[..fault.valid_up_to()].split(|byte| *byte == b'\n').count();
            Err(Refusal::NotUtf8 { line })
        }
    };
    match read {
        Ok(0) => Err(Refusal::NoRecord),
        Ok(count) if count <= RECORDS_MAX => Ok(count),
        // The limit stands in front of the rules of a line.
        Ok(_) | Err(_) if count_lines(bytes) > RECORDS_MAX => Err(Refusal::TooManyRecords),
        read => read,
    }
}

fn each_line(text: &str, decode: impl Fn(&str) -> Result<(), Fault>) -> Result<usize, Refusal> {
    let filled =
        text.split('\n').enumerate().filter(|(_, line)| !line.trim_ascii_start().is_empty());
    filled.take(RECORDS_MAX + 1).try_fold(0, |count, (at, line)| {
        decode(line).map_err(|fault| Refusal::Line { line: at + 1, fault }).map(|()| count + 1)
    })
}

/// Counts no further than one line over the limit.
fn count_lines(bytes: &[u8]) -> usize {
    let filled =
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii_start().is_empty());
    filled.take(RECORDS_MAX + 1).count()
}
