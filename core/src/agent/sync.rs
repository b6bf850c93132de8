//! The delivery of reports: what has changed is sent after a while, key by key in ascending order, one after the other.
//!
//! | State | Trigger | Next |
//! |---|---|---|
//! | clean | a local change | waiting, for the debounce period |
//! | waiting, flushing | a local change | as before; it goes along, or within the debounce period |
//! | waiting | the time has come | flushing, from the first key |
//! | flushing | delivered, or refused for good | the next key; clean behind the last |
//! | flushing | a transient failure | the next key; waiting for 30 s behind the last |
//! | flushing | reports are not provisioned | suppressed for 5 minutes |
//! | suppressed | a local change | suppressed |
//!
//! Specification: "Report sync" and "Limits" (report syncer); `decisions.md` section 8 (Report sync).

use alloc::{
    format,
    string::{String, ToString},
};
use core::{ops::Bound, time::Duration};

use super::{notice::Notice, reports::Unsynced, verdict::Delivery};
use crate::{
    step::Step,
    time::{Mono, Now},
    wire::grammar::Name,
};

/// "transient retry timer 30 s".
pub const RETRY: Duration = Duration::from_secs(30);

/// "not-provisioned suppression 5 minutes".
pub const SUPPRESSION: Duration = Duration::from_secs(300);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sync {
    phase: Phase,
    /// The operator was told that reports are not provisioned.
    unprovisioned: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    #[default]
    Dormant,
    Clean,
    Waiting {
        due: Mono,
    },
    Suppressed {
        until: Mono,
    },
    Flushing(Flush),
}

/// A flush, at one of its keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Flush {
    key: Name,
    generation: u64,
    /// How many keys were not taken, and what was said of the first.
    failed: u32,
    reason: String,
    /// When what has changed meanwhile is due.
    due: Option<Mono>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Armed,
    /// A local change is to be delivered.
    Dirtied,
    Answered {
        key: Name,
        generation: u64,
        delivery: Delivery,
    },
    /// The agent drains: nothing more is sent.
    Quieted,
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send what stands under a key, or that nothing does.
    Deliver {
        key: Name,
        generation: u64,
    },
    /// Nothing more is to be told of this generation of a key.
    Settle {
        key: Name,
        generation: u64,
    },
    Tell(Notice),
}

impl Sync {
    /// Moves on one input; `debounce` is `local_api.debounce_period`.
    pub fn step(
        self,
        debounce: Duration,
        now: Now,
        unsynced: &Unsynced,
        input: Input,
    ) -> Step<Self, Effect> {
        let soon = now.mono.after(debounce);
        match (self.phase, input) {
            (Phase::Dormant | Phase::Clean, Input::Armed) if !unsynced.is_empty() => {
                Self { phase: Phase::Waiting { due: soon }, ..self }.rest()
            }
            (Phase::Dormant, Input::Armed) => Self { phase: Phase::Clean, ..self }.rest(),
            (Phase::Clean, Input::Dirtied) => {
                Self { phase: Phase::Waiting { due: soon }, ..self }.rest()
            }
            (Phase::Waiting { due }, Input::Dirtied) => {
                Self { phase: Phase::Waiting { due: due.min(soon) }, ..self }.rest()
            }
            (Phase::Flushing(flush), Input::Dirtied) => {
                let due = flush.due.or(Some(soon));
                Self { phase: Phase::Flushing(Flush { due, ..flush }), ..self }.rest()
            }
            (Phase::Waiting { due: time } | Phase::Suppressed { until: time }, Input::Ticked)
                if time <= now.mono =>
            {
                Self { phase: Phase::Clean, ..self }.flush(unsynced)
            }
            (Phase::Flushing(flush), Input::Answered { key, generation, delivery })
                if (&key, generation) == (&flush.key, flush.generation) =>
            {
                Self { phase: Phase::Clean, ..self }.judge(now, unsynced, flush, delivery)
            }
            (_, Input::Quieted) => Self { phase: Phase::Dormant, ..self }.rest(),
            (phase, Input::Armed | Input::Dirtied | Input::Answered { .. } | Input::Ticked) => {
                Self { phase, ..self }.rest()
            }
        }
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        match self.phase {
            Phase::Waiting { due: time } | Phase::Suppressed { until: time } => Some(time),
            Phase::Dormant | Phase::Clean | Phase::Flushing(_) => None,
        }
    }

    const fn rest(self) -> Step<Self, Effect> {
        Step::to(self)
    }

    /// Begins with the first key, if there is any.
    fn flush(self, unsynced: &Unsynced) -> Step<Self, Effect> {
        let Some((key, generation)) = unsynced.first_key_value() else { return self.rest() };
        let flush = Flush {
            key: key.clone(),
            generation: *generation,
            failed: 0,
            reason: String::new(),
            due: None,
        };
        self.deliver(flush)
    }

    fn deliver(self, flush: Flush) -> Step<Self, Effect> {
        let (key, generation) = (flush.key.clone(), flush.generation);
        let order = Effect::Deliver { key, generation };
        Step::to(Self { phase: Phase::Flushing(flush), ..self }).emit(order)
    }

    fn judge(
        mut self,
        now: Now,
        unsynced: &Unsynced,
        mut flush: Flush,
        delivery: Delivery,
    ) -> Step<Self, Effect> {
        let settle = Effect::Settle { key: flush.key.clone(), generation: flush.generation };
        match delivery {
            Delivery::Delivered => {
                let recovered = self.unprovisioned.then(|| {
                    Effect::Tell(Notice::info("reports are provisioned now, and delivered"))
                });
                self.unprovisioned = false;
                let next = self.next(now, unsynced, flush);
                Step::to(next.state).emit(settle).emit_all(recovered).emit_all(next.effects)
            }
            Delivery::Invalid(reason) => {
                let text = format!(
                    "the control plane refuses the report {}, it is not sent again: {reason}",
                    flush.key.as_str()
                );
                let next = self.next(now, unsynced, flush);
                Step::to(next.state)
                    .emit(settle)
                    .emit(Effect::Tell(Notice::warn(text)))
                    .emit_all(next.effects)
            }
            Delivery::NotProvisioned => self.suppress(now),
            Delivery::Transient(reason) => {
                flush.failed += 1;
                if flush.reason.is_empty() {
                    flush.reason = format!("{}: {reason}", flush.key.as_str());
                }
                self.next(now, unsynced, flush)
            }
        }
    }

    fn suppress(self, now: Now) -> Step<Self, Effect> {
        let told = (!self.unprovisioned).then(|| {
            Effect::Tell(Notice::info(
                "reports are not provisioned at the control plane; they are kept, and offered every 5 minutes",
            ))
        });
        let phase = Phase::Suppressed { until: now.mono.after(SUPPRESSION) };
        Step::to(Self { phase, unprovisioned: true }).emit_all(told)
    }

    /// Goes on behind the key of the flush, or ends it; what failed is due later, what has changed sooner.
    fn next(self, now: Now, unsynced: &Unsynced, flush: Flush) -> Step<Self, Effect> {
        let behind = (Bound::Excluded(flush.key.as_str()), Bound::Unbounded);
        if let Some((key, generation)) = unsynced.range::<str, _>(behind).next() {
            let (key, generation) = (key.clone(), *generation);
            return self.deliver(Flush { key, generation, ..flush });
        }
        let retry = (flush.failed > 0).then(|| now.mono.after(RETRY));
        let phase = match flush.due.into_iter().chain(retry).min() {
            Some(due) => Phase::Waiting { due },
            None => Phase::Clean,
        };
        let told = (flush.failed > 0).then(|| Effect::Tell(Notice::warn(trouble(&flush))));
        Step::to(Self { phase, ..self }).emit_all(told)
    }
}

fn trouble(flush: &Flush) -> String {
    let others = match flush.failed - 1 {
        0 => String::new(),
        others => format!(", and {others} more"),
    };
    let mut text = "the control plane did not take the report ".to_string();
    text.push_str(&format!("{}{others}; they are kept and sent again", flush.reason));
    text
}
