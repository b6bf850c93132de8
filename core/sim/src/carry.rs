//! What comes out of the network, at either end.

use std::time::Duration;

use meshward_core::{
    agent::{Answer, Failure, Input},
    backoff::Jitter,
};

use crate::{
    checks::Serving,
    codec,
    journal::Entry,
    net::{Caller, Message, Passage},
    node::Place,
    route::{Route, Said},
    world::World,
};

/// How long a machine may be suspended without losing what is under way to it.
const CONNECTION_AGE_MAX: Duration = Duration::from_secs(60);

impl World {
    pub(crate) fn deliver(&mut self, message: Message) {
        let Some(message) = self.awaited(message) else { return };
        match message {
            Message::Request { caller, bytes, reply } => self.serve(caller, &bytes, reply),
            Message::Reply { caller, bytes } => {
                let response = codec::response(&bytes).expect("the codec reads what it wrote");
                self.answer(caller, Answer::Responded(response));
            }
            Message::TimedOut { caller } => {
                self.answer(caller, Answer::Failed(Failure::TimedOut.into()))
            }
            Message::Listen { caller, bytes, reply } => self.serve_stream(caller, &bytes, reply),
            Message::Stream { caller, part } => self.hear(caller, part),
            Message::Left { call } => self.left(call),
        }
    }

    /// What comes to a process that stands still waits for it; a connection does not outlive a long suspension.
    fn awaited(&mut self, message: Message) -> Option<Message> {
        let now = self.clock.mono();
        let Some(caller) = message.client() else { return Some(message) };
        let Some(away) = self.nodes[caller.node].away else { return Some(message) };
        if away.until <= now {
            self.resume(caller.node);
            return Some(message);
        }
        let outlives = !away.suspended || away.until.since(now) <= CONNECTION_AGE_MAX;
        if message.is_timeout() || outlives {
            self.net.put(away.until, message);
        } else {
            self.lines.lose(caller);
        }
        None
    }

    /// A request reaches the control plane, perhaps when nobody waits for its answer any more.
    fn serve(&mut self, caller: Caller, bytes: &[u8], reply: Passage) {
        let request = codec::request(bytes).expect("the codec reads what it wrote");
        let said = Said::read(&request);
        let route = said.route();
        let rotates = route == Route::Rotate;
        let before = if rotates { self.counter("key_rotate_count") } else { 0 };
        let mut response = self.ask_plane(request);
        if route == Route::Register {
            self.keyring.name(&mut response);
        }
        let completed = rotates && self.counter("key_rotate_count") != before;
        if route == Route::Register && response.status == 201 {
            self.nodes[caller.node].revoked = false;
        }
        let node = &self.nodes[caller.node];
        let now = self.clock.now();
        self.checks.served(&Serving {
            caller,
            said: &said,
            response: &response,
            completed,
            node,
            now,
        });
        self.note(Entry::Served { node: caller.node, route, status: response.status });
        if route == Route::Heartbeat && response.status == 200 {
            self.heartbeat_served();
        }
        for delay in reply.arrivals() {
            self.put(delay, Message::Reply { caller, bytes: codec::response_bytes(&response) });
        }
    }

    /// An answer arrives, if its caller still waits for one.
    fn answer(&mut self, caller: Caller, answer: Answer) {
        let node = &mut self.nodes[caller.node];
        if caller.life != node.life {
            return;
        }
        let Some(said) = node.open.remove(&caller.call) else { return };
        let status = match &answer {
            Answer::Responded(response) => response.status,
            Answer::Failed(_) => 0,
        };
        self.note(Entry::Heard { node: caller.node, route: said.route(), status });
        if self.crashes(caller.node, Place::Heard(said.route())) {
            return;
        }
        let now = self.node_now(caller.node).mono;
        self.checks.heard(caller, &said, status, now);
        let jitter = match matches!(said, Said::Sense(_)) {
            true => Jitter::drawn(self.senses.next() as u16),
            false => self.jitter(),
        };
        self.feed(caller.node, Input::Answered { call: caller.call, answer, jitter });
    }
}
