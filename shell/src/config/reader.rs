//! Checked values by their paths; one that is absent or was refused reads as the empty value of its kind.

use std::{path::PathBuf, time::Duration};

use meshward_core::secret::Secret;

use super::{
    layers::{Held, Merged},
    listen::ListenAddress,
    value::Value,
};

/// Reads checked values by their paths.
pub(super) struct Reader<'m>(pub(super) &'m Merged);

impl Reader<'_> {
    pub(super) fn value(&self, path: &str) -> Option<&Value> {
        self.0.held.get(path).and_then(|Held { value, .. }| value.as_ref())
    }

    pub(super) fn text(&self, path: &str) -> Option<String> {
        match self.value(path) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    pub(super) fn path(&self, path: &str) -> Option<PathBuf> {
        self.text(path).map(PathBuf::from)
    }

    pub(super) fn flag(&self, path: &str) -> bool {
        matches!(self.value(path), Some(Value::Flag(true)))
    }

    pub(super) fn duration(&self, path: &str) -> Duration {
        match self.value(path) {
            Some(Value::Duration(duration)) => *duration,
            _ => Duration::ZERO,
        }
    }

    pub(super) fn integer<T: TryFrom<u64> + Default>(&self, path: &str) -> T {
        match self.value(path) {
            Some(Value::Integer(number)) => T::try_from(*number).unwrap_or_default(),
            _ => T::default(),
        }
    }

    pub(super) fn list(&self, path: &str) -> Vec<String> {
        match self.value(path) {
            Some(Value::List(entries)) => entries.clone(),
            _ => Vec::new(),
        }
    }

    pub(super) fn secret(&self, path: &str) -> Option<Secret<String>> {
        match self.value(path) {
            Some(Value::Secret(secret)) => Some(secret.clone()),
            _ => None,
        }
    }

    pub(super) fn listen(&self, path: &str) -> ListenAddress {
        self.text(path)
            .and_then(|text| ListenAddress::parse(&text))
            .unwrap_or(ListenAddress::Everywhere(0))
    }
}
