//! Work whose cost grows with what there is, done beside the serving threads: they answer what it has found.

use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use mintage_ledger::{Ledger, Survey};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use crate::error::{Answer, Code, ServiceError};
use crate::render;

/// A thread for such work; begins with the first of it and ends with this.
#[derive(Debug)]
pub(crate) struct Desk {
    name: &'static str,
    open: OnceLock<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    runtime: Handle,
    /// The thread ends when this is gone.
    _end: oneshot::Sender<()>,
}

impl Desk {
    pub(crate) fn new(name: &'static str) -> Desk {
        Desk {
            name,
            open: OnceLock::new(),
        }
    }

    /// Does `work` there. Work that was given in goes on even if nobody waits for it any more.
    ///
    /// # Errors
    /// [`Code::Unavailable`]: there is no thread to be had, or the server stops.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Answer<T> {
        let unavailable = |why: &'static str| ServiceError::new(Code::Unavailable, why).with_retry_after_s(1);
        let open = self.open.get_or_init(|| open(self.name)).as_ref();
        let open = open.ok_or_else(|| unavailable("the system has no thread for this"))?;
        let done = open.runtime.spawn(work).await;
        done.map_err(|_| unavailable(ServiceError::STOPPING))
    }
}

fn open(name: &str) -> Option<Open> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    let handle = runtime.handle().clone();
    let (end, ended) = oneshot::channel();
    let thread = std::thread::Builder::new().name(name.into());
    let run = move || {
        // An error is what it waits for: the sender is gone.
        let _ = runtime.block_on(ended);
    };
    thread.spawn(run).ok()?;
    Some(Open {
        runtime: handle,
        _end: end,
    })
}

/// What was found about everything in use, not longer ago than [`FRESH`].
#[derive(Debug)]
pub struct Found {
    pub survey: Survey,
    /// The part of `/metrics` that names them.
    pub(crate) metrics: String,
}

/// Looks at everything in use when somebody asks: at most once in [`FRESH`], but for ids that were refused since.
#[derive(Debug)]
pub(crate) struct Lookout {
    desk: Desk,
    latest: Arc<Latest>,
}

#[derive(Debug, Default)]
struct Latest {
    state: Mutex<State>,
    made: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// When it was found, in boot time.
    found: Option<(Duration, Arc<Found>)>,
    /// Refusals that had been given before.
    refusals: u64,
    looking: bool,
}

impl Lookout {
    pub(crate) fn new() -> Lookout {
        Lookout {
            desk: Desk::new("lookout"),
            latest: Arc::default(),
        }
    }

    /// What was found at most [`FRESH`] ago, and after the last refusal; waits, without keeping anybody else waiting, where that has to be looked
    /// for. Names the `names` busiest.
    ///
    /// # Errors
    /// As [`Desk::run`].
    pub(crate) async fn found(&self, ledger: &Arc<Ledger>, names: usize) -> Answer<Arc<Found>> {
        loop {
            let made = self.latest.made.notified();
            let begin = {
                let mut state = self.latest.state.lock().expect("no panic while held");
                if let Some((at, found)) = &state.found
                    && mintage::boottime().saturating_sub(*at) < FRESH
                    && state.refusals == ledger.refusals()
                {
                    return Ok(Arc::clone(found));
                }
                !std::mem::replace(&mut state.looking, true)
            };
            if !begin {
                made.await;
                continue;
            }
            let (ledger, latest) = (Arc::clone(ledger), Arc::clone(&self.latest));
            let looked = self.desk.run(async move { latest.look(&ledger, names) }).await;
            if looked.is_err() {
                // The next one tries again.
                self.latest.state.lock().expect("no panic while held").looking = false;
                self.latest.made.notify_waiters();
            }
            return looked;
        }
    }
}

impl Latest {
    fn look(&self, ledger: &Ledger, names: usize) -> Arc<Found> {
        let refusals = ledger.refusals();
        let survey = ledger.survey(names);
        let found = Arc::new(Found {
            metrics: render::names_in_use(&survey),
            survey,
        });
        {
            let mut state = self.state.lock().expect("no panic while held");
            state.found = Some((mintage::boottime(), Arc::clone(&found)));
            state.refusals = refusals;
            state.looking = false;
        }
        self.made.notify_waiters();
        found
    }
}

/// How long what was found is answered again.
const FRESH: Duration = Duration::from_secs(1);
