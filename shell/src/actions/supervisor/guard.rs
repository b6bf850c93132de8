//! The guard of a run: it receives the order, begins the watch, and ends everything where the watch fails to.

use std::{
    ffi::CStr,
    fs::File,
    io::{self, IoSliceMut, Read as _, Write as _},
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    process::ExitCode,
    time::Duration,
};

use meshward_sys::process::{Fork, close_on_execute, ended_children, fork, hold_signals};
use rustix::{
    event::{PollFd, PollFlags},
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
    process::{Pid, WaitStatus, getpid, set_child_subreaper, setpriority_process, setsid},
};

use super::{
    super::cgroup::Group,
    GUARD_PATIENCE,
    descendants::{drain, end_all, reap, wait_for},
    event::{Begin, Event},
    order::{Order, monotonic},
    watch,
};

/// The longest order that is read; the kernel takes fewer arguments and variables than that.
const ORDER_MAX: u64 = 16 << 20;

/// What comes along with an order: its text, both streams, and the program where it is none of the file system.
const DESCRIPTORS_MAX: usize = 4;

/// The best priority, so that a run with many processes does not keep its end away.
const PRIORITY: i32 = -20;

/// What the agent handed over.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) order: Order,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) program: Option<OwnedFd>,
}

/// The way to the agent.
#[derive(Debug)]
pub(super) struct Agent(UnixStream);

impl Agent {
    pub(super) fn tell(&self, event: Event) {
        // Where the agent has gone, nobody is told.
        let _ = (&self.0).write_all(&event.encode());
    }

    /// Readable once the agent calls the run off or has gone.
    pub(super) fn poll(&self, flags: PollFlags) -> PollFd<'_> {
        PollFd::new(&self.0, flags)
    }
}

/// What has no agent at its standard input was begun by hand.
pub(super) fn main() -> ExitCode {
    match guard() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(2),
    }
}

fn guard() -> io::Result<()> {
    close_on_execute(3)?;
    let agent = take_stdin()?;
    match begin(&agent) {
        Ok(Some(watched)) => watched.guard(&agent),
        // This is the watch, and it is done.
        Ok(None) => {}
        Err(error) => {
            agent.tell(Event::Unable(Begin::Supervise, error.raw_os_error().unwrap_or_default()));
        }
    }
    Ok(())
}

/// The socket to the agent is at standard input, where no program may find it.
fn take_stdin() -> io::Result<Agent> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    socket.peer_addr()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(Agent(socket))
}

fn begin(agent: &Agent) -> io::Result<Option<Watched>> {
    // The arguments of the program may be secret, and are in the memory of both supervisors.
    crate::hygiene::seal()?;
    setsid()?;
    hold_signals()?;
    let handed = receive(agent)?;
    set_child_subreaper(Some(getpid()))?;
    let watched = Watched {
        children: ended_children()?,
        group: handed.order.group.clone().map(Group::at),
        until: handed.order.deadline.saturating_add(GUARD_PATIENCE),
        watch: None,
    };
    let guard = getpid();
    match fork()? {
        Fork::Child => {
            drop(watched);
            watch::main(handed, agent, guard);
            Ok(None)
        }
        Fork::Parent(watch) => {
            stay(c"meshward-guard");
            Ok(Some(Watched { watch: Pid::from_raw(watch), ..watched }))
        }
    }
}

/// What a program must not inherit and its supervisors need: the best priority, and not to be chosen when memory runs
/// out. Both take the superuser.
pub(super) fn stay(name: &CStr) {
    let _ = setpriority_process(None, PRIORITY);
    let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
    let _ = rustix::thread::set_name(name);
}

fn receive(agent: &Agent) -> io::Result<Handed> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut along = RecvAncillaryBuffer::new(&mut space);
    let mut buffer = [IoSliceMut::new(&mut byte)];
    recvmsg(&agent.0, &mut buffer, &mut along, RecvFlags::CMSG_CLOEXEC)?;
    let mut descriptors = Vec::new();
    for message in along.drain() {
        if let RecvAncillaryMessage::ScmRights(some) = message {
            descriptors.extend(some);
        }
    }
    let mut descriptors = descriptors.into_iter();
    let mut next =
        || descriptors.next().ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof));
    let (text, stdout, stderr) = (next()?, next()?, next()?);
    let mut bytes = Vec::new();
    File::from(text).take(ORDER_MAX).read_to_end(&mut bytes)?;
    let order = Order::decode(&bytes).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(Handed { order, stdout, stderr, program: next().ok() })
}

/// The watch, as its guard sees it.
#[derive(Debug)]
struct Watched {
    children: OwnedFd,
    group: Option<Group>,
    /// When it is ended at the latest.
    until: Duration,
    watch: Option<Pid>,
}

impl Watched {
    /// Waits for the end of the watch, then ends what is left.
    fn guard(mut self, agent: &Agent) {
        let mut well = None;
        let mut called_off = false;
        loop {
            let watch = self.watch;
            let mut note = |pid, status: WaitStatus| {
                if Some(pid) == watch {
                    well = Some(status.exit_status() == Some(0));
                }
            };
            drain(&self.children);
            let left = reap(&mut note);
            let rest = self.until.saturating_sub(monotonic());
            if well.is_some() || !left || rest.is_zero() {
                break;
            }
            let mut wanted = vec![PollFd::new(&self.children, PollFlags::IN)];
            if !called_off {
                wanted.push(agent.poll(PollFlags::RDHUP));
            }
            wait_for(&mut wanted, rest);
            if wanted.get(1).is_some_and(|agent| !agent.revents().is_empty()) {
                called_off = true;
                self.until = self.until.min(monotonic().saturating_add(GUARD_PATIENCE));
            }
        }
        if well != Some(true) {
            agent.tell(Event::Bereft);
        }
        end_all(&self.children, self.group.as_ref(), None, |_, _| {});
        agent.tell(Event::Gone);
        if let Some(group) = &self.group {
            group.remove();
        }
    }
}
