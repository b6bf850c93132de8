//! The control plane's decisions against the specification: a model for each machine, and every row through the front.

mod desk;
mod execution;
mod faults;
mod heartbeat;
mod journal;
mod nonce;
mod register;
mod rotation;
mod route;
mod snapshot;
#[path = "../support/mod.rs"]
mod support;
mod verify;
