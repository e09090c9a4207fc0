//! Version 1 as text: in order within a span of 2^32 ticks (429.4967296 s), scattered across spans, and even over
//! shards that are picked by its first bytes.

#![allow(clippy::unwrap_used)] // a failed call is a failed test

use mintage::{GregorianTicks, Node, Uuid, uuid1_from, uuid1_to_6};
use proptest::prelude::*;

const SPAN: u64 = 1 << 32;

fn at(ticks: u64) -> Uuid {
    uuid1_from(
        GregorianTicks::new(ticks).unwrap(),
        0x33c8,
        Node::from_octets([0x9f, 0x6b, 0xde, 0xce, 0xd8, 0x46]),
    )
    .unwrap()
}

proptest! {
    #[test]
    fn within_a_span_bytes_and_text_sort_by_time(span in 0u64..1 << 28, a in 0..SPAN, b in 0..SPAN) {
        let (first, second) = (at(span * SPAN + a), at(span * SPAN + b));
        prop_assert_eq!(first.cmp(&second), a.cmp(&b));
        prop_assert_eq!(first.to_string().cmp(&second.to_string()), a.cmp(&b));
    }

    #[test]
    fn across_spans_the_place_in_the_span_decides_and_not_the_time(
        spans in (0u64..1 << 28, 0u64..1 << 28), a in 0..SPAN, b in 0..SPAN,
    ) {
        prop_assume!(a != b);
        let (first, second) = (at(spans.0 * SPAN + a), at(spans.1 * SPAN + b));
        prop_assert_eq!(first.cmp(&second), a.cmp(&b));
        // The same ids as version 6 sort by time.
        let (first, second) = (uuid1_to_6(&first).unwrap(), uuid1_to_6(&second).unwrap());
        prop_assert_eq!(first.cmp(&second), (spans.0, a).cmp(&(spans.1, b)));
    }

    #[test]
    fn the_last_tick_of_a_span_sorts_after_the_first_of_the_next(span in 0u64..(1 << 28) - 1) {
        prop_assert!(at(span * SPAN + SPAN - 1) > at((span + 1) * SPAN));
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
