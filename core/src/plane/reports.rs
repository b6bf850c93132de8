//! Reports: what a node stores under its keys, in both blocks of the snapshot that tell of them.
//!
//! | Trigger | `state.reports` and `reports.reports` | Also |
//! |---|---|---|
//! | a report | the key with its value and tag, whatever stood there; a block that is null is made | accepted |
//! | a deletion, the key in either block | without the key | accepted |
//! | a deletion, the key in none | unchanged | refused as not found |
//! | a configured snapshot | those of the snapshot | |
//!
//! Each block stays sorted by key. The blocks are part of the desired state, which steps through here.
//!
//! Specification: "State report", "PUT" and "DELETE /v1/nodes/{id}/state/reports/{key}"; `gaps-control-plane.md`
//! section 1.15; `decisions.md` section 7 (Report without `value`).

use thiserror::Error;

use crate::wire::{
    grammar::{Name, ReportKey},
    http::{Body, UNREADABLE},
    json::{self, Fault},
    report::{ReportRequest, VALUE_MAX},
    snapshot::{Entry, Snapshot},
};

/// The most reports that a block takes.
pub const REPORTS_MAX: usize = 1 << 14;

/// The most bytes of values and tags that a block takes.
pub const STORED_MAX: usize = 64 << 20;

/// Why a report is refused, or its deletion.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error(
        "the key must begin with a letter and hold at most 128 of a-z, 0-9, dot, underscore and hyphen"
    )]
    Key,
    #[error("the body is over 16 MiB")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the body is not a report: {0}")]
    Malformed(Fault),
    #[error("value is required; the empty text is a value")]
    Value,
    #[error("value is over 4096 bytes")]
    ValueTooLong,
    #[error("no report has this key")]
    NotFound,
    #[error("the store of reports is full; delete some, or POST /test/reset")]
    Full,
}

/// Reads a key out of a path.
pub fn key(text: &str) -> Result<ReportKey, Refusal> {
    ReportKey::parse(text).map_err(|_| Refusal::Key)
}

/// Reads what is to be stored under a key out of a request body.
pub fn read(key: &ReportKey, body: &Body) -> Result<Entry, Refusal> {
    let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
    let report: ReportRequest = json::decode_strict(bytes).map_err(Refusal::Malformed)?;
    let value = report.value.ok_or(Refusal::Value)?;
    if value.len() > VALUE_MAX {
        return Err(Refusal::ValueTooLong);
    }
    Ok(Entry { key: Name::from(key.as_str()), value, workload_tag: report.workload_tag })
}

/// Stores a report in both blocks, or in none.
pub(super) fn put(snapshot: &mut Snapshot, entry: &Entry) -> Result<(), Refusal> {
    let blocks = [&snapshot.state, &snapshot.reports];
    if blocks.into_iter().flatten().any(|block| !has_room(&block.reports, entry)) {
        return Err(Refusal::Full);
    }
    for block in [&mut snapshot.state, &mut snapshot.reports] {
        let reports = &mut block.get_or_insert_default().reports;
        reports.retain(|known| known.key != entry.key);
        let at = reports.partition_point(|known| known.key < entry.key);
        reports.insert(at, entry.clone());
    }
    Ok(())
}

/// Whether a block can take the entry in place of what it has under its key.
fn has_room(reports: &[Entry], entry: &Entry) -> bool {
    let others = || reports.iter().filter(|known| known.key != entry.key);
    let size = |entry: &Entry| entry.value.len() + entry.workload_tag.as_str().len();
    let stored: usize = others().map(size).sum();
    others().count() < REPORTS_MAX && stored + size(entry) <= STORED_MAX
}

/// Deletes a report from whichever block holds it.
pub(super) fn delete(snapshot: &mut Snapshot, key: &ReportKey) -> Result<(), Refusal> {
    let mut found = false;
    for block in [&mut snapshot.state, &mut snapshot.reports].into_iter().flatten() {
        let before = block.reports.len();
        block.reports.retain(|entry| entry.key.as_str() != key.as_str());
        found |= block.reports.len() < before;
    }
    if found { Ok(()) } else { Err(Refusal::NotFound) }
}
