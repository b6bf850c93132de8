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

/// Servers that tell a node how it is seen from outside, all asked at once from the port of the tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// Which one this is; the outcome brings it back. A new one ends the one before, which is then not answered.
    pub round: u64,
    /// From which they are asked.
    pub port: u16,
    /// Each `host:port`.
    pub servers: Vec<String>,
    /// Of each server.
    pub timeout: Duration,
}

/// How a server sees this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The address that was asked, which two names may share.
    pub server: PeerAddr,
    pub mapped: PeerAddr,
}

/// The files that are measured beside the hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The path that the program was started from.
    pub image: String,
    /// Of the file that stands there now; an error tells the cause.
    pub checksum: Result<Checksum, String>,
    /// Absent where no host key is configured, or its file is not there.
    pub host_key: Option<HostKey>,
}

/// The file of the SSH host key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostKey {
    pub path: String,
    /// An error tells the cause.
    pub fingerprint: Result<Fingerprint, String>,
}
