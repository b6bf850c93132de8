//! From where on events are asked for, and what was missed.

use alloc::{borrow::ToOwned as _, string::String};
use core::time::Duration;

use crate::{
    time::Mono,
    wire::http::{Headers, Request},
};

/// How long a gap waits behind the one before until it leads to a reconcile: a peer must not drive pulls without end.
pub const GAP_INTERVAL: Duration = Duration::from_secs(1);

/// The last frame that was judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cursor(Option<String>);

impl Cursor {
    /// Moves behind a frame; tells whether one was missed in between, which only numbers tell.
    ///
    /// An empty id takes the cursor away, as the text of server-sent events has it, and so does one that cannot stand
    /// in a header.
    pub(super) fn moved(&mut self, id: &str) -> bool {
        let last = self.0.as_deref().and_then(number);
        let is_gap =
            last.zip(number(id)).is_some_and(|(last, this)| last.checked_add(1) != Some(this));
        self.0 = is_sendable(id).then(|| id.to_owned());
        is_gap
    }

    pub(super) fn clear(&mut self) {
        self.0 = None;
    }

    pub(super) fn sent(&self) -> Option<String> {
        self.0.clone()
    }
}

fn number(id: &str) -> Option<u64> {
    let is_plain = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| id.parse().ok())?
}

fn is_sendable(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The reconciles that gaps led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gaps {
    last: Option<Mono>,
    is_owed: bool,
}

impl Gaps {
    /// Something was missed.
    pub(super) const fn met(&mut self) {
        self.is_owed = true;
    }

    /// Whether a reconcile is due by now; it is told once.
    pub(super) fn take(&mut self, now: Mono) -> bool {
        let is_due = self.wakeup().is_some_and(|due| due <= now);
        if is_due {
            *self = Self { last: Some(now), is_owed: false };
        }
        is_due
    }

    /// Everything is pulled anyway.
    pub(super) const fn settle(&mut self) {
        self.is_owed = false;
    }

    pub(super) fn wakeup(&self) -> Option<Mono> {
        let due = self.last.map_or_else(Mono::default, |last| last.after(GAP_INTERVAL));
        self.is_owed.then_some(due)
    }
}

/// What a stream is asked for with.
pub fn headers(request: Request, cursor: Option<&str>) -> Request {
    let mut headers =
        Headers::new().with("accept", "text/event-stream").with("cache-control", "no-cache");
    for (name, value) in request.headers.iter().filter(|(name, _)| *name != "accept") {
        headers.push(name, value);
    }
    if let Some(cursor) = cursor {
        headers.push("last-event-id", cursor);
    }
    Request { headers, ..request }
}
