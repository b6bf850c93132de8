//! The agent's binary against the fixture over real HTTP, with real files, sockets and signals.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene has failed")]

mod actions;
mod animals;
mod audit;
mod busy;
mod canary;
#[cfg(feature = "tool-tests")]
mod clocks;
mod commands;
mod config;
mod converge;
mod crash;
mod dispatch;
mod doctor;
mod doctor_as;
mod doctor_doors;
mod doctor_records;
mod exits;
#[cfg(feature = "fault-tests")]
mod faults;
#[cfg(feature = "fault-tests")]
mod faults_reports;
#[cfg(feature = "fault-tests")]
mod faults_rotation;
mod flood;
#[cfg(feature = "tool-tests")]
mod fuse;
mod hooks;
mod hooks_look;
mod hooks_place;
mod hooks_run;
#[cfg(feature = "tool-tests")]
mod hung;
mod integrity;
mod kept;
mod kills;
mod local;
mod manifest;
mod metadata;
mod nat;
#[cfg(feature = "nat-tests")]
mod nat_real;
mod node;
mod output;
mod package;
mod readme;
mod reload;
mod reports;
mod room;
mod secrets;
mod service;
mod session;
#[cfg(feature = "nat-tests")]
mod session_gone;
mod session_wire;
mod soak;
#[cfg(feature = "fault-tests")]
mod strace;
mod stream;
mod stream_wire;
mod tcp;
mod terminal;
#[cfg(feature = "tool-tests")]
mod tools;
mod voice;
mod watch;
mod way;
mod work;
