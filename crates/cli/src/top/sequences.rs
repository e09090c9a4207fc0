//! The table of sequences.

use mintage_wire::{Busy, TopSequence};
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table};

use super::event::Page;
use super::look::Look;
use super::state::{Pane, Sort, State, rows};
use super::text::{YEAR_S, count, plain, span, spark};

/// What a column shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Name,
    Last,
    Rate,
    Recent,
    Stock,
    Ends,
    Lost,
}

impl Column {
    /// Those that there is room for.
    fn of(width: u16) -> &'static [Column] {
        use Column::*;
        match width {
            100.. => &[Name, Last, Rate, Recent, Stock, Ends, Lost],
            72.. => &[Name, Last, Rate, Recent, Stock, Ends],
            56.. => &[Name, Last, Rate, Stock],
            _ => &[Name, Last, Rate],
        }
    }

    fn head(self) -> &'static str {
        match self {
            Column::Name => "sequences",
            Column::Last => "last",
            Column::Rate => "per s",
            Column::Recent => "recent",
            Column::Stock => "stock lasts",
            Column::Ends => "ends in",
            Column::Lost => "lost",
        }
    }

    /// The order in which it comes first.
    fn sort(self) -> Option<Sort> {
        match self {
            Column::Name => Some(Sort::Name),
            Column::Last => Some(Sort::Last),
            Column::Rate => Some(Sort::Rate),
            Column::Ends => Some(Sort::Ends),
            Column::Lost => Some(Sort::Lost),
            Column::Recent | Column::Stock => None,
        }
    }

    fn constraint(self, width: u16, last_width: u16) -> Constraint {
        match self {
            Column::Name => Constraint::Fill(1),
            Column::Last => Constraint::Length(last_width),
            Column::Rate => Constraint::Length(6),
            Column::Recent => Constraint::Length(recent_width(width) as u16),
            Column::Stock | Column::Ends => Constraint::Length(12),
            Column::Lost => Constraint::Length(6),
        }
    }
}

/// What the last numbers of some rows take: the largest number there is has 19 digits.
fn last_width(page: Option<&Page>, first: usize, room: usize) -> u16 {
    let rows = page.map_or(&[][..], |page| &page.top.sequences);
    let from = first.saturating_sub(page.map_or(0, |page| page.offset));
    let digits = rows
        .iter()
        .skip(from)
        .take(room)
        .filter_map(|row| Some(row.sequence.last?.0.to_string().len()));
    digits.max().unwrap_or(0).max(8) as u16
}

fn recent_width(width: u16) -> usize {
    match width {
        140.. => 30,
        100.. => 18,
        _ => 8,
    }
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, look: Look) {
    if area.is_empty() {
        return;
    }
    let server = state.server();
    let all = rows(server);
    let room = usize::from(area.height).saturating_sub(1);
    // The marked row is in sight, and in the middle where it can be.
    let first = state.row.saturating_sub(room / 2).min(all.saturating_sub(room));
    let columns = Column::of(area.width);
    let last_width = last_width(server.page.as_ref(), first, room);
    let has_keys = state.pane == Pane::Sequences && !state.once;
    let row = |at: usize| {
        let cells: Vec<Cell<'_>> = match (&server.page, &server.frame) {
            (Some(page), _) => match at
                .checked_sub(page.offset)
                .and_then(|at| page.top.sequences.get(at))
            {
                Some(sequence) => columns
                    .iter()
                    .map(|column| cell(sequence, *column, area.width, look))
                    .collect(),
                None => vec![Cell::from("…")],
            },
            (None, Some(frame)) => {
                let busy = frame.busiest.get(at);
                busy.map_or(Vec::new(), |busy| {
                    columns.iter().map(|column| busy_cell(busy, *column)).collect()
                })
            }
            (None, None) => Vec::new(),
        };
        let style = if has_keys && at == state.row {
            look.marked()
        } else {
            look.plain()
        };
        Row::new(cells).style(style)
    };
    let heads = columns.iter().map(|column| {
        let text = head(state, *column, all);
        match column {
            Column::Name | Column::Recent => Cell::from(text),
            _ => Cell::from(Line::raw(text).right_aligned()),
        }
    });
    let table = Table::new(
        (first..all.min(first + room)).map(row),
        columns
            .iter()
            .map(|column| column.constraint(area.width, last_width)),
    )
    .header(Row::new(heads).style(look.head(has_keys)));
    frame.render_widget(table, area);
    if all == 0 && room > 0 {
        let text = match (&server.frame, state.filter.is_empty()) {
            (None, _) => "",
            (Some(_), true) => "no sequence yet: mint seq next orders makes one",
            (Some(_), false) => "no name has this in it",
        };
        let below = Rect {
            y: area.y + 1,
            height: 1,
            ..area
        };
        frame.render_widget(Paragraph::new(text).style(look.dim()), below);
    }
}

/// The column's head, marked where it says the order; of the first one, also how many there are and which.
fn head(state: &State, column: Column, all: usize) -> String {
    let mark = if column.sort() == Some(state.sort) {
        "▾"
    } else {
        ""
    };
    if column != Column::Name {
        return format!("{}{mark}", column.head());
    }
    let filter = match state.filter.as_str() {
        "" => String::new(),
        filter => format!(" with {}", plain(filter)),
    };
    let count = match all {
        // Nobody has told.
        0 if state.server().frame.is_none() => "sequences".to_string(),
        1 => "1 sequence".to_string(),
        all => format!("{all} sequences"),
    };
    format!("{count}{filter}{mark}")
}

fn cell<'a>(of: &TopSequence, column: Column, width: u16, look: Look) -> Cell<'a> {
    let sequence = &of.sequence;
    let right = |text: String| Cell::from(Line::raw(text).right_aligned());
    match column {
        Column::Name => Cell::from(plain(&sequence.name)),
        Column::Last => right(sequence.last.map_or("–".to_string(), |last| last.0.to_string())),
        Column::Rate => right(of.per_second.map_or("–".to_string(), count)),
        Column::Recent => {
            let graph = spark(
                of.recent.iter().map(|value| f64::from(*value)),
                recent_width(width),
            );
            Cell::from(Span::styled(graph, look.graph()))
        }
        Column::Stock => right(match (of.stock_s, of.stock) {
            (Some(seconds), _) => span(seconds),
            (None, Some(stock)) => format!("{} left", count(stock as f64)),
            (None, None) => "–".to_string(),
        }),
        Column::Ends => {
            let (text, near) = ends(of);
            let style = if near { look.bad() } else { look.plain() };
            Cell::from(Line::styled(text, style).right_aligned())
        }
        Column::Lost => right(of.lost.map_or("–".to_string(), |lost| count(lost as f64))),
    }
}

/// What is known where the server has no table of sequences.
fn busy_cell<'a>(busy: &Busy, column: Column) -> Cell<'a> {
    let right = |text: String| Cell::from(Line::raw(text).right_aligned());
    match column {
        Column::Name => Cell::from(plain(&busy.name)),
        Column::Rate => right(count(busy.per_second)),
        Column::Stock => right(busy.left_s.map_or("–".to_string(), span)),
        _ => Cell::from(""),
    }
}

/// The next limit ahead, and whether it is near.
fn ends(of: &TopSequence) -> (String, bool) {
    let ends = of.sequence.forecast.iter().flat_map(|forecast| &forecast.ends);
    // What is past and meant to be is no news.
    let news = ends.filter(|ending| ending.near || ending.at.is_some());
    match news.min_by(|a, b| a.years.total_cmp(&b.years)) {
        None => ("–".to_string(), false),
        Some(ending) if ending.at.is_none() => ("passed".to_string(), true),
        Some(ending) => (span(ending.years * YEAR_S), ending.near),
    }
}
