//! Tools that are killed after any of their writes: nobody starts on a half, the same command finishes it, and nothing
//! repeats; what may be given up goes on as it was.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use mintage_ledger::tools::{add_to_set, make_set, migrate, unseal};
use mintage_ledger::*;
use mintage_testing::{Distinct, invariant};
use tokio::time::sleep;

use crate::machines::{Cluster, On, in_paused_time};

/// A store of a tool whose writes end after so many, on all its stores together, as when it is killed.
#[derive(Debug)]
pub(crate) struct Cut {
    inner: Arc<dyn Store>,
    writes_left: Arc<AtomicI64>,
}

impl Cut {
    pub(crate) fn after(inner: Arc<dyn Store>, writes_left: &Arc<AtomicI64>) -> Cut {
        Cut {
            inner,
            writes_left: Arc::clone(writes_left),
        }
    }
}

impl Store for Cut {
    delegate_store!(inner, but compare_and_set claim exclusive);

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        expected: Option<Version>,
        new: Value,
        marks: Marks,
    ) -> StoreResult<'a, Cas> {
        if self.writes_left.fetch_sub(1, Ordering::SeqCst) > 0 {
            return self.inner.compare_and_set(key, expected, new, marks);
        }
        let error = StoreError::new(StoreErrorKind::Unavailable, Outcome::Unknown, "cut off");
        Box::pin(std::future::ready(Err(error)))
    }
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

#[derive(Default)]
struct Seen {
    numbers: Distinct<(String, i64)>,
    ids: Distinct<u64>,
}

impl Seen {
    /// Takes numbers of two sequences and ids of a pool, and stops cleanly.
    async fn served_by(&mut self, ledger: &Ledger) {
        for text in ["orders", "bills"] {
            let sequence = ledger.sequence_or_create(&name(text)).await.unwrap();
            let mut left = 40;
            while left > 0 {
                let run = sequence.take(left).await.unwrap();
                left -= run.count;
                self.numbers
                    .extend(run.into_iter().map(|number| (text.to_string(), number)));
            }
        }
        let pool = ledger.pool_or_default(&name(DEFAULT_POOL)).await.unwrap();
        let mut ids = [0; 20];
        pool.mint(&mut ids).await.unwrap();
        self.ids.extend(ids);
        ledger.close().await.unwrap();
    }
}

/// Stores of a set, and one that is to be added to it.
struct World {
    machines: Cluster,
    old: Vec<Arc<FaultyStore>>,
    new: Arc<FaultyStore>,
    seen: Seen,
}

impl World {
    /// A set of two that was used.
    async fn of_two() -> World {
        let machines = Cluster::new(MemoryStore::shared(0));
        let store = |id| {
            let runtime = Arc::new(On(machines.machine()));
            FaultyStore::new(MemoryStore::shared(id), runtime, FaultPlan::NONE)
        };
        let old = vec![store(101), store(102)];
        let new = store(103);
        make_set(&[&*old[0], &*old[1]], &On(machines.machine()))
            .await
            .unwrap();
        let mut world = World {
            machines,
            old,
            new,
            seen: Seen::default(),
        };
        world.serve_old().await;
        world
    }

    fn whole(&self) -> Vec<Arc<FaultyStore>> {
        self.old.iter().chain([&self.new]).cloned().collect()
    }

    async fn add(&self) -> Result<StripeNote, StoreError> {
        let runtime = On(self.machines.machine());
        add_to_set(&[&*self.old[0], &*self.old[1]], &*self.new, &runtime).await
    }

    /// Adds the store, and is killed after so many writes. Whether it was finished before.
    async fn add_until(&self, writes: i64) -> bool {
        let left = Arc::new(AtomicI64::new(writes));
        let cut = |store: &Arc<FaultyStore>| Cut::after(store.clone(), &left);
        let (old, new) = (self.old.iter().map(cut).collect::<Vec<_>>(), cut(&self.new));
        let runtime = On(self.machines.machine());
        add_to_set(&[&old[0], &old[1]], &new, &runtime).await.is_ok()
    }

    /// A server on a set of these stores.
    async fn start(&self, stores: &[Arc<FaultyStore>]) -> Result<Arc<Ledger>, LedgerError> {
        let runtime: Arc<dyn Runtime> = Arc::new(On(self.machines.machine()));
        let members = stores.iter().map(|store| {
            let store = store.clone();
            let open: OpenMember = Box::new(move || {
                let store = store.clone();
                Box::pin(async move {
                    // As a connection would be made.
                    store.get(&Key::new("cluster/stripe")?).await?;
                    Ok(store as Arc<dyn Store>)
                })
            });
            ("a store".to_string(), open)
        });
        let striped = Striped::open(members.collect(), runtime.clone()).await;
        let striped = striped.map_err(LedgerError::Store)?;
        Ledger::open(striped, LedgerSettings::default(), runtime).await
    }

    async fn serve_old(&mut self) {
        let ledger = self.start(&self.old.clone()).await.unwrap();
        self.seen.served_by(&ledger).await;
    }

    /// The new set serves, and any store of it is enough.
    async fn serve_whole(&mut self) {
        let whole = self.whole();
        for alone in &whole {
            let others = || whole.iter().filter(|other| !Arc::ptr_eq(other, alone));
            others().for_each(|other| other.fail_all(true));
            let ledger = self.start(&whole).await.unwrap();
            self.seen.served_by(&ledger).await;
            others().for_each(|other| other.fail_all(false));
        }
    }

    /// With the first write only the new store is sealed.
    async fn nobody_starts_after(&self, writes: i64) {
        for stores in [self.whole(), vec![self.new.clone()], self.old.clone()] {
            let many = stores.len();
            if many != 2 || writes > 1 {
                let started = self.start(&stores).await;
                assert!(started.is_err(), "{many} stores after {writes} writes");
            }
        }
    }
}

/// `store stripes add`, killed after some copying, could never be finished: the new store was not empty any more.
// claim: P56
#[test]
fn a_store_is_added_to_a_set_by_the_same_command_wherever_that_was_cut_off() {
    in_paused_time(|| async {
        for writes in 0.. {
            let mut world = World::of_two().await;
            if world.add_until(writes).await {
                assert!(writes > 15, "{writes}");
                // Once more it does nothing: no server has to stop.
                let whole = world.whole();
                let ledger = world.start(&whole).await.unwrap();
                world.add().await.unwrap();
                sleep(Duration::from_secs(3)).await;
                world.seen.served_by(&ledger).await;
                break;
            }
            if writes > 0 {
                world.nobody_starts_after(writes).await;
            }
            let note = world.add().await.unwrap();
            assert_eq!((note.number, note.of), (2, 3), "after {writes} writes");
            world.serve_whole().await;
        }
    });
}

// claim: P56
#[test]
fn an_addition_that_is_given_up_leaves_the_old_set_and_can_be_begun_again() {
    in_paused_time(|| async {
        let mut past_return = 0;
        for writes in 1.. {
            let mut world = World::of_two().await;
            if world.add_until(writes).await {
                break;
            }
            let at = format!("after {writes} writes");
            let runtime = On(world.machines.machine());
            let alone = unseal(&*world.new, &runtime).await;
            let mut is_back = true;
            for store in &world.old {
                match unseal(&**store, &runtime).await {
                    Ok(_) => {}
                    Err(error) => {
                        is_back = false;
                        assert!(error.message.contains("being added to its set"), "{error}");
                    }
                }
            }
            if is_back && past_return == 0 {
                let error = alone.unwrap_err();
                assert!(error.message.contains("added to a set"), "{at}: {error}");
                world.serve_old().await;
                let error = world.start(&world.whole()).await.err().map(|e| e.to_string());
                assert!(error.is_some(), "{at}: half a store serves");
            } else {
                past_return += 1;
            }
            world.add().await.unwrap();
            world.serve_whole().await;
        }
        assert!(past_return > 2, "{past_return}");
    });
}

#[test]
fn a_store_whose_addition_was_given_up_does_not_take_the_place_of_its_successor() {
    in_paused_time(|| async {
        for writes in 1.. {
            let mut world = World::of_two().await;
            if world.add_until(writes).await {
                break;
            }
            let runtime = On(world.machines.machine());
            let mut is_back = true;
            for store in &world.old {
                is_back &= unseal(&**store, &runtime).await.is_ok();
            }
            if !is_back {
                break;
            }
            let given_up = std::mem::replace(
                &mut world.new,
                FaultyStore::new(MemoryStore::shared(104), Arc::new(runtime), FaultPlan::NONE),
            );
            world.add().await.unwrap();
            let successor = std::mem::replace(&mut world.new, given_up);
            let error = world.add().await.unwrap_err();
            assert!(
                error.message.contains("not a whole set"),
                "after {writes}: {error}"
            );
            world.new = successor;
            world.serve_whole().await;
        }
    });
}

/// Who started on a store that was moved into half-way began every other name at 1.
// claim: P52
#[test]
fn half_of_a_move_serves_nobody_and_the_same_command_finishes_it() {
    in_paused_time(|| async {
        for writes in 0.. {
            let from = Cluster::new(MemoryStore::shared(1));
            let to = from.beside(MemoryStore::shared(2));
            let (mut seen, runtime) = (Seen::default(), On(from.machine()));
            seen.served_by(&from.node("a").await.ledger).await;
            let left = Arc::new(AtomicI64::new(writes));
            let cut = |store: &Cluster| Cut::after(store.store.clone(), &left);
            let is_done = migrate(&cut(&from), &cut(&to), &runtime).await.is_ok();
            if !is_done && writes > 0 {
                let runtime = Arc::new(On(to.machine()));
                let started = Ledger::open(to.store.clone(), LedgerSettings::default(), runtime).await;
                let error = started.map(drop).unwrap_err().to_string();
                assert!(error.contains("a move into it is not finished"), "{error}");
                unseal(&*to.store, &On(to.machine())).await.unwrap_err();
            }
            migrate(&*from.store, &*to.store, &runtime).await.unwrap();
            seen.served_by(&to.node("b").await.ledger).await;
            if is_done {
                invariant!(writes > 8, "{writes}");
                break;
            }
        }
    });
}

/// The store that a set's store was moved to knew nothing of its set, and went on as if all numbers were its own.
#[test]
fn a_store_of_a_set_is_moved_with_its_place() {
    in_paused_time(|| async {
        let mut world = World::of_two().await;
        let runtime = On(world.machines.machine());
        migrate(&*world.old[1], &*world.new, &runtime).await.unwrap();
        world.old[1] = world.new.clone();
        world.serve_old().await;
        // It is no place for another store any more.
        let other = Cluster::new(MemoryStore::shared(7));
        Seen::default().served_by(&other.node("a").await.ledger).await;
        migrate(&*other.store, &*world.new, &runtime).await.unwrap_err();
    });
}

/// A set that lost a store was made again with an empty one, which began its share of the numbers anew.
#[test]
fn a_set_is_made_of_empty_stores_only_also_by_a_command_that_was_cut_off() {
    in_paused_time(|| async {
        let world = World::of_two().await;
        let runtime = On(world.machines.machine());
        make_set(&[&*world.old[0], &*world.old[1]], &runtime)
            .await
            .unwrap();
        let error = make_set(&[&*world.old[0], &*world.new], &runtime)
            .await
            .unwrap_err();
        assert!(error.message.contains("is not empty"), "{error}");
        for writes in 0..2 {
            let left = Arc::new(AtomicI64::new(writes));
            let stores = [201, 202].map(MemoryStore::shared);
            let cut = stores.clone().map(|store| Cut::after(store, &left));
            make_set(&[&cut[0], &cut[1]], &runtime).await.unwrap_err();
            let notes = make_set(&[&*stores[0], &*stores[1]], &runtime).await.unwrap();
            assert_eq!((notes[0].number, notes[1].number), (0, 1));
        }
    });
}

/// A backup of a set's store from before another was added says of how many it was: its share was cut otherwise.
#[test]
fn a_store_that_was_put_back_to_before_an_addition_is_not_levelled_by_doing_it_again() {
    in_paused_time(|| async {
        let mut world = World::of_two().await;
        let before = MemoryStore::shared(102);
        for prefix in ["cluster/stripe", "pool/", "seq/", "window/"] {
            let all = world.old[1]
                .scan(&Key::new(prefix).unwrap(), None, 1000)
                .await
                .unwrap();
            for (key, found) in all {
                before
                    .compare_and_set(&key, None, found.value, Marks::NeverLower)
                    .await
                    .unwrap();
            }
        }
        world.add().await.unwrap();
        let runtime = Arc::new(On(world.machines.machine()));
        world.old[1] = FaultyStore::new(before, runtime, FaultPlan::NONE);
        let error = world.add().await.unwrap_err();
        assert!(error.message.contains("number 2 of 3"), "{error}");
        let started = world.start(&world.whole()).await;
        assert!(started.is_err(), "with a store of a smaller set");
    });
}
