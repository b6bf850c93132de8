//! Secrets, reports, and session activity.
//!
//! Specification: "POST /v1/nodes/{id}/sessions/{sid}" to "DELETE /v1/nodes/{id}/state/reports/{key}".

use alloc::{
    string::{String, ToString},
    vec,
};

use super::{Answered, Asked};
use crate::{
    ids::SessionId,
    plane::{
        Plane, admit, captures::Endpoint, counters::Counter, refusal::Denial, reports, secrets,
        session, site, snapshot,
    },
    step::Step,
    time::Now,
    wire::{http::Response, json, report::ReportResponse, secret, timestamp::Timestamp},
};

impl Plane {
    pub(in crate::plane) fn session(
        mut self,
        node: &str,
        session: String,
        asked: Asked<'_>,
    ) -> Answered {
        if let Err(refusal) = admit::guard(node) {
            return Step::to(self).emit(Err(refusal.into()));
        }
        let session = SessionId(session);
        let read = session::read(&session, &asked.body);
        self.captures.keep(Endpoint::SessionActivity, asked.body);
        match read {
            Ok(_) => self.told(asked.now, session),
            Err(refusal) => Step::to(self).emit(Err(refusal.into())),
        }
    }

    /// A row that came for a session which has ended counts as well.
    fn told(mut self, now: Now, session: SessionId) -> Answered {
        use session::Effect;
        let Step { state, effects } = self.sessions.step(now, session::Input::Reported(session));
        self.sessions = state;
        for effect in &effects {
            match effect {
                Effect::Accept => self.counters.count(Counter::SessionActivities),
                Effect::Refuse(refusal) if refusal.is_end() => {
                    self.counters.count(Counter::SessionActivitiesRejected);
                }
                Effect::Refuse(_) => {}
            }
        }
        Step::to(self).emit_all(effects.into_iter().map(|effect| match effect {
            Effect::Accept => Ok(Response::empty(204)),
            Effect::Refuse(refusal) => Err(refusal.into()),
        }))
    }

    pub(in crate::plane) fn secret(self, key: &str, asked: &Asked<'_>) -> Answered {
        let version = match secrets::read(key, asked.head.query.as_deref()) {
            Ok(version) => version,
            Err(refusal) => return Step::to(self).emit(Err(refusal.into())),
        };
        let Step { state, effects } =
            self.secrets.step(asked.now, secrets::Input::Asked { version });
        let mut plane = Self { secrets: state, ..self };
        let mut answers = vec![];
        for effect in effects {
            answers.push(match effect {
                secrets::Effect::Seal { version } => plane.seal(asked, version),
                secrets::Effect::Refuse(refusal) => plane.withhold(refusal),
            });
        }
        Step::to(plane).emit_all(answers)
    }

    fn seal(&mut self, asked: &Asked<'_>, version: u64) -> Result<Response, Denial> {
        let key = site::node_secret_key();
        let value = site::LOCAL_BEARER.as_bytes();
        let envelope = secret::seal(&key, asked.drawn.envelope_nonce, value)
            .map_err(|fault| Denial::plain(500, fault))?;
        self.counters.count(Counter::Secrets);
        let mut response = Response::empty(200)
            .with("content-type", "application/octet-stream")
            .with("cache-control", "no-store")
            .with(&asked.settings.header("Secret-Version"), &version.to_string())
            .with(&asked.settings.header("Secret-KID"), site::SECRET_KID);
        response.body = envelope;
        Ok(response)
    }

    fn withhold(&mut self, refusal: secrets::Refusal) -> Result<Response, Denial> {
        if let secrets::Refusal::RateLimited { .. } = refusal {
            self.counters.count(Counter::SecretsRateLimited);
        }
        Err(refusal.into())
    }

    pub(in crate::plane) fn configure_secrets(mut self, asked: Asked<'_>) -> Answered {
        let read = secrets::read_configuration(&asked.body);
        self.captures.keep(Endpoint::ConfigureSecrets, asked.body);
        match read {
            Ok(configured) => {
                let input = secrets::Input::Configured(configured);
                self.secrets = self.secrets.step(asked.now, input).state;
                Step::to(self).emit(Ok(Response::empty(204)))
            }
            Err(refusal) => Step::to(self).emit(Err(refusal.into())),
        }
    }

    /// A key outside its grammar is refused before the body is looked at or kept.
    pub(in crate::plane) fn put_report(mut self, key: &str, asked: Asked<'_>) -> Answered {
        let key = match reports::key(key) {
            Ok(key) => key,
            Err(refusal) => return Step::to(self).emit(Err(refusal.into())),
        };
        let read = reports::read(&key, &asked.body);
        self.captures.keep(Endpoint::Report, asked.body);
        let entry = match read {
            Ok(entry) => entry,
            Err(refusal) => return Step::to(self).emit(Err(refusal.into())),
        };
        self.move_reports(asked.now, snapshot::Input::Reported(entry), |plane| {
            plane.counters.count(Counter::ReportPuts);
            let accepted_at = Timestamp::from(asked.now.wall);
            let body = ReportResponse { accepted_at, key: key.as_str().to_string() };
            Response::json(200, json::encode(&body))
        })
    }

    pub(in crate::plane) fn delete_report(self, key: &str, asked: &Asked<'_>) -> Answered {
        let key = match reports::key(key) {
            Ok(key) => key,
            Err(refusal) => return Step::to(self).emit(Err(refusal.into())),
        };
        self.move_reports(asked.now, snapshot::Input::Withdrawn(key), |plane| {
            plane.counters.count(Counter::ReportDeletes);
            Response::empty(204)
        })
    }

    fn move_reports(
        self,
        now: Now,
        input: snapshot::Input,
        accepted: impl Fn(&mut Self) -> Response,
    ) -> Answered {
        let Step { state, effects } = self.desired.step(now, input);
        let mut plane = Self { desired: state, pulled: None, ..self };
        let mut answers = vec![];
        for effect in effects {
            answers.push(match effect {
                snapshot::Effect::Accept => Ok(accepted(&mut plane)),
                snapshot::Effect::Refuse(refusal) => Err(refusal.into()),
                snapshot::Effect::Seed(_) => continue,
            });
        }
        Step::to(plane).emit_all(answers)
    }
}
