//! Runs a program, keeps what it prints, and ends it whatever it does.
//!
//! A run is over with the end of its program and at most one second for what still holds its streams, at its deadline,
//! or when it is cancelled. The program is asked first (SIGTERM to its group, half a second), and then all that is left
//! of it is killed. The processes that do that are described in [`super::supervisor`].

use std::{
    ffi::OsString,
    io::{self, IoSlice},
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::net::UnixStream as Socket,
    },
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use meshward_core::agent::{Cause, Ending};
use rustix::{
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, sendmsg, shutdown},
    process::Pid,
};
use tokio::{
    io::AsyncReadExt as _,
    net::UnixStream,
    process::{Child, Command},
    sync::oneshot,
    task::JoinSet,
    time::Instant,
};
use tracing::warn;

use super::{
    cgroup::Group,
    kept::Kept,
    supervisor::{
        self, Begin, EVENT_LEN, Event, LINGER, Limits, Order, WORD, end_session, monotonic,
    },
};

/// How long after it should have, a run may not have ended before the agent takes it as ended; less than the second that
/// is promised.
const PATIENCE: Duration = Duration::from_millis(900);

/// The longest deadline, so that every time can be told.
const DEADLINE_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// How long the guard, which has told that nothing is left, is waited for.
const LAST_BREATH: Duration = Duration::from_millis(50);

/// What is told of a run that ended its own supervisors.
const BEREFT: &str = "the processes that supervise the run were ended by others";

/// A program and all that it is to be told.
#[derive(Debug)]
pub struct Job {
    pub executable: Executable,
    /// The first is the name that the program is given.
    pub arguments: Vec<OsString>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    pub directory: PathBuf,
    /// Counted from now.
    pub deadline: Duration,
    /// Each stream is kept up to this many bytes.
    pub max_output_bytes: usize,
    pub limits: Limits,
    pub group: ControlGroup,
}

/// What is executed.
#[derive(Debug)]
pub enum Executable {
    /// Exactly these bytes, as [`supervisor::sealed`] makes them. A script finds itself at this descriptor, the only one
    /// above the usual three.
    Descriptor(OwnedFd),
    /// The file that is there when it is executed.
    Path(PathBuf),
}

/// Whether a run gets a control group of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlGroup {
    /// Where the system lends the agent its own.
    #[default]
    IfPossible,
    Never,
}

/// Runs a program until it ends, its deadline passes, or `cancelled` is sent or dropped; nothing of it is left then.
///
/// Where this future is dropped, the run ends too, a moment later.
pub async fn supervise(job: Job, cancelled: oneshot::Receiver<()>) -> Ending {
    let mut work = JoinSet::new();
    work.spawn(attend(job, cancelled));
    match work.join_next().await {
        Some(Ok(ending)) => ending,
        Some(Err(error)) => super::broke(error),
        None => super::without_output(Cause::Broken("nothing was run".to_owned())),
    }
}

async fn attend(job: Job, cancelled: oneshot::Receiver<()>) -> Ending {
    match Attended::begin(job) {
        Ok(run) => run.attend(cancelled).await,
        Err(reason) => super::without_output(Cause::Broken(reason)),
    }
}

/// A run that was begun.
#[derive(Debug)]
struct Attended {
    guard: Child,
    agent: UnixStream,
    /// What came of an event whose rest is still to come.
    told: Vec<u8>,
    stdout: Kept,
    stderr: Kept,
    group: Option<Group>,
    name: String,
    due: Instant,
    /// When the run is taken as ended whatever is told.
    patience: Instant,
    /// The first thing that was found to be its end.
    cause: Option<Cause>,
    called_off: bool,
    /// Nothing is left of the run.
    gone: bool,
}

impl Attended {
    fn begin(job: Job) -> Result<Self, String> {
        let image = supervisor::image().ok_or("no program is known that supervises runs")?;
        let group = match job.group {
            ControlGroup::IfPossible => Group::make(),
            ControlGroup::Never => None,
        };
        let begun = Self::begin_in(image, job, group.clone());
        begun.inspect_err(|_| {
            if let Some(group) = group {
                group.remove();
            }
        })
    }

    fn begin_in(image: &Path, job: Job, group: Option<Group>) -> Result<Self, String> {
        let deadline = job.deadline.min(DEADLINE_MAX);
        let due = Instant::now() + deadline;
        let name = job.arguments.first().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let (path, program) = match job.executable {
            Executable::Descriptor(program) => (None, Some(program)),
            Executable::Path(path) => (Some(path), None),
        };
        let order = Order {
            path,
            arguments: job.arguments,
            environment: job.environment,
            directory: job.directory,
            deadline: monotonic().saturating_add(deadline),
            limits: job.limits,
            group: group.as_ref().map(|group| group.path().to_owned()),
        };
        let order = order.encode().map_err(|error| format!("it cannot be run: {error}"))?;
        let parts = hand_over(image, &name, &order, program);
        let (guard, agent, stdout, stderr) =
            parts.map_err(|error| format!("the run cannot be supervised: {error}"))?;
        let limit = job.max_output_bytes;
        let kept = |end: OwnedFd| Kept::new(end, limit).map_err(|error| error.to_string());
        let (stdout, stderr) = (kept(stdout)?, kept(stderr)?);
        let (told, cause, called_off, gone) = (Vec::new(), None, false, false);
        Ok(Self {
            guard,
            agent,
            told,
            stdout,
            stderr,
            group,
            name,
            due,
            patience: due + PATIENCE,
            cause,
            called_off,
            gone,
        })
    }

    async fn attend(mut self, mut cancelled: oneshot::Receiver<()>) -> Ending {
        loop {
            tokio::select! {
                told = self.agent.read_buf(&mut self.told) => {
                    self.note_all();
                    if !matches!(told, Ok(1..)) {
                        break;
                    }
                }
                () = self.stdout.read(), if self.stdout.is_open() => {}
                () = self.stderr.read(), if self.stderr.is_open() => {}
                _ = &mut cancelled, if !self.called_off => {
                    self.end_with(Cause::Cancelled);
                    self.call_off();
                }
                () = tokio::time::sleep_until(self.patience) => break,
            }
            let silent = !self.stdout.is_open() && !self.stderr.is_open();
            if self.cause.is_some() && silent && !self.called_off {
                self.call_off();
            }
        }
        self.leave().await
    }

    /// The first end counts.
    fn end_with(&mut self, cause: Cause) {
        self.cause.get_or_insert(cause);
    }

    /// Lets the supervisors end the run.
    fn call_off(&mut self) {
        self.called_off = true;
        self.expect_end_within(PATIENCE);
        // It may have ended already.
        let _ = shutdown(&self.agent, Shutdown::Write);
    }

    fn expect_end_within(&mut self, time: Duration) {
        self.patience = self.patience.min(Instant::now() + time);
    }

    fn note_all(&mut self) {
        while let Some((event, rest)) = self.told.split_first_chunk::<EVENT_LEN>() {
            let event = Event::decode(*event);
            self.told = rest.to_vec();
            if let Some(event) = event {
                self.note(event);
            }
        }
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::Began => {}
            Event::Exited(code) => self.note_end(Cause::Exited(code)),
            Event::Signalled(signal) => self.note_end(Cause::Signalled(signal)),
            Event::Overran => self.end_with(Cause::TimedOut),
            Event::Unable(step, number) => self.end_with(Cause::Broken(unable(step, number))),
            Event::Bereft => self.end_with(self.bereft()),
            Event::Gone => self.gone = true,
        }
    }

    fn note_end(&mut self, cause: Cause) {
        self.end_with(cause);
        self.expect_end_within(LINGER + PATIENCE);
    }

    /// Supervisors that ended late were ended for that.
    fn bereft(&self) -> Cause {
        match Instant::now() < self.due {
            true => Cause::Broken(BEREFT.to_owned()),
            false => Cause::TimedOut,
        }
    }

    async fn leave(mut self) -> Ending {
        let cause = self.cause.take().unwrap_or_else(|| self.bereft());
        let (stdout, stderr) = (self.stdout.into_captured(), self.stderr.into_captured());
        if self.gone {
            // Where it is not waited for here, it is by the runtime.
            let _ = tokio::time::timeout(LAST_BREATH, self.guard.wait()).await;
        } else {
            warn!(run = self.name, "a run is ended by force");
            // It takes as long as there are processes, and the end is told without it.
            drop(tokio::task::spawn_blocking(move || force(self.guard, self.group)));
        }
        Ending { cause, stdout, stderr }
    }
}

/// Ends what is left where the supervisors did not come to an end, or were killed both.
fn force(guard: Child, group: Option<Group>) {
    if let Some(group) = &group {
        group.kill();
    }
    let id = guard.id().and_then(|id| i32::try_from(id).ok());
    if let Some(id) = id.and_then(Pid::from_raw) {
        end_session(id);
    }
    // Only now may another process get its number.
    drop(guard);
    // What is dying holds its group for a while.
    if let Some(group) = group {
        group.remove();
    }
}

fn unable(step: Begin, number: i32) -> String {
    let error = io::Error::from_raw_os_error(number);
    match (step, rustix::io::Errno::from_raw_os_error(number)) {
        (Begin::Supervise, _) => format!("the run cannot be supervised: {error}"),
        (Begin::Directory, _) => format!("its working directory cannot be entered: {error}"),
        (Begin::Execute, rustix::io::Errno::NOEXEC) => {
            "it is neither a script, which begins with #!, nor a program of this machine".to_owned()
        }
        (Begin::Execute, rustix::io::Errno::NOENT) => {
            "the program, or the interpreter that its first line names, is not there".to_owned()
        }
        (Begin::Execute, _) => format!("it cannot be executed: {error}"),
    }
}

/// Begins the guard and gives it all that it needs: itself, the way to it, and the ends of both streams.
fn hand_over(
    image: &Path,
    name: &str,
    order: &[u8],
    program: Option<OwnedFd>,
) -> io::Result<(Child, UnixStream, OwnedFd, OwnedFd)> {
    let text = supervisor::text(order)?;
    let (stdout, stdout_far) = io::pipe()?;
    let (stderr, stderr_far) = io::pipe()?;
    let (near, far) = Socket::pair()?;
    let guard = Command::new(image)
        .arg0("meshward")
        .arg(WORD)
        .arg(name)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(far)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut along = vec![text.as_fd(), stdout_far.as_fd(), stderr_far.as_fd()];
    along.extend(program.as_ref().map(|program| program.as_fd()));
    send(&near, &along)?;
    near.set_nonblocking(true)?;
    Ok((guard, UnixStream::from_std(near)?, stdout.into(), stderr.into()))
}

/// One byte, with which the descriptors come along.
fn send(socket: &Socket, along: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(along));
    sendmsg(socket, &[IoSlice::new(&[0])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}
