//! The routes of the contract, by name: the plane matches on a [`Call`], the agent builds one.
//!
//! Specification: "Endpoints"; `decisions.md` section 6 for the extra routes under `/test/`.

use alloc::{borrow::ToOwned as _, format, string::String};

use super::http::{Method, percent_encode};

/// A route with its parameters, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Health,
    Register,
    Heartbeat { node: String },
    RotateKeys,
    Capabilities { node: String },
    Endpoint { node: String },
    State { node: String },
    Reachability { node: String },
    Events { node: String },
    Execution { node: String, execution: String },
    ExecOutput { execution: String },
    Session { node: String, session: String },
    Secret { node: String, key: String },
    PutReport { node: String, key: String },
    DeleteReport { node: String, key: String },
    Ingest { node: String, sink: Sink },
    IntegrityViolations { node: String },
    Local(Sink),
    Release { tag: String, asset: String },
    OpenApi,
    Test(Test),
}

/// What telemetry a route takes, at the control plane and at a local endpoint.
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
    ConfigureEndpoint,
    ConfigureEvents,
    ConfigureSecrets,
    InjectEvent,
    Requests,
    ClearRequests,
    Verify,
    Faults,
    AddFault,
    ClearFaults,
    RemoveFault { id: String },
    Executions,
    ExecOutput { execution: String },
    Info,
    Reset,
    TlsCert,
    Ui,
}

impl Call {
    /// The method it is called with.
    pub const fn method(&self) -> Method {
        match self {
            Self::Health
            | Self::State { .. }
            | Self::Reachability { .. }
            | Self::Events { .. }
            | Self::Secret { .. }
            | Self::Release { .. }
            | Self::OpenApi => Method::Get,
            Self::Register
            | Self::Heartbeat { .. }
            | Self::RotateKeys
            | Self::Execution { .. }
            | Self::Session { .. }
            | Self::Ingest { .. }
            | Self::IntegrityViolations { .. }
            | Self::Local(_) => Method::Post,
            Self::Capabilities { .. }
            | Self::Endpoint { .. }
            | Self::ExecOutput { .. }
            | Self::PutReport { .. } => Method::Put,
            Self::DeleteReport { .. } => Method::Delete,
            Self::Test(test) => test.method(),
        }
    }

    /// The path that names this route, each parameter one percent-encoded segment.
    pub fn path(&self) -> String {
        match self {
            Self::Health => "/v1/health".into(),
            Self::Register => "/v1/register".into(),
            Self::Heartbeat { node } => of_node(node, &["heartbeat"]),
            Self::RotateKeys => "/v1/keys/rotate".into(),
            Self::Capabilities { node } => of_node(node, &["capabilities"]),
            Self::Endpoint { node } => of_node(node, &["endpoint"]),
            Self::State { node } => of_node(node, &["state"]),
            Self::Reachability { node } => of_node(node, &["reachability"]),
            Self::Events { node } => of_node(node, &["events"]),
            Self::Execution { node, execution } => of_node(node, &["executions", execution]),
            Self::ExecOutput { execution } => joined("/exec-output", &[execution]),
            Self::Session { node, session } => of_node(node, &["sessions", session]),
            Self::Secret { node, key } => of_node(node, &["secrets", key]),
            Self::PutReport { node, key } | Self::DeleteReport { node, key } => {
                of_node(node, &["state", "reports", key])
            }
            Self::Ingest { node, sink } => of_node(node, &[sink.name()]),
            Self::IntegrityViolations { node } => of_node(node, &["integrity-violations"]),
            Self::Local(sink) => joined("/local", &[sink.name()]),
            Self::Release { tag, asset } => joined("/releases", &[tag, asset]),
            Self::OpenApi => "/openapi.json".into(),
            Self::Test(test) => test.path(),
        }
    }
}

fn of_node(node: &str, rest: &[&str]) -> String {
    joined(&joined("/v1/nodes", &[node]), rest)
}

/// A path with more segments behind it, each percent-encoded.
fn joined(start: &str, segments: &[&str]) -> String {
    segments
        .iter()
        .fold(start.to_owned(), |path, segment| format!("{path}/{}", percent_encode(segment)))
}

impl Test {
    /// The method it is called with.
    pub const fn method(&self) -> Method {
        match self {
            Self::Bearer
            | Self::Assertions
            | Self::LastRequest { .. }
            | Self::Requests
            | Self::Faults
            | Self::Executions
            | Self::ExecOutput { .. }
            | Self::Info
            | Self::TlsCert
            | Self::Ui => Method::Get,
            Self::ConfigureState
            | Self::ConfigureHeartbeat
            | Self::ConfigureEndpoint
            | Self::ConfigureEvents
            | Self::ConfigureSecrets
            | Self::InjectEvent
            | Self::Verify
            | Self::AddFault
            | Self::Reset => Method::Post,
            Self::ClearRequests | Self::ClearFaults | Self::RemoveFault { .. } => Method::Delete,
        }
    }

    /// The path that names this route, each parameter one percent-encoded segment.
    pub fn path(&self) -> String {
        match self {
            Self::Bearer => "/test/bearer".into(),
            Self::Assertions => "/test/assertions".into(),
            Self::LastRequest { endpoint } => joined("/test/last-request", &[endpoint]),
            Self::ConfigureState => "/test/configure-state".into(),
            Self::ConfigureHeartbeat => "/test/configure-heartbeat".into(),
            Self::ConfigureEndpoint => "/test/configure-endpoint".into(),
            Self::ConfigureEvents => "/test/configure-events".into(),
            Self::ConfigureSecrets => "/test/configure-secrets".into(),
            Self::InjectEvent => "/test/inject-event".into(),
            Self::Requests | Self::ClearRequests => "/test/requests".into(),
            Self::Verify => "/test/verify".into(),
            Self::Faults | Self::AddFault | Self::ClearFaults => "/test/faults".into(),
            Self::RemoveFault { id } => joined("/test/faults", &[id]),
            Self::Executions => "/test/executions".into(),
            Self::ExecOutput { execution } => joined("/test/exec-output", &[execution]),
            Self::Info => "/test/info".into(),
            Self::Reset => "/test/reset".into(),
            Self::TlsCert => "/test/tls-cert".into(),
            Self::Ui => "/test/ui".into(),
        }
    }
}
