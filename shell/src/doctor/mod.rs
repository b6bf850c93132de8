//! What `meshward doctor` looks at: everything side by side, each with a time, and nothing is changed by it.
//!
//! What of it is good is decided in `core/src/doctor`.

mod disk;
mod kernel;
mod local;
mod plane;
mod sources;

use std::time::Duration;

use meshward_core::doctor::{self, Finding};

use crate::{actions::bounded::bounded, clock, config::Config, hooks, hooks::HooksDir};

/// How long a look may take; all are begun in the same moment.
const LOOK_MAX: Duration = Duration::from_secs(9);

/// Looks at all that this configuration stands on.
pub async fn examine(config: &Config) -> Vec<Finding> {
    let (on_disk, reached, hooks, local) =
        tokio::join!(disk(config), plane::reach(config), hooks(config), local::look(config));
    let (mut findings, running) = on_disk;
    findings.splice(0..0, reached.findings());
    findings.extend(hooks);
    findings.extend(local.of(running.is_some()).findings());
    findings.extend(abilities(config, running).await);
    findings.extend(sources(config).await);
    findings
}

/// With the agent that runs on the data directory, where one does.
async fn disk(config: &Config) -> (Vec<Finding>, Option<u32>) {
    let node = config.clone();
    let Some((data, identities)) = bounded("doctor disk", LOOK_MAX, move || {
        (disk::data_dir(&node.node.data_dir), disk::identities(&node))
    })
    .await
    else {
        return (vec![Finding::unseen("data directory")], None);
    };
    let mut findings = data.findings();
    findings.extend(identities.findings());
    (findings, data.holder())
}

async fn hooks(config: &Config) -> Vec<Finding> {
    if !config.actions.enabled {
        return vec![Finding::good("hooks", "not looked at (actions.enabled is false)")];
    }
    let directory = HooksDir::new(&config.actions.hooks_dir);
    let sight = bounded("doctor hooks", LOOK_MAX, move || hooks::scan(&directory).sight()).await;
    doctor::hooks(clock::now(), sight)
}

/// Behind the others, since what runs has capabilities of its own; these looks do not leave the kernel.
async fn abilities(config: &Config, running: Option<u32>) -> Vec<Finding> {
    let config = config.clone();
    bounded("doctor kernel", SHORT_MAX, move || kernel::look(&config, running)).await.map_or_else(
        || vec![Finding::unseen("kernel")],
        |seen| seen.iter().map(doctor::Seen::finding).collect(),
    )
}

async fn sources(config: &Config) -> Vec<Finding> {
    let config = config.clone();
    bounded("doctor sources", SHORT_MAX, move || sources::look(&config))
        .await
        .unwrap_or_else(|| vec![Finding::unseen("log files")])
}

/// How long a look may take that needs another one, within the ten seconds of all.
const SHORT_MAX: Duration = Duration::from_millis(500);
