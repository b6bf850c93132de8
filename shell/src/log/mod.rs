//! The agent's own log: lines for people or JSON on standard error, or entries of the journal.
//!
//! Where journald is not there, its lines go to standard error with the priority in front, which a service manager that
//! reads them passes on.

pub mod journal;
mod level;
mod limit;
pub mod queue;
pub mod ring;

use std::{fmt, io, path::Path};

use thiserror::Error;
use tracing::{Event, Level, Subscriber, warn};
use tracing_subscriber::{
    Layer,
    fmt::{FmtContext, FormatEvent, FormatFields, format, layer},
    layer::SubscriberExt as _,
    registry::LookupSpan,
    util::{SubscriberInitExt as _, TryInitError},
};

use journal::{Entries, Journal};
pub use level::{NoLog, set_level};
use queue::{Flushed, Sink};
use ring::Ring;

use crate::config::{Log, LogFormat};

/// The log cannot be started: its thread cannot, or this process has one already.
#[derive(Debug, Error)]
#[error("the log cannot be started")]
pub enum LogError {
    Thread(#[from] io::Error),
    Taken(#[from] TryInitError),
}

/// Starts the log of this process; what waits is written when the first part of the result is dropped, and its last
/// lines are kept in the second.
pub fn start(log: &Log) -> Result<(Flushed, Ring), LogError> {
    start_at(log, Path::new(journal::SOCKET))
}

/// As [`start`], where journald listens at this path.
pub fn start_at(log: &Log, journald: &Path) -> Result<(Flushed, Ring), LogError> {
    let journal = match log.format {
        LogFormat::Text | LogFormat::Json => None,
        LogFormat::Journald => Some(Journal::at(journald)),
    };
    let (native, gone) = match journal {
        None => (None, None),
        Some(Ok(journal)) => (Some(Sink::Journal(journal)), None),
        Some(Err(error)) => (None, Some(error)),
    };
    let is_native = native.is_some();
    let (queue, flushed) = queue::start_to(native.unwrap_or(Sink::Stderr))?;
    let ring = Ring::default();
    let (level, handle) = level::changeable(log.level);
    let registry = tracing_subscriber::registry()
        .with(level)
        .with(queue.limit().waking(queue.clone()))
        .with(kept(ring.clone()));
    let lines = layer().with_writer(queue.clone()).with_ansi(false).with_target(false);
    match log.format {
        LogFormat::Text => registry.with(lines).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
        LogFormat::Journald if is_native => registry.with(Entries(queue)).try_init(),
        LogFormat::Journald => registry.with(lines.event_format(Journald)).try_init(),
    }?;
    level::keep(handle);
    if let Some(error) = gone {
        warn!(%error, "journald is not there, so lines go to standard error: {}", journald.display());
    }
    Ok((flushed, ring))
}

/// Keeps what is logged in the form for people, whichever form is written.
fn kept<S>(ring: Ring) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    layer().with_writer(ring).with_ansi(false).with_target(false)
}

/// `<N>` and the line; journald adds the time.
struct Journald;

impl<S, N> FormatEvent<S, N> for Journald
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: format::Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        write!(writer, "<{}>", priority(*event.metadata().level()))?;
        context.field_format().format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}
