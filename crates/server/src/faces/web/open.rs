//! A connection over HTTP/2 and its streams: what they share, and which of them begins next.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::Semaphore;

use super::frames::Frames;
use crate::held::TotalBytes;
use crate::thread::{ServingThread, UNREAD_OF_ONE_BYTES};
use crate::turn::{Turn, after_the_others};
use crate::watch::{Waiting, Watch};

/// How many turns' time the streams of a connection have together: it goes on while other connections are served, and small
/// calls would wait for each other one by one. A stream that asks for much takes turns besides, for itself.
const TURNS: u64 = 8;

/// The streams of a connection that wait for their answers.
pub(super) struct Open {
    streams: Cell<usize>,
    /// What all of them have done since others of the thread came first.
    turn: RefCell<Turn>,
    /// What frames have done since the client was waited for: they are read in turns with what other connections do.
    pub(super) reading: RefCell<Turn>,
    /// While the others come first.
    resting: RefCell<Option<Resting>>,
    /// Who begins next: in the order in which they came, and one of them waits for the connection's next turn, and for its
    /// client to read.
    next: Semaphore,
    /// The same for those that are refused.
    next_refused: Semaphore,
    /// Answers that are made and have not left.
    pub(super) unread: Arc<TotalBytes>,
    /// What requests take until they are answered.
    pub(super) requests: Arc<TotalBytes>,
    pub(super) frames: Frames,
    pub(super) watch: Rc<Watch>,
}

type Resting = Pin<Box<dyn Future<Output = Turn>>>;

impl Open {
    pub(super) fn new(thread: &Rc<ServingThread>, unread: &Arc<TotalBytes>, watch: &Rc<Watch>) -> Open {
        Open {
            streams: Cell::new(0),
            turn: RefCell::new(Turn::begin(thread)),
            reading: RefCell::new(Turn::begin(thread)),
            resting: RefCell::default(),
            next: Semaphore::new(1),
            next_refused: Semaphore::new(1),
            unread: Arc::clone(unread),
            requests: Arc::default(),
            frames: Frames::new(thread.config().http_max_idle_frames),
            watch: Rc::clone(watch),
        }
    }

    /// Nobody polls the connection any more, and its streams may live on for a moment.
    pub(super) fn rests_no_more(&self) {
        drop(self.resting.take());
    }

    /// Lets others come first before more is read.
    pub(super) fn rest(&self, thread: &Rc<ServingThread>) {
        let mut turn = Turn::begin(thread);
        self.resting.borrow_mut().get_or_insert_with(|| {
            Box::pin(async move {
                turn.give_way().await;
                turn
            })
        });
    }

    /// Whether they have. Whoever is next in the lane and is not polled keeps all the others from their turns: so this is
    /// asked whenever the connection is looked at, whether it reads or not.
    pub(super) fn poll_rest(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut resting = self.resting.borrow_mut();
        if let Some(rests) = resting.as_mut() {
            let turn = ready!(rests.as_mut().poll(cx));
            *resting = None;
            self.reading.replace(turn);
        }
        Poll::Ready(())
    }

    /// What the connection waits for while it is not read and not written.
    pub(super) fn waiting(&self) -> Waiting {
        match self.streams.get() {
            0 => Waiting::Request,
            _ => Waiting::Nothing,
        }
    }
}

/// One of them, until dropped.
pub(super) struct Begun(Rc<Open>);

impl Begun {
    pub(super) fn new(open: &Rc<Open>) -> Begun {
        if open.streams.get() == 0 {
            open.turn.borrow_mut().begin_again();
        }
        open.streams.set(open.streams.get() + 1);
        open.watch.wait_for(Waiting::Nothing);
        Begun(Rc::clone(open))
    }

    pub(super) fn open(&self) -> &Rc<Open> {
        &self.0
    }

    /// Waits until the client has read of the answers before, and lets other connections come first if this one's streams have
    /// had their turn: a hundred of them are no hundred turns.
    pub(super) async fn may_begin(&self, thread: &Rc<ServingThread>) {
        let _first = self.0.next.acquire().await;
        drop(self.0.unread.room(1, UNREAD_OF_ONE_BYTES).await);
        self.give_way_if_over(thread).await;
    }

    /// The same for one that is refused: it waits for no reader and for no turn, since it takes memory as long as it waits.
    pub(super) async fn may_be_refused(&self) {
        let _first = self.0.next_refused.acquire().await;
        after_the_others().await;
    }

    async fn give_way_if_over(&self, thread: &Rc<ServingThread>) {
        if self.0.turn.borrow().is_over_after(TURNS) {
            let mut turn = Turn::begin(thread);
            turn.give_way().await;
            self.0.turn.replace(turn);
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.streams.set(self.0.streams.get() - 1);
        if self.0.watch.waiting() != Waiting::Writing {
            self.0.watch.wait_for(self.0.waiting());
        }
    }
}
