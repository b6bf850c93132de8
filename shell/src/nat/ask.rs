//! One server is asked, again and again until it answers or its time is over.
//!
//! Specification: RFC 8489, section 6.2.1 (RTO, its doubling, and Rc).

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    time::Duration,
};

use meshward_core::wire::{
    grammar::PeerAddr,
    stun::{self, MESSAGE_MAX, TransactionId},
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use tokio::{
    net::UdpSocket,
    time::{Instant, timeout_at},
};

use crate::chance;

/// How long the first request is waited for before it is repeated; each further wait is twice as long.
const RTO: Duration = Duration::from_millis(500);
/// How often a request is sent.
const SENDS_MAX: u32 = 7;
/// How many datagrams that are no answer are passed over.
const STRAYS_MAX: u32 = 64;

#[derive(Debug)]
pub(super) enum Fault {
    Late,
    Failed(String),
}

/// A socket at the port of the tunnel, which others of this user may share.
pub(super) fn open(port: u16) -> Result<UdpSocket, String> {
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let opened = (|| {
        let socket = rustix::net::socket_with(family, kind, flags, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        sockopt::set_socket_reuseport(&socket, true)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))?;
        UdpSocket::from_std(socket.into())
    })();
    opened.map_err(|error: io::Error| {
        let port = format!("port {port} (tunnel.listen_port)");
        if error.kind() == io::ErrorKind::AddrInUse {
            let mend = "end that one or set another port";
            return format!("{port} is taken by a program that does not share it: {mend}");
        }
        format!("{port} cannot be used: {error}")
    })
}

/// How the server sees this node.
pub(super) async fn ask(
    port: u16,
    server: SocketAddrV4,
    until: Instant,
) -> Result<PeerAddr, Fault> {
    let failed = |doing: &str, error: io::Error| {
        Fault::Failed(match error.kind() == io::ErrorKind::ConnectionRefused {
            true => format!("nobody listens at {server}"),
            false => format!("{server} cannot be {doing}: {error}"),
        })
    };
    let id = chance::transaction().map_err(|error| {
        Fault::Failed(format!("the system gives no random bytes to ask with: {error}"))
    })?;
    let socket = open(port).map_err(Fault::Failed)?;
    socket.connect(server).await.map_err(|error| failed("reached", error))?;
    let (request, mut strays) = (stun::request(id), STRAYS_MAX);
    for sent in 1..=SENDS_MAX {
        socket.send(&request).await.map_err(|error| failed("asked", error))?;
        let again = match sent {
            SENDS_MAX => until,
            _ => until.min(Instant::now() + RTO * 2_u32.pow(sent - 1)),
        };
        match timeout_at(again, listen(&socket, (server, id), &mut strays)).await {
            Ok(heard) => {
                let told = heard.map_err(|error| failed("heard", error))?;
                return told.map_err(|failure| Fault::Failed(format!("{server}: {failure}")));
            }
            Err(_) if until <= Instant::now() => return Err(Fault::Late),
            Err(_) => {}
        }
    }
    Err(Fault::Late)
}

/// Waits for the answer and passes over what is none, such as what came to the port before the socket was connected.
async fn listen(
    socket: &UdpSocket,
    (server, id): (SocketAddrV4, TransactionId),
    strays: &mut u32,
) -> io::Result<Result<PeerAddr, stun::Failure>> {
    // A byte more than a message has, so that a longer one is seen to be longer.
    let mut datagram = [0; MESSAGE_MAX + 1];
    while *strays > 0 {
        let (length, from) = socket.recv_from(&mut datagram).await?;
        let told = stun::told(&datagram[..length], id, (*server.ip()).into())
            .filter(|_| from == SocketAddr::V4(server));
        if let Some(told) = told {
            return Ok(told);
        }
        *strays -= 1;
    }
    Err(io::Error::other(format!("it sent {STRAYS_MAX} datagrams that are no answer")))
}
