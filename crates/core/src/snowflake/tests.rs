use std::string::ToString;
use std::vec::Vec;

use mintage_testing::{Distinct, distinct, invariant, rising};
use proptest::prelude::*;

use super::*;

fn twitter() -> Arc<Layout> {
    Arc::new(crate::preset("twitter").expect("a preset").layout())
}

fn generator(from_tick: u64, until_tick: u64, ahead: u64) -> Snowflake {
    Snowflake::new(
        twitter(),
        Window {
            worker: 3,
            from_tick,
            until_tick,
        },
        ahead,
    )
    .expect("a sound window")
}

fn tick_of(g: &Snowflake, id: u64) -> u64 {
    g.layout().unpack(id).expect("an id of the layout").tick
}

#[test]
fn a_clock_that_goes_back_is_held() {
    let g = generator(0, 1 << 40, 10_000_000);
    let at = |tick| g.layout().time_of(tick);
    let mut last = g.mint(at(5_000_000)).expect("an id");
    for back in [1, 1000, 3_600_000] {
        let id = g.mint(at(5_000_000 - back)).expect("an id");
        invariant!(id > last, "{id} after {last}");
        assert_eq!(tick_of(&g, id), 5_000_000);
        last = id;
    }
    assert_eq!(tick_of(&g, g.mint(at(5_000_001)).expect("an id")), 5_000_001);
}

#[test]
fn a_full_tick_carries_and_stops_at_max_ahead() {
    let g = generator(0, 1 << 40, 2);
    let now = g.layout().time_of(10);
    let mut ids = Vec::new();
    let error = loop {
        match g.mint(now) {
            Ok(id) => ids.push(id),
            Err(e) => break e,
        }
    };
    assert_eq!(ids.len(), 3 * 4096);
    rising("ids", &ids);
    assert_eq!(error, MintError::TooFarAhead { ticks: 1 });
    assert!(g.mint(g.layout().time_of(11)).is_ok());
}

#[test]
fn nothing_is_minted_outside_the_window() {
    let g = generator(10, 12, 1000);
    let early = g.mint(g.layout().time_of(0)).expect("within max_ahead");
    assert_eq!(tick_of(&g, early), 10);
    let mut out = [0; 10_000];
    let n = g
        .mint_many(g.layout().time_of(10), &mut out)
        .expect("ids are left");
    assert_eq!(n, 2 * 4096 - 1);
    assert!(out[..n].iter().all(|id| (10..12).contains(&tick_of(&g, *id))));
    let end = Err(MintError::WindowEnd { until_tick: 12 });
    assert_eq!(g.mint(g.layout().time_of(10)), end);
    assert_eq!(
        g.mint(g.layout().time_of(500)),
        end,
        "also when the clock is past the window"
    );
    g.extend(11);
    assert_eq!(g.mint(g.layout().time_of(10)), end, "an extension never shortens");
    g.extend(14);
    assert_eq!(tick_of(&g, g.mint(g.layout().time_of(10)).expect("extended")), 12);
}

#[test]
fn a_start_far_ahead_of_the_clock_says_how_long_to_wait() {
    let g = generator(1000, 2000, 5);
    assert_eq!(
        g.mint(g.layout().time_of(900)),
        Err(MintError::TooFarAhead { ticks: 95 })
    );
    assert!(g.mint(g.layout().time_of(995)).is_ok());
}

#[test]
fn close_returns_the_first_tick_never_minted_in() {
    let fresh = generator(10, 20, 2);
    assert_eq!(fresh.close(), 10);
    let used = generator(10, 20, 2);
    used.mint(used.layout().time_of(12)).expect("an id");
    assert_eq!(used.close(), 13);
    assert_eq!(used.mint(used.layout().time_of(15)), Err(MintError::Closed));
    assert_eq!(used.close(), 20);
    let full = generator(10, 11, 2);
    let mut out = [0; 5000];
    assert_eq!(full.mint_many(full.layout().time_of(10), &mut out), Ok(4096));
    assert_eq!(full.close(), 11);
}

#[test]
fn the_end_of_the_time_field_is_an_error_and_not_a_wrap() {
    let layout = twitter();
    let g = Snowflake::unguarded(layout.clone(), 1023).expect("the worker fits");
    let last = layout.time_of(layout.ticks_max());
    let mut out = [0; 5000];
    assert_eq!(g.mint_many(last, &mut out), Ok(4096));
    assert_eq!(out[4095], u64::MAX >> 1);
    assert_eq!(g.mint(last), Err(MintError::TimeFieldFull));
    assert_eq!(g.mint(layout.end()), Err(MintError::TimeFieldFull));
    let before = layout.epoch().saturating_sub(Duration::from_nanos(1));
    assert_eq!(g.mint(before), Err(MintError::BeforeEpoch));
}

#[test]
fn a_layout_of_64_bits_without_workers_works() {
    let layout = Layout::builder("tso")
        .time("physical", 46)
        .sequence("logical", 18)
        .build();
    let layout = Arc::new(layout.expect("a sound layout"));
    let g = Snowflake::unguarded(layout.clone(), 0).expect("worker 0 fits");
    let id = g
        .mint(Timestamp::from_unix_millis(1_700_000_000_000))
        .expect("an id");
    assert_eq!(id, 1_700_000_000_000 << 18);
    assert!(Snowflake::unguarded(layout, 1).is_err());
}

fn layout_starting(start: SequenceStart) -> Arc<Layout> {
    let builder = Layout::builder("x")
        .time("t", 41)
        .worker("w", 10)
        .sequence("s", 12);
    Arc::new(builder.sequence_start(start).build().expect("a sound layout"))
}

fn sequences(start: SequenceStart, ticks: impl Iterator<Item = u64>) -> Vec<u64> {
    let layout = layout_starting(start);
    let g = Snowflake::unguarded(layout.clone(), 0).expect("worker 0 fits");
    let ids: Vec<u64> = ticks
        .map(|tick| g.mint(layout.time_of(tick)).expect("an id"))
        .collect();
    rising("ids", &ids);
    ids.iter()
        .map(|id| layout.unpack(*id).expect("an id of the layout").sequence)
        .collect()
}

#[test]
fn a_carried_sequence_stays_even_under_any_modulo_up_to_64() {
    let rounds = 64 * 630;
    let sequences = sequences(SequenceStart::Carry, (1..=rounds).map(|i| i * 3));
    assert_eq!(sequences[..3], [0, 1, 2]);
    for modulo in 2..=64 {
        let mut hits = std::vec![0u64; modulo as usize];
        for sequence in &sequences {
            hits[(sequence % modulo) as usize] += 1;
        }
        let (least, most) = (hits.iter().min().expect("hits"), hits.iter().max().expect("hits"));
        assert!(
            most - least <= rounds / 2048 + 1,
            "modulo {modulo}: {least} to {most}"
        );
    }
}

#[test]
fn a_carried_sequence_always_leaves_half_of_a_tick() {
    let layout = layout_starting(SequenceStart::Carry);
    let g = Snowflake::unguarded(layout.clone(), 0).expect("worker 0 fits");
    let mut out = [0; 2048];
    for tick in 1..50 {
        g.mint_many(layout.time_of(tick), &mut out[..2000]).expect("ids");
        let last = layout.unpack(out[1999]).expect("an id of the layout");
        assert_eq!(last.tick, tick);
    }
}

#[test]
fn a_random_start_stays_below_its_bound_and_spreads() {
    let sequences = sequences(SequenceStart::Random { below: 100 }, 1..1000);
    let mut seen = [false; 100];
    for sequence in sequences {
        seen[sequence as usize] = true;
    }
    assert!(seen.iter().filter(|hit| **hit).count() > 95);
}

#[test]
fn a_start_at_5_never_uses_0_to_4_even_after_a_full_tick() {
    let layout = layout_starting(SequenceStart::At(5));
    let g = Snowflake::unguarded(layout.clone(), 0).expect("worker 0 fits");
    let mut out = [0; 10_000];
    assert_eq!(g.mint_many(layout.time_of(7), &mut out), Ok(10_000));
    rising("ids", out);
    let parts: Vec<_> = out.iter().map(|id| layout.unpack(*id).expect("an id")).collect();
    assert!(parts.iter().all(|parts| parts.sequence >= 5));
    assert_eq!((parts[4091].tick, parts[4091].sequence), (8, 5));
}

#[test]
fn waiting_is_said_up_to_the_bound_and_an_error_beyond_it() {
    let layout = twitter();
    let wait = ClockPolicy::Wait {
        max: Duration::from_millis(5),
    };
    let g = Snowflake::unguarded(layout.clone(), 0)
        .and_then(|g| g.clock_policy(wait))
        .expect("sound");
    g.mint(layout.time_of(1000)).expect("an id");
    let at = |tick| g.mint(layout.time_of(tick));
    assert_eq!(at(995), Err(MintError::ClockBack { ticks: 5, wait: true }));
    assert_eq!(
        at(994),
        Err(MintError::ClockBack {
            ticks: 6,
            wait: false
        })
    );
    assert!(at(1000).is_ok());
}

#[test]
fn a_bound_of_more_ticks_than_there_are_is_no_short_one() {
    // 384 more than 64 bits hold.
    let max = Duration::from_secs(18_446_744_073_709_552);
    let g = Snowflake::unguarded(twitter(), 0)
        .and_then(|g| g.clock_policy(ClockPolicy::Wait { max }))
        .expect("sound");
    g.mint(g.layout().time_of(1000)).expect("an id");
    let (ticks, wait) = (900, true);
    assert_eq!(
        g.mint(g.layout().time_of(100)),
        Err(MintError::ClockBack { ticks, wait })
    );
}

#[test]
fn a_reading_far_ahead_that_was_refused_is_forgotten() {
    let window = Window {
        worker: 1,
        from_tick: 0,
        until_tick: 100,
    };
    let g = Snowflake::new(twitter(), window, 2).and_then(|g| g.clock_policy(ClockPolicy::Error));
    let g = g.expect("sound");
    let at = |tick| g.mint(g.layout().time_of(tick));
    assert!(at(10).is_ok());
    assert_eq!(at(1 << 40), Err(MintError::WindowEnd { until_tick: 100 }));
    assert!(at(11).is_ok());
}

#[test]
fn bumping_follows_a_clock_that_went_far_back_and_never_repeats() {
    let layout = Arc::new(crate::preset("rollback2").expect("a preset").layout());
    let window = Window {
        worker: 9,
        from_tick: 1000,
        until_tick: 1 << 40,
    };
    let g = Snowflake::new(layout.clone(), window, 100).and_then(|g| g.clock_policy(ClockPolicy::Bump));
    let g = g.expect("sound");
    let rollback = |id: u64| layout.fields()[1].of(id);
    let mut seen = Distinct::of("ids");
    let mut mint = |tick| {
        let id = g.mint(layout.time_of(tick))?;
        seen.add(id);
        Ok((layout.unpack(id).expect("an id").tick, rollback(id)))
    };
    assert_eq!(mint(500_000), Ok((500_000, 0)));
    assert_eq!(mint(499_950), Ok((500_000, 0)), "held within max_ahead");
    assert_eq!(mint(400_000), Ok((400_000, 1)), "followed beyond it");
    assert_eq!(mint(400_001), Ok((400_001, 1)));
    assert_eq!(
        mint(500),
        Err(MintError::TooFarAhead { ticks: 400 }),
        "not below the window"
    );
    assert_eq!(mint(300_000), Ok((300_000, 2)));
    assert_eq!(mint(200_000), Ok((200_000, 3)));
    assert_eq!(
        mint(100_000),
        Err(MintError::TooFarAhead { ticks: 99_900 }),
        "used up: held"
    );
    assert_eq!(mint(500_000), Ok((500_000, 3)));
    assert_eq!(
        g.close(),
        1 << 40,
        "what was minted before the step back lies higher than the last id"
    );
}

#[test]
fn bumping_needs_a_field() {
    let error = Snowflake::unguarded(twitter(), 0).and_then(|g| g.clock_policy(ClockPolicy::Bump));
    assert!(
        error
            .expect_err("twitter has none")
            .to_string()
            .contains("rollback field")
    );
}

/// What a caller may do to a generator.
#[derive(Clone, Debug)]
enum Step {
    /// Mint this many at this tick.
    Mint(u64, usize),
    /// Mint at any time at all.
    MintAt(i128),
    Extend(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u64..300, 1usize..70).prop_map(|(tick, n)| Step::Mint(tick, n)),
        1 => any::<i128>().prop_map(Step::MintAt),
        1 => (0u64..400).prop_map(Step::Extend),
    ]
}

fn start() -> impl Strategy<Value = SequenceStart> {
    prop_oneof![
        Just(SequenceStart::Zero),
        (0u64..16).prop_map(SequenceStart::At),
        (0u64..16).prop_map(|below| SequenceStart::Random { below }),
        Just(SequenceStart::Carry),
    ]
}

fn policy() -> impl Strategy<Value = ClockPolicy> {
    let wait = ClockPolicy::Wait {
        max: Duration::from_millis(3),
    };
    prop_oneof![
        Just(ClockPolicy::Hold),
        Just(wait),
        Just(ClockPolicy::Error),
        Just(ClockPolicy::Bump)
    ]
}

proptest! {
    /// Whatever clock, start and policy: no id twice, none outside the window, none too far ahead.
    #[test]
    fn every_generator_keeps_its_promises(
        start in start(), policy in policy(), from in 0u64..50, length in 1u64..200, ahead in 2u64..30,
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let builder = Layout::builder("x").time("t", 20).field("r", 2, crate::Role::Rollback);
        let layout = builder.worker("w", 3).sequence("s", 4).sequence_start(start).build();
        let layout = Arc::new(layout.expect("a sound layout"));
        let window = Window { worker: 5, from_tick: from, until_tick: from + length };
        let g = Snowflake::new(layout.clone(), window, ahead).and_then(|g| g.clock_policy(policy));
        let g = g.expect("sound settings");
        let mut seen = Distinct::of("ids");
        let mut last = 0;
        let mut until = from + length;
        let mut highest = 0;
        for step in steps {
            let (now, n) = match step {
                Step::Mint(tick, n) => (layout.time_of(tick), n),
                Step::MintAt(nanos) => (Timestamp::from_unix_nanos(nanos), 3),
                Step::Extend(to) => {
                    g.extend(to);
                    until = until.max(to);
                    continue;
                }
            };
            let mut out = std::vec![0; n];
            let Ok(made) = g.mint_many(now, &mut out) else { continue };
            prop_assert!(made >= 1);
            let tick = layout.tick_at(now).expect("it minted");
            for id in &out[..made] {
                let parts = layout.unpack(*id).expect("an id of the layout");
                seen.add(*id);
                prop_assert_eq!(parts.worker, 5);
                invariant!((from..until).contains(&parts.tick), "{} outside the window", parts.tick);
                prop_assert!(parts.tick <= tick + ahead, "{} too far ahead of {tick}", parts.tick);
                if policy != ClockPolicy::Bump {
                    invariant!(*id > last || seen.len() == 1, "{id} after {last}");
                }
                last = *id;
                highest = highest.max(parts.tick);
            }
        }
        let closed_at = g.close();
        invariant!(closed_at > highest || seen.is_empty(), "{closed_at} was given back, {highest} minted");
        prop_assert!(closed_at <= until);
        prop_assert_eq!(g.mint(layout.time_of(from)), Err(MintError::Closed));
    }
}

proptest! {
    /// The same calls of a narrow generator and of a wide one, whose layout has the same fields below 64 constant bits:
    /// what holds of the one holds of the other.
    #[test]
    fn a_wide_generator_makes_what_a_narrow_one_does(
        start in start(), policy in policy(), from in 0u64..50, length in 1u64..200, ahead in 2u64..30,
        steps in prop::collection::vec(step(), 1..60),
    ) {
        const ABOVE: u64 = 0xfeed_c0de_cafe_f00d;
        let fields = |builder: crate::LayoutBuilder| {
            let builder = builder.time("t", 20).field("r", 2, crate::Role::Rollback).worker("w", 3);
            Arc::new(builder.sequence("s", 4).sequence_start(start).build().expect("a sound layout"))
        };
        let narrow = fields(Layout::builder("x"));
        let wide = fields(Layout::builder("x").field("c", 64, crate::Role::Constant(ABOVE)));
        let window = Window { worker: 5, from_tick: from, until_tick: from + length };
        let one = Snowflake::new(narrow.clone(), window, ahead).and_then(|g| g.clock_policy(policy));
        let other = WideSnowflake::new(wide, window, ahead).and_then(|g| g.clock_policy(policy));
        let (one, other) = (one.expect("sound settings"), other.expect("sound settings"));
        for step in steps {
            let (now, n) = match step {
                Step::Mint(tick, n) => (narrow.time_of(tick), n),
                Step::MintAt(nanos) => (Timestamp::from_unix_nanos(nanos), 3),
                Step::Extend(to) => {
                    one.extend(to);
                    other.extend(to);
                    continue;
                }
            };
            let (mut some, mut others) = (std::vec![0; n], std::vec![0; n]);
            prop_assert_eq!(one.mint_many(now, &mut some), other.mint_many(now, &mut others));
            for (id, wide) in some.into_iter().zip(others).filter(|(id, _)| *id != 0) {
                prop_assert_eq!(wide, u128::from(ABOVE) << 29 | u128::from(id));
            }
        }
        prop_assert_eq!(one.close(), other.close());
        prop_assert_eq!(other.mint(narrow.time_of(from)), Err(MintError::Closed));
    }
}

#[test]
fn a_wide_generator_ends_where_its_word_does_and_not_before() {
    // 64 bits of time and 16 of sequence in 62 bits: 46 of milliseconds.
    let layout = Arc::new(crate::preset("flake").expect("a preset").layout());
    let worker = (1 << 48) - 1;
    let generator = WideSnowflake::unguarded(layout.clone(), worker).expect("it fits");
    let end = Snowflake::end_of(&layout);
    assert_eq!(end, layout.time_of(1 << 46));
    let mut ids = std::vec![0; (1 << 16) + 1];
    let last = end.saturating_sub(Duration::from_nanos(1));
    assert_eq!(generator.mint_many(last, &mut ids), Ok(1 << 16));
    let largest = u128::from((1u64 << 46) - 1) << 64 | u128::from(worker) << 16 | 0xffff;
    assert_eq!(ids[(1 << 16) - 1], largest);
    for at in [last, end, layout.end()] {
        assert_eq!(generator.mint(at), Err(MintError::TimeFieldFull));
    }
    assert!(Snowflake::check_layout(&layout, last).is_ok());
    assert!(matches!(
        Snowflake::check_layout(&layout, end),
        Err(LayoutError::ReadOnly { .. })
    ));
    // The generator of 64 bits says that it is not for these.
    let refused = Snowflake::unguarded(layout, worker).expect_err("it is wide");
    assert!(matches!(refused, LayoutError::Wide { bits: 128, .. }));
}

#[test]
fn refused_settings_say_why() {
    let check = |window, ahead, reason: &str| {
        let error = Snowflake::new(twitter(), window, ahead)
            .expect_err("not usable")
            .to_string();
        assert!(error.contains(reason), "{error}");
    };
    check(
        Window {
            worker: 1024,
            from_tick: 0,
            until_tick: 1,
        },
        2,
        "largest is 1023",
    );
    check(
        Window {
            worker: 0,
            from_tick: 5,
            until_tick: 5,
        },
        2,
        "is empty",
    );
    check(
        Window {
            worker: 0,
            from_tick: 0,
            until_tick: 1 << 42,
        },
        2,
        "past the end",
    );
    check(
        Window {
            worker: 0,
            from_tick: 0,
            until_tick: 10,
        },
        1,
        "at least 2",
    );
}

#[test]
fn threads_share_one_generator_without_a_repeat() {
    let g = generator(0, 1 << 40, 1 << 30);
    let now = g.layout().time_of(100);
    let mut all: Vec<u64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..64)
            .map(|i| {
                let g = &g;
                scope.spawn(move || {
                    let mut mine = Vec::new();
                    let mut buffer = [0; 37];
                    for _ in 0..200 {
                        mine.push(g.mint(now).expect("an id"));
                        let n = g.mint_many(now, &mut buffer[..i % 37]).expect("ids");
                        mine.extend_from_slice(&buffer[..n]);
                    }
                    rising("ids of a thread", &mine);
                    mine
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|w| w.join().expect("no panic"))
            .collect()
    });
    all.sort_unstable();
    rising("sorted ids of all threads", &all);
    let mut expected = 100 << 22 | 3 << 12;
    assert_eq!(all[0], expected);
    // Without a gap: every place was used.
    for id in all {
        assert_eq!(id, expected);
        expected += 1;
        if expected & 0xfff == 0 {
            expected += (1 << 22) - 4096;
        }
    }
}

#[test]
fn closing_under_load_never_mints_at_or_past_the_returned_tick() {
    for _ in 0..50 {
        let g = generator(0, 1000, 999);
        let highest = std::thread::scope(|scope| {
            let minters: Vec<_> = (0..4)
                .map(|_| {
                    let g = &g;
                    scope.spawn(move || {
                        let mut highest = 0;
                        let mut out = [0; 100];
                        for tick in 0..1000 {
                            match g.mint_many(g.layout().time_of(tick), &mut out) {
                                Ok(n) => highest = out[n - 1],
                                Err(_) => break,
                            }
                        }
                        highest
                    })
                })
                .collect();
            std::thread::yield_now();
            let closed_at = g.close();
            let highest = minters
                .into_iter()
                .map(|m| m.join().expect("no panic"))
                .max()
                .expect("four minters");
            (closed_at, highest)
        });
        let (closed_at, highest) = highest;
        invariant!(
            tick_of(&g, highest) < closed_at || highest == 0,
            "{closed_at} was given back, {highest} minted"
        );
    }
}

#[test]
fn the_last_places_of_a_full_word_are_given_out_once() {
    let layout = Layout::builder("full").time("time", 60).sequence("sequence", 2);
    let layout = Arc::new(layout.build().expect("62 bits"));
    let last = (1 << 60) - 1;
    for policy in [ClockPolicy::Hold, ClockPolicy::Error] {
        let window = Window {
            worker: 0,
            from_tick: last,
            until_tick: last + 1,
        };
        let g = Snowflake::new(layout.clone(), window, 2)
            .and_then(|g| g.clock_policy(policy))
            .expect("a sound generator");
        let ids: Vec<u64> = core::iter::repeat_with(|| g.mint(layout.time_of(last)).ok())
            .take(10)
            .flatten()
            .collect();
        assert!((3..=4).contains(&ids.len()), "{policy}: {ids:?}");
        distinct(policy, ids);
    }
}
