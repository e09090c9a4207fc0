//! Colours, or none.

use ratatui::style::{Color, Modifier, Style};

/// How things look; the sixteen colours that every terminal has, as its user has set them.
#[derive(Clone, Copy)]
pub(super) struct Look {
    color: bool,
}

impl Look {
    pub(super) fn new(color: bool) -> Look {
        Look { color }
    }

    pub(super) fn plain(self) -> Style {
        Style::new()
    }

    pub(super) fn good(self) -> Style {
        self.colored(Color::Green)
    }

    pub(super) fn warn(self) -> Style {
        self.colored(Color::Yellow)
    }

    pub(super) fn bad(self) -> Style {
        self.colored(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn graph(self) -> Style {
        self.colored(Color::Cyan)
    }

    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The heads of tables; of the one that keys move in.
    pub(super) fn head(self, has_keys: bool) -> Style {
        match has_keys {
            true => self
                .colored(Color::Cyan)
                .add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            false => Style::new().add_modifier(Modifier::BOLD),
        }
    }

    /// The row that keys have moved to.
    pub(super) fn marked(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn colored(self, color: Color) -> Style {
        match self.color {
            true => Style::new().fg(color),
            false => Style::new(),
        }
    }
}
