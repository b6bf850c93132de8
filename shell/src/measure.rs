//! The program's file and the SSH host key, looked at where they stand now.
//!
//! Neither is waited for: what is no regular file is not read, and what is too long is given up.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use meshward_core::{
    agent::{HostKey, Measured},
    wire::{
        grammar::{Checksum, Fingerprint},
        host_key,
    },
};
use rustix::fs::OFlags;
use zeroize::Zeroizing;

use crate::image;

/// The longest program that is read, in bytes.
const PROGRAM_MAX: u64 = 1 << 30;

/// What the kernel puts behind the path of a program whose file is gone.
const GONE: &[u8] = b" (deleted)";

/// Where the files are that are measured.
#[derive(Clone, Debug)]
pub(crate) struct Measures {
    program: PathBuf,
    host_key: Option<PathBuf>,
}

impl Measures {
    /// Of the program that runs, with the path that it has now, and the configured host key.
    pub(crate) fn new(host_key: Option<&Path>) -> io::Result<Self> {
        let program = std::fs::read_link("/proc/self/exe")?;
        Ok(Self { program: standing(program), host_key: host_key.map(Path::to_owned) })
    }

    /// Looks at them; it blocks.
    pub(crate) fn take(&self) -> Measured {
        let host_key = self.host_key.as_deref().and_then(|path| {
            let fingerprint = fingerprint(path)?;
            Some(HostKey { path: shown(path), fingerprint })
        });
        let checksum = checksum(&self.program).map_err(|reason| told(&self.program, &reason));
        Measured { image: shown(&self.program), checksum, host_key }
    }

    /// What is told where they could not be looked at in time.
    pub(crate) fn untold(&self, reason: &str) -> Measured {
        let host_key = self
            .host_key
            .as_deref()
            .map(|path| HostKey { path: shown(path), fingerprint: Err(told(path, reason)) });
        let checksum = Err(told(&self.program, reason));
        Measured { image: shown(&self.program), checksum, host_key }
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn told(path: &Path, reason: &str) -> String {
    format!("{}: {reason}", path.display())
}

/// The path without the kernel's mark, unless a file stands there that is called so.
fn standing(path: PathBuf) -> PathBuf {
    match path.as_os_str().as_bytes().strip_suffix(GONE) {
        Some(bare) if !path.exists() => PathBuf::from(std::ffi::OsStr::from_bytes(bare)),
        Some(_) | None => path,
    }
}

/// A regular file, which is not waited for where it is none.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no regular file")),
    }
}

fn checksum(path: &Path) -> Result<Checksum, String> {
    let file = open(path).map_err(|error| error.to_string())?;
    let mut most = file.take(PROGRAM_MAX + 1);
    let checksum = image::digest(&mut most).map_err(|error| error.to_string())?;
    match most.limit() {
        0 => Err(format!("it is longer than {PROGRAM_MAX} bytes")),
        _ => Ok(checksum),
    }
}

/// `None` where there is no file.
fn fingerprint(path: &Path) -> Option<Result<Fingerprint, String>> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(told(path, &error.to_string()))),
    };
    Some(read_key(file).map_err(|reason| told(path, &reason)))
}

/// Half of the file may be secret: it is read into one piece of memory that is wiped.
fn read_key(mut file: File) -> Result<Fingerprint, String> {
    let mut bytes = Zeroizing::new(vec![0; host_key::FILE_MAX + 1]);
    let mut length = 0;
    while let Some(room) = bytes.get_mut(length..).filter(|room| !room.is_empty()) {
        match file.read(room) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    host_key::fingerprint(bytes.get(..length).unwrap_or_default()).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf, process::Command};

    use super::{Measures, standing};

    #[test]
    fn the_mark_of_a_program_whose_file_is_gone_is_taken_off_but_not_from_a_name_that_ends_so() {
        let home = tempfile::tempdir().unwrap();
        let named = home.path().join("a (deleted)");
        assert_eq!(standing(named.clone()), home.path().join("a"));
        fs::write(&named, "").unwrap();
        assert_eq!(standing(named.clone()), named);
        assert_eq!(standing(PathBuf::from("/a/b")), PathBuf::from("/a/b"));
    }

    #[test]
    fn a_file_is_measured_as_it_stands_there_now_and_what_is_none_is_told_and_not_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let (program, pipe) = (home.path().join("program"), home.path().join("pipe"));
        let measures =
            Measures { program: program.clone(), host_key: Some(home.path().join("missing")) };
        let missing = measures.take();
        assert!(missing.checksum.unwrap_err().ends_with("No such file or directory (os error 2)"));
        assert_eq!(
            missing.host_key, None,
            "a host key that is not there is no fault of the measure"
        );
        fs::write(&program, "one").unwrap();
        let one = measures.take().checksum.unwrap();
        fs::write(&program, "two").unwrap();
        let two = measures.take().checksum.unwrap();
        assert_ne!(one, two);
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let measured = Measures { program: pipe.clone(), host_key: Some(pipe) }.take();
        assert!(measured.checksum.unwrap_err().ends_with("pipe: it is no regular file"));
        let key = measured.host_key.unwrap();
        assert!(key.fingerprint.unwrap_err().ends_with("pipe: it is no regular file"));
    }
}
