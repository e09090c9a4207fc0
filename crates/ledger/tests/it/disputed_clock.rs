//! Clocks that disagree: who makes ids that carry the time, of any format, and who does not (protocol C2).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use mintage::{Clock, FORMATS, Format, GenOptions, Id, Timestamp};
use mintage_ledger::*;
use tokio::time::{Instant, sleep};

use crate::machines::*;

const SECOND: Duration = Duration::from_secs(1);
const DAY_MS: i64 = 24 * 3_600_000;
const WRONG_MS: [i64; 3] = [3 * DAY_MS, -2 * 3_600_000, 60_000];

fn shared() -> Arc<dyn Store> {
    MemoryStore::shared(7)
}

/// Every format that holds a time and is made without a window.
fn timed() -> impl Iterator<Item = &'static Format> {
    // The time of a UUID of version 2 moves in steps of 429 s, and it asks for an owner.
    FORMATS
        .iter()
        .filter(|row| row.time.is_some() && row.can_make() && row.name != "uuid2")
}

/// An id of this format, and how far its time is from the true one; or the refusal.
fn off_ms(cluster: &Cluster, node: &Node, row: &Format) -> Result<i64, ClockRefusal> {
    let (nothing, mut ids) = (GenOptions::default(), [Id::default()]);
    let clock = node.ledger.clock();
    let made = clock.make(|generators, clock| row.make_many_by(generators, clock, &nothing, &mut ids))?;
    made.unwrap_or_else(|error| panic!("{}: {error}", row.name));
    let time = row.read(&ids[0], &nothing).unwrap().time.unwrap().at;
    Ok(time.unix_millis() - true_now(cluster.start).unix_millis())
}

async fn snowflake(node: &Node) -> Result<(), LedgerError> {
    let name = Name::new(DEFAULT_POOL).unwrap();
    let pool = node.ledger.pool_or_default(&name).await?;
    pool.mint(&mut [0]).await
}

/// Every format that carries the time is refused, and the refusal says both times and what to do; others are made.
async fn assert_refuses(node: &Node, cluster: &Cluster, what: &str) {
    let own = format!("{:.0}", node.ledger.clock().now());
    for row in timed() {
        let refused = off_ms(cluster, node, row).expect_err(&format!("{what}: {} is made", row.name));
        let said = refused.to_string();
        for part in [
            "no two clocks agree",
            own.as_str(),
            "set the clock that is wrong",
            "uuid4",
        ] {
            assert!(said.contains(part), "{what}: {part} is not in: {said}");
        }
    }
    let refused = snowflake(node).await.expect_err(what).to_string();
    assert!(refused.contains("no two clocks agree"), "{what}: {refused}");
    let ready = node.ledger.ready();
    assert!(ready.ready && !ready.pools.ready, "{what}: {ready:?}");
    assert!(
        ready
            .notes
            .iter()
            .any(|note| note.contains("no two clocks agree")),
        "{what}: {ready:?}"
    );
    let random = FORMATS.iter().find(|row| row.name == "nanoid").unwrap();
    let (nothing, mut ids) = (GenOptions::default(), [Id::default()]);
    let clock = node.ledger.clock();
    clock
        .make_timeless(|generators, clock| random.make_many_by(generators, clock, &nothing, &mut ids))
        .unwrap();
}

fn assert_makes_formats(node: &Node, cluster: &Cluster, within_ms: i64, what: &str) {
    for row in timed() {
        let off =
            off_ms(cluster, node, row).unwrap_or_else(|refused| panic!("{what}: {}: {refused}", row.name));
        assert!(
            (-within_ms - 1_000..=within_ms).contains(&off),
            "{what}: {} is {off} ms off",
            row.name
        );
    }
}

async fn assert_makes(node: &Node, cluster: &Cluster, within_ms: i64, what: &str) {
    assert_makes_formats(node, cluster, within_ms, what);
    snowflake(node)
        .await
        .unwrap_or_else(|error| panic!("{what}: {error}"));
}

async fn wrong_node(cluster: &Cluster, by_ms: i64) -> Node {
    let machine = cluster.machine();
    machine.step(by_ms);
    cluster.node_on("wrong", machine).await
}

#[test]
fn a_server_begins_with_no_id_before_the_clocks_are_compared() {
    for by_ms in WRONG_MS {
        in_paused_time(|| async {
            let cluster = Cluster::new(shared());
            let right = cluster.node("right").await;
            sleep(5 * SECOND).await;
            assert_makes(&right, &cluster, 100, "alone").await;
            let wrong = wrong_node(&cluster, by_ms).await;
            // At once, and at every moment until the clocks were compared: refused, or of the right time.
            for moment in 0..40 {
                for row in timed() {
                    if let Ok(off) = off_ms(&cluster, &wrong, row) {
                        assert!(
                            off.abs() < 5_500,
                            "{by_ms}: {} is {off} ms off in moment {moment}",
                            row.name
                        );
                    }
                }
                sleep(Duration::from_millis(100)).await;
            }
            match by_ms > 0 {
                true => assert_refuses(&wrong, &cluster, "ahead").await,
                // It goes on from the time that the store knows, which the other confirms.
                false => assert_makes(&wrong, &cluster, 5_500, "behind").await,
            }
        });
    }
}

#[test]
fn two_that_agree_outvote_the_third_on_every_format() {
    for by_ms in WRONG_MS {
        in_paused_time(|| async {
            let cluster = Cluster::new(shared());
            let (a, b) = (cluster.node("a").await, cluster.node("b").await);
            sleep(5 * SECOND).await;
            let wrong = wrong_node(&cluster, by_ms).await;
            sleep(5 * SECOND).await;
            for node in [&a, &b, &wrong] {
                assert_makes(node, &cluster, 5_500, "of three").await;
            }
            // Those that know better end: the time that was agreed on is held, for as long as it takes.
            a.machine.kill();
            b.machine.kill();
            for _ in 0..20 {
                sleep(10 * SECOND).await;
                assert_makes(&wrong, &cluster, 5_500, "held").await;
            }
        });
    }
}

#[test]
fn one_that_was_refused_stays_so_when_the_others_are_gone_until_its_clock_is_set() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        let right = cluster.node("right").await;
        sleep(5 * SECOND).await;
        let wrong = wrong_node(&cluster, 3 * DAY_MS).await;
        sleep(5 * SECOND).await;
        assert_refuses(&wrong, &cluster, "beside the other").await;
        assert_refuses(&right, &cluster, "the other itself").await;
        right.machine.kill();
        for _ in 0..20 {
            sleep(10 * SECOND).await;
            assert_refuses(&wrong, &cluster, "alone").await;
        }
        wrong.machine.step(-3 * DAY_MS);
        sleep(70 * SECOND).await;
        assert_makes(&wrong, &cluster, 100, "set right").await;
    });
}

#[test]
fn the_one_that_was_alone_goes_on_when_the_other_is_gone() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        let right = cluster.node("right").await;
        sleep(5 * SECOND).await;
        let wrong = wrong_node(&cluster, 3 * DAY_MS).await;
        sleep(5 * SECOND).await;
        wrong.machine.kill();
        sleep(5 * SECOND).await;
        assert_makes(&right, &cluster, 100, "alone again").await;
    });
}

#[test]
fn a_lone_server_goes_on_from_what_the_store_vouches_for() {
    in_paused_time(|| async {
        let cluster = Cluster::new(shared());
        let first = cluster.node("first").await;
        sleep(30 * SECOND).await;
        assert_makes(&first, &cluster, 100, "before").await;
        first.machine.kill();
        sleep(5 * SECOND).await;
        let again = wrong_node(&cluster, -2 * 3_600_000).await;
        again.ledger.clock().judged().await;
        // Held at the stored time, and at every look until the clock counts.
        for _ in 0..5 {
            for row in timed() {
                let off = off_ms(&cluster, &again, row).unwrap();
                assert!((-12_000..=0).contains(&off), "{}: {off} ms off", row.name);
            }
            sleep(10 * SECOND).await;
        }
        assert!(!again.ledger.ready().pools.ready, "{:?}", again.ledger.ready());
    });
}

#[test]
fn a_stores_clock_is_a_source_for_every_format() {
    for by_ms in WRONG_MS {
        in_paused_time(|| async {
            let clocked = Arc::new(Clocked {
                inner: shared(),
                start: Instant::now(),
                off_ms: AtomicI64::new(0),
            });
            let cluster = Cluster::new(clocked.clone());
            let wrong = wrong_node(&cluster, by_ms).await;
            sleep(SECOND).await;
            assert_refuses(&wrong, &cluster, "against the store").await;
            wrong.machine.kill();
            sleep(5 * SECOND).await;
            let right = cluster.node("right").await;
            sleep(SECOND).await;
            assert_makes(&right, &cluster, 100, "with the store").await;
            // What was agreed on is held when the store's clock breaks, or its own machine's.
            clocked.off_ms.store(by_ms, Ordering::SeqCst);
            sleep(30 * SECOND).await;
            // A window is taken at a time that two agree on now (protocol W6).
            assert_makes_formats(&right, &cluster, 100, "the store's clock broke");
        });
    }
}

#[test]
fn what_has_no_time_reads_no_clock() {
    /// A clock that nobody may read.
    struct Unread;
    impl Clock for Unread {
        fn now(&self) -> Timestamp {
            panic!("the clock is read");
        }
    }
    let generators = mintage::Generators::new(Timestamp::from_unix_millis(EPOCH_MS));
    // Its time goes into a hash, and no id shows it.
    let hashes = |row: &Format| row.name == "cuid2";
    for row in FORMATS
        .iter()
        .filter(|row| row.time.is_none() && row.can_make() && !hashes(row))
    {
        let mut ids = vec![Id::default(); 3];
        row.make_many_by(&generators, &Unread, &row.example_options(), &mut ids)
            .unwrap_or_else(|error| panic!("{}: {error}", row.name));
    }
}
