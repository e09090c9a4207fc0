//! How ids of UUID version 1 lie: in order within 2^32 ticks, scattered across them, even over shards.

use mintage::*;
use proptest::prelude::*;

const SPAN: u64 = 1 << 32;

fn node() -> Node {
    "9f:6b:de:ce:d8:46".parse().unwrap()
}

fn at(ticks: u64) -> Uuid {
    uuid1_from(GregorianTicks::new(ticks).unwrap(), 0x33c8, node()).unwrap()
}

proptest! {
    /// The low 32 bits of the time stand in front: within one span of 2^32 ticks (429.5 s) bytes and text sort by
    /// time.
    #[test]
    fn within_a_span_of_429_s_ids_sort_by_time(span in 0u64..1 << 28, a in 0..SPAN, b in 0..SPAN) {
        let (first, second) = (at(span * SPAN + a), at(span * SPAN + b));
        prop_assert_eq!(first.cmp(&second), a.cmp(&b));
        prop_assert_eq!(first.to_string().cmp(&second.to_string()), a.cmp(&b));
    }

    /// Across spans the time's high bits decide nothing until the low ones are equal: the next span begins in front
    /// of all that the last one ended with.
    #[test]
    fn across_spans_the_place_in_the_span_decides(
        spans in (0u64..1 << 28, 0u64..1 << 28), a in 0..SPAN, b in 0..SPAN,
    ) {
        prop_assume!(a != b);
        let (first, second) = (at(spans.0 * SPAN + a), at(spans.1 * SPAN + b));
        prop_assert_eq!(first.cmp(&second), a.cmp(&b));
    }

    #[test]
    fn the_first_id_of_a_span_sorts_before_the_last_of_the_span_before(span in 1u64..1 << 28) {
        prop_assert!(at(span * SPAN) < at(span * SPAN - 1));
    }

    /// Version 6 is the same id in order of time.
    #[test]
    fn version_6_sorts_by_time_where_version_1_does_not(a in 0u64..1 << 60, b in 0u64..1 << 60) {
        let six = |ticks| uuid1_to_6(&at(ticks)).unwrap();
        prop_assert_eq!(six(a).cmp(&six(b)), a.cmp(&b));
    }

    #[test]
    fn over_whole_spans_shards_by_the_first_byte_or_digit_are_even(span in 0u64..1 << 28, start in 0u64..SPAN / 4096) {
        // 4096 ids evenly over one span, from anywhere in it: as many in each of 16 and of 256 shards.
        let mut digits = [0; 16];
        let mut bytes = [0; 256];
        for i in 0..4096 {
            let id = at(span * SPAN + start + i * (SPAN / 4096));
            let text = id.to_string();
            digits[usize::from_str_radix(&text[..1], 16).unwrap()] += 1;
            bytes[usize::from(id.as_bytes()[0])] += 1;
        }
        prop_assert_eq!(digits, [256; 16]);
        prop_assert_eq!(bytes, [16; 256]);
    }
}

/// Ids made at an even pace over many spans fall in no order: about half of all pairs are inverted.
#[test]
fn ids_of_a_year_are_scattered() {
    let start = 138_648_505_420_000_000u64;
    // Every 10,007 s, a year long: 3,151 ids in 73,000 spans.
    let ids: Vec<Uuid> = (0..3_151).map(|i| at(start + i * 100_070_000_000)).collect();
    let mut inverted = 0u64;
    for (i, later) in ids.iter().enumerate() {
        inverted += ids[..i].iter().filter(|earlier| *earlier > later).count() as u64;
    }
    let pairs = (ids.len() * (ids.len() - 1) / 2) as u64;
    let share = inverted as f64 / pairs as f64;
    assert!((0.45..0.55).contains(&share), "{share}");
}

/// Makes `count` ids by a generator whose clock moves on by `step` ticks after each.
fn made(count: usize, step: u64) -> Vec<Uuid> {
    struct Pace<'a>(&'a std::cell::Cell<u64>, u64);
    impl Clock for Pace<'_> {
        fn now(&self) -> Timestamp {
            let ticks = self.0.get();
            self.0.set(ticks + self.1);
            GregorianTicks::new(ticks).unwrap().time()
        }
    }
    let ticks = std::cell::Cell::new(138_648_505_420_000_000);
    let mut generator = V1Generator::new(Pace(&ticks, step), 0x33c8, node()).unwrap();
    (0..count).map(|_| generator.next_v1().unwrap()).collect()
}

/// The sum of squared differences from an even spread, in units of what is expected.
fn chi_square(ids: &[Uuid], shards: usize, shard: impl Fn(&Uuid) -> usize) -> f64 {
    let mut counts = vec![0f64; shards];
    for id in ids {
        counts[shard(id)] += 1.0;
    }
    let expected = ids.len() as f64 / shards as f64;
    counts
        .iter()
        .map(|count| (count - expected).powi(2) / expected)
        .sum()
}

/// What one even spread in a million exceeds (Wilson and Hilferty's cube root, 4.75 standard deviations).
fn limit(shards: usize) -> f64 {
    let k = (shards - 1) as f64;
    let part = 2.0 / (9.0 * k);
    k * (1.0 - part + 4.75 * part.sqrt()).powi(3)
}

/// The lowest digits of the time, which stand at the end of the first group, spread ids over shards at least as
/// evenly as chance does: at any pace, and whether the clock tells 100 ns or only microseconds or milliseconds.
#[test]
fn ids_are_even_over_16_and_256_shards_by_the_low_bits_of_their_time() {
    let low = |id: &Uuid, shards: usize| (id.as_fields().0 as usize) % shards;
    // Several ids a tick (1 tick apart each), one every 0.7 µs, 12.3 µs, 1.2345 ms, 0.98 s.
    for step in [0, 7, 123, 12_345, 9_800_001] {
        let ids = made(40_000, step);
        for shards in [16, 256] {
            let found = chi_square(&ids, shards, |id| low(id, shards));
            assert!(
                found < limit(shards),
                "{step} ticks apart, {shards} shards: {found}"
            );
        }
    }
}

/// By a hash of the whole id (FNV-1a, as sharding proxies have it) they are even at any pace.
#[test]
fn ids_are_even_over_16_and_256_shards_by_a_hash() {
    let hash = |id: &Uuid| {
        id.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        })
    };
    for step in [0, 10, 10_000, 10_000_000, 9_800_001] {
        let ids = made(40_000, step);
        for shards in [16, 256] {
            // The upper half: an FNV's low bits depend on the low bits of its input alone.
            let found = chi_square(&ids, shards, |id| (hash(id) >> 32) as usize % shards);
            assert!(
                found < limit(shards),
                "{step} ticks apart, {shards} shards: {found}"
            );
        }
    }
}

/// What it is not: the last octets are the node, the same in all ids of a generator, and shard nothing.
#[test]
fn the_node_shards_nothing() {
    let ids = made(1000, 123);
    assert!(
        ids.iter()
            .all(|id| id.as_bytes()[10..] == ids[0].as_bytes()[10..])
    );
}

#[test]
fn at_a_steady_rate_shards_are_even_to_a_few_percent_over_hours() {
    // One id every 7.3 ms for four hours: not a divisor of the span.
    let mut shards = [0u32; 256];
    let first = 138_648_505_420_000_000;
    let count = 4 * 3600 * 1000 * 10 / 73;
    for i in 0..count {
        shards[usize::from(at(first + i * 73_000).as_bytes()[0])] += 1;
    }
    let mean = count as f64 / 256.0;
    for shard in shards {
        assert!((f64::from(shard) / mean - 1.0).abs() < 0.04, "{shard} of {mean}");
    }
}
