//! One run of `journalctl`: its lines taken as they come, its own words kept, and its end certain.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::process::CommandExt as _,
    },
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use meshward_core::wire::sources::{
    journald::{ENTRY_MAX, reading::End},
    lines::{Line, Lines},
};
use meshward_sys::execute::end_with_parent;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Resource, Rlimit, Signal, kill_process_group, pidfd_open, prlimit},
};

use crate::actions::tool;

/// How much is read at a time.
const CHUNK: usize = 64 << 10;

/// How much of what the program complains about is kept, in bytes.
const WORDS_MAX: usize = 4 << 10;

/// How much memory of its own the program may take, in bytes: many times what the longest line needs. The tool holds an
/// entry some forty times over while it writes it, and any user may make one of hundreds of megabytes.
const MEMORY_MAX: u64 = 256 << 20;

/// How a run ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// It had no more to say.
    Whole(ExitStatus),
    /// Enough was taken.
    Enough,
    /// Its time was over.
    Late,
}

impl Ended {
    /// The same, without what only people want to know.
    pub(super) fn end(&self) -> End {
        match self {
            Self::Whole(status) if status.success() => End::Good,
            Self::Whole(_) => End::Failed,
            Self::Enough => End::Enough,
            Self::Late => End::Late,
        }
    }
}

/// Whether more lines are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    More,
    Enough,
}

/// A program that is ended with its group when it is let go.
#[derive(Debug)]
struct Running(Child);

/// Runs a program, hands each of its lines on, and tells how it ended and what it complained about.
pub(super) fn ask(
    program: &OsStr,
    arguments: &[OsString],
    limit: Duration,
    take: impl FnMut(Line<'_>) -> Wish,
) -> io::Result<(Ended, String)> {
    let until = Instant::now() + limit;
    let mut command = Command::new(program);
    // Nobody waits for this thread at the end of the agent, and a run that hangs would be left behind.
    end_with_parent(&mut command);
    let child = command
        .args(arguments)
        .env_clear()
        .env("PATH", tool::path())
        .env("LANG", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let mut running = Running(child);
    let memory = Rlimit { current: Some(MEMORY_MAX), maximum: Some(MEMORY_MAX) };
    match prlimit(Some(Pid::from_child(&running.0)), Resource::Data, memory) {
        // It has ended already.
        Ok(_) | Err(Errno::SRCH) => {}
        Err(error) => return Err(error.into()),
    }
    let mut words = Vec::new();
    let ended = running.listen(until, &mut words, take)?;
    Ok((ended, String::from_utf8_lossy(&words).trim().to_owned()))
}

impl Running {
    fn listen(
        &mut self,
        until: Instant,
        words: &mut Vec<u8>,
        mut take: impl FnMut(Line<'_>) -> Wish,
    ) -> io::Result<Ended> {
        let (mut said, mut complained) = (self.0.stdout.take(), self.0.stderr.take());
        let mut lines = Lines::new(ENTRY_MAX);
        let mut buffer = vec![0; CHUNK];
        while said.is_some() || complained.is_some() {
            let both = [said.as_ref().map(AsFd::as_fd), complained.as_ref().map(AsFd::as_fd)];
            let [says, complains] = ready(until, both)?;
            if !says && !complains {
                return Ok(Ended::Late);
            }
            if complains {
                let read = piece(&mut complained, &mut buffer)?;
                let room = WORDS_MAX - words.len();
                words.extend_from_slice(&buffer[..read.min(room)]);
            }
            let read = if says { piece(&mut said, &mut buffer)? } else { 0 };
            let mut rest = &buffer[..read];
            while let Some(line) = lines.next(&mut rest) {
                if take(line) == Wish::Enough {
                    return Ok(Ended::Enough);
                }
            }
        }
        self.end(until)
    }

    /// Waits for a program that has closed both streams.
    fn end(&mut self, until: Instant) -> io::Result<Ended> {
        let process = pidfd_open(Pid::from_child(&self.0), PidfdFlags::empty())?;
        if !ready(until, [Some(process.as_fd()), None])?[0] {
            return Ok(Ended::Late);
        }
        Ok(Ended::Whole(self.0.wait()?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its number is its own for as long as nobody has waited for it.
        if let Ok(None) = self.0.try_wait() {
            // What has ended meanwhile needs no signal.
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

/// The next bytes of a stream; none, and the stream is gone, where it has ended.
fn piece(stream: &mut Option<impl Read>, buffer: &mut [u8]) -> io::Result<usize> {
    let Some(open) = stream else { return Ok(0) };
    let read = match open.read(buffer) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
        read => read?,
    };
    if read == 0 {
        *stream = None;
    }
    Ok(read)
}

/// Which of these has something to say, or has ended; none once the time is over.
fn ready(until: Instant, of: [Option<BorrowedFd<'_>>; 2]) -> io::Result<[bool; 2]> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok([false; 2]);
        }
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut polled: Vec<PollFd<'_>> =
            of.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        match poll(&mut polled, Some(&left)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => {
                let mut told = polled.iter().map(|fd| !fd.revents().is_empty());
                return Ok(of.map(|fd| fd.is_some() && told.next().unwrap_or_default()));
            }
            Err(error) => return Err(error.into()),
        }
    }
}
