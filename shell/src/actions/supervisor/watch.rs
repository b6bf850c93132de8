//! The watch over a run: it begins the program, tells how it ends, and leaves nothing of it.

use std::{
    ffi::{CString, OsStr},
    io,
    os::{
        fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
        unix::{ffi::OsStrExt as _, process::CommandExt as _},
    },
    process::{Command, Stdio},
};

use meshward_sys::{
    execute::{Limit, Program, execute},
    process::ended_children,
};
use rustix::{
    event::{PollFd, PollFlags},
    fs::Mode,
    process::{
        Pid, Signal, WaitStatus, getpid, getppid, kill_process_group, set_child_subreaper,
        set_parent_process_death_signal, umask,
    },
};

use super::{
    super::cgroup::Group,
    descendants::{drain, end_all, reap, wait_for},
    event::{Begin, Event},
    guard::{Agent, Handed, stay},
    order::{Limits, Order, assignment, monotonic},
    phase::{Act, Phase, Seen},
};

/// What a program's new files are not for: the writing of others.
const UMASK: u32 = 0o022;

/// What a program of this machine begins with; another one is read by its interpreter.
const ELF: [u8; 4] = *b"\x7fELF";

/// The run, as its watch sees it.
#[derive(Debug)]
struct Watch {
    children: OwnedFd,
    guard: Pid,
    group: Option<Group>,
    phase: Phase,
    /// The program, until its end was noted; it leads its group of processes.
    program: Option<Pid>,
    called_off: bool,
}

/// Comes back when nothing is left of the run.
pub(super) fn main(handed: Handed, agent: &Agent, guard: Pid) {
    let phase = Phase::Runs { deadline: handed.order.deadline };
    let group = handed.order.group.clone().map(Group::at);
    let begun = begin(handed, group.as_ref());
    let (children, program) = match begun {
        Ok(begun) => begun,
        Err((step, error)) => {
            let number = error.raw_os_error().unwrap_or_default();
            return agent.tell(Event::Unable(step, number));
        }
    };
    stay(c"meshward-watch");
    agent.tell(Event::Began);
    let program = Some(program);
    Watch { children, guard, group, phase, program, called_off: false }.watch(agent);
}

impl Watch {
    fn watch(mut self, agent: &Agent) {
        while self.phase != Phase::Over {
            self.look(agent);
            drain(&self.children);
            let left = self.note_ended(agent);
            let seen = Seen {
                now: monotonic(),
                ended: self.program.is_none(),
                called_off: self.called_off,
                left,
            };
            let (phase, act) = self.phase.step(seen);
            self.phase = phase;
            match act {
                Act::Wait => {}
                Act::Ask => self.ask(),
                Act::Overrun => {
                    agent.tell(Event::Overran);
                    self.ask();
                }
            }
        }
        let program = self.program;
        let note = |pid, status| {
            if Some(pid) == program {
                agent.tell(ending(status));
            }
        };
        end_all(&self.children, self.group.as_ref(), program, note);
    }

    /// Waits until something happens, or the time of the phase has come.
    fn look(&mut self, agent: &Agent) {
        let rest = self.phase.until().saturating_sub(monotonic());
        let nothing = || PollFd::new(&self.children, PollFlags::empty());
        let mut told = [
            PollFd::new(&self.children, PollFlags::IN),
            // Once it has called the run off, it would be told of again and again.
            if self.called_off { nothing() } else { agent.poll(PollFlags::RDHUP) },
        ];
        if getppid() == Some(self.guard) {
            wait_for(&mut told, rest);
        }
        let [_, called_off] = told.map(|one| !one.revents().is_empty());
        self.called_off |= called_off;
        if getppid() != Some(self.guard) {
            // Nobody is left to end what this process might leave.
            agent.tell(Event::Bereft);
            self.phase = Phase::Over;
        }
    }

    /// Says whether anything is left.
    fn note_ended(&mut self, agent: &Agent) -> bool {
        let program = &mut self.program;
        reap(|pid, status| {
            if *program == Some(pid) {
                *program = None;
                agent.tell(ending(status));
            }
        })
    }

    /// A group that is stopped hears it too.
    fn ask(&self) {
        if let Some(leader) = self.program {
            let _ = kill_process_group(leader, Signal::TERM);
            let _ = kill_process_group(leader, Signal::CONT);
        }
    }
}

fn ending(status: WaitStatus) -> Event {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Event::Exited(code),
        (None, Some(signal)) => Event::Signalled(signal),
        // Children that are only stopped are not waited for.
        (None, None) => Event::Bereft,
    }
}

/// Begins the program, with whose end the descriptor can be read.
fn begin(handed: Handed, group: Option<&Group>) -> Result<(OwnedFd, Pid), (Begin, io::Error)> {
    let supervise = |error: io::Error| (Begin::Supervise, error);
    set_child_subreaper(Some(getpid())).map_err(|error| supervise(error.into()))?;
    let children = ended_children().map_err(supervise)?;
    // The end of the guard is told as that of a child is.
    set_parent_process_death_signal(Some(Signal::CHILD))
        .map_err(|error| supervise(error.into()))?;
    let Handed { order, stdout, stderr, program } = handed;
    umask(Mode::from_raw_mode(UMASK));
    std::env::set_current_dir(&order.directory).map_err(|error| (Begin::Directory, error))?;
    // The descriptor is open until the program is executed from it.
    let held = program.as_ref().map(OwnedFd::as_fd);
    let program = executable(&order, held, group).map_err(|error| (Begin::Execute, error))?;
    let mut command = Command::new(OsStr::from_bytes(program.path.as_bytes()));
    command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).process_group(0);
    execute(&mut command, program);
    let child = command.spawn().map_err(|error| (Begin::Execute, error))?;
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    number.map(|number| (children, number)).ok_or_else(|| supervise(io::ErrorKind::NotFound.into()))
}

fn executable(
    order: &Order,
    program: Option<BorrowedFd<'_>>,
    group: Option<&Group>,
) -> io::Result<Program> {
    let (path, kept) = match (&order.path, program) {
        (Some(path), _) => (zero_ended(path.as_os_str())?, None),
        (None, Some(program)) => of_descriptor(program)?,
        (None, None) => return Err(io::ErrorKind::NotFound.into()),
    };
    let variables = order.environment.iter().map(|(name, value)| assignment(name, value));
    Ok(Program {
        path,
        arguments: order.arguments.iter().map(|one| zero_ended(one)).collect::<io::Result<_>>()?,
        environment: variables.map(|one| zero_ended(&one)).collect::<io::Result<_>>()?,
        kept,
        group: group.and_then(|group| group.door().ok()),
        limits: limits(order.limits),
    })
}

fn limits(limits: Limits) -> Vec<Limit> {
    let Limits { address_space, file_size, open_files, processes } = limits;
    let some = [
        address_space.map(Limit::AddressSpace),
        file_size.map(Limit::FileSize),
        Some(Limit::OpenFiles(open_files)),
        processes.map(Limit::Processes),
    ];
    some.into_iter().flatten().collect()
}

/// The path of a descriptor in the child, and the descriptor where the program needs it: an interpreter opens the path.
fn of_descriptor(program: BorrowedFd<'_>) -> io::Result<(CString, Option<OwnedFd>)> {
    let mut start = [0; ELF.len()];
    let length = rustix::io::pread(program, &mut start, 0)?;
    let path = |number: i32| zero_ended(OsStr::new(&format!("/proc/self/fd/{number}")));
    if length == ELF.len() && start == ELF {
        return Ok((path(program.as_raw_fd())?, None));
    }
    let kept = program.try_clone_to_owned()?;
    Ok((path(kept.as_raw_fd())?, Some(kept)))
}

fn zero_ended(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}
