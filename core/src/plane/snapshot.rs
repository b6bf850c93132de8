//! The desired state: configured as a whole, served sorted, its executions and sessions projected at each pull.
//!
//! | Configured | Served as |
//! |---|---|
//! | an execution or session whose deadline is absent or not in the future | omitted |
//! | an execution that has reached a terminal status | omitted |
//! | a tracked execution | with its live status |
//! | anything else | as configured |
//!
//! Specification: "State snapshot" and "GET /v1/nodes/{id}/state"; `decisions.md` sections 5 (Snapshot sorting) and 7
//! (configure-state). Unspecified: an entry without a status is pending; a session whose target is left out is served
//! with an empty one, as every member may be left out, but one that is given has exactly one member.

use alloc::{
    borrow::Cow, boxed::Box, collections::BTreeMap, string::ToString, sync::Arc, vec::Vec,
};

use thiserror::Error;

use super::{default_snapshot::default_snapshot, reports, site};
use crate::{
    ids::ExecutionId,
    step::Step,
    time::{Now, Wall},
    wire::{
        execution::{Execution, Status},
        grammar::ReportKey,
        http::{Body, UNREADABLE},
        json::{self, Fault, Raw},
        snapshot::{Entries, Entry, Projection, Session, Snapshot},
        timestamp::Spelled,
    },
};

/// A fact for the desired state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The whole snapshot was replaced.
    Configured(Box<Snapshot>),
    /// The node reported; the body passed its checks.
    Reported(Entry),
    /// The node withdrew the report of this key.
    Withdrawn(ReportKey),
}

/// An order of the desired state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Let each of these executions that is not known begin in its status.
    Seed(BTreeMap<ExecutionId, Status>),
    /// Confirm what was done to a report.
    Accept,
    Refuse(reports::Refusal),
}

/// Why a snapshot is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the body is over 16 MiB")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the body is not a state snapshot: {0}")]
    Malformed(Fault),
    #[error("reachability: must be an object or null")]
    Reachability,
    #[error("executions[{0}].parameters: must be an object or null")]
    Parameters(usize),
    #[error("executions[{0}].status: must be pending, ack or started")]
    Status(usize),
    #[error("sessions[{0}].target: must have exactly one of ssh, k8s and tcp")]
    Target(usize),
}

/// The snapshot in force, in the order it is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired(Arc<Snapshot>);

impl Default for Desired {
    fn default() -> Self {
        Self(Arc::new(default_snapshot()))
    }
}

const PENDING: &str = "pending";

/// Reads a snapshot out of a request body.
pub fn read(body: &Body) -> Result<Snapshot, Refusal> {
    let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
    let snapshot: Snapshot = json::decode_strict(bytes).map_err(Refusal::Malformed)?;
    if snapshot.reachability.as_ref().is_some_and(|raw| !raw.is_object()) {
        return Err(Refusal::Reachability);
    }
    for (at, entry) in snapshot.executions.iter().enumerate() {
        if entry.parameters.as_ref().is_some_and(|raw| !raw.is_object()) {
            return Err(Refusal::Parameters(at));
        }
        if !matches!(entry.status.as_str(), "" | PENDING) && seed(entry).is_none() {
            return Err(Refusal::Status(at));
        }
    }
    let mut sessions = snapshot.sessions.iter().flatten();
    match sessions.position(|entry| entry.target.as_ref().is_some_and(|target| !target.is_one())) {
        Some(at) => Err(Refusal::Target(at)),
        None => Ok(snapshot),
    }
}

/// The status in which an entry lets an unknown execution begin.
fn seed(entry: &Execution) -> Option<Status> {
    [Status::Ack, Status::Started].into_iter().find(|status| status.as_str() == entry.status)
}

impl Desired {
    /// Moves on one input.
    pub fn step(self, _now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Configured(snapshot) => Self::configured(*snapshot),
            Input::Reported(entry) => self.edit(|snapshot| reports::put(snapshot, &entry)),
            Input::Withdrawn(key) => self.edit(|snapshot| reports::delete(snapshot, &key)),
        }
    }

    fn configured(snapshot: Snapshot) -> Step<Self, Effect> {
        let entries = snapshot.executions.iter();
        let seeds: BTreeMap<ExecutionId, Status> = entries
            .filter_map(|entry| Some((ExecutionId(entry.execution_id.0.clone()), seed(entry)?)))
            .collect();
        Step::to(Self(Arc::new(sorted(snapshot)))).emit(Effect::Seed(seeds))
    }

    /// Changes a copy where somebody still reads the snapshot.
    fn edit(
        mut self,
        change: impl FnOnce(&mut Snapshot) -> Result<(), reports::Refusal>,
    ) -> Step<Self, Effect> {
        let effect = match change(Arc::make_mut(&mut self.0)) {
            Ok(()) => Effect::Accept,
            Err(refusal) => Effect::Refuse(refusal),
        };
        Step::to(self).emit(effect)
    }

    /// What a pull at this moment answers, `status` telling how far an execution has come.
    pub fn project(
        &self,
        wall: Wall,
        status: impl Fn(&ExecutionId) -> Option<Status>,
    ) -> Projection<'_> {
        let snapshot = &*self.0;
        let executions =
            snapshot.executions.iter().filter(|entry| is_open(&entry.expires_at, wall));
        let sessions = snapshot.sessions.iter().flatten();
        Projection {
            peers: &snapshot.peers,
            reachability: &snapshot.reachability,
            policy: &snapshot.policy,
            bridge: &snapshot.bridge,
            state: &snapshot.state,
            reports: &snapshot.reports,
            executions: executions.filter_map(|entry| live(entry, &status)).collect(),
            sessions: sessions
                .filter(|entry: &&Session| is_open(&entry.expires_at, wall))
                .collect(),
        }
    }

    /// When the next execution or session lapses that has not yet.
    pub fn lapses(&self, wall: Wall) -> Option<Wall> {
        let executions = self.0.executions.iter().map(|entry| &entry.expires_at);
        let sessions = self.0.sessions.iter().flatten().map(|entry| &entry.expires_at);
        let open = executions.chain(sessions).flatten().map(|deadline| deadline.at.left(wall));
        open.filter(|left| !left.is_zero()).min().map(|left| wall.after(left))
    }

    pub fn reachability(&self) -> Option<&Raw> {
        self.0.reachability.as_ref()
    }
}

/// A missing deadline counts as lapsed.
fn is_open(expires_at: &Option<Spelled>, wall: Wall) -> bool {
    expires_at.as_ref().is_some_and(|deadline| deadline.at.is_after(wall))
}

fn live(
    entry: &Execution,
    status: impl Fn(&ExecutionId) -> Option<Status>,
) -> Option<Cow<'_, Execution>> {
    match status(&ExecutionId(entry.execution_id.0.clone())) {
        None => Some(Cow::Borrowed(entry)),
        Some(status) if status.is_terminal() => None,
        Some(status) => {
            Some(Cow::Owned(Execution { status: status.as_str().to_string(), ..entry.clone() }))
        }
    }
}

fn sorted(mut snapshot: Snapshot) -> Snapshot {
    snapshot.peers.retain(|peer| peer.node_id.as_str() != site::NODE_ID);
    snapshot.peers.sort_by(|one, other| one.node_id.cmp(&other.node_id));
    sort_entries(&mut snapshot.state);
    sort_entries(&mut snapshot.reports);
    let requested = |entry: &Execution| entry.requested_at.as_ref().map(|time| time.at);
    snapshot.executions.sort_by(|one, other| {
        let by_time = requested(one).cmp(&requested(other));
        by_time.then_with(|| one.execution_id.cmp(&other.execution_id))
    });
    for entry in snapshot.executions.iter_mut().filter(|entry| entry.status.is_empty()) {
        entry.status = PENDING.to_string();
    }
    for entry in snapshot.sessions.iter_mut().flatten() {
        entry.target.get_or_insert_default();
    }
    snapshot
}

fn sort_entries(block: &mut Option<Entries>) {
    let lists = block.iter_mut().flat_map(|block| {
        let Entries { metadata, data, reports } = block;
        Vec::from([metadata, data, reports])
    });
    for list in lists {
        list.sort_by(|one, other| one.key.cmp(&other.key));
    }
}
