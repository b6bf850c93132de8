//! The refusals of events and what steers them.
//!
//! Specification: "Errors".
