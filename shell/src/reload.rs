//! SIGHUP: the configuration is read again with the flags and the environment of the start, and what can change does.
//!
//! A configuration that this process could not be started with changes nothing, and is told with all that is wrong.
//! Specification: `decisions.md` sections 4 and 8 (SIGHUP).

use std::io;

use meshward_core::legible;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};
use tracing::{error, info, warn};

use crate::{
    actions::Shown,
    config::{Config, Loaded, Reloaded, Sources, show},
    run,
    service::Notifier,
};

/// What is needed to read the configuration again.
#[derive(Debug)]
pub struct Reload {
    hangups: Signal,
    sources: Sources,
    running: Loaded,
    shown: Shown,
}

impl Reload {
    /// Hears SIGHUP from now on; `sources` are those that `running` was read from, `shown` is told what holds.
    pub fn hearing(sources: Sources, running: Loaded, shown: Shown) -> io::Result<Self> {
        shown.set(show::toml(&running.rows));
        Ok(Self { hangups: signal(SignalKind::hangup())?, sources, running, shown })
    }

    /// Reads at every SIGHUP until nobody takes what comes of it; `take_up` hands on what is not the loop's.
    pub(crate) fn begin(
        mut self,
        notifier: Notifier,
        take_up: impl Fn(&Config) + Send + 'static,
    ) -> Retimes {
        // One that waits is enough: the next SIGHUP is read behind it, and the last one counts.
        let (retimed, retimes) = mpsc::channel(1);
        tokio::spawn(async move {
            while self.hangups.recv().await.is_some() {
                // A manager that cannot be told takes the reload for one that never ends, and gives up by itself.
                let _ = notifier.reloading();
                let config = self.again().await;
                let is_over = match config {
                    Some(config) => {
                        take_up(&config);
                        retimed.send(Box::new(config)).await.is_err()
                    }
                    None => false,
                };
                let _ = notifier.reloaded();
                if is_over {
                    return;
                }
            }
        });
        Retimes(Some(retimes))
    }

    /// What holds from now on, unless nothing can.
    async fn again(&mut self) -> Option<Config> {
        let (sources, running) = (self.sources.clone(), self.running.clone());
        // A disk may be slow.
        let read = tokio::task::spawn_blocking(move || read(&sources, &running)).await;
        match read.unwrap_or_else(|broken| Err(broken.to_string())) {
            Ok(reloaded) => {
                tell(&reloaded);
                self.running = reloaded.loaded;
                self.shown.set(show::toml(&self.running.rows));
                Some(self.running.config.clone())
            }
            Err(wrong) => {
                error!("SIGHUP: nothing is changed: {}", legible::line(&wrong));
                None
            }
        }
    }
}

/// Configurations that take the place of the one before.
#[derive(Debug, Default)]
pub(crate) struct Retimes(Option<mpsc::Receiver<Box<Config>>>);

impl Retimes {
    /// The next one; where none comes any more, it never ends.
    pub(crate) async fn next(&mut self) -> Box<Config> {
        if let Some(retimes) = &mut self.0
            && let Some(config) = retimes.recv().await
        {
            return config;
        }
        self.0 = None;
        std::future::pending().await
    }
}

fn read(sources: &Sources, running: &Loaded) -> Result<Reloaded, String> {
    let wrong = |faults: Vec<_>| {
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        format!("the configuration is wrong: {}", faults.join("; "))
    };
    let read = Config::load(sources).map_err(wrong)?;
    run::could_start(&read.config).map_err(|error| run::causes(&error))?;
    running.reloaded(&read).map_err(wrong)
}

fn tell(reloaded: &Reloaded) {
    match reloaded.changed.as_slice() {
        [] => info!(
            "SIGHUP: the configuration is read again, and no setting that a reload takes has changed"
        ),
        changed => info!("SIGHUP: the configuration is read again: {} changed", changed.join(", ")),
    }
    if !reloaded.at_restart.is_empty() {
        warn!(
            "SIGHUP: these settings stay as they are until the agent is restarted: {}",
            reloaded.at_restart.join(", ")
        );
    }
}
