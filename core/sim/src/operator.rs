//! The operator of the control plane: what is put on the desired state, asked for and read, without the network.

use std::time::Duration;

use meshward_core::{
    ids::{CallId, CorrelationId, ExecutionId},
    plane::{self, Plane},
    wire::{
        http::{Body, Headers, Method, Request, Response},
        timestamp::Timestamp,
    },
};

use crate::world::World;

impl World {
    /// The flag stays until a heartbeat has carried it, and then goes or stays as it happens.
    pub(crate) fn ask_rotation(&mut self) {
        self.asking = true;
        self.post(
            "/test/configure-heartbeat",
            "{\"reconcile\":true,\"rotate_keys\":true}".to_owned(),
        );
    }

    pub(crate) fn heartbeat_served(&mut self) {
        if self.asking && self.rng.odds(700) {
            self.asking = false;
            self.post(
                "/test/configure-heartbeat",
                "{\"reconcile\":true,\"rotate_keys\":false}".to_owned(),
            );
        }
    }

    pub(crate) fn restart_plane(&mut self) {
        self.plane = Plane::default();
        self.asking = false;
        self.entries.clear();
        self.checks.forgot();
    }

    pub(crate) fn dispatch(&mut self, name: u32, expires: u64) {
        let now = self.clock.plane().wall;
        let (requested, expires_at) =
            (Timestamp::from(now), Timestamp::from(now.after(Duration::from_secs(expires))));
        self.entries.push(format!(
            "{{\"execution_id\":\"x-{name}\",\"action\":\"probe\",\"type\":\"builtin\",\"status\":\"pending\",\
             \"requested_at\":\"{requested}\",\"expires_at\":\"{expires_at}\"}}"
        ));
        self.checks.dispatched(ExecutionId(format!("x-{name}")), expires_at);
        self.post(
            "/test/configure-state",
            format!("{{\"executions\":[{}]}}", self.entries.join(",")),
        );
    }

    pub(crate) fn ask_plane(&mut self, request: Request) -> Response {
        let input = plane::Input::Requested {
            call: CallId::default(),
            listener: plane::Listener::Main,
            request,
            correlation: CorrelationId(u128::from(self.rng.next())),
        };
        let step =
            std::mem::take(&mut self.plane).step(&self.plane_settings, self.clock.plane(), input);
        self.plane = step.state;
        step.effects
            .into_iter()
            .map(|plane::Effect::Reply { response, .. }| response)
            .next()
            .unwrap_or_else(|| Response::empty(500))
    }

    pub(crate) fn post(&mut self, path: &str, body: String) {
        let response = self.ask_plane(operator(Method::Post, path, body));
        assert!(response.is_success(), "the operator's {path} is answered {}", response.status);
    }

    /// Reads a route of the operator's.
    pub fn read(&mut self, path: &str) -> String {
        let response = self.ask_plane(operator(Method::Get, path, String::new()));
        String::from_utf8_lossy(&response.body).into_owned()
    }

    /// Completed rotations and registration calls.
    pub(crate) fn counters(&mut self) -> (u64, u64) {
        let text = self.read("/test/assertions");
        let count = |name: &str| {
            let rest = text.split(&format!("\"{name}\":")).nth(1)?;
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        (
            count("key_rotate_count").unwrap_or_default(),
            count("registration_count").unwrap_or_default(),
        )
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
