//! What `meshward doctor` looks at: everything side by side, each with a time, and nothing is changed by it.
//!
//! What of it is good is decided in `core/src/doctor`.

mod disk;
mod endpoint;
mod kernel;
mod local;
mod plane;
mod sources;

use std::time::Duration;

use meshward_core::{
    agent::Sight,
    doctor::{self, DataDir, Finding, Holder, Identities},
};

use crate::{actions::bounded::bounded, clock, config::Config, hooks, hooks::HooksDir};

/// How long a look may take; all are begun in the same moment.
const LOOK_MAX: Duration = Duration::from_secs(9);

/// Looks at all that this configuration stands on.
pub async fn examine(config: &Config) -> Vec<Finding> {
    let (on_disk, reached, roots, hooks, local, token, sources, endpoints) = tokio::join!(
        disk(config),
        plane::reach(config),
        plane::roots(config),
        hooks(config),
        local::look(config),
        local::token(config),
        sources::look(config),
        endpoint::look(config),
    );
    let agent = on_disk.as_ref().map_or(Holder::Hidden, |(data, _)| data.holder());
    let foreign = on_disk.as_ref().is_some_and(|(data, _)| data.is_foreign());
    let mut findings = reached.findings();
    findings.extend(roots);
    match on_disk {
        None => findings.push(Finding::unseen("data directory")),
        Some((data, identities)) => {
            findings.extend(data.findings());
            findings.extend(identities.findings());
        }
    }
    findings.extend(match hooks {
        None => vec![Finding::good("hooks", "not looked at (actions.enabled is false)")],
        Some(sight) => doctor::hooks(clock::now(), sight, foreign),
    });
    findings.extend(local.of(agent).findings());
    findings.extend(token.iter().flat_map(|token| token.findings(foreign)));
    findings.extend(abilities(config, agent, foreign).await);
    findings.extend(sources.findings(foreign));
    findings.extend(endpoints);
    findings
}

async fn disk(config: &Config) -> Option<(DataDir, Identities)> {
    let node = config.clone();
    bounded("doctor disk", LOOK_MAX, move || {
        let data = disk::data_dir(&node.node.data_dir);
        let identities = disk::identities(&node, data.is_foreign());
        (data, identities)
    })
    .await
}

/// `None` where none can run.
async fn hooks(config: &Config) -> Option<Option<Sight>> {
    if !config.actions.enabled {
        return None;
    }
    let directory = HooksDir::new(&config.actions.hooks_dir);
    Some(bounded("doctor hooks", LOOK_MAX, move || hooks::scan(&directory).sight()).await)
}

/// Behind the others, since what runs has capabilities of its own; these looks do not leave the kernel.
async fn abilities(config: &Config, agent: Holder, foreign: bool) -> Vec<Finding> {
    let config = config.clone();
    bounded("doctor kernel", SHORT_MAX, move || kernel::look(&config, agent, foreign))
        .await
        .map_or_else(
            || vec![Finding::unseen("kernel")],
            |seen| seen.iter().map(doctor::Seen::finding).collect(),
        )
}

/// How long a look may take that needs another one, within the ten seconds of all.
const SHORT_MAX: Duration = Duration::from_millis(500);
