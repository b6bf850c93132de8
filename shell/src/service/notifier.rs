//! The way to the service manager: datagrams to the socket that it has named.

use std::{
    io,
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixDatagram},
    },
    sync::Arc,
    time::Duration,
};

use meshward_core::agent::service::{Address, RELOADED, address, reloading};
use rustix::time::{ClockId, clock_gettime};

/// Tells the service manager; one without an address tells nobody.
#[derive(Clone, Debug, Default)]
pub struct Notifier(Option<Arc<Way>>);

#[derive(Debug)]
struct Way {
    socket: UnixDatagram,
    to: SocketAddr,
}

impl Notifier {
    /// The one to this address, as `NOTIFY_SOCKET` has it; an empty one leads to nobody.
    pub fn to(text: &str) -> io::Result<Self> {
        let to = match address(text).map_err(io::Error::other)? {
            None => return Ok(Self(None)),
            Some(Address::Path(path)) => SocketAddr::from_pathname(path)?,
            Some(Address::Abstract(name)) => SocketAddr::from_abstract_name(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        // A service manager that hangs must not hold up the loop.
        socket.set_nonblocking(true)?;
        Ok(Self(Some(Arc::new(Way { socket, to }))))
    }

    /// Whether anybody is told.
    pub const fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    /// Tells this, at once or not at all.
    pub fn tell(&self, text: &str) -> io::Result<()> {
        match &self.0 {
            None => Ok(()),
            Some(way) => way.socket.send_to_addr(text.as_bytes(), &way.to).map(drop),
        }
    }

    /// Tells that a reload begins.
    pub fn reloading(&self) -> io::Result<()> {
        let read = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(read.tv_sec).unwrap_or_default();
        let nanos = u32::try_from(read.tv_nsec).unwrap_or_default();
        self.tell(&reloading(Duration::new(seconds, nanos)))
    }

    /// Tells that a reload is done, whether or not it changed anything.
    pub fn reloaded(&self) -> io::Result<()> {
        self.tell(RELOADED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(at: &SocketAddr) -> UnixDatagram {
        let socket = UnixDatagram::bind_addr(at).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket
    }

    fn heard(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 256];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    #[test]
    fn a_socket_is_reached_by_its_path_and_by_its_abstract_name() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("notify");
        let at = receiver(&SocketAddr::from_pathname(&path).unwrap());
        Notifier::to(path.to_str().unwrap()).unwrap().tell("READY=1").unwrap();
        assert_eq!(heard(&at), "READY=1");
        let name = format!("meshward-{}-{}", std::process::id(), path.display());
        let at = receiver(&SocketAddr::from_abstract_name(&name).unwrap());
        Notifier::to(&format!("@{name}")).unwrap().tell("STATUS=é").unwrap();
        assert_eq!(heard(&at), "STATUS=é");
    }

    #[test]
    fn a_reload_is_told_with_the_time_at_which_it_begins_and_its_end() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("notify");
        let at = receiver(&SocketAddr::from_pathname(&path).unwrap());
        let notifier = Notifier::to(path.to_str().unwrap()).unwrap();
        notifier.reloading().unwrap();
        let told = heard(&at);
        let time = told.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
        assert!(time.parse::<u64>().unwrap() > 0);
        notifier.reloaded().unwrap();
        assert_eq!(heard(&at), "READY=1");
    }

    #[test]
    fn nobody_is_told_without_an_address_and_what_cannot_be_told_is_an_error_at_once() {
        let nobody = Notifier::to("").unwrap();
        assert!(!nobody.is_heard());
        nobody.tell("READY=1").unwrap();
        assert!(Notifier::to("run/notify").is_err());
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("notify");
        let notifier = Notifier::to(path.to_str().unwrap()).unwrap();
        assert!(notifier.tell("READY=1").is_err(), "nobody is there");
        let _at = receiver(&SocketAddr::from_pathname(&path).unwrap());
        let taken = (0..100_000).take_while(|_| notifier.tell("WATCHDOG=1").is_ok()).count();
        assert!(taken < 100_000, "a full socket takes no more, and holds up nobody");
    }
}
