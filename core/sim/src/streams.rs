//! The event streams: connections that the control plane sends on and agents read from, as bytes.
//!
//! At the control plane's end each has the buffer of the specification, and the bytes are under way one behind the
//! other, whole or in pieces. A stall is told to neither end.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use meshward_core::{
    agent::{Acted, Bytes, Failure, Heard, Input, Listen},
    backoff::Jitter,
    ids::CallId,
    plane::{KEEP_ALIVE, stream::BUFFER_LEN},
    time::Mono,
    wire::{
        http::Request,
        sse::{self, Frame},
    },
};

use crate::{
    checks::{Sending, Serving},
    codec,
    journal::Entry,
    net::{Caller, Message, PLAIN_DELAY, Part, Passage},
    node::Place,
    perform::refusal,
    route::{Route, Said},
    script::Flow,
    world::World,
};

/// A stream at the control plane's end.
#[derive(Clone, Debug)]
pub struct Line {
    pub caller: Caller,
    flow: Flow,
    buffer: VecDeque<Frame>,
    /// How much of it has come through.
    sent: u64,
    /// When the last of that arrives.
    arrives: Mono,
    alive_at: Mono,
    stalled: Option<Mono>,
}

/// The streams that the control plane holds open, by its names for them.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    open: BTreeMap<CallId, Line>,
    /// How many there ever were.
    opened: u32,
}

/// A stall that nothing ends.
const FOREVER: Mono = Mono::from_origin(Duration::from_secs(u32::MAX as u64));

impl Lines {
    /// When the first of them has to say that it is alive, or goes on.
    pub(crate) fn due(&self) -> Option<Mono> {
        self.open.values().map(Line::due).min()
    }

    pub(crate) fn first_due(&self, now: Mono) -> Option<CallId> {
        self.open.iter().find(|(_, line)| line.due() <= now).map(|(call, _)| *call)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Line> {
        self.open.values()
    }

    fn of(&mut self, node: usize) -> Option<(&CallId, &mut Line)> {
        self.open.iter_mut().find(|(_, line)| line.caller.node == node)
    }

    /// What was to befall the open streams further on does not, or one would break long behind the last fault.
    pub(crate) fn heal(&mut self) {
        for line in self.open.values_mut() {
            (line.flow.cut, line.flow.stall) = (None, None);
        }
    }

    /// The bytes that are under way to a client are lost, and so is all behind them.
    pub(crate) fn lose(&mut self, caller: Caller) {
        for line in self.open.values_mut().filter(|line| line.caller == caller) {
            line.stalled = Some(FOREVER);
        }
    }
}

impl Line {
    fn due(&self) -> Mono {
        self.stalled.unwrap_or(self.alive_at)
    }

    /// What comes of bytes that are sent now, and whether the connection breaks behind them.
    fn pass(&mut self, now: Mono, bytes: &[u8]) -> (Vec<(Mono, Vec<u8>)>, bool) {
        self.alive_at = now.after(KEEP_ALIVE);
        let room = |limit: Option<u64>| {
            let left = limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.sent));
            usize::try_from(left).unwrap_or(usize::MAX)
        };
        let (cut, stall) = (room(self.flow.cut), room(self.flow.stall));
        let through = &bytes[..bytes.len().min(cut).min(stall)];
        self.sent += through.len() as u64;
        let piece = if self.flow.piece == 0 { bytes.len().max(1) } else { self.flow.piece };
        let mut pieces = Vec::new();
        let mut leaves = now;
        for piece in through.chunks(piece) {
            self.arrives = self.arrives.max(leaves.after(Duration::from_millis(self.flow.delay)));
            leaves = leaves.after(Duration::from_millis(1));
            pieces.push((self.arrives, piece.to_vec()));
        }
        let broken = cut < bytes.len() && cut <= stall;
        if !broken && stall < bytes.len() {
            self.stalled = Some(FOREVER);
        }
        (pieces, broken)
    }
}

impl World {
    /// An agent orders something of a stream.
    pub(crate) fn hearken(&mut self, at: usize, stream: CallId, order: Listen) {
        match order {
            Listen::Open { request, timeout, .. } => {
                self.ask_stream(at, stream, (&request, timeout))
            }
            Listen::Close => {
                let caller = Caller { node: at, life: self.nodes[at].life, call: stream };
                self.nodes[at].streams.remove(&stream);
                self.checks.hung_up(at, self.node_now(at).mono);
                self.hang_up(caller);
            }
        }
    }

    fn ask_stream(&mut self, at: usize, call: CallId, (request, timeout): (&Request, Duration)) {
        let said = Said::read(request);
        let fate = self.fate(Route::Events);
        let caller = Caller { node: at, life: self.nodes[at].life, call };
        let (node, now) = (&self.nodes[at], self.node_now(at));
        self.checks.sent(&Sending { caller, said: &said, fate, node, now });
        self.note(Entry::Sent { node: at, route: Route::Events });
        self.nodes[at].streams.insert(call, false);
        let late = Message::Stream { caller, part: Part::TimedOut };
        self.net.put(self.clock.mono().after(timeout), late);
        let refused = self.nodes[at].revoked.then_some(401);
        if let Some(status) = fate.instead.or(refused) {
            let response = refusal(status, "signed_event_bus_not_provisioned");
            self.put_head(caller, codec::response_bytes(&response), fate.reply);
        } else if let Some(delay) = fate.request.arrivals().next() {
            let bytes = codec::request_bytes(request);
            self.put(delay, Message::Listen { caller, bytes, reply: fate.reply });
        }
        self.crashes(at, Place::Sent(Route::Events));
    }

    /// When the head arrives, if it does.
    fn put_head(&mut self, caller: Caller, bytes: Vec<u8>, reply: Passage) -> Option<Mono> {
        let delay = reply.arrivals().next()?;
        self.put(delay, Message::Stream { caller, part: Part::Head(bytes) });
        Some(self.clock.mono().after(Duration::from_millis(delay)))
    }

    /// Whether a client still waits for what comes of its stream.
    fn listens(&self, caller: Caller) -> bool {
        let node = &self.nodes[caller.node];
        node.life == caller.life && node.streams.contains_key(&caller.call)
    }

    /// A request for a stream reaches the control plane.
    pub(crate) fn serve_stream(&mut self, caller: Caller, bytes: &[u8], reply: Passage) {
        if !self.listens(caller) {
            return;
        }
        let request = codec::request(bytes).expect("the codec reads what it wrote");
        let said = Said::read(&request);
        self.plane_call = self.plane_call.next();
        let call = self.plane_call;
        let answered = self.ask_plane_by(call, request);
        let (response, replay) = answered.expect("the control plane answers at once");
        let (node, now) = (&self.nodes[caller.node], self.clock.now());
        let (said, response) = (&said, &response);
        let completed = false;
        self.checks.served(&Serving { caller, said, response, completed, node, now });
        let (node, route, status) = (caller.node, Route::Events, response.status);
        self.note(Entry::Served { node, route, status });
        let arrives = self.put_head(caller, codec::response_bytes(response), reply);
        if let Some(replay) = replay {
            let now = now.mono;
            let line = Line {
                caller,
                flow: self.flow(),
                buffer: VecDeque::new(),
                sent: 0,
                arrives: arrives.unwrap_or(now),
                alive_at: now.after(KEEP_ALIVE),
                stalled: arrives.is_none().then_some(FOREVER),
            };
            self.lines.open.insert(call, line);
            self.summary.streams += 1;
            for frame in replay {
                let frame = self.keyring.again(&frame);
                self.put_bytes(call, &frame.0);
            }
        }
    }

    /// How the script lets the next stream come through, or as its faults draw it.
    fn flow(&mut self) -> Flow {
        self.lines.opened += 1;
        let nth = self.lines.opened;
        let flow = self.script.flow(nth).unwrap_or_else(|| self.faults.flow(&mut self.fates));
        if flow != Flow::PLAIN {
            self.flowed.push((nth, flow));
        }
        flow
    }

    /// Sends bytes on a stream, past its buffer.
    fn put_bytes(&mut self, call: CallId, bytes: &[u8]) {
        let now = self.clock.mono();
        let Some(line) = self.lines.open.get_mut(&call) else { return };
        if line.stalled.is_some() {
            return;
        }
        let (pieces, broken) = line.pass(now, bytes);
        let (caller, arrives) = (line.caller, line.arrives);
        for (due, bytes) in pieces {
            self.net.put(due, Message::Stream { caller, part: Part::Bytes(bytes) });
        }
        if broken {
            self.end_line(call, arrives, true);
        }
    }

    /// Ends a stream at the control plane's end; its client learns of it behind what is under way.
    fn end_line(&mut self, call: CallId, arrives: Mono, broken: bool) {
        let Some(line) = self.lines.open.remove(&call) else { return };
        self.put(PLAIN_DELAY, Message::Left { call });
        if line.stalled.is_none() {
            let due = arrives.max(self.clock.mono().after(Duration::from_millis(PLAIN_DELAY)));
            let part = Part::End { broken };
            self.net.put(due, Message::Stream { caller: line.caller, part });
        }
    }

    /// Puts a frame into the buffer of every stream that has room.
    pub(crate) fn broadcast(&mut self, frame: &Frame) {
        let frame = self.keyring.stamp(frame);
        let calls: Vec<_> = self.lines.open.keys().copied().collect();
        for call in calls {
            let Some(line) = self.lines.open.get_mut(&call) else { continue };
            if line.buffer.len() >= BUFFER_LEN {
                self.summary.dropped += 1;
                continue;
            }
            line.buffer.push_back(frame.clone());
            self.drain(call);
        }
    }

    /// Sends what is in a buffer, where something gets through.
    fn drain(&mut self, call: CallId) {
        while let Some(line) = self.lines.open.get_mut(&call) {
            if line.stalled.is_some() {
                return;
            }
            let Some(frame) = line.buffer.pop_front() else { return };
            self.put_bytes(call, &frame.0);
        }
    }

    /// A stream says that it is alive, or gets through again.
    pub(crate) fn line_moves(&mut self, call: CallId) {
        let Some(line) = self.lines.open.get_mut(&call) else { return };
        if line.stalled.take().is_some() {
            self.drain(call);
        } else {
            self.put_bytes(call, sse::KEEP_ALIVE);
        }
    }

    /// Ends every stream in order.
    pub(crate) fn close_lines(&mut self) {
        self.end_lines(false);
    }

    /// Every stream breaks.
    pub(crate) fn cut_all(&mut self) {
        self.end_lines(true);
    }

    fn end_lines(&mut self, broken: bool) {
        let open: Vec<_> =
            self.lines.open.iter().map(|(call, line)| (*call, line.arrives)).collect();
        open.into_iter().for_each(|(call, arrives)| self.end_line(call, arrives, broken));
    }

    /// The stream of a node breaks; false where it has none.
    pub(crate) fn cut(&mut self, node: usize) -> bool {
        let found = self.lines.of(node).map(|(call, line)| (*call, line.arrives));
        found.map(|(call, arrives)| self.end_line(call, arrives, true)).is_some()
    }

    pub(crate) fn stall(&mut self, node: usize, until: Mono) -> bool {
        let Some((_, line)) = self.lines.of(node) else { return false };
        line.stalled = line.stalled.max(Some(until));
        true
    }

    /// Slips bytes in between two frames of a node's stream.
    pub(crate) fn slip_in(&mut self, node: usize, bytes: &[u8]) -> bool {
        let Some((call, line)) = self.lines.of(node) else { return false };
        let (call, passes) = (*call, line.stalled.is_none());
        self.put_bytes(call, bytes);
        self.checks.misled(node);
        passes
    }

    /// What comes of a stream reaches its client.
    pub(crate) fn hear(&mut self, caller: Caller, part: Part) {
        if !self.listens(caller) {
            return;
        }
        let streams = &mut self.nodes[caller.node].streams;
        let has_head = streams.get(&caller.call).copied().unwrap_or_default();
        let heard = match part {
            Part::TimedOut if has_head => return,
            Part::TimedOut => Heard::Ended(Some(Failure::TimedOut.into())),
            Part::Head(bytes) => {
                streams.insert(caller.call, true);
                let response = codec::response(&bytes).expect("the codec reads what it wrote");
                Heard::Answered(response)
            }
            Part::Bytes(bytes) => Heard::Bytes(Bytes(bytes)),
            Part::End { broken } => Heard::Ended(broken.then(|| Failure::Unreachable.into())),
        };
        let is_over = match &heard {
            Heard::Answered(response) => !response.is_success(),
            Heard::Bytes(_) => false,
            Heard::Ended(_) => true,
        };
        if is_over {
            streams.remove(&caller.call);
            self.hang_up(caller);
        }
        self.told(caller, heard);
    }

    fn told(&mut self, caller: Caller, heard: Heard) {
        let (node, route) = (caller.node, Route::Events);
        match &heard {
            Heard::Answered(response) => {
                let status = response.status;
                self.note(Entry::Heard { node, route, status });
                if self.crashes(node, Place::Heard(route)) {
                    return;
                }
            }
            Heard::Bytes(_) => {}
            Heard::Ended(lost) => self.note(Entry::HungUp { node, broken: lost.is_some() }),
        }
        let now = self.node_now(node).mono;
        self.checks.streamed(caller, &heard, now);
        let jitter = Jitter::drawn(self.stirs.next() as u16);
        let acted = Acted::Heard { stream: caller.call, heard, jitter };
        self.feed(node, Input::Acted(acted));
    }

    /// A client is gone from its stream, which the control plane learns a little later.
    fn hang_up(&mut self, caller: Caller) {
        let calls: Vec<_> = self
            .lines
            .open
            .iter()
            .filter(|(_, line)| line.caller == caller)
            .map(|(call, _)| *call)
            .collect();
        calls.into_iter().for_each(|call| self.put(PLAIN_DELAY, Message::Left { call }));
    }

    /// All clients of a process are gone.
    pub(crate) fn hang_up_all(&mut self, at: usize) {
        let life = self.nodes[at].life;
        for call in std::mem::take(&mut self.nodes[at].streams).into_keys() {
            self.hang_up(Caller { node: at, life, call });
        }
    }

    /// The control plane learns that a client is gone.
    pub(crate) fn left(&mut self, call: CallId) {
        self.lines.open.remove(&call);
        self.move_plane(meshward_core::plane::Input::Left { call });
    }
}
