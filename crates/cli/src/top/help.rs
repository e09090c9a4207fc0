//! The keys, and what is what.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::look::Look;

const KEYS: [(&str, &str); 10] = [
    ("q, Ctrl-C", "quit"),
    ("Tab, ← →", "move between servers, sequences and pools"),
    ("↑ ↓, j k", "move in them; also Page Up and Down, Home, End"),
    ("s", "sort sequences by the next of the following"),
    ("r e l t n", "by rate, end, losses, last number, name"),
    ("/", "show only names with a text in them; Esc ends that"),
    ("p, space", "pause, and go on"),
    ("?", "this help"),
    ("", ""),
    ("", "any key goes back"),
];

const WORDS: [&str; 3] = [
    "budget: for how long everything in use goes on without the store, and what ends first.",
    "stock lasts: for how long the numbers in memory do, at this rate.",
    "left: how much of a worker's window is ahead.",
];

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, look: Look) {
    let key = |(key, does): &(&'static str, &'static str)| {
        Line::from(vec![
            Span::styled(format!("{key:<10}"), look.strong()),
            Span::raw(*does),
        ])
    };
    let words = WORDS.iter().map(|words| Line::styled(*words, look.dim()));
    let lines: Vec<Line<'_>> = KEYS
        .iter()
        .map(key)
        .chain([Line::default()])
        .chain(words)
        .collect();
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), area);
}
