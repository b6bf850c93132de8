//! The last body that each route received, valid or not, for tests to look at.
//!
//! Specification: "Fixture control routes"; `decisions.md` section 7 (Captures).

use alloc::{collections::BTreeMap, vec::Vec};
use core::fmt;

use crate::wire::http::{Body, Response};

/// The most bytes that are kept of one body.
pub const CAPTURE_MAX: usize = 4 << 20;

/// The mark on an answer that holds less than was received.
const TRUNCATED: &str = "x-truncated";

macro_rules! endpoints {
    ($($endpoint:ident $name:literal)*) => {
        /// A route whose bodies are captured.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Endpoint {
            $($endpoint,)*
        }

        impl Endpoint {
            /// Reads the name that `/test/last-request/{endpoint}` uses.
            pub fn parse(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$endpoint),)*
                    _ => None,
                }
            }
        }
    };
}

endpoints! {
    Register "register"
    Heartbeat "heartbeat"
    KeyRotate "key_rotate"
    Capabilities "capabilities"
    NatEndpoint "endpoint"
    Report "report"
    ExecutionCallback "execution_callback"
    SessionActivity "session_activity"
    IntegrityViolations "integrity_violations"
    Metrics "metrics"
    Logs "logs"
    Audit "audit"
    LocalMetrics "local_metrics"
    LocalLogs "local_logs"
    LocalAudit "local_audit"
    ConfigureState "configure_state"
    ConfigureHeartbeat "configure_heartbeat"
    ConfigureEndpoint "configure_endpoint"
    ConfigureSecrets "configure_secrets"
    ConfigureEvents "configure_events"
    InjectEvent "inject_event"
}

#[derive(Clone, PartialEq, Eq)]
struct Capture {
    bytes: Vec<u8>,
    truncated: bool,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes.len())
    }
}

/// One body for each endpoint that received any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures(BTreeMap<Endpoint, Capture>);

impl Captures {
    /// Keeps a body that was read in full; one that was not leaves the last capture in place.
    pub fn keep(&mut self, endpoint: Endpoint, body: Body) {
        match body {
            Body::Whole(mut bytes) => {
                let truncated = bytes.len() > CAPTURE_MAX;
                if truncated {
                    bytes.truncate(CAPTURE_MAX);
                    bytes.shrink_to_fit();
                }
                self.0.insert(endpoint, Capture { bytes, truncated });
            }
            Body::Oversized | Body::Unreadable => {}
        }
    }

    /// The answer of `GET /test/last-request/{endpoint}`; `None` where nothing was captured under that name.
    pub fn response(&self, name: &str) -> Option<Response> {
        let capture = self.0.get(&Endpoint::parse(name)?)?;
        let mut response = Response::empty(200).with("content-type", "application/octet-stream");
        if capture.truncated {
            response = response.with(TRUNCATED, "true");
        }
        response.body.clone_from(&capture.bytes);
        Some(response)
    }
}
