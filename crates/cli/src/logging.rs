//! Structured logs on standard error: text for people, JSON for machines.

use std::io::{self, IsTerminal, Write};

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
    let is_json = matches!(format, LogFormat::Json);
    let lines = fmt::layer()
        .with_writer(move || PlainLines { is_json, ansi })
        .with_ansi(ansi);
    let registry = tracing_subscriber::registry().with(filter);
    // Only fails when logging was started before, which then goes on.
    let _ = match format {
        LogFormat::Text => registry.with(lines.with_target(false)).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    };
    Level(handle)
}

/// Standard error, where what is not plain in a line is written out: names and messages come from elsewhere.
struct PlainLines {
    is_json: bool,
    /// Colours are ours, and what comes from elsewhere has lost its escape characters before.
    ansi: bool,
}

impl Write for PlainLines {
    /// Takes a line at a time, as they are made.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut plain = String::with_capacity(line.len());
        let text = String::from_utf8_lossy(line);
        for c in text.strip_suffix('\n').unwrap_or(&text).chars() {
            match c {
                '\x1b' if self.ansi => plain.push(c),
                c if mintage::is_plain(c) => plain.push(c),
                c if self.is_json => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        plain.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => plain.extend(c.escape_default()),
            }
        }
        plain.push('\n');
        io::stderr().write_all(plain.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
