//! Batches for a local endpoint: a JSON array of records in the shapes in which a node keeps them.
//!
//! Members that may be absent are left out where they are empty: `peer_id`, `unit`, `action`, `result` and `raw`.
//!
//! Specification: "Internal record shapes (local endpoint delivery)".

use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::{
    ingest::{Finite, Severity},
    json::Raw,
    record::{
        AuditEntry, AuditOrigin, LogEntry, LogSource, MetricPoint, Outcome, PointGroup, Reading,
    },
    timestamp::Timestamp,
};

/// A point, borrowed.
#[derive(Debug, Serialize)]
pub struct Point<'r> {
    timestamp: Timestamp,
    group: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_id: Option<&'r str>,
    data: Data<'r>,
}

impl<'r> From<&'r MetricPoint> for Point<'r> {
    fn from(point: &'r MetricPoint) -> Self {
        Self {
            timestamp: point.timestamp,
            group: match point.group {
                PointGroup::System => "system",
                PointGroup::Tunnel => "tunnel",
                PointGroup::Latency => "latency",
                PointGroup::Agent => "agent",
            },
            peer_id: point.peer_id.as_deref(),
            data: Data(&point.data),
        }
    }
}

/// The numbers of a point; one that JSON cannot hold is left out.
#[derive(Debug)]
struct Data<'r>(&'r [(Reading, f64)]);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        for (reading, value) in self.0 {
            if let Some(value) = Finite::new(*value) {
                members.serialize_entry(name(*reading), &value)?;
            }
        }
        members.end()
    }
}

/// A line of a log, borrowed.
#[derive(Debug, Serialize)]
pub struct Line<'r> {
    timestamp: Timestamp,
    source: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    unit: &'r str,
    message: &'r str,
    severity: Severity,
    hostname: &'r str,
}

impl<'r> From<&'r LogEntry> for Line<'r> {
    fn from(line: &'r LogEntry) -> Self {
        Self {
            timestamp: line.timestamp,
            source: match line.source {
                LogSource::Journald => "journald",
                LogSource::File => "file",
            },
            unit: &line.unit,
            message: &line.message,
            severity: line.severity,
            hostname: &line.hostname,
        }
    }
}

/// An audited event, borrowed.
#[derive(Debug, Serialize)]
pub struct Entry<'r> {
    timestamp: Timestamp,
    source: &'static str,
    event_type: &'r str,
    subject: Json<'r>,
    object: Json<'r>,
    #[serde(skip_serializing_if = "str::is_empty")]
    action: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'static str>,
    hostname: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    raw: &'r str,
}

impl<'r> From<&'r AuditEntry> for Entry<'r> {
    fn from(entry: &'r AuditEntry) -> Self {
        Self {
            timestamp: entry.timestamp,
            source: match entry.source {
                AuditOrigin::Auditd => "auditd",
                AuditOrigin::K8sAudit => "k8s-audit",
                AuditOrigin::Process => "process",
            },
            event_type: &entry.event_type,
            subject: Json(&entry.subject),
            object: Json(&entry.object),
            action: &entry.action,
            result: entry.result.map(outcome),
            hostname: &entry.hostname,
            raw: &entry.raw,
        }
    }
}

/// A text of JSON, written as it is; one that is none is written as a string.
#[derive(Debug)]
struct Json<'r>(&'r str);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match Raw::parse(self.0) {
            Some(raw) => raw.serialize(serializer),
            None => serializer.serialize_str(self.0),
        }
    }
}

/// How an audited event ended, in the word of the specification.
pub const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Success => "success",
        Outcome::Failure => "failure",
    }
}

/// The name of a number, which is also that of its sample.
pub const fn name(reading: Reading) -> &'static str {
    match reading {
        Reading::CpuUsagePercent => "cpu_usage_percent",
        Reading::MemoryUsedBytes => "memory_used_bytes",
        Reading::MemoryTotalBytes => "memory_total_bytes",
        Reading::DiskUsedBytes => "disk_used_bytes",
        Reading::DiskTotalBytes => "disk_total_bytes",
        Reading::NetworkRxBytes => "network_rx_bytes",
        Reading::NetworkTxBytes => "network_tx_bytes",
        Reading::LoadAvg1 => "load_avg_1",
        Reading::LoadAvg5 => "load_avg_5",
        Reading::LoadAvg15 => "load_avg_15",
        Reading::RxBytes => "rx_bytes",
        Reading::TxBytes => "tx_bytes",
        Reading::HandshakeSucceeded => "handshake_succeeded",
        Reading::HandshakeStale => "handshake_stale",
        Reading::PacketLossPercent => "packet_loss_percent",
        Reading::LastHandshakeTimestampSeconds => "last_handshake_timestamp_seconds",
        Reading::RttSeconds => "rtt_seconds",
        Reading::GoroutineCount => "goroutine_count",
        Reading::HeapAllocBytes => "heap_alloc_bytes",
        Reading::HeapSysBytes => "heap_sys_bytes",
        Reading::GcPauseTotalNs => "gc_pause_total_ns",
        Reading::GcNumGc => "gc_num_gc",
        Reading::UptimeSeconds => "uptime_seconds",
        Reading::ReconnectCount => "reconnect_count",
    }
}
