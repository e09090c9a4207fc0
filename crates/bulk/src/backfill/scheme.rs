//! Which id a row gets: a pure function of its time, of the rows of the same time, and of what was asked for.
//!
//! Rows are taken in *cells*: all rows whose times are one to the format. A cell is 1 ns for version 7 and ULID,
//! 100 ns for versions 1 and 6, a tick for Snowflakes. No state passes from one cell to the next, so rows may come in
//! any order as long as cells come whole, an interrupted run goes on at any cell, and two runs give the same ids.
//!
//! Within a cell the rows have an order: that of their exact times and then of the file; with a key, that of the hash
//! of the key. Row i of n gets
//!
//! | formats | without a key | with a key |
//! | --- | --- | --- |
//! | *wide*: 7, ULID; 1 and 6 with a key and no node | start + i, where the start is a hash of seed and time | the hash, or one more than the row before |
//! | *narrow*: 1 and 6 with a node, Snowflake | place i of the cell's places, spread over its ticks | the place that the hash points at, or the next free one |
//!
//! Wide cells have 2^53 numbers and more. Narrow ones have (ticks) x (clock sequences, or sequences x workers) places
//! for each node; a cell's ticks reach to the next time in the file, at most to the end of the span that
//! [`SchemeOptions::spread_ns`] gives. A cell with more rows than places is an error that names it.
//!
//! Ids of different cells never meet, because time is the highest field; ids within a cell increase with i.

use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;

use mintage::{CLOCK_SEQ_MAX, GregorianTicks, Layout, Node, Role, Timestamp, UuidText};
use sha2::{Digest, Sha256};
use siphasher::sip::SipHasher24;

use crate::error::Error;
use crate::hint::Hint;

/// What kind of id rows get.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BackfillFormat {
    /// UUID version 1.
    Uuid1,
    /// UUID version 6.
    Uuid6,
    /// UUID version 7.
    Uuid7,
    /// ULID.
    Ulid,
    /// A 64-bit id of this layout, by these workers: the later ones are used when the earlier are exhausted.
    Snowflake {
        /// Its fields, tick and epoch.
        layout: Arc<Layout>,
        /// The first and the last worker.
        workers: (u64, u64),
    },
}

impl BackfillFormat {
    /// Its name in every list of formats.
    pub fn name(&self) -> &'static str {
        match self {
            BackfillFormat::Uuid1 => "uuid1",
            BackfillFormat::Uuid6 => "uuid6",
            BackfillFormat::Uuid7 => "uuid7",
            BackfillFormat::Ulid => "ulid",
            BackfillFormat::Snowflake { .. } => "snowflake",
        }
    }

    /// The length of a cell.
    fn unit_ns(&self) -> i128 {
        match self {
            BackfillFormat::Uuid1 | BackfillFormat::Uuid6 => 100,
            BackfillFormat::Uuid7 | BackfillFormat::Ulid => 1,
            BackfillFormat::Snowflake { layout, .. } => layout.tick().as_nanos() as i128,
        }
    }

    fn is_gregorian(&self) -> bool {
        matches!(self, BackfillFormat::Uuid1 | BackfillFormat::Uuid6)
    }
}

/// What ids are made of in addition to the time.
#[derive(Clone, Debug)]
pub struct SchemeOptions {
    /// What kind of id.
    pub format: BackfillFormat,
    /// How a UUID is written.
    pub text: UuidText,
    /// Whether rows have a key.
    pub keyed: bool,
    /// Whether rows name their node.
    pub node_column: bool,
    /// The node of all rows, where no column names it.
    pub node: Option<Node>,
    /// The lowest clock sequence used; versions 1 and 6 only.
    pub clock_seq: u16,
    /// How long the times may be made to last, in nanoseconds: rows of one time spread over it. `None` is 1 µs for
    /// versions 1 and 6 without a key, and one tick otherwise. With a key, ids within a span are in no order of time.
    pub spread_ns: Option<u64>,
    /// What tells these ids from those of another file with the same times.
    pub seed: Vec<u8>,
}

/// How ids are made; see the head of this file.
#[derive(Clone, Debug)]
pub(crate) struct Scheme {
    options: SchemeOptions,
    pub(super) unit: i128,
    spread: i128,
    hash_key: [u8; 16],
    node: Node,
    /// Where time begins: the least time the format holds.
    first: i128,
    last: i128,
}

/// A node's 48 bits, or a worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeId(pub(super) u64);

/// A row, as far as its id goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    /// An index into the [`Nodes`]; 0 without a node column.
    pub(crate) node: u32,
    /// The hash of the key; 0 without one.
    pub(crate) hash: u64,
}

/// A cell has more rows than ids.
#[derive(Clone, Debug)]
pub(crate) struct Exhausted {
    pub(super) cell: i128,
    pub(super) rows: u64,
    pub(super) places: u64,
    pub(super) node: Option<String>,
}

impl Scheme {
    /// # Errors
    /// The options do not fit each other.
    pub(crate) fn new(options: SchemeOptions) -> Result<Scheme, Error> {
        let unit = options.format.unit_ns();
        let default = match &options.format {
            // With a key, rows of one span are ordered by their hashes: the span is the tick, so that times are in order.
            format if format.is_gregorian() && !options.keyed => 1_000,
            _ => unit,
        };
        let spread = options.spread_ns.map_or(default, i128::from);
        let name = options.format.name();
        if options.spread_ns.is_some()
            && matches!(options.format, BackfillFormat::Uuid7 | BackfillFormat::Ulid)
        {
            return Err(Error::usage(format_args!(
                "a spread does not apply to {name}: it has room for every row of one time"
            )));
        }
        if spread < unit || spread % unit != 0 {
            return Err(Error::usage(format_args!(
                "the spread must be a multiple of {}, the tick of {name}",
                span(unit)
            )));
        }
        if options.clock_seq > CLOCK_SEQ_MAX {
            return Err(Error::usage(format_args!(
                "clock sequence {} does not fit 14 bits: at most {CLOCK_SEQ_MAX}",
                options.clock_seq
            )));
        }
        if let BackfillFormat::Snowflake { layout, .. } = &options.format {
            // A column of such ids is one of 64 bits.
            layout.check_narrow().map_err(Error::usage)?;
        }
        if let BackfillFormat::Snowflake { layout, workers } = &options.format
            && (workers.0 > workers.1 || workers.1 >= layout.workers())
        {
            return Err(Error::usage(format_args!(
                "workers {} to {} do not fit layout {:?}: 0 to {}",
                workers.0,
                workers.1,
                layout.name(),
                layout.workers() - 1
            )));
        }
        let (first, last) = range(&options.format);
        let digest = Sha256::new()
            .chain_update(b"mintage back-fill, scheme 1\0")
            .chain_update(&options.seed)
            .finalize();
        let hash_key: [u8; 16] = *digest.first_chunk().expect("32 octets hold 16");
        let node = options
            .node
            .unwrap_or_else(|| Node::from_fingerprint(&[b"mintage back-fill node", &options.seed]));
        Ok(Scheme {
            unit,
            spread,
            hash_key,
            node,
            first,
            last,
            options,
        })
    }

    pub(crate) fn options(&self) -> &SchemeOptions {
        &self.options
    }

    /// Whether rows of a cell have so much room that none is counted.
    pub(crate) fn wide(&self) -> bool {
        match self.options.format {
            BackfillFormat::Uuid7 | BackfillFormat::Ulid => true,
            BackfillFormat::Uuid1 | BackfillFormat::Uuid6 => {
                self.options.keyed && !self.options.node_column && self.options.node.is_none()
            }
            BackfillFormat::Snowflake { .. } => false,
        }
    }

    /// The cell that a time falls into, named by its first nanosecond since 1970.
    ///
    /// # Errors
    /// The format does not hold it, in words.
    #[inline]
    pub(crate) fn cell_of(&self, at: Timestamp) -> Result<i128, String> {
        let nanos = at.unix_nanos();
        if nanos < self.first || nanos > self.last {
            return Err(self.out_of_range(at));
        }
        // With a key, a place must not depend on which other times there are: the whole span is one cell.
        if self.options.keyed && !self.wide() {
            return Ok(floor(nanos, self.spread).max(self.first));
        }
        if self.unit == 1 {
            return Ok(nanos);
        }
        Ok(self.first + floor(nanos - self.first, self.unit))
    }

    #[cold]
    fn out_of_range(&self, at: Timestamp) -> String {
        let what = match &self.options.format {
            BackfillFormat::Snowflake { layout, .. } => format!("layout {:?}", layout.name()),
            format => format.name().to_string(),
        };
        format!(
            "{} does not fit {what}, which holds {} to {}",
            at,
            Timestamp::from_unix_nanos(self.first),
            Timestamp::from_unix_nanos(self.last)
        )
    }

    /// What to do with a time that the format does not hold.
    pub(crate) fn hint_out_of_range(&self) -> Hint {
        match &self.options.format {
            BackfillFormat::Snowflake { .. } => Hint::LayoutOrLetPass,
            BackfillFormat::Uuid1 | BackfillFormat::Uuid6 => Hint::LetPass,
            _ => Hint::Uuid6OrLetPass,
        }
    }

    /// The hash of a row's key fields, which decides on its id.
    #[inline]
    pub(crate) fn hash<'a>(&self, fields: impl Iterator<Item = &'a [u8]>) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.hash_key);
        for field in fields {
            // With their lengths, so that ("a", "bc") and ("ab", "c") differ.
            hasher.write(&(field.len() as u64).to_be_bytes());
            hasher.write(field);
        }
        hasher.finish()
    }

    /// Where the numbers of a wide cell begin.
    pub(super) fn start_of(&self, cell: i128) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.hash_key);
        hasher.write(&cell.to_be_bytes());
        hasher.finish()
    }

    /// How many ticks the rows of a cell may use; `next` is the next cell that has rows.
    pub(super) fn ticks(&self, cell: i128, next: Option<i128>) -> u64 {
        let end = floor(cell, self.spread) + self.spread;
        let end = match next {
            // With a key the cell is the whole span.
            Some(next) if !self.options.keyed => end.min(next),
            _ => end,
        };
        let end = end.min(self.last + 1);
        u64::try_from((end - cell) / self.unit).unwrap_or(1).max(1)
    }

    /// Clock sequences, or sequences times workers: how many places a tick has for one node.
    pub(super) fn places_in_a_tick(&self) -> u64 {
        match &self.options.format {
            BackfillFormat::Snowflake { layout, workers } => {
                let workers = if self.options.node_column {
                    1
                } else {
                    workers.1 - workers.0 + 1
                };
                sequences(layout).saturating_mul(workers)
            }
            _ => u64::from(CLOCK_SEQ_MAX - self.options.clock_seq) + 1,
        }
    }

    /// The id of place `minor` in the tick that begins at `at`.
    pub(super) fn narrow_id(&self, at: i128, minor: u64, in_use: u64, node: NodeId) -> u128 {
        match &self.options.format {
            BackfillFormat::Snowflake { layout, workers } => {
                let first = if self.options.node_column {
                    node.0
                } else {
                    workers.0
                };
                let size = sequences(layout);
                let (worker, sequence) = if worker_above(layout) {
                    (minor / size, minor % size)
                } else {
                    // As few workers as this tick needs, so that ids still increase with the place.
                    let needed = in_use.div_ceil(size).max(1);
                    (minor % needed, minor / needed)
                };
                let tick = layout
                    .tick_at(Timestamp::from_unix_nanos(at))
                    .expect("the range was checked with the cell");
                let id = layout.pack(tick, first + worker, layout_start(layout) + sequence);
                id.expect("ticks, workers and sequences were checked").into()
            }
            format => {
                let ticks = GregorianTicks::floor(Timestamp::from_unix_nanos(at))
                    .expect("the range was checked with the cell");
                let clock_seq = self.options.clock_seq + minor as u16;
                let node = match self.options.node_column {
                    true => node_of(node.0),
                    false => self.node,
                };
                gregorian(format, ticks, clock_seq, node).as_u128()
            }
        }
    }

    /// The id of a number in a wide cell.
    #[inline]
    pub(super) fn wide_id(&self, cell: i128, tail: u64) -> u128 {
        match self.options.format {
            BackfillFormat::Uuid7 => {
                let (ms, fraction) = milliseconds(cell);
                let high = u128::from(ms) << 80 | 0x7 << 76 | u128::from(fraction >> 8) << 64;
                high | 0b10 << 62 | u128::from(fraction & 0xff) << 54 | u128::from(tail)
            }
            BackfillFormat::Ulid => {
                let (ms, fraction) = milliseconds(cell);
                u128::from(ms) << 80 | u128::from(fraction) << 60 | u128::from(tail)
            }
            _ => {
                let ticks = GregorianTicks::floor(Timestamp::from_unix_nanos(cell))
                    .expect("the range was checked with the cell");
                // 14 bits of clock sequence, 7 of the node's first octet, the multicast bit, 40 more.
                let (high, low) = (tail >> 40 & 0x7f, tail & ((1 << 40) - 1));
                let node = node_of(high << 41 | 1 << 40 | low);
                gregorian(&self.options.format, ticks, (tail >> 47) as u16, node).as_u128()
            }
        }
    }

    /// How many bits a number in a wide cell has.
    pub(super) fn tail_bits(&self) -> u32 {
        match self.options.format {
            BackfillFormat::Uuid7 => 54,
            BackfillFormat::Ulid => 60,
            _ => 61,
        }
    }

    /// Appends an id in its text form.
    #[inline]
    pub(crate) fn write(&self, id: u128, out: &mut Vec<u8>) {
        match self.options.format {
            BackfillFormat::Snowflake { .. } => {
                let mut buffer = itoa::Buffer::new();
                out.extend_from_slice(buffer.format(id as u64).as_bytes());
            }
            BackfillFormat::Ulid => UuidText::Base32.write(&uuid::Uuid::from_u128(id), out),
            _ => self.options.text.write(&uuid::Uuid::from_u128(id), out),
        }
    }

    /// What an exhausted cell says.
    pub(crate) fn exhausted(&self, cell: &Exhausted) -> (String, Hint) {
        let whose = cell
            .node
            .as_ref()
            .map(|node| format!(" of {node}"))
            .unwrap_or_default();
        let message = format!(
            "{} rows{whose} share the time {}, and {} has {} ids for it",
            cell.rows,
            Timestamp::from_unix_nanos(cell.cell),
            self.options.format.name(),
            cell.places
        );
        let hint = match &self.options.format {
            BackfillFormat::Snowflake { .. } => Hint::SpreadSecondOrWorkers,
            _ => Hint::SpreadMillisecondOrUuid7,
        };
        (message, hint)
    }
}

fn gregorian(format: &BackfillFormat, ticks: GregorianTicks, clock_seq: u16, node: Node) -> uuid::Uuid {
    let made = match format {
        BackfillFormat::Uuid6 => mintage::uuid6_from(ticks, clock_seq, node),
        _ => mintage::uuid1_from(ticks, clock_seq, node),
    };
    made.expect("clock sequences were checked")
}

/// The node of the low 48 bits.
pub(super) fn node_of(bits: u64) -> Node {
    let [_, _, a, b, c, d, e, f] = bits.to_be_bytes();
    Node::from_octets([a, b, c, d, e, f])
}

/// The largest multiple of `step` that is not above `value`.
#[inline]
fn floor(value: i128, step: i128) -> i128 {
    match (i64::try_from(value), i64::try_from(step)) {
        // 292 years around 1970, where a division costs a fraction.
        (Ok(value), Ok(step)) => (value - value.rem_euclid(step)).into(),
        _ => value - value.rem_euclid(step),
    }
}

/// Whole milliseconds since 1970, and the rest as a fraction of 20 bits: the first 12 of them are the fraction of
/// RFC 9562 section 6.2 method 3, and all 20 keep nanoseconds apart and in order.
#[inline]
fn milliseconds(nanos: i128) -> (u64, u64) {
    let nanos = nanos as u128;
    let (ms, rest) = match u64::try_from(nanos) {
        Ok(nanos) => (nanos / 1_000_000, nanos % 1_000_000),
        Err(_) => ((nanos / 1_000_000) as u64, (nanos % 1_000_000) as u64),
    };
    (ms, (rest << 20) / 1_000_000)
}

/// The least and the largest time, in nanoseconds since 1970.
fn range(format: &BackfillFormat) -> (i128, i128) {
    match format {
        BackfillFormat::Uuid1 | BackfillFormat::Uuid6 => (
            GregorianTicks::MIN.time().unix_nanos(),
            GregorianTicks::MAX.time().unix_nanos() + 99,
        ),
        BackfillFormat::Uuid7 | BackfillFormat::Ulid => (0, (1 << 48) * 1_000_000 - 1),
        BackfillFormat::Snowflake { layout, .. } => {
            (layout.epoch().unix_nanos(), layout.end().unix_nanos() - 1)
        }
    }
}

/// The least sequence that may be used.
fn layout_start(layout: &Layout) -> u64 {
    match layout.sequence_start() {
        mintage::SequenceStart::At(first) => first,
        _ => 0,
    }
}

/// How many sequences a tick has.
fn sequences(layout: &Layout) -> u64 {
    (1 << layout.sequence_bits()) - layout_start(layout)
}

/// Whether the worker counts more than the sequence.
fn worker_above(layout: &Layout) -> bool {
    let at = |role: Role| layout.fields().iter().position(|field| field.role == role);
    at(Role::Worker) < at(Role::Sequence)
}

fn span(nanos: i128) -> String {
    format!("{:?}", std::time::Duration::from_nanos(nanos as u64))
}

impl fmt::Display for BackfillFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::nodes::Nodes;
    use super::super::placer::Placer;
    use super::*;

    fn options(format: BackfillFormat, keyed: bool) -> SchemeOptions {
        SchemeOptions {
            format,
            text: UuidText::Hyphenated,
            keyed,
            node_column: false,
            node: None,
            clock_seq: 0,
            spread_ns: None,
            seed: b"test".to_vec(),
        }
    }

    fn snowflake(preset: &str, workers: (u64, u64)) -> BackfillFormat {
        let layout = Arc::new(mintage::preset(preset).unwrap().layout());
        BackfillFormat::Snowflake { layout, workers }
    }

    /// The ids of these rows, each a time in nanoseconds and a key, in the order given; as the runs make them.
    fn ids(scheme: &Scheme, rows: &[(i128, u64)]) -> Result<Vec<u128>, Exhausted> {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        let cell = |i: usize| {
            scheme
                .cell_of(Timestamp::from_unix_nanos(rows[i].0))
                .expect("in range")
        };
        match scheme.options.keyed {
            true => order.sort_by_key(|i| (cell(*i), rows[*i].1, *i)),
            false => order.sort_by_key(|i| (rows[*i].0, *i)),
        }
        let nodes = Nodes::default();
        let mut ids = vec![0; rows.len()];
        let mut rest = &order[..];
        while let Some(first) = rest.first() {
            let this = cell(*first);
            let size = rest.iter().take_while(|i| cell(**i) == this).count();
            let (members, later) = rest.split_at(size);
            let next = later.first().map(|i| cell(*i));
            let mut placer = Placer::new(scheme, &nodes, this, next, [(0, size as u64)].into_iter())?;
            for i in members {
                let member = Member {
                    node: 0,
                    hash: rows[*i].1,
                };
                ids[*i] = placer.place(member)?;
            }
            rest = later;
        }
        Ok(ids)
    }

    /// What sorts as the ids are meant to: version 1 by its time and clock sequence.
    fn rank(scheme: &Scheme, id: u128) -> u128 {
        match scheme.options.format {
            BackfillFormat::Uuid1 => mintage::uuid1_to_6(&uuid::Uuid::from_u128(id))
                .expect("version 1")
                .as_u128(),
            _ => id,
        }
    }

    fn schemes() -> Vec<Scheme> {
        let mut all = Vec::new();
        for keyed in [false, true] {
            for format in [
                BackfillFormat::Uuid1,
                BackfillFormat::Uuid6,
                BackfillFormat::Uuid7,
                BackfillFormat::Ulid,
                snowflake("twitter", (3, 5)),
                snowflake("sonyflake", (0, 40)),
                snowflake("yitter", (1, 9)),
            ] {
                let mut spread = options(format.clone(), keyed);
                if !matches!(format, BackfillFormat::Uuid7 | BackfillFormat::Ulid) {
                    spread.spread_ns = Some(100_000_000);
                }
                all.push(Scheme::new(options(format, keyed)).unwrap());
                all.push(Scheme::new(spread).unwrap());
            }
            let mut node = options(BackfillFormat::Uuid6, keyed);
            node.node = Some("9f:6b:de:ce:d8:46".parse().unwrap());
            node.clock_seq = 16_000;
            all.push(Scheme::new(node).unwrap());
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// The promise: unique, ordered like the times, and the same in every run.
        #[test]
        fn ids_are_unique_and_ordered_like_the_times(
            rows in prop::collection::vec((0i128..40, 0u64..6, any::<u64>()), 1..300),
            step in prop::sample::select(vec![1i128, 50, 100, 333, 1_000, 250_000, 1_000_000, 10_000_000]),
        ) {
            // 2026-01-01, when every layout here is alive.
            let base = 1_767_225_600_000_000_000;
            for scheme in schemes() {
                let rows: Vec<(i128, u64)> = rows
                    .iter()
                    .map(|(time, few, many)| (base + time * step, if few % 2 == 0 { *many } else { *few }))
                    .collect();
                let ids = ids(&scheme, &rows).expect("there is room");
                mintage_testing::distinct(format_args!("{:?}", scheme.options), &ids);
                for (i, a) in rows.iter().enumerate() {
                    let a_cell = scheme.cell_of(Timestamp::from_unix_nanos(a.0)).unwrap();
                    for (j, b) in rows.iter().enumerate() {
                        let b_cell = scheme.cell_of(Timestamp::from_unix_nanos(b.0)).unwrap();
                        let tick = |time: i128| (time - scheme.first).div_euclid(scheme.unit);
                        let later = match scheme.options.keyed {
                            true if scheme.options.spread_ns.is_some() => a_cell < b_cell,
                            true => tick(a.0) < tick(b.0),
                            // Exact times, and the order of the file among equal ones.
                            false => a.0 < b.0 || (a.0 == b.0 && i < j),
                        };
                        if later {
                            mintage_testing::invariant!(
                                rank(&scheme, ids[i]) < rank(&scheme, ids[j]),
                                "{:?} {:?} {:?}", scheme.options, a, b
                            );
                        }
                    }
                }
            }
        }

        /// With a key, neither the order of the rows nor, where there is room, other rows change an id.
        #[test]
        fn a_key_makes_ids_that_do_not_depend_on_the_order(
            rows in prop::collection::btree_map(any::<u64>(), 0i128..5, 2..100),
        ) {
            let base = 1_767_225_600_000_000_000;
            let rows: Vec<(i128, u64)> = rows.into_iter().map(|(key, time)| (base + time * 1_000_000, key)).collect();
            let backwards: Vec<(i128, u64)> = rows.iter().rev().copied().collect();
            for scheme in schemes().into_iter().filter(|scheme| scheme.options.keyed) {
                let forward = ids(&scheme, &rows).unwrap();
                let mut other = ids(&scheme, &backwards).unwrap();
                other.reverse();
                prop_assert_eq!(&forward, &other);
                if scheme.wide() {
                    prop_assert_eq!(&forward[..1], &ids(&scheme, &rows[..1]).unwrap()[..]);
                }
            }
        }
    }

    #[test]
    fn a_microsecond_takes_ten_ticks_then_clock_sequences_and_no_more() {
        let scheme = Scheme::new(options(BackfillFormat::Uuid6, false)).unwrap();
        let at = 1_645_557_742_000_001_000;
        let fields = |count: usize| -> Vec<(u64, u16)> {
            let ids = ids(&scheme, &vec![(at, 0); count]).unwrap();
            let field = |id: &u128| {
                let readings = mintage::inspect(
                    &uuid::Uuid::from_u128(*id).to_string(),
                    Timestamp::from_unix_nanos(at),
                );
                let number = |name: &str| match readings[0].fields.iter().find(|f| f.0 == name).unwrap().1 {
                    mintage::FieldValue::Number(n) | mintage::FieldValue::Big(n) => n,
                    _ => panic!("a number"),
                };
                (number("ticks") % 100, number("clock_seq") as u16)
            };
            ids.iter().map(field).collect()
        };
        assert_eq!(fields(3), [(10, 0), (11, 0), (12, 0)]);
        assert_eq!(fields(12)[..4], [(10, 0), (10, 1), (11, 0), (11, 1)]);
        assert_eq!(ids(&scheme, &vec![(at, 0); 163_840]).unwrap().len(), 163_840);
        let full = ids(&scheme, &vec![(at, 0); 163_841]).unwrap_err();
        let (message, hint) = scheme.exhausted(&full);
        assert_eq!(
            message,
            "163841 rows share the time 2022-02-22T19:22:22.000001Z, and uuid6 has 163840 ids for it"
        );
        assert_eq!(hint, Hint::SpreadMillisecondOrUuid7);
        // With a time in the next tick, only one tick is left.
        let mut rows = vec![(at, 0); 16_385];
        rows.push((at + 100, 0));
        assert!(ids(&scheme, &rows).is_err());
    }

    #[test]
    fn a_snowflakes_tick_takes_its_sequences_then_the_next_worker() {
        let check = |workers, count: usize| {
            let scheme = Scheme::new(options(snowflake("twitter", workers), false)).unwrap();
            ids(&scheme, &vec![(1_767_225_600_000_000_000, 0); count])
        };
        let last = *check((7, 8), 4097).unwrap().last().unwrap() as u64;
        let layout = mintage::preset("twitter").unwrap().layout();
        let parts = layout.unpack(last).unwrap();
        assert_eq!((parts.worker, parts.sequence), (8, 0));
        assert_eq!(check((7, 7), 4097).unwrap_err().places, 4096);
        assert_eq!(check((7, 8), 8193).unwrap_err().places, 8192);
    }

    #[test]
    fn version_7_holds_milliseconds_the_rfcs_fraction_and_all_nanoseconds() {
        let scheme = Scheme::new(options(BackfillFormat::Uuid7, false)).unwrap();
        let made = ids(&scheme, &[(1_645_557_742_123_456_789, 0)]).unwrap()[0];
        let id = uuid::Uuid::from_u128(made);
        assert_eq!(
            (id.get_version_num(), id.get_variant()),
            (7, uuid::Variant::RFC4122)
        );
        assert_eq!(made >> 80, 1_645_557_742_123);
        assert_eq!(made >> 64 & 0xfff, 456_789 * 4096 / 1_000_000);
        for second in 0..2 {
            let both = ids(&scheme, &[(second, 0), (second + 1, 0)]).unwrap();
            assert!(both[0] < both[1], "1 ns apart");
        }
    }

    #[test]
    fn times_outside_the_format_and_options_that_do_not_fit_are_refused() {
        for (format, nanos) in [
            (BackfillFormat::Uuid1, -12_219_292_800_000_000_001),
            (BackfillFormat::Uuid7, -1),
            (BackfillFormat::Ulid, (1i128 << 48) * 1_000_000),
            (snowflake("twitter", (0, 0)), 1_288_834_974_656_999_999),
        ] {
            let scheme = Scheme::new(options(format, false)).unwrap();
            let said = scheme.cell_of(Timestamp::from_unix_nanos(nanos)).unwrap_err();
            assert!(
                said.contains("does not fit") && said.contains("which holds"),
                "{said}"
            );
        }
        let refused = |change: fn(&mut SchemeOptions)| {
            let mut options = options(snowflake("twitter", (0, 0)), false);
            change(&mut options);
            Scheme::new(options).unwrap_err().message
        };
        assert!(refused(|o| o.spread_ns = Some(1_500_000)).contains("multiple of 1ms"));
        assert!(refused(|o| o.clock_seq = 16_384).contains("14 bits"));
        assert!(refused(|o| o.format = snowflake("twitter", (0, 1024))).contains("0 to 1023"));
    }
}
