//! The run of a hook: taken from its directory, sealed, and run from there.

use std::{ffi::OsString, time::Instant};

use meshward_core::{
    agent::{Cause, Ending, hooks::Refused},
    wire::grammar::Checksum,
};
use tokio::sync::oneshot;

use super::{
    bounded::bounded,
    supervise::{ControlGroup, Executable, Job, supervise},
    supervisor::{Limits, sealed},
    without_output,
};
use crate::hooks::{self, HooksDir};

/// What of an order concerns a hook.
pub(super) struct Hook {
    pub(super) name: String,
    pub(super) digest: Checksum,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) deadline: std::time::Duration,
    pub(super) max_output_bytes: usize,
}

pub(super) async fn run(
    hook: Hook,
    directory: HooksDir,
    mut cancelled: oneshot::Receiver<()>,
) -> Ending {
    let began = Instant::now();
    let (name, from) = (hook.name.clone(), directory.clone());
    let taking = bounded("hook", hook.deadline, move || take(&from, &name, hook.digest));
    let taken = tokio::select! {
        biased;
        _ = &mut cancelled => return without_output(Cause::Cancelled),
        taken = taking => taken,
    };
    let program = match taken {
        Some(Ok(program)) => program,
        Some(Err(refused)) => return without_output(refused.cause()),
        None => return without_output(Cause::TimedOut),
    };
    let job = Job {
        executable: Executable::Descriptor(program),
        arguments: vec![OsString::from(hook.name)],
        environment: hook.environment,
        directory: directory.path().to_owned(),
        deadline: hook.deadline.saturating_sub(began.elapsed()),
        max_output_bytes: hook.max_output_bytes,
        limits: Limits::default(),
        group: ControlGroup::IfPossible,
    };
    supervise(job, cancelled).await
}

/// What is judged is what is sealed, and what is sealed is what runs.
fn take(
    directory: &HooksDir,
    name: &str,
    digest: Checksum,
) -> Result<std::os::fd::OwnedFd, Refused> {
    let bytes = hooks::take(directory, name, digest)?;
    sealed(&bytes).map_err(|error| Refused::Unverified(format!("{name}: {error}")))
}
