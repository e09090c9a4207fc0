//! The formats of ids: a file and a row each, and the verbs that every row answers.

mod alphabet;
mod base32;
mod counted;
mod cuid;
mod cuid2;
mod details;
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
mod shapes;
mod sqids;
mod tid;
mod timeflake;
mod token;
mod tsid;
mod typeid;
mod ulid;
mod uuid;
mod value;
mod verbs;
mod wide;
mod xid;

use alloc::boxed::Box;
use alloc::vec::Vec;

pub use self::alphabet::Alphabet;
pub(crate) use self::alphabet::log2;
#[cfg(all(feature = "std", feature = "cuid2"))]
pub use self::cuid2::*;
pub use self::details::*;
pub use self::error::FormatError;
#[cfg(feature = "std")]
pub use self::generators::Generators;
#[cfg(feature = "std")]
pub(crate) use self::generators::PROCESS;
pub(crate) use self::generators::Source;
pub use self::id::Id;
pub use self::ksuid::*;
pub use self::nanoid::*;
pub(crate) use self::number::{id_bytes, id_of_layout};
pub use self::objectid::*;
pub use self::options::{GenOption, GenOptions, OptionForm, OptionValue};
#[cfg(feature = "std")]
pub(crate) use self::places::Own;
pub use self::pushid::*;
#[cfg(feature = "std")]
pub use self::repeats::ids_until_repeat;
pub use self::scru128::*;
pub use self::sqids::*;
pub use self::tid::*;
pub use self::timeflake::*;
pub(crate) use self::token::crc32;
pub use self::tsid::*;
pub use self::typeid::*;
pub use self::ulid::*;
pub use self::xid::*;

use crate::Entropy;
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
    pub summary: &'static str,
    /// Which ids are of its kind, where they are read and made otherwise than by the row alone.
    pub family: Family,
    /// What keeps two of them apart.
    pub unique: &'static str,
    /// What it tells whoever sees it.
    pub tells: &'static str,
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
    /// Options of an example, as text: among them all that one cannot be made without.
    pub example: &'static [(GenOption, &'static str)],
    /// The verbs that it has not, on purpose: all others are there, but those about a time where there is none.
    pub lacks: &'static [Verb],
    entropy: fn(&GenOptions) -> f64,
    likely: LikelyFn,
    parse: ParseFn,
    parse_lenient: Option<ParseFn>,
    write: fn(&Id, &mut Vec<u8>),
    read: ReadFn,
    time_of: Option<fn(&Id) -> IdTime>,
    make_many: Option<ManyFn>,
    write_lines: Option<LinesFn>,
    make_at: Option<MakeAtFn>,
    min_at: Option<BoundFn>,
    max_at: Option<BoundFn>,
    generator: Option<GeneratorFn>,
}

type ParseFn = fn(&[u8], &GenOptions) -> Result<Id, TextError>;
type LikelyFn = fn(&Id, &Details, &GenOptions) -> f64;
type ReadFn = fn(&Id, &GenOptions) -> Details;
type ManyFn = fn(Source<'_>, &GenOptions, &mut [Id]) -> Result<(), FormatError>;
type LinesFn = fn(&GenOptions, usize, &mut Vec<u8>) -> Result<(), FormatError>;
type MakeAtFn = fn(Timestamp, &GenOptions, &mut dyn Entropy) -> Result<Id, FormatError>;
type BoundFn = fn(Timestamp, &GenOptions) -> Result<Id, FormatError>;
type GeneratorFn =
    fn(&GenOptions, Box<dyn Clock>, Box<dyn Entropy>) -> Result<Box<dyn Generate>, FormatError>;

/// Which ids are of a kind with those of a format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Family {
    /// UUIDs: of one version, or of any. They have text forms of their own, and are one kind of id.
    Uuid(Option<u8>),
    /// Snowflakes: numbers of some layout, which a reservation keeps unique.
    Snowflake,
    /// Numbers of a sequence, which a store gives.
    Sequence,
    /// None but its own.
    Own,
}

/// What a format may be able to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Verb {
    /// [`Format::make`] and its like.
    Make,
    /// [`Format::make_at`].
    MakeAt,
    /// [`Format::min_at`] and [`Format::max_at`].
    Bound,
    /// [`Format::generator`].
    Generator,
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

/// What a row has where it says nothing else.
const BLANK: Format = Format {
    name: "",
    aliases: &[],
    title: "",
    summary: "",
    family: Family::Own,
    unique: "",
    tells: "",
    source: "",
    diagram: "",
    bits: 0,
    text_len: (0, 0),
    time: None,
    bytes_sort: false,
    text_sorts: false,
    options: &[],
    example: &[],
    lacks: &[],
    entropy: |_| 0.0,
    likely: |_, details, _| if details.time.is_some() { 0.6 } else { 0.3 },
    parse: |_, _| Err(TextError::Empty),
    parse_lenient: None,
    write: |id, out| out.extend_from_slice(id.text().unwrap_or("").as_bytes()),
    read: |_, _| Details::default(),
    time_of: None,
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
                row.summary,
                row.unique,
                row.tells,
                row.source,
                row.diagram,
            ] {
                assert!(!text.is_empty(), "{}", row.name);
            }
            assert!(row.text_len.0 <= row.text_len.1);
            assert!(row.bits as usize <= Id::MAX_BYTES * 8);
        }
    }

    #[test]
    #[cfg(all(feature = "std", feature = "names", feature = "cuid2"))]
    fn a_row_has_every_verb_but_those_that_it_says_it_lacks() {
        for row in FORMATS {
            for (verb, can, timed) in [
                (Verb::Make, row.can_make(), false),
                (Verb::MakeAt, row.can_make_at(), true),
                (Verb::Bound, row.can_bound(), true),
                (Verb::Generator, row.has_generator(), false),
            ] {
                let lacks = row.lacks.contains(&verb) || timed && row.time.is_none();
                assert_eq!(
                    can, !lacks,
                    "{}: {verb:?} is there, or stands in `lacks`",
                    row.name
                );
            }
        }
    }

    #[test]
    fn an_example_takes_options_of_the_format() {
        for row in FORMATS {
            assert_eq!(row.check_options(&row.example_options()), Ok(()), "{}", row.name);
            #[cfg(all(feature = "std", feature = "names", feature = "cuid2"))]
            assert_eq!(
                row.make(&row.example_options()).is_ok(),
                row.can_make(),
                "{}",
                row.name
            );
        }
    }
}
