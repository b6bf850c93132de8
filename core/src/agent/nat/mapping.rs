//! What kind of NAT is in front of a node, as its answers tell.
//!
//! | Answers | Mapping | On the wire |
//! |---|---|---|
//! | two servers see different addresses | symmetric | `symmetric` |
//! | the port that is seen is the one that asked | none | `full_cone` |
//! | two servers see the same address | full cone | `full_cone` |
//! | one server answers | unknown | `unknown` |
//!
//! The first row that fits counts. The difference comes first, because a NAT that keeps a port where it can is
//! symmetric all the same. A server that is named twice is one server.

use alloc::{format, string::String, vec::Vec};

use crate::{
    agent::facts::{NatSettings, Seen},
    wire::{
        endpoint::NatType,
        grammar::{PeerAddr, ReachableAddr},
    },
};

/// How the port of a node is mapped to what is seen outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    None,
    FullCone,
    Symmetric,
    Unknown,
}

impl Mapping {
    /// Of what each server sees, which is one at least.
    fn of(local_port: u16, seen: &[ReachableAddr]) -> Self {
        let same = seen.windows(2).all(|pair| pair[0] == pair[1]);
        let kept = seen.first().is_some_and(|addr| addr.port() == local_port);
        match (same, kept, seen.len()) {
            (false, _, _) => Self::Symmetric,
            (true, true, _) => Self::None,
            (true, false, 2..) => Self::FullCone,
            (true, false, _) => Self::Unknown,
        }
    }
}

impl From<Mapping> for NatType {
    fn from(mapping: Mapping) -> Self {
        match mapping {
            Mapping::None | Mapping::FullCone => Self::FullCone,
            Mapping::Symmetric => Self::Symmetric,
            Mapping::Unknown => Self::Unknown,
        }
    }
}

/// The address that the first server sees which can be one, the mapping, and what is wrong with other servers; or why no
/// server sees any.
pub fn judge(
    settings: &NatSettings,
    outcome: Result<Vec<Result<Seen, String>>, String>,
) -> Result<(ReachableAddr, Mapping, Vec<String>), String> {
    let (mut asked, mut seen, mut faults) = (Vec::<PeerAddr>::new(), Vec::new(), Vec::new());
    for (name, answer) in settings.servers.iter().zip(outcome?) {
        match answer.and_then(reachable) {
            Ok((server, _)) if asked.contains(&server) => {
                faults.push(format!("{name}: it is a server that is asked already ({server})"));
            }
            Ok((server, mapped)) => {
                asked.push(server);
                seen.push(mapped);
            }
            Err(reason) => faults.push(format!("{name}: {reason}")),
        }
    }
    match seen.first() {
        Some(first) => Ok((*first, Mapping::of(settings.port, &seen), faults)),
        None => Err(faults.join("; ")),
    }
}

fn reachable(seen: Seen) -> Result<(PeerAddr, ReachableAddr), String> {
    let refused = || format!("it sees this node at {}, where no other reaches it", seen.mapped);
    ReachableAddr::new(seen.mapped).map(|mapped| (seen.server, mapped)).ok_or_else(refused)
}
