//! The agent's binary against the fixture over real HTTP, with real files, sockets and signals.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene has failed")]

mod busy;
mod canary;
mod commands;
mod config;
mod crash;
mod exits;
#[cfg(feature = "fault-tests")]
mod faults;
mod local;
mod metadata;
mod node;
mod readme;
mod reports;
mod secrets;
mod tcp;
mod terminal;
mod watch;
mod work;
