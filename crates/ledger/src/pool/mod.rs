//! Pools: worker ids for time-ordered ids, held as windows of id-time (design: the one idea).
//!
//! | file | what |
//! | --- | --- |
//! | `window` | the rules: lengths, choice, the stored record |
//! | `keeper` | the one task per pool that acquires, renews and gives back |

mod keeper;
mod window;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwapOption;
use mintage::{Clock, Layout, MintError, Snowflake, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::context::Context;
use crate::error::LedgerError;
use crate::name::Name;
use crate::store::{Key, Value};
use window::Lengths;

/// A pool of workers over one layout; this process holds one window of it and mints from one shared generator
/// (protocol W9). Thread-safe.
#[derive(Debug)]
pub struct Pool {
    name: Name,
    layout: Arc<Layout>,
    context: Arc<Context>,
    lengths: Lengths,
    generator: ArcSwapOption<Snowflake>,
    /// Why there is no generator, and how often the keeper has tried.
    status: Mutex<Status>,
    /// The keeper tried once more.
    tried: Notify,
    /// The keeper is wanted now.
    wanted: Notify,
    started: AtomicBool,
    stop: AtomicBool,
    /// The keeper has ended.
    ended: Notify,
    until: AtomicU64,
}

#[derive(Debug, Default)]
struct Status {
    failure: Option<LedgerError>,
    ended: bool,
}

/// What a pool is and what this process holds of it.
#[derive(Clone, PartialEq, Debug)]
pub struct PoolInfo {
    /// Its name.
    pub name: Name,
    /// Its layout's name.
    pub layout: String,
    /// The worker this process holds, if any.
    pub worker: Option<u64>,
    /// Until when this process may mint without asking the store again.
    pub until: Option<Timestamp>,
}

/// The stored body of a pool; it has no mark.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoolBody {
    pub kind: String,
    pub preset: String,
    pub layout: String,
}

impl PoolBody {
    pub(crate) fn value(&self, token: u128) -> Value {
        let body = serde_json::to_string(self).expect("plain fields always serialise");
        Value { mark: 0, token, body }
    }
}

pub(crate) fn key(name: &Name) -> Key {
    Key::new(format!("pool/{name}")).expect("names are within the key grammar")
}

impl Pool {
    pub(crate) fn new(context: Arc<Context>, name: Name, layout: Arc<Layout>) -> Pool {
        let lengths = Lengths::new(&layout, context.settings.window, context.settings.max_ahead);
        Pool {
            name,
            layout,
            context,
            lengths,
            generator: ArcSwapOption::empty(),
            status: Mutex::new(Status::default()),
            tried: Notify::new(),
            wanted: Notify::new(),
            started: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            ended: Notify::new(),
            until: AtomicU64::new(0),
        }
    }

    /// The pool's name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The layout of its ids.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Fills `out` from memory with strictly increasing ids; answers how many (at least 1), or why not. No
    /// lock, no allocation, no I/O.
    ///
    /// # Errors
    /// [`MintError::Closed`] when no window is held; otherwise what the generator says.
    pub fn try_mint(&self, out: &mut [u64]) -> Result<usize, MintError> {
        match &*self.generator.load() {
            Some(generator) => generator.mint_many(self.context.clock.now(), out),
            None => Err(MintError::Closed),
        }
    }

    /// Fills all of `out`, waiting for a window, or for the clock where ids would run too far ahead of it.
    ///
    /// # Errors
    /// No window can be had, or the layout's time field is full.
    pub async fn mint(self: &Arc<Self>, out: &mut [u64]) -> Result<(), LedgerError> {
        let mut done = 0;
        let mut waits = 0u32;
        while done < out.len() {
            match self.try_mint(&mut out[done..]) {
                Ok(minted) => done += minted,
                Err(MintError::TooFarAhead { .. }) if waits < WAITS_MAX => {
                    waits += 1;
                    self.context.runtime.sleep(self.layout.tick().max(WAIT_MIN)).await;
                }
                Err(MintError::TooFarAhead { .. }) => {
                    return Err(LedgerError::Unavailable {
                        message: format!(
                            "pool {} is asked for more ids than its layout has per second",
                            self.name
                        ),
                        retry_after_s: 1,
                    });
                }
                Err(MintError::TimeFieldFull) => {
                    return Err(LedgerError::TimeFieldFull {
                        name: self.name.clone(),
                    });
                }
                Err(_) => self.window().await?,
            }
        }
        Ok(())
    }

    /// Waits until the keeper has a window or has failed to get one.
    async fn window(self: &Arc<Self>) -> Result<(), LedgerError> {
        if let Some(error) = self.context.store.stopped() {
            return Err(LedgerError::Stopped(error));
        }
        if self.context.closing.load(Ordering::Acquire) {
            return Err(LedgerError::Closing);
        }
        let tried = self.tried.notified();
        tokio::pin!(tried);
        tried.as_mut().enable();
        self.start();
        self.wanted.notify_one();
        tried.await;
        match &self.status.lock().expect("no panic while held").failure {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Starts the keeper, once.
    fn start(self: &Arc<Self>) {
        if !self.started.swap(true, Ordering::AcqRel) {
            let pool = Arc::clone(self);
            self.context.runtime.spawn(Box::pin(pool.keep()));
        }
    }

    /// Drops what is held and takes another window (this instance was lost: protocol R4).
    pub(crate) fn drop_window(&self) {
        if let Some(generator) = self.generator.swap(None) {
            generator.close();
        }
        self.wanted.notify_one();
    }

    /// Ends the keeper, which gives the window back where the store allows it.
    pub(crate) async fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        if !self.started.load(Ordering::Acquire) {
            return;
        }
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.status.lock().expect("no panic while held").ended {
                return;
            }
            self.wanted.notify_one();
            ended.await;
        }
    }

    /// What the pool is and what this process holds of it.
    pub fn info(&self) -> PoolInfo {
        let generator = self.generator.load();
        PoolInfo {
            name: self.name.clone(),
            layout: self.layout.name().to_string(),
            worker: generator.as_ref().map(|generator| generator.worker()),
            until: generator
                .as_ref()
                .map(|generator| self.layout.time_of(generator.until_tick())),
        }
    }
}

/// How often a mint waits for the clock before it gives up.
const WAITS_MAX: u32 = 5_000;
/// The shortest such wait.
const WAIT_MIN: std::time::Duration = std::time::Duration::from_millis(1);
