//! Calls to the control plane: one request out, one answer back, without redirects, retries or proxies.
//!
//! What went wrong comes back as words for the log that hold no query, no credential and no body.

mod call;
mod settings;
mod tls;

pub use call::{Client, RESPONSE_MAX};
pub use settings::{ClientError, ClientSettings};
