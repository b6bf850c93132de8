//! A command that becomes its program by `execve` alone.
//!
//! The standard library looks the program up in `PATH`, and lets a shell read what the kernel cannot execute. A program
//! of which the bytes were checked must be exactly these, and what is none must be refused.

use std::{
    ffi::{CStr, CString, c_char},
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::process::CommandExt as _,
    },
    process::Command,
    ptr,
    sync::atomic::AtomicPtr,
};

use crate::process::{checked, empty_set};

/// What a child executes.
#[derive(Debug)]
pub struct Program {
    pub path: CString,
    /// The first is the name that the program is given.
    pub arguments: Vec<CString>,
    /// The whole environment.
    pub environment: Vec<CString>,
    /// Stays open in the program, and in the program alone.
    pub kept: Option<OwnedFd>,
    /// `0` is written to it first, by which the child moves itself into the control group whose `cgroup.procs` this is;
    /// where that fails it stays where it is.
    pub group: Option<OwnedFd>,
    pub limits: Vec<Limit>,
}

/// How much of a resource the program may use; one that may not be raised is lowered as far as it is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    AddressSpace(u64),
    /// Of one file, in bytes.
    FileSize(u64),
    /// May be raised again by the program, up to what this process may have.
    OpenFiles(u64),
    /// Of the user as whom the program runs; the superuser has none.
    Processes(u64),
}

/// Lets the command execute this program instead of its own, once all else that it says about its child is done.
#[expect(unsafe_code, reason = "there is no other way into the child")]
pub fn execute(command: &mut Command, program: Program) {
    let Program { path, arguments, environment, kept, group, limits } = program;
    let (arguments, environment) = (Texts::new(arguments), Texts::new(environment));
    let become_it = move || {
        if let Some(group) = &group {
            join(group);
        }
        for limit in &limits {
            set_limit(*limit)?;
        }
        if let Some(kept) = &kept {
            keep(kept)?;
        }
        die_with_parent()?;
        hear_signals()?;
        Err(replace(&path, &arguments, &environment))
    };
    // SAFETY: in the child the closure makes system calls alone, on memory that was made before the fork. It allocates
    // and frees nothing, takes no lock, and its errors carry a number.
    unsafe { command.pre_exec(become_it) };
}

/// Lets the program of the command be killed where the thread ends that begins it, as with its process.
#[expect(unsafe_code, reason = "there is no other way into the child")]
pub fn end_with_parent(command: &mut Command) {
    // SAFETY: in the child the function makes one system call, with numbers alone, and its error carries a number.
    unsafe { command.pre_exec(die_with_parent) };
}

#[expect(unsafe_code, reason = "only bare calls may be made between fork and execve")]
fn join(group: &OwnedFd) {
    // SAFETY: the descriptor is open and the buffer is one byte long.
    unsafe { libc::write(group.as_raw_fd(), c"0".as_ptr().cast(), 1) };
}

fn set_limit(limit: Limit) -> io::Result<()> {
    let mut known = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    exchange_limit(limit, None, Some(&mut known))?;
    let (Limit::AddressSpace(most)
    | Limit::FileSize(most)
    | Limit::OpenFiles(most)
    | Limit::Processes(most)) = limit;
    known.rlim_cur = known.rlim_max.min(most);
    if !matches!(limit, Limit::OpenFiles(_)) {
        known.rlim_max = known.rlim_cur;
    }
    exchange_limit(limit, Some(&known), None)
}

#[expect(unsafe_code, reason = "only bare calls may be made between fork and execve")]
fn exchange_limit(
    limit: Limit,
    new: Option<&libc::rlimit>,
    old: Option<&mut libc::rlimit>,
) -> io::Result<()> {
    let resource = match limit {
        Limit::AddressSpace(_) => libc::RLIMIT_AS,
        Limit::FileSize(_) => libc::RLIMIT_FSIZE,
        Limit::OpenFiles(_) => libc::RLIMIT_NOFILE,
        Limit::Processes(_) => libc::RLIMIT_NPROC,
    };
    let new = new.map_or(ptr::null(), ptr::from_ref);
    let old = old.map_or(ptr::null_mut(), ptr::from_mut);
    // SAFETY: both are null or point to a struct that lives through the call, the second writable; 0 is this process.
    checked(unsafe { libc::prlimit(0, resource, new, old) }).map(drop)
}

#[expect(unsafe_code, reason = "only bare calls may be made between fork and execve")]
fn keep(descriptor: &OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the call takes numbers alone.
    checked(unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, 0) }).map(drop)
}

/// Where the process that begins it is killed, and nobody else is left to end it, it ends too.
#[expect(unsafe_code, reason = "only bare calls may be made between fork and execve")]
fn die_with_parent() -> io::Result<()> {
    // SAFETY: the call takes numbers alone.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }).map(drop)
}

/// The standard library leaves held back what its process holds back.
#[expect(unsafe_code, reason = "only bare calls may be made between fork and execve")]
fn hear_signals() -> io::Result<()> {
    let set = empty_set()?;
    // SAFETY: the set is initialised and lives through the call; nobody asks for the old one.
    checked(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut()) })
        .map(drop)
}

/// Comes back with the error alone.
#[expect(unsafe_code, reason = "there is no safe wrapper of execve")]
fn replace(path: &CStr, arguments: &Texts, environment: &Texts) -> io::Error {
    // SAFETY: all three are made of texts that end with a zero and live through the call, and the lists end with null.
    unsafe { libc::execve(path.as_ptr(), arguments.list(), environment.list()) };
    io::Error::last_os_error()
}

/// A list of texts as `execve` takes it.
struct Texts {
    /// One for each text, and null.
    pointers: Vec<AtomicPtr<c_char>>,
    /// What the pointers point to.
    _texts: Vec<CString>,
}

impl Texts {
    fn new(texts: Vec<CString>) -> Self {
        let pointers = texts.iter().map(|text| text.as_ptr().cast_mut());
        let pointers = pointers.chain([ptr::null_mut()]).map(AtomicPtr::new).collect();
        Self { pointers, _texts: texts }
    }

    /// An `AtomicPtr` lies in memory as the pointer does.
    fn list(&self) -> *const *const c_char {
        self.pointers.as_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::CString,
        fs, io,
        os::unix::process::ExitStatusExt as _,
        process::{Command, Output, Stdio},
        thread,
    };

    use super::{Limit, Program, end_with_parent, execute};

    fn text(text: &str) -> CString {
        CString::new(text).unwrap_or_default()
    }

    fn run(path: &str, arguments: &[&str]) -> io::Result<Output> {
        let mut command = Command::new("none");
        let (arguments, environment) =
            (arguments.iter().map(|one| text(one)).collect(), vec![text("ONE=1"), text("TWO=2")]);
        let limits = vec![Limit::OpenFiles(77), Limit::FileSize(1024)];
        let (path, kept, group) = (text(path), None, None);
        let program = Program { path, arguments, environment, kept, group, limits };
        execute(&mut command, program);
        command.stdin(Stdio::null()).output()
    }

    #[test]
    fn a_program_gets_its_name_its_arguments_and_its_environment_and_no_more() -> io::Result<()> {
        let output = run("/bin/sh", &["named", "-c", "echo \"$0 $1\"; env", "zero", "one"])?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.starts_with("zero one\n"), "{printed}");
        assert!(printed.contains("ONE=1\n") && printed.contains("TWO=2\n"), "{printed}");
        assert!(!printed.contains("PATH="), "{printed}");
        Ok(())
    }

    #[test]
    fn a_limit_is_set_and_only_that_of_files_may_be_raised_again() -> io::Result<()> {
        let script = "ulimit -Sn; ulimit -Sf; ulimit -Hf; ulimit -n 78 && ulimit -f 3";
        let output = run("/bin/sh", &["sh", "-c", script])?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(printed, "77\n2\n2\n");
        assert!(!output.status.success());
        Ok(())
    }

    #[test]
    fn a_program_that_ignores_signals_ends_with_the_thread_that_began_it() -> io::Result<()> {
        let begin = || {
            let mut command = Command::new("/bin/sh");
            end_with_parent(&mut command);
            command.args(["-c", "trap '' TERM HUP INT PIPE; while :; do sleep 1; done"]).spawn()
        };
        let begun = thread::spawn(begin).join();
        let mut program = begun.map_err(|_| io::Error::other("the thread broke"))??;
        assert_eq!(program.wait()?.signal(), Some(libc::SIGKILL));
        Ok(())
    }

    #[test]
    fn what_the_kernel_cannot_execute_is_given_to_no_shell() -> io::Result<()> {
        let folder = std::env::temp_dir().join(format!("meshward-sys-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let path = folder.join("script");
        // Nobody may have it open for writing while it is executed, as a child of this process might for a moment.
        let write = "echo echo a shell ran > \"$0\" && chmod 755 \"$0\"";
        let written = Command::new("/bin/sh").arg("-c").arg(write).arg(&path).status()?;
        assert!(written.success());
        let ran = run(&path.to_string_lossy(), &["script"]);
        fs::remove_dir_all(&folder)?;
        assert_eq!(ran.map_err(|error| error.raw_os_error()), Err(Some(libc::ENOEXEC)));
        Ok(())
    }
}
