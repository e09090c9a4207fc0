//! All that is on the screen, and what events and keys make of it.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use mintage_wire::{Frame, History};

use super::event::{Event, Page, PoolNow, Trouble};

/// All that is on the screen.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) servers: Vec<ServerState>,
    /// The server whose sequences and pools are shown.
    pub(super) selected: usize,
    pub(super) pane: Pane,
    pub(super) sort: Sort,
    /// Only names with this in them.
    pub(super) filter: String,
    pub(super) is_typing: bool,
    pub(super) help: bool,
    /// The row of the sequences that is marked, and the first window that is shown.
    pub(super) row: usize,
    pub(super) window: usize,
    /// What was there when it was paused.
    pub(super) paused: Option<Box<Paused>>,
    /// Now, in milliseconds since 1970.
    pub(super) now_ms: i64,
    pub(super) color: bool,
    /// One screen that is printed: neither keys nor a mark, and as many rows as there are.
    pub(super) once: bool,
    pub(super) over: bool,
}

/// What was there when it was paused.
#[derive(Clone, Debug)]
pub(super) struct Paused {
    pub(super) servers: Vec<ServerState>,
    pub(super) now_ms: i64,
}

/// What is known of a server.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerState {
    pub(super) url: String,
    pub(super) frame: Option<Frame>,
    /// When its last frame came, by our clock.
    pub(super) heard_ms: Option<i64>,
    /// Why it does not tell, and since when.
    pub(super) trouble: Option<(Trouble, i64)>,
    pub(super) points: VecDeque<Point>,
    pub(super) page: Option<Page>,
    pub(super) pools: Vec<PoolNow>,
}

/// The values of a second.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) at_ms: i64,
    pub(super) values: BTreeMap<String, f64>,
}

/// What the arrow keys move in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pane {
    Servers,
    Sequences,
    Pools,
}

/// The order of the sequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sort {
    Rate,
    Ends,
    Lost,
    Last,
    Name,
}

impl Sort {
    pub(super) const ALL: [Sort; 5] = [Sort::Rate, Sort::Ends, Sort::Lost, Sort::Last, Sort::Name];

    /// What servers call it, and people read.
    pub(super) fn name(self) -> &'static str {
        match self {
            Sort::Rate => "rate",
            Sort::Ends => "ends",
            Sort::Lost => "lost",
            Sort::Last => "last",
            Sort::Name => "name",
        }
    }

    fn next(self) -> Sort {
        let at = Sort::ALL.iter().position(|sort| *sort == self).unwrap_or(0);
        Sort::ALL[(at + 1) % Sort::ALL.len()]
    }
}

/// A server that has sent nothing for so long is silent: it sends something every second.
pub(super) const SILENT_MS: i64 = 4_000;

/// As many seconds are kept.
const POINTS_MAX: usize = 600;

impl ServerState {
    /// How long it has told nothing, in milliseconds, with the reason where one is known.
    pub(super) fn silence(&self, now_ms: i64) -> Option<(i64, Option<&Trouble>)> {
        match (&self.trouble, self.heard_ms) {
            // It may have been silent before the connection broke.
            (Some((trouble, since)), heard) => {
                let since = heard.map_or(*since, |heard| heard.min(*since));
                Some((now_ms - since, Some(trouble)))
            }
            (None, Some(heard)) if now_ms - heard >= SILENT_MS => Some((now_ms - heard, None)),
            _ => None,
        }
    }

    /// The last values of a series, the oldest first.
    pub(super) fn series<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = f64> + 'a {
        self.points
            .iter()
            .map(|point| point.values.get(name).copied().unwrap_or(0.0))
    }

    /// The sums of all series that begin so, the oldest first.
    pub(super) fn sums<'a>(&'a self, prefix: &'a str) -> impl DoubleEndedIterator<Item = f64> + 'a {
        let sum = |values: &BTreeMap<String, f64>| named(values, prefix).map(|(_, value)| value).sum();
        self.points.iter().map(move |point| sum(&point.values))
    }

    fn second(&mut self, frame: Frame, now_ms: i64) {
        self.trouble = None;
        self.heard_ms = Some(now_ms);
        // After a new connection the last second may come again.
        if self.points.back().is_none_or(|point| point.at_ms < frame.at_ms) {
            self.points.push_back(Point {
                at_ms: frame.at_ms,
                values: frame.series.clone(),
            });
            if self.points.len() > POINTS_MAX {
                self.points.pop_front();
            }
        }
        self.frame = Some(frame);
    }

    /// What was before the first frame.
    fn before(&mut self, history: &History) {
        let first_ms = self.points.front().map_or(i64::MAX, |point| point.at_ms);
        let length = history
            .series
            .values()
            .map(Vec::len)
            .max()
            .unwrap_or(0)
            .min(POINTS_MAX);
        for back in 0..length {
            let at_ms = history.until_ms - back as i64 * i64::from(history.step_s) * 1000;
            // Frames end at other parts of a second than points may.
            if at_ms > first_ms - 500 {
                continue;
            }
            let value = |(name, values): (&String, &Vec<Option<f32>>)| {
                let at = values.len().checked_sub(back + 1)?;
                Some((name.clone(), f64::from(values[at]?)))
            };
            let values = history.series.iter().filter_map(value).collect();
            self.points.push_front(Point { at_ms, values });
        }
        while self.points.len() > POINTS_MAX {
            self.points.pop_front();
        }
    }
}

/// The values whose names begin so, by the rest of their names.
pub(super) fn named<'a>(
    values: &'a BTreeMap<String, f64>,
    prefix: &'a str,
) -> impl Iterator<Item = (&'a str, f64)> {
    let from = values.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
    let named = from.map_while(move |(name, value)| Some((name.strip_prefix(prefix)?, *value)));
    named.filter(|(_, value)| value.is_finite())
}

impl State {
    pub(super) fn new(urls: impl IntoIterator<Item = String>, color: bool) -> State {
        let server = |url| ServerState {
            url,
            ..ServerState::default()
        };
        State {
            servers: urls.into_iter().map(server).collect(),
            selected: 0,
            pane: Pane::Sequences,
            sort: Sort::Rate,
            filter: String::new(),
            is_typing: false,
            help: false,
            row: 0,
            window: 0,
            paused: None,
            now_ms: 0,
            color,
            once: false,
            over: false,
        }
    }

    /// The servers as they are shown, and the time that is.
    pub(super) fn shown(&self) -> (&[ServerState], i64) {
        match &self.paused {
            Some(paused) => (&paused.servers, paused.now_ms),
            None => (&self.servers, self.now_ms),
        }
    }

    /// The one whose sequences and pools are shown.
    pub(super) fn server(&self) -> &ServerState {
        &self.shown().0[self.selected]
    }

    /// Whether no server tells anything, and waiting does not help: why.
    pub(super) fn refused(&self) -> Option<&Trouble> {
        let refusal = |server: &ServerState| {
            let is_refused = server
                .trouble
                .as_ref()
                .is_some_and(|(trouble, _)| trouble.is_refusal);
            is_refused && server.frame.is_none()
        };
        let all = self.servers.iter().all(refusal);
        self.servers
            .first()?
            .trouble
            .as_ref()
            .map(|(trouble, _)| trouble)
            .filter(|_| all)
    }

    pub(super) fn happened(&mut self, event: Event) {
        let now_ms = self.now_ms;
        match event {
            Event::Frame(at, frame) => self.servers[at].second(*frame, now_ms),
            Event::History(at, history) => self.servers[at].before(&history),
            Event::Sequences(at, page) => {
                self.servers[at].page = Some(page);
                self.stay_inside();
            }
            Event::Pools(at, pools) => {
                self.servers[at].pools = pools;
                self.stay_inside();
            }
            Event::Trouble(at, trouble) => {
                let server = &mut self.servers[at];
                let since = server.trouble.take().map_or(now_ms, |(_, since)| since);
                server.trouble = Some((trouble, since));
            }
            Event::Key(key) => self.pressed(key),
            Event::Resized => {}
            Event::Gone => self.over = true,
        }
    }

    fn pressed(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            match key.code {
                KeyCode::Char('c' | 'd') => self.over = true,
                KeyCode::Char('u') if self.is_typing => self.filter_by(String::new()),
                _ => {}
            }
            return;
        }
        if self.is_typing {
            return self.typed(key.code);
        }
        if self.help {
            self.help = false;
            // What closes it does nothing else, but for leaving.
            self.over = key.code == KeyCode::Char('q');
            return;
        }
        match key.code {
            KeyCode::Char('q') => self.over = true,
            KeyCode::Esc if !self.filter.is_empty() => self.filter_by(String::new()),
            KeyCode::Char('?' | 'h') => self.help = true,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char('p' | ' ') => self.pause(),
            KeyCode::Char('s') => self.sort_by(self.sort.next()),
            KeyCode::Char('r') => self.sort_by(Sort::Rate),
            KeyCode::Char('e') => self.sort_by(Sort::Ends),
            KeyCode::Char('l') => self.sort_by(Sort::Lost),
            KeyCode::Char('t') => self.sort_by(Sort::Last),
            KeyCode::Char('n') => self.sort_by(Sort::Name),
            KeyCode::Tab | KeyCode::Right => self.turn(1),
            KeyCode::BackTab | KeyCode::Left => self.turn(-1),
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step(-PAGE_ROWS),
            KeyCode::PageDown => self.step(PAGE_ROWS),
            KeyCode::Home => self.step(isize::MIN),
            KeyCode::End => self.step(isize::MAX),
            _ => {}
        }
    }

    fn typed(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter_by(String::new());
            }
            KeyCode::Backspace => {
                let mut filter = self.filter.clone();
                filter.pop();
                self.filter_by(filter);
            }
            KeyCode::Char(character) if self.filter.len() < FILTER_MAX_BYTES => {
                self.filter_by(format!("{}{character}", self.filter));
            }
            _ => {}
        }
    }

    fn filter_by(&mut self, filter: String) {
        self.filter = filter;
        self.row = 0;
    }

    fn sort_by(&mut self, sort: Sort) {
        self.sort = sort;
        self.row = 0;
    }

    fn pause(&mut self) {
        self.paused = match self.paused {
            Some(_) => None,
            None => Some(Box::new(Paused {
                servers: self.servers.clone(),
                now_ms: self.now_ms,
            })),
        };
    }

    fn turn(&mut self, by: isize) {
        let panes = match self.servers.len() {
            1 => &[Pane::Sequences, Pane::Pools][..],
            _ => &[Pane::Servers, Pane::Sequences, Pane::Pools][..],
        };
        let at = panes.iter().position(|pane| *pane == self.pane).unwrap_or(0);
        let next = (at as isize + by).rem_euclid(panes.len() as isize);
        self.pane = panes[next as usize];
    }

    fn step(&mut self, by: isize) {
        match self.pane {
            Pane::Servers => {
                let last = self.servers.len() - 1;
                let selected = self.selected.saturating_add_signed(by).min(last);
                if selected != self.selected {
                    (self.selected, self.row, self.window) = (selected, 0, 0);
                }
            }
            Pane::Sequences => self.row = self.row.saturating_add_signed(by),
            Pane::Pools => self.window = self.window.saturating_add_signed(by),
        }
        self.stay_inside();
    }

    /// Rows may have gone.
    fn stay_inside(&mut self) {
        let server = self.server();
        let (rows, windows) = (
            rows(server),
            server.pools.iter().map(|pool| pool.windows.len()).sum::<usize>(),
        );
        self.row = self.row.min(rows.saturating_sub(1));
        self.window = self.window.min(windows.saturating_sub(1));
    }
}

/// How many sequences there are to show.
pub(super) fn rows(server: &ServerState) -> usize {
    match (&server.page, &server.frame) {
        (Some(page), _) => usize::try_from(page.top.total).unwrap_or(usize::MAX),
        (None, Some(frame)) => frame.busiest.len(),
        (None, None) => 0,
    }
}

const PAGE_ROWS: isize = 10;

/// Names are no longer.
const FILTER_MAX_BYTES: usize = 200;
