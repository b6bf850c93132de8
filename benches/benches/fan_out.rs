//! One event to many clients over real sockets: the running fixture beside a raw sender, which writes the same bytes to
//! as many sockets and does nothing else.
//!
//! One event is outstanding: the next one is sent when each client has the last. Measured is the time that the sender's
//! own thread was on a core, so that what the clients take, which share the machine, is in neither column. The two take
//! turns, and the ratio is the median of those of all turns, since a shared machine drifts. Needs Linux.

use std::{
    fs,
    io::{self, ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    sync::mpsc,
    thread,
};

use core::time::Duration;
use meshward_core::{
    plane::site,
    wire::{
        bearer::Credential,
        call::{Call, Test},
    },
};
use meshward_fixture::{Fixture, Options};
use tokio::{io::AsyncReadExt as _, net::TcpListener, runtime};

/// What is asked of the raw sender to get on the list of those that it sends to.
const LISTEN: &[u8] = b"listen";

/// A sender on a thread and a runtime of its own.
struct Sender {
    addr: SocketAddr,
    /// Where the kernel tells how long its thread ran.
    ran: PathBuf,
}

impl Sender {
    fn spawn<F: Future<Output = ()>>(
        work: impl FnOnce(mpsc::Sender<SocketAddr>) -> F + Send + 'static,
    ) -> Self {
        let (told, heard) = mpsc::channel();
        let (told_thread, heard_thread) = mpsc::channel();
        thread::spawn(move || {
            let thread = fs::read_link("/proc/thread-self").expect("a thread has a name");
            told_thread.send(thread).expect("somebody waits");
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(work(told));
        });
        let thread = heard_thread.recv().expect("a thread");
        let ran = PathBuf::from("/proc").join(thread).join("schedstat");
        Self { addr: heard.recv().expect("an address"), ran }
    }

    fn fixture() -> Self {
        Self::spawn(|told| async move {
            let running = Fixture::start(Options::default()).await.expect("a fixture");
            told.send(running.addr()).expect("somebody waits");
            core::future::pending::<()>().await;
        })
    }

    /// Puts those that ask to listen on a list, and sends `chunk` to all of them for each other request.
    fn raw(chunk: Vec<u8>) -> Self {
        Self::spawn(|told| async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            told.send(listener.local_addr().expect("an address")).expect("somebody waits");
            let mut listening = Vec::new();
            let mut request = [0; 4096];
            loop {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                stream.set_nodelay(true).expect("an option");
                let length = stream.read(&mut request).await.expect("a request");
                if &request[..length] == LISTEN {
                    listening.push(stream);
                    continue;
                }
                broadcast(&listening, &chunk);
                answer(&stream);
                while stream.read(&mut request).await.is_ok_and(|length| length > 0) {
                    broadcast(&listening, &chunk);
                    answer(&stream);
                }
            }
        })
    }

    /// How long its thread was on a core until now; it sleeps when each client has what was sent.
    fn ran(&self) -> Duration {
        let text = fs::read_to_string(&self.ran).expect("the thread runs");
        let nanos = text.split(' ').next().and_then(|first| first.parse().ok());
        Duration::from_nanos(nanos.expect("a number"))
    }
}

/// One event is smaller than the buffer of a socket, and the last one was taken.
fn broadcast(listening: &[tokio::net::TcpStream], chunk: &[u8]) {
    for stream in listening {
        assert_eq!(stream.try_write(chunk).expect("it is taken"), chunk.len());
    }
}

fn answer(stream: &tokio::net::TcpStream) {
    stream.try_write(b"HTTP/1.1 204 No Content\r\n\r\n").expect("it is taken");
}

/// One sender, its open clients, and the connection by which it is told to send.
struct Crowd {
    sender: Sender,
    clients: Vec<TcpStream>,
    control: TcpStream,
    order: Vec<u8>,
    /// Of one event, as it comes.
    chunk: Vec<u8>,
}

impl Crowd {
    fn of(size: u32, sender: Sender, hello: &[u8], order: &[u8]) -> Self {
        let clients = (0..size).map(|_| {
            let mut client = connect(sender.addr);
            client.write_all(hello).expect("it is taken");
            client
        });
        let clients = clients.collect();
        let control = connect(sender.addr);
        Self { sender, clients, control, order: order.to_vec(), chunk: Vec::new() }
    }

    /// Waits for the head that each stream of the fixture begins with.
    fn skip_heads(&mut self) {
        for client in &mut self.clients {
            let head = until(client, b"\r\n\r\n");
            assert!(head.starts_with(b"HTTP/1.1 200"), "no stream was opened");
        }
    }

    /// How long the sender ran for one of so many events.
    fn turn(&mut self, rounds: u32) -> Duration {
        let before = self.sender.ran();
        (0..rounds).for_each(|_| self.round());
        (self.sender.ran() - before) / rounds
    }

    /// Has one event sent, and returns when each client has it.
    fn round(&mut self) {
        self.control.write_all(&self.order).expect("it is taken");
        for client in &mut self.clients {
            self.chunk = until(client, b"\n\n\r\n");
        }
        let answer = until(&mut self.control, b"\r\n\r\n");
        assert!(answer.starts_with(b"HTTP/1.1 204"), "no bench measures a refusal");
    }
}

fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).expect("a connection");
    stream.set_nodelay(true).expect("an option");
    stream
}

/// What comes until this end, which is the end of what comes.
fn until(stream: &mut TcpStream, end: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut bytes = [0; 4096];
    while !all.ends_with(end) {
        match stream.read(&mut bytes) {
            Ok(0) => panic!("the sender is gone"),
            Ok(length) => all.extend_from_slice(&bytes[..length]),
            Err(fault) => assert_eq!(fault.kind(), ErrorKind::Interrupted, "{fault}"),
        }
    }
    all
}

fn subscription() -> Vec<u8> {
    let call = Call::Events { node: site::NODE_ID.to_owned() };
    let served = Credential { node: site::NODE_UUID, key: site::node_secret_key() };
    let bearer = served.envelope(site::BEARER_ENV).expose().clone();
    let path = call.path();
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {bearer}\r\n\r\n")
        .into_bytes()
}

fn injection() -> Vec<u8> {
    let path = Call::Test(Test::InjectEvent).path();
    let payload = "x".repeat(256);
    let body = format!(r#"{{"id":"e","type":"policy_updated","payload":"{payload}"}}"#);
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// A crowd of the fixture, and one of a raw sender that sends what the fixture was seen to send.
fn crowds(size: u32) -> (Crowd, Crowd) {
    let mut fixture = Crowd::of(size, Sender::fixture(), &subscription(), &injection());
    fixture.skip_heads();
    fixture.round();
    let raw = Sender::raw(fixture.chunk.clone());
    (fixture, Crowd::of(size, raw, LISTEN, &injection()))
}

fn median<T: Copy + PartialOrd>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_by(|one, other| one.partial_cmp(other).expect("times are numbers"));
    values[values.len() / 2]
}

/// How often the two take turns, and how many events one sends in its turn: many where one takes little.
const TURNS: usize = 21;
const DELIVERIES: u32 = 20_000;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "clients  raw sender     fixture  ratio   time of the sender for one event")?;
    for size in [1, 100, 1000] {
        let (mut fixture, mut raw) = crowds(size);
        let rounds = (DELIVERIES / size).min(2000);
        let turns: Vec<(Duration, Duration)> =
            (0..TURNS).map(|_| (raw.turn(rounds), fixture.turn(rounds))).collect();
        let ratio = median(turns.iter().map(|(raw, own)| own.as_secs_f64() / raw.as_secs_f64()));
        let (bare, own) = (median(turns.iter().map(|t| t.0)), median(turns.iter().map(|t| t.1)));
        writeln!(out, "{size:7}  {bare:>10.1?}  {own:>10.1?}  {ratio:5.2}")?;
    }
    Ok(())
}
