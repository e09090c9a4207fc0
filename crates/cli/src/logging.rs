//! Structured logs on standard error: text for people, JSON for machines.

use std::io::{self, IsTerminal};

use mintage_server::config::{LogFormat, LogLevel};
use tracing::level_filters::LevelFilter;

use crate::args::Color;

/// Starts logging for this process.
pub(crate) fn start(format: LogFormat, level: LogLevel, color: Color) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let ansi = color.on(io::stderr().is_terminal());
    let builder = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_max_level(level)
        .with_ansi(ansi);
    // Only fails when logging was started before, which then goes on.
    let _ = match format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
