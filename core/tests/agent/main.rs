//! The agent's decisions against the specification: every table row by row, and a model for what takes turns.

mod admission;
mod alone;
mod bench;
mod device;
mod dispatch;
mod execution;
mod floor;
mod hand;
mod heartbeat;
mod judge;
mod local;
mod outcome;
mod pull;
mod reaction;
mod refused;
mod register;
mod rotation;
mod standing;
#[path = "../support/mod.rs"]
mod support;
mod verdict;
mod view;
mod whole;
