//! The agent's decisions against the specification: every table row by row, and a model for what takes turns.

mod admission;
mod alone;
mod archive;
mod bench;
mod counter;
mod device;
mod dispatch;
mod execution;
mod floor;
mod gate;
mod hand;
mod head;
mod heartbeat;
mod judge;
mod local;
mod network;
mod outcome;
mod outdated;
mod own_reports;
mod places;
mod pull;
mod reaction;
mod refused;
mod register;
mod reports;
mod rotation;
mod secrets;
mod standing;
#[path = "../support/mod.rs"]
mod support;
mod sync;
mod tcp;
mod verdict;
mod view;
mod watch;
mod whole;
