//! A stream that is open.

use core::time::Duration;

use crate::{backoff::Jitter, time::Mono, wire::sse::Parser};

/// Up so long a stream counts as sound, even where nothing has happened that it could tell.
pub const PROVEN_AFTER: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) parser: Parser,
    since: Mono,
    /// Without another byte until then it counts as broken.
    silent: Mono,
    /// It has told an event that was verified, or is up for [`PROVEN_AFTER`].
    pub(super) is_proven: bool,
    /// It was told that a frame was passed over.
    pub(super) has_skipped: bool,
    /// Drawn for the wait behind it, which a clock may begin.
    pub(super) jitter: Jitter,
}

impl Flow {
    pub(super) fn opened(now: Mono, idle_timeout: Duration, jitter: Jitter) -> Self {
        Self {
            parser: Parser::default(),
            since: now,
            silent: now.after(idle_timeout),
            is_proven: false,
            has_skipped: false,
            jitter,
        }
    }

    /// Bytes have come.
    pub(super) const fn heard(&mut self, now: Mono, idle_timeout: Duration, jitter: Jitter) {
        self.silent = now.after(idle_timeout);
        self.jitter = jitter;
    }

    pub(super) fn is_silent(&self, now: Mono) -> bool {
        self.silent <= now
    }

    pub(super) fn has_lasted(&self, now: Mono) -> bool {
        self.proven_at() <= now
    }

    const fn proven_at(&self) -> Mono {
        self.since.after(PROVEN_AFTER)
    }

    pub(super) fn wakeup(&self) -> Mono {
        if self.is_proven { self.silent } else { self.silent.min(self.proven_at()) }
    }
}
