//! The calls of the system that the programs need and that no library wraps safely.
//!
//! Every other crate forbids `unsafe`. Each call here stands alone in its block, which says why it holds, and what a
//! caller can reach is safe whatever it passes.

pub mod execute;
pub mod heap;
pub mod peer;
pub mod process;
