//! Holds back what one place of the program floods the log with; which lines, the core decides.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use meshward_core::{
    agent::{
        Level,
        notice::rate::{Held, Rate, Site, Verdict},
    },
    time::Mono,
};
use tracing::{
    Event, Subscriber, error,
    field::{Field, Visit},
    info, warn,
};
use tracing_subscriber::{Layer, layer::Context};

use super::queue::Queue;
use crate::clock;

/// What tells of lines that were held back is never held back itself.
const TOLD: &str = "meshward_shell::held_back";

/// The lines of this period; a clone is the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Limit(Arc<Mutex<Rate>>);

impl Limit {
    /// In front of a log, whose queue is woken when there is something to be told.
    pub(super) fn waking(&self, queue: Queue) -> Limiting {
        Limiting { limit: self.clone(), queue }
    }

    /// Tells what was held back in periods that are over, and when the next one is.
    pub(super) fn tell(&self, now: Mono) -> Option<Mono> {
        let (over, next) = {
            let mut rate = self.rate();
            (rate.over(now), rate.wakeup())
        };
        over.iter().for_each(told);
        next
    }

    /// Tells all that is held back.
    pub(super) fn rest(&self) {
        let rest = self.rate().rest();
        rest.iter().for_each(told);
    }

    fn rate(&self) -> MutexGuard<'_, Rate> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn told(held: &Held) {
    let Held { level, count, sample } = held;
    match level {
        Level::Error => {
            error!(target: TOLD, "… {count} more like this in the last minute: {sample}")
        }
        Level::Warn => warn!(target: TOLD, "… {count} more like this in the last minute: {sample}"),
        Level::Info | Level::Debug => {
            info!(target: TOLD, "… {count} more like this in the last minute: {sample}");
        }
    }
}

/// The layer that lets lines pass.
#[derive(Debug)]
pub(super) struct Limiting {
    limit: Limit,
    queue: Queue,
}

impl<S: Subscriber> Layer<S> for Limiting {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let metadata = event.metadata();
        let level = match *metadata.level() {
            tracing::Level::ERROR => Level::Error,
            tracing::Level::WARN => Level::Warn,
            tracing::Level::INFO => Level::Info,
            _ => return true,
        };
        if metadata.target() == TOLD {
            return true;
        }
        let mut message = Message::default();
        event.record(&mut message);
        let (file, line) = (metadata.file().unwrap_or_default(), metadata.line());
        let site = Site::new(file, line.unwrap_or_default(), &message.0);
        let verdict = self.limit.rate().line(clock::now().mono, level, site, &message.0);
        if verdict == Verdict::HeldFirst {
            self.queue.wake();
        }
        verdict == Verdict::Written
    }
}

/// The text of an event.
#[derive(Debug, Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use meshward_core::agent::{builtins::Snapshot, notice::rate::LINES_MAX};
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::log::{kept, queue, ring::Ring};

    #[test]
    fn a_flood_is_cut_at_its_place_and_what_it_held_back_is_told_at_the_end() {
        let (ring, limit) = (Ring::default(), Limit::default());
        let (queue, _flushed) = queue::start_to(queue::Sink::Stderr).unwrap();
        let log = tracing_subscriber::registry().with(limit.waking(queue)).with(kept(ring.clone()));
        tracing::subscriber::with_default(log, || {
            for number in 0..100 {
                warn!(number, "connection {number} broke");
                tracing::debug!("step {number}");
            }
            error!("another thing");
            limit.rest();
        });
        let asked = Snapshot { lines: 1000, since: None };
        let text = String::from_utf8(ring.newest(asked, 1 << 20)).unwrap();
        let count = |words: &str| text.lines().filter(|line| line.contains(words)).count();
        assert_eq!(count("broke number="), LINES_MAX as usize);
        assert_eq!(count("step "), 100, "who debugs sees every step");
        assert_eq!(count("another thing"), 1);
        assert_eq!(count("… 80 more like this in the last minute: connection 20 broke"), 1);
    }
}
