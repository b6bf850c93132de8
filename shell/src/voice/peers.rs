//! The peers of the tunnel: what the device knows of them, and how long each takes to answer a `ping`.
//!
//! A round takes a bounded time: the peers to which it does not come are the first of the next one.
//!
//! Specification: "Agent-side conversion rules for ingest".

use std::{
    io,
    net::IpAddr,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use meshward_core::{
    agent::{Feed, Records, Source},
    time::Wall,
    wire::{
        record::MetricPoint,
        sources::peers::{self, PING_MAX, Peer, Pinged},
    },
};
use meshward_sys::execute::end_with_parent;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::Command,
    runtime::Handle,
    task::JoinSet,
    time::{Instant, timeout},
};

use super::source::{Collector, Wanted, feed};
use crate::{
    actions::tool,
    clock,
    tunnel::{PeerStats, Tunnel},
};

/// How many peers are asked at once.
const PINGS_MAX: usize = 8;

/// How long a round begins to ask. With [`PING_TIME`] it ends before the round that waits for it, which takes 3 s.
const BEGIN_TIME: Duration = Duration::from_millis(400);

/// How long one `ping` may take, which itself waits 2 s for an answer.
const PING_TIME: Duration = Duration::from_millis(2_400);

/// The most peers of the device that are told of in a round.
const PEERS_MAX: usize = 4_096;

/// What is known of the peers.
#[derive(Debug)]
pub(crate) struct Peers {
    tunnel: Arc<dyn Tunnel>,
    runtime: Handle,
    /// Where `ping` is looked for.
    path: String,
    /// How many peers were asked so far, by which the next round begins where the last one ended.
    asked: usize,
}

impl Peers {
    pub(crate) fn new(tunnel: Arc<dyn Tunnel>, runtime: Handle) -> Self {
        Self { tunnel, runtime, path: tool::path().to_owned(), asked: 0 }
    }

    fn of_tunnel(&self, told: &mut Told) {
        let mut peers = match self.tunnel.peers() {
            Ok(peers) => peers,
            Err(reason) => {
                told.troubles.push(format!("tunnel_health is left out: {reason}"));
                return;
            }
        };
        if peers.len() > PEERS_MAX {
            told.troubles.push(format!(
                "tunnel_health tells of the first {PEERS_MAX} of {} peers",
                peers.len()
            ));
            peers.truncate(PEERS_MAX);
        }
        let now = clock::now().wall;
        told.points.extend(peers.into_iter().map(|peer| known(peer).point(now)));
    }

    fn of_ping(&mut self, peers: &[(String, IpAddr)], told: &mut Told) {
        let Some(first) = self.asked.checked_rem(peers.len()) else { return };
        let Some(program) = tool::find("ping", &self.path) else {
            let reason = format!("there is no ping in {}: install iputils-ping", self.path);
            told.troubles.push(format!("peer_latency is left out: {reason}"));
            return;
        };
        let (last, next) = peers.split_at(first);
        let order = next.iter().chain(last).cloned();
        let answers = self.runtime.block_on(ask(&program, order.collect()));
        self.asked = first.saturating_add(answers.len());
        let now = clock::now().wall;
        for (id, pinged) in answers {
            told.points.extend(peers::latency(id.clone(), &pinged, now));
            told.trouble(&id, pinged);
        }
    }
}

impl Collector for Peers {
    fn source(&self) -> Source {
        Source::Peers
    }

    fn collect(&mut self, wanted: &Wanted) -> Feed {
        let mut told = Told::default();
        self.of_tunnel(&mut told);
        self.of_ping(&wanted.peers, &mut told);
        let Told { points, troubles, .. } = told;
        Feed { troubles, ..feed(Source::Peers, Records::Points(points)) }
    }
}

/// What a round has found out.
#[derive(Debug, Default)]
struct Told {
    points: Vec<MetricPoint>,
    troubles: Vec<String>,
    has_told_of_ping: bool,
}

impl Told {
    /// What is wrong with `ping` is so for each peer, and told of the first.
    fn trouble(&mut self, id: &str, pinged: Pinged) {
        let reason = match pinged {
            Pinged::Answered(_) | Pinged::Silent => return,
            Pinged::Failed(reason) | Pinged::Untold(reason) => reason,
        };
        if !self.has_told_of_ping {
            self.has_told_of_ping = true;
            self.troubles.push(format!("peer {id}: {reason}"));
        }
    }
}

fn known(peer: PeerStats) -> Peer {
    let PeerStats { id, rx_bytes, tx_bytes, last_handshake } = peer;
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok().map(Wall::from_origin);
    Peer { id, rx_bytes, tx_bytes, last_handshake: last_handshake.and_then(since) }
}

/// Asks as many as there is time for, a few at once, in this order.
async fn ask(program: &Path, peers: Vec<(String, IpAddr)>) -> Vec<(String, Pinged)> {
    let until = Instant::now() + BEGIN_TIME;
    let (mut waiting, mut under_way, mut answers) = (peers.into_iter(), JoinSet::new(), Vec::new());
    loop {
        let is_first = answers.is_empty() && under_way.is_empty();
        while under_way.len() < PINGS_MAX && (is_first || Instant::now() < until) {
            let Some((id, address)) = waiting.next() else { break };
            let program = program.to_owned();
            under_way.spawn(async move { (id, ping(program, address).await) });
        }
        match under_way.join_next().await {
            Some(answer) => answers.extend(answer.ok()),
            None => return answers,
        }
    }
}

async fn ping(program: PathBuf, address: IpAddr) -> Pinged {
    match timeout(PING_TIME, run(&program, address)).await {
        Ok(Ok(pinged)) => pinged,
        Ok(Err(error)) => Pinged::Untold(format!("{} cannot be run: {error}", program.display())),
        Err(_) => Pinged::Silent,
    }
}

/// The tool is ended where this is dropped, and with this process.
async fn run(program: &Path, address: IpAddr) -> io::Result<Pinged> {
    let mut command = Command::new(program);
    end_with_parent(command.as_std_mut());
    let mut child = command
        .args(peers::arguments(address))
        .env_clear()
        .envs([("PATH", tool::path()), ("LC_ALL", "C")])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr, status) = tokio::join!(start(stdout), start(stderr), child.wait());
    Ok(peers::pinged(status?.code(), &stdout, &stderr))
}

/// As much of a stream as is looked at; what comes behind it is refused.
async fn start(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What was read until it broke is what there is.
        let most = u64::try_from(PING_MAX).unwrap_or(u64::MAX);
        let _ = stream.take(most).read_to_end(&mut bytes).await;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::{
        net::{IpAddr, Ipv4Addr},
        path::Path,
        process::Command,
        sync::Arc,
        time::{Duration, SystemTime},
    };

    use meshward_core::{
        agent::{Feed, Records},
        wire::{grammar::PublicKey, record::Reading},
    };
    use tokio::runtime::{Builder, Runtime};

    use super::{BEGIN_TIME, Collector as _, PEERS_MAX, PINGS_MAX, Peers, Wanted};
    use crate::tunnel::{NoTunnel, PeerStats, Tunnel};

    /// A device that knows these peers, or has a fault.
    #[derive(Clone, Debug)]
    struct Device(Result<Vec<PeerStats>, String>);

    impl Tunnel for Device {
        fn install(&self, _key: PublicKey) -> Result<(), String> {
            Ok(())
        }

        fn peers(&self) -> Result<Vec<PeerStats>, String> {
            self.0.clone()
        }
    }

    fn runtime() -> Runtime {
        Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    }

    /// A `ping` that does this. A shell writes it, so that no child of another test holds it open for writing.
    fn tool(folder: &Path, script: &str) -> String {
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > ping && chmod 755 ping";
        let mut shell = Command::new("/bin/sh");
        let shell = shell.current_dir(folder).args(["-c", write, "sh", script]);
        assert!(shell.status().unwrap().success());
        folder.display().to_string()
    }

    fn wanted(count: u8) -> Wanted {
        let peer = |at| (format!("peer-{at}"), IpAddr::V4(Ipv4Addr::new(10, 99, 0, at)));
        Wanted { peers: (1..=count).map(peer).collect(), ..Wanted::default() }
    }

    fn points(feed: &Feed) -> Vec<(String, Vec<(Reading, f64)>)> {
        let Records::Points(points) = &feed.records else { return Vec::new() };
        let of = |point: &super::MetricPoint| {
            (point.peer_id.clone().unwrap_or_default(), point.data.clone())
        };
        points.iter().map(of).collect()
    }

    #[test]
    fn each_peer_is_told_with_the_time_it_took_or_with_minus_one() {
        let (runtime, home) = (runtime(), tempfile::tempdir().unwrap());
        let script = r#"[ "$*" = "-n -c 1 -W 2 -- 10.99.0.1" ] || exit 1; echo "64 bytes from $7: icmp_seq=1 ttl=64 time=1.5 ms""#;
        let path = tool(home.path(), script);
        let new = Peers::new(Arc::new(NoTunnel), runtime.handle().clone());
        let mut peers = Peers { path, ..new };
        let feed = peers.collect(&wanted(2));
        let mut told = points(&feed);
        told.sort_by(|one, other| one.0.cmp(&other.0));
        let rtt = |seconds| vec![(Reading::RttSeconds, seconds)];
        assert_eq!(told, [("peer-1".into(), rtt(0.0015)), ("peer-2".into(), rtt(-1.0))]);
        assert_eq!(feed.troubles, [""; 0]);
    }

    #[test]
    fn what_is_wrong_with_ping_itself_is_told_once_a_round() {
        let (runtime, home) = (runtime(), tempfile::tempdir().unwrap());
        let new = Peers::new(Arc::new(NoTunnel), runtime.handle().clone());
        let mut peers = Peers { path: home.path().display().to_string(), ..new };
        let feed = peers.collect(&wanted(3));
        assert!(points(&feed).is_empty(), "nobody was asked");
        assert_eq!(feed.troubles.len(), 1);
        assert!(feed.troubles[0].ends_with(": install iputils-ping"), "{:?}", feed.troubles);
        tool(home.path(), "echo 'ping: connect: Network is unreachable' >&2; exit 2");
        let feed = peers.collect(&wanted(3));
        assert!(points(&feed).iter().all(|(_, data)| *data == [(Reading::RttSeconds, -1.0)]));
        assert_eq!((points(&feed).len(), feed.troubles.len()), (3, 1));
        let reason = ": ping ended with 2: ping: connect: Network is unreachable";
        assert!(feed.troubles[0].ends_with(reason), "{:?}", feed.troubles);
    }

    #[test]
    fn a_round_has_an_end_and_the_next_one_goes_on_where_it_ended() {
        let (runtime, home) = (runtime(), tempfile::tempdir().unwrap());
        // Longer than a round begins to ask.
        let seconds = (BEGIN_TIME + Duration::from_millis(100)).as_secs_f64();
        let path = tool(home.path(), &format!("sleep {seconds}; exit 1"));
        let new = Peers::new(Arc::new(NoTunnel), runtime.handle().clone());
        let mut peers = Peers { path, ..new };
        let all = u8::try_from(PINGS_MAX * 2).unwrap();
        let mut seen: Vec<_> = Vec::new();
        for _ in 0..2 {
            let told = points(&peers.collect(&wanted(all)));
            assert!(!told.is_empty() && told.len() <= PINGS_MAX, "{}", told.len());
            seen.extend(told.into_iter().map(|(id, _)| id));
        }
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count, "none is asked twice before all are asked");
    }

    #[test]
    fn a_ping_that_hangs_is_ended_and_its_peer_is_silent() {
        let (runtime, home) = (runtime(), tempfile::tempdir().unwrap());
        let path = tool(home.path(), "exec sleep 600");
        let new = Peers::new(Arc::new(NoTunnel), runtime.handle().clone());
        let feed = Peers { path, ..new }.collect(&wanted(1));
        assert_eq!(points(&feed), [("peer-1".into(), vec![(Reading::RttSeconds, -1.0)])]);
        assert_eq!(feed.troubles, [""; 0]);
    }

    #[test]
    fn what_the_device_knows_is_told_of_each_peer_and_its_fault_where_it_has_one() {
        let runtime = runtime();
        let peer = |at: usize| PeerStats {
            id: format!("peer-{at}"),
            rx_bytes: 7,
            tx_bytes: 9,
            last_handshake: Some(SystemTime::now()),
        };
        let ask = |known| {
            let device = Arc::new(Device(known));
            Peers::new(device, runtime.handle().clone()).collect(&Wanted::default())
        };
        let feed = ask(Ok(vec![peer(1)]));
        let told = points(&feed);
        assert_eq!(told[0].0, "peer-1");
        let first = &told[0].1[..4];
        let expected = [
            (Reading::RxBytes, 7.0),
            (Reading::TxBytes, 9.0),
            (Reading::HandshakeSucceeded, 1.0),
            (Reading::HandshakeStale, 0.0),
        ];
        assert_eq!((first, feed.troubles.len()), (&expected[..], 0));
        let feed = ask(Err("meshward0: no such device".to_owned()));
        assert!(points(&feed).is_empty());
        assert_eq!(feed.troubles, ["tunnel_health is left out: meshward0: no such device"]);
        let feed = ask(Ok((0..=PEERS_MAX).map(peer).collect()));
        assert_eq!((points(&feed).len(), feed.troubles.len()), (PEERS_MAX, 1));
    }
}
