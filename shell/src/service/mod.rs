//! The service manager of the host: what the core wants it to know is told by datagrams.

mod notifier;

use std::env;

use meshward_core::{
    agent::{
        Level,
        service::{Effect, Input, Round, Service, watchdog},
    },
    time::Mono,
};
use tracing::{debug, error, info, warn};

pub use notifier::Notifier;

/// The service manager, as far as there is one.
#[derive(Debug, Default)]
pub struct Manager {
    service: Service,
    notifier: Notifier,
    /// That it does not take what it is told was told.
    is_deaf: bool,
}

impl Manager {
    /// The one that the environment of this process names.
    pub fn of_environment() -> Self {
        let text = |name: &str| env::var(name).ok();
        let notifier = Notifier::to(&text("NOTIFY_SOCKET").unwrap_or_default());
        let notifier = notifier.unwrap_or_else(|error| {
            warn!(%error, "the service manager cannot be told anything");
            Notifier::default()
        });
        let (usec, pid) = (text("WATCHDOG_USEC"), text("WATCHDOG_PID"));
        let period = watchdog(usec.as_deref(), pid.as_deref(), std::process::id());
        Self { service: Service::new(period), notifier, is_deaf: false }
    }

    /// To be told of a reload.
    pub fn notifier(&self) -> Notifier {
        self.notifier.clone()
    }

    /// Tells what follows from a whole round of the loop.
    pub(crate) fn passed(&mut self, now: Mono, round: Round) {
        if self.notifier.is_heard() {
            self.step(now, Input::Passed(round));
        }
    }

    /// When another round is wanted.
    pub(crate) fn wakeup(&self) -> Option<Mono> {
        self.service.wakeup()
    }

    fn step(&mut self, now: Mono, input: Input) {
        let step = std::mem::take(&mut self.service).step(now, input);
        self.service = step.state;
        for effect in step.effects {
            match effect {
                Effect::Notify(text) => self.tell(now, &text),
                Effect::Tell(notice) => match notice.level {
                    Level::Error => error!("{notice}"),
                    Level::Warn => warn!("{notice}"),
                    Level::Info => info!("{notice}"),
                    Level::Debug => debug!("{notice}"),
                },
            }
        }
    }

    fn tell(&mut self, now: Mono, text: &str) {
        debug!(text, "notify");
        match self.notifier.tell(text) {
            Ok(()) => self.is_deaf = false,
            Err(error) => {
                if !std::mem::replace(&mut self.is_deaf, true) {
                    warn!(%error, "the service manager does not take what it is told (NOTIFY_SOCKET); trying on");
                }
                self.step(now, Input::Untaken);
            }
        }
    }
}
