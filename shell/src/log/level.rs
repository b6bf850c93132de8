//! The level of the log, which may change while the process lives.

use std::sync::OnceLock;

use clap::ValueEnum as _;
use thiserror::Error;
use tracing_subscriber::{
    Registry,
    filter::LevelFilter,
    reload::{Handle, Layer},
};

use crate::config::LogLevel;

/// Of the one log that a process has.
static CURRENT: OnceLock<Handle<LevelFilter, Registry>> = OnceLock::new();

/// Why the level stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LevelError {
    #[error("log.level must be one of error, warn, info, debug, trace")]
    Unknown,
    #[error("this process has no log whose level could change")]
    NoLog,
}

/// Logs at this level from now on; the text is that of `log.level`.
pub fn set_level(text: &str) -> Result<(), LevelError> {
    change(LogLevel::from_str(text, false).map_err(|_| LevelError::Unknown)?)
}

/// As [`set_level`], by a level that is one.
pub fn change(to: LogLevel) -> Result<(), LevelError> {
    let current = CURRENT.get().ok_or(LevelError::NoLog)?;
    current.reload(filter(to)).map_err(|_| LevelError::NoLog)
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
