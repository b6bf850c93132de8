//! What the agent needs of the kernel and of the tools of the system, as far as it is configured to use it.

use alloc::{format, string::String};

use super::Finding;

/// One ability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ability {
    Pidfd,
    Memfd,
    ControlGroups,
    Tun,
    NetAdmin,
    AuditRead,
    Journalctl,
    Ping,
    Traceroute,
}

impl Ability {
    pub const ALL: [Self; 9] = [
        Self::Pidfd,
        Self::Memfd,
        Self::ControlGroups,
        Self::Tun,
        Self::NetAdmin,
        Self::AuditRead,
        Self::Journalctl,
        Self::Ping,
        Self::Traceroute,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Pidfd => "pidfd",
            Self::Memfd => "memfd",
            Self::ControlGroups => "cgroup v2",
            Self::Tun => "/dev/net/tun",
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::AuditRead => "CAP_AUDIT_READ",
            Self::Journalctl => "journalctl",
            Self::Ping => "ping",
            Self::Traceroute => "traceroute",
        }
    }

    /// What goes without it, and what to do.
    const fn lack(self) -> (&'static str, &'static str) {
        match self {
            Self::Pidfd => {
                ("no action can run", "use Linux 5.3 or newer, and let the unit call pidfd_open")
            }
            Self::Memfd => {
                ("no hook can run", "use Linux 3.17 or newer, and let the unit call memfd_create")
            }
            Self::ControlGroups => (
                "what an action leaves behind is ended by its processes alone",
                "boot with the unified hierarchy of control groups",
            ),
            Self::Tun => ("there is no tunnel", "modprobe tun, or set tunnel.backend to none"),
            Self::NetAdmin => (
                "the agent cannot change the network",
                "give it to the unit (CapabilityBoundingSet), or set tunnel.backend to none",
            ),
            Self::AuditRead => (
                "what the kernel audits is not read",
                "give it to the unit (CapabilityBoundingSet), let the agent read what auditd writes, or set audit.auditd to false",
            ),
            Self::Journalctl => {
                ("the journal is not read", "install systemd, or set logs.journald to false")
            }
            Self::Ping => (
                "diagnostics.ping_peer fails, and no latency of peers is measured",
                "install iputils-ping",
            ),
            Self::Traceroute => ("diagnostics.traceroute_peer fails", "install traceroute"),
        }
    }

    /// Whether anything of this version uses it.
    const fn is_used(self) -> bool {
        match self {
            Self::Tun | Self::NetAdmin => false,
            Self::Pidfd
            | Self::Memfd
            | Self::ControlGroups
            | Self::AuditRead
            | Self::Journalctl
            | Self::Ping
            | Self::Traceroute => true,
        }
    }

    /// Whether actions need it at all.
    const fn is_vital(self) -> bool {
        match self {
            Self::Pidfd | Self::Memfd => true,
            Self::ControlGroups
            | Self::Tun
            | Self::NetAdmin
            | Self::AuditRead
            | Self::Journalctl
            | Self::Ping
            | Self::Traceroute => false,
        }
    }
}

/// What was found of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub ability: Ability,
    /// What would use it is configured.
    pub wanted: bool,
    pub there: There,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum There {
    Yes,
    /// It is not, and what the agent uses in its stead is.
    Instead(&'static str),
    /// It tells why.
    No(String),
    /// This user cannot see whether the agent has it.
    Hidden,
}

/// The log that auditd writes, as whoever looks sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    Readable,
    Closed,
    Absent,
}

impl There {
    /// What the kernel does not tell is read from the log of auditd, where the agent may read that; whether another user
    /// may is not to be seen.
    #[must_use]
    pub fn or_by(self, log: Log, foreign: bool) -> Self {
        match (&self, log, foreign) {
            (Self::No(_), Log::Readable, false) => Self::Instead("the log of auditd is read"),
            (Self::No(_), Log::Readable | Log::Closed, true) => Self::Hidden,
            (Self::No(_), Log::Closed, false)
            | (Self::No(_), Log::Absent, _)
            | (Self::Yes | Self::Instead(_) | Self::Hidden, ..) => self,
        }
    }
}

impl Seen {
    pub fn finding(&self) -> Finding {
        let name = self.ability.name();
        let (lack, mend) = self.ability.lack();
        if !self.ability.is_used() {
            return Finding::good(name, "not looked at, as this version has no tunnel");
        }
        match (&self.there, self.wanted) {
            (There::Yes, _) => Finding::good(name, "there"),
            (There::Instead(stead), true) => Finding::good(name, format!("not there: {stead}")),
            (There::Instead(_) | There::No(_) | There::Hidden, false) => {
                Finding::good(name, "not needed as configured")
            }
            (There::Hidden, true) => Finding::untold(name, "whether the agent has it"),
            (There::No(cause), true) if self.ability.is_vital() => {
                Finding::bad(name, format!("{cause}: {lack}"), mend)
            }
            (There::No(cause), true) => Finding::warn(name, format!("{cause}: {lack}"), mend),
        }
    }
}
