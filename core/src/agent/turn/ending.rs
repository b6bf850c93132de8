//! The end of an agent: a stop that waits for what is under way, and the exit.

use super::Turn;
use crate::agent::{
    DRAIN_MAX, Effect, Exit, deeds::Deed, execution, heartbeat, hooks, integrity, life::Life,
    local_runs, network::file, pull, secrets, sessions, sync, voice, watch,
};

impl Turn<'_> {
    pub(super) fn is_drained(&self) -> bool {
        match self.agent.life {
            Life::Draining { until } => {
                let undecided = !self.agent.dispatch.is_idle()
                    || self.agent.local_runs.running() > 0
                    || !self.agent.sessions.is_idle()
                    || self.agent.registration.is_undecided()
                    || self.agent.rotation.is_committing()
                    || self.agent.reports.writing() > 0
                    || !self.agent.archive.is_idle()
                    || self.agent.senses.signing.is_changing()
                    || !self.agent.senses.integrity.is_idle()
                    || !self.agent.last_pull.file.is_idle()
                    || !self.agent.voice.is_idle();
                !undecided || until <= self.now.mono
            }
            Life::Working | Life::Over => false,
        }
    }

    /// Begins the end: nothing new is sent but what finishes what is under way.
    pub(super) fn drain(&mut self) {
        if self.agent.life == Life::Working {
            self.agent.life = Life::Draining { until: self.now.mono.after(DRAIN_MAX) };
            self.heartbeat(heartbeat::Input::Quieted);
            self.pull(pull::Input::Quieted);
            self.network_file(file::Input::Draining);
            self.quiet_senses();
            self.dispatch(execution::Input::Draining);
            self.local_runs(local_runs::Input::Draining);
            self.sessions(sessions::Input::Draining);
            self.sync(sync::Input::Quieted);
            self.did(Deed::Stopping);
            self.voice(voice::Input::Draining);
            self.watch(watch::Input::Closed);
        }
    }

    /// Programs that wait for a secret, a reload or a run are told that none comes any more.
    pub(in crate::agent) fn exit(&mut self, exit: Exit) {
        self.secrets(secrets::Input::Quieted);
        self.hooks(hooks::Input::Quieted);
        self.local_runs(local_runs::Input::Quieted);
        self.integrity(integrity::Input::Closed);
        self.voice(voice::Input::Closed);
        self.agent.life = Life::Over;
        self.effects.push(Effect::Exit(exit));
    }
}
