//! What a node collects of itself, in the shapes in which it keeps and hands it on.
//!
//! | Record | From | Sent to the control plane as |
//! |---|---|---|
//! | [`MetricPoint`] | the kernel, the tunnel, this process | one sample a [`Reading`] |
//! | [`LogEntry`] | the journal, files | one line |
//! | [`AuditEntry`] | the audit of the kernel, that of Kubernetes, this agent | one event, but for those of this agent |
//!
//! Specification: "Internal record shapes (local endpoint delivery)", "Agent-side conversion rules for ingest".

pub mod encode;

use alloc::{string::String, sync::Arc, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{ingest::Severity, timestamp::Timestamp};

/// The longest message of a log and the longest raw text of an audited event, in bytes; what is longer is cut.
pub const TEXT_MAX: usize = 16 << 10;

/// What stands behind a text that was cut.
pub const CUT: &str = "[truncated]";

/// Numbers of one thing, taken at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricPoint {
    pub timestamp: Timestamp,
    pub group: PointGroup,
    /// Of the groups that are about a peer.
    pub peer_id: Option<String>,
    /// In the order of the table; no name twice.
    #[serde(with = "bits")]
    pub data: Vec<(Reading, f64)>,
}

/// What a point is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointGroup {
    System,
    Tunnel,
    Latency,
    Agent,
}

/// What was read; its name is that of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    CpuUsagePercent,
    MemoryUsedBytes,
    MemoryTotalBytes,
    DiskUsedBytes,
    DiskTotalBytes,
    NetworkRxBytes,
    NetworkTxBytes,
    LoadAvg1,
    LoadAvg5,
    LoadAvg15,
    RxBytes,
    TxBytes,
    HandshakeSucceeded,
    HandshakeStale,
    PacketLossPercent,
    LastHandshakeTimestampSeconds,
    RttSeconds,
    GoroutineCount,
    HeapAllocBytes,
    HeapSysBytes,
    GcPauseTotalNs,
    GcNumGc,
    UptimeSeconds,
    ReconnectCount,
}

impl Reading {
    /// Every one, in the order of the table.
    pub const ALL: [Self; 24] = [
        Self::CpuUsagePercent,
        Self::MemoryUsedBytes,
        Self::MemoryTotalBytes,
        Self::DiskUsedBytes,
        Self::DiskTotalBytes,
        Self::NetworkRxBytes,
        Self::NetworkTxBytes,
        Self::LoadAvg1,
        Self::LoadAvg5,
        Self::LoadAvg15,
        Self::RxBytes,
        Self::TxBytes,
        Self::HandshakeSucceeded,
        Self::HandshakeStale,
        Self::PacketLossPercent,
        Self::LastHandshakeTimestampSeconds,
        Self::RttSeconds,
        Self::GoroutineCount,
        Self::HeapAllocBytes,
        Self::HeapSysBytes,
        Self::GcPauseTotalNs,
        Self::GcNumGc,
        Self::UptimeSeconds,
        Self::ReconnectCount,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::CpuUsagePercent => "cpu_usage_percent",
            Self::MemoryUsedBytes => "memory_used_bytes",
            Self::MemoryTotalBytes => "memory_total_bytes",
            Self::DiskUsedBytes => "disk_used_bytes",
            Self::DiskTotalBytes => "disk_total_bytes",
            Self::NetworkRxBytes => "network_rx_bytes",
            Self::NetworkTxBytes => "network_tx_bytes",
            Self::LoadAvg1 => "load_avg_1",
            Self::LoadAvg5 => "load_avg_5",
            Self::LoadAvg15 => "load_avg_15",
            Self::RxBytes => "rx_bytes",
            Self::TxBytes => "tx_bytes",
            Self::HandshakeSucceeded => "handshake_succeeded",
            Self::HandshakeStale => "handshake_stale",
            Self::PacketLossPercent => "packet_loss_percent",
            Self::LastHandshakeTimestampSeconds => "last_handshake_timestamp_seconds",
            Self::RttSeconds => "rtt_seconds",
            Self::GoroutineCount => "goroutine_count",
            Self::HeapAllocBytes => "heap_alloc_bytes",
            Self::HeapSysBytes => "heap_sys_bytes",
            Self::GcPauseTotalNs => "gc_pause_total_ns",
            Self::GcNumGc => "gc_num_gc",
            Self::UptimeSeconds => "uptime_seconds",
            Self::ReconnectCount => "reconnect_count",
        }
    }
}

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEntry {
    pub timestamp: Timestamp,
    pub source: LogSource,
    /// The unit of the journal or the path of the file; may be empty.
    pub unit: Arc<str>,
    /// At most [`TEXT_MAX`] bytes and [`CUT`].
    pub message: String,
    pub severity: Severity,
    pub hostname: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogSource {
    Journald,
    File,
}

/// Something that was done, and by whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditEntry {
    pub timestamp: Timestamp,
    pub source: AuditOrigin,
    pub event_type: String,
    /// JSON.
    pub subject: String,
    /// JSON.
    pub object: String,
    /// May be empty, and is then not sent to the control plane.
    pub action: String,
    /// Absent where the event tells none; it is then not sent to the control plane.
    pub result: Option<Outcome>,
    pub hostname: Arc<str>,
    /// As it was read, at most [`TEXT_MAX`] bytes and [`CUT`].
    pub raw: String,
}

impl AuditEntry {
    /// What it takes in memory, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self) + self.text_bytes()
    }

    /// What its texts take, in bytes.
    pub fn text_bytes(&self) -> usize {
        let texts = [&self.event_type, &self.subject, &self.object, &self.action, &self.raw];
        texts.into_iter().map(String::len).sum()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditOrigin {
    Auditd,
    K8sAudit,
    /// This agent itself; the control plane has no word for it.
    Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Success,
    Failure,
}

/// Numbers as their bits, which is the one way back to the very same ones.
mod bits {
    use alloc::vec::Vec;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::Reading;

    pub(super) fn serialize<S: Serializer>(
        data: &[(Reading, f64)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(data.iter().map(|(reading, value)| (reading, value.to_bits())))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(Reading, f64)>, D::Error> {
        let pairs = Vec::<(Reading, u64)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().map(|(reading, bits)| (reading, f64::from_bits(bits))).collect())
    }
}
