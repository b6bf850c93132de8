//! The Meshward node agent's side of the world: sockets, files and processes, which carry out what the core decides.

pub mod actions;
pub mod chance;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
pub mod gzip;
pub mod hooks;
pub mod hygiene;
pub mod image;
pub mod local;
pub mod log;
pub mod nat;
pub mod reload;
pub mod run;
pub mod service;
pub mod session;
pub mod store;
pub mod stream;
pub mod tokens;
pub mod tunnel;
pub mod voice;

mod askers;
mod drive;
mod hands;
mod measure;
mod metadata;
mod perform;
mod registration;
mod weight;
