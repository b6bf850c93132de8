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

const NO_PING: &str = "peer_latency is left out: there is no ping below /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin: install iputils-ping";

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
        Self { tunnel, runtime, path: tool::PATH.to_owned(), asked: 0 }
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
            told.troubles.push(NO_PING.to_owned());
            return;
        };
        let (behind, before) = peers.split_at(first);
        let order = before.iter().chain(behind).cloned();
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
    let (mut waiting, mut under_way, mut answers) =
        (peers.into_iter(), JoinSet::new(), Vec::new());
    loop {
        while under_way.len() < PINGS_MAX && (under_way.is_empty() || Instant::now() < until) {
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

/// The tool is ended where this is dropped.
async fn run(program: &Path, address: IpAddr) -> io::Result<Pinged> {
    let mut child = Command::new(program)
        .args(peers::arguments(address))
        .env_clear()
        .envs([("PATH", tool::PATH), ("LC_ALL", "C")])
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
