//! Every interleaving of threads on what a Snowflake generator has beside the word that its kernel moves (the kernels
//! have `kernels.rs`): its rules, its window's end, its close. `cargo xtask loom`.

use std::sync::Arc;

use loom::thread;
use mintage::{ClockPolicy, Layout, MintError, SequenceStart, Snowflake, Window};
use mintage_testing::{distinct, invariant, rising};

/// Two ids a tick, so that ticks run over within a few steps; `start` adds rules of its own.
fn layout(start: SequenceStart) -> Arc<Layout> {
    let builder = Layout::builder("small")
        .sequence_start(start)
        .time("time", 20)
        .field("rollback", 1, mintage::Role::Rollback)
        .worker("worker", 2)
        .sequence("sequence", 1);
    Arc::new(builder.build().unwrap())
}

fn generator(start: SequenceStart, policy: ClockPolicy, until_tick: u64) -> Arc<Snowflake> {
    let window = Window {
        worker: 1,
        from_tick: 10,
        until_tick,
    };
    let generator = Snowflake::new(layout(start), window, 2)
        .and_then(|generator| generator.clock_policy(policy))
        .unwrap();
    Arc::new(generator)
}

/// Mints up to `count` ids at each of the ticks.
fn mint(generator: &Snowflake, ticks: &[u64], count: usize) -> Vec<u64> {
    let mut all = Vec::new();
    for tick in ticks {
        let mut ids = vec![0; count];
        match generator.mint_many(generator.layout().time_of(*tick), &mut ids) {
            Ok(minted) => all.extend_from_slice(&ids[..minted]),
            Err(MintError::Closed) => break,
            Err(_) => {}
        }
    }
    all
}

/// Runs both lists of ticks on a thread of its own each, over every interleaving, and checks the ids.
fn check(
    make: impl Fn() -> Arc<Snowflake> + Send + Sync + 'static,
    [one, two]: [&'static [u64]; 2],
    in_order: bool,
) {
    loom::model(move || {
        let generator = make();
        let other = {
            let generator = Arc::clone(&generator);
            thread::spawn(move || mint(&generator, two, 1))
        };
        let mine = mint(&generator, one, 2);
        let theirs = other.join().unwrap();
        let layout = generator.layout();
        for ids in [&mine, &theirs] {
            if in_order {
                rising("ids of a thread", ids);
            }
        }
        let all: Vec<u64> = mine.into_iter().chain(theirs).collect();
        distinct("ids", &all);
        for id in all {
            let tick = layout.unpack(id).unwrap().tick;
            invariant!((10..generator.until_tick()).contains(&tick), "tick {tick}");
        }
    });
}

#[test]
fn following_the_clock_back_stays_unique() {
    // From 18 to 11 is further back than the generator may hold.
    check(
        || generator(SequenceStart::Zero, ClockPolicy::Bump, 20),
        [&[18, 11], &[18, 12]],
        false,
    );
}

#[test]
fn what_close_returns_was_never_minted_in() {
    for start in [SequenceStart::Zero, SequenceStart::Carry] {
        loom::model(move || {
            let generator = generator(start, ClockPolicy::Hold, 20);
            let other = {
                let generator = Arc::clone(&generator);
                thread::spawn(move || mint(&generator, &[10, 12], 3))
            };
            let unused_from = generator.close();
            for id in other.join().unwrap() {
                let tick = generator.layout().unpack(id).unwrap().tick;
                invariant!(
                    tick < unused_from,
                    "{tick} was minted in, {unused_from} given back"
                );
            }
            assert_eq!(mint(&generator, &[12], 1), []);
        });
    }
}

#[test]
fn a_window_is_extended_while_others_mint() {
    loom::model(|| {
        let generator = generator(SequenceStart::Zero, ClockPolicy::Hold, 11);
        let other = {
            let generator = Arc::clone(&generator);
            thread::spawn(move || mint(&generator, &[10, 12], 2))
        };
        generator.extend(13);
        let mine = mint(&generator, &[12], 2);
        let theirs = other.join().unwrap();
        distinct("ids", mine.into_iter().chain(theirs));
    });
}
