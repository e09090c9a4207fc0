//! Memory that is held for clients, of all connections together or of one: answers from when they are made until they have
//! left, and what clients queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::body::Bytes;
use tokio::sync::{Mutex, Notify};

/// How many bytes are held.
#[derive(Debug, Default)]
pub(crate) struct TotalBytes {
    bytes: AtomicU64,
    /// How many wait for room.
    waiting: AtomicU64,
    /// Who comes next, in the order in which they came.
    queue: Mutex<()>,
    /// Some have been let go while somebody waits.
    freed: Notify,
}

/// Bytes that are held until this is dropped.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    total: Arc<TotalBytes>,
    bytes: u64,
}

impl TotalBytes {
    pub(crate) fn hold(self: &Arc<Self>, bytes: usize) -> HeldBytes {
        let bytes = bytes as u64;
        self.bytes.fetch_add(bytes, Ordering::SeqCst);
        HeldBytes {
            total: Arc::clone(self),
            bytes,
        }
    }

    /// Holds so many bytes once there is room for them within `max`, after those that waited before. What is more than `max`
    /// by itself waits until nothing else is held.
    pub(crate) async fn room(self: &Arc<Self>, bytes: usize, max: u64) -> HeldBytes {
        if !self.is_awaited()
            && let Some(held) = self.try_hold(bytes, max)
        {
            return held;
        }
        let _counted = Waits::new(self);
        let _next = self.queue.lock().await;
        loop {
            // Made before the look, so that nothing is let go unseen in between.
            let freed = self.freed.notified();
            if let Some(held) = self.try_hold(bytes, max) {
                return held;
            }
            freed.await;
        }
    }

    fn try_hold(self: &Arc<Self>, bytes: usize, max: u64) -> Option<HeldBytes> {
        let bytes = bytes as u64;
        let fits = |held: u64| {
            let together = held.saturating_add(bytes);
            (held == 0 || together <= max).then_some(together)
        };
        let held = self.bytes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits);
        held.is_ok().then(|| HeldBytes {
            total: Arc::clone(self),
            bytes,
        })
    }

    /// Whether somebody waits for room.
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::SeqCst)
    }

    fn free(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::SeqCst);
        if bytes > 0 && self.is_awaited() {
            self.freed.notify_waiters();
        }
    }
}

/// Counts somebody who waits, until dropped.
struct Waits<'t>(&'t TotalBytes);

impl Waits<'_> {
    fn new(total: &TotalBytes) -> Waits<'_> {
        total.waiting.fetch_add(1, Ordering::SeqCst);
        Waits(total)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl HeldBytes {
    pub(crate) fn add(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        self.total.bytes.fetch_add(bytes, Ordering::SeqCst);
        self.bytes += bytes;
    }

    /// Holds as many bytes as there are by now.
    pub(crate) fn set(&mut self, bytes: usize) {
        match (bytes as u64).checked_sub(self.bytes) {
            Some(more) => self.add(more as usize),
            None => {
                let less = self.bytes - bytes as u64;
                self.bytes -= less;
                self.total.free(less);
            }
        }
    }

    /// How many bytes are held together with all others.
    pub(crate) fn of_all(&self) -> u64 {
        self.total.bytes()
    }

    /// Holds nothing any more.
    pub(crate) fn let_go(&mut self) {
        self.total.free(std::mem::take(&mut self.bytes));
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// Room for an answer, of all connections and of its own.
#[derive(Debug)]
pub(crate) struct Room(pub(crate) [HeldBytes; 2]);

impl Room {
    /// These bytes, which are counted for as long as anybody has a part of them.
    pub(crate) fn around(mut self, bytes: impl Into<Bytes>) -> Bytes {
        let bytes = bytes.into();
        self.0.iter_mut().for_each(|held| held.set(bytes.len()));
        counted(bytes, self)
    }
}

/// The same bytes; `held` is dropped with the last part of them.
pub(crate) fn counted(bytes: Bytes, held: impl Send + 'static) -> Bytes {
    Bytes::from_owner(Counted { bytes, _held: held })
}

struct Counted<H> {
    bytes: Bytes,
    _held: H,
}

impl<H> AsRef<[u8]> for Counted<H> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn whoever_wants_room_waits_for_it_in_the_order_of_coming() {
        let total = Arc::new(TotalBytes::default());
        let first = total.hold(90);
        let (mut large, mut small) = (pin!(total.room(20, 100)), pin!(total.room(5, 100)));
        assert!(poll(large.as_mut()).is_pending() && total.is_awaited());
        assert!(
            poll(small.as_mut()).is_pending(),
            "nobody comes before those that wait"
        );
        drop(first);
        let Poll::Ready(held) = poll(large.as_mut()) else {
            panic!("there is room")
        };
        assert_eq!((held.bytes, total.bytes()), (20, 20));
        assert!(poll(small.as_mut()).is_ready());
        assert!(!total.is_awaited());
    }

    #[test]
    fn whoever_leaves_while_waiting_keeps_nobody_from_going_on() {
        let total = Arc::new(TotalBytes::default());
        let first = total.hold(90);
        let mut last = pin!(total.room(20, 100));
        {
            let mut gone = pin!(total.room(20, 100));
            assert!(poll(gone.as_mut()).is_pending() && poll(last.as_mut()).is_pending());
        }
        drop(first);
        assert!(poll(last.as_mut()).is_ready());
    }

    #[test]
    fn what_is_larger_than_all_room_is_held_alone() {
        let total = Arc::new(TotalBytes::default());
        let one = total.hold(1);
        let mut huge = pin!(total.room(1000, 100));
        assert!(poll(huge.as_mut()).is_pending());
        drop(one);
        assert!(poll(huge.as_mut()).is_ready());
        assert_eq!(total.bytes(), 0);
    }

    #[test]
    fn bytes_are_counted_until_their_last_part_is_gone() {
        let (all, own) = (Arc::new(TotalBytes::default()), Arc::new(TotalBytes::default()));
        let mut whole = Room([all.hold(1000), own.hold(1000)]).around(vec![7; 10]);
        assert_eq!((all.bytes(), own.bytes()), (10, 10));
        let part = whole.split_to(3);
        drop(whole);
        assert_eq!((all.bytes(), own.bytes()), (10, 10));
        assert_eq!(part, [7; 3][..]);
        drop(part);
        assert_eq!((all.bytes(), own.bytes()), (0, 0));
    }
}
