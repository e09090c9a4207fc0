//! The windows of pools: how much of each is left.

use mintage_wire::MapWindow;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Row, Table};

use super::event::PoolNow;
use super::look::Look;
use super::state::{Pane, ServerState, State};
use super::text::{bar, plain, span};

/// How many rows all of it takes.
pub(super) fn height(server: &ServerState) -> u16 {
    match windows(server).count() {
        0 => 0,
        windows => u16::try_from(windows).unwrap_or(u16::MAX - 1).min(u16::MAX - 1) + 1,
    }
}

fn windows(server: &ServerState) -> impl Iterator<Item = (&PoolNow, &MapWindow)> {
    let of = |pool| std::iter::repeat(pool);
    server
        .pools
        .iter()
        .flat_map(move |pool| of(pool).zip(&pool.windows))
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, look: Look) {
    if area.is_empty() {
        return;
    }
    let server = state.server();
    let all = windows(server).count();
    let room = usize::from(area.height).saturating_sub(1);
    let first = state.window.min(all.saturating_sub(room));
    let bar_width = match area.width {
        100.. => 30,
        60.. => 16,
        _ => 8,
    };
    let has_keys = state.pane == Pane::Pools && !state.once;
    let rows = windows(server).skip(first).take(room);
    let rows = rows.map(|(pool, window)| row(pool, window, bar_width, look));
    let what = match all {
        0 => "pools".to_string(),
        1 => "pool: 1 window".to_string(),
        all => format!("pool: {all} windows"),
    };
    let heads = [
        what,
        "worker".into(),
        "left".into(),
        String::new(),
        "holder".into(),
    ];
    let widths = [
        Constraint::Fill(2),
        Constraint::Length(6),
        Constraint::Length(bar_width as u16),
        Constraint::Length(16),
        Constraint::Fill(3),
    ];
    let table = Table::new(rows, widths).header(Row::new(heads).style(look.head(has_keys)));
    frame.render_widget(table, area);
}

fn row<'a>(pool: &PoolNow, window: &MapWindow, bar_width: usize, look: Look) -> Row<'a> {
    let left_ms = (window.until_ms - pool.now_ms) as f64;
    let part = left_ms / pool.window_ms.max(1) as f64;
    let (style, said) = match window.is.as_str() {
        "parked" => (look.bad(), "parked "),
        "released" => (look.dim(), "released "),
        _ if part < 0.1 => (look.warn(), ""),
        _ => (look.good(), ""),
    };
    let ours = if window.ours { ", this server" } else { "" };
    Row::new([
        Cell::from(plain(&pool.name)),
        Cell::from(Line::raw(window.worker.to_string()).right_aligned()),
        Cell::from(Span::styled(bar(part, bar_width), style)),
        Cell::from(Line::raw(format!("{said}{}", span(left_ms / 1000.0))).right_aligned()),
        Cell::from(format!("{}{ours}", plain(&window.name))),
    ])
}
