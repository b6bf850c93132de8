//! The simulated world: agents and a control plane in one thread, with a network, disks and clocks that do what a
//! seed says. For tests, benches and fuzzing only.
//!
//! Time jumps to the next thing that is due; nothing ticks. Messages cross the network as bytes, so both codecs are
//! inside the loop. What may go wrong is drawn by `script.rs`, what must never happen is in `checks`.

pub mod chatter;
pub mod checks;
pub mod clock;
pub mod codec;
pub mod crowd;
pub mod disk;
pub mod journal;
pub mod listeners;
pub mod net;
pub mod node;
pub mod rng;
pub mod route;
pub mod script;
pub mod senses;
pub mod signing;
pub mod spool;
pub mod streams;
pub mod surroundings;
pub mod told;
pub mod voice;
pub mod world;

mod bus;
mod carry;
mod draw;
mod hands;
mod happen;
mod operator;
mod perform;
mod programs;
mod settings;

pub use checks::Violation;
pub use script::{Event, Faults, Script};
pub use world::{Summary, World};
