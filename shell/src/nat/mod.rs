//! Asks STUN servers how this node is seen from outside: all at once, each within its time, from the port of the tunnel.
//!
//! Each server has a socket of its own, connected to it: the kernel passes on only what comes from there, and tells when
//! nobody listens. To a NAT they are one, since they share their port. A server under two names is asked once.

mod ask;
mod resolve;

use std::{
    collections::BTreeMap,
    net::SocketAddrV4,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use meshward_core::{
    agent::{Acted, Discovery, Input, Seen},
    wire::grammar::PeerAddr,
};
use tokio::{
    sync::{OnceCell, mpsc},
    task::{JoinHandle, JoinSet},
    time::Instant,
};

use crate::chance;

/// One discovery at a time.
#[derive(Debug)]
pub(crate) struct Discoverer {
    facts: mpsc::Sender<Input>,
    under_way: Option<JoinHandle<()>>,
}

impl Discoverer {
    pub(crate) const fn new(facts: mpsc::Sender<Input>) -> Self {
        Self { facts, under_way: None }
    }

    /// Begins one; the one before is over, with its sockets, before this one asks.
    pub(crate) fn begin(&mut self, discovery: Discovery) {
        let (before, facts) = (self.under_way.take(), self.facts.clone());
        self.under_way = Some(tokio::spawn(async move {
            if let Some(before) = before {
                before.abort();
                let _ = before.await;
            }
            let round = discovery.round;
            let outcome = discover(discovery).await;
            let told = Acted::Discovered { round, outcome, jitter: chance::jitter() };
            // A closed inbox means that the agent has ended.
            let _ = facts.send(Input::Acted(told)).await;
        }));
    }
}

impl Drop for Discoverer {
    fn drop(&mut self) {
        if let Some(under_way) = &self.under_way {
            under_way.abort();
        }
    }
}

/// What the servers of one discovery share.
#[derive(Debug)]
struct Round {
    port: u16,
    timeout: Duration,
    until: Instant,
    asked: Mutex<BTreeMap<SocketAddrV4, Arc<OnceCell<Told>>>>,
}

type Told = Result<Seen, String>;

/// What each server tells, in their order; an error where the port cannot be used at all.
pub async fn discover(discovery: Discovery) -> Result<Vec<Result<Seen, String>>, String> {
    let Discovery { port, servers, timeout, round: _ } = discovery;
    drop(ask::open(port)?);
    let until = Instant::now() + timeout;
    let round = Arc::new(Round { port, timeout, until, asked: Mutex::default() });
    let mut told = vec![Err("it was not asked, by a fault of the agent".to_owned()); servers.len()];
    let mut asking = JoinSet::new();
    for (at, server) in servers.into_iter().enumerate() {
        let round = Arc::clone(&round);
        asking.spawn(async move { (at, round.ask(server).await) });
    }
    while let Some(done) = asking.join_next().await {
        if let Ok((at, answer)) = done {
            told[at] = answer;
        }
    }
    Ok(told)
}

impl Round {
    async fn ask(&self, server: String) -> Told {
        let addr = resolve::resolve(server, self.until).await.map_err(|fault| match fault {
            resolve::Fault::Late => format!("its name is not resolved within {:?}", self.timeout),
            resolve::Fault::Failed(reason) => reason,
        })?;
        let cell = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(asked.entry(addr).or_default())
        };
        let answer = cell.get_or_init(|| async {
            let mapped =
                ask::ask(self.port, addr, self.until).await.map_err(|fault| match fault {
                    ask::Fault::Late => format!("no answer of {addr} within {:?}", self.timeout),
                    ask::Fault::Failed(reason) => reason,
                })?;
            Ok(Seen { server: PeerAddr::from(std::net::SocketAddr::V4(addr)), mapped })
        });
        answer.await.clone()
    }
}
