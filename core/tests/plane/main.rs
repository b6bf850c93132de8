//! The control plane's decisions against the specification: a model for each machine, and every row through the front.

mod capabilities;
mod desk;
mod endpoint;
mod execution;
mod faults;
mod heartbeat;
mod ingest;
mod integrity;
mod journal;
mod nonce;
mod nul;
mod origin;
mod register;
mod release;
mod reports;
mod rotation;
mod route;
mod secrets;
mod session;
mod snapshot;
mod stream;
#[path = "../support/mod.rs"]
mod support;
mod upload;
mod verify;
