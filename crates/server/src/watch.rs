//! Deadlines of connections, without a timer per request.
//!
//! A connection notes what it waits for and since which tick; one task per thread looks at all of them four
//! times a second and tells those that waited too long. Setting a deadline costs two plain stores.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::sync::Notify;

use crate::error::Code;

/// How often deadlines are looked at; they are kept to within this.
pub const TICK: Duration = Duration::from_millis(250);

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// Its first byte.
    FirstByte,
    /// The next request.
    Request,
    /// The rest of a request.
    Rest,
    /// The client to read answers.
    Writing,
    /// Nothing: a request is being answered.
    Nothing,
}

/// How long a connection may wait for each thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deadlines {
    /// For its first byte.
    pub first_byte: Option<Duration>,
    /// For the next request.
    pub request: Option<Duration>,
    /// For the rest of a request.
    pub rest: Option<Duration>,
    /// For the client to read answers.
    pub writing: Option<Duration>,
    /// For the client to say who it is, from its beginning on; `None` where it need not.
    pub authentication: Option<Duration>,
}

impl Deadlines {
    fn of(&self, waiting: Waiting) -> Option<Duration> {
        match waiting {
            Waiting::FirstByte => self.first_byte,
            Waiting::Request => self.request,
            Waiting::Rest => self.rest,
            Waiting::Writing => self.writing,
            Waiting::Nothing => None,
        }
    }
}

/// Why a connection must end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It waited too long.
    Late(Code),
    /// The server stops: answer what was read, then close.
    Stopping,
    /// The server stops at once.
    Now,
}

/// One connection, as the sweep sees it.
#[derive(Debug)]
pub struct Watch {
    waiting: Cell<Waiting>,
    since: Cell<u32>,
    began: u32,
    /// It is known who it is.
    known: Rc<Cell<bool>>,
    wrong_tokens: Cell<u64>,
    now: Rc<Cell<u32>>,
    deadlines: Deadlines,
    verdict: Cell<Option<Verdict>>,
    waker: RefCell<Option<Waker>>,
}

impl Watch {
    /// Notes what the connection waits for from now on. Waiting on for the same thing keeps the old deadline.
    #[inline]
    pub fn wait_for(&self, waiting: Waiting) {
        if self.waiting.replace(waiting) != waiting {
            self.since.set(self.now.get());
        }
    }

    /// What the connection waits for.
    pub fn waiting(&self) -> Waiting {
        self.waiting.get()
    }

    /// Why the connection must end, if it must. The task is woken when that changes.
    #[inline]
    pub fn verdict(&self, cx: &Context<'_>) -> Option<Verdict> {
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|w| w.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        self.verdict.get()
    }

    /// Why the connection must end, without being woken.
    pub fn peek(&self) -> Option<Verdict> {
        self.verdict.get()
    }

    fn judge(&self, verdict: Verdict) {
        self.verdict.set(Some(verdict));
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Notes that it is known who the client is.
    pub fn authenticated(&self) {
        self.known.set(true);
    }

    /// Whether it is known who the client is.
    pub fn is_authenticated(&self) -> bool {
        self.known.get()
    }

    /// Notes that the client has shown a wrong token.
    pub fn wrong_token(&self) {
        self.wrong_tokens.set(self.wrong_tokens.get() + 1);
    }

    /// How many wrong tokens the client has shown.
    pub fn wrong_tokens(&self) -> u64 {
        self.wrong_tokens.get()
    }

    /// Ends the connection: a part of it has waited too long.
    pub fn is_late(&self, code: Code) {
        self.judge(Verdict::Late(code));
    }

    fn look(&self) {
        let late = |limit: Duration, since: u32| {
            // The tick in which waiting began may be almost over: one more is needed to be sure.
            let ticks = limit.as_millis().div_ceil(TICK.as_millis()) + 1;
            u128::from(self.now.get().wrapping_sub(since)) >= ticks
        };
        let unknown = self.deadlines.authentication.filter(|_| !self.known.get());
        if unknown.is_some_and(|limit| late(limit, self.began)) {
            return self.judge(Verdict::Late(Code::Unauthenticated));
        }
        let Some(limit) = self.deadlines.of(self.waiting.get()) else {
            return;
        };
        if late(limit, self.since.get()) {
            let code = match self.waiting.get() {
                Waiting::Writing => Code::SlowReader,
                Waiting::Rest => Code::RequestTimeout,
                _ => Code::IdleTimeout,
            };
            self.judge(Verdict::Late(code));
        }
    }
}

/// All connections of one thread.
#[derive(Debug, Default)]
pub struct Watches {
    now: Rc<Cell<u32>>,
    slots: RefCell<Vec<Option<Rc<Watch>>>>,
    free: RefCell<Vec<usize>>,
    stopping: Cell<Option<Verdict>>,
    arrived: Notify,
    left: Notify,
}

/// A connection's place in the sweep, until dropped.
#[derive(Debug)]
pub struct WatchedConnection {
    watches: Rc<Watches>,
    slot: usize,
    watch: Rc<Watch>,
}

impl std::ops::Deref for WatchedConnection {
    type Target = Rc<Watch>;

    fn deref(&self) -> &Rc<Watch> {
        &self.watch
    }
}

impl Drop for WatchedConnection {
    fn drop(&mut self) {
        self.watches.slots.borrow_mut()[self.slot] = None;
        self.watches.free.borrow_mut().push(self.slot);
        self.watches.left.notify_waiters();
    }
}

impl Watches {
    /// Begins to watch a connection that waits for its first byte.
    pub fn add(self: &Rc<Self>, deadlines: Deadlines) -> WatchedConnection {
        self.add_part(deadlines, Rc::default())
    }

    /// Begins to watch a part of a connection by itself: what is known of the one is known of the other.
    pub fn add_part_of(self: &Rc<Self>, whole: &Watch, deadlines: Deadlines) -> WatchedConnection {
        self.add_part(deadlines, Rc::clone(&whole.known))
    }

    fn add_part(self: &Rc<Self>, deadlines: Deadlines, known: Rc<Cell<bool>>) -> WatchedConnection {
        let watch = Rc::new(Watch {
            waiting: Cell::new(Waiting::FirstByte),
            since: Cell::new(self.now.get()),
            began: self.now.get(),
            known,
            wrong_tokens: Cell::new(0),
            now: self.now.clone(),
            deadlines,
            verdict: Cell::new(self.stopping.get()),
            waker: RefCell::new(None),
        });
        let mut slots = self.slots.borrow_mut();
        let slot = self.free.borrow_mut().pop().unwrap_or_else(|| {
            slots.push(None);
            slots.len() - 1
        });
        slots[slot] = Some(watch.clone());
        self.arrived.notify_one();
        WatchedConnection {
            watches: self.clone(),
            slot,
            watch,
        }
    }

    /// How many connections are watched.
    pub fn count(&self) -> usize {
        self.slots.borrow().len() - self.free.borrow().len()
    }

    /// Looks at all connections for ever, four times a second, and then calls `besides`; rests while there are none
    /// and `besides` has answered that it need not be called.
    pub async fn sweep(&self, besides: impl Fn() -> bool) {
        let mut again = false;
        loop {
            if self.count() == 0 && !again {
                self.arrived.notified().await;
            }
            tokio::time::sleep(TICK).await;
            self.tick();
            again = besides();
        }
    }

    fn tick(&self) {
        self.now.set(self.now.get().wrapping_add(1));
        for watch in self.all() {
            if watch.verdict.get().is_none() {
                watch.look();
            }
        }
    }

    /// Ends those connections, of those meant, that have waited longest for their clients to read: so many, and a quarter of
    /// all that wait. How long it takes grows with the number of connections: not for every answer.
    pub fn cut_off_slowest(&self, least: usize, meant: impl Fn(&Watch) -> bool) {
        let mut slow: Vec<(Rc<Watch>, u32)> = self.slow(meant).collect();
        slow.sort_by_key(|(_, ticks)| std::cmp::Reverse(*ticks));
        slow.truncate(least.max(slow.len() / 4));
        let slow = slow.into_iter();
        slow.for_each(|(watch, _)| watch.judge(Verdict::Late(Code::SlowReader)));
    }

    /// Ends all connections, of those meant, that have waited so long for their clients to read.
    pub fn cut_off_slow(&self, limit: Duration, meant: impl Fn(&Watch) -> bool) {
        let slow = self.slow(meant).filter(|(_, ticks)| TICK * *ticks > limit);
        slow.for_each(|(watch, _)| watch.judge(Verdict::Late(Code::SlowReader)));
    }

    /// Those that wait for their clients to read, and for how many ticks.
    fn slow(&self, meant: impl Fn(&Watch) -> bool) -> impl Iterator<Item = (Rc<Watch>, u32)> {
        let now = self.now.get();
        let slow = self.all().into_iter().filter(move |watch| {
            watch.waiting.get() == Waiting::Writing
                && !matches!(watch.verdict.get(), Some(Verdict::Late(_)))
                && meant(watch)
        });
        slow.map(move |watch| {
            let ticks = now.wrapping_sub(watch.since.get());
            (watch, ticks)
        })
    }

    /// Tells all connections, and those yet to come, that the server stops.
    pub fn stop(&self, verdict: Verdict) {
        self.stopping.set(Some(verdict));
        for watch in self.all() {
            watch.judge(verdict);
        }
    }

    /// Waits until no connection is left.
    pub async fn empty(&self) {
        loop {
            let left = self.left.notified();
            if self.count() == 0 {
                return;
            }
            left.await;
        }
    }

    /// A copy, since waking may end connections and change the slots.
    fn all(&self) -> Vec<Rc<Watch>> {
        self.slots.borrow().iter().flatten().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deadlines(ms: u64) -> Deadlines {
        let limit = Some(Duration::from_millis(ms));
        Deadlines {
            first_byte: limit,
            request: None,
            rest: limit,
            writing: limit,
            authentication: None,
        }
    }

    #[test]
    fn who_does_not_say_who_it_is_is_late_whatever_it_does() {
        for known in [false, true] {
            let watches = Rc::new(Watches::default());
            let watch = watches.add(Deadlines {
                authentication: Some(Duration::from_millis(500)),
                ..deadlines(600_000)
            });
            watch.wait_for(Waiting::Nothing);
            if known {
                watch.authenticated();
            }
            let judged = ticks_until_judged(&watches, &watch);
            let late = (3, Verdict::Late(Code::Unauthenticated));
            assert_eq!(judged, (!known).then_some(late));
        }
    }

    #[test]
    fn of_those_that_do_not_read_the_one_that_waited_longest_goes_first() {
        let watches = Rc::new(Watches::default());
        let all = [(); 3].map(|()| watches.add(deadlines(600_000)));
        for watch in &all[1..] {
            watch.wait_for(Waiting::Writing);
            watches.tick();
        }
        watches.cut_off_slowest(1, |_| true);
        let late = || all.each_ref().map(|watch| watch.peek().is_some());
        assert_eq!(late(), [false, true, false]);
        watches.cut_off_slowest(1, |_| true);
        assert_eq!(late(), [false, true, true]);
        watches.cut_off_slowest(1, |_| true);
        assert_eq!(late(), [false, true, true]);
    }

    #[test]
    fn only_those_are_cut_off_that_are_meant_and_have_waited_so_long() {
        let watches = Rc::new(Watches::default());
        let all = [(); 3].map(|()| watches.add(deadlines(600_000)));
        all[0].authenticated();
        let part = watches.add_part_of(&all[0], deadlines(600_000));
        assert!(part.is_authenticated() && !all[1].is_authenticated());
        for (watch, ticks) in all.iter().zip([3, 0, 1]) {
            watch.wait_for(Waiting::Writing);
            (0..ticks).for_each(|_| watches.tick());
        }
        watches.cut_off_slow(TICK * 2, |watch| watch.is_authenticated());
        let late = || all.each_ref().map(|watch| watch.peek().is_some());
        assert_eq!(late(), [true, false, false]);
        watches.tick();
        watches.cut_off_slow(TICK, |watch| !watch.is_authenticated());
        assert_eq!(late(), [true, true, true]);
    }

    fn ticks_until_judged(watches: &Rc<Watches>, watch: &Watch) -> Option<(u32, Verdict)> {
        (1..100).find_map(|tick| {
            watches.tick();
            watch.peek().map(|verdict| (tick, verdict))
        })
    }

    #[test]
    fn who_waits_too_long_is_told_why() {
        for (waiting, code) in [
            (Waiting::FirstByte, Some(Code::IdleTimeout)),
            (Waiting::Rest, Some(Code::RequestTimeout)),
            (Waiting::Writing, Some(Code::SlowReader)),
            (Waiting::Request, None),
            (Waiting::Nothing, None),
        ] {
            let watches = Rc::new(Watches::default());
            let watch = watches.add(deadlines(1000));
            watch.wait_for(waiting);
            let judged = ticks_until_judged(&watches, &watch);
            assert_eq!(judged, code.map(|code| (5, Verdict::Late(code))), "{waiting:?}");
        }
    }

    #[test]
    fn waiting_on_for_the_same_thing_keeps_the_deadline() {
        let watches = Rc::new(Watches::default());
        let watch = watches.add(deadlines(1000));
        watch.wait_for(Waiting::Rest);
        watches.tick();
        watches.tick();
        watch.wait_for(Waiting::Rest);
        assert_eq!(
            ticks_until_judged(&watches, &watch).map(|(tick, _)| tick),
            Some(3)
        );
    }

    #[test]
    fn places_are_reused_and_stops_reach_latecomers() {
        let watches = Rc::new(Watches::default());
        drop(watches.add(deadlines(1)));
        let _second = watches.add(deadlines(1));
        assert_eq!((watches.count(), watches.slots.borrow().len()), (1, 1));
        watches.stop(Verdict::Stopping);
        assert_eq!(watches.add(deadlines(1)).peek(), Some(Verdict::Stopping));
    }
}
