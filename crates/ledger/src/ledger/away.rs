//! A ledger that begins while its store is away, on its journal alone (protocol S11), and joins when the store is back.
//!
//! What is postponed is whatever a start asks of the store: whether it is sealed, restored, set back, whose the register
//! is, and which definitions have changed. Until all of that is answered nothing is reserved (`store/late`).

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mintage::Timestamp;

use super::{Ledger, tasks};
use crate::cluster::{Entered, Missed};
use crate::context::Context;
use crate::error::LedgerError;
use crate::journal::Journal;
use crate::name::Name;
use crate::notes::{self, Restored};
use crate::runtime::Runtime;
use crate::settings::LedgerSettings;
use crate::store::{Class, Late, LateStore, StoreError, StoreErrorKind};
use crate::striped::stripe_of;

/// How often a store that is away is opened.
const OPEN_EVERY: Duration = Duration::from_secs(1);
/// How many sequences are read from the journal at once, so that what they have left is told; others at their first use.
const LOADED_MAX: usize = 1000;

impl Ledger {
    /// Opens a ledger over a store that does not answer, on the journal alone, where that owns numbers: it gives out those
    /// until the store is back, and refuses everything else as unavailable.
    ///
    /// # Errors
    /// [`LedgerError::Unavailable`] with the reason why nothing can be given out without the store; and the journal cannot
    /// be read.
    pub async fn open_without_store(
        store: LateStore,
        settings: LedgerSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Arc<Ledger>, LedgerError> {
        let refused = |why: &str| Err(LedgerError::unavailable(why.to_string()));
        let Some(journal) = settings.journal.clone() else {
            return refused("there is no journal");
        };
        if settings.lossy.is_some() {
            return refused("that the store may lose what it has acknowledged is allowed, class L");
        }
        let journal = Journal::open(journal, store.cluster_id, Arc::clone(&runtime)).await?;
        let class = match journal.last_word(settings.outage_budget) {
            Ok(class) if class == Class::Survives.letter() => Class::Survives,
            Ok(_) => Class::Durable,
            Err(why) => return refused(&why),
        };
        let names = journal.names(LOADED_MAX).await;
        if names.is_empty() {
            return refused("the journal owns no numbers whose sequence it knows");
        }
        let (why, late) = (store.why.clone(), Late::new(store, class));
        let store = Arc::clone(&late) as Arc<dyn crate::store::Store>;
        let noted = journal
            .vouched_ns()
            .map(|offset_ns| Timestamp::from_unix_nanos(runtime.boottime().as_nanos() as i128 + offset_ns));
        let (journal, nothing) = (Some(journal), Restored::default());
        let context = Arc::new(Context::new(
            store,
            settings,
            journal,
            nothing,
            (true, noted),
            runtime,
        ));
        context.health.is_away(&why);
        context.begin_at_noted_time();
        let ledger = Ledger::over(context);
        ledger.load_owned(&names).await?;
        tasks::start(&ledger);
        let joining = join_when_back(Arc::downgrade(&ledger), late);
        ledger.context.runtime.spawn(Box::pin(joining));
        Ok(ledger)
    }

    async fn load_owned(&self, names: &[Name]) -> Result<(), LedgerError> {
        let most = usize::try_from(self.context.settings.max_loaded).unwrap_or(usize::MAX);
        let mut numbers = 0_u64;
        for name in names.iter().take(most) {
            let sequence = self.existing(name).await?;
            numbers = numbers.saturating_add(sequence.left_in_stock().unused);
        }
        let sequences = names.len();
        tracing::warn!(
            sequences,
            numbers,
            "began without the store, on the journal: what it owns is given out until the store is back"
        );
        Ok(())
    }

    /// Does what a start does, now that the store answers.
    async fn join(&self) -> Result<Option<Entered>, LedgerError> {
        let (context, store) = (&self.context, self.context.joining());
        if let Some(why) = notes::sealed(store).await? {
            return Err(LedgerError::Stopped(notes::refusal(&why)));
        }
        if let Some(place) = stripe_of(store).await? {
            return Err(LedgerError::Stopped(place.opened_alone()));
        }
        let restored = notes::restored(store).await?;
        if let Some(guard) = &context.guard {
            guard.learn_restored(restored);
        }
        if let Some(journal) = &context.journal
            && !journal.restored_at(restored.workers_from)
        {
            // Of what was claimed before the restore nothing more is given out.
            self.drop_everything();
        }
        self.count_sequences().await?;
        let entered = self.join_cluster().await?;
        if entered.is_none() {
            // The register was lost (protocol R4).
            self.drop_everything();
        }
        Ok(entered)
    }

    /// Lets the journal forget definitions that were changed, before it is said that the change is followed; `false`: it
    /// may not have, and a process could begin on it.
    pub(crate) async fn forget_definitions(&self, missed: &Missed) -> bool {
        let Some(journal) = &self.context.journal else {
            return true;
        };
        let mut forgotten = true;
        match missed {
            Missed::Many => journal.begin_life().await,
            Missed::These(names) => {
                for name in names {
                    forgotten &= self.forget_definition(name, journal).await;
                }
            }
        }
        let on_disk = forgotten && journal.works();
        on_disk || journal.word_is_past(self.context.settings.outage_budget)
    }

    /// The same of one sequence, whoever has changed it.
    pub(super) async fn forget_definition(&self, name: &Name, journal: &Journal) -> bool {
        let _alone = self.loads(name).lock().await;
        match self.sequence(name.as_str()) {
            Some(sequence) => sequence.forget_definition(journal).await,
            None => {
                let (mut entry, _) = journal.read(name).await;
                let forgotten = journal.forget_definition(name, &mut entry, None);
                forgotten.await.is_ok()
            }
        }
    }
}

/// Opens the store as soon as it answers, joins the others there, and lets the ledger use it.
async fn join_when_back(ledger: Weak<Ledger>, late: Arc<Late>) {
    let mut told = None;
    loop {
        let Some(now) = ledger.upgrade() else { return };
        if now.context.closing.load(Ordering::Acquire) {
            return;
        }
        let joined = match late.try_open().await {
            Ok(()) => now.join().await,
            Err(error) if ends(&error) => Err(LedgerError::Stopped(error)),
            Err(error) => Err(error.into()),
        };
        match joined {
            Ok(entered) => return begin_together(now, entered),
            Err(LedgerError::Stopped(error)) => {
                if let Some(guard) = &now.context.guard {
                    guard.end(error);
                }
                return now.drop_everything();
            }
            Err(error) => {
                let why = error.to_string();
                if told.as_ref() != Some(&why) {
                    tracing::info!(error = %why, "the store cannot be joined yet");
                    told = Some(why);
                }
            }
        }
        let sleep = now.context.runtime.sleep(OPEN_EVERY);
        drop(now);
        sleep.await;
    }
}

/// What would have ended a start.
fn ends(error: &StoreError) -> bool {
    use StoreErrorKind::{Corrupt, Foreign, Stopped};
    matches!(error.kind, Corrupt | Foreign | Stopped)
}

fn begin_together(ledger: Arc<Ledger>, entered: Option<Entered>) {
    let context = Arc::clone(&ledger.context);
    tracing::info!("the store is back, and this process has joined the others there");
    let keeps = Box::pin(ledger.keep_instance(entered));
    context.compare_clocks_first();
    if let Some(gate) = &context.gate {
        gate.open();
    }
    if context.clock.is_settled() {
        context.store.clock_confirmed();
    }
    context.runtime.spawn(keeps);
}
