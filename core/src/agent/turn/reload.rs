//! Settings that change while the agent runs, told to the machines that have already planned by the former ones.
//!
//! Each machine reads its settings afresh at every step, so that only a wait which is under way has to follow: none is
//! longer than the new interval from now on, and a longer interval holds from the next wait on.
//!
//! Specification: `decisions.md` sections 4 and 8 (SIGHUP).

use super::Turn;
use crate::agent::{events, heartbeat, hooks, integrity, nat, pull, voice};

impl Turn<'_> {
    pub(super) fn retimed(&mut self) {
        self.heartbeat(heartbeat::Input::Retimed);
        self.pull(pull::Input::Retimed);
        self.events(events::Input::Retimed);
        self.nat(nat::Input::Retimed);
        self.integrity(integrity::Input::Retimed);
        self.voice(voice::Input::Retimed);
        self.hooks(hooks::Input::Verify);
    }
}
