//! Which lines of logs are kept.
//!
//! "Filter order: severity threshold first, then include list, then exclude list".
//! Specification: "Observability configuration".

use super::buffer::Record;
use crate::agent::facts::Filter;

/// Whether a record is kept; only lines are ever kept back.
pub(super) fn keeps(filter: &Filter, record: &Record) -> bool {
    let Record::Line(line) = record else { return true };
    let is_named = |units: &[alloc::string::String]| units.iter().any(|unit| **unit == *line.unit);
    let is_grave = filter.min_severity.is_none_or(|least| line.severity <= least);
    let is_included = filter.include_units.is_empty() || is_named(&filter.include_units);
    is_grave && is_included && !is_named(&filter.exclude_units)
}
