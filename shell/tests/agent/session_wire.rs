//! The listener of a session over real sockets: every byte is carried and counted, whatever either side does.

use std::{
    io::{self, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        OnceLock,
        mpsc::{Receiver, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use meshward_core::{
    agent::{Acted, Carried, Forward, Input, SessionFact, SessionOrder},
    ids::SessionId,
};
use meshward_shell::session::Sessions;
use tokio::{sync::mpsc, time::timeout};

use crate::node::PATIENCE;

/// How much is carried each way, in MiB; more by the environment variable `MESHWARD_SESSION_MIB`.
const MIB: usize = 64;
const PIECE: usize = 256 << 10;

fn bytes_each_way() -> usize {
    let mib = std::env::var("MESHWARD_SESSION_MIB").ok().and_then(|text| text.parse().ok());
    mib.unwrap_or(MIB) << 20
}

/// A session by itself, without an agent.
pub(crate) struct Line {
    sessions: Sessions,
    facts: mpsc::Receiver<Input>,
    pub(crate) endpoint: SocketAddr,
}

fn id() -> SessionId {
    SessionId("s".into())
}

pub(crate) fn forward(target: SocketAddr) -> Forward {
    Forward {
        listen: [127, 0, 0, 1].into(),
        target_host: target.ip().to_string(),
        target_port: target.port(),
        connect_timeout: Duration::from_secs(10),
        idle: None,
    }
}

impl Line {
    pub(crate) async fn open(forward: Forward) -> Self {
        let (told, facts) = mpsc::channel(8);
        let sessions = Sessions::new(told);
        let mut line = Self { sessions, facts, endpoint: ([0, 0, 0, 0], 0).into() };
        line.sessions.begin(id(), SessionOrder::Open(forward));
        let fact = line.fact().await;
        let SessionFact::Opened { endpoint } = fact else { panic!("{fact:?}") };
        line.endpoint = endpoint;
        line
    }

    async fn fact(&mut self) -> SessionFact {
        let input = timeout(PATIENCE, self.facts.recv()).await.unwrap().unwrap();
        let Input::Acted(Acted::Session(session, fact)) = input else { panic!("{input:?}") };
        assert_eq!(session, id());
        fact
    }

    fn connect(&self) -> TcpStream {
        patient(TcpStream::connect(self.endpoint).unwrap())
    }

    /// A connection that is carried. While the one before is still on its way to its end, whoever comes is closed.
    fn pair(&self, taken: &Receiver<TcpStream>) -> (TcpStream, TcpStream) {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "no further connection is taken");
            let operator = self.connect();
            if let Ok(far) = taken.recv_timeout(Duration::from_millis(200)) {
                return (operator, far);
            }
        }
    }

    async fn close(&mut self, within: Duration) -> Carried {
        self.sessions.begin(id(), SessionOrder::Close { within });
        let fact = self.fact().await;
        let SessionFact::Closed(carried) = fact else { panic!("{fact:?}") };
        carried
    }
}

/// A socket on which nothing waits for ever.
fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A target that hands out each connection that comes.
pub(crate) fn target() -> (SocketAddr, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let (put, taken) = channel();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            if put.send(patient(stream)).is_err() {
                break;
            }
        }
    });
    (place, taken)
}

pub(crate) fn come(taken: &Receiver<TcpStream>) -> TcpStream {
    taken.recv_timeout(PATIENCE).unwrap()
}

/// Of a length that no buffer has a multiple of, so that nothing is swapped, left out or doubled unseen.
const PERIOD: usize = 1_000_003;

/// What stands at a place of a stream.
fn content(at: usize, length: usize, seed: usize) -> &'static [u8] {
    static ALL: OnceLock<Vec<u8>> = OnceLock::new();
    let byte = |at: usize| ((at % PERIOD).wrapping_mul(2_654_435_761) >> 13) as u8;
    let all = ALL.get_or_init(|| (0..PERIOD + PIECE).map(byte).collect());
    let start = (at + seed) % PERIOD;
    &all[start..start + length]
}

/// Sends so many bytes on a thread of its own, then ends the direction.
fn send(stream: &TcpStream, length: usize, seed: usize) -> JoinHandle<()> {
    let mut stream = stream.try_clone().unwrap();
    thread::spawn(move || {
        let mut at = 0;
        while at < length {
            let end = length.min(at + PIECE);
            stream.write_all(content(at, end - at, seed)).unwrap();
            at = end;
        }
        stream.shutdown(Shutdown::Write).unwrap();
    })
}

/// Reads to the end, on a thread of its own; tells how many bytes came.
fn receive(stream: &TcpStream, seed: usize) -> JoinHandle<usize> {
    let mut stream = stream.try_clone().unwrap();
    thread::spawn(move || {
        let (mut at, mut piece) = (0, vec![0; PIECE]);
        loop {
            let read = stream.read(&mut piece).unwrap();
            if read == 0 {
                return at;
            }
            let sound = piece[..read] == *content(at, read, seed);
            assert!(sound, "another byte within {read} from {at} on");
            at += read;
        }
    })
}

/// Ends a connection with a reset.
fn reset(stream: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    drop(stream);
}

/// Whether the other side has ended the connection, orderly or not.
fn is_ended(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[expect(clippy::print_stderr, reason = "the figures are read by a person")]
async fn a_session_carries_much_both_ways_at_once_and_counts_every_byte() {
    let (place, taken) = target();
    let mut line = Line::open(forward(place)).await;
    let (into, out) = (bytes_each_way(), bytes_each_way() - 1);
    let operator = line.connect();
    let far = come(&taken);
    let begun = Instant::now();
    let sending = [send(&operator, into, 1), send(&far, out, 2)];
    let receiving = [receive(&far, 1), receive(&operator, 2)];
    sending.into_iter().for_each(|thread| thread.join().unwrap());
    let came = receiving.map(|thread| thread.join().unwrap());
    assert_eq!(came, [into, out]);
    let carried = line.close(Duration::from_secs(2)).await;
    assert_eq!(carried, Carried { bytes_in: into as u64, bytes_out: out as u64 });
    let mib = (into + out) as f64 / f64::from(1 << 20);
    eprintln!("{mib:.0} MiB in {:.2} s", begun.elapsed().as_secs_f64());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_side_that_has_said_all_still_hears_the_other() {
    let (place, taken) = target();
    let mut line = Line::open(forward(place)).await;
    for operator_first in [true, false] {
        let (operator, far) = line.pair(&taken);
        let (first, second) = if operator_first { (&operator, &far) } else { (&far, &operator) };
        send(first, 1000, 1).join().unwrap();
        assert_eq!(receive(second, 1).join().unwrap(), 1000, "and the end came with it");
        send(second, PIECE * 3, 2).join().unwrap();
        assert_eq!(receive(first, 2).join().unwrap(), PIECE * 3);
    }
    let both = (1000 + PIECE * 3) as u64;
    let carried = line.close(Duration::from_secs(2)).await;
    assert_eq!(carried, Carried { bytes_in: both, bytes_out: both });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_second_connection_is_closed_at_once_and_the_next_one_after_the_first_is_taken() {
    let (place, taken) = target();
    let mut line = Line::open(forward(place)).await;
    let mut first = line.connect();
    let mut far = come(&taken);
    for _ in 0..3 {
        assert!(is_ended(&mut line.connect()));
    }
    first.write_all(b"still there").unwrap();
    far.read_exact(&mut [0; 11]).unwrap();
    drop(first);
    assert!(is_ended(&mut far));
    drop(far);
    let (mut next, mut far) = line.pair(&taken);
    next.write_all(b"x").unwrap();
    far.read_exact(&mut [0; 1]).unwrap();
    assert!(taken.try_recv().is_err(), "no other came through");
    let carried = line.close(Duration::from_secs(2)).await;
    assert_eq!(carried, Carried { bytes_in: 12, bytes_out: 0 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_reset_by_either_side_ends_the_connection_and_keeps_the_counts() {
    let (place, taken) = target();
    let mut line = Line::open(forward(place)).await;
    let mut expected = Carried::default();
    for operator_resets in [true, false, true] {
        let (mut operator, mut far) = line.pair(&taken);
        operator.write_all(&[7; 70_000]).unwrap();
        far.read_exact(&mut vec![0; 70_000]).unwrap();
        far.write_all(&[7; 30_000]).unwrap();
        operator.read_exact(&mut vec![0; 30_000]).unwrap();
        expected.bytes_in += 70_000;
        expected.bytes_out += 30_000;
        let (gone, mut left) = if operator_resets { (operator, far) } else { (far, operator) };
        reset(gone);
        assert!(is_ended(&mut left), "{operator_resets}");
    }
    assert_eq!(line.close(Duration::from_secs(2)).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_target_sent_before_it_was_gone_arrives() {
    let (place, taken) = target();
    let mut line = Line::open(forward(place)).await;
    let operator = line.connect();
    let mut far = come(&taken);
    far.write_all(b"a").unwrap();
    send(&far, 200_000, 3).join().unwrap();
    // It reads nothing of what has come, and is closed with that unread.
    let mut writing = operator.try_clone().unwrap();
    writing.write_all(b"unread").unwrap();
    let mut first = [9; 1];
    (&operator).read_exact(&mut first).unwrap();
    assert_eq!(first, *b"a");
    assert_eq!(receive(&operator, 3).join().unwrap(), 200_000);
    while far.peek(&mut [0; 6]).unwrap() < 6 {}
    drop(far);
    let carried = line.close(Duration::from_secs(2)).await;
    assert_eq!(carried, Carried { bytes_in: 6, bytes_out: 200_001 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_close_ends_copies_that_are_stuck_in_time_with_counts_that_are_final() {
    let (place, taken) = target();
    let mut line = Line::open(forward(place)).await;
    let operator = line.connect();
    let far = come(&taken);
    // Nobody reads at the target, until every buffer on the way is full.
    operator.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let (mut at, mut writing) = (0, operator.try_clone().unwrap());
    loop {
        match writing.write(content(at, PIECE, 4)) {
            Ok(taken) => at += taken,
            Err(error) => break assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
    }
    let begun = Instant::now();
    let carried = line.close(Duration::from_secs(2)).await;
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    assert!(carried.bytes_in > 0 && carried.bytes_in <= at as u64, "{carried:?} of {at}");
    let mut operator = operator;
    assert!(is_ended(&mut operator));
    assert_eq!(receive(&far, 4).join().unwrap() as u64, carried.bytes_in, "all that was counted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn silence_is_told_once_and_bytes_of_either_direction_postpone_it() {
    let (place, taken) = target();
    let window = Duration::from_secs(1);
    let mut line = Line::open(Forward { idle: Some(window), ..forward(place) }).await;
    let mut operator = line.connect();
    let mut far = come(&taken);
    let begun = Instant::now();
    let (mut last, mut widest) = (begun, Duration::ZERO);
    let mut beat = tokio::time::interval(Duration::from_millis(100));
    while begun.elapsed() < window * 2 {
        beat.tick().await;
        let (from, to) = match begun.elapsed().as_millis() / 100 % 2 {
            0 => (&mut operator, &mut far),
            _ => (&mut far, &mut operator),
        };
        from.write_all(b"x").unwrap();
        to.read_exact(&mut [0; 1]).unwrap();
        widest = widest.max(last.elapsed());
        last = Instant::now();
    }
    assert_eq!(line.fact().await, SessionFact::Idle);
    // Where this machine stood still between two bytes, it was told then, and rightly.
    let near = window - Duration::from_millis(100);
    assert!(last.elapsed() >= near || widest >= near, "{:?} {widest:?}", last.elapsed());
    assert!(timeout(window * 2, line.facts.recv()).await.is_err(), "once");
    operator.write_all(b"x").unwrap();
    far.read_exact(&mut [0; 1]).unwrap();
    line.close(Duration::from_secs(2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_listener_that_cannot_be_opened_is_told_with_its_reason_and_nothing_more() {
    let (told, mut facts) = mpsc::channel(8);
    let mut sessions = Sessions::new(told);
    // An address that is for documents, and that no machine has.
    let forward = Forward { listen: [192, 0, 2, 1].into(), ..forward(([127, 0, 0, 1], 1).into()) };
    sessions.begin(id(), SessionOrder::Open(forward));
    let fact = timeout(PATIENCE, facts.recv()).await.unwrap().unwrap();
    let told = matches!(&fact, Input::Acted(Acted::Session(_, SessionFact::Refused { reason }))
        if !reason.is_empty());
    assert!(told, "{fact:?}");
    drop(sessions);
    assert_eq!(timeout(PATIENCE, facts.recv()).await, Ok(None), "nothing more comes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_target_that_is_not_there_ends_the_connection_and_not_the_session() {
    let vacant = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = vacant.local_addr().unwrap();
    drop(vacant);
    let mut line = Line::open(forward(place)).await;
    assert!(is_ended(&mut line.connect()));
    assert!(is_ended(&mut line.connect()));
    assert_eq!(line.close(Duration::from_secs(2)).await, Carried::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn whoever_lets_go_of_the_sessions_ends_them_all() {
    let (place, taken) = target();
    let line = Line::open(forward(place)).await;
    let mut operator = line.connect();
    let mut far = come(&taken);
    let endpoint = line.endpoint;
    drop(line);
    assert!(is_ended(&mut operator) && is_ended(&mut far));
    let begun = Instant::now();
    while TcpStream::connect(endpoint).is_ok() {
        assert!(begun.elapsed() < PATIENCE, "it still listens");
        thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_operator_that_breaks_off_while_the_target_takes_no_more_makes_room_for_the_next() {
    let (place, taken) = target();
    let mut line = Line::open(forward(place)).await;
    let (operator, stuffed) = line.pair(&taken);
    operator.set_nonblocking(true).unwrap();
    // Until nothing more fits between it and the target, which reads nothing.
    let mut piece = operator.try_clone().unwrap();
    let mut full = 0;
    while full < 20 {
        match piece.write(&[7; PIECE]) {
            Ok(_) => full = 0,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                full += 1;
                thread::park_timeout(Duration::from_millis(10));
            }
            Err(error) => panic!("{error}"),
        }
    }
    // Closed with bytes that were not sent, and at once.
    rustix::net::sockopt::set_socket_linger(&operator, Some(Duration::ZERO)).unwrap();
    drop((piece, operator));
    let (_next, _far) = line.pair(&taken);
    drop(stuffed);
    line.close(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_operator_that_breaks_off_before_the_target_answers_makes_room_for_the_next() {
    // Whoever comes when the queue is full is neither let in nor refused.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = listener.local_addr().unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let mut queue = Vec::new();
    while let Ok(waiting) = TcpStream::connect_timeout(&silent, Duration::from_secs(1)) {
        queue.push(waiting);
    }
    let mut line = Line::open(Forward { connect_timeout: PATIENCE * 4, ..forward(silent) }).await;
    let first = line.connect();
    rustix::net::sockopt::set_socket_linger(&first, Some(Duration::ZERO)).unwrap();
    drop(first);
    // The next one is let in, which shows by its not being closed at once.
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < PATIENCE, "no further connection is taken");
        let next = line.connect();
        next.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        match (&next).read(&mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Ok(_) | Err(_) => {}
        }
    }
    line.close(Duration::ZERO).await;
}
