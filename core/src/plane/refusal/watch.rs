//! The refusals of the journal, verification and faults.
//!
//! Specification: "Errors".
