//! The kernel's audit as it is multicast, which needs `CAP_AUDIT_READ` and takes nothing away from auditd.
//!
//! The kernel waits for no listener, and holds little for one. So a thread sleeps in the kernel until something comes and
//! puts it into a queue that is bounded; what does not fit is counted. It ends when the socket is let go.

use std::{
    collections::VecDeque,
    io, mem,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SocketFlags, SocketType, bind,
        netlink::{self, SocketAddrNetlink},
        recvfrom, socket_with, sockopt,
    },
    pipe::{PipeFlags, pipe_with},
};

/// `AUDIT_NLGRP_READLOG`, as a bit.
const READ_LOG: u32 = 1;

/// The most that the kernel holds for the socket, in bytes; it doubles the number for what it needs itself.
const BUFFER_MAX: usize = 1 << 20;

/// How many records wait for the next round.
const QUEUE_MAX: usize = 16_384;

/// How many bytes of records wait for the next round.
const QUEUE_BYTES_MAX: usize = 4 << 20;

/// The longest datagram that is taken; the kernel's longest record is 8,970 bytes.
const DATAGRAM_MAX: usize = 16 << 10;

/// How many datagrams are taken before it is looked whether the socket is let go.
const BATCH: usize = 256;

/// The socket, and what came by it.
#[derive(Debug)]
pub(super) struct AuditSocket {
    queue: Arc<Mutex<Queue>>,
    /// Its other end tells the thread that nobody listens any more.
    _held: OwnedFd,
}

/// What came since it was asked for.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Datagrams of the kernel, in their order.
    pub(super) datagrams: VecDeque<Box<[u8]>>,
    /// How many were let go, at the least.
    pub(super) lost: u64,
    /// The kernel's own queue overflowed, and it does not tell how many were in it.
    pub(super) is_at_least: bool,
    /// Nothing more comes.
    pub(super) failed: Option<io::Error>,
}

#[derive(Debug, Default)]
struct Queue {
    heard: Heard,
    bytes: usize,
}

impl AuditSocket {
    /// Listens, if this process may.
    pub(super) fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let kind = SocketType::RAW;
        let socket = socket_with(AddressFamily::NETLINK, kind, flags, Some(netlink::AUDIT))?;
        // Beyond the limit of the system only for who may set it.
        sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER_MAX)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, BUFFER_MAX))?;
        bind(&socket, &SocketAddrNetlink::new(0, READ_LOG))?;
        Self::listening(socket)
    }

    fn listening(socket: OwnedFd) -> io::Result<Self> {
        let (gone, held) = pipe_with(PipeFlags::CLOEXEC)?;
        let queue = Arc::new(Mutex::new(Queue::default()));
        let filled = Arc::clone(&queue);
        thread::Builder::new().name("audit-socket".into()).spawn(move || {
            if let Err(error) = listen(&socket, &gone, &filled) {
                locked(&filled).heard.failed = Some(error);
            }
        })?;
        Ok(Self { queue, _held: held })
    }

    /// Everything that has come.
    pub(super) fn take(&self) -> Heard {
        mem::take(&mut *locked(&self.queue)).heard
    }
}

fn locked(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until the socket is let go.
fn listen(socket: &OwnedFd, gone: &OwnedFd, queue: &Mutex<Queue>) -> io::Result<()> {
    let mut buffer = vec![0; DATAGRAM_MAX];
    loop {
        let mut awaited =
            [PollFd::new(socket, PollFlags::IN), PollFd::new(gone, PollFlags::empty())];
        match poll(&mut awaited, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [_, let_go] = awaited;
        if !let_go.revents().is_empty() {
            return Ok(());
        }
        drain(socket, &mut buffer, queue)?;
    }
}

/// Takes what is there.
fn drain(socket: &OwnedFd, buffer: &mut [u8], queue: &Mutex<Queue>) -> io::Result<()> {
    for _ in 0..BATCH {
        match recvfrom(socket, &mut *buffer, RecvFlags::DONTWAIT | RecvFlags::TRUNC) {
            Ok((_, length, from)) => {
                let from = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
                // Others than the kernel may send here too, if they are privileged.
                if from.is_some_and(|from| from.pid() == 0) {
                    locked(queue).put(buffer.get(..length));
                }
            }
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::NOBUFS) => locked(queue).overflowed(),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl Queue {
    /// `None` is a datagram that is longer than any record.
    fn put(&mut self, datagram: Option<&[u8]>) {
        let room = QUEUE_BYTES_MAX.saturating_sub(self.bytes);
        match datagram {
            Some(datagram) if self.heard.datagrams.len() < QUEUE_MAX && datagram.len() <= room => {
                self.bytes += datagram.len();
                self.heard.datagrams.push_back(datagram.into());
            }
            Some(_) | None => self.heard.lost += 1,
        }
    }

    fn overflowed(&mut self) {
        self.heard.lost += 1;
        self.heard.is_at_least = true;
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs, io,
        os::fd::OwnedFd,
        thread,
        time::{Duration, Instant},
    };

    use meshward_core::wire::sources::auditd::Record;
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        io::Errno,
        net::{
            AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, getsockname,
            netlink::{self, SocketAddrNetlink},
            sendto, socket_with,
        },
    };

    use super::{
        AuditSocket, BUFFER_MAX, DATAGRAM_MAX, QUEUE_BYTES_MAX, QUEUE_MAX, Queue, READ_LOG, drain,
    };

    /// The record of a program that the kernel takes also where its audit is off.
    const USER_AVC: u16 = 1107;
    const REQUEST: u16 = 1;

    fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(16 + payload.len()).unwrap();
        let head =
            [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &REQUEST.to_ne_bytes(), &[0; 8]];
        [&head.concat(), payload].concat()
    }

    fn plain() -> io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let protocol = Some(netlink::AUDIT);
        Ok(socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?)
    }

    fn send(socket: &OwnedFd, to: SocketAddrNetlink, bytes: &[u8]) -> io::Result<()> {
        sendto(socket, bytes, SendFlags::empty(), &to).map(drop).map_err(Into::into)
    }

    /// Another listener, by itself.
    fn witness() -> io::Result<OwnedFd> {
        let socket = plain()?;
        super::bind(&socket, &SocketAddrNetlink::new(0, READ_LOG))?;
        Ok(socket)
    }

    /// Whether a record with this mark comes to the other listener, as it does not where the kernel tells nothing, such
    /// as in a network namespace of its own.
    fn witnessed(socket: &OwnedFd, mark: &str) -> bool {
        let timeout = Timespec { tv_sec: 10, tv_nsec: 0 };
        let mut buffer = vec![0; DATAGRAM_MAX];
        while let Ok(1..) = poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)) {
            let Ok((_, length, _)) = super::recvfrom(socket, &mut buffer[..], RecvFlags::empty())
            else {
                continue;
            };
            if String::from_utf8_lossy(&buffer[..length]).contains(mark) {
                return true;
            }
        }
        false
    }

    /// Whether a record with this mark comes in time.
    fn heard(socket: &AuditSocket, mark: &str) -> bool {
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            let heard = socket.take().datagrams;
            let mut records = heard.iter().filter(|bytes| Record::of_datagram(bytes).is_some());
            if records.any(|bytes| String::from_utf8_lossy(bytes).contains(mark)) {
                return true;
            }
            thread::yield_now();
        }
        false
    }

    #[test]
    fn what_the_kernel_audits_is_heard_where_this_process_may_hear_it() {
        let (socket, witness) = match (AuditSocket::open(), witness()) {
            (Ok(socket), Ok(witness)) => (socket, witness),
            (open, witness) => return assert_eq!(open.is_ok(), witness.is_ok(), "{open:?}"),
        };
        let mark = format!("op=heard-{}", std::process::id());
        let text = format!("{mark} res=success\0");
        let from = plain().unwrap();
        let sent = send(&from, SocketAddrNetlink::new(0, 0), &message(USER_AVC, text.as_bytes()));
        if sent.is_ok() && witnessed(&witness, &mark) {
            assert!(heard(&socket, &mark), "another listener heard it");
        }
    }

    #[test]
    fn what_another_program_sends_to_the_socket_is_no_record() {
        let (Ok(socket), Ok(from)) = (plain(), plain()) else { return assert!(plain().is_err()) };
        super::bind(&socket, &SocketAddrNetlink::new(0, 0)).unwrap();
        let to = SocketAddrNetlink::try_from(getsockname(&socket).unwrap()).unwrap();
        let forged = message(1300, b"audit(1.000:1): success=yes pid=1 uid=0\0");
        let sent = send(&from, SocketAddrNetlink::new(to.pid(), 0), &forged);
        let queue = std::sync::Mutex::new(Queue::default());
        drain(&socket, &mut vec![0; DATAGRAM_MAX], &queue).unwrap();
        let heard = super::locked(&queue);
        assert!(heard.heard.datagrams.is_empty() && heard.heard.lost == 0, "sent: {sent:?}");
        // It was there, and is there no more.
        let left = super::recvfrom(&socket, &mut [0; 8][..], RecvFlags::DONTWAIT);
        assert_eq!(left.err(), Some(Errno::AGAIN));
    }

    #[test]
    fn the_thread_ends_with_the_socket_and_the_kernel_holds_no_more_than_was_asked_for() {
        let Ok(socket) = plain() else { return assert!(plain().is_err()) };
        super::sockopt::set_socket_recv_buffer_size(&socket, BUFFER_MAX).unwrap();
        assert!(super::sockopt::socket_recv_buffer_size(&socket).unwrap() <= 2 * BUFFER_MAX);
        let watched = AuditSocket::listening(socket).unwrap();
        let queue = std::sync::Arc::downgrade(&watched.queue);
        drop(watched);
        let end = Instant::now() + Duration::from_secs(20);
        while queue.strong_count() > 0 && Instant::now() < end {
            thread::yield_now();
        }
        assert_eq!(queue.strong_count(), 0, "nobody holds the queue any more");
    }

    #[test]
    fn a_socket_that_breaks_says_so() {
        // What is no socket cannot be received from.
        let file = OwnedFd::from(fs::File::open("/dev/zero").unwrap());
        let socket = AuditSocket::listening(file).unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        let mut failed = None;
        while failed.is_none() && Instant::now() < end {
            failed = socket.take().failed;
            thread::yield_now();
        }
        assert_eq!(Errno::from_io_error(&failed.unwrap()), Some(Errno::NOTSOCK));
    }

    #[test]
    fn what_does_not_fit_into_the_queue_is_counted_and_an_overflow_counts_at_least_once() {
        let mut queue = Queue::default();
        for _ in 0..QUEUE_MAX + 3 {
            queue.put(Some(b"x"));
        }
        queue.put(None);
        assert_eq!((queue.heard.datagrams.len(), queue.heard.lost), (QUEUE_MAX, 4));
        assert!(!queue.heard.is_at_least);
        queue.overflowed();
        assert_eq!((queue.heard.lost, queue.heard.is_at_least), (5, true));
        let mut queue = Queue::default();
        let large = vec![0; DATAGRAM_MAX];
        for _ in 0..=QUEUE_BYTES_MAX / DATAGRAM_MAX {
            queue.put(Some(&large));
        }
        assert_eq!(queue.heard.datagrams.len(), QUEUE_BYTES_MAX / DATAGRAM_MAX);
        assert_eq!((queue.heard.lost, READ_LOG), (1, 1));
    }
}
