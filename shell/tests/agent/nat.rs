//! How the agent is seen from outside, with STUN servers that this test is, and the report of it at a real fixture.

use std::{
    net::{SocketAddr, UdpSocket},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use meshward_core::{
    agent::{Discovery, Seen},
    wire::stun::{Attribute, Class, ErrorCode, Message, TransactionId},
};
use meshward_shell::nat::discover;
use serde_json::{Value, json};

use crate::node::{Node, counter, fixture, get, post, until};

const HERE: &str = "198.51.100.7:40000";
const THERE: &str = "198.51.100.7:40001";

/// What a server does with a request: datagrams for the asker, and whether they come from another address than was asked.
type Manner = Box<dyn Fn(&Message, usize) -> Vec<Vec<u8>> + Send>;

/// A STUN server on loopback, as long as the test lives.
struct Server {
    addr: SocketAddr,
    asked: Arc<AtomicUsize>,
    from: Arc<Mutex<Vec<SocketAddr>>>,
    stop: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

impl Server {
    fn start(manner: Manner) -> Self {
        Self::answering_from(manner, None)
    }

    /// Its answers come from `other`, where there is one.
    fn answering_from(manner: Manner, other: Option<UdpSocket>) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let addr = socket.local_addr().unwrap();
        let (asked, from) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let stop = Arc::new(AtomicBool::new(false));
        let (count, seen, stopped) = (Arc::clone(&asked), Arc::clone(&from), Arc::clone(&stop));
        let serving = thread::spawn(move || {
            let mut datagram = [0; 2048];
            while !stopped.load(Ordering::Acquire) {
                let Ok((length, asker)) = socket.recv_from(&mut datagram) else { continue };
                let request =
                    Message::decode(&datagram[..length]).expect("the agent asks in order");
                assert_eq!((request.class, length), (Class::Request, 20));
                let number = count.fetch_add(1, Ordering::AcqRel) + 1;
                seen.lock().unwrap().push(asker);
                for answer in manner(&request, number) {
                    let sent = other.as_ref().unwrap_or(&socket).send_to(&answer, asker);
                    assert!(sent.is_ok(), "{sent:?}");
                }
            }
        });
        Self { addr, asked, from, stop, serving: Some(serving) }
    }

    /// One that sees every asker there.
    fn seeing(mapped: &'static str) -> Self {
        Self::start(Box::new(move |request, _| vec![answer(request, mapped)]))
    }

    fn silent() -> Self {
        Self::start(Box::new(|_, _| Vec::new()))
    }

    fn name(&self) -> String {
        self.addr.to_string()
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Acquire)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let ended = self.serving.take().map(JoinHandle::join);
        if !thread::panicking() {
            assert!(matches!(ended, Some(Ok(()))), "the server broke");
        }
    }
}

fn success(request: &Message, attributes: Vec<Attribute>) -> Vec<u8> {
    Message { class: Class::Success, id: request.id, attributes, fingerprint: true }.encode()
}

fn answer(request: &Message, mapped: &str) -> Vec<u8> {
    success(request, vec![Attribute::XorMappedAddress(mapped.parse().unwrap())])
}

/// From which all of these tests ask, which is what sharing a port means; none that the system gives away by itself.
const PORT: u16 = 20_518;

fn discovery(servers: Vec<String>, timeout: Duration) -> Discovery {
    Discovery { round: 1, port: PORT, servers, timeout }
}

const PATIENT: Duration = Duration::from_secs(30);
const BRIEF: Duration = Duration::from_millis(700);

/// What each server tells, the address alone of an answer.
async fn asked(servers: Vec<String>, timeout: Duration) -> Vec<Result<String, String>> {
    let answers = discover(discovery(servers, timeout)).await.unwrap();
    answers.into_iter().map(|answer| answer.map(|seen: Seen| seen.mapped.to_string())).collect()
}

async fn one(server: &Server, timeout: Duration) -> Result<String, String> {
    asked(vec![server.name()], timeout).await.remove(0)
}

#[tokio::test]
async fn every_server_is_asked_from_the_one_port_and_each_answer_is_its_own() {
    let (one, two) = (Server::seeing(HERE), Server::seeing(THERE));
    let answers = discover(discovery(vec![one.name(), two.name()], PATIENT)).await.unwrap();
    let seen = |answer: &Result<Seen, String>| {
        let seen = answer.as_ref().unwrap();
        (seen.server.to_string(), seen.mapped.to_string())
    };
    assert_eq!(seen(&answers[0]), (one.name(), HERE.into()));
    assert_eq!(seen(&answers[1]), (two.name(), THERE.into()));
    for server in [&one, &two] {
        let askers = server.from.lock().unwrap().clone();
        assert!(askers.iter().all(|asker| asker.port() == PORT), "{askers:?}");
    }
}

#[tokio::test]
async fn a_request_that_is_lost_is_repeated_and_its_late_answer_counts() {
    let server = Server::start(Box::new(|request, number| match number {
        1 => Vec::new(),
        _ => vec![answer(request, HERE)],
    }));
    assert_eq!(one(&server, PATIENT).await, Ok(HERE.into()));
    assert_eq!(server.asked(), 2);
}

#[tokio::test]
async fn a_silent_server_is_asked_again_within_its_time_and_delays_no_other() {
    let (silent, told) = (Server::silent(), Server::seeing(HERE));
    let (begun, time) = (Instant::now(), Duration::from_secs(2));
    let answers = asked(vec![silent.name(), told.name()], time).await;
    assert!(begun.elapsed() >= time, "{:?}", begun.elapsed());
    assert_eq!(answers[0], Err(format!("no answer of {} within 2s", silent.addr)));
    assert_eq!(answers[1], Ok(HERE.into()));
    until("the second request has come", || silent.asked() >= 2).await;
}

#[tokio::test]
async fn what_is_no_answer_is_passed_over() {
    let server = Server::start(Box::new(|request, _| {
        let foreign = Message { id: TransactionId::drawn([7; 12]), ..request.clone() };
        let mut broken = answer(request, THERE);
        *broken.last_mut().unwrap() ^= 1;
        vec![
            b"garbage".to_vec(),
            Vec::new(),
            vec![0; 1600],
            answer(&foreign, THERE),
            request.encode(),
            broken,
            answer(request, HERE),
            answer(request, THERE),
        ]
    }));
    assert_eq!(one(&server, PATIENT).await, Ok(HERE.into()));
}

#[tokio::test]
async fn an_answer_from_another_address_is_none() {
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server =
        Server::answering_from(Box::new(|request, _| vec![answer(request, HERE)]), Some(other));
    assert_eq!(
        one(&server, BRIEF).await,
        Err(format!("no answer of {} within 700ms", server.addr))
    );
}

#[tokio::test]
async fn a_server_that_floods_is_left() {
    let server = Server::start(Box::new(|_, _| vec![b"flood".to_vec(); 80]));
    let reason = one(&server, PATIENT).await.unwrap_err();
    assert!(reason.ends_with("it sent 64 datagrams that are no answer"), "{reason}");
}

#[tokio::test]
async fn an_error_is_told_in_words() {
    let server = Server::start(Box::new(|request, _| {
        let error = ErrorCode { code: 500, reason: b"Server Error".to_vec() };
        let attributes = vec![Attribute::ErrorCode(error)];
        let class = Class::Error;
        vec![Message { class, id: request.id, attributes, fingerprint: false }.encode()]
    }));
    let reason = one(&server, PATIENT).await.unwrap_err();
    assert_eq!(reason, format!("{}: it answers with the error 500 Server Error", server.addr));
    let empty = Server::start(Box::new(|request, _| vec![success(request, Vec::new())]));
    let reason = one(&empty, PATIENT).await.unwrap_err();
    assert_eq!(reason, format!("{}: its answer names no address", empty.addr));
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_told_at_once() {
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let answers = asked(vec![nobody.to_string()], PATIENT).await;
    assert_eq!(answers, [Err(format!("nobody listens at {nobody}"))]);
}

#[tokio::test]
async fn a_name_without_an_ipv4_address_is_told() {
    let longer_than_a_label = format!("{}:3478", "x".repeat(64));
    let answers = asked(vec!["[::1]:3478".into(), longer_than_a_label], PATIENT).await;
    let none = "it has no IPv4 address, and is asked over IPv4 only";
    assert_eq!(answers[0], Err(none.into()));
    let reason = answers[1].as_ref().unwrap_err();
    assert!(reason.starts_with("its name is not resolved: "), "{reason}");
}

#[tokio::test]
async fn a_name_is_looked_up() {
    let server = Server::seeing(HERE);
    let named = format!("localhost:{}", server.addr.port());
    assert_eq!(asked(vec![named], PATIENT).await, [Ok(HERE.into())]);
}

#[tokio::test]
async fn a_server_under_two_names_is_asked_once() {
    let server = Server::seeing(HERE);
    let named = format!("localhost:{}", server.addr.port());
    let answers = discover(discovery(vec![server.name(), named], PATIENT)).await.unwrap();
    assert_eq!(answers[0], answers[1]);
    assert_eq!(server.asked(), 1);
}

#[tokio::test]
async fn a_port_that_a_program_does_not_share_is_told() {
    let taken = UdpSocket::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let server = Server::seeing(HERE);
    let discovery = Discovery { port, ..discovery(vec![server.name()], PATIENT) };
    let told = discover(discovery).await.unwrap_err();
    let expected = format!(
        "port {port} (tunnel.listen_port) is taken by a program that does not share it: end that one or set another port"
    );
    assert_eq!(told, expected);
    assert_eq!(server.asked(), 0);
}

/// The section of the configuration that names these servers.
fn section(servers: &[&Server]) -> String {
    let names: Vec<String> = servers.iter().map(|server| server.name()).collect();
    format!(
        "[nat]\nstun_servers = {names:?}\ntimeout = \"2s\"\nmin_report_interval = \"200ms\"\n\
         [tunnel]\nlisten_port = {PORT}\n[health]\nenabled = false\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_agent_reports_its_endpoint_and_tells_it_in_heartbeats() {
    let (one, two) = (Server::seeing(HERE), Server::seeing(HERE));
    let plane = fixture().await;
    let node = Node::new(&plane.url(), &section(&[&one, &two]));
    let _agent = node.start();
    until("it is reported", || counter(&plane, "endpoint_count") > 0).await;
    let reported = get(&plane, "/test/last-request/endpoint");
    assert_eq!((&reported["endpoint"], &reported["nat_type"]), (&json!(HERE), &json!("full_cone")));
    until("a heartbeat tells it", || {
        get(&plane, "/test/last-request/heartbeat")["nat_summary"]
            == json!({"endpoint": HERE, "nat_type": "full_cone"})
    })
    .await;
    let told = "seen from outside, this node is at 198.51.100.7:40000: every server sees it there (full_cone)";
    until("it is told", || node.log().contains(told)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_endpoint_that_is_about_to_lapse_is_reported_again_and_may_have_changed() {
    let moved = Arc::new(AtomicBool::new(false));
    let server = Server::start(Box::new({
        let moved = Arc::clone(&moved);
        move |request, _| {
            let mapped = if moved.load(Ordering::Acquire) { THERE } else { HERE };
            vec![answer(request, mapped)]
        }
    }));
    let plane = fixture().await;
    post(&plane, "/test/configure-endpoint", &json!({"ttl_seconds": 30}));
    let node = Node::new(&plane.url(), &section(&[&server]));
    let _agent = node.start();
    until("it is reported again", || counter(&plane, "endpoint_count") > 2).await;
    moved.store(true, Ordering::Release);
    until("the new one is reported", || {
        get(&plane, "/test/last-request/endpoint")["endpoint"] == THERE
    })
    .await;
    let shortened = "the control plane lets the endpoint lapse early";
    until("that is told", || node.log().contains(shortened)).await;
    until("many are reported", || counter(&plane, "endpoint_count") > 8).await;
    assert_eq!(
        node.log().matches(shortened).count(),
        log_lines_of_one_notice(&node.log(), shortened)
    );
}

/// At the level of a trace the order to tell a notice is in the log as well, so one notice is two lines.
fn log_lines_of_one_notice(log: &str, text: &str) -> usize {
    let orders = log.lines().filter(|line| line.contains(text) && line.contains("perform")).count();
    assert_eq!(orders, 1, "it is ordered once");
    2
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_without_any_answer_works_and_finds_its_endpoint_later() {
    let answers = Arc::new(AtomicBool::new(false));
    let server = Server::start(Box::new({
        let answers = Arc::clone(&answers);
        move |request, _| match answers.load(Ordering::Acquire) {
            true => vec![answer(request, HERE)],
            false => Vec::new(),
        }
    }));
    let plane = fixture().await;
    let node = Node::new(&plane.url(), &section(&[&server]));
    let _agent = node.start();
    until("heartbeats go on meanwhile", || counter(&plane, "heartbeat_count") > 1).await;
    assert_eq!(get(&plane, "/test/last-request/heartbeat")["nat_summary"], json!({}));
    let told = "how this node is seen from outside is not found out: ";
    until("it is told", || node.log().contains(told)).await;
    assert_eq!(counter(&plane, "endpoint_count"), 0);
    answers.store(true, Ordering::Release);
    until("it is found and reported", || counter(&plane, "endpoint_count") > 0).await;
    assert_eq!(get(&plane, "/test/last-request/endpoint")["nat_type"], "unknown");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_control_plane_that_refuses_reports_is_told_and_asked_again() {
    let server = Server::seeing(HERE);
    let plane = fixture().await;
    let fault = |status: u16, code: &str| json!({"method": "PUT", "path": "/v1/nodes/*/endpoint", "status": status, "code": code, "times": 1});
    post(&plane, "/test/faults", &fault(503, "allocator_contention"));
    let node = Node::new(&plane.url(), &section(&[&server]));
    node.amend(
        "min_report_interval = \"200ms\"",
        "min_report_interval = \"200ms\"\nrefresh_interval = \"10s\"",
    );
    let _agent = node.start();
    until("it is reported in the end", || counter(&plane, "endpoint_count") > 0).await;
    let requests: Value = get(&plane, "/test/requests");
    let all = requests["requests"].as_array().unwrap().iter();
    let statuses: Vec<&Value> = all
        .filter(|request| request["path"].as_str().unwrap().ends_with("/endpoint"))
        .map(|request| &request["status"])
        .collect();
    assert_eq!(statuses[..2], [&json!(503), &json!(200)]);
    assert!(node.log().contains("the report of the endpoint: it failed: 503"));
    until("that it is accepted is told", || node.log().contains("the endpoint is accepted again"))
        .await;
}
