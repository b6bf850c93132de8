//! Metrics, logs and audit records, and the receipt for a batch of them.
//!
//! Every rule of a record is a type here: what decodes is a good record, and an agent cannot build another one.
//!
//! Specification: "Ingest records"; `decisions.md` sections 5 (Ingest limits) and 7 (`metrics.value`, NUL, Zero
//! timestamp, Label names).

pub mod encode;

use alloc::vec::Vec;
use core::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use super::{
    json::{Fault, decode_strict, decode_tolerant},
    text::{Filled, Identifier, Label, Text},
    timestamp::Timestamp,
};

/// The longest batch as it is sent, in bytes.
pub const WIRE_MAX: usize = 4 << 20;

/// The longest batch after inflating, in bytes.
pub const INFLATED_MAX: usize = 16 << 20;

/// The most records of one batch.
pub const RECORDS_MAX: usize = 10_000;

/// The header that tells when a batch was sent, behind the prefix of the contract's headers.
pub const SENT_AT: &str = "Sent-At";

/// One measured value; a batch is a JSON array of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricSample<'t> {
    pub group: MetricGroup,
    #[serde(borrow)]
    pub name: Identifier<'t>,
    pub value: Finite,
    #[serde(borrow, default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels<'t>,
    pub timestamp: Stamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricGroup {
    NodeResources,
    TunnelHealth,
    PeerLatency,
    AgentStats,
}

/// One line of a log; a batch is NDJSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine<'t> {
    pub severity: Severity,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Label<'t>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<Label<'t>>,
    #[serde(borrow)]
    pub message: Filled<'t>,
    pub timestamp: Stamp,
}

/// The severities of syslog, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Emerg,
    Alert,
    Crit,
    Err,
    Warning,
    Notice,
    Info,
    Debug,
}

impl Severity {
    /// The gravest first.
    pub const ALL: [Self; 8] = [
        Self::Emerg,
        Self::Alert,
        Self::Crit,
        Self::Err,
        Self::Warning,
        Self::Notice,
        Self::Info,
        Self::Debug,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Emerg => "emerg",
            Self::Alert => "alert",
            Self::Crit => "crit",
            Self::Err => "err",
            Self::Warning => "warning",
            Self::Notice => "notice",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name() == text)
    }
}

/// One audited event; a batch is NDJSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEvent<'t> {
    pub source: AuditSource,
    #[serde(borrow)]
    pub action: Identifier<'t>,
    #[serde(borrow)]
    pub outcome: Filled<'t>,
    pub timestamp: Stamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditSource {
    Auditd,
    K8s,
}

/// What the control plane answers to a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IngestReceipt {
    pub accepted_at: Timestamp,
    pub records: u64,
}

/// A number that JSON can hold.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Finite(f64);

impl Finite {
    /// `None` for an infinity and for what is no number.
    pub fn new(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self(value))
    }

    pub const fn value(self) -> f64 {
        self.0
    }
}

impl<'t> Deserialize<'t> for Finite {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Self::new(value).ok_or_else(|| de::Error::custom("must be a finite number"))
    }
}

/// A point in time that is set: any but `0001-01-01T00:00:00Z`, whatever its spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Stamp(Timestamp);

impl Stamp {
    /// `None` for the instant that stands for "not set".
    pub fn new(at: Timestamp) -> Option<Self> {
        (!at.is_zero()).then_some(Self(at))
    }

    pub const fn at(self) -> Timestamp {
        self.0
    }
}

impl<'t> Deserialize<'t> for Stamp {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        let unset = || de::Error::custom("must be set, 0001-01-01T00:00:00Z stands for no time");
        Self::new(Timestamp::deserialize(deserializer)?).ok_or_else(unset)
    }
}

/// The labels of a sample, in the order they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels<'t>(pub Vec<(Label<'t>, Text<'t>)>);

impl Labels<'_> {
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Labels<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de: 't, 't> Deserialize<'de> for Labels<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'t> Visitor<'t> for Pairs {
            type Value = Labels<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut members: A) -> Result<Labels<'t>, A::Error> {
                let mut labels = Vec::new();
                while let Some(label) = members.next_entry()? {
                    labels.push(label);
                }
                Ok(Labels(labels))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// The number of elements of an array, each of them read as a `T` and let go.
struct Count<T>(usize, PhantomData<T>);

impl<'t, T: Deserialize<'t>> Deserialize<'t> for Count<T> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counter<T>(PhantomData<T>);
        impl<'t, T: Deserialize<'t>> Visitor<'t> for Counter<T> {
            type Value = Count<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'t>>(self, mut elements: A) -> Result<Count<T>, A::Error> {
                let mut count = 0;
                while elements.next_element::<T>()?.is_some() {
                    count += 1;
                }
                Ok(Count(count, PhantomData))
            }
        }
        deserializer.deserialize_seq(Counter(PhantomData))
    }
}

/// Reads an array of samples strictly and counts them.
pub fn count_samples(text: &[u8]) -> Result<usize, Fault> {
    decode_strict::<Count<MetricSample<'_>>>(text).map(|count| count.0)
}

/// Counts the elements of any array; `None` where the text is none.
pub fn count_elements(text: &[u8]) -> Option<usize> {
    decode_tolerant::<Count<IgnoredAny>>(text).ok().map(|count| count.0)
}
