//! Ids by kind and requests by face, with their last minute.

use std::collections::BTreeSet;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::look::Look;
use super::state::{ServerState, named};
use super::text::{count, micros, plain, spark};

/// From this width both stand side by side.
const WIDE: u16 = 76;

/// How many rows all of it takes.
pub(super) fn height(server: &ServerState, width: u16) -> u16 {
    let (kinds, faces) = (
        of(server, "ids/").len() as u16,
        of(server, "requests/").len() as u16,
    );
    match (kinds.max(faces), width) {
        (0, _) => 0,
        (rows, WIDE..) => rows + 1,
        _ => kinds + faces + 2,
    }
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, server: &ServerState, look: Look) {
    if area.is_empty() {
        return;
    }
    let (width, rows) = (usize::from(area.width), usize::from(area.height));
    if area.width < WIDE {
        let mut lines = kinds(server, look, width);
        lines.extend(faces(server, look, width));
        lines.truncate(rows);
        return frame.render_widget(Paragraph::new(lines), area);
    }
    let [left, _, right] =
        Layout::horizontal([Constraint::Fill(2), Constraint::Length(2), Constraint::Fill(3)]).areas(area);
    frame.render_widget(Paragraph::new(kinds(server, look, left.width.into())), left);
    frame.render_widget(Paragraph::new(faces(server, look, right.width.into())), right);
}

/// The names of all that was seen in the last minutes, so that rows do not come and go.
fn of<'a>(server: &'a ServerState, prefix: &'a str) -> Vec<&'a str> {
    let all = server
        .points
        .iter()
        .flat_map(|point| named(&point.values, prefix));
    let used: BTreeSet<&str> = all
        .filter(|(_, value)| *value > 0.0)
        .map(|(name, _)| name)
        .collect();
    used.into_iter().take(ROWS_MAX).collect()
}

const ROWS_MAX: usize = 12;

fn last(server: &ServerState, name: &str) -> Option<f64> {
    server.points.back()?.values.get(name).copied()
}

fn kinds<'a>(server: &ServerState, look: Look, width: usize) -> Vec<Line<'a>> {
    let mut lines = vec![Line::styled(
        format!("{:<12} {:>7}", "ids", "per s"),
        look.head(false),
    )];
    for kind in of(server, "ids/") {
        let series = format!("ids/{kind}");
        let now = count(last(server, &series).unwrap_or(0.0));
        let text = format!("{:<12} {now:>7} ", fitted(kind, 12));
        lines.push(with_graph(text, server, &series, look, width));
    }
    lines
}

fn faces<'a>(server: &ServerState, look: Look, width: usize) -> Vec<Line<'a>> {
    let head = format!("{:<9} {:>7} {:>8} {:>8}", "face", "req/s", "p50", "p99");
    let mut lines = vec![Line::styled(head, look.head(false))];
    for face in of(server, "requests/") {
        let series = format!("requests/{face}");
        let time = |which: &str| last(server, &format!("{which}/{face}")).map_or("–".to_string(), micros);
        let text = format!(
            "{:<9} {:>7} {:>8} {:>8} ",
            fitted(face, 9),
            count(last(server, &series).unwrap_or(0.0)),
            time("p50_us"),
            time("p99_us")
        );
        lines.push(with_graph(text, server, &series, look, width));
    }
    lines
}

/// A row with the last minute of a series behind it, as far as there is room.
fn with_graph<'a>(text: String, server: &ServerState, series: &str, look: Look, width: usize) -> Line<'a> {
    let room = width.saturating_sub(text.chars().count());
    let graph = spark(server.series(series), room.min(GRAPH_MAX));
    Line::from(vec![Span::raw(text), Span::styled(graph, look.graph())])
}

/// A minute.
const GRAPH_MAX: usize = 60;

/// A short name of a kind or face, cut where somebody has long ones.
fn fitted(name: &str, width: usize) -> String {
    plain(name).chars().take(width).collect()
}
