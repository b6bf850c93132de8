//! A node that is not admitted any more: its work rests while it registers afresh, and goes on with either identity.

use super::Turn;
use crate::agent::{
    device::Device,
    heartbeat,
    life::{Life, Question},
    pull, register,
    rotation::Rotation,
    secrets,
    standing::{Effect, Input},
    sync, voice,
};

impl Turn<'_> {
    /// A batch that is refused while the agent drains begins nothing anew.
    pub(super) fn standing(&mut self, input: Input) {
        if self.agent.life != Life::Working {
            return;
        }
        let step = self.agent.standing.step(self.now.mono, input);
        self.agent.standing = step.state;
        for effect in step.effects {
            match effect {
                Effect::LookForToken => self.registration(register::Input::Refused),
            }
        }
    }

    /// What was asked under the refused identity is answered to nobody; runs and sessions go on and are reported.
    pub(super) fn pause(&mut self) {
        self.heartbeat(heartbeat::Input::Quieted);
        self.pull(pull::Input::Quieted);
        self.quiet_senses();
        self.secrets(secrets::Input::Quieted);
        self.voice(voice::Input::Quieted);
        self.sync(sync::Input::Quieted);
        self.agent.rotation = Rotation::default();
        self.agent.device = Device::default();
        self.agent.asked.retain(|_, question| match question {
            Question::Callback { .. }
            | Question::Deliver(_)
            | Question::Register
            | Question::Session { .. }
            | Question::Upload(_) => true,
            Question::Endpoint
            | Question::Heartbeat
            | Question::Manifest
            | Question::Pull
            | Question::Report { .. }
            | Question::Rotate(_)
            | Question::Secret(_)
            | Question::Ship(_)
            | Question::Token(_)
            | Question::Violations => false,
        });
    }

    pub(super) fn rearm(&mut self) {
        if let Some(identity) = self.agent.identity.clone() {
            self.arm(identity);
        }
    }
}
