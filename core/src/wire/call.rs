//! The routes of the contract, by name: the plane matches on a [`Call`], the agent builds one.
//!
//! Specification: "Endpoints"; `decisions.md` section 6 for the extra routes under `/test/`.

use alloc::{format, string::String};

use super::http::{Method, percent_encode};

/// A route with its parameters, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Health,
    Register,
    Heartbeat { node: String },
    RotateKeys,
    State { node: String },
    Reachability { node: String },
    Execution { node: String, execution: String },
    ExecOutput { execution: String },
    Local(Sink),
    Test(Test),
}

/// A local endpoint of the fixture's TLS listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    Metrics,
    Logs,
    Audit,
}

impl Sink {
    /// The last segment of its path.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Logs => "logs",
            Self::Audit => "audit",
        }
    }
}

/// A route that steers or watches the fixture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    Bearer,
    Assertions,
    LastRequest { endpoint: String },
    ConfigureState,
    ConfigureHeartbeat,
    Executions,
    ExecOutput { execution: String },
    Info,
    Reset,
    TlsCert,
}

impl Call {
    /// The method it is called with.
    pub const fn method(&self) -> Method {
        match self {
            Self::Health | Self::State { .. } | Self::Reachability { .. } => Method::Get,
            Self::Register
            | Self::Heartbeat { .. }
            | Self::RotateKeys
            | Self::Execution { .. }
            | Self::Local(_) => Method::Post,
            Self::ExecOutput { .. } => Method::Put,
            Self::Test(test) => test.method(),
        }
    }

    /// The path that names this route, each parameter one percent-encoded segment.
    pub fn path(&self) -> String {
        match self {
            Self::Health => "/v1/health".into(),
            Self::Register => "/v1/register".into(),
            Self::Heartbeat { node } => format!("/v1/nodes/{}/heartbeat", percent_encode(node)),
            Self::RotateKeys => "/v1/keys/rotate".into(),
            Self::State { node } => format!("/v1/nodes/{}/state", percent_encode(node)),
            Self::Reachability { node } => {
                format!("/v1/nodes/{}/reachability", percent_encode(node))
            }
            Self::Execution { node, execution } => {
                format!(
                    "/v1/nodes/{}/executions/{}",
                    percent_encode(node),
                    percent_encode(execution)
                )
            }
            Self::ExecOutput { execution } => format!("/exec-output/{}", percent_encode(execution)),
            Self::Local(sink) => format!("/local/{}", sink.name()),
            Self::Test(test) => test.path(),
        }
    }
}

impl Test {
    /// The method it is called with.
    pub const fn method(&self) -> Method {
        match self {
            Self::Bearer
            | Self::Assertions
            | Self::LastRequest { .. }
            | Self::Executions
            | Self::ExecOutput { .. }
            | Self::Info
            | Self::TlsCert => Method::Get,
            Self::ConfigureState | Self::ConfigureHeartbeat | Self::Reset => Method::Post,
        }
    }

    /// The path that names this route, each parameter one percent-encoded segment.
    pub fn path(&self) -> String {
        match self {
            Self::Bearer => "/test/bearer".into(),
            Self::Assertions => "/test/assertions".into(),
            Self::LastRequest { endpoint } => {
                format!("/test/last-request/{}", percent_encode(endpoint))
            }
            Self::ConfigureState => "/test/configure-state".into(),
            Self::ConfigureHeartbeat => "/test/configure-heartbeat".into(),
            Self::Executions => "/test/executions".into(),
            Self::ExecOutput { execution } => {
                format!("/test/exec-output/{}", percent_encode(execution))
            }
            Self::Info => "/test/info".into(),
            Self::Reset => "/test/reset".into(),
            Self::TlsCert => "/test/tls-cert".into(),
        }
    }
}
