//! An operator that vanishes without a word, as its network goes down: the system finds out, and the session takes the
//! next one.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    os::fd::AsFd as _,
    process::Command,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use meshward_core::agent::Forward;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tokio::sync::oneshot;

use crate::{
    nat_real::run,
    node::PATIENCE,
    session_wire::{Line, come, forward, target},
};

const HERE: Ipv4Addr = Ipv4Addr::new(10, 78, 1, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 78, 1, 2);

/// Twice what the system takes at most: a minute and a half.
const FOUND_OUT: Duration = Duration::from_secs(180);

static NETWORKS: AtomicUsize = AtomicUsize::new(0);

/// Two namespaces with a link between them, removed at the end.
struct Network(String);

impl Network {
    fn new() -> Self {
        let number = NETWORKS.fetch_add(1, Ordering::Relaxed);
        let network = Self(format!("mws-{}-{number}", std::process::id()));
        let [here, there] = ["here", "there"].map(|part| network.part(part));
        for part in [&here, &there] {
            run(&format!("ip netns add {part}"));
            run(&format!("ip -n {part} link set lo up"));
        }
        run(&format!("ip link add wire netns {here} type veth peer name wire netns {there}"));
        for (part, address) in [(&here, HERE), (&there, THERE)] {
            run(&format!("ip -n {part} addr add {address}/24 dev wire"));
            run(&format!("ip -n {part} link set wire up"));
        }
        network
    }

    fn part(&self, part: &str) -> String {
        format!("{}-{part}", self.0)
    }

    fn link(&self, state: &str) {
        run(&format!("ip -n {} link set wire {state}", self.part("there")));
    }

    /// A thread with the sockets of that part.
    fn inside<T: Send + 'static>(
        &self,
        part: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let place = File::open(format!("/run/netns/{}", self.part(part))).unwrap();
        thread::spawn(move || {
            move_into_link_name_space(place.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            work()
        })
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for part in ["here", "there"] {
            let _gone = Command::new("ip").args(["netns", "del", &self.part(part)]).status();
        }
    }
}

/// The target hears the end of the connection in time, and the next operator is served.
fn ends_for_an_operator_that_is_gone(then: impl FnOnce(&mut TcpStream)) {
    let network = Network::new();
    let (told, opened) = mpsc::channel();
    let (_stop, stopped) = oneshot::channel::<()>();
    network.inside("here", move || {
        let (place, taken) = target();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let line = Line::open(Forward { listen: HERE.into(), ..forward(place) }).await;
            told.send((line.endpoint, taken)).unwrap();
            // A dropped sender ends it just as a word does.
            let _ = stopped.await;
        });
    });
    let (endpoint, taken) = opened.recv_timeout(PATIENCE).unwrap();
    let says = move || {
        let mut operator = TcpStream::connect(endpoint).unwrap();
        operator.write_all(b"hello").unwrap();
        operator
    };
    let _operator = network.inside("there", says).join().unwrap();
    let mut far = come(&taken);
    far.read_exact(&mut [0; 5]).unwrap();
    far.set_read_timeout(Some(FOUND_OUT)).unwrap();
    network.link("down");
    then(&mut far);
    assert_eq!(far.read(&mut [0]).unwrap(), 0, "the connection has ended");
    network.link("up");
    let _next = network.inside("there", says).join().unwrap();
    come(&taken).read_exact(&mut [0; 5]).unwrap();
}

#[test]
fn an_operator_that_is_gone_while_all_is_silent_makes_room_for_the_next() {
    ends_for_an_operator_that_is_gone(|_| {});
}

#[test]
fn an_operator_that_is_gone_while_the_target_speaks_makes_room_for_the_next() {
    ends_for_an_operator_that_is_gone(|far| far.write_all(b"are you there").unwrap());
}
