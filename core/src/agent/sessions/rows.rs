//! What becomes of the rows: the answer to the one that tells of the begin, and the tries of the one of the end.

use alloc::format;

use super::{
    ENDED_TIMEOUT, ENDED_WAITS, ENDED_WINDOW, Effect, Shelved,
    live::{Cause, Ended, Row, Stage, Started},
    turn::Turn,
};
use crate::{
    agent::{facts::Carried, notice::Notice, verdict::session::Reported},
    ids::SessionId,
    time::Mono,
};

impl Turn<'_> {
    pub(super) fn answered_started(&mut self, session: SessionId, reported: Reported) {
        let Some(live) = self.sessions.live.get_mut(&session) else { return };
        if live.started != Started::Posted {
            return;
        }
        live.started = match &reported {
            Reported::Accepted => Started::Accepted,
            Reported::Drain(_) | Reported::NotFound(_) | Reported::Failed(_) => Started::Failed,
        };
        match reported {
            Reported::Accepted => {}
            Reported::Drain(reason) => return self.drained(&session, &reason),
            Reported::NotFound(reason) | Reported::Failed(reason) => self.warn(format!(
                "the begin of session {:?} was not taken and is told again with the next pull: {reason}",
                session.0
            )),
        }
        self.release(session);
    }

    /// The control plane says that a session is over: it is closed and settled, and no row tells of its end.
    fn drained(&mut self, session: &SessionId, reason: &str) {
        self.warn(format!("session {:?} is ended by the control plane: {reason}", session.0));
        self.close(session, Cause::Drained);
        self.sessions.shelf.insert(session.clone(), Shelved::Settled { unsupported: false });
        match self.sessions.live.get_mut(session).map(|live| &mut live.stage) {
            Some(Stage::Closing { cause }) => *cause = Cause::Drained,
            Some(Stage::Ended(_)) => drop(self.sessions.live.remove(session)),
            Some(Stage::Opening | Stage::Open { .. }) | None => {}
        }
    }

    /// The begin is answered, so the end may be told.
    fn release(&mut self, session: SessionId) {
        if let Some(Stage::Ended(ended)) = self.sessions.live.get(&session).map(|live| live.stage)
            && ended.row == Row::Held
        {
            self.post_ended(&session, ended, (self.now.mono, 1));
        }
    }

    /// A listener is gone; the counts are in the log, whatever becomes of the row.
    pub(super) fn closed(&mut self, session: SessionId, carried: Carried) {
        let Some(live) = self.sessions.live.get(&session) else { return };
        let started = live.started;
        let cause = match live.stage {
            Stage::Closing { cause } => cause,
            Stage::Opening | Stage::Open { .. } => {
                let settled = Shelved::Settled { unsupported: false };
                self.sessions.shelf.insert(session.clone(), settled);
                Cause::Broke
            }
            Stage::Ended(_) => return,
        };
        self.tell(Notice::info(format!(
            "session {:?} is closed with {}: {}",
            session.0,
            Counts(carried),
            cause.as_str()
        )));
        let ended = Ended { cause, carried, row: Row::Held };
        match (cause, started) {
            (Cause::Drained, _) | (_, Started::Untold) => drop(self.sessions.live.remove(&session)),
            (_, Started::Posted) => self.note(&session, ended),
            (_, Started::Accepted | Started::Failed) => {
                self.post_ended(&session, ended, (self.now.mono, 1));
            }
        }
    }

    fn note(&mut self, session: &SessionId, ended: Ended) {
        if let Some(live) = self.sessions.live.get_mut(session) {
            live.stage = Stage::Ended(ended);
        }
    }

    fn post_ended(&mut self, session: &SessionId, ended: Ended, (first, tries): (Mono, usize)) {
        let left = ENDED_WINDOW.saturating_sub(self.now.mono.since(first));
        if left.is_zero() {
            return self.give_up(session, ended, "ten seconds have passed");
        }
        let ended = Ended { row: Row::Posted { first, tries }, ..ended };
        self.note(session, ended);
        let Some(row) = self.sessions.live.get(session).map(|live| live.ended_row(&ended)) else {
            return;
        };
        let (session, timeout) = (session.clone(), left.min(ENDED_TIMEOUT));
        self.effects.push(Effect::Post { session, row, timeout });
    }

    pub(super) fn answered_ended(&mut self, session: SessionId, reported: Reported) {
        let Some(Stage::Ended(ended)) = self.sessions.live.get(&session).map(|live| live.stage)
        else {
            return;
        };
        let Row::Posted { first, tries } = ended.row else { return };
        match reported {
            Reported::Accepted => drop(self.sessions.live.remove(&session)),
            Reported::Drain(reason) => {
                self.warn(format!(
                    "the end of session {:?}, after {}, came behind its end at the control plane: {reason}",
                    session.0,
                    Counts(ended.carried)
                ));
                drop(self.sessions.live.remove(&session));
            }
            Reported::NotFound(reason) => self.give_up(&session, ended, &reason),
            Reported::Failed(reason) => match ENDED_WAITS.get(tries - 1) {
                Some(wait) if !self.sessions.is_draining => {
                    let due = self.now.mono.after(*wait);
                    let row = Row::Resting { first, tries, due };
                    self.note(&session, Ended { row, ..ended });
                }
                Some(_) | None => self.give_up(&session, ended, &reason),
            },
        }
    }

    fn give_up(&mut self, session: &SessionId, ended: Ended, reason: &str) {
        self.tell(Notice::error(format!(
            "the end of session {:?}, after {}, is not told to the control plane: {reason}",
            session.0,
            Counts(ended.carried)
        )));
        self.sessions.live.remove(session);
    }

    /// Tries the rows again whose rest is over.
    pub(super) fn rest_is_over(&mut self) {
        self.retry(self.now.mono);
    }

    /// In a stop nothing rests: what was not taken is tried once more.
    pub(super) fn hurry(&mut self) {
        self.retry(self.now.mono.after(ENDED_WINDOW));
    }

    fn retry(&mut self, until: Mono) {
        let resting = |row: Row| match row {
            Row::Resting { first, tries, due } if due <= until => Some((first, tries + 1)),
            Row::Resting { .. } | Row::Held | Row::Posted { .. } => None,
        };
        for session in self.of(|_, _| true) {
            let Some(Stage::Ended(ended)) = self.sessions.live.get(&session).map(|live| live.stage)
            else {
                continue;
            };
            if let Some(tried) = resting(ended.row) {
                self.post_ended(&session, ended, tried);
            }
        }
    }
}

/// The bytes of a session, in words.
struct Counts(Carried);

impl core::fmt::Display for Counts {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} bytes in and {} bytes out", self.0.bytes_in, self.0.bytes_out)
    }
}
