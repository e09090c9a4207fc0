//! Taking turns on one thread.
//!
//! All connections of a thread share its time. What a connection may do at a time, however much it has sent, is a
//! *turn*: `server.turn_ids` ids, `server.turn_us` microseconds or `server.turn_bytes` bytes of answers, since sending them
//! takes the thread's time too and cannot be cut short. Then others come first: whatever has arrived for
//! them is read and answered, and of several that want another turn one goes on. So a client that asks for little
//! waits for one turn at most, however many ask for much.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use mintage::{GenOptions, Id, Run};

use crate::error::Answer;
use crate::formats::FormatRow;
use crate::metrics::FaceId;
use crate::noise::Asker;
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
pub struct Turn {
    thread: Rc<ServingThread>,
    /// In boot time.
    began: Duration,
    /// Ids that this thread had given out.
    ids_before: u64,
    /// When the requests arrived that are being answered, in boot time.
    arrived: Duration,
    /// How many of them have been.
    answered: u64,
    /// Whether it was used up by them.
    is_spent: bool,
}

impl Turn {
    /// The turn of a connection of this thread begins.
    pub fn begin(thread: &Rc<ServingThread>) -> Turn {
        let now = mintage::boottime();
        Turn {
            began: now,
            arrived: now,
            answered: 0,
            is_spent: false,
            ids_before: thread.counters().all_ids(),
            thread: Rc::clone(thread),
        }
    }

    /// When it began, in boot time.
    pub(crate) fn began(&self) -> Duration {
        self.began
    }

    /// Begins again, after the connection has waited for its client.
    pub(crate) fn begin_again(&mut self) {
        self.renew();
        self.arrived = self.began;
    }

    fn renew(&mut self) {
        self.is_spent = false;
        self.began = mintage::boottime();
        self.ids_before = self.thread.counters().all_ids();
    }

    /// Whether it is used up.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over_at(mintage::boottime(), 1)
    }

    /// Whether the time of so many turns is used up, or the ids of one.
    pub(crate) fn is_over_after(&self, turns: u64) -> bool {
        self.is_over_at(mintage::boottime(), turns)
    }

    /// Counts requests of those that arrived together as answered.
    #[inline]
    pub fn answered(&mut self, count: u64) {
        self.answered += count;
    }

    /// All that arrived has been answered: before it is sent, those that are ready come first. Nobody waits in the lane with
    /// answers in hand: who has been slow for once, as the whole thread may be, would wait for all that ask for much.
    pub async fn end_of_all(&mut self, face: FaceId) {
        self.is_spent = self.is_over_after_all(face);
        after_the_others().await;
    }

    /// Whether it was used up, and the client has not been waited for since: should more have arrived already, others come
    /// first. So it goes on over as many rounds as the client has requests for.
    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// Whether it is used up, once all that arrived has been answered: notes how long that took. One look at the clock
    /// serves both, however many requests there were.
    fn is_over_after_all(&mut self, face: FaceId) -> bool {
        let now = mintage::boottime();
        let took = now.saturating_sub(self.arrived);
        let count = std::mem::take(&mut self.answered);
        self.thread.counters().answered(face, count, took);
        self.arrived = now;
        self.is_over_at(now, 1)
    }

    fn is_over_at(&self, now: Duration, turns: u64) -> bool {
        let config = self.thread.config();
        let ids = self.thread.counters().all_ids().wrapping_sub(self.ids_before);
        let spent = now.saturating_sub(self.began);
        ids >= config.turn_ids || spent.as_micros() >= u128::from(config.turn_us * turns)
    }

    /// Lets the others come first, then begins another one.
    pub(crate) async fn give_way(&mut self) {
        {
            let _first = self.thread.lane().acquire().await;
            // Unlike a wake-up, this lets the thread look for what has arrived. Who is next in the lane goes on after
            // another such look.
            tokio::task::yield_now().await;
            // Those for whom something had arrived have read and answered it by now, and wait for each other before
            // they write: they would wait for this turn as well.
            after_the_others().await;
        }
        self.renew();
    }

    /// The same if it is used up: what long work calls between its parts.
    pub async fn give_way_if_over(&mut self) {
        if self.is_over() {
            self.give_way().await;
        }
    }
}

/// How many bytes of answers are written before a turn's budget is looked at again: it is kept to within these, and
/// no request pays for a look at the clock.
pub const LOOK_BYTES: usize = 4096;

/// How many ids are made or written at a time: one clock reading and one draw of randomness for each, and in the
/// slowest format 40 microseconds.
pub const SLICE: usize = 64;

/// Makes any number of ids of a format that core makes alone, handing them to `each` slice by slice, in turns with the other
/// connections of this thread.
///
/// # Errors
/// As [`FormatRow::make`]; ids that were made before are used up.
pub(crate) async fn make_in_turns(
    thread: &Rc<ServingThread>,
    row: &FormatRow,
    options: &GenOptions,
    count: usize,
    mut each: impl FnMut(&[Id]),
) -> Answer<()> {
    row.check_answer(options, count)?;
    let (mut turn, mut left) = (Turn::begin(thread), count);
    while left > 0 {
        turn.give_way_if_over().await;
        let ids = thread.make(row, options, SLICE.min(left)).await?;
        left -= ids.len();
        each(&ids);
    }
    Ok(())
}

/// How many bytes so many ids take until they have left, as they were made and as they are written: of `length` characters
/// each, if a request says so.
pub(crate) fn bytes_of_ids(count: u64, length: usize) -> u64 {
    count.saturating_mul(ID_BYTES.saturating_add(length as u64))
}

const ID_BYTES: u64 = 64;

/// Up to here an answer is made without asking for room: it has room where any answer has.
pub(crate) const SMALL_BYTES: u64 = 16 * 1024;

/// Takes exactly `count` numbers of a sequence, handing them to `each` run by run, in turns with the other connections of
/// this thread; makes the sequence as [`Door::take`](crate::service::Door::take) does.
///
/// # Errors
/// What stopped it; runs handed out before are used up.
pub(crate) async fn take_in_turns(
    thread: &Rc<ServingThread>,
    name: &[u8],
    count: u64,
    by: &Asker<'_>,
    mut each: impl FnMut(Run),
) -> Answer<()> {
    let (mut turn, mut left) = (None, count);
    while left > 0 {
        let part = left.min(thread.config().turn_ids);
        if let Some(run) = thread.try_take(name, part) {
            left -= run.count;
            each(run);
        } else {
            let mut runs = Vec::new();
            thread.take(name, part, by, |run| runs.push(run)).await?;
            if part > SLICE as u64 {
                // All that waited for the same block go on at the same time: one after the other, and others in between.
                Turn::begin(thread).give_way().await;
            }
            runs.into_iter().for_each(&mut each);
            left -= part;
        }
        if left > 0 {
            let turn = turn.get_or_insert_with(|| Turn::begin(thread));
            turn.give_way_if_over().await;
        }
    }
    Ok(())
}
