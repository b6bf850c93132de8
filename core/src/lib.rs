//! Every decision that a Meshward agent or its control plane takes, as pure step functions.
//!
//! This crate cannot do input or output: it has no clock, no file, no socket, no thread and no source of chance. The
//! two ends live in [`agent`] and [`plane`]; what crosses the network, the disk and the local socket lives in
//! [`wire`]. `meshward-shell` and `meshward-fixture` carry out the orders given here and decide nothing.
#![no_std]

extern crate alloc;

pub mod agent;
pub mod backoff;
pub mod doctor;
pub mod duration;
pub mod ids;
pub mod legible;
pub mod plane;
pub mod secret;
pub mod step;
pub mod time;
pub mod wire;
