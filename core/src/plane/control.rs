//! The routes that steer and watch the fixture, and the local endpoints of its TLS listener.
//!
//! Specification: "Fixture control routes" and "Fixture local-endpoint handlers"; `decisions.md` sections 6 and 7.

use alloc::boxed::Box;

use super::{
    Plane, admit,
    captures::Endpoint,
    counters::Counter,
    executions, heartbeat, origin,
    refusal::Denial,
    serve::{self, Answered, Asked, Order, Ordered},
    session, site, snapshot,
};
use crate::{
    ids::ExecutionId,
    step::Step,
    time::Now,
    wire::{
        bearer::Credential,
        call::{Sink, Test},
        control::{Bearer, Info},
        heartbeat::ConfigureHeartbeat,
        http::{Body, Response, UNREADABLE},
        json,
        snapshot::Snapshot,
    },
};

impl Plane {
    pub(super) fn control(self, test: Test, asked: Asked<'_>) -> Ordered {
        if let Err(refusal) =
            origin::admit(test.method(), &asked.settings.host, &asked.head.headers)
        {
            return Step::to(self).emit(Order::Answer(Err(refusal.into())));
        }
        serve::plainly(match test {
            Test::InjectEvent => return self.inject_event(asked),
            Test::ConfigureEvents => return self.configure_events(asked),
            Test::Verify => return self.verify(&asked),
            Test::ConfigureState => self.configure_state(asked),
            Test::ConfigureHeartbeat => self.configure_heartbeat(asked),
            Test::ConfigureEndpoint => self.configure_endpoint(asked),
            Test::ConfigureSecrets => self.configure_secrets(asked),
            Test::Requests => self.requests(&asked),
            Test::ClearRequests => self.clear_requests(),
            Test::Faults => self.faults(),
            Test::AddFault => self.add_fault(&asked),
            Test::ClearFaults => self.clear_faults(),
            Test::RemoveFault { id } => self.remove_fault(&id),
            Test::Reset => return reset(self),
            Test::Bearer => self.tell(|_| Ok(bearer())),
            Test::Assertions => self.tell(|plane| Ok(Response::json(200, plane.counters.encode()))),
            Test::LastRequest { endpoint } => self.tell(|plane| plane.last_request(&endpoint)),
            Test::Executions => self.tell(|plane| Ok(plane.statuses())),
            Test::ExecOutput { execution } => {
                self.tell(|plane| plane.exec_output(&ExecutionId(execution)))
            }
            Test::Info => self.tell(|_| Ok(info(&asked))),
            Test::TlsCert => self.tell(|_| Ok(tls_certificate(&asked))),
            Test::Ui => self.tell(|_| Ok(serve::page(&asked))),
        })
    }

    /// Answers with what is known, and changes nothing.
    fn tell(self, answer: impl FnOnce(&Self) -> Result<Response, Denial>) -> Answered {
        let answer = answer(&self);
        Step::to(self).emit(answer)
    }

    fn statuses(&self) -> Response {
        Response::json(200, json::encode(&self.executions.statuses()))
    }

    fn last_request(&self, endpoint: &str) -> Result<Response, Denial> {
        let missing = || Denial::plain(404, "no request was captured under this name");
        self.captures.response(endpoint).ok_or_else(missing)
    }

    fn exec_output(&self, execution: &ExecutionId) -> Result<Response, Denial> {
        let missing = || Denial::plain(404, "no output was uploaded for this execution");
        let bytes = self.executions.uploads().output(execution).ok_or_else(missing)?;
        let mut response = Response::empty(200).with("content-type", "application/octet-stream");
        response.body.extend_from_slice(bytes);
        Ok(response)
    }

    fn configure_state(mut self, asked: Asked<'_>) -> Answered {
        let read = snapshot::read(&asked.body);
        self.captures.keep(Endpoint::ConfigureState, asked.body);
        let snapshot = match read {
            Ok(snapshot) => snapshot,
            Err(refusal) => return Step::to(self).emit(Err(refusal.into())),
        };
        let deadlines = session::deadlines(&snapshot);
        let Step { state, effects } =
            self.sessions.step(asked.now, session::Input::Configured(deadlines));
        self.sessions = state;
        match effects.into_iter().next() {
            Some(session::Effect::Refuse(refusal)) => Step::to(self).emit(Err(refusal.into())),
            Some(session::Effect::Accept) | None => self.replace_state(asked.now, snapshot),
        }
    }

    fn replace_state(mut self, now: Now, snapshot: Snapshot) -> Answered {
        let Step { state, effects } =
            self.desired.step(now, snapshot::Input::Configured(Box::new(snapshot)));
        self.desired = state;
        self.pulled = None;
        for effect in effects {
            if let snapshot::Effect::Seed(seeds) = effect {
                let input = executions::Input::Seeded(seeds);
                self.executions = self.executions.step(now, input).state;
            }
        }
        Step::to(self).emit(Ok(Response::empty(204)))
    }

    fn configure_heartbeat(mut self, asked: Asked<'_>) -> Answered {
        let read = read_answer(&asked.body);
        self.captures.keep(Endpoint::ConfigureHeartbeat, asked.body);
        match read {
            Ok(answer) => {
                let input = heartbeat::Input::Configured(answer);
                self.move_heartbeat(asked.now, input).emit(Ok(Response::empty(204)))
            }
            Err(denial) => Step::to(self).emit(Err(denial)),
        }
    }

    /// Any bytes are taken; only the bearer is checked.
    pub(super) fn local(mut self, sink: Sink, asked: Asked<'_>) -> Answered {
        if let Err(refusal) = admit::admit_local(&asked.head.headers) {
            return Step::to(self).emit(Err(refusal.into()));
        }
        if let Err(denial) = whole(&asked.body) {
            let denial = Denial { rule: "local.body".into(), ..denial };
            return Step::to(self).emit(Err(denial));
        }
        let (endpoint, counter) = match sink {
            Sink::Metrics => (Endpoint::LocalMetrics, Counter::LocalMetrics),
            Sink::Logs => (Endpoint::LocalLogs, Counter::LocalLogs),
            Sink::Audit => (Endpoint::LocalAudit, Counter::LocalAudits),
        };
        self.captures.keep(endpoint, asked.body);
        self.counters.count(counter);
        Step::to(self).emit(Ok(Response::empty(204)))
    }
}

/// Everything as it was after the start; open streams end.
fn reset(plane: Plane) -> Ordered {
    Step::to(plane.reset()).emit_all([Order::Close, Order::Answer(Ok(Response::empty(204)))])
}

fn whole(body: &Body) -> Result<&[u8], Denial> {
    body.whole((413, "the body is over 16 MiB"), (400, UNREADABLE))
        .map_err(|(status, detail)| Denial::plain(status, detail))
}

fn read_answer(body: &Body) -> Result<ConfigureHeartbeat, Denial> {
    json::decode_tolerant(whole(body)?).map_err(|fault| Denial::plain(400, fault))
}

fn bearer() -> Response {
    let credential = Credential { node: site::NODE_UUID, key: site::node_secret_key() };
    Response::json(200, json::encode(&Bearer { bearer: credential.envelope(site::BEARER_ENV) }))
}

fn info(asked: &Asked<'_>) -> Response {
    let info = &asked.settings.info;
    let body = Info {
        addr: &info.addr,
        tls_addr: &info.tls_addr,
        pid: info.pid,
        version: &info.version,
        started_at: &info.started_at,
    };
    Response::json(200, json::encode(&body))
}

fn tls_certificate(asked: &Asked<'_>) -> Response {
    let mut response = Response::empty(200).with("content-type", "application/x-pem-file");
    response.body.extend_from_slice(asked.settings.tls_certificate.as_bytes());
    response
}
