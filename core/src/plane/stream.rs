//! The event log and its streams: every event gets the next sequence number and goes to all that listen.
//!
//! Specification: "Events".

use alloc::vec::Vec;
use core::time::Duration;

use crate::{
    ids::CallId,
    wire::{http::Response, sse::Frame},
};

/// Which open streams an order concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    Everyone,
    Only(Vec<CallId>),
}

/// How a stream begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Status and headers; the body is the stream.
    pub response: Response,
    /// What is sent before anything live, in order.
    pub replay: Vec<Frame>,
    pub keep_alive: Duration,
}

/// Everything about events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream;
