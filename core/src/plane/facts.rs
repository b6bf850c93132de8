//! What the plane is told, what it orders, and what stays the same while it runs.

use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};
use core::time::Duration;

use super::{
    manner::{Cut, Manner},
    stream::{Audience, Opening},
};
use crate::{
    ids::{CallId, CorrelationId},
    time::Mono,
    wire::{
        framing::Flaw,
        http::{Method, Request, Response},
        sse::Frame,
    },
};

/// "SSE keep-alive: every 15 s".
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What stays the same while a plane runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What stands before the code in a problem's `type`, without a slash at its end.
    pub problem_base_url: String,
    /// The prefix of the contract's own headers, such as `X-Service`.
    pub header_prefix: String,
    /// Base64 of the Ed25519 key that signs events, made at start.
    pub signing_public_key: String,
    /// The certificate of the TLS listener, as PEM.
    pub tls_certificate: String,
    /// How often an event stream says that it is alive.
    pub keep_alive: Duration,
    /// The name that the main listener was asked to listen on; empty where that was an address, or none.
    pub host: String,
    pub info: Info,
    pub documents: Documents,
}

impl Settings {
    pub const PROBLEM_BASE_URL: &'static str = "https://meshward.example/problems";
    pub const HEADER_PREFIX: &'static str = "X-Service";

    /// A header of the contract, such as `X-Service-Sent-At` for `Sent-At`.
    pub fn header(&self, name: &str) -> String {
        alloc::format!("{}-{name}", self.header_prefix)
    }
}

impl Default for Settings {
    /// As the fixture's flags leave them, without a key and a certificate.
    fn default() -> Self {
        Self {
            problem_base_url: Self::PROBLEM_BASE_URL.to_string(),
            header_prefix: Self::HEADER_PREFIX.to_string(),
            signing_public_key: String::new(),
            tls_certificate: String::new(),
            keep_alive: KEEP_ALIVE,
            host: String::new(),
            info: Info::default(),
            documents: Documents::default(),
        }
    }
}

/// What is served as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Documents {
    /// The answer of `GET /openapi.json`.
    pub openapi: &'static str,
    /// The answer of `GET /test/ui`.
    pub page: &'static str,
    /// The `Content-Security-Policy` of the page.
    pub page_policy: &'static str,
}

/// What `GET /test/info` tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    pub addr: String,
    pub tls_addr: String,
    pub pid: u32,
    pub version: String,
    pub started_at: String,
}

/// The listener a request came in by; each serves its own routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listener {
    #[default]
    Main,
    Tls,
}

/// The chance that one request needs, drawn by its reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    pub correlation: CorrelationId,
    /// The nonce of a secret envelope; never drawn twice.
    pub envelope_nonce: [u8; 12],
}

/// A request as it came, its body read by the [`super::BodyRule`] of its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub listener: Listener,
    pub request: Request,
    /// When its head was read.
    pub begun: Mono,
    pub drawn: Drawn,
}

/// A fact for the plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Requested {
        call: CallId,
        arrival: Arrival,
    },
    /// A request came whose head is refused, so that nothing behind it was read.
    Refused {
        call: CallId,
        arrival: Arrival,
        flaw: Flaw,
    },
    /// The signature of the bytes that [`Effect::Sign`] asked for, as base64.
    Signed {
        call: CallId,
        signature: String,
    },
    /// The client of a stream, or of an answer that is still due, is gone.
    Left {
        call: CallId,
    },
    /// The time of [`super::Plane::wakeup`] has come.
    Ticked,
}

/// An order of the plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Reply {
        call: CallId,
        response: Response,
        manner: Manner,
    },
    /// Answer with an event stream: its head, what is replayed, then every frame sent to it.
    Open {
        call: CallId,
        opening: Opening,
        manner: Manner,
    },
    /// End the connection of this call without an answer.
    Cut {
        call: CallId,
        cut: Cut,
    },
    /// Put a frame into the buffer of each stream of the audience that has room; the others miss it.
    Send {
        audience: Audience,
        frame: Frame,
    },
    /// End every open stream once its buffer has been sent.
    Close,
    /// Sign these bytes with the key whose public half the settings hold.
    Sign {
        call: CallId,
        bytes: Vec<u8>,
    },
}

/// Makes the answer to a `HEAD` request out of the one to its `GET`.
pub(super) fn headless(method: Method, mut response: Response) -> Response {
    if method == Method::Head {
        response.headers.push("content-length", &response.body.len().to_string());
        response.body.clear();
    }
    response
}
