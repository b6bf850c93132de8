//! The event log and its streams: every event gets the next sequence number and goes to all that listen.
//!
//! A stream is registered in the same step that copies what it is replayed, so that nothing comes twice or not at all.
//!
//! | Mode | Trigger | Next | Also |
//! |---|---|---|---|
//! | streaming | a client asks, its cursor is good | streaming | the stream opens: what is newer than the cursor, then live |
//! | streaming | a client asks, its cursor is bad | streaming | refused |
//! | descoped | a client asks, with any cursor | descoped | refused |
//! | any | an event is injected | unchanged | its signature is asked for |
//! | any | the signature comes | unchanged | `rotate_keys` arms a rotation; next sequence, log, all open streams |
//! | any | configured as descoped | descoped | every open stream is closed, the log is kept |
//! | any | configured as streaming | streaming | |
//!
//! Specification: "Events"; `decisions.md` section 7 (`Last-Event-ID`; inject-event; Full client buffer).

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    string::{String, ToString as _},
    vec::Vec,
};
use core::time::Duration;

use thiserror::Error;

use super::site;
use crate::{
    ids::CallId,
    step::Step,
    time::Now,
    wire::{
        event::{ConfigureEvents, Event, InjectEvent, Mode, sealed},
        http::{Body, Headers, Response, UNREADABLE},
        json::{self, Fault},
        sse::Frame,
        timestamp::Timestamp,
    },
};

/// "SSE replay ring: 64 envelopes".
pub const RING_LEN: usize = 64;

/// The most that the envelopes in the ring take together, in bytes.
///
/// Unspecified: beyond it the oldest ones fall out of the ring as they do beyond their number. The newest one stays
/// whatever its size, so that a client which comes back at once misses nothing.
pub const RING_BYTES: usize = 64 << 20;

/// "SSE client buffer: 64 events".
pub const BUFFER_LEN: usize = 64;

/// The most streams that are open at once, a few less than a listener takes connections, so that there is always one
/// left to steer with.
///
/// Unspecified: one more is refused with 503, as everywhere where the fixture is full.
pub const STREAMS_MAX: usize = 2000;

/// The highest cursor: 2^63 - 1.
pub const CURSOR_MAX: u64 = u64::MAX >> 1;

/// The event that arms a key rotation.
const ROTATE_KEYS: &str = "rotate_keys";

/// Which open streams an order concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    Everyone,
    Only(Vec<CallId>),
}

/// How a stream begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Status and headers; the body is the stream.
    pub response: Response,
    /// What is sent before anything live, in order.
    pub replay: Vec<Frame>,
    pub keep_alive: Duration,
}

/// From where on a client wants events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// Only what comes from now on.
    Tail,
    /// What is newer than this sequence number, then what comes.
    After(u64),
    /// The header is no cursor.
    Invalid,
}

impl Cursor {
    /// Reads the `Last-Event-ID` header: plain decimal, at most [`CURSOR_MAX`]; an empty one is as good as none.
    pub fn read(headers: &Headers) -> Self {
        let mut values = headers.all("last-event-id");
        let (first, second) = (values.next(), values.next());
        match (first, second) {
            (None | Some(""), None) => Self::Tail,
            (Some(text), None) if text.bytes().all(|byte| byte.is_ascii_digit()) => text
                .parse()
                .ok()
                .filter(|sequence| *sequence <= CURSOR_MAX)
                .map_or(Self::Invalid, Self::After),
            (_, Some(_)) | (Some(_), None) => Self::Invalid,
        }
    }
}

/// A fact for the event log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A client asks for the stream.
    Asked { call: CallId, cursor: Cursor },
    /// The client of a stream or of an injection is gone.
    Left { call: CallId },
    /// The stream was descoped or restored.
    Configured(Mode),
    /// An event is to be broadcast.
    Injected { call: CallId, event: InjectEvent },
    /// The signature of an injected event, as base64.
    Signed { call: CallId, signature: String },
}

/// An order of the event log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Answer with a stream that begins with this replay.
    Open {
        replay: Vec<Frame>,
    },
    /// Sign these bytes.
    Sign(Vec<u8>),
    ArmRotation,
    /// Bring this frame to every open stream.
    Send(Frame),
    /// End every open stream.
    Close,
    /// Answer that it is done.
    Accept,
    Refuse(Refusal),
}

/// Why a stream, an event or a mode is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the event stream is descoped; POST /test/configure-events restores it")]
    Descoped,
    #[error(
        "Last-Event-ID must be one sequence number, a plain decimal of at most 9223372036854775807"
    )]
    Cursor,
    #[error("4000 event streams are open; end some of them")]
    Full,
    #[error("the body is over 16 MiB")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the body is not what this route takes: {0}")]
    Malformed(Fault),
    #[error("{0} must not be empty")]
    Empty(&'static str),
    #[error("{0} must not hold a line break or NUL")]
    Broken(&'static str),
}

/// An event that waits for its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unsigned {
    kind: String,
    bytes: Vec<u8>,
}

/// The newest events in order, at most [`RING_LEN`], and of [`RING_BYTES`] unless it is one alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ring {
    frames: VecDeque<Frame>,
    /// What the frames take.
    bytes: usize,
}

impl Ring {
    fn push(&mut self, frame: Frame) {
        self.bytes += frame.0.len();
        self.frames.push_back(frame);
        while self.overfull() {
            let oldest = self.frames.pop_front();
            self.bytes -= oldest.map_or(0, |oldest| oldest.0.len());
        }
    }

    fn overfull(&self) -> bool {
        self.frames.len() > RING_LEN || (self.bytes > RING_BYTES && self.frames.len() > 1)
    }

    /// The newest events, so many where it still holds them.
    fn newest(&self, wanted: usize) -> Vec<Frame> {
        let passed_over = self.frames.len().saturating_sub(wanted);
        self.frames.iter().skip(passed_over).cloned().collect()
    }
}

/// Everything about events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    mode: Mode,
    /// The sequence number of the newest event, zero before the first.
    newest: u64,
    ring: Ring,
    open: BTreeSet<CallId>,
    unsigned: BTreeMap<CallId, Unsigned>,
}

/// Reads an event to broadcast.
pub fn read_event(body: &Body) -> Result<InjectEvent, Refusal> {
    let event: InjectEvent =
        json::decode_tolerant(body.whole(Refusal::TooLarge, Refusal::Unreadable)?)
            .map_err(Refusal::Malformed)?;
    let identifiers = [("id", &event.id), ("type", &event.kind)];
    for (name, text) in identifiers {
        if text.is_empty() {
            return Err(Refusal::Empty(name));
        }
        if text.contains(['\n', '\r', '\0']) {
            return Err(Refusal::Broken(name));
        }
    }
    Ok(event)
}

/// Reads the mode that the stream is to have.
pub fn read_mode(body: &Body) -> Result<Mode, Refusal> {
    let configured: ConfigureEvents =
        json::decode_strict(body.whole(Refusal::TooLarge, Refusal::Unreadable)?)
            .map_err(Refusal::Malformed)?;
    Ok(configured.mode)
}

impl Stream {
    /// The streams that are open.
    pub const fn open(&self) -> &BTreeSet<CallId> {
        &self.open
    }

    /// Moves on one input.
    pub fn step(self, now: Now, input: Input) -> Step<Self, Effect> {
        match input {
            Input::Asked { call, cursor } => self.asked(call, cursor),
            Input::Left { call } => self.left(call),
            Input::Configured(mode) => self.configured(mode),
            Input::Injected { call, event } => self.injected(now, call, event),
            Input::Signed { call, signature } => self.signed(call, &signature),
        }
    }

    fn asked(mut self, call: CallId, cursor: Cursor) -> Step<Self, Effect> {
        let after = match (self.mode, cursor) {
            (Mode::Descoped, _) => return self.refuse(Refusal::Descoped),
            (Mode::Streaming, Cursor::Invalid) => return self.refuse(Refusal::Cursor),
            (Mode::Streaming, Cursor::Tail) => self.newest,
            (Mode::Streaming, Cursor::After(sequence)) => sequence,
        };
        if self.open.len() >= STREAMS_MAX {
            return self.refuse(Refusal::Full);
        }
        let replay = self.newer(after);
        self.open.insert(call);
        Step::to(self).emit(Effect::Open { replay })
    }

    fn refuse(self, refusal: Refusal) -> Step<Self, Effect> {
        Step::to(self).emit(Effect::Refuse(refusal))
    }

    /// What the log still holds of the events behind `sequence`.
    fn newer(&self, sequence: u64) -> Vec<Frame> {
        let wanted = self.newest.saturating_sub(sequence);
        self.ring.newest(usize::try_from(wanted).unwrap_or(usize::MAX))
    }

    fn left(mut self, call: CallId) -> Step<Self, Effect> {
        self.open.remove(&call);
        self.unsigned.remove(&call);
        Step::to(self)
    }

    fn configured(mut self, mode: Mode) -> Step<Self, Effect> {
        self.mode = mode;
        let close = match mode {
            Mode::Streaming => None,
            Mode::Descoped => {
                self.open.clear();
                Some(Effect::Close)
            }
        };
        Step::to(self).emit_all(close).emit(Effect::Accept)
    }

    fn injected(mut self, now: Now, call: CallId, event: InjectEvent) -> Step<Self, Effect> {
        let InjectEvent { id, kind, scope, payload } = event;
        let event = Event {
            id,
            kind,
            scope,
            key_id: site::SIGNING_KEY_ID.to_string(),
            issued_at: Timestamp::from(now.wall),
            payload,
        };
        let bytes = event.signed_bytes();
        self.unsigned.insert(call, Unsigned { kind: event.kind, bytes: bytes.clone() });
        Step::to(self).emit(Effect::Sign(bytes))
    }

    /// A signature that nobody waits for is passed over.
    fn signed(mut self, call: CallId, signature: &str) -> Step<Self, Effect> {
        let Some(Unsigned { kind, bytes }) = self.unsigned.remove(&call) else {
            return Step::to(self);
        };
        self.newest = self.newest.saturating_add(1);
        let frame = Frame::event(self.newest, &kind, &sealed(bytes, signature));
        self.ring.push(frame.clone());
        Step::to(self)
            .emit_all((kind == ROTATE_KEYS).then_some(Effect::ArmRotation))
            .emit(Effect::Send(frame))
            .emit(Effect::Accept)
    }
}
