//! Several servers: a row for each, and what they give out together.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Row, Table};

use super::look::Look;
use super::state::{Pane, ServerState, State, named};
use super::text::{count, micros, plain, span, spark};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, look: Look) {
    if area.is_empty() {
        return;
    }
    let (servers, now_ms) = state.shown();
    // The head and the sum.
    let room = usize::from(area.height).saturating_sub(2);
    let first = state
        .selected
        .saturating_sub(room / 2)
        .min(servers.len().saturating_sub(room));
    let has_keys = state.pane == Pane::Servers && !state.once;
    let is_wide = area.width >= 72;
    let graph_width = if area.width >= 110 { 30 } else { 10 };
    let rows = servers.iter().enumerate().skip(first).take(room);
    let rows = rows.map(|(at, server)| {
        let is_selected = at == state.selected;
        let row = row(server, now_ms, is_selected, is_wide, graph_width, look);
        row.style(if has_keys && is_selected {
            look.marked()
        } else {
            look.plain()
        })
    });
    let telling = servers.iter().filter(|server| is_telling(server, now_ms));
    let all: f64 = telling.clone().map(rate).sum();
    let told = telling.count();
    let sum = Row::new(cells(
        [
            Cell::from("  all"),
            Cell::from(Line::styled(count(all), look.strong()).right_aligned()),
            Cell::from(""),
            Cell::from(""),
            Cell::from(format!("{told} of {} answer", servers.len())),
        ],
        is_wide,
    ));
    let heads = ["  server", "ids/s", "", "p99", "store"].map(Cell::from);
    let widths = cells(
        [
            Constraint::Fill(2),
            Constraint::Length(6),
            Constraint::Length(graph_width as u16),
            Constraint::Length(8),
            Constraint::Fill(3),
        ],
        is_wide,
    );
    let table = Table::new(rows.chain([sum]), widths)
        .header(Row::new(cells(heads, is_wide)).style(look.head(has_keys)));
    frame.render_widget(table, area);
}

/// The graph and the times only where there is room.
fn cells<T>(all: [T; 5], is_wide: bool) -> Vec<T> {
    let place = |at: &usize| is_wide || !matches!(at, 2 | 3);
    all.into_iter()
        .enumerate()
        .filter(|(at, _)| place(at))
        .map(|(_, cell)| cell)
        .collect()
}

fn is_telling(server: &ServerState, now_ms: i64) -> bool {
    server.frame.is_some() && server.silence(now_ms).is_none()
}

fn rate(server: &ServerState) -> f64 {
    server.sums("ids/").next_back().unwrap_or(0.0)
}

fn row<'a>(
    server: &ServerState,
    now_ms: i64,
    is_selected: bool,
    is_wide: bool,
    graph_width: usize,
    look: Look,
) -> Row<'a> {
    let mark = if is_selected { "▸ " } else { "  " };
    let address = server.url.trim_start_matches("http://");
    let name = server.frame.as_ref().map_or(address, |frame| &frame.server);
    let name = Cell::from(format!("{mark}{}", plain(name)));
    if let Some((silent_ms, trouble)) = server.silence(now_ms) {
        let since = format!("no answer for {}", span(silent_ms as f64 / 1000.0));
        // The reason in short: the whole of it is shown where it is selected.
        let why = trouble.map(|trouble| plain(trouble.message.rsplit(": ").next().unwrap_or_default()));
        let text = match (trouble, why) {
            (Some(trouble), Some(why)) if trouble.is_refusal => why,
            (_, Some(why)) => format!("{since}: {why}"),
            (_, None) => since,
        };
        let is = Cell::from(Span::styled(text, look.bad()));
        return Row::new(cells(
            [name, Cell::from(""), Cell::from(""), Cell::from(""), is],
            is_wide,
        ));
    }
    let Some(frame) = &server.frame else {
        let is = Cell::from(Span::styled("…", look.dim()));
        return Row::new(cells(
            [name, Cell::from(""), Cell::from(""), Cell::from(""), is],
            is_wide,
        ));
    };
    let slowest = named(&frame.series, "p99_us/")
        .map(|(_, us)| us)
        .fold(0.0, f64::max);
    let graph = spark(server.sums("ids/"), graph_width);
    Row::new(cells(
        [
            name,
            Cell::from(Line::raw(count(rate(server))).right_aligned()),
            Cell::from(Span::styled(graph, look.graph())),
            Cell::from(Line::raw(micros(slowest)).right_aligned()),
            Cell::from(store(frame, look)),
        ],
        is_wide,
    ))
}

fn store<'a>(frame: &mintage_wire::Frame, look: Look) -> Line<'a> {
    let store = &frame.store;
    let is = match (&store.stopped, store.status.up, store.status.down_s) {
        (Some(_), _, _) => Span::styled("stopped for good", look.bad()),
        (None, true, _) => Span::styled("up", look.good()),
        (None, false, down_s) => {
            let down = down_s.map_or(String::new(), |down_s| format!(" for {}", span(down_s as f64)));
            Span::styled(format!("down{down}"), look.bad())
        }
    };
    let budget = store.status.budget_left_s;
    let budget = budget.map_or(String::new(), |left_s| format!(", {} left", span(left_s as f64)));
    let wrong = match frame.says.wrong.as_str() {
        "" | "Nothing is wrong." => String::new(),
        wrong => format!("  {}", plain(wrong)),
    };
    Line::from(vec![is, Span::raw(budget), Span::styled(wrong, look.warn())])
}
