//! Taking turns on one thread.

use std::future::poll_fn;
use std::task::{Context, Poll};

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
