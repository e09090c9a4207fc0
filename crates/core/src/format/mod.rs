//! The formats of ids: a file and a row each, and the verbs that every row answers.

mod alphabet;
mod base32;
#[cfg(all(target_arch = "x86_64", feature = "std", not(miri)))]
mod base32_x86;
mod counted;
mod cuid;
mod cuid2;
mod error;
mod flake;
mod generators;
mod hashids;
mod id;
mod ksuid;
mod nano64;
mod nanoid;
mod number;
mod objectid;
mod options;
mod places;
mod pushid;
mod repeats;
mod scru128;
mod scru64;
mod sqids;
mod tid;
mod timeflake;
mod token;
mod tsid;
mod typeid;
mod ulid;
mod uuid;
mod value;
mod wide;
mod xid;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

pub use self::alphabet::Alphabet;
pub(crate) use self::alphabet::log2;
#[cfg(all(feature = "std", feature = "cuid2"))]
pub use self::cuid2::cuid2;
pub use self::error::FormatError;
#[cfg(feature = "std")]
pub use self::generators::Generators;
#[cfg(feature = "std")]
pub(crate) use self::generators::PROCESS;
pub(crate) use self::generators::Source;
pub use self::id::Id;
pub use self::ksuid::{Ksuid, KsuidGenerator};
#[cfg(feature = "std")]
pub use self::ksuid::{ksuid, ksuid_many};
pub use self::nanoid::NanoId;
#[cfg(feature = "std")]
pub use self::nanoid::{nanoid, nanoid_many};
pub use self::objectid::{ObjectId, ObjectIdGenerator};
#[cfg(feature = "std")]
pub use self::objectid::{objectid, objectid_many};
pub use self::options::{GenOption, GenOptions};
#[cfg(feature = "std")]
pub(crate) use self::places::Own;
pub use self::pushid::{PushId, PushIdGenerator};
#[cfg(feature = "std")]
pub use self::pushid::{pushid, pushid_many};
#[cfg(feature = "std")]
pub use self::repeats::ids_until_repeat;
pub use self::scru128::{Scru128, Scru128Generator};
#[cfg(feature = "std")]
pub use self::scru128::{scru128, scru128_many};
pub use self::sqids::Sqids;
pub use self::tid::{Tid, TidGenerator};
#[cfg(feature = "std")]
pub use self::tid::{tid, tid_many};
pub use self::timeflake::Timeflake;
#[cfg(feature = "std")]
pub use self::timeflake::{timeflake, timeflake_many};
pub(crate) use self::token::crc32;
#[cfg(feature = "std")]
pub use self::tsid::tsid;
pub use self::tsid::{Tsid, TsidGenerator};
pub use self::typeid::{TypeId, TypePrefix};
pub use self::ulid::{Ulid, UlidGenerator, UlidStep};
#[cfg(feature = "std")]
pub use self::ulid::{ulid, ulid_many};
pub use self::xid::{Xid, XidGenerator};
#[cfg(feature = "std")]
pub use self::xid::{xid, xid_many};

use crate::Entropy;
use crate::inspect::{FieldValue, IdTime};
use crate::text::TextError;
use crate::time::{Clock, Timestamp};

/// Every format: the one list that the command, the server and `inspect` read.
pub static FORMATS: &[Format] = &[
    uuid::UUID,
    uuid::V1,
    uuid::V2,
    uuid::V3,
    uuid::V4,
    uuid::V5,
    uuid::V6,
    uuid::V7,
    uuid::V8,
    ulid::ULID,
    ksuid::KSUID,
    ksuid::KSUID_MS,
    typeid::TYPEID,
    xid::XID,
    objectid::OBJECTID,
    tsid::TSID,
    tid::TID,
    scru64::SCRU64,
    nano64::NANO64,
    scru128::SCRU128,
    pushid::PUSHID,
    timeflake::TIMEFLAKE,
    flake::FLAKE,
    nanoid::NANOID,
    cuid2::CUID2,
    cuid::CUID,
    token::TOKEN,
    sqids::SQIDS,
    hashids::HASHIDS,
    number::SNOWFLAKE,
    number::SEQUENCE,
];

/// The format called `name`, by its name or an alias.
///
/// ```
/// use mintage::{GenOptions, format};
/// let uuid7 = format("uuid7").expect("a format");
/// let id = uuid7.make(&GenOptions::default())?;
/// let mut text = Vec::new();
/// uuid7.write(&id, &mut text)?;
/// assert_eq!(uuid7.parse(&text, &GenOptions::default()), Ok(id));
/// assert!(format("uuid9").is_none());
/// # Ok::<(), mintage::FormatError>(())
/// ```
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS
        .iter()
        .find(|row| row.name == name || row.aliases.contains(&name))
}

/// A format of ids: one row of [`FORMATS`].
///
/// The fields say what it is, the methods are its verbs. A verb that has no meaning for a format answers
/// [`FormatError::Verb`]; `can_…` tells beforehand.
#[derive(Debug)]
#[non_exhaustive]
pub struct Format {
    /// Its name in every face.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Its name in prose.
    pub title: &'static str,
    /// What it is, a phrase.
    pub is: &'static str,
    /// What keeps two of them apart.
    pub unique: &'static str,
    /// What it tells whoever sees it.
    pub tells: &'static str,
    /// The command that makes one.
    pub command: &'static str,
    /// The specification: project, document and version.
    pub source: &'static str,
    /// The fields from the highest bit (or first character) to the lowest, as lines of text.
    pub diagram: &'static str,
    /// The width of the binary form; 0 if the format is text alone.
    pub bits: u32,
    /// The fewest and the most characters of the text, unless options ask for others.
    pub text_len: (usize, usize),
    /// The time in it, if there is one.
    pub time: Option<TimeShape>,
    /// Whether the bytes sort by the time of making.
    pub bytes_sort: bool,
    /// Whether the texts do, compared as ASCII.
    pub text_sorts: bool,
    /// The options that it takes.
    pub options: &'static [GenOption],
    entropy: fn(&GenOptions) -> f64,
    parse: ParseFn,
    parse_lenient: Option<ParseFn>,
    write: fn(&Id, &mut Vec<u8>),
    read: ReadFn,
    make_many: Option<ManyFn>,
    write_lines: Option<LinesFn>,
    make_at: Option<MakeAtFn>,
    min_at: Option<BoundFn>,
    max_at: Option<BoundFn>,
    generator: Option<GeneratorFn>,
}

type ParseFn = fn(&[u8], &GenOptions) -> Result<Id, TextError>;
type ReadFn = fn(&Id, &GenOptions) -> Details;
type ManyFn = fn(Source<'_>, &GenOptions, &mut [Id]) -> Result<(), FormatError>;
type LinesFn = fn(&GenOptions, usize, &mut Vec<u8>) -> Result<(), FormatError>;
type MakeAtFn = fn(Timestamp, &GenOptions, &mut dyn Entropy) -> Result<Id, FormatError>;
type BoundFn = fn(Timestamp, &GenOptions) -> Result<Id, FormatError>;
type GeneratorFn =
    fn(&GenOptions, Box<dyn Clock>, Box<dyn Entropy>) -> Result<Box<dyn Generate>, FormatError>;

/// The time that ids of a format hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeShape {
    /// The steps it moves in.
    pub tick: Duration,
    /// The first time that fits.
    pub first: Timestamp,
    /// The last time that fits: the end of the last tick, less a nanosecond.
    pub last: Timestamp,
    /// How many digits after the second are real.
    pub digits: u8,
}

impl TimeShape {
    /// `ticks` ticks from `first_ms` milliseconds after 1970 on.
    pub(crate) const fn new(tick: Duration, first_ms: i64, ticks: u128, digits: u8) -> Self {
        let first = Timestamp::from_unix_millis(first_ms);
        let span = tick.as_nanos() * ticks;
        TimeShape {
            tick,
            first,
            last: Timestamp::from_unix_nanos(first.unix_nanos() + span as i128 - 1),
            digits,
        }
    }

    /// How many ticks there are.
    pub(crate) const fn ticks(&self) -> u128 {
        let span = self.last.unix_nanos() - self.first.unix_nanos() + 1;
        span as u128 / self.tick.as_nanos()
    }

    /// The tick of `time`, rounded down, counted from `first`.
    pub(crate) fn tick_of(&self, time: Timestamp) -> Result<u64, FormatError> {
        let since = time.unix_nanos().saturating_sub(self.first.unix_nanos());
        if since < 0 || time > self.last {
            return Err(FormatError::Time {
                time,
                first: self.first,
                last: self.last,
            });
        }
        Ok((since / self.tick.as_nanos() as i128) as u64)
    }

    /// When tick `tick` begins, and how much of that is real.
    pub(crate) fn time_of(&self, tick: u64) -> IdTime {
        IdTime {
            at: Timestamp::from_unix_nanos(
                self.first.unix_nanos() + i128::from(tick) * self.tick.as_nanos() as i128,
            ),
            digits: self.digits,
        }
    }
}

/// What an id holds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Details {
    /// When it says it was made: the beginning of its tick, and how many digits of that are real.
    pub time: Option<IdTime>,
    /// Its fields by name, from the highest bit (or first character) to the lowest.
    pub fields: Vec<(alloc::borrow::Cow<'static, str>, FieldValue)>,
}

impl Details {
    pub(crate) fn new(time: Option<IdTime>) -> Self {
        Details {
            time,
            fields: Vec::new(),
        }
    }

    /// Adds a number of a field `bits` wide.
    pub(crate) fn number(mut self, name: &'static str, value: u64, bits: u32) -> Self {
        let value = if bits < 53 {
            FieldValue::Number(value)
        } else {
            FieldValue::Big(value)
        };
        self.fields.push((name.into(), value));
        self
    }

    /// Adds text.
    pub(crate) fn text(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name.into(), FieldValue::Text(value.into())));
        self
    }

    /// Adds bytes, as hexadecimal text.
    fn hex(self, name: &'static str, bytes: &[u8]) -> Self {
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let digits = digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]));
        let value: String = digits.collect();
        self.text(name, value)
    }
}

/// Makes ids of one format, one after the other, from a clock and an entropy source of the caller's.
///
/// Strictly increasing where the format sorts. State lives in the generator alone; see [`Format::generator`].
pub trait Generate {
    /// The next id.
    ///
    /// # Errors
    /// The clock does not allow it ([`FormatError::Mint`]), or the random part of the last id of this tick was
    /// the largest there is ([`FormatError::Full`]).
    fn next_id(&mut self) -> Result<Id, FormatError>;
}

impl<F: FnMut() -> Result<Id, FormatError>> Generate for F {
    fn next_id(&mut self) -> Result<Id, FormatError> {
        self()
    }
}

impl Format {
    /// How many bits of one id are random, as far as nothing else keeps two of them apart: of two ids of one
    /// tick, if there is a time. 0 for formats that are not random.
    ///
    /// ```
    /// use mintage::{GenOptions, format};
    /// let nothing = GenOptions::default();
    /// assert_eq!(format("uuid4").expect("a format").entropy_bits(&nothing), 122.0);
    /// assert_eq!(format("uuid5").expect("a format").entropy_bits(&nothing), 0.0);
    /// ```
    pub fn entropy_bits(&self, options: &GenOptions) -> f64 {
        (self.entropy)(options)
    }

    /// Whether [`Self::make`] makes ids.
    pub const fn can_make(&self) -> bool {
        self.make_many.is_some()
    }

    /// Whether [`Self::make_at`] makes ids.
    pub const fn can_make_at(&self) -> bool {
        self.make_at.is_some()
    }

    /// Whether [`Self::min_at`] and [`Self::max_at`] bound ids.
    pub const fn can_bound(&self) -> bool {
        self.min_at.is_some() && self.max_at.is_some()
    }

    /// Whether [`Self::parse_lenient`] accepts more than [`Self::parse`].
    pub const fn has_lenient(&self) -> bool {
        self.parse_lenient.is_some()
    }

    /// Whether [`Self::generator`] makes generators.
    pub const fn has_generator(&self) -> bool {
        self.generator.is_some()
    }

    /// Refuses options that this format does not take.
    ///
    /// # Errors
    /// Names the first such option and those that it takes.
    pub fn check_options(&self, options: &GenOptions) -> Result<(), FormatError> {
        let foreign = GenOption::ALL
            .iter()
            .find(|option| option.is_in(options) && !self.options.contains(option));
        let Some(foreign) = foreign else {
            return Ok(());
        };
        let takes: Vec<&str> = self.options.iter().map(|option| option.name()).collect();
        Err(FormatError::NoOption {
            format: self.name,
            option: foreign.name(),
            takes: if takes.is_empty() {
                "nothing".into()
            } else {
                takes.join(", ")
            },
        })
    }

    /// Reads exactly the text that the format's specification allows. Options say what the text alone does not
    /// (a Sqid's alphabet).
    ///
    /// # Errors
    /// Why it is none, and where.
    ///
    /// ```
    /// use mintage::{GenOptions, format};
    /// let uuid4 = format("uuid4").expect("a format");
    /// let error = uuid4.parse(b"017f22e2-79b0-7cc3-98c4-dc0c0c07398f", &GenOptions::default()).unwrap_err();
    /// assert_eq!((error.position(), error.to_string()), (Some(14), "a uuid of another version, at 14".into()));
    /// ```
    pub fn parse(&self, text: &[u8], options: &GenOptions) -> Result<Id, TextError> {
        (self.parse)(text, options)
    }

    /// Reads what people write: what [`Self::parse`] reads, and the slips that the format's specification lets a
    /// reader forgive. Formats that forgive nothing read as [`Self::parse`] does.
    ///
    /// # Errors
    /// Why it is none, and where.
    pub fn parse_lenient(&self, text: &[u8], options: &GenOptions) -> Result<Id, TextError> {
        (self.parse_lenient.unwrap_or(self.parse))(text, options)
    }

    /// Appends the canonical text of `id` to `out`.
    ///
    /// # Errors
    /// `id` has another number of bytes than ids of this format ([`FormatError::Size`]).
    pub fn write(&self, id: &Id, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.check_size(id)?;
        (self.write)(id, out);
        Ok(())
    }

    /// The canonical text of `id`.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn text(&self, id: &Id) -> Result<String, FormatError> {
        let mut out = Vec::with_capacity(self.text_len.1.min(64));
        self.write(id, &mut out)?;
        Ok(String::from_utf8(out).expect("every format writes UTF-8"))
    }

    /// What `id` holds.
    ///
    /// # Errors
    /// `id` has another number of bytes than ids of this format ([`FormatError::Size`]).
    pub fn read(&self, id: &Id, options: &GenOptions) -> Result<Details, FormatError> {
        self.check_size(id)?;
        Ok((self.read)(id, options))
    }

    /// Makes an id now, by the process's clock and random source. Thread-safe and fork-safe; strictly increasing
    /// over all threads of the process where the format sorts.
    ///
    /// # Errors
    /// The format makes none, takes not these options, or its clock does not allow it.
    pub fn make(&self, options: &GenOptions) -> Result<Id, FormatError> {
        let mut id = [Id::default()];
        self.make_many(options, &mut id)?;
        let [id] = id;
        Ok(id)
    }

    /// Fills `out` with ids made now; many times faster per id than [`Self::make`].
    ///
    /// # Errors
    /// As [`Self::make`]; `out` then holds nothing that was issued.
    pub fn make_many(&self, options: &GenOptions, out: &mut [Id]) -> Result<(), FormatError> {
        self.make_many_from(Source::PROCESS, options, out)
    }

    /// Fills `out` with ids of the time that `clock` tells, counting on in `generators` instead of the process's
    /// own: for those who know the time better than the wall clock does. See [`Generators`].
    ///
    /// # Errors
    /// As [`Self::make_many`].
    #[cfg(feature = "std")]
    pub fn make_many_by(
        &self,
        generators: &Generators,
        clock: &dyn Clock,
        options: &GenOptions,
        out: &mut [Id],
    ) -> Result<(), FormatError> {
        self.make_many_from(Source { clock, generators }, options, out)
    }

    fn make_many_from(
        &self,
        source: Source<'_>,
        options: &GenOptions,
        out: &mut [Id],
    ) -> Result<(), FormatError> {
        self.check_options(options)?;
        (self.make_many.ok_or_else(|| self.no("make one"))?)(source, options, out)
    }

    /// Appends the texts of `count` ids made now to `out`, each with a newline; the fastest way to text.
    ///
    /// # Errors
    /// As [`Self::make`]; what `out` then holds more than before was not issued.
    ///
    /// ```
    /// use mintage::{GenOptions, format};
    /// let mut lines = Vec::new();
    /// format("uuid7").expect("a format").write_lines(&GenOptions::default(), 1000, &mut lines)?;
    /// assert_eq!(lines.len(), 1000 * 37);
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    pub fn write_lines(
        &self,
        options: &GenOptions,
        count: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        self.check_options(options)?;
        if let Some(write_lines) = self.write_lines {
            return write_lines(options, count, out);
        }
        let make_many = self.make_many.ok_or_else(|| self.no("make one"))?;
        let mut ids = Vec::new();
        let mut left = count;
        while left > 0 {
            ids.resize(left.min(LINES_AT_ONCE), Id::default());
            make_many(Source::PROCESS, options, &mut ids)?;
            for id in &ids {
                (self.write)(id, out);
                out.push(b'\n');
            }
            left -= ids.len();
        }
        Ok(())
    }

    /// Makes an id of the time `time`, all that is not time as in a new one; touches no generator's state. Ids of
    /// one tick are unique by their random bits and in no order among themselves.
    ///
    /// # Errors
    /// The format holds no time, not this time, or takes not these options.
    ///
    /// ```
    /// use mintage::{GenOptions, SystemEntropy, Timestamp, format};
    /// let (uuid7, nothing) = (format("uuid7").expect("a format"), GenOptions::default());
    /// let time = Timestamp::from_unix_millis(1_645_557_742_000);
    /// let id = uuid7.make_at(time, &nothing, &mut SystemEntropy)?;
    /// assert_eq!(uuid7.read(&id, &nothing)?.time.expect("a time").at, time);
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    pub fn make_at(
        &self,
        time: Timestamp,
        options: &GenOptions,
        entropy: &mut dyn Entropy,
    ) -> Result<Id, FormatError> {
        self.check_options(options)?;
        (self.make_at.ok_or_else(|| self.no("make one at a time"))?)(time, options, entropy)
    }

    /// The smallest id of the tick that `time` lies in; a bound for queries, not an id to give away.
    ///
    /// # Errors
    /// As [`Self::make_at`].
    ///
    /// ```
    /// use mintage::{GenOptions, Timestamp, format};
    /// let (uuid7, nothing) = (format("uuid7").expect("a format"), GenOptions::default());
    /// let time = Timestamp::from_unix_millis(1_645_557_742_000);
    /// assert_eq!(uuid7.text(&uuid7.min_at(time, &nothing)?)?, "017f22e2-79b0-7000-8000-000000000000");
    /// assert_eq!(uuid7.text(&uuid7.max_at(time, &nothing)?)?, "017f22e2-79b0-7fff-bfff-ffffffffffff");
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    pub fn min_at(&self, time: Timestamp, options: &GenOptions) -> Result<Id, FormatError> {
        self.check_options(options)?;
        (self.min_at.ok_or_else(|| self.no("bound a time"))?)(time, options)
    }

    /// The largest id of the tick that `time` lies in; see [`Self::min_at`].
    ///
    /// # Errors
    /// As [`Self::make_at`].
    pub fn max_at(&self, time: Timestamp, options: &GenOptions) -> Result<Id, FormatError> {
        self.check_options(options)?;
        (self.max_at.ok_or_else(|| self.no("bound a time"))?)(time, options)
    }

    /// A generator of its own on `clock` and `entropy`: for tests, for other clocks, and without `std`.
    ///
    /// # Errors
    /// The format has none, or takes not these options.
    ///
    /// ```
    /// use mintage::{FixedClock, GenOptions, SystemEntropy, Timestamp, format};
    /// let clock = Box::new(FixedClock(Timestamp::from_unix_millis(1_645_557_742_000)));
    /// let uuid7 = format("uuid7").expect("a format");
    /// let mut generator = uuid7.generator(&GenOptions::default(), clock, Box::new(SystemEntropy))?;
    /// assert!(generator.next_id()? < generator.next_id()?);
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    pub fn generator(
        &self,
        options: &GenOptions,
        clock: Box<dyn Clock>,
        entropy: Box<dyn Entropy>,
    ) -> Result<Box<dyn Generate>, FormatError> {
        self.check_options(options)?;
        (self.generator.ok_or_else(|| self.no("make a generator"))?)(options, clock, entropy)
    }

    fn check_size(&self, id: &Id) -> Result<(), FormatError> {
        let (found, expected) = (id.bytes().len(), self.bits.div_ceil(8) as usize);
        if found == expected {
            return Ok(());
        }
        Err(FormatError::Size {
            format: self.name,
            found,
            expected,
        })
    }

    fn no(&self, verb: &'static str) -> FormatError {
        FormatError::Verb {
            format: self.name,
            verb,
        }
    }
}

/// What a row has where it says nothing else.
const BLANK: Format = Format {
    name: "",
    aliases: &[],
    title: "",
    is: "",
    unique: "",
    tells: "",
    command: "",
    source: "",
    diagram: "",
    bits: 0,
    text_len: (0, 0),
    time: None,
    bytes_sort: false,
    text_sorts: false,
    options: &[],
    entropy: |_| 0.0,
    parse: |_, _| Err(TextError::Empty),
    parse_lenient: None,
    write: |id, out| out.extend_from_slice(id.text().unwrap_or("").as_bytes()),
    read: |_, _| Details::default(),
    make_many: None,
    write_lines: None,
    make_at: None,
    min_at: None,
    max_at: None,
    generator: None,
};

/// Ids in memory at a time while lines are written.
pub(crate) const LINES_AT_ONCE: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_own_names_and_says_what_it_is() {
        let mut names = Vec::new();
        for row in FORMATS {
            for name in core::iter::once(&row.name).chain(row.aliases) {
                assert!(!names.contains(name), "{name} twice");
                names.push(name);
            }
            for text in [
                row.title,
                row.is,
                row.unique,
                row.tells,
                row.command,
                row.source,
                row.diagram,
            ] {
                assert!(!text.is_empty(), "{}", row.name);
            }
            assert!(row.text_len.0 <= row.text_len.1);
            assert!(row.bits as usize <= Id::MAX_BYTES * 8);
        }
    }
}
