//! When a run is asked to end, and when what is left of it is killed.
//!
//! | Phase | The program ended | It is called off | Its time is up | Nothing is left |
//! |---|---|---|---|---|
//! | runs | lingers | asked to end | told, asked to end | over |
//! | asked to end | | | over | over |
//! | lingers | | over | over | over |
//!
//! Called off is a run whose agent has gone, or wants it ended, or has all that it printed.

use std::time::Duration;

/// How long a program may take to end once it was asked to.
pub(crate) const GRACE: Duration = Duration::from_millis(500);

/// How long what a program left behind may hold its streams open.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Runs { deadline: Duration },
    Asked { until: Duration },
    Lingers { until: Duration },
    Over,
}

/// What there is to be seen at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) now: Duration,
    /// The program has ended.
    pub(super) ended: bool,
    pub(super) called_off: bool,
    /// Some process of the run is left.
    pub(super) left: bool,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Wait,
    /// Ask the program and its group to end.
    Ask,
    /// Tell that the time is up, and ask.
    Overrun,
}

impl Phase {
    /// When to look again at the latest.
    pub(super) fn until(self) -> Duration {
        match self {
            Self::Runs { deadline } => deadline,
            Self::Asked { until } | Self::Lingers { until } => until,
            Self::Over => Duration::ZERO,
        }
    }

    pub(super) fn step(self, seen: Seen) -> (Self, Act) {
        let Seen { now, ended, called_off, left } = seen;
        let asked = Self::Asked { until: now.saturating_add(GRACE) };
        if !left {
            return (Self::Over, Act::Wait);
        }
        match self {
            Self::Runs { .. } if ended && called_off => (Self::Over, Act::Wait),
            Self::Runs { deadline } if ended => {
                let until = now.saturating_add(LINGER).min(deadline.saturating_add(GRACE));
                (Self::Lingers { until }, Act::Wait)
            }
            Self::Runs { .. } if called_off => (asked, Act::Ask),
            Self::Runs { deadline } if now >= deadline => (asked, Act::Overrun),
            Self::Asked { until } if now >= until => (Self::Over, Act::Wait),
            Self::Lingers { until } if called_off || now >= until => (Self::Over, Act::Wait),
            Self::Runs { .. } | Self::Asked { .. } | Self::Lingers { .. } | Self::Over => {
                (self, Act::Wait)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Act, GRACE, LINGER, Phase, Seen};

    const DEADLINE: Duration = Duration::from_secs(10);
    const EARLY: Duration = Duration::from_secs(3);
    const RUNS: Phase = Phase::Runs { deadline: DEADLINE };
    const QUIET: Seen = Seen { now: EARLY, ended: false, called_off: false, left: true };

    #[test]
    fn a_program_runs_until_its_deadline_and_is_then_asked_to_end() {
        assert_eq!(RUNS.step(QUIET), (RUNS, Act::Wait));
        let late = Seen { now: DEADLINE, ..QUIET };
        let asked = Phase::Asked { until: DEADLINE + GRACE };
        assert_eq!(RUNS.step(late), (asked, Act::Overrun));
        assert_eq!(asked.step(late), (asked, Act::Wait));
        assert_eq!(asked.step(Seen { called_off: true, ended: true, ..late }), (asked, Act::Wait));
        let later = Seen { now: DEADLINE + GRACE, ..QUIET };
        assert_eq!(asked.step(later), (Phase::Over, Act::Wait));
    }

    #[test]
    fn a_program_that_is_called_off_is_asked_to_end() {
        let asked = Phase::Asked { until: EARLY + GRACE };
        assert_eq!(RUNS.step(Seen { called_off: true, ..QUIET }), (asked, Act::Ask));
    }

    #[test]
    fn what_a_program_leaves_behind_may_linger_until_its_streams_are_of_no_more_use() {
        let ended = Seen { ended: true, ..QUIET };
        let lingers = Phase::Lingers { until: EARLY + LINGER };
        assert_eq!(RUNS.step(ended), (lingers, Act::Wait));
        // The deadline passes, which is of no more concern.
        let later = Seen { now: EARLY + LINGER, ..ended };
        assert_eq!(lingers.step(ended), (lingers, Act::Wait));
        assert_eq!(lingers.step(later), (Phase::Over, Act::Wait));
        let called_off = Seen { called_off: true, ..ended };
        assert_eq!(lingers.step(called_off), (Phase::Over, Act::Wait));
        assert_eq!(RUNS.step(called_off), (Phase::Over, Act::Wait));
        // But not beyond what a program that overran would get.
        let last = Seen { now: DEADLINE, ..ended };
        let lingers = Phase::Lingers { until: DEADLINE + GRACE };
        assert_eq!(RUNS.step(last), (lingers, Act::Wait));
    }

    #[test]
    fn a_run_of_which_nothing_is_left_is_over_whatever_else_is_seen() {
        for phase in [RUNS, Phase::Asked { until: DEADLINE }, Phase::Lingers { until: DEADLINE }] {
            for seen in [QUIET, Seen { now: DEADLINE, called_off: true, ..QUIET }] {
                let gone = Seen { ended: true, left: false, ..seen };
                assert_eq!(phase.step(gone), (Phase::Over, Act::Wait));
            }
        }
    }
}
