//! The screen on a terminal: it is drawn anew with every event, and taken back however it ends.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::draw::draw;
use super::event::Event;
use super::read::{Wanted, Wish, frames, look};
use super::state::State;
use crate::connect::Client;
use crate::errors::Failure;

/// Shows servers until somebody leaves.
pub(super) fn run(urls: &[String], clients: Vec<Arc<Client>>, color: bool) -> Result<(), Failure> {
    let stop = stopped_by_signals()?;
    let mut state = State::new(urls.iter().cloned(), color);
    let wish = Wish::default();
    wish.set(wanted(&state));
    let events = read(clients, &wish);
    // From here on a panic takes the screen back, too.
    let mut terminal = ratatui::try_init().map_err(no_screen)?;
    let done = show(&mut terminal, &mut state, &events, &wish, &stop);
    let restored = ratatui::try_restore();
    done?;
    restored.map_err(no_screen)?;
    match state.refused() {
        Some(trouble) => Err(Failure::cannot(&trouble.message).with_hint_if(trouble.hint.as_ref())),
        None => Ok(()),
    }
}

fn no_screen(error: io::Error) -> Failure {
    Failure::cannot(format_args!("cannot use this terminal: {error}"))
        .with_hint("--once prints one screen as text, --json a line a second")
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    state: &mut State,
    events: &Receiver<Event>,
    wish: &Wish,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    while !state.over && !stop.load(Relaxed) && state.refused().is_none() {
        state.now_ms = now_ms();
        terminal.draw(|frame| draw(frame, state)).map_err(no_screen)?;
        // Ages grow without events, too.
        match events.recv_timeout(TICK) {
            Ok(event) => {
                state.now_ms = now_ms();
                state.happened(event);
                // What has gathered is drawn once.
                events.try_iter().take(64).for_each(|event| state.happened(event));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        wish.set(wanted(state));
    }
    Ok(())
}

/// What is to be read for what is shown.
pub(super) fn wanted(state: &State) -> Wanted {
    Wanted {
        server: state.selected,
        by: state.sort.name(),
        contains: state.filter.clone(),
        row: state.row,
    }
}

fn read(clients: Vec<Arc<Client>>, wish: &Wish) -> Receiver<Event> {
    let (send, events) = sync_channel(256);
    for (at, client) in clients.into_iter().enumerate() {
        let (other, wish, tell, told) = (Arc::clone(&client), wish.clone(), teller(&send), teller(&send));
        thread::spawn(move || frames(&client, at, tell));
        thread::spawn(move || look(&other, at, &wish, told));
    }
    thread::spawn(move || keys(teller(&send)));
    events
}

/// Passes events on, until nobody listens.
fn teller(send: &SyncSender<Event>) -> impl FnMut(Event) -> ControlFlow<()> + use<> {
    let send = send.clone();
    move |event| match send.send(event) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    }
}

fn keys(mut tell: impl FnMut(Event) -> ControlFlow<()>) {
    use crossterm::event::Event as Input;
    loop {
        let event = match crossterm::event::read() {
            Ok(Input::Key(key)) => Event::Key(key),
            Ok(Input::Resize(..)) => Event::Resized,
            Ok(_) => continue,
            Err(_) => Event::Gone,
        };
        let is_gone = matches!(event, Event::Gone);
        if tell(event).is_break() || is_gone {
            return;
        }
    }
}

/// Set by whatever asks this process to end; Ctrl-C is a key here.
fn stopped_by_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in signal_hook::consts::TERM_SIGNALS {
        if *signal == signal_hook::consts::SIGQUIT {
            continue;
        }
        signal_hook::flag::register(*signal, Arc::clone(&stop))
            .map_err(|error| Failure::cannot(format_args!("cannot listen to signals: {error}")))?;
    }
    Ok(stop)
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

const TICK: Duration = Duration::from_millis(500);
