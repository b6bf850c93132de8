//! The refusals of sessions, secrets and reports.
//!
//! Specification: "Errors".
