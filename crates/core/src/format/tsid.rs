//! TSID: 42 bits of milliseconds, 22 of node and counter, in 13 characters.
//!
//! ```text
//! | time_ms 42 | node 0 to 20 (10) | counter 22 - node (12) |
//! ```
//!
//! `time_ms` counts milliseconds since 2020-01-01T00:00:00Z unless another epoch is chosen; 42 bits last 139
//! years. The text is the 64 bits as one number in Crockford's base32; its first character is at most `F`
//! (f4b6a3/tsid-creator, README and Tsid.java). How wide the node is, an id does not say.
//!
//! Rare events. *Counter full*: it carries into the millisecond, at most 10 s ahead of the clock. *Clock back*:
//! the last millisecond is held, as far. *Fork*: the child draws another node; with a node of the caller's it is
//! refused, because both would count on from the same place. Without a node of the caller's, nodes are 10 random
//! bits: two processes of a thousand share one, and then repeat ids of one millisecond with a chance of about
//! one in 4096.

use core::time::Duration;

use super::base32::{Letters, decode_64, encode_64};
use super::places::Places;
use super::shapes::TSID_TAIL_BITS as TAIL_BITS;
use super::value::id_type;
use super::{BLANK, Details, Format, FormatError, GenOption, GenOptions, Id, TimeShape};
use crate::layout::ones;
use crate::text::TextError;
use crate::time::{Clock, Timestamp};
use crate::{Entropy, MintError};

pub(super) const TSID: Format = Format {
    name: "tsid",
    title: "TSID",
    summary: "64 bits by time, with a node, in 13 characters",
    unique: "the node, if nobody else has it, and a counter",
    tells: "when, by which node, and how many in that millisecond",
    example: &[(GenOption::Node, "7")],
    source: "f4b6a3/tsid-creator, README and Tsid.java of 5.2",
    diagram: "| time_ms 42 | node 10 | counter 12 |",
    bits: 64,
    text_len: (13, 13),
    time: Some(shape(EPOCH_MS)),
    bytes_sort: true,
    text_sorts: true,
    options: &[GenOption::Node, GenOption::NodeBits, GenOption::Epoch],
    entropy: |options| match options.node {
        // Node and start of the counter, but for its highest bit.
        None => 21.0,
        Some(_) => 0.0,
    },
    parse: |text, _| Tsid::parse(text).map(Id::from),
    parse_lenient: Some(|text, _| {
        let forgiven: alloc::vec::Vec<u8> = text.iter().map(forgive).collect();
        Tsid::parse(&forgiven).map(Id::from)
    }),
    write: |id, out| out.extend_from_slice(&Tsid::of(id).text()),
    read: |id, options| {
        let number = Tsid::of(id).number();
        let epoch = options.epoch.map_or(EPOCH_MS, Timestamp::unix_millis);
        let node_bits = options.node_bits.unwrap_or(NODE_BITS).min(NODE_BITS_MAX);
        let counter_bits = TAIL_BITS - node_bits;
        Details::new(Some(shape(epoch).time_of(number >> TAIL_BITS)))
            .number("time_ms", number >> TAIL_BITS, 42)
            .number("node", number >> counter_bits & ones(node_bits), node_bits)
            .number("counter", number & ones(counter_bits), counter_bits)
    },
    #[cfg(feature = "std")]
    make_many: Some(|from, options, out| process::make_many(from, &Settings::of(options)?, out)),
    make_at: Some(|time, options, entropy| {
        let settings = Settings::of(options)?;
        let mut random = [0; 8];
        entropy.fill(&mut random);
        let random = u64::from_be_bytes(random);
        let node = settings.node.unwrap_or(random >> TAIL_BITS);
        let tick = settings.shape().tick_of(time)?;
        Ok(settings
            .pack(tick, node, random & ones(settings.counter_bits()))
            .into())
    }),
    min_at: Some(|time, options| {
        let settings = Settings::of(options)?;
        let tick = settings.shape().tick_of(time)?;
        Ok(settings.pack(tick, settings.node.unwrap_or(0), 0).into())
    }),
    max_at: Some(|time, options| {
        let settings = Settings::of(options)?;
        let tick = settings.shape().tick_of(time)?;
        let node = settings.node.unwrap_or(u64::MAX);
        Ok(settings.pack(tick, node, ones(settings.counter_bits())).into())
    }),
    generator: Some(|options, clock, entropy| {
        let mut generator = TsidGenerator::of(Settings::of(options)?, clock, entropy);
        Ok(alloc::boxed::Box::new(move || Ok(generator.next_id()?.into())))
    }),
    ..BLANK
};

/// 2020-01-01T00:00:00Z.
const EPOCH_MS: i64 = 1_577_836_800_000;
const NODE_BITS: u32 = 10;
const NODE_BITS_MAX: u32 = 20;

const fn shape(epoch_ms: i64) -> TimeShape {
    TimeShape::new(Duration::from_millis(1), epoch_ms, 1 << 42, 3)
}

id_type! {
    /// A TSID: 64 bits, 13 characters of Crockford's base32.
    ///
    /// ```
    /// use mintage::{TextError, Tsid};
    /// let id: Tsid = "0123456789ABC".parse()?; // the original's README
    /// assert_eq!(id.number(), 38_390_726_480_144_748);
    /// assert_eq!(Tsid::parse(b"G123456789ABC").unwrap_err().position(), Some(0)); // more than 64 bits
    /// # Ok::<(), TextError>(())
    /// ```
    Tsid, 8, 13
}

#[inline]
fn encode(bytes: &[u8; 8], out: &mut [u8; 13]) {
    encode_64(u64::from_be_bytes(*bytes), Letters::Crockford, out);
}

fn decode(text: &[u8]) -> Result<[u8; 8], TextError> {
    let rule = (15, "the first character is above F: more than 64 bits");
    decode_64(text, Letters::Crockford, rule).map(u64::to_be_bytes)
}

/// What the original's reader takes for another letter.
fn forgive(letter: &u8) -> u8 {
    match letter.to_ascii_uppercase() {
        b'I' | b'L' => b'1',
        b'O' => b'0',
        other => other,
    }
}

impl Tsid {
    /// The TSID of this number: all are one.
    pub const fn from_number(number: u64) -> Self {
        Tsid(number.to_be_bytes())
    }

    /// Its 64 bits as a number.
    pub const fn number(self) -> u64 {
        u64::from_be_bytes(self.0)
    }

    /// When it says it was made, if its epoch is 2020.
    pub fn time(self) -> Timestamp {
        shape(EPOCH_MS).time_of(self.number() >> TAIL_BITS).at
    }
}

/// Checked options.
#[derive(Clone, Copy, Debug)]
struct Settings {
    node: Option<u64>,
    node_bits: u32,
    epoch_ms: i64,
}

impl Settings {
    fn of(options: &GenOptions) -> Result<Self, FormatError> {
        let node_bits = options.node_bits.unwrap_or(NODE_BITS);
        if node_bits > NODE_BITS_MAX {
            return Err(FormatError::option(
                "node-bits",
                alloc::format!("{node_bits}, a TSID has 0 to {NODE_BITS_MAX}"),
            ));
        }
        if let Some(node) = options.node.filter(|node| *node > ones(node_bits)) {
            return Err(FormatError::option(
                "node",
                alloc::format!(
                    "{node} does not fit {node_bits} bits, the largest is {}",
                    ones(node_bits)
                ),
            ));
        }
        Ok(Settings {
            node: options.node,
            node_bits,
            epoch_ms: options.epoch.map_or(EPOCH_MS, Timestamp::unix_millis),
        })
    }

    fn counter_bits(&self) -> u32 {
        TAIL_BITS - self.node_bits
    }

    fn shape(&self) -> TimeShape {
        shape(self.epoch_ms)
    }

    /// Node and counter are cut to their fields.
    fn pack(&self, tick: u64, node: u64, counter: u64) -> Tsid {
        let node = node & ones(self.node_bits);
        Tsid::from_number(tick << TAIL_BITS | node << self.counter_bits() | counter)
    }
}

/// Makes TSIDs from a clock and an entropy source of your choice; no state outside itself.
///
/// Strictly increasing: the counter starts at random in the lower half of its field in every millisecond and
/// carries into the next, at most `max_ahead` (10 s) ahead of the clock; a clock that goes back is held. The node is the
/// caller's, or drawn once: after `fork` a child makes its own generator.
///
/// ```
/// use mintage::{FixedClock, GenOptions, SystemEntropy, Timestamp, TsidGenerator};
/// let clock = FixedClock(Timestamp::from_unix_millis(1_700_000_000_000));
/// let options = GenOptions { node: Some(7), node_bits: Some(8), ..GenOptions::default() };
/// let mut generator = TsidGenerator::new(&options, clock, SystemEntropy)?;
/// let (a, b) = (generator.next_id()?, generator.next_id()?);
/// assert!(a < b);
/// assert_eq!(a.number() >> 14 & 0xff, 7);
/// # Ok::<(), mintage::FormatError>(())
/// ```
#[derive(Clone)]
pub struct TsidGenerator<C, E> {
    settings: Settings,
    node: u64,
    places: Places<C, E>,
}

impl<C: Clock, E: Entropy> TsidGenerator<C, E> {
    /// A generator on `clock` and `entropy`, with the `node`, `node_bits` and `epoch` of `options`.
    ///
    /// # Errors
    /// More than 20 node bits, or a node that does not fit them.
    pub fn new(options: &GenOptions, clock: C, entropy: E) -> Result<Self, FormatError> {
        Ok(Self::of(Settings::of(options)?, clock, entropy))
    }

    fn of(settings: Settings, clock: C, mut entropy: E) -> Self {
        let node = settings.node.unwrap_or_else(|| {
            let mut random = [0; 8];
            entropy.fill(&mut random);
            u64::from_be_bytes(random)
        });
        let bits = settings.counter_bits();
        TsidGenerator {
            settings,
            node,
            places: Places::new(clock, entropy, settings.shape(), bits, bits - 1),
        }
    }

    /// Sets how far ids may run ahead of the clock; whole milliseconds, at least 2.
    ///
    /// ```
    /// use core::time::Duration;
    /// use mintage::{FixedClock, GenOptions, MintError, SystemEntropy, Timestamp, TsidGenerator};
    /// let clock = FixedClock(Timestamp::from_unix_millis(1_700_000_000_000));
    /// let options = GenOptions { node: Some(7), node_bits: Some(20), ..GenOptions::default() };
    /// let generator = TsidGenerator::new(&options, clock, SystemEntropy)?;
    /// let mut generator = generator.max_ahead(Duration::from_millis(5));
    /// let last = std::iter::repeat_with(|| generator.next_id()).find_map(Result::err);
    /// assert_eq!(last, Some(MintError::TooFarAhead { ticks: 1 })); // four ids a millisecond, for six of them
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    #[must_use]
    pub fn max_ahead(mut self, max_ahead: Duration) -> Self {
        self.places.set_max_ahead(max_ahead);
        self
    }

    /// The next TSID.
    ///
    /// # Errors
    /// The clock stands before the epoch or past the end of 42 bits, or the id would lie more than `max_ahead` ahead
    /// of it.
    pub fn next_id(&mut self) -> Result<Tsid, MintError> {
        let (tick, counter) = self.places.take()?;
        Ok(self.settings.pack(tick, self.node, counter))
    }

    /// Fills the front of `out`, with one clock reading, and returns how many ids it holds.
    ///
    /// # Errors
    /// As [`Self::next_id`], if not even one id can be made.
    pub fn fill(&mut self, out: &mut [Tsid]) -> Result<usize, MintError> {
        let (settings, node) = (self.settings, self.node);
        self.places
            .fill(out, |tick, counter, _| settings.pack(tick, node, counter))
    }
}

impl<C, E> core::fmt::Debug for TsidGenerator<C, E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TsidGenerator")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "std")]
pub use process::tsid;

#[cfg(feature = "std")]
mod process {
    use super::{Settings, TAIL_BITS, Tsid};
    use crate::format::places::{ForkGuard, Own};
    use crate::format::{FormatError, GenOptions, Id, Source};
    use crate::layout::ones;
    use crate::{MintError, Timestamp};

    /// A new TSID with the `node`, `node_bits` and `epoch` of `options`; without a node, one that the process
    /// draws. Thread-safe, and strictly increasing over all threads of the process.
    ///
    /// # Errors
    /// Options that cannot be, a clock before the epoch or past its end, more ids than 10 s ahead of the clock
    /// hold, or a forked child that asks with the node of its parent.
    ///
    /// ```
    /// use mintage::{GenOptions, tsid};
    /// let (a, b) = (tsid(&GenOptions::default())?, tsid(&GenOptions::default())?);
    /// assert!(a < b && a.to_string() < b.to_string());
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    pub fn tsid(options: &GenOptions) -> Result<Tsid, FormatError> {
        let mut id = [Tsid::from_number(0)];
        fill(Source::PROCESS, &Settings::of(options)?, &mut id, |id| id)?;
        Ok(id[0])
    }

    pub(super) fn make_many(
        from: Source<'_>,
        settings: &Settings,
        out: &mut [Id],
    ) -> Result<(), FormatError> {
        fill(from, settings, out, Id::from)
    }

    static NODE: Own = Own::new();
    static GUARD: ForkGuard = ForkGuard::new();

    fn fill<T>(
        from: Source<'_>,
        settings: &Settings,
        out: &mut [T],
        make: impl Fn(Tsid) -> T,
    ) -> Result<(), FormatError> {
        let node = match settings.node {
            Some(node) => {
                GUARD.check()?;
                node
            }
            None => NODE.get().wrapping_add(from.generators.turn()),
        };
        let shape = settings.shape();
        let line = &from.generators.tsid;
        // Few bits of a node do not tell one turn from another.
        let now = if settings.node.is_some() || settings.node_bits < 10 {
            line.now(&from.generators.unspent(from.clock)?)?
        } else {
            line.now(from.clock)?
        };
        let mut rest = out;
        while !rest.is_empty() {
            let (place, count) = line.claim_in_tick(now, rest.len() as u64, settings.counter_bits())?;
            let millis = Timestamp::from_unix_millis((place >> TAIL_BITS) as i64);
            let tick = match shape.tick_of(millis) {
                Ok(tick) => tick,
                Err(_) if millis < shape.first => return Err(MintError::BeforeEpoch.into()),
                Err(_) => return Err(MintError::TimeFieldFull.into()),
            };
            let (these, later) = rest.split_at_mut(count as usize);
            for (counter, id) in (place & ones(TAIL_BITS)..).zip(these) {
                *id = make(settings.pack(tick, node, counter));
            }
            rest = later;
        }
        Ok(())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn ids_of_every_width_increase_and_never_repeat() {
            let mut last = [0; 21];
            for round in 0..3 {
                for node_bits in 0..=20 {
                    let options = GenOptions {
                        node: Some(0),
                        node_bits: Some(node_bits),
                        ..GenOptions::default()
                    };
                    let settings = Settings::of(&options).expect("it fits");
                    let mut ids = [Tsid::from_number(0); 40];
                    fill(Source::PROCESS, &settings, &mut ids, |id| id).expect("within 10 s");
                    for id in ids {
                        let last = &mut last[node_bits as usize];
                        mintage_testing::invariant!(
                            id.number() > *last,
                            "{node_bits} bits, round {round}: {} after {last}",
                            id.number()
                        );
                        *last = id.number();
                    }
                }
            }
        }
    }
}
