//! The two listeners of the node: the socket for co-located programs and the health address for orchestrators.
//!
//! Neither knows a route. Each request becomes an [`Asked`] on one bounded channel, and the core's answer goes back.
//!
//! Specification: "Local HTTP API" and "Health listener".

mod health;
mod serve;
mod socket;
mod stall;

pub use health::{Health, HealthError};
pub use serve::{Asked, Serving};
pub use socket::{Socket, SocketError, SocketPlace};
