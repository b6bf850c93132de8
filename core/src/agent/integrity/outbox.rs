//! The violations that the control plane is to be told: in the order in which they were found, one batch at a time.
//!
//! | State | Fact | Next |
//! |---|---|---|
//! | dormant | armed | resting |
//! | resting, nothing due | a violation | sending as many as a batch may hold |
//! | sending | delivered | resting without them; the next batch may be twice as long |
//! | sending several | refused | resting for [`SPLIT_WAIT`]; the next batch is half as long |
//! | sending one | refused | it is dropped, counted and told; resting for [`SPLIT_WAIT`] |
//! | sending | failed | resting for a wait that doubles |
//! | sending | quieted | dormant; they stay in front, and a late answer still counts |

use alloc::{collections::VecDeque, format, vec::Vec};
use core::time::Duration;

use super::Effect;
use crate::{
    agent::{
        notice::{
            Notice,
            streak::{Kind, Streak},
        },
        verdict::{Trouble, violations::Reported},
    },
    backoff::{Backoff, Jitter},
    legible,
    time::Mono,
    wire::{
        integrity::{BODY_MAX, IntegrityViolation, IntegrityViolationsRequest, VIOLATIONS_MAX},
        json,
    },
};

/// How many violations wait at once; what is found beyond them is found again at the next look.
pub const QUEUE_MAX: usize = 1024;

/// How long until a batch that was refused is tried again in parts.
pub const SPLIT_WAIT: Duration = Duration::from_secs(1);

/// The waits between tries.
pub const BACKOFF: Backoff = Backoff {
    base: Duration::from_secs(2),
    factor: 2,
    cap: Duration::from_secs(60),
    jitter_percent: 20,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outbox {
    waiting: VecDeque<IntegrityViolation>,
    phase: Phase,
    /// How many entries the next batch may hold.
    most: usize,
    /// How many were refused alone.
    dropped: u64,
    /// Tries in a row that failed.
    streak: Streak,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Dormant {
        /// How many were sent and not answered.
        sent: usize,
    },
    Resting {
        due: Option<Mono>,
    },
    Sending {
        count: usize,
    },
}

impl Default for Outbox {
    fn default() -> Self {
        let phase = Phase::Dormant { sent: 0 };
        Self {
            waiting: VecDeque::new(),
            phase,
            most: VIOLATIONS_MAX,
            dropped: 0,
            streak: Streak::default(),
        }
    }
}

impl Outbox {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Whether there was room for it.
    pub(super) fn take_in(&mut self, violation: IntegrityViolation) -> bool {
        let has_room = self.waiting.len() < QUEUE_MAX;
        if has_room {
            self.waiting.push_back(violation);
        }
        has_room
    }

    pub(super) fn arm(&mut self) {
        if let Phase::Dormant { .. } = self.phase {
            self.phase = Phase::Resting { due: None };
            self.streak = Streak::default();
        }
    }

    pub(super) const fn quiet(&mut self) {
        self.phase = match self.phase {
            Phase::Sending { count } => Phase::Dormant { sent: count },
            Phase::Resting { .. } => Phase::Dormant { sent: 0 },
            dormant @ Phase::Dormant { .. } => dormant,
        };
    }

    /// What was not delivered is told, as nobody will.
    pub(super) fn close(&mut self, effects: &mut Vec<Effect>) {
        let lost = self.waiting.len();
        self.waiting.clear();
        if lost > 0 {
            effects.push(Effect::Tell(Notice::error(format!(
                "{lost} integrity violations were not delivered before the end; what is still so is found at the next start"
            ))));
        }
    }

    /// Sends the next batch, where one is due.
    pub(super) fn send(&mut self, now: Mono, effects: &mut Vec<Effect>) {
        let Phase::Resting { due } = self.phase else { return };
        if self.waiting.is_empty() || due.is_some_and(|due| due > now) {
            return;
        }
        let batch = self.batch();
        self.phase = Phase::Sending { count: batch.len() };
        effects.push(Effect::Post(batch));
    }

    /// As many as go into one request, and one at least.
    fn batch(&self) -> Vec<IntegrityViolation> {
        let empty = IntegrityViolationsRequest { violations: Vec::new() };
        let mut length = json::encode(&empty).len();
        let mut batch = Vec::new();
        for violation in self.waiting.iter().take(self.most.max(1)) {
            length += json::encode(violation).len() + ",".len();
            if length > BODY_MAX && !batch.is_empty() {
                break;
            }
            batch.push(violation.clone());
        }
        batch
    }

    pub(super) fn answered(
        &mut self,
        now: Mono,
        verdict: Reported,
        jitter: Jitter,
        effects: &mut Vec<Effect>,
    ) {
        let (count, is_sending) = match self.phase {
            Phase::Sending { count } => (count, true),
            Phase::Dormant { sent } if sent > 0 => (sent, false),
            Phase::Dormant { .. } | Phase::Resting { .. } => return,
        };
        let wait = match verdict {
            Reported::Delivered(counted) => {
                self.delivered(now, count, counted, effects);
                None
            }
            Reported::Refused(reason) if is_sending => {
                self.refused(count, &reason, effects);
                Some(SPLIT_WAIT)
            }
            Reported::Failed(trouble) if is_sending => {
                Some(self.failed(now, trouble, jitter, effects))
            }
            Reported::Refused(_) | Reported::Failed(_) => None,
        };
        self.phase = match is_sending {
            true => Phase::Resting { due: wait.map(|wait| now.after(wait)) },
            false => Phase::Dormant { sent: 0 },
        };
    }

    fn delivered(
        &mut self,
        now: Mono,
        count: usize,
        counted: Option<u64>,
        effects: &mut Vec<Effect>,
    ) {
        self.waiting.drain(..count.min(self.waiting.len()));
        self.most = self.most.saturating_mul(2).min(VIOLATIONS_MAX);
        let again =
            core::mem::take(&mut self.streak).ended(now, "integrity violations are accepted");
        effects.extend(again.map(Effect::Tell));
        effects.push(Effect::Tell(match counted {
            Some(counted) if counted != count as u64 => Notice::warn(format!(
                "{count} integrity violations were sent, of which the control plane counted {counted}"
            )),
            Some(_) | None => Notice::debug(format!("{count} integrity violations are delivered")),
        }));
    }

    fn refused(&mut self, count: usize, reason: &str, effects: &mut Vec<Effect>) {
        self.most = (count / 2).max(1);
        if count == 1
            && let Some(lost) = self.waiting.pop_front()
        {
            self.dropped = self.dropped.saturating_add(1);
            effects.push(Effect::Tell(Notice::error(format!(
                "the control plane does not take the integrity violation of {:?}, which is dropped: {reason}",
                legible::line(lost.artifact_id.as_str())
            ))));
        }
    }

    fn failed(
        &mut self,
        now: Mono,
        trouble: Trouble,
        jitter: Jitter,
        effects: &mut Vec<Effect>,
    ) -> Duration {
        let Trouble { reason, retry_after } = trouble;
        let text = format!(
            "integrity violations were not taken, and are sent again until they are: {reason}"
        );
        let (streak, notice) = self.streak.failed(now, Kind::Failed, Notice::warn(text));
        self.streak = streak;
        effects.push(Effect::Tell(notice));
        BACKOFF.wait(streak.failures(), jitter).max(retry_after.unwrap_or_default())
    }

    pub(super) fn wakeup(&self) -> Option<Mono> {
        match self.phase {
            Phase::Resting { due } if !self.waiting.is_empty() => due,
            Phase::Resting { .. } | Phase::Dormant { .. } | Phase::Sending { .. } => None,
        }
    }
}
