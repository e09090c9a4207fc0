//! Whether messages are coloured.

use clap::ValueEnum;

/// When to use colour.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Color {
    // Documented here and not for the parser, whose help would grow to pages.
    // On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

impl Color {
    /// Whether to colour a stream.
    pub(crate) fn on(self, is_terminal: bool) -> bool {
        match self {
            Color::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
            Color::Always => true,
            Color::Never => false,
        }
    }
}
