//! A way to the service that may go from thread to thread.

use std::sync::Arc;

use mintage::{GenOptions, Id, Run, Uuid};
use mintage_ledger::Sequence;

use super::{Answer, Service, check_count, from_ledger};
use crate::formats::{FormatRow, Make};
use crate::metrics::{IdKind, ThreadCounters};
use crate::noise::Asker;

/// What a [`Door`](super::Door) does, for frameworks whose tasks must be `Send`. Cheap to clone; all clones count into
/// the same counters.
///
/// It has no memory of names, so that each call looks its name up among those that the ledger holds, and counters that
/// several threads write: faces that serve every request by themselves take the other door. Everything but taking ids
/// is done by the [`Service`] itself, which is `Send` too.
///
/// ```
/// use mintage_server::service::SendDoor;
/// fn for_any_thread<T: Send + Sync + Clone + 'static>() {}
/// for_any_thread::<SendDoor>();
/// ```
#[derive(Clone, Debug)]
pub struct SendDoor {
    service: Arc<Service>,
    counters: Arc<ThreadCounters>,
}

impl SendDoor {
    /// A door to a service.
    pub fn new(service: Arc<Service>) -> SendDoor {
        SendDoor {
            counters: service.metrics.thread(),
            service,
        }
    }

    /// The service behind it: definitions, lists, what is known of names and ids.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Checks how many ids a request asks for.
    ///
    /// # Errors
    /// [`Code::InvalidCount`](crate::error::Code::InvalidCount), with the range.
    pub fn count(&self, count: Option<u64>) -> Answer<u64> {
        check_count(count, self.service.config().max_count)
    }

    /// As [`Door::take`](super::Door::take).
    ///
    /// # Errors
    /// What stopped it; runs handed out before are used up.
    pub async fn take(
        &self,
        name: &[u8],
        n: u64,
        by: &Asker<'_>,
        mut each: impl FnMut(Run) + Send,
    ) -> Answer<Arc<Sequence>> {
        let sequence = self.service.sequence_or_create(name).await?;
        let mut left = n;
        while left > 0 {
            let run = self.service.take_some(&sequence, left, by).await?;
            self.counters.ids_of_many(IdKind::Sequence, run.count);
            left -= run.count;
            each(run);
        }
        Ok(sequence)
    }

    /// As [`Door::take_contiguous`](super::Door::take_contiguous).
    ///
    /// # Errors
    /// [`Code::Exhausted`](crate::error::Code::Exhausted) when fewer are left before the bound, and what the store says.
    pub async fn take_contiguous(&self, name: &[u8], n: u64, by: &Asker<'_>) -> Answer<(Run, Arc<Sequence>)> {
        let sequence = self.service.sequence_or_create(name).await?;
        let run = self.service.take_run(&sequence, n, by).await?;
        self.counters.ids_of_many(IdKind::Sequence, run.count);
        Ok((run, sequence))
    }

    /// The last number issued of a sequence, if it exists and has issued any. What is no name does not exist.
    ///
    /// # Errors
    /// What the store says.
    pub async fn last(&self, name: &[u8]) -> Answer<Option<i64>> {
        self.service.last(name).await
    }

    /// Whether a sequence exists. What is no name does not.
    ///
    /// # Errors
    /// What the store says.
    pub async fn exists(&self, name: &[u8]) -> Answer<bool> {
        self.service.exists(name).await
    }

    /// Makes `count` ids of a format that core makes alone, by the clock of the ledger.
    ///
    /// # Errors
    /// As [`FormatRow::make`].
    pub async fn make(&self, row: &FormatRow, options: &GenOptions, count: usize) -> Answer<Vec<Id>> {
        let ids = self.service.make(row, options, count).await?;
        self.counters.ids_of_many(row.make.kind(), count as u64);
        Ok(ids)
    }

    /// Fills `out` with UUIDs of any version that is made here; versions 1 and 6 come from `pool`.
    ///
    /// # Errors
    /// As [`Door::mint_timed`](super::Door::mint_timed).
    pub async fn mint_uuids(&self, make: Make, pool: &[u8], out: &mut [Uuid]) -> Answer<()> {
        if !self.service.mint_uuids(make, out) {
            self.service.mint_waiting(make, pool, out).await?;
        }
        self.counters.ids_of_many(make.kind(), out.len() as u64);
        Ok(())
    }

    /// Fills `out` with ids of a pool.
    ///
    /// # Errors
    /// As [`Door::mint`](super::Door::mint).
    pub async fn mint(&self, pool: &[u8], out: &mut [u64]) -> Answer<()> {
        let pool = self.service.pool(pool).await?;
        pool.mint(out).await.map_err(from_ledger)?;
        self.counters.ids_of_many(IdKind::Snowflake, out.len() as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mintage_ledger::{Ledger, StoreSettings, SystemRuntime, open_store};
    use mintage_testing::Distinct;

    use super::*;
    use crate::config::Config;
    use crate::opening::ledger_settings;
    use crate::transport::Peer;

    const TASKS: u64 = 8;
    const EACH: u64 = 200;

    /// `spawn` takes nothing that is not `Send`.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn tasks_of_many_threads_share_a_door_and_nothing_comes_twice() {
        let config = Config::default();
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        let store = open_store("memory:", &StoreSettings::default(), runtime.clone())
            .await
            .unwrap();
        let ledger = Ledger::open(store, ledger_settings(&config), runtime)
            .await
            .unwrap();
        let door = SendDoor::new(Service::new(ledger, Arc::new(config)));
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let door = door.clone();
                tokio::spawn(async move { take_one_by_one(&door).await })
            })
            .collect();
        let mut numbers = Distinct::of("numbers");
        let mut ids = Distinct::of("ids");
        for task in tasks {
            let (taken, minted) = task.await.unwrap();
            numbers.extend(taken);
            ids.extend(minted);
        }
        assert_eq!(
            (numbers.len(), ids.len()),
            ((TASKS * EACH) as usize, (TASKS * EACH) as usize)
        );
        assert_eq!(door.last(b"orders").await, Ok(numbers.iter().max().copied()));
        assert_eq!(
            (door.exists(b"orders").await, door.exists(b"no").await),
            (Ok(true), Ok(false))
        );
        let metrics = door.service().metrics();
        // No count is lost, whichever thread it came from.
        assert_eq!(metrics.ids(IdKind::Sequence), TASKS * EACH);
        assert_eq!(metrics.ids(IdKind::Uuid7), TASKS * EACH);
    }

    async fn take_one_by_one(door: &SendDoor) -> (Vec<i64>, Vec<Uuid>) {
        let by = Asker {
            token: "default".into(),
            peer: Peer::Unix,
        };
        let (mut numbers, mut ids) = (Vec::new(), Vec::new());
        for _ in 0..EACH {
            door.take(b"orders", 1, &by, |run| numbers.push(run.first))
                .await
                .unwrap();
            let mut id = [Uuid::nil()];
            door.mint_uuids(Make::Uuid7, b"", &mut id).await.unwrap();
            ids.extend(id);
        }
        (numbers, ids)
    }
}
