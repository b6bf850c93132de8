//! What was found is reported, and what the answer leads to.

use alloc::{format, string::String, vec::Vec};
use core::time::Duration;

use super::{
    Effect, Found, KEPT_MAX, MARGIN, Mapping, Nat, Phase, RETRY, SERVERS_MAX, STRANGER_MIN,
    TIMEOUT_MAX, notices, wait::Wait,
};
use crate::{
    agent::{
        facts::{Discovery, NatSettings},
        heartbeat::skew::Skew,
        notice::{
            Notice,
            streak::{Kind, Streak},
        },
        verdict::endpoint::{Lease, Reported},
    },
    backoff::Jitter,
    step::Step,
    time::Now,
    wire::grammar::ReachableAddr,
};

const REPORT: &str = "the report of the endpoint";

/// What reports have met with since one was accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Troubles {
    /// How the operator is told of them.
    streak: Streak,
    /// Answers that this node is not known.
    strangers: u32,
    /// Reports that got nowhere.
    failures: u32,
    /// Whether the last accepted one lapses before the refresh interval is over.
    shortened: bool,
}

impl Nat {
    pub(super) fn armed(self, settings: &NatSettings, now: Now) -> Step<Self, Effect> {
        if settings.servers.is_empty() {
            let text = "nat.stun_servers is empty: nobody tells how this node is seen from outside";
            return Step::to(self).emit(Effect::Tell(Notice::warn(text)));
        }
        match self.posted.map(|posted| posted.after(settings.min_report_interval)) {
            Some(free) if free > now.mono => Step::to(self.waiting(Wait::until(free))),
            Some(_) | None => self.probe(settings),
        }
    }

    /// Of all that was known only what keeps questions apart.
    pub(super) fn afresh(self) -> Self {
        Self { round: self.round, posted: self.posted, ..Self::default() }
    }

    pub(super) fn probe(self, settings: &NatSettings) -> Step<Self, Effect> {
        let round = self.round.wrapping_add(1);
        let servers = settings.servers.iter().take(SERVERS_MAX).cloned().collect();
        let (port, timeout) = (settings.port, settings.timeout.min(TIMEOUT_MAX));
        Step::to(Self { phase: Phase::Probing, round, ..self }).emit(Effect::Discover(Discovery {
            round,
            port,
            servers,
            timeout,
        }))
    }

    pub(super) fn seen(
        self,
        now: Now,
        (endpoint, mapping, faults): (ReachableAddr, Mapping, Vec<String>),
    ) -> Step<Self, Effect> {
        let found = Found { endpoint, nat_type: mapping.into(), at: now.mono };
        let told = notices::found(self.found, self.missed.failures() > 0, found, mapping);
        let lame = notices::lame(&faults);
        Self { missed: Streak::default(), ..self }
            .report(now, found)
            .emit(Effect::Tell(told))
            .emit_all(lame.map(Effect::Tell))
    }

    pub(super) fn unseen(
        self,
        settings: &NatSettings,
        now: Now,
        (reason, jitter): (String, Jitter),
    ) -> Step<Self, Effect> {
        let kept = self.found.filter(|found| now.mono.since(found.at) < KEPT_MAX);
        let given_up =
            self.found.filter(|_| kept.is_none()).map(|found| notices::given_up(found.endpoint));
        let told = notices::missed(kept.map(|found| found.endpoint), &reason);
        let (missed, told) = self.missed.failed(now.mono, Kind::Failed, told);
        let next = Self { missed, found: kept, ..self };
        let step = match kept {
            Some(found) => next.report(now, found),
            None => {
                let due = now
                    .mono
                    .after(RETRY.wait(missed.failures(), jitter).min(settings.refresh_interval));
                let free = self.posted.map(|posted| posted.after(settings.min_report_interval));
                Step::to(next.waiting(Wait::until(free.map_or(due, |free| free.max(due)))))
            }
        };
        step.emit(Effect::Tell(told)).emit_all(given_up.map(Effect::Tell))
    }

    /// The next round comes no later than it would by the interval that holds now.
    pub(super) fn retime(self, settings: &NatSettings, now: Now, wait: Wait) -> Step<Self, Effect> {
        Step::to(self.waiting(wait.at_most(now, settings.refresh_interval)))
    }

    fn report(self, now: Now, found: Found) -> Step<Self, Effect> {
        let Found { endpoint, nat_type, .. } = found;
        let posted = Some(now.mono);
        Step::to(Self { phase: Phase::Reporting, found: Some(found), posted, ..self })
            .emit(Effect::Report { endpoint, nat_type })
    }

    const fn waiting(self, wait: Wait) -> Self {
        Self { phase: Phase::Waiting(wait), ..self }
    }

    pub(super) fn reported(
        self,
        settings: &NatSettings,
        now: Now,
        (reported, jitter): (Reported, Jitter),
    ) -> Step<Self, Effect> {
        let (refresh, floor) = (settings.refresh_interval, settings.min_report_interval);
        let after = |wait: Duration| Wait::until(now.mono.after(wait.max(floor)));
        match reported {
            Reported::Accepted(lease) => self.accepted(settings, now, lease),
            Reported::ClockSkew { reason, skew } => {
                let apart = match skew {
                    Skew::None => String::new(),
                    Skew::Ahead(_) | Skew::Behind(_) => {
                        format!(" ({} the control plane's)", skew.words())
                    }
                };
                let text = format!(
                    "{REPORT}: it was refused: {reason}. The clock of this node is off{apart}: check its time service (NTP)"
                );
                self.waiting(after(refresh)).troubled(now, Kind::ClockSkew, Notice::error(text))
            }
            Reported::Stranger(reason) => self.waiting(after(refresh)).stranger(now, &reason),
            Reported::Unacceptable(reason) => self.waiting(after(refresh)).troubled(
                now,
                Kind::Unacceptable,
                Notice::warn(format!("{REPORT}: it was refused: {reason}")),
            ),
            Reported::Unauthorized(reason) => self.waiting(after(refresh)).troubled(
                now,
                Kind::Unauthorized,
                Notice::warn(format!("{REPORT}: this node is not admitted: {reason}")),
            ),
            Reported::Limited(trouble) => {
                let asked = trouble.retry_after.unwrap_or_default();
                let text = format!("{REPORT}: there are too many: {}", trouble.reason);
                self.waiting(after(refresh.max(asked))).troubled(
                    now,
                    Kind::Limited,
                    Notice::warn(text),
                )
            }
            Reported::Failed(reason) => {
                let failures = self.troubles.failures.saturating_add(1);
                let wait = after(RETRY.wait(failures, jitter).min(refresh));
                let troubles = Troubles { failures, ..self.troubles };
                Self { troubles, ..self }.waiting(wait).troubled(
                    now,
                    Kind::Failed,
                    Notice::warn(format!("{REPORT}: it failed: {reason}")),
                )
            }
        }
    }

    /// The refresh interval, or less where the endpoint lapses sooner by either of both clocks.
    fn accepted(self, settings: &NatSettings, now: Now, lease: Lease) -> Step<Self, Effect> {
        let (refresh, floor) = (settings.refresh_interval, settings.min_report_interval);
        let lasts =
            lease.lasts().map_or(refresh, |lasts| lasts.saturating_sub(MARGIN).min(refresh));
        let wait = Wait::between(now, floor, lasts, lease.stale_after);
        let every = wait.hint.since(now.mono);
        let shortened = every < refresh;
        let warned =
            (shortened && !self.troubles.shortened).then(|| notices::shortened(every, refresh));
        let again = self.troubles.streak.ended(now.mono, "the endpoint is accepted");
        let troubles = Troubles { shortened, ..Troubles::default() };
        Step::to(Self { troubles, ..self }.waiting(wait))
            .emit_all(again.into_iter().chain(warned).map(Effect::Tell))
    }

    fn stranger(self, now: Now, reason: &str) -> Step<Self, Effect> {
        let strangers = self.troubles.strangers.saturating_add(1);
        let text = format!(
            "{REPORT}: the control plane does not know this node ({strangers} in a row): {reason}"
        );
        let (kind, notice) = match strangers < STRANGER_MIN {
            true => (Kind::Stranger, Notice::warn(text)),
            false => (Kind::StrangerForLong, Notice::error(text)),
        };
        let troubles = Troubles { strangers, ..self.troubles };
        Self { troubles, ..self }.troubled(now, kind, notice)
    }

    fn troubled(self, now: Now, kind: Kind, notice: Notice) -> Step<Self, Effect> {
        let (streak, notice) = self.troubles.streak.failed(now.mono, kind, notice);
        let troubles = Troubles { streak, ..self.troubles };
        Step::to(Self { troubles, ..self }).emit(Effect::Tell(notice))
    }
}
