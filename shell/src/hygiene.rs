//! Keeps the memory of this process, which holds keys, out of core dumps and from other processes of its user.

use rustix::{
    io,
    process::{DumpableBehavior, Resource, Rlimit},
};

/// To be called before any secret is read.
pub fn seal() -> io::Result<()> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::setrlimit(Resource::Core, none)
}

#[cfg(test)]
mod tests {
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
}
