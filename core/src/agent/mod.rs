//! The node agent's decisions, reached through one [`Agent::step`].
//!
//! Each machine is a file of its own; [`Agent`] holds them, gives each its inputs, and turns their effects into the
//! orders of `facts/`. Every call has a [`CallId`], and its answer finds the machine that asked by it.

pub mod archive;
pub mod builtins;
pub mod deeds;
pub mod device;
pub mod events;
pub mod execution;
pub mod facts;
pub mod figures;
pub mod heartbeat;
pub mod hooks;
pub mod integrity;
pub mod local;
pub mod local_runs;
pub mod manifest;
pub mod nat;
pub mod network;
pub mod notice;
pub mod own_reports;
mod pen;
pub mod post;
pub mod pull;
pub mod readiness;
pub mod register;
pub mod reports;
pub mod rotation;
mod scrub;
pub mod secrets;
mod senses;
pub mod service;
pub mod sessions;
pub mod signing;
pub mod standing;
pub mod sync;
pub mod verdict;
pub mod view;
pub mod voice;
pub mod watch;

mod life;
mod status;
mod turn;

use alloc::{boxed::Box, collections::BTreeMap};
use core::time::Duration;

pub use facts::{
    Act, Acted, ActionSettings, Answer, Bytes, CHUNK_MAX, Caller, Captured, Carried, Cause, Change,
    Collect, Collected, Content, Discovery, Door, Effect, Ending, EventSettings, Exit, Failure,
    Feed, FileKind, Filter, Finding, Folder, Forward, FoundContent, FoundFile, FoundHook,
    FoundProgram, FoundSidecar, Gathered, Heard, Held, HostKey, Input, IntegritySettings, Listen,
    LocalSettings, Lost, Measured, Memory, NatSettings, Order, OrderKind, Peer, Pipe, PipeSettings,
    Program, Purpose, Records, Run, RunId, Scan, Seen, SenseSettings, SessionFact, SessionOrder,
    SessionSettings, Settings, Sight, Source, SpoolOrder, Spooled, StagedFile, StateFile, Stored,
    Stream, TcpSettings, TokenFile, TokenSource, TokenSources, Unprepared, Voice, VoiceSettings,
    Wanted,
};
pub use notice::{Level, Notice};
pub use pen::KEEP_RETRY;

use crate::{
    ids::CallId,
    step::Step,
    time::{Mono, Now},
    wire::identity::Identity,
};
use archive::Archive;
use device::Device;
use execution::Dispatch;
use figures::Counts;
use heartbeat::Heartbeat;
use hooks::Hooks;
use life::{Life, Question};
use local_runs::LocalRuns;
use network::Network;
use pull::Pull;
use register::Registration;
use reports::Reports;
use rotation::Rotation;
use secrets::Secrets;
use senses::Senses;
use sessions::Sessions;
use standing::Standing;
use sync::Sync;
use turn::Turn;
use view::View;
use watch::Watch;

/// How long a stop waits for runs to end and for what is under way to be decided.
pub const DRAIN_MAX: Duration = Duration::from_secs(30);

/// Everything the agent knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agent {
    /// When the process was told what it remembers.
    started: Mono,
    registration: Registration,
    identity: Option<Identity>,
    /// What the data directory held of a rotation when the process started.
    staged: StagedFile,
    standing: Standing,
    heartbeat: Heartbeat,
    pull: Pull,
    rotation: Rotation,
    device: Device,
    dispatch: Dispatch,
    hooks: Hooks,
    local_runs: LocalRuns,
    secrets: Secrets,
    sessions: Sessions,
    senses: Senses,
    network: Network,
    view: View,
    voice: voice::Voice,
    last_pull: pull::last::Last,
    archive: Archive,
    reports: Reports,
    sync: Sync,
    watch: Watch,
    /// The calls under way, by the question each asks.
    asked: BTreeMap<CallId, Question>,
    last_call: CallId,
    /// A part of the process has ended by itself.
    broken: bool,
    counts: Box<Counts>,
    life: Life,
}

impl Agent {
    /// Moves on one input.
    pub fn step(self, settings: &Settings, now: Now, input: Input) -> Step<Self, Effect> {
        let asks = matches!(input, Input::Asked { .. } | Input::Acted(Acted::Weighed { .. }));
        if self.life == Life::Over && !asks {
            return Step::to(self);
        }
        let mut turn = Turn::new(self, settings, now);
        turn.take(input);
        turn.done()
    }
}
