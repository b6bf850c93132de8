//! Bodies of the routes that make the fixture misbehave on purpose.
//!
//! Specification: `decisions.md` sections 6 and 7 (`/test/faults`).

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap as _};

use super::json::Raw;

macro_rules! rule {
    ($($(#[$doc:meta])* $member:ident: $kind:ty,)*) => {
        /// The body of `POST /test/faults` as it came; every member may be left out.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct FaultRule {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $member: Option<$kind>,)*
        }

        impl Serialize for ServedRule<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("id", &self.id)?;
                map.serialize_entry("left", &self.left)?;
                $(if let Some(value) = &self.rule.$member {
                    map.serialize_entry(stringify!($member), value)?;
                })*
                map.end()
            }
        }
    };
}

rule! {
    method: String,
    path: String,
    times: u32,
    /// A number, kept as it was spelled.
    probability: Raw,
    seed: u64,
    delay_ms: u64,
    status: u16,
    code: String,
    /// Whole seconds as a number, or any text that a header can hold.
    retry_after: Raw,
    content_type: String,
    drop: bool,
    reset: String,
    never: bool,
    truncate_after: u64,
    dribble_ms: u64,
    malformed_chunk: bool,
    clock_offset_ms: i64,
    corrupt_signature: bool,
    stream: String,
}

/// A rule as it is served: what was asked for, its name, and how often it will still act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedRule<'r> {
    pub id: u64,
    pub left: u32,
    pub rule: &'r FaultRule,
}

/// What `GET /test/faults` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServedRules<'r> {
    pub faults: Vec<ServedRule<'r>>,
}
