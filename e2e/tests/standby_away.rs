//! PostgreSQL of class S whose standby is away while a claim is under way (protocol R6), which is promoted then; and copies
//! that say more of themselves than is true (R7).
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use mintage_e2e::cluster::Row;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::engine::process::pause;
use mintage_e2e::store_suite::{Engine, Lab, key, patient, until_ok};
use mintage_ledger::tools::{Advance, raise_in_place};
use mintage_ledger::{
    Class, Gap, Ledger, LedgerError, LedgerSettings, Name, SequenceSpec, Store, StoreErrorKind, StoreSettings,
};
use mintage_testing::Distinct;

/// How the wait for the standby ends.
#[derive(Clone, Copy, Debug)]
enum Ends {
    /// The server is killed and starts again.
    Restart,
    /// Somebody cancels what waits: it is answered as done, with a warning.
    Cancel,
    /// The connections that wait are ended.
    Terminate,
}

struct World {
    lab: Lab<Postgres>,
    standby: Postgres,
    issued: Distinct<(String, i64)>,
}

impl World {
    fn new() -> Option<World> {
        let lab = Lab::new(Postgres::run()?);
        lab.init();
        let standby = lab.engine.replica("r1");
        lab.engine.confirm_by("r1");
        Some(World {
            lab,
            standby,
            issued: Distinct::default(),
        })
    }

    fn until(&self, holds: &str) {
        while self.lab.engine.admin("ids", holds).trim() != "t" {
            pause();
        }
    }

    fn serve(&self) -> (Arc<dyn Store>, Arc<Ledger>) {
        // A claim that waits for the standby is given up within a second.
        let hasty = StoreSettings {
            request_timeout: Duration::from_secs(1),
            ..patient()
        };
        let store = self.lab.open_with(&self.lab.proxied(), &hasty).unwrap();
        let settings = LedgerSettings {
            max_gap: 10,
            ..LedgerSettings::default()
        };
        let ledger = self
            .lab
            .wait(Ledger::open(store.clone(), settings, self.lab.runtime()));
        (store, ledger.unwrap())
    }

    /// Asks so often for a few numbers of each kind, and answers how many requests were served.
    fn take(&mut self, ledger: &Ledger, times: usize) -> usize {
        let mut served = 0;
        for _ in 0..times {
            for sequence in ["orders", "bills"] {
                let taken = self.lab.wait(async {
                    let name = Name::new(sequence).unwrap();
                    ledger.sequence_or_create(&name).await?.take(3).await
                });
                match taken {
                    Ok(numbers) => {
                        served += 1;
                        self.issued
                            .extend(numbers.into_iter().map(|number| (sequence.to_string(), number)));
                    }
                    Err(LedgerError::Unavailable { .. } | LedgerError::Store(_)) => pause(),
                    Err(error) => panic!("{error}"),
                }
            }
            let ids = self.lab.wait(async {
                let mut ids = [0; 3];
                let pool = ledger.pool_or_default(&Name::new("default").unwrap()).await?;
                pool.mint(&mut ids).await.map(|_| ids)
            });
            if let Ok(ids) = ids {
                self.issued
                    .extend(ids.map(|id| ("default".to_string(), id as i64)));
            }
        }
        served
    }

    fn promote(&mut self) {
        self.lab.engine.kill();
        self.standby.start();
        self.standby.promote();
        self.lab.proxy.redirect(self.standby.address());
    }
}

// claim: P29
#[test]
#[ignore = "minutes: clusters of two"]
fn what_the_primary_shows_and_no_standby_confirmed_is_not_given_out() {
    for ends in [Ends::Cancel, Ends::Restart, Ends::Terminate] {
        let Some(mut world) = World::new() else { return };
        let (store, first) = world.serve();
        assert_eq!(store.class(), Class::Survives);
        let bills = SequenceSpec {
            gap: Gap::None,
            ..SequenceSpec::default()
        };
        world
            .lab
            .wait(first.create(&Name::new("bills").unwrap(), &bills))
            .unwrap();
        assert_eq!(world.take(&first, 5), 10);
        world.standby.stop();
        let waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        for round in 0..3 {
            // What is in hand goes out, then claims wait, and their outcome is unknown.
            world.take(&first, 6);
            match ends {
                Ends::Restart if round > 0 => {}
                Ends::Restart => {
                    world.lab.engine.kill();
                    world.lab.engine.start();
                }
                Ends::Cancel | Ends::Terminate => {
                    let verb = match ends {
                        Ends::Cancel => "pg_cancel_backend",
                        _ => "pg_terminate_backend",
                    };
                    let what = format!(
                        "SELECT count({verb}(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                    );
                    // Something of ours waits every second, if only the heartbeat.
                    world.until(waits);
                    world.lab.engine.admin("ids", &what);
                }
            }
            world.take(&first, 6);
        }
        world.promote();
        // Who runs has seen the class, and vouches for the copy to whoever starts.
        let orders = key("seq/orders");
        world.lab.wait(until_ok(|| store.get(&orders)));
        let (_, second) = world.serve();
        let served = world.take(&second, 30) + world.take(&first, 30);
        assert!(served > 60, "{ends:?}: both go on, {served}");
        assert!(store.stopped().is_none(), "{ends:?}: {:?}", store.stopped());
        let how = match ends {
            Ends::Restart => "a restart",
            Ends::Cancel => "pg_cancel_backend",
            Ends::Terminate => "pg_terminate_backend",
        };
        let event = format!("class S, standby away, a waiting claim shown by {how}, standby promoted");
        Row::passed("postgres", &event, world.issued.len());
    }
}

// claim: P30
#[test]
#[ignore = "minutes: a copy that is two minutes old"]
fn a_copy_that_lagged_does_not_vouch_for_itself() {
    let Some(mut world) = World::new() else { return };
    let (store, first) = world.serve();
    world.take(&first, 5);
    world.standby.stop();
    world.lab.engine.confirm_by("");
    // Until the last heartbeat that the standby has is of no use any more.
    let old = "SELECT clock_timestamp() - pg_postmaster_start_time() > interval '100 seconds'";
    world.until(old);
    assert!(world.take(&first, 20) > 20);
    assert_eq!(store.class(), Class::Durable);
    world.promote();
    let error = world.lab.refused(&world.lab.proxied(), &patient());
    assert_eq!(error.kind, StoreErrorKind::Foreign, "{error:?}");
    assert!(error.message.contains("said by this copy alone"), "{error:?}");
    Row::passed(
        "postgres",
        "class S switched off for a minute, lagging standby promoted",
        world.issued.len(),
    );
}

// claim: P30
#[test]
#[ignore = "minutes: a cluster of two"]
fn the_old_primary_without_replication_is_not_used_beside_the_promoted_one() {
    let Some(mut world) = World::new() else { return };
    let (_, first) = world.serve();
    let (_, second) = world.serve();
    world.take(&first, 5);
    world.take(&second, 5);
    // The standby is promoted where these servers cannot see it; somebody gets the old one going.
    world.lab.engine.kill();
    world.standby.promote();
    world.lab.engine.start_with("synchronous_standby_names = ''");
    let before = world.issued.len();
    world.take(&first, 3);
    world.take(&second, 3);
    // What is in hand goes out; nothing is reserved there.
    let had = world.issued.len() - before;
    assert!(had <= 60, "{had}");
    let refused = world.lab.refused(&world.lab.proxied(), &patient());
    assert!(
        refused.message.contains("no other server writes to it"),
        "{refused:?}"
    );
    // An operator stops the servers, and accepts it.
    world
        .lab
        .wait(async { (first.close().await.ok(), second.close().await.ok()) });
    let accept = StoreSettings {
        accept_copy: true,
        ..patient()
    };
    let tool = world.lab.open_with(&world.lab.proxied(), &accept).unwrap();
    let runtime = world.lab.runtime();
    let raised = raise_in_place(&*tool, Advance::By(0), Duration::from_secs(600), &*runtime);
    world.lab.wait(raised).unwrap();
    world.lab.open(&world.lab.proxied());
    let event = "class S, the old primary back without replication beside the promoted one";
    Row::passed("postgres", event, world.issued.len());
}
