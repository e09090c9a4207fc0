//! Sequences that take their numbers out of a counter elsewhere, whose own clients go on: in virtual time, with lost
//! answers, outages and crashes. No number is ever given out twice, here or there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::source::{Fate, FaultySource, MemorySource, MoveId, Source, Way};
use mintage_ledger::*;
use mintage_testing::invariant;
use serde_json::{Value as Json, json};

use crate::common::{Node, World, in_world, in_world_of, secs};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn origin() -> Origin {
    Origin {
        source: "shop".into(),
        kind: "memory".into(),
        key: "orders_seq".into(),
        table: None,
        take: None,
    }
}

fn runtime() -> Arc<dyn Runtime> {
    SystemRuntime::new(tokio::runtime::Handle::current())
}

/// One original: the counter, and the way to it.
struct Original {
    memory: Arc<MemorySource>,
    source: Arc<FaultySource>,
}

impl Original {
    fn new() -> Original {
        let memory = MemorySource::new();
        memory.put("orders_seq", 1000);
        let source = FaultySource::new(memory.clone(), runtime());
        Original { memory, source }
    }

    /// What servers are told of it.
    fn settings(&self) -> LedgerSettings {
        settings_of(self.source.clone())
    }

    /// What a client of the original gets.
    fn client(&self, world: &mut World) {
        let first = self.memory.next("orders_seq").unwrap();
        world.saw(
            "orders",
            mintage::Run {
                first,
                step: 1,
                count: 1,
            },
        );
    }

    fn spent(&self, node: &Node) -> u64 {
        node.ledger.origins()[0].spent
    }
}

fn settings_of(source: Arc<dyn Source>) -> LedgerSettings {
    let all: BTreeMap<String, Arc<dyn Source>> = [("shop".to_string(), source)].into();
    LedgerSettings {
        origins: Some(Arc::new(all)),
        ..LedgerSettings::default()
    }
}

/// What a move writes into a sequence's record: where its numbers come from.
fn beside(origin: &Origin) -> Json {
    passage(PassageIs::Beside(origin.clone()))
}

fn passage(is: PassageIs) -> Json {
    let passage = Passage {
        id: MoveId::fresh(&*runtime()),
        step: 1,
        is,
    };
    serde_json::to_value(passage).unwrap()
}

/// Writes fields of a sequence's record by hand, with the next generation.
async fn write(store: &dyn Store, name: &str, fields: Json) {
    let key = Key::new(format!("seq/{name}")).unwrap();
    let found = store.get(&key).await.unwrap().unwrap();
    let mut body: Json = serde_json::from_str(&found.value.body).unwrap();
    body["generation"] = json!(body["generation"].as_u64().unwrap() + 1);
    for (field, value) in fields.as_object().unwrap() {
        body[field] = value.clone();
    }
    let value = Value {
        token: fresh_token(&*runtime()),
        body: body.to_string(),
        ..found.value
    };
    let written = store
        .compare_and_set(&key, Some(found.version), value, Marks::NeverLower)
        .await;
    assert!(matches!(written, Ok(Cas::Done(_))), "{written:?}");
}

/// A sequence beside its original, in a store that no server has opened yet.
async fn make(world: &mut World, spec: &SequenceSpec, origin: &Origin) {
    let editor = world.start(None).await;
    editor.ledger.create(&name("orders"), spec).await.unwrap();
    editor.ledger.close().await.unwrap();
    write(&*world.store, "orders", json!({"passage": beside(origin)})).await;
}

async fn make_default(world: &mut World) {
    make(world, &SequenceSpec::default(), &origin()).await;
}

async fn refusal(node: &Node) -> LedgerError {
    let sequence = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
    sequence.take(1).await.unwrap_err()
}

// claim: P58
#[test]
fn two_servers_and_the_originals_clients_never_share_a_number_and_the_record_stays() {
    in_world(1, FaultPlan::NONE, |mut world| async move {
        let original = Original::new();
        make_default(&mut world).await;
        let a = world.start_with(original.settings()).await.unwrap();
        let b = world.start_with(original.settings()).await.unwrap();
        let began = world.mark("orders").await;
        for _ in 0..30 {
            let drive = world.drive(&[&a, &b], "orders", 500, secs(1)).await;
            assert_eq!(drive.failed, 0, "{drive:?}");
            (0..20).for_each(|_| original.client(&mut world));
        }
        assert_eq!(
            world.mark("orders").await,
            began,
            "nothing is claimed from the record"
        );
        assert_eq!(world.count(), 30 * (2 * 500 + 20));
        let status = &a.ledger.origins()[0];
        assert!(status.numbers >= 15_000 && status.spent == 0, "{status:?}");
        // Ten seconds' worth at a time, once that is known: few takes.
        let takes: u64 = status.take_buckets.iter().sum();
        assert!(takes < 20, "{status:?}");
    });
}

#[test]
fn on_a_store_of_our_own_stock_goes_on_meanwhile_and_is_lost_with_a_clean_stop() {
    let store = MemoryStore::with_cluster_id(3);
    in_world_of(store, 2, FaultPlan::NONE, |mut world| async move {
        let original = Original::new();
        make_default(&mut world).await;
        for _ in 0..3 {
            let node = world.start_with(original.settings()).await.unwrap();
            world.drive(&[&node], "orders", 1000, secs(3)).await;
            original.source.set_fate(Fate {
                back: Duration::from_millis(300),
                ..Fate::default()
            });
            let slow = world.drive(&[&node], "orders", 1000, secs(10)).await;
            assert_eq!((slow.failed, slow.waited), (0, 0), "{slow:?}");
            original.source.set_fate(Fate::default());
            let sequence = node.ledger.sequence("orders").unwrap();
            let unused = sequence.info().unused;
            let lost = || {
                node.ledger
                    .counters()
                    .gap_ids
                    .load(std::sync::atomic::Ordering::Relaxed)
            };
            let before = lost();
            node.ledger.close().await.unwrap();
            assert_eq!(lost() - before, unused, "stock is never given back");
            assert!(unused > 0);
            original.client(&mut world);
        }
    });
}

// claim: P58
#[test]
fn lost_answers_hangs_and_crashes_repeat_nothing() {
    for seed in 0..8 {
        in_world(seed, FaultPlan::NONE, |mut world| async move {
            let original = Original::new();
            make_default(&mut world).await;
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut dice = move |of: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % of
            };
            original.source.set_fates(move || Fate {
                there: Duration::from_millis(dice(40)),
                back: Duration::from_millis(dice(40)),
                is_lost: dice(8) == 0,
                is_unheard: dice(4) == 0,
                hangs: dice(10) == 0,
                clients: dice(3),
            });
            let mut spent = 0;
            for _ in 0..6 {
                let a = world.start_with(original.settings()).await.unwrap();
                let b = world.start_with(original.settings()).await.unwrap();
                for _ in 0..4 {
                    world.drive(&[&a, &b], "orders", 300, secs(3)).await;
                    original.client(&mut world);
                }
                spent += original.spent(&a) + original.spent(&b);
                drop((a.crash(), b.crash()));
            }
            assert!(spent > 0, "some answers were lost");
            for first in original.source.others() {
                world.saw(
                    "orders",
                    mintage::Run {
                        first,
                        step: 1,
                        count: 1,
                    },
                );
            }
            assert!(world.count() > 3000, "{}", world.count());
        });
    }
}

#[test]
fn a_take_that_is_dropped_half_way_is_spent() {
    in_world(3, FaultPlan::NONE, |mut world| async move {
        let original = Original::new();
        make_default(&mut world).await;
        let node = world.start_with(original.settings()).await.unwrap();
        let mut is_probe = true;
        original.source.set_fates(move || Fate {
            is_unheard: !std::mem::take(&mut is_probe),
            hangs: true,
            ..Fate::default()
        });
        // Given up after a while, and never used.
        let error = refusal(&node).await;
        assert!(matches!(error, LedgerError::Unavailable { .. }), "{error}");
        assert_eq!(original.spent(&node), 101);
        original.source.set_fate(Fate::default());
        tokio::time::sleep(secs(10)).await;
        let sequence = node.ledger.sequence("orders").unwrap();
        let run = sequence.take(1).await.unwrap();
        assert!(run.first >= 1101, "{run:?}");
    });
}

#[test]
fn an_outage_is_bridged_by_the_stock_then_told_and_it_comes_back_by_itself() {
    in_world(4, FaultPlan::NONE, |mut world| async move {
        let original = Original::new();
        make_default(&mut world).await;
        let node = world.start_with(original.settings()).await.unwrap();
        world.drive(&[&node], "orders", 1000, secs(15)).await;
        original.source.set_fate(Fate {
            is_lost: true,
            ..Fate::default()
        });
        let dry = world.drive(&[&node], "orders", 1000, secs(40)).await;
        let lasted = dry.until_failed.unwrap();
        assert!(lasted > secs(4) && lasted < secs(16), "{lasted:?}");
        match dry.error.unwrap() {
            LedgerError::Unavailable {
                message,
                retry_after_s,
            } => {
                assert!((1..=6).contains(&retry_after_s), "{retry_after_s}");
                assert!(message.contains("orders_seq in source shop"), "{message}");
            }
            other => panic!("{other}"),
        }
        let status = &node.ledger.origins()[0];
        assert!(status.down_for > Some(secs(30)), "{status:?}");
        let ready = node.ledger.ready();
        assert!(ready.ready, "other names go on: {ready:?}");
        assert!(
            ready
                .notes
                .iter()
                .any(|note| note.starts_with("source shop down for")),
            "{ready:?}"
        );
        assert_eq!(ready.sequences.not_ready.len(), 1, "{ready:?}");
        assert!(node.ledger.name_ready(&name("orders")).sequence.unwrap().is_err());
        // Another name needs no source.
        let other = node.ledger.sequence_or_create(&name("other")).await.unwrap();
        assert_eq!(other.take(1).await.unwrap().first, 1);
        // The few that ask whether it is back are few.
        let asked: u64 = status.take_buckets.iter().sum();
        assert!(asked < 40, "{status:?}");
        original.source.set_fate(Fate::default());
        tokio::time::sleep(secs(7)).await;
        assert_eq!(
            node.ledger.origins()[0].down_for,
            None,
            "nobody had to ask for a number"
        );
        let back = world.drive(&[&node], "orders", 1000, secs(5)).await;
        assert_eq!(back.failed, 0, "{back:?}");
        assert!(node.ledger.name_ready(&name("orders")).sequence.unwrap().is_ok());
    });
}

#[test]
fn a_run_is_one_run_though_others_take_from_the_middle_and_what_does_not_fit_serves_singles() {
    in_world(5, FaultPlan::NONE, |mut world| async move {
        let original = Original::new();
        make_default(&mut world).await;
        let node = world.start_with(original.settings()).await.unwrap();
        let sequence = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
        original.source.set_fate(Fate {
            clients: 1,
            ..Fate::default()
        });
        let run = sequence.take_contiguous(40).await.unwrap();
        assert_eq!(run.count, 40);
        world.saw("orders", run);
        // Never had while several take from the middle of every take.
        original.source.set_fate(Fate {
            clients: 9,
            ..Fate::default()
        });
        let error = sequence.take_contiguous(5000).await.unwrap_err();
        assert!(error.to_string().contains("in between 8 times"), "{error}");
        let kept = sequence.info().unused;
        assert!(kept > 10_000 && kept <= 100_000, "{kept}");
        let takes = |node: &Node| node.ledger.origins()[0].take_buckets.iter().sum::<u64>();
        let before = takes(&node);
        let mut last = run.last();
        for _ in 0..1000 {
            let run = sequence.take(7).await.unwrap();
            invariant!(run.first > last, "{} after {last} of one server", run.first);
            last = run.last();
            world.saw("orders", run);
        }
        assert_eq!(takes(&node), before, "what did not fit is used");
        original.source.set_fate(Fate::default());
        let run = sequence.take_contiguous(50_000).await.unwrap();
        assert_eq!(run.count, 50_000);
        invariant!(run.first > last, "{} after {last} of one server", run.first);
        world.saw("orders", run);
        let error = sequence.take_contiguous(100_001).await.unwrap_err();
        assert!(error.to_string().contains("100000 at a time at most"), "{error}");
        for first in original.source.others() {
            world.saw(
                "orders",
                mintage::Run {
                    first,
                    step: 1,
                    count: 1,
                },
            );
        }
    });
}

#[test]
fn a_crash_loses_no_more_than_max_gap_whatever_the_source_gives() {
    in_world(6, FaultPlan::NONE, |mut world| async move {
        let original = Original::new();
        let spec = SequenceSpec {
            max_gap: Some(50),
            ..SequenceSpec::default()
        };
        make(&mut world, &spec, &origin()).await;
        let node = world.start_with(original.settings()).await.unwrap();
        world.drive(&[&node], "orders", 2000, secs(5)).await;
        let sequence = node.ledger.sequence("orders").unwrap();
        for n in [1, 49, 50] {
            world.saw("orders", sequence.take_contiguous(n).await.unwrap());
            assert!(sequence.info().unused <= 50, "{}", sequence.info().unused);
        }
        let many = sequence.take(10_000).await.unwrap();
        assert!(many.count <= 50 && sequence.info().unused <= 50);
    });
    // As many as the record says.
    in_world(6, FaultPlan::NONE, |mut world| async move {
        let original = Original::new();
        let take = Some(1_000_000);
        make(&mut world, &SequenceSpec::default(), &Origin { take, ..origin() }).await;
        let node = world.start_with(original.settings()).await.unwrap();
        let drive = world.drive(&[&node], "orders", 5000, secs(10)).await;
        assert_eq!(drive.failed, 0);
        let status = &node.ledger.origins()[0];
        assert_eq!(
            (status.numbers, status.take_buckets.iter().sum::<u64>()),
            (1_000_000, 1)
        );
    });
}

#[test]
fn a_source_that_may_forget_is_refused_in_words_and_so_is_one_that_nobody_named() {
    in_world(7, FaultPlan::NONE, |mut world| async move {
        make_default(&mut world).await;
        let lossy = MemorySource::lossy();
        lossy.put("orders_seq", 1);
        let node = world.start_with(settings_of(lossy.clone())).await.unwrap();
        let error = refusal(&node).await.to_string();
        assert!(
            error.contains("source shop may lose what it has acknowledged, class L"),
            "{error}"
        );
        assert_eq!(lossy.next("orders_seq"), Some(1), "nothing was taken");
        assert_eq!(node.ledger.origins()[0].class, Some(Class::Lossy));
        for (settings, says) in [
            (LedgerSettings::default(), "this process knows no source \"shop\""),
            (settings_of(MemorySource::new()), "no counter orders_seq"),
        ] {
            let node = world.start_with(settings).await.unwrap();
            let error = refusal(&node).await;
            assert!(error.to_string().contains(says), "{error}");
            let knows = !says.starts_with("this process");
            match error {
                LedgerError::OriginRefuses(refusal) => {
                    let advice = refusal.advice;
                    assert_eq!(advice.is_none(), knows, "{advice:?}")
                }
                other => panic!("{other}"),
            }
            let other = node.ledger.sequence_or_create(&name("other")).await.unwrap();
            world.saw("other", other.take(1).await.unwrap());
        }
    });
}

#[test]
fn a_source_is_probed_again_every_minute_and_after_it_was_away() {
    in_world(8, FaultPlan::NONE, |mut world| async move {
        let probes = Arc::new(std::sync::atomic::AtomicU64::new(0));
        let original = Original::new();
        let count = probes.clone();
        original.source.set_fates(move || {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Fate::default()
        });
        make_default(&mut world).await;
        let node = world.start_with(original.settings()).await.unwrap();
        world.drive(&[&node], "orders", 100, secs(200)).await;
        let takes: u64 = node.ledger.origins()[0].take_buckets.iter().sum();
        let probes = probes.load(std::sync::atomic::Ordering::Relaxed) - takes;
        assert!((3..=5).contains(&probes), "{probes}");
    });
}

#[test]
fn without_gaps_or_in_a_set_of_stores_an_origin_is_refused() {
    in_world(9, FaultPlan::NONE, |mut world| async move {
        let original = Original::new();
        let spec = SequenceSpec {
            gap: Gap::None,
            ..SequenceSpec::default()
        };
        make(&mut world, &spec, &origin()).await;
        let node = world.start_with(original.settings()).await.unwrap();
        let error = refusal(&node).await.to_string();
        assert!(error.contains("gap = none does not go with that"), "{error}");
        assert_eq!(
            original.memory.next("orders_seq"),
            Some(1000),
            "nothing was taken"
        );
    });
}

/// A cut as the ledger's side of a move makes it: the record first, then the fence, then the mark.
#[test]
fn after_a_cut_what_is_in_stock_is_dropped_and_numbers_come_from_here() {
    in_world(10, FaultPlan::NONE, |mut world| async move {
        let original = Original::new();
        make_default(&mut world).await;
        let a = world.start_with(original.settings()).await.unwrap();
        let b = world.start_with(original.settings()).await.unwrap();
        world.drive(&[&a, &b], "orders", 500, secs(12)).await;
        let note = source::Note {
            id: MoveId::fresh(&*runtime()),
            before: Default::default(),
            mark: None,
        };
        let fenced = original
            .memory
            .fence("orders_seq", Way::Cut, &note)
            .await
            .unwrap();
        let mark = i64::try_from(fenced.mark).unwrap();
        let base = json!({"value": mark, "is_called": false, "ordinal": world.mark("orders").await});
        let here = json!({"passage": passage(PassageIs::Here), "base": base});
        write(&*world.store, "orders", here).await;
        let editor = world.start_with(original.settings()).await.unwrap();
        assert_eq!(editor.ledger.followed_by_all(&name("orders")).await, [""; 0]);
        for node in [&a, &b] {
            let sequence = node.ledger.sequence("orders").unwrap();
            assert_eq!(sequence.info().unused, 0, "stock of the generation before");
            let run = sequence.take(1).await.unwrap();
            assert!(run.first >= mark, "{run:?}");
            world.saw("orders", run);
        }
        let drive = world.drive(&[&a, &b], "orders", 500, secs(5)).await;
        assert_eq!(drive.failed, 0, "{drive:?}");
        assert_eq!(original.memory.next("orders_seq"), None);
    });
}

#[test]
fn a_server_that_did_not_hear_of_the_cut_finds_the_fence_and_then_the_record() {
    in_world(11, FaultPlan::NONE, |mut world| async move {
        let original = Original::new();
        make_default(&mut world).await;
        let node = world.start_with(original.settings()).await.unwrap();
        world.drive(&[&node], "orders", 100, secs(3)).await;
        let note = source::Note {
            id: MoveId::fresh(&*runtime()),
            before: Default::default(),
            mark: None,
        };
        let fenced = original
            .memory
            .fence("orders_seq", Way::Cut, &note)
            .await
            .unwrap();
        let mark = i64::try_from(fenced.mark).unwrap();
        // The record says beside still: refused in words once the stock has ended, and no number is made up.
        let drive = world.drive(&[&node], "orders", 1000, secs(30)).await;
        let error = drive.error.unwrap();
        assert!(
            matches!(&error, LedgerError::OriginRefuses(refusal) if refusal.has_ended),
            "{error}"
        );
        assert!(drive.last < mark);
        let base = json!({"value": mark, "is_called": false, "ordinal": world.mark("orders").await});
        let here = json!({"passage": passage(PassageIs::Here), "base": base});
        write(&*world.store, "orders", here).await;
        tokio::time::sleep(secs(2)).await;
        let run = node.ledger.sequence("orders").unwrap().take(1).await.unwrap();
        assert_eq!(run.first, mark, "nobody told it, and it looked");
        world.saw("orders", run);
    });
}

#[test]
fn an_original_that_was_set_back_gives_nothing_twice() {
    in_world(12, FaultPlan::NONE, |mut world| async move {
        let original = Original::new();
        make_default(&mut world).await;
        let node = world.start_with(original.settings()).await.unwrap();
        let sequence = node.ledger.sequence_or_create(&name("orders")).await.unwrap();
        for _ in 0..5 {
            let run = sequence.take_contiguous(1000).await.unwrap();
            world.saw("orders", run);
        }
        original.memory.put("orders_seq", 1000);
        let mut refused = 0;
        for _ in 0..200 {
            match sequence.take_contiguous(1000).await {
                Ok(run) => world.saw("orders", run),
                Err(error) => {
                    refused += 1;
                    assert!(
                        error.to_string().contains("was it set back")
                            || error.to_string().contains("in between"),
                        "{error}"
                    );
                }
            }
        }
        assert!(refused < 5, "it goes on once it lies beyond: {refused}");
    });
}

#[test]
fn a_name_that_is_let_go_loses_its_stock_and_counts_it() {
    in_world(13, FaultPlan::NONE, |mut world| async move {
        let original = Original::new();
        make_default(&mut world).await;
        let node = world.start_with(original.settings()).await.unwrap();
        world.drive(&[&node], "orders", 100, secs(1)).await;
        let unused = node.ledger.sequence("orders").unwrap().info().unused;
        assert!(unused > 0);
        tokio::time::sleep(secs(900)).await;
        assert!(node.ledger.sequence("orders").is_none(), "it was let go");
        let lost = node
            .ledger
            .counters()
            .gap_ids
            .load(std::sync::atomic::Ordering::Relaxed);
        assert!(lost >= unused, "{lost} of {unused}");
        world.drive(&[&node], "orders", 100, secs(1)).await;
    });
}

#[test]
fn an_outage_of_our_own_store_is_not_noticed_beside_an_original() {
    in_world(14, FaultPlan::NONE, |mut world| async move {
        let original = Original::new();
        make_default(&mut world).await;
        let node = world.start_with(original.settings()).await.unwrap();
        world.drive(&[&node], "orders", 1000, secs(12)).await;
        world.store.freeze(true);
        let drive = world.drive(&[&node], "orders", 1000, secs(120)).await;
        assert_eq!((drive.failed, drive.waited), (0, 0), "{drive:?}");
        assert_eq!(
            node.ledger.store_status().first_to_end,
            None,
            "nothing ends for that"
        );
    });
}
