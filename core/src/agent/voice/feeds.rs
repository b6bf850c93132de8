//! What sources tell of their troubles, and what they lose themselves.
//!
//! | Troubles of a round | Told |
//! |---|---|
//! | one that the round before did not have, digits aside | at once, as a warning |
//! | the same as before | again after [`TELL_AGAIN`] |
//! | none, behind some | once, that the source is well again |

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use super::figures::SourceFigures;
use crate::{
    agent::{
        facts::Source,
        notice::{Notice, one_line, streak::TELL_AGAIN},
    },
    time::Mono,
};

/// How many troubles of one round are told.
pub const TROUBLES_MAX: usize = 8;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Feeds(BTreeMap<Source, Known>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    lost: u64,
    /// Those of the last round without their digits, each with when it was told.
    troubles: BTreeMap<String, Mono>,
}

impl Feeds {
    /// Takes what a round told of a source.
    pub(super) fn heard(
        &mut self,
        now: Mono,
        source: Source,
        troubles: Vec<String>,
        lost: u64,
    ) -> Vec<Notice> {
        let known = self.0.entry(source).or_default();
        known.lost += lost;
        if troubles.is_empty() {
            let had = !core::mem::take(&mut known.troubles).is_empty();
            let well = format!("nothing is amiss any more with collecting from {}", source.name());
            return had.then(|| Notice::info(well)).into_iter().collect();
        }
        let (mut still, mut told) = (BTreeMap::new(), Vec::new());
        for trouble in troubles.into_iter().take(TROUBLES_MAX).map(one_line) {
            let kind: String = trouble.chars().filter(|one| !one.is_ascii_digit()).collect();
            let before = known.troubles.get(&kind).or_else(|| still.get(&kind)).copied();
            let is_fresh = before.is_some_and(|at| now.since(at) < TELL_AGAIN);
            if !is_fresh {
                told.push(Notice::warn(format!("collecting from {}: {trouble}", source.name())));
            }
            still.insert(kind, before.filter(|_| is_fresh).unwrap_or(now));
        }
        known.troubles = still;
        told
    }

    pub(super) fn figures(&self) -> Vec<SourceFigures> {
        let figures = |(source, known): (&Source, &Known)| SourceFigures {
            source: *source,
            troubles: known.troubles.len() as u64,
            lost: known.lost,
        };
        self.0.iter().map(figures).collect()
    }
}
