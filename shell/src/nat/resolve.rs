//! From the name of a server to its address, within a time, whatever the resolver of the system does.

use std::{
    net::{SocketAddr, SocketAddrV4, ToSocketAddrs as _},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

/// How many names may be looked up at once by this process; a resolver that hangs holds a thread for each.
const LOOKUPS_MAX: usize = 16;

static LOOKUPS: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
pub(super) enum Fault {
    Late,
    Failed(String),
}

/// A place among the lookups, given back on drop.
struct Place;

impl Place {
    fn take() -> Option<Self> {
        let taken = LOOKUPS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
            (count < LOOKUPS_MAX).then_some(count + 1)
        });
        // Made only when it is taken: dropping one gives the place back.
        taken.is_ok().then(|| Self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        LOOKUPS.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The first IPv4 address of `host:port`.
pub(super) async fn resolve(server: String, until: Instant) -> Result<SocketAddrV4, Fault> {
    if let Ok(addr) = server.parse() {
        return first([addr]);
    }
    let hangs = || Fault::Failed("the resolver of this system hangs".to_owned());
    let place = Place::take().ok_or_else(hangs)?;
    let (done, found) = oneshot::channel();
    // Not a thread of the runtime, which would wait for it when it ends.
    let begun = thread::Builder::new().name("resolve".to_owned()).spawn(move || {
        let found = server.to_socket_addrs().map(Vec::from_iter);
        drop(place);
        // The receiver has gone if the time is over.
        drop(done.send(found));
    });
    begun.map_err(|error| Fault::Failed(format!("no thread to look its name up: {error}")))?;
    match timeout_at(until, found).await {
        Ok(Ok(Ok(found))) => first(found),
        Ok(Ok(Err(error))) => Err(Fault::Failed(format!("its name is not resolved: {error}"))),
        Ok(Err(_)) => Err(Fault::Failed("the resolver of this system broke".to_owned())),
        Err(_) => Err(Fault::Late),
    }
}

fn first(found: impl IntoIterator<Item = SocketAddr>) -> Result<SocketAddrV4, Fault> {
    let mut ipv4 = found.into_iter().filter_map(|addr| match addr {
        SocketAddr::V4(addr) => Some(addr),
        SocketAddr::V6(_) => None,
    });
    let none = || Fault::Failed("it has no IPv4 address, and is asked over IPv4 only".to_owned());
    ipv4.next().ok_or_else(none)
}
