//! Sessions: whether one that a node tells of is live, and the rows a node tells of it.
//!
//! | State | Trigger | Next | Also |
//! |---|---|---|---|
//! | never seen | activity | never seen | refused as not found |
//! | never seen, live | a snapshot with the session, its deadline in the future | live until then | |
//! | never seen, live | a snapshot with the session, its deadline absent or passed | expired | |
//! | live | a snapshot without the session | revoked | |
//! | live | its deadline passes | expired | |
//! | live | activity | live | accepted |
//! | revoked | anything | revoked | activity is refused as revoked |
//! | expired | anything | expired | activity is refused as expired |
//!
//! A deadline is looked at before anything else happens, so a session that lapsed unnoticed and is then left out was
//! expired. Only a digest of each id is kept, so that long ids cost no memory.
//!
//! Specification: "Session liveness" and "POST /v1/nodes/{id}/sessions/{sid}"; `decisions.md` section 5 (`{sid}`).
//! Unspecified: of several entries with one id the latest deadline counts, as one of them is served until then; a
//! snapshot whose `sessions` is null has no session, as it is served as an empty list.

use alloc::collections::BTreeMap;

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::{
    ids::SessionId,
    step::Step,
    time::{Now, Wall},
    wire::{
        http::{Body, UNREADABLE},
        json::{self, Fault},
        session::{Activity, K8sActivity, SSH_COMMAND_MAX, SshActivity},
        snapshot::Snapshot,
        timestamp::Timestamp,
    },
};

/// "Body cap: 16 KiB".
pub const BODY_MAX: usize = 16 << 10;

/// The most sessions that are remembered.
pub const TRACKED_MAX: usize = 1 << 16;

/// A fact for the sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The snapshot was replaced by one with these sessions and their deadlines; `None` counts as lapsed.
    Configured(BTreeMap<SessionId, Option<Timestamp>>),
    /// The node told of this session; the row passed its checks.
    Reported(SessionId),
}

/// An order of the sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Confirm the row, or the snapshot.
    Accept,
    Refuse(Refusal),
}

/// Why a row is refused, or a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the body is over 16384 bytes")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the session id in the path holds NUL")]
    SessionId,
    #[error("the body is not a session activity record: {0}")]
    Malformed(Fault),
    #[error("exactly one of ssh, k8s and tcp must be set")]
    OneOf,
    #[error("ssh.command must not be empty")]
    Command,
    #[error("ssh.command is over 1024 bytes")]
    CommandTooLong,
    #[error("k8s.verb must not be empty")]
    Verb,
    #[error("no snapshot has named this session")]
    NotFound,
    #[error("the session has been revoked; send nothing more of it")]
    AlreadyRevoked,
    #[error("the session has expired; send nothing more of it")]
    Expired,
    #[error("the table of sessions is full; POST /test/reset empties it")]
    Full,
}

impl Refusal {
    /// Whether the session has ended, so that no further row of it is accepted.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::AlreadyRevoked | Self::Expired)
    }
}

/// Where a session that was once configured stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Liveness {
    Live(Timestamp),
    Revoked,
    Expired,
}

/// Every session that any snapshot named, by the digest of its id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sessions(BTreeMap<[u8; 32], Liveness>);

/// Reads a row out of a request body and checks its shape, before the session is looked for.
pub fn read(session: &SessionId, body: &Body) -> Result<Activity, Refusal> {
    let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
    if session.0.contains('\0') {
        return Err(Refusal::SessionId);
    }
    let row: Activity = json::decode_strict(bytes).map_err(Refusal::Malformed)?;
    match &row {
        Activity { ssh: Some(ssh), k8s: None, tcp: None } => check_ssh(ssh)?,
        Activity { ssh: None, k8s: Some(k8s), tcp: None } => check_k8s(k8s)?,
        // The phase and the cause are checked by their types.
        Activity { ssh: None, k8s: None, tcp: Some(_) } => {}
        Activity { .. } => return Err(Refusal::OneOf),
    }
    Ok(row)
}

const fn check_ssh(ssh: &SshActivity) -> Result<(), Refusal> {
    match ssh.command.len() {
        0 => Err(Refusal::Command),
        1..=SSH_COMMAND_MAX => Ok(()),
        _ => Err(Refusal::CommandTooLong),
    }
}

const fn check_k8s(k8s: &K8sActivity) -> Result<(), Refusal> {
    if k8s.verb.is_empty() { Err(Refusal::Verb) } else { Ok(()) }
}

/// The sessions of a snapshot with their deadlines.
pub fn deadlines(snapshot: &Snapshot) -> BTreeMap<SessionId, Option<Timestamp>> {
    let mut all = BTreeMap::new();
    for session in snapshot.sessions.iter().flatten() {
        let deadline = session.expires_at.as_ref().map(|spelled| spelled.at);
        let latest: &mut Option<Timestamp> =
            all.entry(SessionId(session.session_id.0.clone())).or_default();
        *latest = deadline.max(*latest);
    }
    all
}

impl Sessions {
    /// Moves on one input.
    pub fn step(self, now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Configured(deadlines) => self.configured(now.wall, deadlines),
            Input::Reported(session) => self.reported(now.wall, &session),
        }
    }

    fn configured(
        mut self,
        wall: Wall,
        deadlines: BTreeMap<SessionId, Option<Timestamp>>,
    ) -> Step<Self, Effect> {
        let deadlines: BTreeMap<[u8; 32], Option<Timestamp>> =
            deadlines.into_iter().map(|(session, until)| (digest(&session), until)).collect();
        let fresh = deadlines.keys().filter(|session| !self.0.contains_key(*session)).count();
        if fresh > TRACKED_MAX.saturating_sub(self.0.len()) {
            return Step::to(self).emit(Effect::Refuse(Refusal::Full));
        }
        for (session, liveness) in &mut self.0 {
            if let Liveness::Live(_) = liveness.at(wall) {
                let next = deadlines.get(session);
                *liveness = next.map_or(Liveness::Revoked, |until| Liveness::until(*until));
            }
            *liveness = liveness.at(wall);
        }
        for (session, until) in deadlines {
            self.0.entry(session).or_insert_with(|| Liveness::until(until).at(wall));
        }
        Step::to(self).emit(Effect::Accept)
    }

    fn reported(mut self, wall: Wall, session: &SessionId) -> Step<Self, Effect> {
        let Some(liveness) = self.0.get_mut(&digest(session)) else {
            return Step::to(self).emit(Effect::Refuse(Refusal::NotFound));
        };
        *liveness = liveness.at(wall);
        let effect = match liveness {
            Liveness::Live(_) => Effect::Accept,
            Liveness::Revoked => Effect::Refuse(Refusal::AlreadyRevoked),
            Liveness::Expired => Effect::Refuse(Refusal::Expired),
        };
        Step::to(self).emit(effect)
    }
}

impl Liveness {
    const fn until(deadline: Option<Timestamp>) -> Self {
        match deadline {
            Some(deadline) => Self::Live(deadline),
            None => Self::Expired,
        }
    }

    /// A deadline that is not in the future has passed.
    fn at(self, wall: Wall) -> Self {
        match self {
            Self::Live(deadline) if deadline.is_after(wall) => self,
            Self::Live(_) | Self::Expired => Self::Expired,
            Self::Revoked => Self::Revoked,
        }
    }
}

fn digest(session: &SessionId) -> [u8; 32] {
    Sha256::digest(session.0.as_bytes()).into()
}
