//! What was ordered comes back: answers of the control plane, outcomes of the disk, runs that ended.

use alloc::{boxed::Box, format, string::String};

use super::Turn;
use crate::{
    agent::{
        Notice,
        deeds::Deed,
        device, execution,
        facts::{Acted, Answer, Effect, OrderKind, Stored},
        heartbeat, hooks, integrity,
        life::Question,
        manifest, nat, pull, register, rotation,
        scrub::Scrub,
        sessions, sync, verdict, voice,
    },
    backoff::Jitter,
    ids::CallId,
    wire::grammar::PublicKey,
};

impl Turn<'_> {
    pub(super) fn stored(&mut self, stored: Stored) {
        match stored {
            Stored::KeyMade(key) => self.registration(register::Input::KeyMade(key)),
            Stored::Persisted => {
                self.registration(register::Input::Persisted);
                self.did(Deed::Registered);
            }
            Stored::Staged(key) => self.rotation(rotation::Input::Staged(key)),
            Stored::Committed => {
                self.agent.counts.rotated();
                self.rotation(rotation::Input::Committed);
                self.did(Deed::KeyRotated);
            }
            Stored::Retired { folder } => self.aside(register::Aside::Retired { folder }),
            Stored::Restored(staged) => {
                self.agent.staged = staged;
                self.aside(register::Aside::Restored);
            }
            Stored::TokenRemoved { file } => {
                let text =
                    format!("the bootstrap token file {file} is removed: its token is used up");
                self.effects.push(Effect::Tell(Notice::info(text)));
            }
            Stored::Done => {}
            Stored::Failed { order, jitter, reason } => self.store_failed(order, jitter, reason),
        }
    }

    fn store_failed(&mut self, order: OrderKind, jitter: Jitter, reason: String) {
        match order {
            OrderKind::MakeKey => self.registration(register::Input::KeyFailed(reason)),
            OrderKind::Persist => {
                self.registration(register::Input::PersistFailed { reason, jitter })
            }
            OrderKind::Stage => self.rotation(rotation::Input::StageFailed { reason, jitter }),
            OrderKind::Commit => self.rotation(rotation::Input::CommitFailed { reason, jitter }),
            OrderKind::Discard => self.rotation(rotation::Input::DiscardFailed { reason }),
            OrderKind::Shelve => self.rotation(rotation::Input::ShelveFailed { reason }),
            OrderKind::Retire => self.aside(register::Aside::RetireFailed { reason }),
            OrderKind::Restore => self.aside(register::Aside::RestoreFailed { reason, jitter }),
            OrderKind::SetAside => self.warn(format!(
                "the files of the corrupt identity cannot be moved aside: {reason}"
            )),
            OrderKind::ForgetToken => self.warn(format!(
                "the bootstrap token file stays although its token is used up: {reason}; remove it by hand"
            )),
        }
    }

    fn aside(&mut self, aside: register::Aside) {
        self.registration(register::Input::Aside(aside));
    }

    fn warn(&mut self, text: String) {
        self.effects.push(Effect::Tell(Notice::warn(text)));
    }

    /// Nothing that is told of an answer holds a secret, whatever the answer holds.
    pub(super) fn answered(&mut self, call: CallId, answer: Answer, jitter: Jitter) {
        let scrub = Scrub::of(self.agent.registration.token(), self.agent.identity.as_ref());
        self.judged(call, answer, jitter);
        scrub.effects(&mut self.effects);
    }

    fn judged(&mut self, call: CallId, answer: Answer, jitter: Jitter) {
        match self.agent.asked.remove(&call) {
            Some(Question::Callback { execution, status }) => {
                let verdict = verdict::callback(answer);
                self.dispatch(execution::Input::Answered { execution, status, verdict });
            }
            Some(Question::Heartbeat) => {
                let (fetched, date) = (verdict::fetch(&answer), verdict::date(&answer));
                self.agent.counts.heartbeat(&fetched);
                self.heartbeat(heartbeat::Input::Answered { fetched, date });
            }
            Some(Question::Endpoint) => {
                let reported = verdict::endpoint::read(&answer, self.now.wall);
                self.nat(nat::Input::Reported { reported, jitter });
            }
            // To be judged by the machine that asks it.
            Some(Question::Manifest) => self.manifest_answered(&answer, jitter),
            Some(Question::Violations) => self.violations_answered(&answer, jitter),
            Some(Question::Pull) => {
                let fetched = verdict::pull(&answer);
                self.agent.counts.pull(&fetched);
                let retry_after = verdict::named_wait(&answer, self.now.wall);
                let answered = pull::Answered { fetched, retry_after, jitter };
                self.pull(pull::Input::Answered(Box::new(answered)));
            }
            Some(Question::Register) => {
                let verdict = Box::new(verdict::register(answer, self.now.wall));
                self.registration(register::Input::Answered { verdict, jitter });
            }
            Some(Question::Report { key, generation, is_deleted }) => {
                let delivery = match is_deleted {
                    true => verdict::delete_report(&answer),
                    false => verdict::put_report(&answer),
                };
                self.agent.counts.report(&delivery);
                self.sync(sync::Input::Answered { key, generation, delivery });
            }
            Some(Question::Rotate(key)) => {
                let verdict = verdict::rotate(answer);
                self.rotation(rotation::Input::Answered { key, verdict, jitter });
            }
            Some(Question::Upload(execution)) => {
                let outcome = verdict::upload(&answer);
                self.dispatch(execution::Input::Uploaded { execution, outcome });
            }
            Some(Question::Secret(asker)) => self.secret_answered(asker, answer),
            Some(Question::Session { session, phase }) => {
                let reported = verdict::session::read(&answer);
                self.sessions(sessions::Input::Answered { session, phase, reported });
            }
            Some(Question::Ship(pipe)) => self.shipped(pipe, &answer),
            Some(Question::Deliver(pipe)) => self.delivered(pipe, &answer),
            Some(Question::Token(pipe)) => self.token_answered(pipe, answer),
            None => {}
        }
    }

    pub(super) fn acted(&mut self, acted: Acted) {
        match acted {
            Acted::Finished { id, ending } => self.ended(id, ending),
            Acted::Installed { key, outcome } => self.installed(key, outcome),
            Acted::Scanned(scan) => {
                self.hooks(hooks::Input::Scanned(*scan));
                self.manifest(manifest::Input::Looked);
                self.integrity(integrity::Input::Looked);
            }
            Acted::Stirred => self.hooks(hooks::Input::Stirred),
            Acted::Session(session, fact) => {
                self.did_session(&session, &fact);
                self.sessions(sessions::Input::Told { session, fact });
            }
            Acted::Heard { stream, heard, jitter } => self.heard(stream, heard, jitter),
            Acted::Discovered { round, outcome, jitter } => {
                self.nat(nat::Input::Discovered { round, outcome, jitter });
            }
            Acted::Measured(measured) => self.measured(measured),
            Acted::Weighed { asker, process } => self.weighed(asker, &process),
            Acted::Collected(collected) => self.collected(collected),
            Acted::Spooled { pipe, spooled } => self.voice(voice::Input::Spooled(pipe, spooled)),
        }
    }

    fn installed(&mut self, key: PublicKey, outcome: Result<(), String>) {
        self.device(match outcome {
            Ok(()) => device::Input::Installed(key),
            Err(reason) => device::Input::Failed { key, reason },
        });
    }
}
