//! Exit codes.

use std::process::ExitCode;

use meshward_core::agent::Exit;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Done,
    Failed,
    BadUsage,
    BadConfig,
    /// The control plane refused the registration for good.
    Refused,
    /// No agent answers on the socket.
    Unreachable,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(match code {
            Code::Done => 0,
            Code::Failed => 1,
            Code::BadUsage => 2,
            Code::BadConfig => 3,
            Code::Refused => 4,
            Code::Unreachable => 5,
        })
    }
}

impl Code {
    /// The code of an agent's end.
    pub(super) const fn of(exit: &Exit) -> Self {
        match exit {
            Exit::Drained | Exit::Registered { .. } => Self::Done,
            Exit::Refused { .. } => Self::Refused,
            Exit::Unprepared(_) | Exit::GaveUp { .. } | Exit::Unusable { .. } => Self::Failed,
        }
    }
}

/// Prints what clap has to say: help and version are no faults.
pub(super) fn usage(usage: &clap::Error) -> Code {
    // Nobody is left to tell when the stream is closed.
    let _ = usage.print();
    if usage.use_stderr() { Code::BadUsage } else { Code::Done }
}
