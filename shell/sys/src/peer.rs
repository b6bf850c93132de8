//! The supplementary groups of the process at the other end of a Unix socket, as the kernel noted them when it
//! connected (`SO_PEERGROUPS`).
//!
//! No library offers this option safely, and the ways around it are wrong: `/proc/<pid>` may be another process by
//! now, and tells the groups of this moment.

use std::{
    ffi::c_int,
    io,
    os::fd::{AsRawFd, BorrowedFd},
};

/// The most groups that the kernel lets a process have.
const GROUPS_MAX: usize = 65_536;

/// How many groups are expected at first.
const GROUPS_USUAL: usize = 32;

/// The supplementary groups of the peer of a connected Unix socket.
pub fn groups(socket: BorrowedFd<'_>) -> io::Result<Vec<u32>> {
    let mut groups = vec![0; GROUPS_USUAL];
    loop {
        match read(socket, &mut groups) {
            Ok(count) => {
                groups.truncate(count);
                return Ok(groups);
            }
            Err(error)
                if error.raw_os_error() == Some(libc::ERANGE) && groups.len() < GROUPS_MAX =>
            {
                groups.resize(GROUPS_MAX, 0);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Fills the buffer and tells how many groups there are.
#[expect(unsafe_code, reason = "there is no safe wrapper of SO_PEERGROUPS")]
fn read(socket: BorrowedFd<'_>, groups: &mut [u32]) -> io::Result<usize> {
    let mut length = libc::socklen_t::try_from(size_of_val(groups)).map_err(io::Error::other)?;
    // SAFETY: the descriptor is open as long as it is borrowed, `groups` is writable for `length` bytes, every pattern
    // of bits is a number, and the kernel writes no more than `length` bytes and the new length.
    let outcome: c_int = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERGROUPS,
            groups.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let length = usize::try_from(length).map_err(io::Error::other)?;
    if outcome == 0 { Ok(length / size_of::<u32>()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::{
        net::TcpListener,
        os::{fd::AsFd, unix::net::UnixStream},
        process::Command,
    };

    use super::groups;

    #[test]
    fn the_groups_of_a_peer_are_those_that_it_has() -> std::io::Result<()> {
        let (near, _far) = UnixStream::pair()?;
        let told = Command::new("id").arg("-G").output()?;
        let own = String::from_utf8_lossy(&told.stdout).into_owned();
        let own: Vec<u32> = own.split_whitespace().filter_map(|id| id.parse().ok()).collect();
        // The list of `id` begins with the group of the process, which the kernel may leave out here.
        assert!(groups(near.as_fd())?.iter().all(|group| own.contains(group)));
        Ok(())
    }

    #[test]
    fn what_is_no_unix_socket_has_no_groups() -> std::io::Result<()> {
        assert!(groups(TcpListener::bind("127.0.0.1:0")?.as_fd()).is_err());
        Ok(())
    }
}
