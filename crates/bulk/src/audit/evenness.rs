//! Evenness in the three ways in which stores share out rows: by remainder, by range and by hash.

use std::hash::Hasher;

use mintage::{FORMATS, Layout, Role};
use siphasher::sip::SipHasher24;

use super::kinds::KindCount;
use super::ranges::{Lead, RangeWatch, Ranges};
use super::reading::{Class, Seen, sequence_of, sorts};
use super::shards::{ShardCount, Shards};

/// Counts ids in all three ways.
#[derive(Debug)]
pub(super) struct Evenness {
    shards: u32,
    remainders: ShardCount,
    hashes: ShardCount,
    /// By class; a kind's keys have ranges of their own.
    ranges: Vec<Option<Box<RangeWatch>>>,
}

/// What was found; each is none for too few ids to say anything.
#[derive(Debug)]
pub(super) struct Even {
    pub(super) shards: Option<Shards>,
    pub(super) ranges: Option<Ranges>,
    pub(super) hash: Option<Shards>,
}

impl Evenness {
    pub(super) fn new(shards: u32) -> Evenness {
        Evenness {
            shards,
            remainders: ShardCount::new(shards),
            hashes: ShardCount::new(shards),
            ranges: std::iter::repeat_with(|| None).take(Class::MAX).collect(),
        }
    }

    /// Takes the next id, whose value as a number is `value`.
    #[inline]
    pub(super) fn see(&mut self, seen: &Seen, value: u128) {
        self.remainders.see(value);
        self.hashes.see(hash_of(seen).into());
        let watch = &mut self.ranges[usize::from(seen.class.0)];
        watch
            .get_or_insert_with(|| Box::new(RangeWatch::new(self.shards)))
            .see(seen.key, seen.micros);
    }

    pub(super) fn next_file(&mut self) {
        self.ranges
            .iter_mut()
            .flatten()
            .for_each(|watch| watch.next_file());
    }

    /// What was found of kinds with so many ids each; `layout` is that of Snowflakes, `repeats` whether ids stand more
    /// than once.
    pub(super) fn result(&self, kinds: &[KindCount], layout: Option<&Layout>, repeats: bool) -> Even {
        let shards = self.remainders.result().map(|shards| {
            let reason = (!shards.even).then(|| self.lowest(kinds, layout)).flatten();
            shards.because(reason)
        });
        Even {
            shards,
            ranges: self.ranges(kinds),
            hash: self
                .hashes
                .result()
                .map(|hash| if repeats { hash.with_repeats() } else { hash }),
        }
    }

    /// What `id % N` sees of nearly all ids, where it sees the lowest bits alone and they are one field.
    fn lowest(&self, kinds: &[KindCount], layout: Option<&Layout>) -> Option<String> {
        let of = |wanted: &dyn Fn(&KindCount) -> bool| {
            kinds
                .iter()
                .filter(|kind| wanted(kind))
                .map(|kind| kind.ids)
                .sum::<u64>()
        };
        let ids = of(&|_| true);
        let bits = self.shards.is_power_of_two().then(|| self.shards.ilog2())?;
        let shards = self.shards;
        if nearly(
            of(&|kind| kind.class == Class::UUID && matches!(kind.version, 1 | 6)),
            ids,
        ) {
            return Some(format!(
                "they end in the node, the same for all ids of a machine, and id % {shards} sees nothing else"
            ));
        }
        let field = layout?.fields().last()?;
        let name = match field.role {
            Role::Worker => "who made them",
            Role::Sequence => "the sequence, which begins again every tick",
            _ => return None,
        };
        (bits <= field.bits && nearly(of(&|kind| kind.class == Class::SNOWFLAKE), ids))
            .then(|| format!("they end in {name}, and id % {shards} sees nothing else"))
    }

    fn ranges(&self, kinds: &[KindCount]) -> Option<Ranges> {
        let most = (0..Class::MAX).max_by_key(|class| class_ids(kinds, *class))?;
        let ids = class_ids(kinds, most);
        let class = Class(most as u8);
        let mut of_class = kinds.iter().filter(|kind| kind.class == class);
        let version = of_class
            .find(|kind| nearly(kind.ids, ids))
            .map_or(0, |kind| kind.version);
        let kind = KindCount { class, version, ids };
        let left_out = (0..Class::MAX)
            .filter(|class| *class != most && class_ids(kinds, *class) > 0)
            .map(|class| format!("{} {}", class_ids(kinds, class), Class(class as u8).name()))
            .collect();
        let watch = self.ranges[most].as_ref()?;
        watch.result(kind.words(), left_out, lead_of(class, version))
    }
}

/// SipHash-2-4 under a key of zeros, of the id as 16 octets, big-endian; of its own hash where it is longer or text.
#[inline]
fn hash_of(seen: &Seen) -> u64 {
    let value = match seen.class {
        Class::SEQUENCE => sequence_of(seen.identity) as u128,
        _ => seen.identity,
    };
    let mut hasher = SipHasher24::new();
    hasher.write(&value.to_be_bytes());
    hasher.finish()
}

fn class_ids(kinds: &[KindCount], class: usize) -> u64 {
    let of_class = kinds.iter().filter(|kind| usize::from(kind.class.0) == class);
    of_class.map(|kind| kind.ids).sum()
}

/// Whether these are at least nine of ten: what is said of a kind is then true of the pile.
fn nearly(some: u64, all: u64) -> bool {
    some > 0 && some.saturating_mul(10) >= all.saturating_mul(9)
}

fn lead_of(class: Class, version: u8) -> Lead {
    match (class, version) {
        (Class::UUID, 1) => Lead::Rounds,
        (Class::SEQUENCE, _) => Lead::Count,
        // Texts that sort by time have no bytes to sort by.
        _ if sorts(class, version)
            || class
                .row()
                .is_some_and(|row| FORMATS[row].text_sorts && FORMATS[row].time.is_some()) =>
        {
            Lead::Time
        }
        _ => Lead::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mintage::{GregorianTicks, Node, PRESETS, uuid1_from, uuid6_from};
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::audit::reading::{ReadAs, Reader};

    /// What is found of ids in this order.
    fn found(read_as: &ReadAs, shards: u32, ids: impl Iterator<Item = String>) -> Even {
        let reader = Reader::new(read_as).unwrap();
        let mut evenness = Evenness::new(shards);
        let mut kinds: Vec<KindCount> = Vec::new();
        for id in ids {
            let seen = reader.read(id.as_bytes()).unwrap();
            evenness.see(&seen, seen.identity);
            let of = |kind: &&mut KindCount| (kind.class, kind.version) == (seen.class, seen.version);
            match kinds.iter_mut().find(of) {
                Some(kind) => kind.ids += 1,
                None => kinds.push(KindCount {
                    class: seen.class,
                    version: seen.version,
                    ids: 1,
                }),
            }
        }
        evenness.result(&kinds, read_as.layout.as_deref(), false)
    }

    fn of_uuids(shards: u32, ids: impl Iterator<Item = Uuid>) -> Even {
        found(&ReadAs::default(), shards, ids.map(|id| id.to_string()))
    }

    fn random(seed: u64) -> impl Iterator<Item = u128> {
        let mut at = u128::from(seed) << 64;
        std::iter::repeat_with(move || {
            at += 1;
            let mut hasher = SipHasher24::new_with_keys(1, 2);
            let mut word = |part: u8| {
                hasher.write(&at.to_be_bytes());
                hasher.write_u8(part);
                hasher.finish()
            };
            u128::from(word(0)) << 64 | u128::from(word(1))
        })
    }

    fn versions_4(seed: u64) -> impl Iterator<Item = Uuid> {
        random(seed).map(|bits| uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid())
    }

    fn ticks(at: u64) -> GregorianTicks {
        GregorianTicks::new(at).unwrap()
    }

    /// Ids of version 1 of one node, so many ticks of 100 ns apart on average and at random times.
    fn versions_1(seed: u64, apart: u64) -> impl Iterator<Item = Uuid> {
        let node = Node::from_octets([0x9f, 0x6b, 0xde, 0xce, 0xd8, 0x46]);
        let mut at = 138_648_505_420_000_000 + seed;
        random(seed).map(move |bits| {
            at += 1 + bits as u64 % (2 * apart);
            uuid1_from(ticks(at), 0, node).unwrap()
        })
    }

    /// Of one in a thousand random piles chance alone makes each test say uneven, and of no more, however small they
    /// are.
    #[test]
    fn random_ids_are_called_uneven_no_more_often_than_stated() {
        let mut uneven = [0; 3];
        let mut hot = 0;
        for seed in 0..2000 {
            let ids = [80, 200, 1000, 5000][seed as usize % 4];
            let found = of_uuids(16, versions_4(seed).take(ids));
            let ranges = found.ranges.unwrap();
            uneven[0] += u32::from(!found.shards.unwrap().even);
            uneven[1] += u32::from(!ranges.spread.even);
            uneven[2] += u32::from(!found.hash.unwrap().even);
            hot += u32::from(ranges.moving.hot);
            let spread = |at_once: f64| at_once > ranges.moving.ranges as f64 * 0.6;
            assert!(ranges.moving.at_once.is_none_or(spread), "{ranges:?}");
        }
        // Two are expected of each; eight or more come once in a thousand times.
        assert!(uneven.iter().all(|times| *times < 8), "{uneven:?}");
        assert_eq!(hot, 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn version_1_is_even_by_ranges_over_many_rounds_and_hot_at_any_moment(
            seed in 0u64..1 << 40, rate in 1u64..500, shards in 2u32..64,
        ) {
            // 20,000 ids, from ten a second on: from 40 seconds to half an hour at most.
            let found = of_uuids(shards, versions_1(seed, 1_000_000 / rate).take(20_000));
            let ranges = found.ranges.unwrap();
            prop_assert!(ranges.moving.hot, "{:?}", ranges.moving);
            prop_assert!(!ranges.ordered);
            // An id a second: half of a day, 46 rounds.
            let found = of_uuids(shards, versions_1(seed, 10_000_000).take(20_000));
            let ranges = found.ranges.unwrap();
            prop_assert!(ranges.spread.even, "{}", ranges.spread.words);
            prop_assert!(ranges.spread.words.ends_with("goes through all ranges every 429.5 s"));
            // Ten minutes apart on average: they go anywhere.
            let found = of_uuids(shards, versions_1(seed, 6_000_000_000).take(20_000));
            let moving = found.ranges.unwrap().moving;
            prop_assert!(moving.at_once.unwrap() > moving.ranges as f64 * 0.6, "{moving:?}");
            prop_assert!(found.hash.unwrap().p > 1e-12);
        }

        #[test]
        fn what_begins_with_its_time_or_counts_is_in_one_range_and_hot(
            seed in 0u64..1 << 40, apart in 1u64..1_000_000, shards in 2u32..64,
        ) {
            // The ids of one millisecond are in no order, so there are fewer than a run has.
            let millis = |at: u64| 1_645_557_742_000 + at * apart.max(200) / 10_000;
            let versions_7 = random(seed).take(5_000).zip(0..).map(|(bits, at)| {
                uuid::Builder::from_unix_timestamp_millis(millis(at), bits.to_be_bytes()[..10].try_into().unwrap())
                    .into_uuid()
            });
            let versions_6 = random(seed).take(5_000).zip(0..).map(|(bits, at)| {
                let node = Node::from_octets(bits.to_be_bytes()[..6].try_into().unwrap());
                uuid6_from(ticks(138_648_505_420_000_000 + at * apart), bits as u16 & 0x3fff, node).unwrap()
            });
            let layout = PRESETS[0].layout();
            let snowflakes: Vec<String> = (0..5_000)
                .map(|at| layout.pack(360_000_000_000 + at * apart / 10_000, 7, at % 4096).unwrap().to_string())
                .collect();
            let as_layout = ReadAs { layout: Some(Arc::new(layout)), ..ReadAs::default() };
            let ulids = random(seed).take(5_000).zip(0..).map(|(bits, at)| {
                let row = mintage::format("ulid").unwrap();
                let value = u128::from(millis(at)) << 80 | bits >> 48;
                row.text(&mintage::Id::from_bytes(&value.to_be_bytes()).unwrap()).unwrap()
            });
            let counter = ReadAs { format: Some("sequence".into()), ..ReadAs::default() };
            for found in [
                of_uuids(shards, versions_7),
                of_uuids(shards, versions_6),
                found(&as_layout, shards, snowflakes.into_iter()),
                found(&ReadAs::default(), shards, ulids),
                found(&counter, shards, (seed..seed + 5_000).map(|number| number.to_string())),
            ] {
                let ranges = found.ranges.unwrap();
                prop_assert!(!ranges.spread.even && ranges.spread.words.contains("has all of them"), "{ranges:?}");
                prop_assert!(ranges.moving.hot && ranges.ordered, "{ranges:?}");
                prop_assert!(found.hash.unwrap().p > 1e-12);
            }
        }

        #[test]
        fn random_ids_of_one_millisecond_are_in_one_range_and_go_anywhere_in_it(
            seed in 0u64..1 << 40, shards in 2u32..64,
        ) {
            let versions_7 = random(seed).take(5_000).map(|bits| {
                uuid::Builder::from_unix_timestamp_millis(1_645_557_742_000, bits.to_be_bytes()[..10].try_into().unwrap())
                    .into_uuid()
            });
            let ranges = of_uuids(shards, versions_7).ranges.unwrap();
            prop_assert!(!ranges.spread.even && ranges.spread.words.contains("has all of them"), "{ranges:?}");
            let moving = ranges.moving;
            prop_assert!(!moving.hot && moving.at_once.unwrap() > moving.ranges as f64 * 0.6, "{moving:?}");
        }
    }

    /// The hash is stated: OpenSSL's gives the same, `openssl mac -macopt hexkey:00…00 -macopt size:8 SIPHASH`, whose
    /// eight octets are the number from the lowest on.
    #[test]
    fn the_hash_is_the_one_that_is_stated() {
        let hash = |format: Option<&str>, id: &str| {
            let read_as = ReadAs {
                format: format.map(String::from),
                ..ReadAs::default()
            };
            let seen = Reader::new(&read_as).unwrap().read(id.as_bytes()).unwrap();
            hash_of(&seen).swap_bytes()
        };
        assert_eq!(
            hash(None, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"),
            0x2609_8a10_a2d8_4455
        );
        assert_eq!(hash(Some("sequence"), "1000"), 0xa320_462b_a4a7_67dc);
        assert_eq!(hash(Some("sequence"), "-5"), 0x0fd9_afb3_6094_034a);
    }

    #[test]
    fn remainders_of_version_1_are_the_nodes_and_that_is_said() {
        let found = of_uuids(16, versions_1(1, 10_000_000).take(10_000));
        let shards = found.shards.unwrap();
        assert!(
            !shards.even && shards.words.contains("they end in the node"),
            "{}",
            shards.words
        );
        // Other numbers of shards see all bits.
        let found = of_uuids(17, versions_1(1, 10_000_000).take(10_000));
        assert!(found.shards.unwrap().even);
    }

    #[test]
    fn a_layout_whose_lowest_field_is_the_machine_is_told_from_one_that_ends_in_the_sequence() {
        for (preset, words) in [
            ("sonyflake", "they end in who made them"),
            ("leaf", "they end in the sequence"),
        ] {
            let layout = PRESETS.iter().find(|row| row.name == preset).unwrap().layout();
            let ids: Vec<String> = (0..5_000)
                .map(|at| layout.pack(20_000_000_000 + at, 5, 0).unwrap().to_string())
                .collect();
            let read_as = ReadAs {
                layout: Some(Arc::new(layout)),
                ..ReadAs::default()
            };
            let shards = found(&read_as, 16, ids.into_iter()).shards.unwrap();
            assert!(
                !shards.even && shards.words.contains(words),
                "{preset}: {}",
                shards.words
            );
        }
    }

    /// Made to look even: each of these hides from the other tests.
    #[test]
    fn unevenness_on_purpose_is_found_where_it_is() {
        let even = |shards: &Option<Shards>| shards.as_ref().unwrap().even;
        // Half of all first digits.
        let found = of_uuids(
            16,
            versions_4(1)
                .filter(|id| id.as_bytes()[0] & 0x10 == 0)
                .take(10_000),
        );
        assert!(even(&found.shards) && even(&found.hash));
        let ranges = found.ranges.unwrap();
        assert!(!ranges.spread.even && !ranges.moving.hot, "{ranges:?}");
        // The last digit is always 0.
        let ends = versions_4(2)
            .take(10_000)
            .map(|id| Uuid::from_u128(id.as_u128() & !15));
        let found = of_uuids(16, ends);
        assert!(!even(&found.shards) && even(&found.hash) && found.ranges.unwrap().spread.even);
        // Ids of a step that is a multiple of the shards.
        let counter = ReadAs {
            format: Some("sequence".into()),
            ..ReadAs::default()
        };
        let steps = super::tests::found(&counter, 16, (0..5_000).map(|at| (at * 32).to_string()));
        assert!(!even(&steps.shards) && even(&steps.hash));
        // One round of version 1 apart, as a timer may be: always the same range.
        let node = Node::from_octets([1; 6]);
        let timer =
            (0..5_000).map(|at| uuid1_from(ticks(138_648_505_420_000_000 + (at << 32)), 0, node).unwrap());
        let ranges = of_uuids(16, timer).ranges.unwrap();
        assert!(!ranges.spread.even && ranges.moving.hot, "{ranges:?}");
        // The same id again and again.
        let found = of_uuids(16, std::iter::repeat_n(Uuid::from_u128(7), 1_000));
        assert!(!even(&found.shards) && !even(&found.hash));
        assert!(
            found
                .hash
                .unwrap()
                .with_repeats()
                .words
                .contains("more than once")
        );
        // Turns of eight writers, each of which counts up from a place of its own.
        let turns = (0..5_000u128).map(|at| Uuid::from_u128((at % 8) << 125 | at));
        let moving = of_uuids(16, turns).ranges.unwrap().moving;
        assert!(
            (moving.at_once.unwrap() - 8.0).abs() < 0.5 && moving.words.contains("about"),
            "{moving:?}"
        );
    }

    #[test]
    fn an_order_that_is_not_the_makers_says_nothing_of_hot_spots() {
        let mut sorted: Vec<Uuid> = versions_4(3).take(5_000).collect();
        sorted.sort();
        let mut backwards = sorted.clone();
        backwards.reverse();
        let mut of_time: Vec<Uuid> = versions_1(3, 100_000_000).take(5_000).collect();
        of_time.sort();
        let mut shuffled: Vec<Uuid> = versions_1(3, 100_000_000).take(5_000).collect();
        shuffled.sort_by_key(|id| id.as_u128().wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (by_key, by_time) = ("they stand sorted", "their times go back and forth");
        for (ids, why) in [
            (sorted, by_key),
            (backwards, by_key),
            (of_time, by_time),
            (shuffled, by_time),
        ] {
            let moving = of_uuids(16, ids.into_iter()).ranges.unwrap().moving;
            assert_eq!((moving.at_once, moving.hot), (None, false), "{moving:?}");
            assert!(moving.words.contains(why), "{moving:?}");
        }
    }

    /// Times that go back by milliseconds are those of several writers, and no other order.
    #[test]
    fn writers_of_one_file_are_a_few_milliseconds_apart() {
        let millis = |at: u64| 1_645_557_742_000 + at - at % 4 * 7;
        let ids = random(1).take(5_000).zip(100..).map(|(bits, at)| {
            let random: [u8; 10] = bits.to_be_bytes()[..10].try_into().unwrap();
            uuid::Builder::from_unix_timestamp_millis(millis(at), &random).into_uuid()
        });
        assert!(of_uuids(16, ids).ranges.unwrap().moving.hot);
    }

    #[test]
    fn few_ids_and_other_kinds_say_so() {
        let few = of_uuids(16, versions_4(1).take(79));
        assert!(few.shards.is_none() && few.ranges.is_none() && few.hash.is_none());
        let moving = of_uuids(16, versions_4(1).take(100)).ranges.unwrap().moving;
        assert_eq!(moving.at_once, None);
        assert!(moving.words.contains("too few"), "{moving:?}");
        let mixed = versions_4(1).take(200).map(|id| id.to_string());
        let mixed = mixed.chain((0..50).map(|at| at.to_string()));
        let ranges = found(&ReadAs::default(), 16, mixed).ranges.unwrap();
        assert_eq!((ranges.of.as_str(), ranges.ids), ("uuid version 4", 200));
        assert_eq!(ranges.left_out, ["50 sequence"]);
    }
}
