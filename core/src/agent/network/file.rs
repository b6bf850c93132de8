//! The file of the peers and the policy of the last pull, which also tells when that was and for which node.
//!
//! It binds all that is kept of pulls to one identity: what was pulled for another node is not served but cleared, and
//! this file names that node until the last of it is gone.
//!
//! | State | Trigger | Next |
//! |---|---|---|
//! | found | armed for its node | shown, until the first pull and beyond its failures |
//! | found without a file that names its node | armed for a new identity | all is cleared |
//! | found, or held | armed for another node | all is cleared; nothing is written until that is done |
//! | held | a pull that holds anything else | written |
//! | held | a pull, [`REFRESH`] behind the last write | written, for its time alone |
//! | a change is under way | a pull | looked at again behind the next pull |
//! | held | the agent drains | written where the time in it is not that of the last pull |
//!
//! Specification: `gaps-agent.md` section 1.4.

use alloc::{boxed::Box, format, string::String};
use core::time::Duration;

use sha2::{Digest as _, Sha256};

use super::Network;
use crate::{
    agent::{
        facts::{Change, Content, FoundContent},
        notice::Notice,
    },
    step::Step,
    time::{Mono, Now},
    wire::{
        kept::{self, KeptNetwork},
        timestamp::Timestamp,
    },
};

/// How old the time in the file gets while nothing else changes.
pub const REFRESH: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkFile {
    /// What was found, until an identity is there to be compared with.
    found: Option<Box<KeptNetwork>>,
    /// For whom what is held was pulled.
    node: Option<String>,
    /// When the last pull was that is served.
    pulled_at: Option<Timestamp>,
    /// What stands in the file, if that is known.
    stands: Option<Stands>,
    doing: Doing,
    /// The agent drains: there is no later pull to write the time with.
    is_draining: bool,
    /// There may be files of another identity.
    is_foreign: bool,
    /// There are files, this one does not tell whose, and the identity is lost or new.
    is_orphaned: bool,
    is_refusal_told: bool,
}

type Digest = [u8; 32];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stands {
    /// Of all but the time.
    digest: Digest,
    at: Timestamp,
    /// Until when its time is good.
    good_until: Mono,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Doing {
    #[default]
    Nothing,
    SetAside,
    Write(Stands),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// What a start found on the disk.
    Loaded(FoundContent),
    /// The start found what was pulled, but no identity.
    Orphaned,
    /// There is an identity.
    Armed { node: String },
    /// The network is that of a new pull.
    Pulled,
    /// Nothing of another identity is left on the disk.
    Vacated,
    /// The agent drains.
    Draining,
    /// The change of the file is durable, or was refused.
    Kept(Result<(), String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Serve what was found.
    Show(Network),
    /// Serve nothing of what was pulled, and remove it from the disk.
    Clear,
    Keep(Change),
    Tell(Notice),
}

impl NetworkFile {
    /// Moves on one input; `network` is what was pulled last.
    pub fn step(self, now: Now, network: &Network, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Loaded(content) => self.loaded(now, &content),
            Input::Orphaned => Step::to(Self { is_orphaned: true, ..self }),
            Input::Armed { node } => self.armed(now, node),
            Input::Pulled => {
                let at = Timestamp::from(now.wall);
                Self { pulled_at: Some(at), ..self }.write(now, network)
            }
            Input::Vacated if self.is_foreign => {
                let is_pulled = self.pulled_at.is_some();
                let own = Self { is_foreign: false, ..self };
                if is_pulled { own.write(now, network) } else { Step::to(own) }
            }
            Input::Vacated => Step::to(self),
            Input::Draining => Self { is_draining: true, ..self }.write(now, network),
            Input::Kept(outcome) => self.kept(now, network, outcome),
        }
    }

    /// When the pull was that is served.
    pub const fn pulled_at(&self) -> Option<Timestamp> {
        self.pulled_at
    }

    /// Whether no change of the file is under way.
    pub fn is_idle(&self) -> bool {
        self.doing == Doing::Nothing
    }

    fn loaded(self, now: Now, content: &FoundContent) -> Step<Self, Effect> {
        let read = match content {
            FoundContent::Bytes(Content(bytes)) => {
                kept::decode_network(bytes).map_err(|damage| format!("{damage}"))
            }
            FoundContent::Foreign(kind) => Err(format!("it is {kind}")),
        };
        let reason = match read {
            Ok(found) => return Step::to(Self { found: Some(Box::new(found)), ..self }),
            Err(reason) => reason,
        };
        let file = kept::NETWORK;
        let Some(name) = kept::damaged_name(file, Timestamp::from(now.wall.second())) else {
            return Step::to(self);
        };
        let text = format!(
            "state/{file} holds no network, {reason}; it is kept beside as {name}, and the start goes on"
        );
        Step::to(Self { doing: Doing::SetAside, ..self })
            .emit(Effect::Keep(Change::Rename(name)))
            .emit(Effect::Tell(Notice::warn(text)))
    }

    fn armed(mut self, now: Now, node: String) -> Step<Self, Effect> {
        let found = self.found.take();
        let held = found.as_ref().map(|found| found.node_id.clone()).or_else(|| self.node.take());
        let is_other = held.map_or(self.is_orphaned, |held| held != node);
        self.is_orphaned = false;
        self.node = Some(node.clone());
        if is_other {
            let text = format!(
                "what is kept of the state was pulled for another node than {node}: it is not served, and is removed"
            );
            return Step::to(Self { pulled_at: None, stands: None, is_foreign: true, ..self })
                .emit(Effect::Clear)
                .emit(Effect::Tell(Notice::info(text)));
        }
        let Some(found) = found else { return Step::to(self) };
        let KeptNetwork { pulled_at, peers, policy, .. } = *found;
        let network = Network { peers, policy };
        let age = age(now, pulled_at).unwrap_or(REFRESH);
        self.stands = Some(Stands {
            digest: digest(&node, &network),
            at: pulled_at,
            good_until: now.mono.after(REFRESH.saturating_sub(age)),
        });
        self.pulled_at = Some(pulled_at);
        Step::to(self).emit(Effect::Show(network))
    }

    fn write(self, now: Now, network: &Network) -> Step<Self, Effect> {
        let (Some(node), Some(pulled_at)) = (&self.node, self.pulled_at) else {
            return Step::to(self);
        };
        let wanted = digest(node, network);
        let is_good = self.stands.is_some_and(|stands| {
            let is_old =
                now.mono >= stands.good_until || self.is_draining && stands.at != pulled_at;
            stands.digest == wanted && !is_old
        });
        if is_good || self.is_foreign || self.doing != Doing::Nothing {
            return Step::to(self);
        }
        let Network { peers, policy } = network.clone();
        let content = KeptNetwork { node_id: node.clone(), pulled_at, peers, policy };
        let good_until = now.mono.after(REFRESH);
        let doing = Doing::Write(Stands { digest: wanted, at: pulled_at, good_until });
        Step::to(Self { doing, ..self })
            .emit(Effect::Keep(Change::Write(Content(kept::encode_network(&content)))))
    }

    fn kept(self, now: Now, network: &Network, outcome: Result<(), String>) -> Step<Self, Effect> {
        let resting = Self { doing: Doing::Nothing, ..self.clone() };
        match (self.doing, outcome) {
            (Doing::Write(stands), Ok(())) => {
                let stands = Some(stands);
                let kept = Self { stands, is_refusal_told: false, ..resting };
                // A pull may have come while this was written.
                if kept.is_draining { kept.write(now, network) } else { Step::to(kept) }
            }
            (Doing::Write(_), Err(reason)) => {
                let text = format!(
                    "the peers and the policy that were pulled are served but not kept on the disk, which is tried again \
                     with every pull: {reason}"
                );
                let told = (!self.is_refusal_told).then(|| Effect::Tell(Notice::warn(text)));
                Step::to(Self { stands: None, is_refusal_told: true, ..resting }).emit_all(told)
            }
            (Doing::SetAside, Err(reason)) => {
                let text = format!("state/{} stays: {reason}", kept::NETWORK);
                Step::to(resting).emit(Effect::Tell(Notice::warn(text)))
            }
            (Doing::SetAside | Doing::Nothing, Ok(())) | (Doing::Nothing, Err(_)) => {
                Step::to(resting)
            }
        }
    }
}

/// How long ago a pull was; unknown by a clock that was set back behind it.
pub fn age(now: Now, pulled_at: Timestamp) -> Option<Duration> {
    (pulled_at <= Timestamp::from(now.wall)).then(|| pulled_at.skew(now.wall))
}

/// Of all that the file holds but the time.
fn digest(node: &str, network: &Network) -> Digest {
    let Network { peers, policy } = network.clone();
    let timeless = KeptNetwork { node_id: node.into(), pulled_at: Timestamp::ZERO, peers, policy };
    Sha256::digest(kept::encode_network(&timeless)).into()
}
