//! What the pipelines are told and order, and what one of them has before it during a step.

use alloc::{boxed::Box, collections::BTreeSet, string::String, vec::Vec};

use crate::{
    agent::{
        facts::{
            Bytes, Change, Collected, Filter, FoundContent, Pipe, PipeSettings, Source, SpoolOrder,
            Spooled,
        },
        notice::Notice,
        verdict::ingest::Shipped,
    },
    secret::Secret,
    time::Now,
    wire::{positions::Positions, record::AuditEntry},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// What a start found of the positions on the disk.
    Loaded(FoundContent),
    /// There is an identity to send under.
    Armed,
    Collected(Box<Collected>),
    /// This agent did something.
    Did(Box<AuditEntry>),
    Answered(Pipe, Answered),
    /// The disk told of the records of a pipeline.
    Spooled(Pipe, Box<Spooled>),
    /// A change of the file of the positions is durable, or was refused.
    Kept(Result<(), String>),
    /// The identity rests: what is collected waits.
    Quieted,
    /// The settings have changed.
    Retimed,
    Draining,
    /// The process ends.
    Closed,
    Ticked,
}

/// What one pipeline has waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// By the control plane, about a batch.
    Shipped(Shipped),
    /// By the local endpoint, about a batch.
    Delivered(Result<(), String>),
    /// The token of the local endpoint.
    Fetched(Result<Secret<String>, String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Ask every source of the pipeline once, or only these, which have more.
    Collect {
        pipe: Pipe,
        round: u64,
        only: Option<BTreeSet<Source>>,
        room: usize,
        from: Option<Positions>,
    },
    /// Bring a batch to the control plane.
    Ship {
        pipe: Pipe,
        body: Bytes,
    },
    /// Bring a batch to the local endpoint.
    Deliver {
        pipe: Pipe,
        body: Bytes,
        token: Secret<String>,
    },
    /// Fetch and open this secret, the token of the local endpoint.
    Fetch {
        pipe: Pipe,
        key: String,
    },
    /// Keep records on the disk, or bring them back.
    Spool {
        pipe: Pipe,
        order: SpoolOrder,
    },
    /// Change the file of the positions.
    Keep(Change),
    /// The control plane has taken a batch of this node.
    Admitted,
    /// The control plane does not admit this node.
    Unauthorized,
    Tell(Notice),
}

/// One pipeline's part of a step.
pub(super) struct Desk<'d> {
    pub(super) pipe: Pipe,
    pub(super) settings: &'d PipeSettings,
    pub(super) filter: &'d Filter,
    /// How far sources were read.
    pub(super) positions: &'d Positions,
    pub(super) now: Now,
    pub(super) effects: &'d mut Vec<Effect>,
}

impl Desk<'_> {
    pub(super) fn tell(&mut self, notice: Notice) {
        self.effects.push(Effect::Tell(notice));
    }

    /// "twice the batch size"
    pub(super) const fn records_max(&self) -> usize {
        self.settings.batch_size.saturating_mul(2)
    }
}
