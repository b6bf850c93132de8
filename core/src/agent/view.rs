//! What co-located programs see of the last good pull.
//!
//! Specification: "Local entries" (cache refresh); `decisions.md` section 5 (`version` and `updated_at`).

use alloc::{collections::BTreeMap, string::String};
use core::mem;

use crate::{
    time::Now,
    wire::{
        json::{self, Raw},
        local::{DataEntry, DataSummary, PULLED_CONTENT_TYPE, StateSummary},
        pulled::Unread,
        snapshot::Entries,
        timestamp::Timestamp,
    },
};

/// Metadata and data entries by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    pub metadata: BTreeMap<String, String>,
    pub data: BTreeMap<String, DataEntry>,
}

impl View {
    /// Takes the `state` block of a pull; a null block clears all.
    #[must_use]
    pub fn refreshed(self, now: Now, state: Option<Entries>) -> Self {
        self.refreshed_but(now, state, [&Unread::default(), &Unread::default()])
    }

    /// As [`Self::refreshed`], where some metadata and data could not be read: those stay as they are known.
    #[must_use]
    pub fn refreshed_but(
        mut self,
        now: Now,
        state: Option<Entries>,
        [no_metadata, no_data]: [&Unread; 2],
    ) -> Self {
        let state = state.unwrap_or_default();
        let mut metadata = mem::take(&mut self.metadata);
        metadata.retain(|key, _| no_metadata.may_hold(key));
        metadata.extend(state.metadata.into_iter().map(|entry| (entry.key.0, entry.value)));
        // Of a key listed twice the last value counts, before anything is compared.
        let values: BTreeMap<_, _> =
            state.data.into_iter().map(|entry| (entry.key.0, entry.value)).collect();
        let read: BTreeMap<_, _> =
            values.into_iter().map(|(key, value)| self.entry(now, key, &value)).collect();
        let mut data = mem::take(&mut self.data);
        data.retain(|key, _| no_data.may_hold(key));
        data.extend(read);
        Self { metadata, data }
    }

    /// Keeps version and time while the value is unchanged.
    fn entry(&mut self, now: Now, key: String, value: &str) -> (String, DataEntry) {
        let payload = quoted(value);
        let known = self.data.remove(&key);
        let version = known.as_ref().map_or(0, |known| known.version).saturating_add(1);
        let kept = known.filter(|known| known.payload == payload).unwrap_or_else(|| DataEntry {
            key: key.clone(),
            content_type: PULLED_CONTENT_TYPE.into(),
            payload,
            version,
            updated_at: Timestamp::from(now.wall),
        });
        (key, kept)
    }

    pub fn summary(&self) -> StateSummary {
        StateSummary {
            metadata: self.metadata.clone(),
            data_keys: self.data_keys().collect(),
            ..StateSummary::default()
        }
    }

    pub fn data_keys(&self) -> impl Iterator<Item = DataSummary> {
        self.data.values().map(|entry| DataSummary {
            key: entry.key.clone(),
            version: entry.version,
            content_type: entry.content_type.clone(),
        })
    }
}

/// A text as a JSON string.
fn quoted(text: &str) -> Raw {
    let bytes = json::encode(&text);
    core::str::from_utf8(&bytes).ok().and_then(Raw::parse).expect("an encoded string is JSON")
}
