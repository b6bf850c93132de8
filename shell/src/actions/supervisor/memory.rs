//! Files that lie in memory alone and that nobody can change any more.

use std::{
    fs::File,
    io::{self, Seek as _, Write as _},
    os::fd::OwnedFd,
};

use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
    io::Errno,
};

/// A program of exactly these bytes, which no process can change, the superuser's included.
///
/// A system on which `vm.memfd_noexec` is 2 refuses it.
pub fn sealed(bytes: &[u8]) -> io::Result<OwnedFd> {
    let descriptor = match memfd_create("program", flags(MemfdFlags::EXEC)) {
        // Linux before 6.3 does not know the flag, and lets each be executed.
        Err(Errno::INVAL) => memfd_create("program", flags(MemfdFlags::empty())),
        created => created,
    };
    fill(descriptor?, bytes)
}

/// The same for what is only read.
pub(crate) fn text(bytes: &[u8]) -> io::Result<OwnedFd> {
    let descriptor = match memfd_create("order", flags(MemfdFlags::NOEXEC_SEAL)) {
        Err(Errno::INVAL) => memfd_create("order", flags(MemfdFlags::empty())),
        created => created,
    };
    fill(descriptor?, bytes)
}

fn flags(more: MemfdFlags) -> MemfdFlags {
    MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | more
}

fn fill(descriptor: OwnedFd, bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(descriptor);
    file.write_all(bytes)?;
    file.rewind()?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK)?;
    fcntl_add_seals(&file, SealFlags::SEAL)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::{Read as _, Seek as _, Write as _},
    };

    use super::{sealed, text};

    #[test]
    fn what_is_sealed_is_read_as_it_was_given_and_written_by_nobody() {
        for make in [sealed, text] {
            let mut file = File::from(make(b"#!/bin/true\n").unwrap());
            let mut read = Vec::new();
            file.read_to_end(&mut read).unwrap();
            assert_eq!(read, b"#!/bin/true\n");
            assert!(file.write_all(b"more").is_err());
            file.rewind().unwrap();
            assert!(file.write_all(b"less").is_err());
            assert!(file.set_len(0).is_err());
        }
    }
}
