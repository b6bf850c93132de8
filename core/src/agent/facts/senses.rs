//! What the agent hears and finds out: the event stream, its address from outside, the state of its own files.

use alloc::{string::String, vec::Vec};
use core::time::Duration;

use super::{Lost, acts::Bytes};
use crate::wire::{
    grammar::{Checksum, Fingerprint, PeerAddr},
    http::{Request, Response},
};

/// An order about a stream of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Ask for it; the head of the answer comes within the timeout, and of the body of one that is no success as much as
    /// comes within it, but no more than `answer_max` bytes. Answered by [`Heard`], until it has ended.
    Open { request: Request, timeout: Duration, answer_max: usize },
    /// Break it off; nothing more is told of it.
    Close,
}

/// How many bytes of a stream are taken in one step.
pub const CHUNK_MAX: usize = 16 << 10;

/// What a stream tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Its head. What a success holds follows as [`Heard::Bytes`], at most [`CHUNK_MAX`] of them at a time; the body of
    /// any other answer is here, and nothing follows.
    Answered(Response),
    Bytes(Bytes),
    /// Nothing more comes: it was closed in order, or this went wrong.
    Ended(Option<Lost>),
}

/// Servers that tell a node how it is seen from outside, each asked from the one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// Each `host:port`.
    pub servers: Vec<String>,
    /// Of each server.
    pub timeout: Duration,
}

/// What the servers told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered {
    /// The port that was asked from.
    pub local_port: u16,
    /// In the order of the servers; an error tells the cause.
    pub answers: Vec<Result<PeerAddr, String>>,
}

/// The files that are measured beside the hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The path of the program.
    pub image: String,
    pub checksum: Result<Checksum, String>,
    /// Absent where no host key is configured, or it is not there.
    pub host_key: Option<Result<Fingerprint, String>>,
}
