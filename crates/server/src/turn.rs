//! Taking turns on one thread.
//!
//! All connections of a thread share its time. What a connection may do at a time, however much it has sent, is a
//! *turn*: `server.turn_ids` ids or `server.turn_us` microseconds. Then others come first: whatever has arrived for
//! them is read and answered, and of several that want another turn one goes on. So a client that asks for little
//! waits for one turn at most, however many ask for much.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use mintage::{GenOptions, Id};

use crate::error::Answer;
use crate::formats::FormatRow;
use crate::metrics::FaceId;
use crate::thread::ServingThread;

/// Completes when every other task that is ready now has had its turn.
///
/// Connections call this between reading and writing. So all that are ready read first, then all write: a client
/// with many connections is woken once, not once for each, and finds all its answers.
pub(crate) async fn after_the_others() {
    let mut waited = false;
    poll_fn(|cx: &mut Context<'_>| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        // To the end of this thread's queue, without a detour through the I/O driver.
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// One connection's turn.
#[derive(Debug)]
pub(crate) struct Turn {
    thread: Rc<ServingThread>,
    /// In boot time.
    began: Duration,
    /// Ids that this thread had given out.
    ids_before: u64,
    /// When the requests arrived that are being answered, in boot time.
    arrived: Duration,
    /// How many of them have been.
    answered: u64,
}

impl Turn {
    pub(crate) fn begin(thread: &Rc<ServingThread>) -> Turn {
        let now = mintage::boottime();
        Turn {
            began: now,
            arrived: now,
            answered: 0,
            ids_before: thread.counters().all_ids(),
            thread: Rc::clone(thread),
        }
    }

    /// Begins again, after the connection has waited for its client.
    pub(crate) fn begin_again(&mut self) {
        self.renew();
        self.arrived = self.began;
    }

    fn renew(&mut self) {
        self.began = mintage::boottime();
        self.ids_before = self.thread.counters().all_ids();
    }

    /// Whether it is used up.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over_at(mintage::boottime())
    }

    /// Counts requests of those that arrived together as answered.
    #[inline]
    pub(crate) fn answered(&mut self, count: u64) {
        self.answered += count;
    }

    /// Lets others come first before answers are sent: those that are ready, or all if this turn is over. It goes on over
    /// as many rounds as the client has requests for.
    pub(crate) async fn give_way_after_all(&mut self, face: FaceId) {
        match self.is_over_after_all(face) {
            true => self.give_way().await,
            false => after_the_others().await,
        }
    }

    /// Whether it is used up, once all that arrived has been answered: notes how long that took. One look at the clock
    /// serves both, however many requests there were.
    fn is_over_after_all(&mut self, face: FaceId) -> bool {
        let now = mintage::boottime();
        let took = now.saturating_sub(self.arrived);
        let count = std::mem::take(&mut self.answered);
        self.thread.counters().answered(face, count, took);
        self.arrived = now;
        self.is_over_at(now)
    }

    fn is_over_at(&self, now: Duration) -> bool {
        let config = self.thread.config();
        let ids = self.thread.counters().all_ids().wrapping_sub(self.ids_before);
        let spent = now.saturating_sub(self.began);
        ids >= config.turn_ids || spent.as_micros() >= u128::from(config.turn_us)
    }

    /// Lets the others come first, then begins another one.
    pub(crate) async fn give_way(&mut self) {
        {
            let _first = self.thread.lane().acquire().await;
            // Unlike a wake-up, this lets the thread look for what has arrived. Who is next in the lane goes on after
            // another such look.
            tokio::task::yield_now().await;
        }
        self.renew();
    }

    /// The same if it is used up: what long work calls between its parts.
    pub(crate) async fn give_way_if_over(&mut self) {
        if self.is_over() {
            self.give_way().await;
        }
    }
}

/// How many bytes of answers are written before a turn's budget is looked at again: it is kept to within these, and
/// no request pays for a look at the clock.
pub(crate) const LOOK_BYTES: usize = 4096;

/// How many ids are made or written at a time: one clock reading and one draw of randomness for each, and in the
/// slowest format 40 microseconds.
pub(crate) const SLICE: usize = 64;

/// Makes any number of ids of a format that core makes alone, in turns with the other connections of this thread.
///
/// # Errors
/// As [`FormatRow::make`]; ids that were made before are used up.
pub(crate) async fn make_in_turns(
    thread: &Rc<ServingThread>,
    row: &FormatRow,
    options: &GenOptions,
    count: usize,
) -> Answer<Vec<Id>> {
    row.check_answer(options, count)?;
    let mut turn = Turn::begin(thread);
    let mut ids = Vec::with_capacity(count);
    while ids.len() < count {
        ids.extend(thread.make(row, options, SLICE.min(count - ids.len()))?);
        turn.give_way_if_over().await;
    }
    Ok(ids)
}
