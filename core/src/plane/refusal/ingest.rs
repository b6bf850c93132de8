//! The refusals of metrics, logs and audit records.
//!
//! Specification: "Errors".
