//! The refusals of capabilities, endpoint and integrity violations.
//!
//! Specification: "Errors".
