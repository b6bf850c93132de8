//! The Meshward node agent's side of the world: sockets, files and processes, which carry out what the core decides.

pub mod chance;
pub mod store;
