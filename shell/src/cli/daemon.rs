//! `run` and `register`.

use std::{error::Error, future::Future, io, time::Duration};

use meshward_core::agent::{Exit, Purpose, notice::one_line};
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};
use tracing::{info, warn};

use super::{
    Code, Failed, Outcome,
    args::{Global, Output},
    config, say,
};
use crate::{
    actions::Own,
    config::{Config, Loaded, Sources},
    hygiene, log,
    reload::Reload,
    run::{self, Host},
    service::Manager,
};

pub(super) fn run(global: &Global) -> Outcome {
    match start(global, Purpose::Run)? {
        Exit::Drained => Ok(Code::Done),
        other @ (Exit::Registered { .. }
        | Exit::Unprepared(_)
        | Exit::Refused { .. }
        | Exit::GaveUp { .. }
        | Exit::Unusable { .. }) => Err(ended(&other)),
    }
}

pub(super) fn register(global: &Global) -> Outcome {
    match start(global, Purpose::Register)? {
        Exit::Registered { node_id, mesh_ip } => say(&match global.output {
            Output::Text => format!("node_id: {node_id}\nmesh_ip: {mesh_ip}\n"),
            Output::Json => {
                format!("{}\n", serde_json::json!({ "node_id": node_id, "mesh_ip": mesh_ip }))
            }
        }),
        Exit::Drained => Err(Failed::new(Code::Failed, "stopped before the registration was done")),
        other @ (Exit::Unprepared(_)
        | Exit::Refused { .. }
        | Exit::GaveUp { .. }
        | Exit::Unusable { .. }) => Err(ended(&other)),
    }
}

/// How an agent ended, on one line, as a peer's words may stand in it.
fn ended(exit: &Exit) -> Failed {
    Failed::new(Code::of(exit), one_line(exit.to_string()))
}

fn start(global: &Global, purpose: Purpose) -> Result<Exit, Failed> {
    hygiene::hold_little();
    let sources = config::sources(global);
    let loaded = config::loaded(&sources)?;
    let (config, idle) = (loaded.config.clone(), loaded.idle());
    let failed = |error: &dyn Error| Failed::new(Code::Failed, run::causes(error));
    let (_flushed, ring) = log::start(&config.log).map_err(|error| failed(&error))?;
    if !idle.is_empty() {
        warn!("without effect in this version: {}", idle.join(", "));
    }
    if !loaded.strangers.is_empty() {
        warn!("{}: {}", config::STRANGERS, loaded.strangers.join(", "));
    }
    if let Err(error) = hygiene::seal() {
        warn!(%error, "core dumps of this process cannot be turned off");
    }
    if let Err(error) = hygiene::outlive_file_limit() {
        warn!(%error, "a limit of the size of files would end this process");
    }
    if let Some(few) = hygiene::open_files() {
        warn!(
            "at most {few} files can be open, fewer than the connections at once: raise the limit (LimitNOFILE, \
             ulimit -Hn) to {}",
            hygiene::FILES_MIN
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(&error))?;
    let own = Own { log: Some(ring), hears_hangup: true, ..Own::default() };
    let manager = match purpose {
        Purpose::Run => Manager::of_environment(),
        Purpose::Register => Manager::default(),
    };
    let host = Host { own, manager, reload: None };
    let until = until_told(&config, (host, sources, loaded), purpose);
    let ended = runtime.block_on(until).map_err(|error| failed(error.as_ref()));
    end(runtime);
    if matches!(ended, Ok(Exit::Drained)) {
        // As long as there is somebody to write it.
        info!("stopped");
    }
    ended
}

/// How long the end waits for threads that may hang, such as on a disk.
const THREADS_WAIT: Duration = Duration::from_secs(1);

/// Lets a runtime go without waiting for what hangs.
fn end(runtime: Runtime) {
    runtime.shutdown_timeout(THREADS_WAIT);
}

async fn until_told(
    config: &Config,
    (host, sources, loaded): (Host, Sources, Loaded),
    purpose: Purpose,
) -> Result<Exit, Box<dyn Error>> {
    let told = told()?;
    let reload = Some(Reload::hearing(sources, loaded, host.own.config.clone())?);
    Ok(run::run_within(config, Host { reload, ..host }, purpose, told).await?)
}

/// Ends with the first SIGTERM or SIGINT.
fn told() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        info!(signal = name, "draining");
    })
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc::channel, thread, time::Duration};

    use super::end;

    #[test]
    fn a_thread_that_hangs_holds_up_no_end() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ((begun, begins), (_release, hangs)) = (channel(), channel::<()>());
        runtime.spawn_blocking(move || {
            begun.send(()).unwrap();
            hangs.recv()
        });
        begins.recv().unwrap();
        let (ended, ends) = channel();
        thread::spawn(move || {
            end(runtime);
            ended.send(())
        });
        ends.recv_timeout(Duration::from_secs(60)).expect("it is not waited for");
    }
}
