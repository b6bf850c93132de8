//! What this node tells of itself: three pipelines, one machine with three names, for metrics, logs and audit.
//!
//! Each asks its sources, holds what they bring, and gives it to the control plane and to its local endpoint, as the
//! tables of `pipeline.rs`, `leg.rs` and `local.rs` say. Nothing is lost without being accounted for (`accounting.rs`),
//! and how far sources were read is kept on the disk once what they brought is done with (`keeping.rs`), so that a
//! crash makes records come twice rather than never.
//!
//! The settings are given to each step; where they have changed, [`Input::Retimed`] lets the ticks follow.
//!
//! Specification: "Observability configuration" and "Agent-side conversion rules for ingest"; `gaps-agent.md` section
//! 4.2; `decisions.md` section 8 (Offsets and cursors of log sources).

mod accounting;
mod batch;
mod buffer;
mod credential;
mod effect;
mod feeds;
pub mod figures;
mod filter;
mod keeping;
mod leg;
mod local;
mod marks;
mod pipeline;
mod spool;
mod turn;

use alloc::vec::Vec;
use core::time::Duration;

pub use accounting::{Reason, TELL_EVERY};
pub use batch::{CHUNK_BYTES_MAX, GZIP_ABOVE};
pub use buffer::{BUFFER_BYTES_MAX, RECORD_BYTES_MAX, bytes_of};
pub use credential::{ASK_AGAIN, ASK_SOON, TOKEN_MAX_AGE};
pub use effect::{Answered, Effect, Input};
pub use feeds::TROUBLES_MAX;
pub use keeping::KEEP_SPACING;
pub use local::{DELIVER_TIMEOUT, PARCELS_MAX};
pub use marks::MARKS_MAX;
pub use spool::{APPEND_RETRY, REOPEN_INTERVAL};

use super::facts::{Pipe, PipeSettings, VoiceSettings};
use crate::{
    step::Step,
    time::{Mono, Now},
    wire::local::ForwarderStatus,
};
use figures::Figures;
use keeping::Keeping;
use pipeline::Pipeline;
use turn::Turn;

/// How long a drain waits for what the pipelines hold.
pub const DRAIN_FLUSH_MAX: Duration = Duration::from_secs(5);

/// The three pipelines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Voice {
    /// In the order of [`Pipe::ALL`]; none before the first of them has anything to do, so that a step moves few words.
    pipes: Vec<Pipeline>,
    keeping: Keeping,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// There has been no identity yet.
    #[default]
    Dormant,
    Armed,
    /// The identity rests.
    Quiet,
    Draining {
        until: Mono,
    },
    /// What is under way still is not waited for.
    Cut,
    Closed,
}

impl Voice {
    /// Moves on one input.
    pub fn step(self, settings: &VoiceSettings, now: Now, input: Input) -> Step<Self, Effect> {
        let mut turn = Turn::new(self, settings, now);
        turn.take(input);
        turn.done()
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub fn wakeup(&self) -> Option<Mono> {
        let is_awaited = !self.pipes.iter().all(Pipeline::is_idle);
        let until = match self.phase {
            Phase::Closed => return None,
            Phase::Draining { until } => is_awaited.then_some(until),
            Phase::Dormant | Phase::Armed | Phase::Quiet | Phase::Cut => None,
        };
        let pipes = self.pipes.iter().map(Pipeline::wakeup);
        pipes.chain([self.keeping.wakeup(), until]).flatten().min()
    }

    /// Whether nothing that a drain waits for is under way.
    pub fn is_idle(&self) -> bool {
        let is_over = matches!(self.phase, Phase::Cut | Phase::Closed);
        self.keeping.is_idle() && (is_over || self.pipes.iter().all(Pipeline::is_idle))
    }

    /// How many records a pipeline holds.
    pub fn held(&self, pipe: Pipe) -> usize {
        self.pipes.get(pipe as usize).map_or(0, Pipeline::held)
    }

    /// What co-located programs are told of a pipeline.
    pub fn status(&self, settings: &VoiceSettings, pipe: Pipe) -> ForwarderStatus {
        let Some(on) = settings_of(settings, pipe) else { return ForwarderStatus::default() };
        let idle = Pipeline::default();
        let pipeline = self.pipes.get(pipe as usize).unwrap_or(&idle);
        ForwarderStatus {
            enabled: true,
            buffer_size: pipeline.held() as u64,
            // The agent tells of itself as well.
            source_count: on.sources.len() as u64 + u64::from(pipe == Pipe::Audit),
            error_count: pipeline.failures(),
            last_report_at: pipeline.last_report(),
        }
    }

    /// What the pipelines that are on have done.
    pub fn figures(&self, settings: &VoiceSettings) -> Figures {
        let idle = Pipeline::default();
        let figures = |pipe: Pipe| {
            let pipeline = self.pipes.get(pipe as usize).unwrap_or(&idle);
            Some(pipeline.figures(pipe, settings_of(settings, pipe)?))
        };
        Figures { pipes: Pipe::ALL.into_iter().filter_map(figures).collect() }
    }
}

/// What is set of a pipeline; nothing where it is off.
pub const fn settings_of(settings: &VoiceSettings, pipe: Pipe) -> Option<&PipeSettings> {
    match pipe {
        Pipe::Metrics => settings.metrics.as_ref(),
        Pipe::Logs => settings.logs.as_ref(),
        Pipe::Audit => settings.audit.as_ref(),
    }
}
