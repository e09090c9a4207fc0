//! Whether a server warned while it ran a statement. PostgreSQL answers a write that was cancelled while it waited for its
//! standby as done, with a warning (`01000`, SyncRepWaitForLSN): committed here, confirmed by nobody (protocol R6).

use std::cell::Cell;
use std::pin::pin;
use std::sync::LazyLock;

use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// Where the driver puts what PostgreSQL says beside its answers; it has no other place for that.
const TARGET: &str = "sqlx::postgres::notice";

thread_local! {
    static WARNED: Cell<bool> = const { Cell::new(false) };
}

static LISTENER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Listener));

/// Hears warnings of the driver, and nothing else.
struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target() == TARGET && *about.level() <= Level::WARN
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(tracing::level_filters::LevelFilter::WARN)
    }

    fn event(&self, _: &Event<'_>) {
        WARNED.set(true);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Runs a statement; whatever it came to, one of which the server warned counts as of unknown outcome.
pub async fn unwarned<T>(call: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    let mut call = pin!(call);
    let mut warned = false;
    let answer = std::future::poll_fn(|context| {
        let listening = tracing::dispatcher::set_default(&LISTENER);
        let polled = call.as_mut().poll(context);
        drop(listening);
        warned |= WARNED.take();
        polled
    })
    .await;
    match (answer, warned) {
        (Ok(_), true) => Err(sqlx::Error::Protocol(
            "the server warned of the write: its standby need not have it".into(),
        )),
        (answer, _) => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(call: impl Future<Output = Result<u8, sqlx::Error>>) -> Result<u8, sqlx::Error> {
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        tokio.block_on(unwarned(call))
    }

    #[test]
    fn a_write_of_which_the_server_warned_is_not_known_to_be_kept() {
        let said = |level: Level| async move {
            tokio::task::yield_now().await;
            match level {
                Level::WARN => {
                    tracing::event!(target: TARGET, Level::WARN, "canceling wait for synchronous replication")
                }
                _ => tracing::event!(target: TARGET, Level::INFO, "a notice"),
            }
            tokio::task::yield_now().await;
            Ok(7)
        };
        assert!(run(said(Level::WARN)).is_err());
        assert_eq!(
            run(said(Level::INFO)).unwrap(),
            7,
            "and nothing of before is left"
        );
        let ours = async {
            tracing::event!(Level::WARN, "a warning of ours");
            Ok(7)
        };
        assert_eq!(run(ours).unwrap(), 7);
    }
}
