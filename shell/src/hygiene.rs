//! Keeps the memory of this process, which holds keys, out of core dumps and from other processes of its user, and small
//! behind a burst, and lets it open as many files as its limits of connections need.

use rustix::{
    io,
    process::{DumpableBehavior, Resource, Rlimit},
};

/// A file that may not grow is a fault of the disk, and told as one; what is run has its signals as they were.
pub fn outlive_file_limit() -> std::io::Result<()> {
    meshward_sys::process::outlive_file_limit()
}

/// What a burst took goes back to the system behind it, whichever threads took it; to be called before there are any.
pub fn hold_little() {
    // An allocator that does not take it holds more, and is no reason to stop.
    let _ = meshward_sys::heap::hold_little();
}

/// To be called before any secret is read.
pub fn seal() -> io::Result<()> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::setrlimit(Resource::Core, none)
}

/// What every connection of the three listeners takes, what is held of followed files, and room for the disk, the control
/// plane and what is run.
pub const FILES_MIN: u64 = 1024 + 64 + 64 + 64 + 128;

/// Raises the limit of open files as far as the system lets this process; tells a limit that is still too low.
///
/// The usual limit is below the number of connections at once, and whoever opens that many would keep the agent from
/// its disk.
pub fn open_files() -> Option<u64> {
    let Rlimit { maximum, .. } = rustix::process::getrlimit(Resource::Nofile);
    // Where that is forbidden, the limit stays as it was.
    let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    too_few(rustix::process::getrlimit(Resource::Nofile).current)
}

/// No limit is enough.
fn too_few(limit: Option<u64>) -> Option<u64> {
    limit.filter(|limit| *limit < FILES_MIN)
}

#[cfg(test)]
mod tests {
    use super::{FILES_MIN, too_few};
    use rustix::process::{DumpableBehavior, Resource};

    #[test]
    fn a_sealed_process_leaves_no_core() {
        super::seal().unwrap();
        super::seal().unwrap();
        let dumpable = rustix::process::dumpable_behavior().unwrap();
        assert_eq!(dumpable, DumpableBehavior::NotDumpable);
        assert_eq!(rustix::process::getrlimit(Resource::Core).current, Some(0));
        assert!(crate::image::checksum().is_ok());
    }

    #[test]
    fn a_limit_below_what_the_listeners_take_is_too_low() {
        assert_eq!(too_few(None), None);
        assert_eq!(too_few(Some(FILES_MIN)), None);
        assert_eq!(too_few(Some(FILES_MIN - 1)), Some(FILES_MIN - 1));
    }
}
