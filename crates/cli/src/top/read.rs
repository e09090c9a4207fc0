//! What is read of servers: each by threads of its own, so that one that hangs keeps no other waiting.

use std::collections::HashMap;
use std::io::{BufReader, Read};
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mintage_wire::{History, Op, PoolMap, Pools, Top};
use serde::de::DeserializeOwned;

use super::event::{Event, Page, PoolNow, Trouble};
use super::sse;
use crate::ask::Ask;
use crate::connect::{Client, Streamed, is_timeout};
use crate::errors::Failure;

/// Which sequences are wanted, of which server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Wanted {
    pub(super) server: usize,
    pub(super) by: &'static str,
    pub(super) contains: String,
    /// The row that is looked at.
    pub(super) row: usize,
}

/// What is wanted now, as the readers see it.
#[derive(Clone, Default)]
pub(super) struct Wish(Arc<(Mutex<Wanted>, Condvar)>);

impl Wish {
    /// Wants something; who reads it begins at once if it is something else than before.
    pub(super) fn set(&self, wanted: Wanted) {
        let mut now = self.get();
        if *now != wanted {
            *now = wanted;
            self.0.1.notify_all();
        }
    }

    fn get(&self) -> MutexGuard<'_, Wanted> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is wanted, once it is of this server and either new or some time old.
    fn next(&self, server: usize, done: Option<&Wanted>) -> Wanted {
        let mut wanted = self.get();
        if done == Some(&*wanted) {
            let waited = self.0.1.wait_timeout(wanted, EVERY);
            wanted = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        while wanted.server != server {
            wanted = self.0.1.wait(wanted).unwrap_or_else(PoisonError::into_inner);
        }
        wanted.clone()
    }
}

/// Reads a server until nobody wants to hear of it: its seconds. After a failure it tries again.
pub(super) fn follow(client: &Client, mut tell: impl FnMut(Result<&str, Trouble>) -> ControlFlow<()>) {
    loop {
        let mut is_told = ControlFlow::Continue(());
        let ended = live(client, |data| {
            is_told = tell(Ok(data));
            is_told
        });
        if is_told.is_break() {
            return;
        }
        // One that ends in good order is asked again at once: so it was agreed.
        let Err(trouble) = ended else { continue };
        let pause = if trouble.is_refusal { RETRY_REFUSED } else { RETRY };
        if tell(Err(trouble)).is_break() {
            return;
        }
        thread::sleep(pause);
    }
}

/// The events of one connection; an error if there was none, or it broke.
fn live(client: &Client, mut each: impl FnMut(&str) -> ControlFlow<()>) -> Result<(), Trouble> {
    let body = match client.streamed(&Ask::new(Op::WatchLive, &[]), BEGINS, ENDS) {
        Ok(Streamed::Body(body)) => body,
        Ok(Streamed::Refused(status, text)) => return Err(refusal(client, status, &text)),
        Err(failure) => return Err(trouble(failure)),
    };
    let mut events = BufReader::new(body);
    let mut has_told = false;
    loop {
        match sse::next(&mut events) {
            Ok(Some(data)) => {
                has_told = true;
                if each(&data).is_break() {
                    return Ok(());
                }
            }
            // Its time is over, as it always is after a while.
            Err(error) if has_told && is_timeout(&error) => return Ok(()),
            Ok(None) => return Err(broken("the server ended the connection")),
            Err(error) => return Err(broken(&format!("the connection broke: {error}"))),
        }
    }
}

fn broken(message: &str) -> Trouble {
    Trouble {
        message: message.into(),
        hint: None,
        is_refusal: false,
    }
}

fn refusal(client: &Client, status: u16, text: &str) -> Trouble {
    let said = trouble(client.said_no(status, text));
    match status {
        404 => Trouble {
            message: "this server does not tell how it fares: it has no /v1/live".into(),
            hint: Some("it is older than this command: mint status asks any server".into()),
            is_refusal: true,
        },
        // Too many of something, or not now.
        429 | 500.. => said,
        _ => Trouble {
            is_refusal: true,
            ..said
        },
    }
}

fn trouble(failure: Failure) -> Trouble {
    match failure {
        Failure::Said { message, hint, .. } => Trouble {
            message,
            hint,
            is_refusal: false,
        },
        _ => broken("no answer"),
    }
}

/// Reads a server's seconds, as events.
pub(super) fn frames(client: &Client, server: usize, mut tell: impl FnMut(Event) -> ControlFlow<()>) {
    follow(client, |told| {
        let event = match told.map(serde_json::from_str) {
            Ok(Ok(frame)) => Event::Frame(server, frame),
            Ok(Err(_)) => Event::Trouble(server, Trouble::not_a_frame()),
            Err(trouble) => Event::Trouble(server, trouble),
        };
        tell(event)
    });
}

/// Reads, again and again, what is wanted of a server beside its seconds.
pub(super) fn look(
    client: &Client,
    server: usize,
    wish: &Wish,
    mut tell: impl FnMut(Event) -> ControlFlow<()>,
) {
    let mut asker = Asker::new(client);
    let mut has_history = false;
    let mut done = None;
    loop {
        let wanted = wish.next(server, done.as_ref());
        done = Some(wanted.clone());
        let history = if has_history { None } else { asker.history() };
        has_history |= history.is_some();
        let history = history.map(|history| Event::History(server, history));
        let page = asker.page(&wanted).map(|page| Event::Sequences(server, page));
        if history.into_iter().chain(page).try_for_each(&mut tell).is_break() {
            return;
        }
        if let Some(pools) = asker.pools()
            && tell(Event::Pools(server, pools)).is_break()
        {
            return;
        }
    }
}

/// Asks a server, but for a while not for what it does not know: that would be counted as refused requests.
pub(super) struct Asker<'a> {
    client: &'a Client,
    unknown_until: HashMap<Op, Instant>,
}

impl<'a> Asker<'a> {
    pub(super) fn new(client: &'a Client) -> Self {
        Asker {
            client,
            unknown_until: HashMap::new(),
        }
    }

    /// The last minutes.
    pub(super) fn history(&mut self) -> Option<History> {
        self.ask(&Ask::new(Op::ShowHistory, &[]))
    }

    /// The sequences that are wanted.
    pub(super) fn page(&mut self, wanted: &Wanted) -> Option<Page> {
        // The row, what is around it on a large screen, and as much again.
        let offset = (wanted.row / PAGE_ROWS).saturating_sub(1) * PAGE_ROWS;
        let contains = Some(&wanted.contains).filter(|contains| !contains.is_empty());
        let ask_top = Ask::new(Op::ListTop, &[])
            .with("by", wanted.by)
            .with_if("contains", contains)
            .with("offset", offset)
            .with("limit", 4 * PAGE_ROWS);
        let top: Top = self.ask(&ask_top)?;
        Some(Page { offset, top })
    }

    /// The first pools, with the windows that last.
    pub(super) fn pools(&mut self) -> Option<Vec<PoolNow>> {
        let pools: Pools = self.ask(&Ask::new(Op::ListPools, &[]).with("limit", POOLS_MAX))?;
        let names = pools.pools.iter().map(|pool| pool.name.as_str());
        Some(names.filter_map(|name| self.pool(name)).collect())
    }

    fn pool(&mut self, name: &str) -> Option<PoolNow> {
        let map: PoolMap = self.ask(&Ask::new(Op::ShowPoolMap, &[name]).with("limit", WINDOWS_MAX))?;
        let mut windows = map.windows;
        windows.retain(|window| window.until_ms > map.now_ms && window.is != "earlier");
        // Its own first.
        windows.sort_by_key(|window| (!window.ours, window.worker));
        Some(PoolNow {
            name: map.name,
            now_ms: map.now_ms,
            window_ms: map.window_ms,
            windows,
        })
    }

    /// What a server answers, if it does: that it does not is told by who reads its seconds.
    fn ask<T: DeserializeOwned>(&mut self, what: &Ask) -> Option<T> {
        if self
            .unknown_until
            .get(&what.op)
            .is_some_and(|until| Instant::now() < *until)
        {
            return None;
        }
        match self.client.streamed(what, BEGINS, BEGINS).ok()? {
            Streamed::Body(body) => serde_json::from_reader(BufReader::new(body.take(ANSWER_MAX_BYTES))).ok(),
            Streamed::Refused(status, _) => {
                if status == 404 {
                    self.unknown_until.insert(what.op, Instant::now() + RETRY_UNKNOWN);
                }
                None
            }
        }
    }
}

/// A server that has not begun to answer by then is taken for down.
const BEGINS: Duration = Duration::from_secs(5);

/// After so long a connection is made anew: one whose other end has vanished would tell nothing for ever.
const ENDS: Duration = Duration::from_secs(60);

/// A page has some hundred kilobytes.
const ANSWER_MAX_BYTES: u64 = 16 << 20;

/// An older server may be replaced.
const RETRY_UNKNOWN: Duration = Duration::from_secs(60);

const RETRY: Duration = Duration::from_secs(1);

const RETRY_REFUSED: Duration = Duration::from_secs(10);

/// How often sequences and pools are read.
const EVERY: Duration = Duration::from_secs(2);

const PAGE_ROWS: usize = 50;

const POOLS_MAX: usize = 8;

const WINDOWS_MAX: usize = 200;
