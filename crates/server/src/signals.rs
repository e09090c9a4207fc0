//! What signals do to a server: SIGTERM and SIGINT end it, SIGHUP has it read its configuration again, and those that
//! other programs give a meaning of their own (SIGUSR1, SIGUSR2) do nothing. None kills it by surprise.

use std::convert::Infallible;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::host::{Host, Stop};
use crate::notify;
use crate::thread::Shared;

/// The signals that end a server.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// From here on no signal that can be caught ends the process by itself.
    pub(crate) fn listen() -> std::io::Result<Signals> {
        // A write past the limit on the size of files then fails, like one on a full disk, instead of ending the
        // process. The listeners stay when these are dropped.
        for ignored in [
            SignalKind::from_raw(libc::SIGXFSZ),
            SignalKind::hangup(),
            SignalKind::user_defined1(),
            SignalKind::user_defined2(),
        ] {
            drop(signal(ignored)?);
        }
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// The first one stops gently, a second one at once.
    pub(crate) async fn stop(mut self, stop: watch::Sender<Stop>) {
        for (next, how) in [(Stop::Gently, "gently"), (Stop::Now, "at once")] {
            let signal = tokio::select! {
                _ = self.terminate.recv() => "SIGTERM",
                _ = self.interrupt.recv() => "SIGINT",
            };
            tracing::info!(signal, how, "stopping");
            notify::stopping();
            // Nobody listens once everything has ended.
            let _ = stop.send(next);
        }
        std::future::pending().await
    }
}

/// The signal that has the configuration read again.
pub(crate) struct Reloads(Signal);

impl Reloads {
    pub(crate) fn listen() -> std::io::Result<Reloads> {
        signal(SignalKind::hangup()).map(Reloads)
    }

    /// Reads the configuration again whenever it is asked to, for ever. One that cannot be used changes nothing.
    pub(crate) async fn follow(&mut self, shared: &Shared, host: &mut dyn Host) -> Infallible {
        while self.0.recv().await.is_some() {
            notify::reloading(|| reload(shared, host));
        }
        std::future::pending().await
    }
}

fn reload(shared: &Shared, host: &mut dyn Host) {
    let service = &shared.service;
    // What can change must fit what cannot.
    let usable = host.reload().and_then(|new| {
        let warnings = crate::config::Reloaded::between(&service.config(), &new)
            .1
            .validate()?;
        Ok((new, warnings))
    });
    let (new, warnings) = match usable {
        Ok(usable) => usable,
        Err(error) => {
            let hint = error.hint.as_deref().unwrap_or_default();
            tracing::error!(%error, hint, "the configuration cannot be used: nothing is changed");
            return;
        }
    };
    for warning in warnings {
        tracing::warn!(about = warning, "the configuration");
    }
    let level_before = service.config().log_level;
    let reloaded = shared.reload(&new);
    let (changed, at_next_start) = (reloaded.changed.join("; "), reloaded.at_next_start.join(", "));
    tracing::info!(changed, at_next_start, "the configuration was read again");
    if new.log_level != level_before {
        host.set_log_level(new.log_level);
    }
}
