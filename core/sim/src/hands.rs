//! What an agent has begun and is told of later: its runs, its sessions by `listeners.rs`, and what it senses by
//! `senses.rs`.

use std::time::Duration;

use meshward_core::{
    agent::{Act, Acted, Bytes, Captured, Cause, Ending, Input, Run, RunId},
    ids::{CallId, ExecutionId},
    wire::{
        http::{Body, Headers, Method, Request},
        upload_url::UploadUrl,
    },
};

use crate::{checks::Beginning, journal::Entry, node::Place, settings, world::World};

/// The output of a long run, which is more than a callback may carry.
const LONG_OUTPUT: usize = 20_000;

impl World {
    /// Begins what an agent has ordered; the tunnel device takes a key at once.
    pub(crate) fn act(&mut self, at: usize, act: Act) -> Option<Input> {
        match act {
            Act::Run { id: RunId::Execution(execution), run } => self.begin(at, execution, &run),
            Act::Cancel(RunId::Execution(execution)) => self.cancel(at, execution),
            // No program of this world asks for a run.
            Act::Run { id: RunId::Local(_), .. } | Act::Cancel(RunId::Local(_)) => {}
            Act::Upload { call, url, bytes, timeout } => {
                self.upload(at, (call, timeout), &url, bytes)
            }
            Act::Install { key } => {
                return Some(Input::Acted(Acted::Installed { key, outcome: Ok(()) }));
            }
            Act::Scan => self.look_at_hooks(at),
            Act::Session(session, order) => return self.listen(at, session, order),
            Act::Listen(stream, order) => self.hearken(at, stream, order),
            Act::Discover(discovery) => self.discover(at, &discovery),
            Act::Measure => self.look_at_files(at),
            Act::Voice(order) => self.speak(at, order),
            // No program of this world asks for figures.
            Act::Weigh(_) => {}
        }
        None
    }

    /// The bearer stays behind, and what the URL holds beyond host and path goes along.
    fn upload(
        &mut self,
        at: usize,
        (call, timeout): (CallId, Duration),
        url: &UploadUrl,
        bytes: Bytes,
    ) {
        let text = url.text().expose();
        let target = text.split_once(settings::HOST).map_or("", |(_, target)| target);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let request = Request {
            method: Method::Put,
            path: path.to_owned(),
            query: Some(query.to_owned()),
            headers: Headers::new().with("content-type", "application/octet-stream"),
            body: Body::Whole(bytes.0),
        };
        self.send(at, call, (&request, timeout));
    }

    /// Most runs are short; some go on until their deadline ends them.
    fn begin(&mut self, at: usize, execution: ExecutionId, run: &Run) {
        if self.crashes(at, Place::Ordered) {
            return;
        }
        self.summary.runs += 1;
        let node = &self.nodes[at];
        let now = self.node_now(at);
        self.checks.began(&Beginning { at, execution: &execution, run, node, now });
        self.note(Entry::Began { node: at, execution: execution.clone() });
        let takes = Duration::from_secs(match self.rng.below(20) {
            0 => 3600,
            1..4 => 0,
            _ => self.rng.below(90),
        });
        let until = self.clock.mono().after(takes.min(run.deadline));
        let node = &mut self.nodes[at];
        if takes > run.deadline {
            node.overdue.insert(execution.clone());
        }
        node.runs.insert(execution, until);
        self.crashes(at, Place::Began);
    }

    fn cancel(&mut self, at: usize, execution: ExecutionId) {
        let now = self.clock.mono();
        let node = &mut self.nodes[at];
        if let Some(until) = node.runs.get_mut(&execution) {
            *until = now;
            node.cancelled.insert(execution);
        }
    }

    pub(crate) fn finish(&mut self, at: usize, execution: ExecutionId) {
        let node = &mut self.nodes[at];
        node.runs.remove(&execution);
        let (cancelled, overdue) =
            (node.cancelled.remove(&execution), node.overdue.remove(&execution));
        let (cause, status) = match self.rng.below(10) {
            _ if cancelled => (Cause::Cancelled, "cancelled"),
            _ if overdue => (Cause::TimedOut, "failed"),
            0 => (Cause::Broken("it broke down".to_owned()), "failed"),
            1 => (Cause::Exited(1), "failed"),
            2 => (Cause::Signalled(9), "failed"),
            _ => (Cause::Exited(0), "succeeded"),
        };
        self.checks.ended(at, &execution, status);
        let length = if self.rng.odds(100) { LONG_OUTPUT } else { self.rng.below(80) as usize };
        let stdout = Captured { bytes: vec![b'o'; length], cut: false };
        self.note(Entry::Ended { node: at, execution: execution.clone(), status });
        let ending = Ending { cause, stdout, stderr: Captured::default() };
        let id = RunId::Execution(execution);
        self.feed(at, Input::Acted(Acted::Finished { id, ending }));
    }
}
