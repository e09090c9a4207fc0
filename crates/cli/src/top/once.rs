//! One screen as text.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use mintage_wire::{Op, Ready};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use super::draw::draw;
use super::event::Event;
use super::read::{Asker, Wanted, frames};
use super::screen::now_ms;
use super::state::State;
use crate::ask::Ask;
use crate::connect::Client;
use crate::errors::Failure;
use crate::out::Out;

/// Prints the first second that each server tells, and fails where the first one gives out nothing.
pub(super) fn run(urls: &[String], clients: &[Arc<Client>], out: &mut Out) -> Result<(), Failure> {
    let mut state = State::new(urls.iter().cloned(), false);
    state.once = true;
    let events = read(clients);
    let until = Instant::now() + WAIT;
    let is_known = |state: &State| {
        let mut servers = state.servers.iter();
        servers.all(|server| server.frame.is_some() || server.trouble.is_some())
    };
    while !is_known(&state) {
        let left = until.saturating_duration_since(Instant::now());
        let Ok(event) = events.recv_timeout(left) else {
            break;
        };
        state.now_ms = now_ms();
        state.happened(event);
    }
    if let (1, Some((trouble, _))) = (state.servers.len(), &state.servers[0].trouble) {
        let said = Failure::cannot(&trouble.message).with_hint_if(trouble.hint.as_ref());
        return Err(said.negative());
    }
    if state.servers[0].frame.is_some() {
        let wanted = Wanted {
            by: state.sort.name(),
            ..Wanted::default()
        };
        let mut asker = Asker::new(&clients[0]);
        let events = [
            asker.history().map(|history| Event::History(0, history)),
            asker.page(&wanted).map(|page| Event::Sequences(0, page)),
            asker.pools().map(|pools| Event::Pools(0, pools)),
        ];
        events
            .into_iter()
            .flatten()
            .for_each(|event| state.happened(event));
    }
    state.now_ms = now_ms();
    for line in text(&state) {
        out.line(line)?;
    }
    out.flush()?;
    match is_ready(&clients[0]) {
        true => Ok(()),
        false => Err(Failure::Negative),
    }
}

fn read(clients: &[Arc<Client>]) -> Receiver<Event> {
    let (send, events) = sync_channel(clients.len());
    for (at, client) in clients.iter().enumerate() {
        let (client, send) = (Arc::clone(client), send.clone());
        thread::spawn(move || {
            frames(&client, at, |event| {
                // The first is enough.
                let _ = send.send(event);
                ControlFlow::Break(())
            });
        });
    }
    events
}

/// What `mint status` goes by.
fn is_ready(client: &Client) -> bool {
    let answer = client.answer(&Ask::new(Op::Readyz, &[]));
    let ready = answer
        .ok()
        .and_then(|(_, text)| serde_json::from_str::<Ready>(&text).ok());
    ready.is_some_and(|ready| ready.ready)
}

/// The lines of a screen.
fn text(state: &State) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(COLUMNS, ROWS)).unwrap_or_else(|never| match never {});
    terminal
        .draw(|frame| draw(frame, state))
        .unwrap_or_else(|never| match never {});
    rows(terminal.backend().buffer())
}

/// The rows of a screen as text, without what is blank at their ends and at the end of all.
pub(super) fn rows(buffer: &Buffer) -> Vec<String> {
    let rows = buffer.content.chunks(usize::from(buffer.area.width));
    let text = |row: &[ratatui::buffer::Cell]| {
        let mut text = String::new();
        let mut hidden = 0;
        for cell in row {
            // Behind a wide character stands a cell that it covers.
            if hidden > 0 {
                hidden -= 1;
                continue;
            }
            text.push_str(cell.symbol());
            hidden = ratatui::text::Span::raw(cell.symbol()).width().saturating_sub(1);
        }
        text.trim_end().to_string()
    };
    let mut rows: Vec<String> = rows.map(text).collect();
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

/// The first second comes within one.
const WAIT: Duration = Duration::from_secs(8);

const COLUMNS: u16 = 100;

/// Enough for twenty sequences, and the windows of some pools.
const ROWS: u16 = 80;
