//! The agent's own log on standard error: lines for people, JSON, or lines with the priority that journald reads.

pub mod queue;

use std::fmt;

use thiserror::Error;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format},
    registry::LookupSpan,
};

use queue::Flushed;

use crate::config::{Log, LogFormat, LogLevel};

/// A log was started twice in one process.
#[derive(Debug, Error)]
#[error("the log cannot be started")]
pub struct LogError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// Starts the log of this process; what waits is written when the result is dropped.
pub fn start(log: &Log) -> Result<Flushed, LogError> {
    let (queue, flushed) = queue::start().map_err(|error| LogError(error.into()))?;
    let builder = tracing_subscriber::fmt()
        .with_writer(queue)
        .with_ansi(false)
        .with_max_level(level(log.level));
    match log.format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).with_target(false).try_init(),
        LogFormat::Journald => builder.event_format(Journald).try_init(),
    }
    .map_err(LogError)?;
    Ok(flushed)
}

const fn level(level: LogLevel) -> Level {
    match level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
        LogLevel::Trace => Level::TRACE,
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
