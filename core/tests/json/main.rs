//! The JSON door: what it takes, what it refuses and where, and that no fault holds a value.

mod differential;
mod member;
mod raw;
#[path = "../support/seeds.rs"]
mod seeds;
mod text;

use std::collections::BTreeMap;

use meshward_core::wire::json::{Fault, Raw, decode_strict, decode_tolerant};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Outer {
    pub(crate) count: u16,
    pub(crate) signed: i64,
    pub(crate) big: u64,
    pub(crate) share: f64,
    pub(crate) is_on: bool,
    pub(crate) name: String,
    pub(crate) inner: Option<Inner>,
    pub(crate) list: Vec<Inner>,
    pub(crate) map: BTreeMap<String, Inner>,
    pub(crate) raw: Option<Raw>,
    pub(crate) kind: Option<Letter>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Inner {
    pub(crate) name: String,
    pub(crate) raw: Option<Raw>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Letter {
    Alpha,
    Beta,
}

pub(crate) fn strict<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    decode_strict(text.as_bytes())
}

pub(crate) fn tolerant<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    decode_tolerant(text.as_bytes())
}

/// Refused by both doors for the same reason, which is returned.
#[track_caller]
pub(crate) fn refused(text: &str) -> Fault {
    let fault = strict::<Outer>(text).expect_err(text);
    assert_eq!(tolerant::<Outer>(text).expect_err(text), fault, "{text}");
    fault
}
