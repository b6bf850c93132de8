//! What a process does to itself before it may supervise another one: descriptors, signals, and a second process.

use std::{
    fs, io,
    os::fd::{FromRawFd, OwnedFd},
    ptr,
};

/// The highest signal of Linux, on every architecture but MIPS.
const SIGNAL_MAX: libc::c_int = 64;

/// Lets no descriptor from `first` on outlive an `execve`, whoever opened it and however.
///
/// It changes nothing for this process, so that it does no harm to who owns the descriptors.
pub fn close_on_execute(first: u32) -> io::Result<()> {
    // Linux before 5.11 does not know the call or the flag, and some filters of calls refuse it.
    close_range(first).or_else(|_| one_by_one(first))
}

#[expect(unsafe_code, reason = "there is no safe wrapper of close_range")]
fn close_range(first: u32) -> io::Result<()> {
    let flags = libc::c_int::try_from(libc::CLOSE_RANGE_CLOEXEC).map_err(io::Error::other)?;
    // SAFETY: the call takes numbers alone, and with this flag it closes nothing before an `execve`.
    let outcome = unsafe { libc::close_range(first, u32::MAX, flags) };
    checked(outcome).map(drop)
}

fn one_by_one(first: u32) -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let Some(number) = number.filter(|number| *number >= first) else { continue };
        let number = libc::c_int::try_from(number).map_err(io::Error::other)?;
        match set_close_on_execute(number) {
            // It was the one by which the folder is read, or was closed meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

#[expect(unsafe_code, reason = "the safe wrappers take a descriptor that this process opened")]
fn set_close_on_execute(number: libc::c_int) -> io::Result<()> {
    // SAFETY: the call takes numbers alone and closes nothing before an `execve`; a number that is no descriptor is an
    // error.
    let outcome = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    checked(outcome).map(drop)
}

/// Puts the treatment of every signal back to its default, then holds all of them back from this thread and from what
/// it forks.
///
/// A program that is executed keeps what was ignored and what was held back, as its parent had it.
pub fn hold_signals() -> io::Result<()> {
    for signal in 1..=SIGNAL_MAX {
        match set_default(signal) {
            // SIGKILL and SIGSTOP.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            outcome => outcome?,
        }
    }
    set_mask(&full_set()?)
}

/// Lets a write beyond the limit of a file's size fail as any other does, instead of ending this process.
#[expect(unsafe_code, reason = "there is no safe wrapper of signal")]
pub fn outlive_file_limit() -> io::Result<()> {
    // SAFETY: what is ignored runs no code of this process.
    let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The C library keeps two signals for itself, which may yet have been ignored by who began this process; so this asks
/// the kernel.
#[expect(unsafe_code, reason = "there is no safe wrapper of sigaction")]
fn set_default(signal: libc::c_int) -> io::Result<()> {
    // More than the struct of any architecture; all zero is SIG_DFL without flags and with an empty set.
    let action = [0_u64; 8];
    let none = ptr::null_mut::<u64>();
    // SAFETY: the action is valid, lives through the call, and runs no code of this process; nobody asks for the old one.
    let outcome = unsafe {
        libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), none, size_of::<u64>())
    };
    if outcome == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[expect(unsafe_code, reason = "there is no safe wrapper of sets of signals")]
fn full_set() -> io::Result<libc::sigset_t> {
    let mut set = empty_set()?;
    // SAFETY: the set is initialised and writable.
    let outcome = unsafe { libc::sigfillset(&raw mut set) };
    checked(outcome).map(|_| set)
}

#[expect(unsafe_code, reason = "there is no safe wrapper of sets of signals")]
pub(crate) fn empty_set() -> io::Result<libc::sigset_t> {
    // SAFETY: a set of signals is an array of numbers, for which zero is a value.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is writable.
    let outcome = unsafe { libc::sigemptyset(&raw mut set) };
    checked(outcome).map(|_| set)
}

#[expect(unsafe_code, reason = "there is no safe wrapper of pthread_sigmask")]
fn set_mask(set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: the set is initialised and lives through the call; nobody asks for the old one.
    let outcome = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, set, ptr::null_mut()) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(outcome)) }
}

/// A descriptor that can be read once a child has ended, for a process that [holds its signals](hold_signals).
#[expect(unsafe_code, reason = "there is no safe wrapper of signalfd")]
pub fn ended_children() -> io::Result<OwnedFd> {
    let mut set = empty_set()?;
    // SAFETY: the set is initialised and writable.
    checked(unsafe { libc::sigaddset(&raw mut set, libc::SIGCHLD) })?;
    // SAFETY: the set is initialised and lives through the call, and -1 asks for a new descriptor.
    let descriptor = checked(unsafe {
        libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    })?;
    // SAFETY: the descriptor is new, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Which of the two processes this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fork {
    /// The one that was there, with the id of its child.
    Parent(i32),
    Child,
}

/// Doubles this process, which must have one thread only: what another thread holds locked would stay locked for ever.
#[expect(unsafe_code, reason = "there is no safe wrapper of fork")]
pub fn fork() -> io::Result<Fork> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process with several threads is not doubled"));
    }
    // SAFETY: this is the only thread, so nothing is half done in the memory that the child gets.
    match checked(unsafe { libc::fork() })? {
        0 => Ok(Fork::Child),
        child => Ok(Fork::Parent(child)),
    }
}

/// A result of -1 is an error that `errno` tells.
pub(crate) fn checked(outcome: libc::c_int) -> io::Result<libc::c_int> {
    if outcome == -1 { Err(io::Error::last_os_error()) } else { Ok(outcome) }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io, os,
        os::fd::{AsRawFd, OwnedFd},
    };

    use super::{close_on_execute, ended_children, fork, one_by_one};

    #[expect(unsafe_code, reason = "there is no safe wrapper of dup without the flag")]
    fn inherited() -> io::Result<OwnedFd> {
        let file = File::open("/dev/null")?;
        // SAFETY: the descriptor is open.
        let number = super::checked(unsafe { libc::dup(file.as_raw_fd()) })?;
        // SAFETY: the descriptor is new, and nobody else owns it.
        Ok(unsafe { os::fd::FromRawFd::from_raw_fd(number) })
    }

    #[expect(unsafe_code, reason = "there is no safe wrapper of fcntl here")]
    fn outlives(descriptor: &OwnedFd) -> bool {
        // SAFETY: the call takes numbers alone and changes nothing.
        unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_GETFD) == 0 }
    }

    #[test]
    fn no_descriptor_outlives_an_execution_whoever_opened_it() -> io::Result<()> {
        for close in [close_on_execute, one_by_one] {
            let descriptor = inherited()?;
            assert!(outlives(&descriptor));
            close(u32::try_from(descriptor.as_raw_fd() + 1).unwrap_or_default())?;
            assert!(outlives(&descriptor), "those below stay as they are");
            close(u32::try_from(descriptor.as_raw_fd()).unwrap_or_default())?;
            assert!(!outlives(&descriptor));
        }
        Ok(())
    }

    #[test]
    fn a_process_with_several_threads_is_not_doubled() {
        let (keep, kept) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || kept.recv());
        assert!(fork().is_err());
        drop(keep);
        assert!(other.join().is_ok());
    }

    #[test]
    fn ended_children_are_told_by_a_descriptor() {
        assert!(ended_children().is_ok());
    }
}
