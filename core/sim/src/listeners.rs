//! The listeners of sessions in the simulated world: what they carry and when they end is drawn.

use std::time::Duration;

use meshward_core::{
    agent::{Acted, Carried, Forward, Input, SessionFact, SessionOrder},
    ids::SessionId,
    time::Mono,
};

use crate::{checks::Opening, journal::Entry, world::World};

/// A listener, and what becomes of it by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// When nothing has passed for its idle window.
    pub idle_at: Option<Mono>,
    /// When it is gone, once it was told to close or breaks.
    pub gone_at: Option<Mono>,
    pub carried: Carried,
}

impl Listener {
    /// The next time at which something comes of it.
    pub fn due(&self) -> Option<Mono> {
        [self.idle_at, self.gone_at].into_iter().flatten().min()
    }
}

impl World {
    pub(crate) fn listen(
        &mut self,
        at: usize,
        session: SessionId,
        order: SessionOrder,
    ) -> Option<Input> {
        match order {
            SessionOrder::Open(forward) => {
                let fact = self.open(at, &session, &forward);
                Some(Input::Acted(Acted::Session(session, fact)))
            }
            SessionOrder::Close { within } => {
                let takes = Duration::from_millis(self.rng.below(within.as_millis() as u64));
                let gone_at = Some(self.clock.mono().after(takes));
                if let Some(listener) = self.nodes[at].listeners.get_mut(&session) {
                    *listener = Listener { idle_at: None, gone_at, ..*listener };
                }
                None
            }
        }
    }

    /// Some addresses are taken, some listeners break, and some users fall asleep.
    fn open(&mut self, at: usize, session: &SessionId, forward: &Forward) -> SessionFact {
        let now = self.node_now(at);
        let node = &self.nodes[at];
        self.checks.opened(&Opening { at, session, node, now });
        if self.rng.odds(100) {
            return SessionFact::Refused { reason: "the address is taken".to_owned() };
        }
        self.summary.sessions += 1;
        self.note(Entry::Listens { node: at, session: session.clone() });
        let sleeps = self.rng.odds(400);
        let after = |wait: Duration| self.clock.mono().after(wait);
        let idle_at = forward.idle.filter(|_| sleeps).map(after);
        let breaks = self.rng.odds(30).then(|| Duration::from_secs(self.rng.below(600)));
        let gone_at = breaks.map(|wait| self.clock.mono().after(wait));
        let carried =
            Carried { bytes_in: self.rng.below(1 << 40), bytes_out: self.rng.below(1 << 40) };
        let listener = Listener { idle_at, gone_at, carried };
        self.nodes[at].listeners.insert(session.clone(), listener);
        SessionFact::Opened { endpoint: (forward.listen, 40_000).into() }
    }

    /// A listener has something to tell.
    pub(crate) fn listener_tells(&mut self, at: usize, session: SessionId) {
        let now = self.clock.mono();
        let Some(listener) = self.nodes[at].listeners.get_mut(&session) else { return };
        let fact = if listener.gone_at.is_some_and(|gone_at| gone_at <= now) {
            let carried = listener.carried;
            self.nodes[at].listeners.remove(&session);
            self.checks.gone(at, &session, carried);
            SessionFact::Closed(carried)
        } else {
            listener.idle_at = None;
            SessionFact::Idle
        };
        self.feed(at, Input::Acted(Acted::Session(session, fact)));
    }
}
