//! The agent's own log on standard error: lines for people, JSON, or lines with the priority that journald reads.

pub mod queue;
pub mod ring;

use std::{fmt, io, sync::OnceLock};

use thiserror::Error;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    Layer,
    filter::LevelFilter,
    fmt::{FmtContext, FormatEvent, FormatFields, format, layer},
    layer::SubscriberExt as _,
    registry::{LookupSpan, Registry},
    reload,
    util::{SubscriberInitExt as _, TryInitError},
};

use queue::Flushed;
use ring::Ring;

use crate::config::{Log, LogFormat, LogLevel};

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
    let (queue, flushed) = queue::start()?;
    let ring = Ring::default();
    let (filter, handle) = reload::Layer::new(level(log.level));
    let registry = tracing_subscriber::registry().with(filter).with(kept(ring.clone()));
    let lines = layer().with_writer(queue).with_ansi(false).with_target(false);
    match log.format {
        LogFormat::Text => registry.with(lines).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
        LogFormat::Journald => registry.with(lines.event_format(Journald)).try_init(),
    }?;
    // Of two logs of one process the second has failed above.
    let _ = FILTER.set(handle);
    Ok((flushed, ring))
}

/// The filter of the log of this process.
static FILTER: OnceLock<reload::Handle<LevelFilter, Registry>> = OnceLock::new();

/// Writes from now on what is at least as grave; without a log there is nothing to change.
pub fn set_level(to: LogLevel) {
    if let Some(filter) = FILTER.get() {
        // It fails only where the log is gone.
        let _ = filter.reload(level(to));
    }
}

/// Keeps what is logged in the form for people, whichever form is written.
fn kept<S>(ring: Ring) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    layer().with_writer(ring).with_ansi(false).with_target(false)
}

const fn level(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
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
