//! Sessions: that rows are told in order and truly, once each as far as the node can know, and that none stays open.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use meshward_core::{agent::Carried, ids::SessionId, time::Mono, wire::timestamp::Timestamp};

use super::{
    Checks,
    witness::{Found, Opening, Rest, Sending, Serving},
};
use crate::{net::Caller, route::Said, settings::MAX_SESSIONS};

/// "Otherwise three tries within 10 s".
const TRIES_MAX: u32 = 3;
const WINDOW: Duration = Duration::from_secs(10);

/// What a node has told of a session in this life.
#[derive(Clone, Debug, Default)]
struct Told {
    /// Its begin was heard to be taken.
    begun: bool,
    /// The counts that its listener ended with.
    gone: Option<Carried>,
    /// How often its end was told, and when first.
    ends: Option<(u32, Mono)>,
    /// Its end was heard to be taken.
    ended: bool,
    /// The drain signal was heard.
    drained: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sessions {
    /// Several nodes bear one name and tell of the same sessions.
    shared: bool,
    listed: BTreeMap<SessionId, Timestamp>,
    told: BTreeMap<(usize, SessionId), Told>,
    /// Of which a row met a fault, so that the control plane may have it late or twice.
    disturbed: BTreeSet<SessionId>,
    /// Of which the control plane has taken an end since it started.
    over: BTreeSet<SessionId>,
    /// The control plane has forgotten all, and does not know what it does not list any more.
    forgotten: bool,
}

impl Sessions {
    pub(super) fn of(nodes: usize) -> Self {
        Self { shared: nodes > 1, ..Self::default() }
    }

    pub(super) fn listed(&mut self, session: SessionId, expires_at: Timestamp) {
        self.listed.insert(session, expires_at);
    }

    pub(super) fn forgot(&mut self) {
        self.over.clear();
        self.forgotten = true;
    }

    /// The next life opens what is listed anew.
    pub(super) fn died(&mut self, at: usize) {
        let gone = self.told.keys().filter(|(node, _)| *node == at);
        self.disturbed.extend(gone.map(|(_, session)| session.clone()));
        self.told.retain(|(node, _), _| *node != at);
    }

    pub(super) fn opened(&mut self, opening: &Opening<'_>, found: &mut Found) {
        let key = (opening.at, opening.session.clone());
        found.unless(!self.told.contains_key(&key), "no session is opened twice in one life");
        found.unless(
            opening.node.listeners.len() < MAX_SESSIONS,
            "no more sessions are open at once than may",
        );
        let in_time = self
            .listed
            .get(opening.session)
            .is_some_and(|expires_at| expires_at.is_after(opening.now.wall));
        found.unless(in_time, "no session is opened that is not listed or past its deadline");
    }

    /// A listener is gone, with these counts.
    pub(super) fn gone(&mut self, at: usize, session: &SessionId, carried: Carried) {
        self.told.entry((at, session.clone())).or_default().gone = Some(carried);
    }

    pub(super) fn sent(&mut self, sending: &Sending<'_>, found: &mut Found) {
        let Said::Session { session, has_ended, carried } = sending.said else { return };
        if sending.fate.disturbs() {
            self.disturbed.insert(session.clone());
        }
        let same = |said: &Said| matches!(said, Said::Session { session: of, .. } if of == session);
        found.unless(
            !sending.node.open.values().any(same),
            "no row of a session is told before the one ahead of it is answered",
        );
        let listens = sending.node.listeners.contains_key(session);
        let told = self.told.entry((sending.caller.node, session.clone())).or_default();
        found.unless(!told.drained, "no row of a session is told behind its drain signal");
        found.unless(!told.ended, "no row of a session is told behind an end that was taken");
        if !has_ended {
            found.unless(listens, "a begin is told only while the session listens");
            found.unless(!told.begun, "a begin that was taken is not told again");
            return;
        }
        found.unless(!listens, "an end is told only when the listener is gone");
        found.unless(told.gone == Some(*carried), "an end tells the counts of its listener");
        let (tries, first) = told.ends.unwrap_or((0, sending.now.mono));
        told.ends = Some((tries + 1, first));
        found.unless(
            tries < TRIES_MAX && sending.now.mono.since(first) < WINDOW,
            "an end is tried three times at most, and within ten seconds",
        );
    }

    /// Void for sessions of which a row was late, twice or answered by another.
    pub(super) fn served(&mut self, serving: &Serving<'_>, found: &mut Found) {
        let Said::Session { session, has_ended, .. } = serving.said else { return };
        let status = serving.response.status;
        let known = matches!(status, 204 | 409) || (status == 404 && self.forgotten);
        found.unless(known, "every row of a session is sound and known");
        if status == 204 {
            let excused = self.shared || self.disturbed.contains(session);
            let first = !self.over.contains(session);
            found.unless(first || excused, "the control plane takes no row behind an end");
            if *has_ended {
                self.over.insert(session.clone());
            }
        }
    }

    pub(super) fn heard(&mut self, caller: Caller, said: &Said, status: u16) {
        let Said::Session { session, has_ended, .. } = said else { return };
        let told = self.told.entry((caller.node, session.clone())).or_default();
        match (status, has_ended) {
            (204, false) => told.begun = true,
            (204, true) => told.ended = true,
            (409, _) => told.drained = true,
            _ => {}
        }
    }

    pub(super) fn rested(&self, rest: &Rest<'_>, found: &mut Found) {
        for (at, node) in rest.nodes.iter().enumerate() {
            let open = node
                .agent
                .as_ref()
                .map(|agent| agent.status(node.now(rest.now.mono)).queues.sessions_open);
            found.unless(
                open == Some(0) && node.listeners.is_empty(),
                "no session is open in the end",
            );
            for ((_, session), told) in self.told.iter().filter(|((node, _), _)| *node == at) {
                found.unless(
                    !told.begun || told.ends.is_some() || told.drained,
                    &format!("the begin of {session:?} was followed by an end or a drain signal"),
                );
            }
        }
    }
}

impl Checks {
    /// The operator puts a session on the desired state.
    pub fn listed(&mut self, session: SessionId, expires_at: Timestamp) {
        self.sessions.listed(session, expires_at);
    }

    /// The listener of a session is to be opened.
    pub fn opened(&mut self, opening: &Opening<'_>) {
        self.sessions.opened(opening, &mut self.found);
    }

    /// The listener of a session is gone.
    pub fn gone(&mut self, at: usize, session: &SessionId, carried: Carried) {
        self.sessions.gone(at, session, carried);
    }
}
