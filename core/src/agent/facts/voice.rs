//! What the agent collects and brings away: metrics, logs and audit records.

use alloc::{collections::BTreeSet, string::String, sync::Arc, vec::Vec};
use core::{fmt, net::IpAddr, time::Duration};

use super::acts::Bytes;
use crate::{
    ids::CallId,
    secret::Secret,
    wire::{
        http::Request,
        positions::{Position, Positions},
        record::{AuditEntry, LogEntry, MetricPoint},
    },
};

/// One of the three pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pipe {
    Metrics,
    Logs,
    Audit,
}

impl Pipe {
    pub const ALL: [Self; 3] = [Self::Metrics, Self::Logs, Self::Audit];

    /// Its section of the configuration, and the last part of its routes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Logs => "logs",
            Self::Audit => "audit",
        }
    }
}

/// Where records come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The kernel's numbers of this node.
    System,
    /// The numbers of this process.
    Stats,
    /// The peers of the tunnel.
    Peers,
    Journald,
    Files,
    Auditd,
    K8sAudit,
}

impl Source {
    /// Its name, fit for a label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Stats => "stats",
            Self::Peers => "peers",
            Self::Journald => "journald",
            Self::Files => "files",
            Self::Auditd => "auditd",
            Self::K8sAudit => "k8s_audit",
        }
    }
}

/// An order of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Voice {
    /// Ask sources of the pipeline once; answered by [`Collected`], soon even where a source hangs: what such a one
    /// brings comes with a later round.
    Collect(Collect),
    /// Bring a batch to the control plane; answered by [`Input::Answered`](super::Input::Answered) within the timeout.
    /// A request that says `Content-Encoding: gzip` holds its body as it is, and is compressed on the way.
    Ship { call: CallId, request: Request, timeout: Duration, answer_max: usize },
    /// Bring a batch to the local endpoint of the pipeline; answered likewise.
    Deliver { call: CallId, pipe: Pipe, body: Bytes, token: Secret<String>, timeout: Duration },
    /// Keep records on the disk, or bring them back; answered by [`Spooled`]. One at a time of each pipeline.
    Spool { pipe: Pipe, order: SpoolOrder },
}

/// What is to be done with the records on the disk.
#[derive(Clone, Debug, PartialEq)]
pub enum SpoolOrder {
    /// Make the folder where it is missing, and count what an earlier process left. First of all, and again where it failed.
    Open,
    /// Put these behind those that are there. Where there is not room for all of them the oldest are given up, if they are
    /// to give way, and otherwise as many are put there as there is room for.
    Append { records: Records, gives_way: bool },
    /// Bring back the oldest, at most so many. They stay until they are settled.
    Read { most: usize },
    /// So many of what was read last and is not settled, the oldest of it, are done with.
    Settle { records: u64 },
}

impl Eq for SpoolOrder {}

/// What the disk tells of its records; how many wait is told with each, and whether little room is left beside them.
#[derive(Clone, Debug, PartialEq)]
pub enum Spooled {
    /// What an earlier process left is counted; `damaged` counts bytes of files that hold no record.
    Opened { waiting: u64, is_full: bool, damaged: u64 },
    /// There is no spool; the text tells the path, the cause and the mend.
    Failed(String),
    /// All are durable, but for those that are given up (the oldest for want of room, or one that is too long), and for the
    /// rest, the last of them, which is not there.
    Appended { waiting: u64, is_full: bool, given_up: u64, rest: Records },
    /// None of these is on the disk; the text tells why.
    Refused { records: Records, reason: String },
    /// The oldest; there are none where nothing sound waits. `damaged` counts bytes that are no record.
    Read { records: Records, damaged: u64 },
    /// They cannot be read now, and stay where they are; the text tells why.
    Unread(String),
    /// Done with.
    Settled { waiting: u64, is_full: bool },
}

impl Eq for Spooled {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collect {
    pub pipe: Pipe,
    /// Which round this is; [`Collected`] brings it back.
    pub round: u64,
    /// The only sources to ask, which have more; without them every source.
    pub only: Option<BTreeSet<Source>>,
    /// How many records each source that can wait may bring; the others bring what there is.
    pub room: usize,
    /// With the first round: where the sources go on.
    pub from: Option<Positions>,
    /// The peers to measure, with their addresses in the mesh; of the metrics alone.
    pub peers: Vec<(String, IpAddr)>,
}

/// What a round of collecting brought.
#[derive(Clone, Debug, PartialEq)]
pub struct Collected {
    pub pipe: Pipe,
    pub round: u64,
    pub feeds: Vec<Feed>,
}

/// What is no number is left out where a record is made.
impl Eq for Collected {}

/// What one source brought.
#[derive(Clone, Debug, PartialEq)]
pub struct Feed {
    pub source: Source,
    pub records: Records,
    /// Where the source goes on behind these records; `None` of a place that is gone. They are kept once every record
    /// of this feed, and of those before it, is sent or given up.
    pub marks: Vec<(String, Option<Position>)>,
    /// More can be had at once.
    pub more: bool,
    /// Records that the source itself had to let go, as where the kernel's queue overflowed.
    pub lost: u64,
    /// What went wrong, each in words that name the place and the mend; the rest was brought all the same.
    pub troubles: Vec<String>,
}

impl Eq for Feed {}

/// Records of one kind; how many is all that is ever shown of them.
#[derive(Clone, PartialEq)]
pub enum Records {
    Points(Vec<MetricPoint>),
    Lines(Vec<LogEntry>),
    Events(Vec<AuditEntry>),
}

impl Records {
    pub fn len(&self) -> usize {
        match self {
            Self::Points(points) => points.len(),
            Self::Lines(lines) => lines.len(),
            Self::Events(events) => events.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes those from this one on out.
    #[must_use]
    pub fn split_off(&mut self, at: usize) -> Self {
        match self {
            Self::Points(points) => Self::Points(points.split_off(at)),
            Self::Lines(lines) => Self::Lines(lines.split_off(at)),
            Self::Events(events) => Self::Events(events.split_off(at)),
        }
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Points(_) => "points",
            Self::Lines(_) => "lines",
            Self::Events(_) => "events",
        };
        write!(f, "{} {kind}", self.len())
    }
}

/// What of itself an agent tells; each part is absent where it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VoiceSettings {
    pub metrics: Option<PipeSettings>,
    pub logs: Option<PipeSettings>,
    pub audit: Option<PipeSettings>,
    pub filter: Filter,
    /// Of this node, as its records name it.
    pub hostname: Arc<str>,
    /// Whether there is a tunnel whose peers can be measured.
    pub peers: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipeSettings {
    pub collect_interval: Duration,
    pub report_interval: Duration,
    pub batch_size: usize,
    /// Whether records wait on the disk.
    pub spool: bool,
    /// Where a copy goes, and the secret of the control plane that opens it.
    pub local: Option<LocalSettings>,
    /// The sources that are asked.
    pub sources: Vec<Source>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalSettings {
    pub url: String,
    pub secret_key: String,
    pub tls_insecure_skip_verify: bool,
}

/// Which lines of logs are kept: by severity first, then only the units included, then none of those excluded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub min_severity: Option<crate::wire::ingest::Severity>,
    pub include_units: Vec<String>,
    pub exclude_units: Vec<String>,
}
