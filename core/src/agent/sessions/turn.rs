//! One step of the sessions, while it is being taken.

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};
use core::net::{IpAddr, SocketAddr};

use super::{
    CLOSE_MAX, CONNECT_TIMEOUT, ENDED_MAX, Effect, Input, Kit, LISTED_MAX, STARTED_TIMEOUT,
    Sessions, Shelved,
    entry::{self, Judged, Plan},
    live::{Cause, Live, Stage, Started},
};
use crate::{
    agent::{
        facts::{Forward, SessionFact, SessionOrder},
        notice::Notice,
    },
    ids::SessionId,
    step::Step,
    time::Now,
    wire::{session::Phase, snapshot::Session},
};

pub(super) struct Turn<'s> {
    pub(super) sessions: Sessions,
    pub(super) effects: Vec<Effect>,
    kit: Kit<'s>,
    pub(super) now: Now,
}

impl<'s> Turn<'s> {
    pub(super) const fn new(sessions: Sessions, kit: Kit<'s>, now: Now) -> Self {
        Self { sessions, effects: Vec::new(), kit, now }
    }

    pub(super) fn take(&mut self, input: Input) {
        match input {
            Input::Pulled { entries, unread } => self.pulled(entries, &unread),
            Input::Told { session, fact } => self.told(session, fact),
            Input::Answered { session, phase: Phase::SessionStarted, reported } => {
                self.answered_started(session, reported);
            }
            Input::Answered { session, phase: Phase::SessionEnded, reported } => {
                self.answered_ended(session, reported);
            }
            Input::Draining => self.drain(),
            Input::Ticked => self.rest_is_over(),
        }
    }

    /// Whatever came, time has passed, and what waits may be opened by now.
    pub(super) fn done(mut self) -> Step<Sessions, Effect> {
        self.expire();
        self.advance();
        Step { state: self.sessions, effects: self.effects }
    }

    fn pulled(&mut self, entries: Option<Vec<Session>>, unread: &BTreeSet<SessionId>) {
        if self.sessions.is_draining {
            return;
        }
        let Some(entries) = entries else { return self.unpopulated() };
        self.sessions.is_unpopulated = false;
        self.overlong(entries.len());
        let ids = entries.iter().map(|entry| entry.session_id.as_str());
        let listed: BTreeSet<_> = ids.chain(unread.iter().map(|id| id.0.as_str())).collect();
        self.sessions.shelf.retain(|session, _| listed.contains(session.0.as_str()));
        self.sessions.doubled.retain(|session| listed.contains(session.0.as_str()));
        self.expire();
        for session in self.of(|session, live| live.is_kept() && !listed.contains(session)) {
            self.close(&session, Cause::Unlisted);
        }
        for session in self.of(|_, live| live.started == Started::Failed) {
            self.post_started(&session);
        }
        self.sessions.waiting.clear();
        let mut met = BTreeSet::new();
        for entry in entries.into_iter().take(LISTED_MAX) {
            let session = SessionId(entry.session_id.0.clone());
            if met.insert(session.clone()) {
                self.look_at(session, entry);
            } else {
                self.doubled(session);
            }
        }
    }

    fn unpopulated(&mut self) {
        if !self.sessions.is_unpopulated {
            self.sessions.is_unpopulated = true;
            self.warn("the pull has no block of sessions: those that are open stay as they are");
        }
    }

    fn overlong(&mut self, length: usize) {
        let is_overlong = length > LISTED_MAX;
        if is_overlong && !self.sessions.is_overlong {
            self.warn(format!(
                "the pull lists {length} sessions, of which the first {LISTED_MAX} are looked at"
            ));
        }
        self.sessions.is_overlong = is_overlong;
    }

    fn doubled(&mut self, session: SessionId) {
        if self.sessions.doubled.insert(session.clone()) {
            self.warn(format!(
                "session {:?} is listed more than once: the first entry counts",
                session.0
            ));
        }
    }

    fn look_at(&mut self, session: SessionId, entry: Session) {
        if let Some(live) = self.sessions.live.get_mut(&session) {
            live.expires_at = entry.expires_at.map_or(live.expires_at, |spelled| spelled.at);
            return;
        }
        if let Some(Shelved::Settled { .. }) = self.sessions.shelf.get(&session) {
            return;
        }
        match entry::judge(entry, self.kit.settings.enabled, self.now.wall) {
            Judged::Open(plan) => self.sessions.waiting.push_back(plan),
            Judged::Defer(reason) => self.defer(session, reason),
            Judged::Settle { unsupported, reason } => self.settle(session, unsupported, &reason),
        }
    }

    fn settle(&mut self, session: SessionId, unsupported: bool, reason: &str) {
        self.warn(format!("session {:?} is settled without being opened: {reason}", session.0));
        self.sessions.shelf.insert(session, Shelved::Settled { unsupported });
    }

    /// Waits for the next pull; a reason is told once.
    pub(super) fn defer(&mut self, session: SessionId, reason: String) {
        let deferred = Shelved::Deferred(reason.clone());
        if self.sessions.shelf.get(&session) != Some(&deferred) {
            self.warn(format!("session {:?} waits for the next pull: {reason}", session.0));
        }
        self.sessions.shelf.insert(session, deferred);
    }

    /// Opens what waits, one at a time, when what was told to close is gone.
    fn advance(&mut self) {
        let is_moving = |live: &Live| matches!(live.stage, Stage::Opening | Stage::Closing { .. });
        while !self.sessions.live.values().any(is_moving) {
            let Some(plan) = self.sessions.waiting.pop_front() else { return };
            self.take_up(plan);
        }
    }

    fn take_up(&mut self, plan: Plan) {
        if !plan.expires_at.is_after(self.now.wall) {
            return self.settle(plan.session, false, entry::LAPSED);
        }
        match self.room().and_then(|()| self.listen()) {
            Ok(listen) => self.open(plan, listen),
            Err(reason) => self.defer(plan.session, reason),
        }
    }

    fn room(&self) -> Result<(), String> {
        let max = self.kit.settings.max_sessions;
        let listening = self.sessions.live.values().filter(|live| live.has_listener()).count();
        if listening >= max {
            return Err(format!("sessions.max_sessions ({max}) are open"));
        }
        if self.sessions.live.len() - listening >= ENDED_MAX {
            return Err("too many ended sessions wait for their rows to be taken".into());
        }
        Ok(())
    }

    /// Where listeners are opened.
    fn listen(&self) -> Result<IpAddr, String> {
        let mesh_ip = self.kit.mesh_ip;
        let ip = self.kit.settings.listen_address.or_else(|| mesh_ip.parse().ok());
        let ip = ip.filter(|ip| entry::is_one_host(*ip)).map(|ip| ip.to_canonical());
        ip.ok_or_else(|| format!("nobody can listen on the mesh address {mesh_ip:?}"))
    }

    fn open(&mut self, plan: Plan, listen: IpAddr) {
        let Plan { session, target, expires_at, idle } = plan;
        let forward = Forward {
            listen,
            target_host: target.host.clone(),
            target_port: target.port,
            connect_timeout: CONNECT_TIMEOUT,
            idle,
        };
        let lasts = self.kit.settings.default_timeout;
        if expires_at.left(self.now.wall) > lasts {
            self.tell(Notice::info(format!(
                "session {:?} would outlast sessions.default_timeout and ends after {} s",
                session.0,
                lasts.as_secs()
            )));
        }
        let until = self.now.mono.after(lasts);
        let (started, stage) = (Started::Untold, Stage::Opening);
        let live = Live { target, expires_at, until, due: until, started, stage };
        let due = live.next_look(self.now);
        self.sessions.live.insert(session.clone(), Live { due, ..live });
        self.effects.push(Effect::Order { session, order: SessionOrder::Open(forward) });
    }

    fn told(&mut self, session: SessionId, fact: SessionFact) {
        match fact {
            SessionFact::Opened { endpoint } => self.opened(&session, endpoint),
            SessionFact::Refused { reason } => self.refused(session, &reason),
            SessionFact::Idle => self.close(&session, Cause::Idle),
            SessionFact::Closed(carried) => self.closed(session, carried),
        }
    }

    fn opened(&mut self, session: &SessionId, endpoint: SocketAddr) {
        let Some(live) = self.sessions.live.get_mut(session) else { return };
        if live.stage != Stage::Opening {
            return;
        }
        live.stage = Stage::Open { endpoint };
        self.sessions.shelf.remove(session);
        let (host, port) = (&live.target.host, live.target.port);
        let text =
            format!("session {:?} is open: {endpoint} leads to {host:?} port {port}", session.0);
        self.tell(Notice::info(text));
        self.post_started(session);
    }

    fn refused(&mut self, session: SessionId, reason: &str) {
        match self.sessions.live.get(&session).map(|live| live.stage) {
            Some(Stage::Opening) => {
                self.sessions.live.remove(&session);
                self.defer(session, format!(
                    "its listener cannot be opened: {reason} (sessions.listen_address, or else the mesh address, \
                     must be one of this host)"
                ));
            }
            Some(Stage::Closing { .. }) => drop(self.sessions.live.remove(&session)),
            Some(Stage::Open { .. } | Stage::Ended(_)) | None => {}
        }
    }

    /// The same row each time.
    fn post_started(&mut self, session: &SessionId) {
        let Some(live) = self.sessions.live.get_mut(session) else { return };
        let Stage::Open { endpoint } = live.stage else { return };
        live.started = Started::Posted;
        let row = live.started_row(endpoint);
        let session = session.clone();
        self.effects.push(Effect::Post { session, row, timeout: STARTED_TIMEOUT });
    }

    /// Tells the listener to close, unless it was told before.
    pub(super) fn close(&mut self, session: &SessionId, cause: Cause) {
        let Some(live) = self.sessions.live.get_mut(session).filter(|live| live.is_kept()) else {
            return;
        };
        live.stage = Stage::Closing { cause };
        if cause.settles() {
            let settled = Shelved::Settled { unsupported: false };
            self.sessions.shelf.insert(session.clone(), settled);
        }
        let order = SessionOrder::Close { within: CLOSE_MAX };
        self.effects.push(Effect::Order { session: session.clone(), order });
    }

    /// Ends what has reached its end, and notes when to look again, as the wall clock may have been set.
    fn expire(&mut self) {
        let now = self.now;
        for session in self.of(|_, live| live.is_kept() && live.is_expired(now)) {
            self.close(&session, Cause::Expired);
        }
        for live in self.sessions.live.values_mut().filter(|live| live.is_kept()) {
            live.due = live.next_look(now);
        }
    }

    /// Opens nothing more and closes all; the rows go on.
    fn drain(&mut self) {
        self.sessions.is_draining = true;
        self.sessions.waiting.clear();
        for session in self.of(|_, live| live.is_kept()) {
            self.close(&session, Cause::Shutdown);
        }
        self.hurry();
    }

    /// The sessions of which this holds.
    pub(super) fn of(&self, is_one: impl Fn(&str, &Live) -> bool) -> Vec<SessionId> {
        let all = self.sessions.live.iter();
        all.filter(|(session, live)| is_one(&session.0, live)).map(|(id, _)| id.clone()).collect()
    }

    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.tell(Notice::warn(text));
    }

    pub(super) fn tell(&mut self, notice: Notice) {
        self.effects.push(Effect::Tell(notice));
    }
}
