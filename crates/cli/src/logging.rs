//! Structured logs on standard error: text for people, JSON for machines.

use std::io::{self, IsTerminal};

use mintage_server::config::{LogFormat, LogLevel};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

use crate::color::Color;

/// Which records are written, while they are.
pub(crate) struct Level(reload::Handle<LevelFilter, Registry>);

impl Level {
    /// Writes records of this level and the more severe ones from here on.
    pub(crate) fn set(&self, level: LogLevel) {
        // Only fails when logging has ended.
        let _ = self.0.reload(filter(level));
    }
}

/// Starts logging for this process.
pub(crate) fn start(format: LogFormat, level: LogLevel, color: Color) -> Level {
    let (filter, handle) = reload::Layer::new(filter(level));
    let ansi = color.on(io::stderr().is_terminal());
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(ansi);
    let registry = tracing_subscriber::registry().with(filter);
    // Only fails when logging was started before, which then goes on.
    let _ = match format {
        LogFormat::Text => registry.with(lines.with_target(false)).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    };
    Level(handle)
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}
