//! Copying through the listener of a session over real sockets, beside `socat`, and beside a bare forwarder that calls
//! `tokio::io::copy_bidirectional` and counts nothing; `socat` is left out where it is not installed.
//!
//! Each carries 1 GiB one way, then 1 GiB each way at once, in turns, so that a machine that drifts does so for all; a
//! row is the median of its turns. Every forwarder is one thread, and who sends and who receives share the machine.

use std::{
    io::{self, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Instant,
};

use core::time::Duration;
use meshward_core::{
    agent::{Acted, Forward, Input, SessionFact, SessionOrder},
    ids::SessionId,
};
use meshward_shell::session::Sessions;
use tokio::{runtime, sync::mpsc};

/// What is carried each way.
const BYTES: usize = 1 << 30;
/// How much is read and written at once at the ends.
const PIECE: usize = 256 << 10;
/// How often all take turns.
const TURNS: usize = 7;
/// How long a forwarder may take to begin.
const PATIENCE: Duration = Duration::from_secs(10);

/// A way to the target.
struct Way {
    name: &'static str,
    place: SocketAddr,
    /// Killed when dropped.
    _program: Option<Program>,
}

struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A target that hands out each connection that comes.
fn target() -> (SocketAddr, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = listener.local_addr().expect("an address");
    let (put, taken) = channel();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            if put.send(stream).is_err() {
                break;
            }
        }
    });
    (place, taken)
}

/// Runs a forwarder on a thread and a runtime of its own, as the agent's is.
fn on_a_runtime<F: Future<Output = ()>>(
    work: impl FnOnce(std::sync::mpsc::Sender<SocketAddr>) -> F + Send + 'static,
) -> SocketAddr {
    let (told, heard) = channel();
    thread::spawn(move || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(work(told));
    });
    heard.recv().expect("an address")
}

fn session(target: SocketAddr) -> Way {
    let place = on_a_runtime(move |told| async move {
        let (facts, mut heard) = mpsc::channel(8);
        let mut sessions = Sessions::new(facts);
        let forward = Forward {
            listen: target.ip(),
            target_host: target.ip().to_string(),
            target_port: target.port(),
            connect_timeout: PATIENCE,
            idle: Some(Duration::from_secs(3600)),
        };
        sessions.begin(SessionId("s".into()), SessionOrder::Open(forward));
        while let Some(fact) = heard.recv().await {
            if let Input::Acted(Acted::Session(_, SessionFact::Opened { endpoint })) = fact {
                told.send(endpoint).expect("somebody waits");
            }
        }
    });
    Way { name: "session", place, _program: None }
}

fn bare(target: SocketAddr) -> Way {
    let place = on_a_runtime(move |told| async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        told.send(listener.local_addr().expect("an address")).expect("somebody waits");
        while let Ok((mut near, _)) = listener.accept().await {
            let mut far = tokio::net::TcpStream::connect(target).await.expect("a target");
            let _ended = tokio::io::copy_bidirectional(&mut near, &mut far).await;
        }
    });
    Way { name: "copy_bidirectional", place, _program: None }
}

/// `None` where it is not installed.
fn socat(name: &'static str, buffer: usize, target: SocketAddr) -> Option<Way> {
    let vacant = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = vacant.local_addr().expect("an address");
    drop(vacant);
    let listen = format!("TCP-LISTEN:{},bind={},fork,reuseaddr", place.port(), place.ip());
    let child = Command::new("socat")
        .args(["-b", &buffer.to_string(), &listen, &format!("TCP:{target}")])
        .stdin(Stdio::null())
        .spawn();
    Some(Way { name, place, _program: Some(Program(child.ok()?)) })
}

/// Connects as soon as somebody listens.
fn connect(place: SocketAddr) -> TcpStream {
    let begun = Instant::now();
    loop {
        match TcpStream::connect(place) {
            Ok(stream) => return stream,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "nobody listens: {error}"),
        }
        thread::park_timeout(Duration::from_millis(5));
    }
}

/// A connection that came through; a session takes one at a time, and closes whoever comes before the last is gone.
fn pair(way: &Way, taken: &Receiver<TcpStream>) -> (TcpStream, TcpStream) {
    let begun = Instant::now();
    loop {
        let near = connect(way.place);
        if let Ok(far) = taken.recv_timeout(Duration::from_millis(500)) {
            return (near, far);
        }
        assert!(begun.elapsed() < PATIENCE, "{} carries nothing", way.name);
    }
}

fn send(mut stream: TcpStream) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let piece = vec![7; PIECE];
        (0..BYTES / PIECE).for_each(|_| stream.write_all(&piece).expect("it is taken"));
        stream.shutdown(Shutdown::Write).expect("it is open");
    })
}

fn receive(mut stream: TcpStream) -> thread::JoinHandle<usize> {
    thread::spawn(move || {
        let (mut all, mut piece) = (0, vec![0; PIECE]);
        loop {
            match stream.read(&mut piece).expect("it is open") {
                0 => return all,
                read => all += read,
            }
        }
    })
}

/// How long it takes, from the first byte to the end at the other side.
fn carry(way: &Way, taken: &Receiver<TcpStream>, both: bool) -> Duration {
    let (near, far) = pair(way, taken);
    let clone = |stream: &TcpStream| stream.try_clone().expect("a descriptor");
    let begun = Instant::now();
    let mut ends = vec![(send(clone(&near)), receive(clone(&far)))];
    if both {
        ends.push((send(clone(&far)), receive(clone(&near))));
    }
    for (sending, receiving) in ends {
        sending.join().expect("it ends");
        assert_eq!(receiving.join().expect("it ends"), BYTES, "no bench measures a loss");
    }
    begun.elapsed()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let (place, taken) = target();
    let mut ways =
        vec![session(place), bare(place), Way { name: "no forwarder", place, _program: None }];
    match socat("socat", 8192, place) {
        Some(way) => {
            ways.push(way);
            ways.extend(socat("socat, 256 KiB", PIECE, place));
        }
        None => writeln!(out, "socat is not installed, and is left out")?,
    }
    for both in [false, true] {
        let mut took = vec![Vec::new(); ways.len()];
        for _ in 0..TURNS {
            for (way, took) in ways.iter().zip(&mut took) {
                took.push(carry(way, &taken, both).as_secs_f64());
            }
        }
        let own = took[0].clone();
        let carried = if both { 2 * BYTES } else { BYTES } as f64 / f64::from(1 << 20);
        writeln!(out, "1 GiB {}", if both { "each way at once" } else { "one way" })?;
        for (way, took) in ways.iter().zip(took) {
            let ratio = took.iter().zip(&own).map(|(other, own)| other / own).collect();
            let (ratio, rate) = (median(ratio), carried / median(took));
            writeln!(out, "  {:<20}{rate:>6.0} MiB/s  {ratio:.2} of the session's time", way.name)?;
        }
    }
    Ok(())
}
