//! The screen, as a function of the state.

use mintage_wire::Frame as Second;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::event::Trouble;
use super::look::Look;
use super::state::{Pane, ServerState, State, rows};
use super::text::{count, offset, plain, span, time_of_day};
use super::{help, pools, sequences, servers, traffic};

/// Fills the screen.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State) {
    let look = Look::new(state.color);
    let area = frame.area();
    if state.help {
        return help::draw(frame, area, look);
    }
    let server = state.server();
    let is_one = state.servers.len() == 1;
    let head = head(state, look, area.width);
    let (head_rows, traffic_rows) = (head.len() as u16, traffic::height(server, area.width));
    let server_rows = if is_one {
        0
    } else {
        (state.servers.len() as u16 + 2).min(area.height / 3)
    };
    let window_rows = pools::height(server);
    // What a small screen has room for: sequences first, then what passes through, then pools.
    let fixed = head_rows + server_rows + 1;
    let left = area.height.saturating_sub(fixed + SEQUENCES_MIN);
    let traffic_rows = traffic_rows.min(left);
    let window_rows = match state.once {
        true => window_rows,
        false => window_rows
            .min(left.saturating_sub(traffic_rows))
            .min(area.height / 3),
    };
    let sequence_rows = match state.once {
        true => Constraint::Length(u16::try_from(rows(server)).unwrap_or(u16::MAX).clamp(1, 20) + 1),
        false => Constraint::Min(0),
    };
    let [top, all, middle, table, bottom, foot] = Layout::vertical([
        Constraint::Length(head_rows),
        Constraint::Length(server_rows),
        Constraint::Length(traffic_rows),
        sequence_rows,
        Constraint::Length(window_rows),
        Constraint::Length(u16::from(!state.once)),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(head), top);
    if !is_one {
        servers::draw(frame, all, state, look);
    }
    traffic::draw(frame, middle, server, look);
    sequences::draw(frame, table, state, look);
    pools::draw(frame, bottom, state, look);
    frame.render_widget(Paragraph::new(keys(state, look, foot)), foot);
}

/// As many rows of sequences there are, if there is any room at all.
const SEQUENCES_MIN: u16 = 5;

/// Who it is, how its store is, and what it says; of a server that is silent, why.
fn head<'a>(state: &State, look: Look, width: u16) -> Vec<Line<'a>> {
    let (server, (_, now_ms)) = (state.server(), state.shown());
    let silence = server.silence(now_ms);
    let now = server.frame.as_ref().filter(|_| silence.is_none());
    let mut lines = flowing(title(server, now, state, look), width);
    match (silence, now) {
        (Some((silent_ms, trouble)), _) => lines.extend(silent(silent_ms, trouble, look, width)),
        (None, Some(frame)) => {
            lines.extend(flowing(store(frame, look), width));
            lines.extend(said(frame, look, width));
        }
        (None, None) => lines.push(Line::styled("waiting for the first second …", look.dim())),
    }
    lines
}

fn silent<'a>(silent_ms: i64, trouble: Option<&Trouble>, look: Look, width: u16) -> Vec<Line<'a>> {
    let since = format!("no answer for {}", span(silent_ms as f64 / 1000.0));
    let text = match trouble {
        None => format!("{since}: it sends nothing"),
        Some(trouble) if trouble.is_refusal => plain(&trouble.message),
        Some(trouble) => format!("{since}: {}", plain(&trouble.message)),
    };
    let mut lines = wrapped(&text, look.bad(), width);
    if let Some(hint) = trouble.and_then(|trouble| trouble.hint.as_deref()) {
        lines.extend(wrapped(&plain(hint), look.dim(), width));
    }
    lines
}

/// The server's own sentences: what is news apart, the others together.
fn said<'a>(frame: &Second, look: Look, width: u16) -> Vec<Line<'a>> {
    let mut news = Vec::new();
    if let Some(stopped) = &frame.store.stopped {
        news.push((format!("stopped for good: {}", plain(stopped)), look.bad()));
    }
    if let Some(left_s) = frame.rehearsal_left_s {
        let left = span(left_s as f64);
        news.push((
            format!("rehearsal: the store is treated as if it were away, for {left} more"),
            look.warn(),
        ));
    }
    let says = &frame.says;
    let is_down = frame.store.stopped.is_some() || !frame.store.status.up;
    let mut calm = vec![plain(&says.well)];
    // What servers say where there is nothing to say.
    let sentences = [
        (
            &says.wrong,
            says.wrong == "Nothing is wrong.",
            if is_down { look.bad() } else { look.warn() },
        ),
        (
            &says.ends,
            says.ends.starts_with("Nothing ends within"),
            look.warn(),
        ),
    ];
    for (text, is_calm, style) in sentences {
        match is_calm || text.is_empty() {
            true => calm.push(plain(text)),
            false => news.push((plain(text), style)),
        }
    }
    calm.retain(|text| !text.is_empty());
    let mut lines = match calm.is_empty() {
        true => Vec::new(),
        false => wrapped(&calm.join(" "), look.good(), width),
    };
    lines.extend(news.iter().flat_map(|(text, style)| wrapped(text, *style, width)));
    lines
}

fn title<'a>(server: &ServerState, now: Option<&Second>, state: &State, look: Look) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    if let Some(paused) = &state.paused {
        let text = format!(" paused at {} UTC ", time_of_day(paused.now_ms));
        parts.push(vec![Span::styled(text, look.marked())]);
    }
    if let Some(frame) = &server.frame {
        parts.push(vec![Span::styled(plain(&frame.server), look.strong())]);
    }
    if let Some(frame) = now {
        let up_s = (frame.at_ms - frame.started_ms) as f64 / 1000.0;
        let all = server.sums("ids/").next_back().unwrap_or(0.0);
        parts.push(vec![Span::styled(format!("{} ids/s", count(all)), look.strong())]);
        parts.push(vec![Span::raw(format!("mint {}", plain(&frame.version)))]);
        parts.push(vec![Span::raw(format!("up {}", span(up_s)))]);
    }
    parts.push(vec![Span::styled(plain(&server.url), look.dim())]);
    parts
}

fn store<'a>(frame: &Second, look: Look) -> Vec<Part<'a>> {
    let store = &frame.store;
    let is = match (store.status.up, store.status.down_s) {
        (true, _) => Span::styled("up", look.good()),
        (false, None) => Span::styled("down", look.bad()),
        (false, Some(down_s)) => Span::styled(format!("down for {}", span(down_s as f64)), look.bad()),
    };
    let kind = format!("store {} ({}) ", plain(&store.scheme), plain(&store.class));
    let mut parts = vec![vec![Span::raw(kind), is]];
    if let Some(left_s) = store.status.budget_left_s {
        let style = if store.status.up {
            look.plain()
        } else {
            look.warn()
        };
        let first = store.status.first_to_end.as_ref();
        let first = first.map_or(String::new(), |first| format!(" (first {})", plain(&first.name)));
        let left = Span::styled(span(left_s as f64), style);
        parts.push(vec![Span::raw("budget "), left, Span::raw(first)]);
    }
    let last = |name| frame.series.get(name).copied();
    if let Some(offset_s) = last("clock_offset_s") {
        let style = if offset_s.abs() < 1.0 {
            look.plain()
        } else {
            look.warn()
        };
        parts.push(vec![Span::raw("clock "), Span::styled(offset(offset_s), style)]);
    }
    if let Some(lost) = last("lost").filter(|lost| *lost > 0.0) {
        parts.push(vec![Span::raw(format!("lost {}", count(lost)))]);
    }
    parts
}

/// What stays together on a line.
type Part<'a> = Vec<Span<'a>>;

/// Parts over as many lines as they take, two at most.
fn flowing<'a>(parts: Vec<Part<'a>>, width: u16) -> Vec<Line<'a>> {
    let mut lines = vec![Line::default()];
    for part in parts {
        let line = lines.last_mut().expect("there is one from the start");
        let part_width: usize = part.iter().map(Span::width).sum();
        match line.width() {
            0 => line.spans = part,
            before if before + 2 + part_width > usize::from(width) => lines.push(Line::from(part)),
            _ => {
                line.push_span("  ");
                line.extend(part);
            }
        }
    }
    lines.truncate(2);
    lines
}

/// A sentence over as many lines as it takes, three at most.
fn wrapped<'a>(text: &str, style: ratatui::style::Style, width: u16) -> Vec<Line<'a>> {
    let width = usize::from(width).max(1);
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one from the start");
        let both = Line::raw(line.as_str()).width() + 1 + Line::raw(word).width();
        match line.is_empty() {
            true => line.push_str(word),
            false if both > width => lines.push(word.to_string()),
            false => {
                line.push(' ');
                line.push_str(word);
            }
        }
    }
    lines
        .into_iter()
        .take(3)
        .map(|line| Line::styled(line, style))
        .collect()
}

fn keys<'a>(state: &State, look: Look, area: Rect) -> Line<'a> {
    if state.is_typing {
        return Line::from(vec![
            Span::styled("filter: ", look.strong()),
            Span::raw(plain(&state.filter)),
            Span::styled(" ", look.marked()),
            Span::styled("  Enter keeps it, Esc removes it", look.dim()),
        ]);
    }
    let pane = match state.pane {
        Pane::Servers => "servers",
        Pane::Sequences => "sequences",
        Pane::Pools => "pools",
    };
    let text = match area.width {
        ..60 => format!("q quit  ? help  ↑↓ Tab: {pane}"),
        _ => format!("q quit  ? help  ↑↓ {pane}  Tab next  s sort  / filter  p pause"),
    };
    Line::styled(text, look.dim())
}
