//! How the agent is seen through a real NAT: namespaces of the network, the kernel's own translation, and coturn.
//!
//! A node is behind a router, and behind that is the world: two addresses of a STUN server, and the control plane.

use std::{
    fs::File,
    net::UdpSocket,
    os::fd::AsFd as _,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use meshward_core::wire::stun::{TransactionId, request, told};
use meshward_fixture::{Address, Fixture, Options, Running};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::node::{Agent, Node, counter, get, until};

const SERVERS: [&str; 2] = ["198.51.100.2", "198.51.100.3"];
const ROUTER: &str = "198.51.100.1";
const HOST: &str = "10.77.1.2";
const PORT: u16 = 51_820;
/// Where the router of a full cone has the node's port.
const MAPPED: u16 = 40_000;

static NETWORKS: AtomicUsize = AtomicUsize::new(0);

/// Runs a command to its end, which has to be a good one.
pub(crate) fn run(line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{line}: {error}"));
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The three namespaces, removed with all in them at the end.
struct Network {
    name: String,
    stun: Option<Child>,
    plane: Option<(Arc<Running>, oneshot::Sender<()>)>,
}

impl Network {
    /// With this translation at the router, in the words of nftables.
    fn new(rules: &[&str]) -> Self {
        let number = NETWORKS.fetch_add(1, Ordering::Relaxed);
        let name = format!("mw-{}-{number}", std::process::id());
        let network = Self { name, stun: None, plane: None };
        let [node, router, world] = ["node", "router", "world"].map(|part| network.part(part));
        for part in [&node, &router, &world] {
            run(&format!("ip netns add {part}"));
            run(&format!("ip -n {part} link set lo up"));
        }
        run(&format!("ip link add inside netns {node} type veth peer name lan netns {router}"));
        run(&format!("ip link add wan netns {router} type veth peer name outside netns {world}"));
        let addresses = [
            (&node, "inside", vec![HOST]),
            (&router, "lan", vec!["10.77.1.1"]),
            (&router, "wan", vec![ROUTER]),
            (&world, "outside", SERVERS.to_vec()),
        ];
        for (part, link, addresses) in addresses {
            for address in addresses {
                run(&format!("ip -n {part} addr add {address}/24 dev {link}"));
            }
            run(&format!("ip -n {part} link set {link} up"));
        }
        run(&format!("ip -n {node} route add default via 10.77.1.1"));
        run(&format!("ip -n {world} route add 10.77.1.0/24 via {ROUTER}"));
        run(&format!("ip netns exec {router} sysctl -q -w net.ipv4.ip_forward=1"));
        for rule in rules {
            run(&format!("ip netns exec {router} nft {rule}"));
        }
        network.serving()
    }

    fn part(&self, part: &str) -> String {
        format!("{}-{part}", self.name)
    }

    /// With the STUN server and the control plane in the world.
    fn serving(mut self) -> Self {
        let world = self.part("world");
        let mut stun = Command::new("ip");
        stun.args(["netns", "exec", &world, "turnserver", "-n", "-S", "--no-tls", "--no-dtls"]);
        stun.args(["--no-cli", "--log-file", "stdout", "--pidfile", "/dev/null", "-p", "3478"]);
        for server in SERVERS {
            stun.args(["-L", server]);
        }
        let silent = || Stdio::null();
        self.stun = Some(stun.stdin(silent()).stdout(silent()).stderr(silent()).spawn().unwrap());
        let (told, plane) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        self.inside("world", move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let addr: Address = format!("{}:0", SERVERS[0]).parse().unwrap();
                let running = Fixture::start(Options { addr, ..Options::default() }).await.unwrap();
                told.send(Arc::new(running)).unwrap();
                // A dropped sender ends it just as a word does.
                let _ = stopped.await;
            });
        });
        self.plane = Some((plane.recv().unwrap(), stop));
        let (asked, answered) = mpsc::channel();
        self.inside("world", move || {
            SERVERS.iter().for_each(|server| answers(server));
            asked.send(()).unwrap();
        });
        answered.recv_timeout(Duration::from_secs(30)).expect("coturn answers at both addresses");
        self
    }

    /// A thread with the sockets of that part.
    fn inside(&self, part: &str, work: impl FnOnce() + Send + 'static) {
        let place = File::open(format!("/run/netns/{}", self.part(part))).unwrap();
        thread::spawn(move || {
            move_into_link_name_space(place.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            work();
        });
    }

    fn plane(&self) -> &Running {
        &self.plane.as_ref().unwrap().0
    }

    /// A node that asks these servers.
    fn node(&self, servers: [&str; 2]) -> Node {
        let section = format!(
            "[nat]\nstun_servers = {:?}\ntimeout = \"2s\"\nrefresh_interval = \"10s\"\n\
             [tunnel]\nlisten_port = {PORT}\n[health]\nenabled = false\n",
            servers.map(|server| format!("{server}:3478"))
        );
        Node::new(&self.plane().url(), &section)
    }

    /// The agent of this node, behind the router.
    fn start(&self, node: &Node) -> Agent {
        let log = File::create(node.path("log")).unwrap();
        let agent = node.command(&["--log-level", "debug", "run"]);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.part("node")]);
        command.arg(agent.get_program()).args(agent.get_args());
        for (name, value) in agent.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        Agent::of(quiet.stderr(log).spawn().unwrap())
    }

    /// What the first report says, and the heartbeat behind it.
    async fn reported(&self, servers: [&str; 2]) -> (String, String, String) {
        let node = self.node(servers);
        let _agent = self.start(&node);
        until("it is reported", || counter(self.plane(), "endpoint_count") > 0).await;
        let report = get(self.plane(), "/test/last-request/endpoint");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (endpoint, nat_type) = (text(&report["endpoint"]), text(&report["nat_type"]));
        until("a heartbeat tells it", || {
            get(self.plane(), "/test/last-request/heartbeat")["nat_summary"]["nat_type"] == nat_type
        })
        .await;
        (endpoint, nat_type, node.log())
    }
}

/// Waits until the server at this address answers.
fn answers(server: &str) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let (id, mut datagram) = (TransactionId::drawn([1; 12]), [0; 2048]);
    loop {
        socket.send_to(&request(id), (server, 3478)).unwrap();
        let Ok((length, _)) = socket.recv_from(&mut datagram) else { continue };
        if told(&datagram[..length], id, server.parse().unwrap()).is_some_and(|told| told.is_ok()) {
            return;
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Some(mut stun) = self.stun.take() {
            let _ = stun.kill();
            let _ = stun.wait();
        }
        self.plane = None;
        for part in ["node", "router", "world"] {
            let _ = Command::new("ip").args(["netns", "del", &self.part(part)]).output();
        }
    }
}

const TABLE: &str = "add table ip nat";
const OUT: &str = "add chain ip nat out { type nat hook postrouting priority 100 ; }";
const IN: &str = "add chain ip nat in { type nat hook prerouting priority -100 ; }";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_a_nat_the_node_is_seen_at_its_own_address() {
    let network = Network::new(&[]);
    let (endpoint, nat_type, _) = network.reported(SERVERS).await;
    assert_eq!((endpoint, nat_type.as_str()), (format!("{HOST}:{PORT}"), "full_cone"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn behind_a_full_cone_both_servers_see_the_same_address() {
    let snat =
        format!("add rule ip nat out oifname wan udp sport {PORT} snat to {ROUTER}:{MAPPED}");
    let dnat = format!("add rule ip nat in iifname wan udp dport {MAPPED} dnat to {HOST}:{PORT}");
    let rest = "add rule ip nat out oifname wan masquerade";
    let network = Network::new(&[TABLE, OUT, IN, &snat, &dnat, rest]);
    let (endpoint, nat_type, log) = network.reported(SERVERS).await;
    assert_eq!((endpoint, nat_type.as_str()), (format!("{ROUTER}:{MAPPED}"), "full_cone"));
    assert!(log.contains("every server sees it there"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn behind_a_router_that_keeps_ports_the_node_is_seen_at_the_router_with_its_own_port() {
    let network = Network::new(&[TABLE, OUT, "add rule ip nat out oifname wan masquerade"]);
    let (endpoint, nat_type, _) = network.reported(SERVERS).await;
    assert_eq!((endpoint, nat_type.as_str()), (format!("{ROUTER}:{PORT}"), "full_cone"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn behind_a_symmetric_nat_each_server_sees_another_address() {
    let random = "add rule ip nat out oifname wan masquerade fully-random";
    let network = Network::new(&[TABLE, OUT, random]);
    let (endpoint, nat_type, _) = network.reported(SERVERS).await;
    assert_eq!(nat_type, "symmetric");
    assert!(endpoint.starts_with(&format!("{ROUTER}:")), "{endpoint}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_is_not_there_leaves_the_kind_of_nat_unknown() {
    let snat =
        format!("add rule ip nat out oifname wan udp sport {PORT} snat to {ROUTER}:{MAPPED}");
    let rest = "add rule ip nat out oifname wan masquerade";
    let network = Network::new(&[TABLE, OUT, &snat, rest]);
    let (endpoint, nat_type, log) = network.reported(["198.51.100.9", SERVERS[1]]).await;
    assert_eq!((endpoint, nat_type.as_str()), (format!("{ROUTER}:{MAPPED}"), "unknown"));
    assert!(log.contains("of the STUN servers: 198.51.100.9:3478: "), "{log}");
}
