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
