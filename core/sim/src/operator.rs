//! The operator of the control plane: what is put on the desired state, asked for and read, without the network.

use std::{collections::BTreeMap, time::Duration};

use meshward_core::{
    ids::{CallId, CorrelationId, ExecutionId, SessionId},
    plane::{self, Plane, default_snapshot::default_snapshot},
    wire::{
        grammar::Name,
        http::{Body, Headers, Method, Request, Response},
        json,
        report::ReportRequest,
        snapshot,
        sse::Frame,
        timestamp::Timestamp,
    },
};

use crate::{route, settings, world::World};

const ASK: &str = "{\"reconcile\":true,\"rotate_keys\":true}";
const REST: &str = "{\"reconcile\":true,\"rotate_keys\":false}";

/// The data entry that changes for the sake of it.
pub(crate) const CHANGED: &str = "work/changed";

/// An answer of the control plane; with what is replayed where it is a stream.
pub(crate) type Answered = (Response, Option<Vec<Frame>>);

impl World {
    /// The flag stays until a heartbeat has carried it, and then goes or stays as it happens.
    pub(crate) fn ask_rotation(&mut self) {
        self.asking = true;
        self.post("/test/configure-heartbeat", ASK.to_owned());
    }

    pub(crate) fn heartbeat_served(&mut self) {
        if self.asking && self.rng.odds(700) {
            self.asking = false;
            self.post("/test/configure-heartbeat", REST.to_owned());
        }
    }

    /// Everything is forgotten, the signing key is another, and the operator brings the desired state again.
    pub(crate) fn restart_plane(&mut self) {
        self.plane = Plane::default();
        self.keyring.renew();
        self.plane_settings = settings::plane(self.keyring.public_text());
        self.asking = false;
        self.checks.forgot();
        self.cut_all();
        self.configure();
    }

    pub(crate) fn dispatch(&mut self, name: u32, expires: u64, known: bool) {
        let now = self.clock.now().wall;
        let (requested, expires_at) =
            (Timestamp::from(now), Timestamp::from(now.after(Duration::from_secs(expires))));
        let action = if known { settings::ACTION } else { "nowhere.known" };
        self.entries.push(format!(
            "{{\"execution_id\":\"x-{name}\",\"action\":\"{action}\",\"type\":\"builtin\",\"status\":\"pending\",\
             \"requested_at\":\"{requested}\",\"expires_at\":\"{expires_at}\"}}"
        ));
        self.checks.dispatched(ExecutionId(format!("x-{name}")), expires_at, known);
        self.configure();
    }

    pub(crate) fn open_session(&mut self, name: u32, expires: u64, idle: bool) {
        let expires_at = Timestamp::from(self.clock.now().wall.after(Duration::from_secs(expires)));
        let idle = if idle { 60 } else { 0 };
        self.sessions.insert(
            name,
            format!(
                "{{\"session_id\":\"s-{name}\",\"jti\":\"s-{name}\",\"kind\":\"tcp\",\"target\":{{\"tcp\":\
                 {{\"host\":\"db\",\"port\":5432}}}},\"expires_at\":\"{expires_at}\",\"idle_timeout_seconds\":{idle}}}"
            ),
        );
        self.checks.listed(SessionId(format!("s-{name}")), expires_at);
        self.configure();
    }

    pub(crate) fn end_session(&mut self, name: u32) -> bool {
        let possible = self.sessions.remove(&name).is_some();
        self.configure();
        possible
    }

    /// The desired state changes, and nobody is told.
    pub(crate) fn change(&mut self) {
        self.changes += 1;
        self.configure();
    }

    /// The desired state: what a node is given from the start, and a value that changes with each execution.
    fn configure(&mut self) {
        let mut given = default_snapshot().state.unwrap_or_default();
        if !self.entries.is_empty() {
            given.data.push(snapshot::Entry {
                key: Name("work/asked".to_owned()),
                value: self.entries.len().to_string(),
                workload_tag: Name::default(),
            });
        }
        if self.changes > 0 {
            given.data.push(snapshot::Entry {
                key: Name(CHANGED.to_owned()),
                value: self.changes.to_string(),
                workload_tag: Name::default(),
            });
        }
        self.checks.configured(self.changes, self.clock.mono());
        let given = json::encode(&given);
        let given = String::from_utf8_lossy(&given);
        let sessions: Vec<&str> = self.sessions.values().map(String::as_str).collect();
        let state = format!(
            "{{\"state\":{given},\"executions\":[{}],\"sessions\":[{}]}}",
            self.entries.join(","),
            sessions.join(",")
        );
        self.post("/test/configure-state", state);
    }

    /// Asks the control plane directly, past the network.
    pub fn ask_plane(&mut self, request: Request) -> Response {
        self.plane_call = self.plane_call.next();
        self.ask_plane_by(self.plane_call, request)
            .map_or_else(|| Response::empty(500), |answer| answer.0)
    }

    /// As [`World::ask_plane`]; where it is a stream that is answered with, what is replayed on it comes along.
    pub(crate) fn ask_plane_by(&mut self, call: CallId, request: Request) -> Option<Answered> {
        let drawn = if route::is_sensed(&request.path) { &mut self.senses } else { &mut self.rng };
        let correlation = CorrelationId(u128::from(drawn.next()));
        let arrival = plane::Arrival {
            listener: plane::Listener::Main,
            request,
            begun: self.clock.now().mono,
            drawn: plane::Drawn { correlation, ..plane::Drawn::default() },
        };
        self.move_plane(plane::Input::Requested { call, arrival })
    }

    pub(crate) fn move_plane(&mut self, input: plane::Input) -> Option<Answered> {
        let plane = std::mem::take(&mut self.plane);
        let step = plane.step(&self.plane_settings, self.clock.now(), input);
        self.plane = step.state;
        let mut answered = None;
        for effect in step.effects {
            match effect {
                plane::Effect::Reply { response, .. } => answered = Some((response, None)),
                plane::Effect::Open { opening, .. } => {
                    answered = Some((opening.response, Some(opening.replay)));
                }
                plane::Effect::Sign { call, bytes } => {
                    let signature = self.keyring.sign(&bytes);
                    answered = self.move_plane(plane::Input::Signed { call, signature });
                }
                plane::Effect::Send { frame, .. } => self.broadcast(&frame),
                plane::Effect::Close => self.close_lines(),
                plane::Effect::Cut { .. } => {}
            }
        }
        answered
    }

    pub(crate) fn post(&mut self, path: &str, body: String) {
        let response = self.ask_plane(operator(Method::Post, path, body));
        assert!(response.is_success(), "the operator's {path} is answered {}", response.status);
    }

    fn read(&mut self, path: &str) -> Vec<u8> {
        self.ask_plane(operator(Method::Get, path, String::new())).body
    }

    /// How far each execution has come, as the control plane tells.
    pub fn statuses(&mut self) -> BTreeMap<String, String> {
        json::decode_tolerant(&self.read("/test/executions")).expect("it is an object of texts")
    }

    /// The value of the report that the control plane was sent last.
    pub fn last_report(&mut self) -> String {
        let body = self.read("/test/last-request/report");
        let request: ReportRequest = json::decode_tolerant(&body).expect("it is a report");
        request.value.unwrap_or_default()
    }

    /// A counter of the control plane.
    pub fn counter(&mut self, name: &str) -> u64 {
        let counters: BTreeMap<String, u64> = json::decode_tolerant(&self.read("/test/assertions"))
            .expect("it is an object of counts");
        counters.get(name).copied().unwrap_or_default()
    }
}

fn operator(method: Method, path: &str, body: String) -> Request {
    Request {
        method,
        path: path.to_owned(),
        query: None,
        headers: Headers::new(),
        body: Body::Whole(body.into_bytes()),
    }
}
