//! The way to the control plane, step by step; behind the first that fails there is nothing to tell.

use alloc::{
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};

use super::Finding;
use crate::{
    agent::heartbeat::skew::{SKEW_WARN, Skew},
    wire::heartbeat::CLOCK_SKEW_MAX,
};

const DNS: &str = "dns";
const CONNECT: &str = "connect";
const TLS: &str = "tls";
const PLANE: &str = "control plane";
const CLOCK: &str = "clock";

/// What was met on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plane {
    /// Absent where it did not end in time.
    pub way: Option<Way>,
    pub health: Option<Health>,
    /// By the `Date` of the answer.
    pub skew: Option<Skew>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    Unresolved {
        host: String,
        cause: String,
    },
    Unconnected {
        tried: String,
        cause: String,
    },
    /// What it is gone with cannot be had, as a CA file that cannot be read.
    Unprepared {
        cause: String,
    },
    Connected {
        address: String,
        shake: Shake,
    },
}

/// What becomes of TLS on an open connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shake {
    /// It is plain HTTP; whether somebody on the way can read it.
    Plain {
        in_clear: bool,
    },
    /// `control_plane.tls_insecure_skip_verify`.
    Unverified,
    Sound,
    Failed(TlsFault),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsFault {
    Expired,
    NotYetValid,
    /// The certificate is for another name.
    Name,
    /// Nobody who is trusted has signed it.
    Chain,
    /// Something else is wrong with the certificate, which the text names.
    Refused(String),
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// With the status that its body tells, where it is one.
    Answered {
        status: u16,
        told: Option<String>,
    },
    Lost(String),
}

impl Plane {
    pub fn findings(&self) -> Vec<Finding> {
        let Some(way) = &self.way else { return vec![Finding::unseen(CONNECT)] };
        match way {
            Way::Unresolved { host, cause } => vec![Finding::bad(
                DNS,
                format!("the name {host} (control_plane.url) is not looked up: {cause}"),
                "correct the name, or see to the name servers of this node (/etc/resolv.conf)",
            )],
            Way::Unconnected { tried, cause } => vec![Finding::bad(
                CONNECT,
                format!("nobody answers at {tried}: {cause}"),
                "start the control plane there, correct control_plane.url, or open the firewall on the way",
            )],
            Way::Unprepared { cause } => vec![Finding::bad(
                TLS,
                cause,
                "correct control_plane.ca_file, let the user of the agent read it, and ask as that user; or see to the \
                 CAs of this system (ca-certificates, SSL_CERT_FILE)",
            )],
            Way::Connected { address, shake } => {
                let open = Finding::good(CONNECT, format!("{address} answers"));
                self.behind(vec![open, shake.finding()], shake)
            }
        }
    }

    fn behind(&self, mut findings: Vec<Finding>, shake: &Shake) -> Vec<Finding> {
        if !matches!(shake, Shake::Failed(_)) {
            findings
                .push(self.health.as_ref().map_or_else(|| Finding::unseen(PLANE), Health::finding));
            findings.extend(self.skew.map(clock));
        }
        findings
    }
}

impl Shake {
    fn finding(&self) -> Finding {
        match self {
            Self::Plain { in_clear: false } => {
                Finding::good(TLS, "plain http, which stays on this node")
            }
            Self::Plain { in_clear: true } => Finding::warn(
                TLS,
                "plain http: the credential of this node goes over the network in clear",
                "use https in control_plane.url",
            ),
            Self::Unverified => Finding::warn(
                TLS,
                "nothing is verified: anyone on the way can pose as the control plane",
                "take control_plane.tls_insecure_skip_verify out, and name its CA in control_plane.ca_file",
            ),
            Self::Sound => Finding::good(
                TLS,
                "the certificate is valid now, for this name, and from a trusted CA",
            ),
            Self::Failed(fault) => fault.finding(),
        }
    }
}

impl TlsFault {
    fn finding(&self) -> Finding {
        let (words, mend) = self.told();
        Finding::bad(TLS, words, mend)
    }

    /// What is wrong, and how it is mended where `control_plane.url` leads.
    pub(super) fn told(&self) -> (&str, &'static str) {
        match self {
            Self::Expired => (
                "the certificate has expired",
                "renew it at the control plane, or set right the clock of this node",
            ),
            Self::NotYetValid => (
                "the certificate is not valid yet",
                "set right the clock of this node, or that of who made it",
            ),
            Self::Name => (
                "the certificate is for another name",
                "write the name that it is for into control_plane.url",
            ),
            Self::Chain => (
                "the certificate is from a CA that this node does not trust",
                "name the CA in control_plane.ca_file, or let the control plane send the whole chain",
            ),
            Self::Refused(cause) => (
                cause.as_str(),
                "see who answers there; where it is the control plane, name in control_plane.ca_file the CA that has \
                 signed it, and give it a certificate of a server",
            ),
            Self::Other(cause) => {
                (cause.as_str(), "see whether the port of control_plane.url speaks TLS")
            }
        }
    }
}

impl Health {
    fn finding(&self) -> Finding {
        let url = "correct control_plane.url, its path too";
        match self {
            Self::Answered { status: 200, told: Some(told) }
                if told == "ok" || told == "healthy" =>
            {
                Finding::good(PLANE, format!("it says {told}"))
            }
            Self::Answered { status: 200, told: Some(told) } => Finding::warn(
                PLANE,
                format!("it says {told} of itself"),
                "ask who runs the control plane",
            ),
            Self::Answered { status: 200, told: None } => {
                Finding::bad(PLANE, "what answers GET /v1/health is no control plane", url)
            }
            Self::Answered { status: 404, .. } => {
                Finding::bad(PLANE, "reachable, but no control plane answers at this path", url)
            }
            Self::Answered { status, .. } => Finding::bad(
                PLANE,
                format!("GET /v1/health is answered with status {status}"),
                "ask who runs the control plane, or what stands in front of it",
            ),
            Self::Lost(cause) => Finding::bad(
                PLANE,
                format!("GET /v1/health has no answer: {cause}"),
                "ask who runs the control plane",
            ),
        }
    }
}

fn clock(skew: Skew) -> Finding {
    let words = match skew {
        Skew::None => "it agrees with the control plane's".to_string(),
        Skew::Ahead(_) | Skew::Behind(_) => format!("it is {} the control plane's", skew.words()),
    };
    let mend = "check the time service of this node (NTP)";
    match skew.amount() {
        by if by > CLOCK_SKEW_MAX => {
            Finding::bad(CLOCK, format!("{words}, which refuses heartbeats for that"), mend)
        }
        by if by > SKEW_WARN => Finding::warn(CLOCK, words, mend),
        _ => Finding::good(CLOCK, words),
    }
}
