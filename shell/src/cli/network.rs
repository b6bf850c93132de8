//! `peers`, `policies`.

use meshward_core::wire::{
    local::PeerRow,
    snapshot::{Policy, Ports, Rule},
};

use super::{
    Outcome,
    answer::{ask, print, table},
    args::Global,
    socket::Question,
};

pub(super) fn peers(global: &Global) -> Outcome {
    let answer = ask(global, &Question::get("/v1/peers".to_owned()))?;
    print(global, &answer, |peers: &Vec<PeerRow>| {
        if peers.is_empty() {
            return "No peers.\n".to_owned();
        }
        let row = |peer: &PeerRow| {
            [&peer.id, &peer.mesh_ip, &peer.endpoint, &peer.public_key].map(ToString::to_string)
        };
        table(["ID", "MESH IP", "ENDPOINT", "PUBLIC KEY"], peers.iter().map(row).collect())
    })
}

pub(super) fn policies(global: &Global) -> Outcome {
    let answer = ask(global, &Question::get("/v1/policies".to_owned()))?;
    print(global, &answer, listed)
}

/// Which policy a rule is of stands on its line, as many tools read one line alone.
fn listed(policy: &Policy) -> String {
    if policy.rules.is_empty() {
        return "No policies active.\n".to_owned();
    }
    let row = |rule: &Rule| {
        [
            policy.revision_id.0.clone(),
            rule.source_cidr.clone(),
            rule.destination_cidr.clone(),
            rule.ports.map_or_else(|| "any".to_owned(), span),
            rule.protocol.clone(),
            rule.action.clone(),
        ]
    };
    let headings = ["REVISION", "SRC", "DST", "PORT", "PROTOCOL", "ACTION"];
    table(headings, policy.rules.iter().map(row).collect())
}

fn span(ports: Ports) -> String {
    match ports.from == ports.to {
        true => ports.from.to_string(),
        false => format!("{}-{}", ports.from, ports.to),
    }
}
