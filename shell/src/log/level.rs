//! The level of the log, which may change while the process lives.

use std::sync::OnceLock;

use thiserror::Error;
use tracing_subscriber::{
    Registry,
    filter::LevelFilter,
    reload::{Handle, Layer},
};

use crate::config::LogLevel;

/// Of the one log that a process has.
static CURRENT: OnceLock<Handle<LevelFilter, Registry>> = OnceLock::new();

/// The level stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this process has no log whose level could change")]
pub struct NoLog;

/// Logs at this level from now on.
pub fn set_level(to: LogLevel) -> Result<(), NoLog> {
    let current = CURRENT.get().ok_or(NoLog)?;
    current.reload(filter(to)).map_err(|_| NoLog)
}

/// The filter of a log, and what changes it.
pub(super) fn changeable(
    level: LogLevel,
) -> (Layer<LevelFilter, Registry>, Handle<LevelFilter, Registry>) {
    Layer::new(filter(level))
}

/// From now on [`set_level`] changes this one.
pub(super) fn keep(handle: Handle<LevelFilter, Registry>) {
    // A process has one log, so this is the first.
    let _ = CURRENT.set(handle);
}

const fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}
