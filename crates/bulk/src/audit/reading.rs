//! From the text of an id to what the audit counts: its kind, its value, its time, its worker.

use std::hash::Hasher;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use mintage::{
    FORMATS, Family, Format, GenOption, GenOptions, Layout, PRESETS, Timestamp, format, inspect_layout,
    parse_uuid_lenient,
};
use siphasher::sip128::{Hasher128, SipHasher24};
use uuid::Uuid;

use crate::error::{Error, nearest};
use crate::hint::Hint;

/// A kind of id, as far as equal values of different kinds are different ids.
///
/// It follows from the text alone, whatever stands before it, and for numbers from all numbers of the pile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Class(pub(super) u8);

impl Class {
    pub(super) const UUID: Class = Class(0);
    pub(super) const SNOWFLAKE: Class = Class(1);
    pub(super) const SEQUENCE: Class = Class(2);
    pub(super) const TEXT: Class = Class(3);
    /// The first of those that stand for a row of `FORMATS`.
    const ROWS: u8 = 4;
    /// How many there can be: they have 6 bits in a record.
    pub(super) const MAX: usize = 64;

    fn of_row(row: usize) -> Class {
        Class(Class::ROWS + row as u8)
    }

    /// Its row in `FORMATS`, if it stands for one.
    pub(super) fn row(self) -> Option<usize> {
        let row = usize::from(self.0.checked_sub(Class::ROWS)?);
        (row < FORMATS.len()).then_some(row)
    }

    /// Its name in every list of formats; `text` for what is none of them.
    pub(super) fn name(self) -> &'static str {
        match self {
            Class::UUID => "uuid",
            Class::SNOWFLAKE => "snowflake",
            Class::SEQUENCE => "sequence",
            Class::TEXT => "text",
            Class(row) => FORMATS
                .get(usize::from(row - Class::ROWS))
                .map_or("text", |row| row.name),
        }
    }

    /// The canonical text of a value, where the value is the whole id.
    pub(super) fn text(self, identity: u128) -> Option<String> {
        match self {
            Class::UUID => Some(Uuid::from_u128(identity).to_string()),
            Class::SNOWFLAKE => Some((identity as u64).to_string()),
            Class::SEQUENCE => Some(sequence_of(identity).to_string()),
            Class::TEXT => None,
            Class(row) => {
                let row = FORMATS.get(usize::from(row - Class::ROWS))?;
                let size = (row.bits / 8) as usize;
                // Where an id has a prefix, its bits are not all of it.
                if !(1..=16).contains(&size) || row.options.contains(&GenOption::Prefix) {
                    return None;
                }
                let bytes = identity.to_be_bytes();
                row.text(&mintage::Id::from_bytes(&bytes[16 - size..])?).ok()
            }
        }
    }
}

/// The number of a sequence from the form in which it sorts.
pub(super) fn sequence_of(identity: u128) -> i128 {
    identity as i128 - SEQUENCE_ZERO
}

/// Where 0 sorts: numbers go from -2^63 to 2^64-1, what a BIGINT holds with and without a sign.
const SEQUENCE_ZERO: i128 = 1 << 63;

/// What an id says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Seen {
    pub(super) class: Class,
    /// A UUID's version; 0 where there is none.
    pub(super) version: u8,
    /// Equal for equal ids of a class: the value, or a hash of 128 bits where the value is longer.
    pub(super) identity: u128,
    /// Sorts as the ids of the class are meant to.
    pub(super) rank: u128,
    /// The first 128 bits of its octets, or of its text where it is text: what a store orders rows by.
    pub(super) key: u128,
    /// Microseconds since 1970.
    pub(super) micros: Option<i64>,
    /// Who made it.
    pub(super) worker: Option<u64>,
    /// A Snowflake's sequence, or the clock sequence of versions 1 and 6.
    pub(super) detail: u64,
}

impl Seen {
    fn new(class: Class, value: u128) -> Seen {
        Seen {
            class,
            version: 0,
            identity: value,
            rank: value,
            key: value,
            micros: None,
            worker: None,
            detail: 0,
        }
    }

    /// The number that it is, if it is one that a Snowflake can be.
    pub(super) fn number(&self) -> Option<u64> {
        match self.class {
            Class::SNOWFLAKE => Some(self.identity as u64),
            Class::SEQUENCE => u64::try_from(sequence_of(self.identity)).ok(),
            _ => None,
        }
    }
}

/// How ids are to be read.
#[derive(Clone, Debug, Default)]
pub struct ReadAs {
    /// The name of the only format that is right; without one every id is read as what it looks like.
    pub format: Option<String>,
    /// The layout of Snowflakes; without one it is guessed.
    pub layout: Option<Arc<Layout>>,
}

fn is_a_word(text: &[u8]) -> bool {
    let any = |kind: fn(&u8) -> bool| text.iter().any(kind);
    !(any(u8::is_ascii_digit) || any(u8::is_ascii_lowercase) && any(u8::is_ascii_uppercase))
}

/// Whether numbers are rather random than ids of a layout: all of its numbers are times that can be, so that every
/// number is one, and they have as many workers as there are numbers.
fn is_random(numbers: &[u64], layout: &Layout, now: Timestamp) -> bool {
    let whole = layout.time_of(layout.ticks_max());
    if whole > now || layout.worker_bits() < 8 || numbers.len() < 16 {
        return false;
    }
    let mut workers: Vec<u64> = numbers
        .iter()
        .filter_map(|id| layout.unpack(*id).ok())
        .map(|parts| parts.worker)
        .collect();
    workers.sort_unstable();
    workers.dedup();
    workers.len() * 2 > numbers.len()
}

/// Reads ids.
#[derive(Debug)]
pub(super) struct Reader {
    only: Option<Only>,
    /// How numbers are read; decided by a sample where nobody says it.
    pub(super) numbers: Numbers,
    options: GenOptions,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Only {
    /// A UUID of this version, 0 for any.
    Uuid(u8),
    Snowflake,
    Sequence,
    Row(usize),
}

impl Only {
    fn named(name: &str) -> Option<Only> {
        let is = |row: &Format| row.name == name || row.aliases.contains(&name);
        let row = FORMATS.iter().position(is)?;
        Some(match FORMATS[row].family {
            Family::Uuid(version) => Only::Uuid(version.unwrap_or(0)),
            Family::Snowflake => Only::Snowflake,
            Family::Sequence => Only::Sequence,
            _ => Only::Row(row),
        })
    }
}

/// What a decimal number is.
#[derive(Clone, Debug)]
pub(super) enum Numbers {
    Undecided,
    Sequence,
    Snowflake {
        layout: Arc<Layout>,
        /// Whether the layout was guessed, and which others it may be as well.
        guessed: Option<Vec<&'static str>>,
    },
}

impl Numbers {
    /// What tells one way of reading them from another.
    pub(super) fn layout_name(&self) -> Option<&str> {
        match self {
            Numbers::Snowflake { layout, .. } => Some(layout.name()),
            _ => None,
        }
    }
}

impl Reader {
    /// # Errors
    /// There is no format of that name.
    pub(super) fn new(read_as: &ReadAs) -> Result<Reader, Error> {
        let only = match read_as.format.as_deref() {
            None => None,
            Some(name) => Some(Only::named(name).ok_or_else(|| {
                let near = nearest(name, FORMATS.iter().map(|row| row.name));
                let unknown = Error::usage(format_args!("there is no format {name:?}"));
                match near {
                    Some(near) => unknown.with_hint(format_args!("did you mean {near:?}?")),
                    None => unknown.with_hint(Hint::Formats),
                }
            })?),
        };
        let numbers = match (&read_as.layout, only) {
            (Some(layout), _) => Numbers::Snowflake {
                layout: layout.clone(),
                guessed: None,
            },
            (None, None | Some(Only::Snowflake)) => Numbers::Undecided,
            (None, Some(_)) => Numbers::Sequence,
        };
        Ok(Reader {
            only,
            numbers,
            options: GenOptions::default(),
        })
    }

    /// What these numbers are: Snowflakes of the first known layout in which nearly all have a time that can be, or
    /// plain numbers.
    pub(super) fn judge(&self, numbers: &[u64], now: Timestamp) -> Numbers {
        let fits = |layout: &Layout| {
            if self.only.is_none() && is_random(numbers, layout, now) {
                return false;
            }
            let good = numbers.iter().filter(|id| {
                inspect_layout(**id, layout, now).is_some_and(|reading| reading.confidence > 0.5)
            });
            good.count() * 20 >= numbers.len() * 19
        };
        let fitting: Vec<&mintage::Preset> = match numbers.is_empty() {
            true => Vec::new(),
            false => PRESETS.iter().filter(|preset| fits(&preset.layout())).collect(),
        };
        match (fitting.first(), self.only) {
            (Some(first), _) => Numbers::Snowflake {
                layout: Arc::new(first.layout()),
                guessed: Some(fitting[1..].iter().map(|preset| preset.name).collect()),
            },
            (None, Some(Only::Snowflake)) => Numbers::Snowflake {
                layout: Arc::new(PRESETS[0].layout()),
                guessed: Some(Vec::new()),
            },
            (None, _) => Numbers::Sequence,
        }
    }

    /// Reads an id; `None` if it is not what it should be. Nothing is wrong without a wish: then it is text.
    #[inline]
    pub(super) fn read(&self, text: &[u8]) -> Option<Seen> {
        let seen = self.bare(text);
        if seen.is_some() || self.only.is_none() {
            return seen;
        }
        let found = mintage::unwrapped(std::str::from_utf8(text).ok()?)?;
        self.bare(found.text.as_bytes())
    }

    #[inline]
    fn bare(&self, text: &[u8]) -> Option<Seen> {
        match self.only {
            None => Some(self.any(text)),
            Some(Only::Uuid(version)) => {
                let seen = read_uuid(text)?;
                (version == 0 || seen.version == version).then_some(seen)
            }
            Some(Only::Snowflake) => self.snowflake(number(text)?),
            Some(Only::Sequence) => decimal(text).map(sequence),
            Some(Only::Row(row)) => read_row(row, false, text, &self.options).or_else(|| {
                forgives(&FORMATS[row])
                    .then(|| read_row(row, true, text, &self.options))
                    .flatten()
            }),
        }
    }

    #[inline]
    fn any(&self, text: &[u8]) -> Seen {
        if text.len() >= 32
            && let Some(seen) = read_uuid(text)
        {
            return seen;
        }
        if let Some(seen) = self.number(text) {
            return seen;
        }
        if let Some(seen) = self.own(text) {
            return seen;
        }
        if let Some(seen) = self.inside(text) {
            return seen;
        }
        let hash = hash(text);
        Seen {
            rank: 0,
            key: leading(text),
            ..Seen::new(Class::TEXT, hash)
        }
    }

    /// Reads what a shell, a console or JSON has printed around an id.
    #[cold]
    fn inside(&self, text: &[u8]) -> Option<Seen> {
        let found = mintage::unwrapped(std::str::from_utf8(text).ok()?)?;
        let text = found.text.as_bytes();
        read_uuid(text)
            .or_else(|| self.number(text))
            .or_else(|| self.own(text))
    }

    /// Reads an id of the formats that have a row and no way of their own.
    fn own(&self, text: &[u8]) -> Option<Seen> {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        if digits.len() <= DIGITS_MAX && digits.iter().all(u8::is_ascii_digit) {
            // A number of more than 64 bits, though some formats have no other characters.
            return None;
        }
        let trials = TRIALS.get(text.len()).or(TRIALS.last())?;
        trials.iter().find_map(|(row, lenient)| {
            let seen = read_row(*row, *lenient, text, &self.options)?;
            // Any word is as long as some id of such a format; a time tells one.
            let format = &FORMATS[*row];
            let word = format.text_len.0 == 1 && format.time.is_some();
            // A short word is no random text, nor is one of letters alone of one case where an alphabet has both.
            let timeless = format.time.is_none() && format.text_len.0 < 20;
            if timeless && text.len() < 20 || format.name == "nanoid" && is_a_word(text) {
                return None;
            }
            (!word || seen.micros.is_some_and(|us| LIKELY_US.contains(&us))).then_some(seen)
        })
    }

    #[inline]
    fn number(&self, text: &[u8]) -> Option<Seen> {
        let value = decimal(text)?;
        // What does not fit the layout, a negative number for one, is still a number.
        let snowflake = u64::try_from(value).ok().and_then(|id| self.snowflake(id));
        Some(snowflake.unwrap_or_else(|| sequence(value)))
    }

    #[inline]
    fn snowflake(&self, id: u64) -> Option<Seen> {
        let Numbers::Snowflake { layout, .. } = &self.numbers else {
            return None;
        };
        let parts = layout.unpack(id).ok()?;
        let at = layout.time_of(parts.tick).unix_nanos() / 1000;
        Some(Seen {
            micros: i64::try_from(at).ok(),
            worker: (layout.worker_bits() > 0).then_some(parts.worker),
            detail: parts.sequence,
            key: u128::from(id) << 64,
            ..Seen::new(Class::SNOWFLAKE, id.into())
        })
    }
}

/// The name of an id's format, its value or the value's hash, and its canonical text where it has one.
pub type IdRead = (&'static str, u128, Option<String>);

/// What an audit makes of the text of an id; `None` if it is no id of the format that is asked for.
///
/// # Errors
/// There is no such format.
pub fn read_id(text: &[u8], read_as: &ReadAs) -> Result<Option<IdRead>, Error> {
    let seen = Reader::new(read_as)?.read(text);
    Ok(seen.map(|seen| {
        let text = seen.class.text(seen.identity);
        (seen.class.name(), seen.identity, text)
    }))
}

fn read_uuid(text: &[u8]) -> Option<Seen> {
    let id = Uuid::try_parse_ascii(text)
        .ok()
        .or_else(|| parse_uuid_lenient(text).ok())?;
    let value = id.as_u128();
    let mut seen = Seen::new(Class::UUID, value);
    if id.get_variant() != uuid::Variant::RFC4122 {
        return Some(seen);
    }
    seen.version = id.get_version_num() as u8;
    let low = value as u64;
    match seen.version {
        1 | 6 => {
            let ticks = match seen.version {
                1 => {
                    let high = (value >> 64) as u64;
                    (high & 0xfff) << 48 | (high >> 16 & 0xffff) << 32 | high >> 32
                }
                _ => ((value >> 80) as u64) << 12 | (value >> 64) as u64 & 0xfff,
            };
            seen.rank = u128::from(ticks) << 64 | u128::from(low);
            seen.micros = Some((ticks / 10) as i64 - GREGORIAN_MICROS);
            seen.worker = Some(low & ((1 << 48) - 1));
            seen.detail = low >> 48 & 0x3fff;
        }
        7 => seen.micros = Some((value >> 80) as i64 * 1000),
        _ => {}
    }
    Some(seen)
}

/// Microseconds from 1582-10-15 to 1970-01-01.
const GREGORIAN_MICROS: i64 = 12_219_292_800_000_000;

/// A number of a sequence, from -2^63 to 2^64-1.
#[inline]
fn sequence(value: i128) -> Seen {
    let sorting = (value + SEQUENCE_ZERO) as u128;
    Seen {
        // Ranges are those of a signed BIGINT: what it does not hold sorts behind its last number.
        key: sorting.min(u64::MAX.into()) << 64 | sorting.saturating_sub(u64::MAX.into()),
        ..Seen::new(Class::SEQUENCE, sorting)
    }
}

/// A number with a sign or without, from -2^63 to 2^64-1.
#[inline]
fn decimal(text: &[u8]) -> Option<i128> {
    match text.strip_prefix(b"-") {
        None => number(text).map(i128::from),
        Some(digits) => number(digits)
            .map(|value| -i128::from(value))
            .filter(|value| *value >= -SEQUENCE_ZERO),
    }
}

/// A number without a sign.
#[inline]
pub(super) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > DIGITS_MAX {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(digit.into())
    })
}

/// As many as 2^64-1 has.
const DIGITS_MAX: usize = 20;

/// By the length of a text, the rows that may read it in the order in which they are tried, and whether they forgive.
///
/// What claims fewest texts comes first: texts of one length before those of any, and of those the few with a mark of
/// their own (no bits) before numbers of all bits. Slips are forgiven before texts of any length are thought of, so
/// that an id in either case is one id. Longer texts are of the last list.
static TRIALS: LazyLock<Vec<Vec<(usize, bool)>>> = LazyLock::new(|| {
    let longest = FORMATS.iter().map(|row| row.text_len.1).max().unwrap_or(0);
    (0..=longest + 1).map(trials_of).collect()
});

fn trials_of(chars: usize) -> Vec<(usize, bool)> {
    let mut trials = Vec::new();
    // Plain numbers and UUIDs have their own ways.
    for (at, row) in FORMATS
        .iter()
        .enumerate()
        .filter(|(_, row)| row.family == Family::Own)
    {
        let (least, most) = row.text_len;
        if (least..=most).contains(&chars) {
            let rank = if least == most { u8::from(row.bits > 0) } else { 3 };
            trials.push((rank, at, false));
        }
        // A slip adds no more than hyphens.
        if forgives(row) && (least..=2 * most).contains(&chars) {
            trials.push((2, at, true));
        }
    }
    trials.sort_unstable();
    trials.into_iter().map(|(_, at, lenient)| (at, lenient)).collect()
}

/// Whether ids of the format may be written less exactly. Texts of any length never: most words then were ids of them,
/// and different ones the same.
fn forgives(row: &Format) -> bool {
    row.has_lenient() && row.text_len.0 == row.text_len.1
}

/// 1985 to 2100, in microseconds: when ids are likely to be made.
const LIKELY_US: Range<i64> = 473_385_600_000_000..4_102_444_800_000_000;

/// Reads one of the other formats by its row.
fn read_row(row: usize, lenient: bool, text: &[u8], options: &GenOptions) -> Option<Seen> {
    let format = FORMATS.get(row)?;
    let id = match lenient {
        true => format.parse_lenient(text, options),
        false => format.parse(text, options),
    };
    let id = id.ok()?;
    let mut seen = Seen::new(Class::of_row(row), 0);
    match (id.number(), id.text()) {
        (Some(value), None) => (seen.identity, seen.rank) = (value, value),
        _ => {
            seen.identity = hash(text);
            seen.rank = id
                .bytes()
                .first_chunk()
                .map_or(0, |first| u128::from_be_bytes(*first));
        }
    }
    seen.key = leading(if id.text().is_some() { text } else { id.bytes() });
    seen.micros = format.time_of(&id, options).ok()?.and_then(|time| {
        // 64 bits of nanoseconds reach to 2262, where a division costs a fraction.
        match i64::try_from(time.at.unix_nanos()) {
            Ok(nanos) => Some(nanos.div_euclid(1000)),
            Err(_) => i64::try_from(time.at.unix_nanos().div_euclid(1000)).ok(),
        }
    });
    if !format.bytes_sort {
        seen.rank = 0;
    }
    Some(seen)
}

/// The first 16 octets, filled up with zeros.
fn leading(octets: &[u8]) -> u128 {
    let mut first = [0; 16];
    let len = octets.len().min(16);
    first[..len].copy_from_slice(&octets[..len]);
    u128::from_be_bytes(first)
}

fn hash(text: &[u8]) -> u128 {
    let mut hasher = SipHasher24::new();
    hasher.write(text);
    hasher.finish128().as_u128()
}

/// Whether ids of this kind are meant to sort in the order in which they were made.
pub(super) fn sorts(class: Class, version: u8) -> bool {
    match class {
        Class::UUID => matches!(version, 1 | 6 | 7),
        Class::SNOWFLAKE | Class::SEQUENCE => true,
        Class::TEXT => false,
        class => format(class.name()).is_some_and(|row| row.bytes_sort && row.time.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_unix_millis(1_800_000_000_000)
    }

    fn reader(format: Option<&str>) -> Reader {
        Reader::new(&ReadAs {
            format: format.map(str::to_string),
            layout: None,
        })
        .unwrap()
    }

    #[test]
    fn every_kind_is_told_with_its_time_and_worker() {
        let mut any = reader(None);
        any.numbers = any.judge(&[1541815603606036480], now());
        for (text, class, version, millis, worker) in [
            (
                "c232ab00-9414-11ec-b3c8-9f6bdeced846",
                "uuid",
                1,
                Some(1_645_557_742_000),
                Some(0x9f6b_dece_d846),
            ),
            (
                "1EC9414C-232A-6B00-B3C8-9F6BDECED846",
                "uuid",
                6,
                Some(1_645_557_742_000),
                Some(0x9f6b_dece_d846),
            ),
            (
                "{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}",
                "uuid",
                7,
                Some(1_645_557_742_000),
                None,
            ),
            ("919108f752d143209bacf847db4148a8", "uuid", 4, None, None),
            (
                "1541815603606036480",
                "snowflake",
                0,
                Some(1_656_432_460_105),
                Some(378),
            ),
            (
                "01FWHE4YDGFK1SHH6W1G60EECF",
                "ulid",
                0,
                Some(1_645_557_742_000),
                None,
            ),
            ("-5", "sequence", 0, None, None),
            ("hello world", "text", 0, None, None),
        ] {
            let seen = any.read(text.as_bytes()).unwrap();
            assert_eq!((seen.class.name(), seen.version), (class, version), "{text}");
            assert_eq!(
                (seen.micros.map(|us| us / 1000), seen.worker),
                (millis, worker),
                "{text}"
            );
        }
    }

    #[test]
    fn one_id_in_two_spellings_is_one_id() {
        let any = reader(None);
        let a = any.read(b"017f22e2-79b0-7cc3-98c4-dc0c0c07398f").unwrap();
        for other in [
            "017F22E2-79B0-7CC3-98C4-DC0C0C07398F",
            "017f22e279b07cc398c4dc0c0c07398f",
            "urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        ] {
            assert_eq!(any.read(other.as_bytes()), Some(a), "{other}");
        }
        assert_eq!(
            a.class.text(a.identity).as_deref(),
            Some("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
        );
    }

    #[test]
    fn version_1_ranks_by_its_time() {
        let any = reader(None);
        let early = any.read(b"ffffffff-0000-11ec-8000-000000000001").unwrap();
        let late = any.read(b"00000000-0001-11ec-8000-000000000001").unwrap();
        assert!(early.rank < late.rank && early.identity > late.identity);
        let six = mintage::uuid1_to_6(&Uuid::from_u128(early.identity)).unwrap();
        assert_eq!(any.read(six.to_string().as_bytes()).unwrap().rank, early.rank);
    }

    #[test]
    fn small_numbers_are_a_sequence_and_a_wish_is_a_wish() {
        let mut any = reader(None);
        any.numbers = any.judge(&[1, 2, 1_000_000], now());
        assert_eq!(any.read(b"7").unwrap().class, Class::SEQUENCE);
        let only = reader(Some("uuid7"));
        assert!(only.read(b"c232ab00-9414-11ec-b3c8-9f6bdeced846").is_none());
        assert!(only.read(b"017f22e2-79b0-7cc3-98c4-dc0c0c07398f").is_some());
        let said = Reader::new(&ReadAs {
            format: Some("ulidd".into()),
            layout: None,
        });
        assert_eq!(said.unwrap_err().hint, Some("did you mean \"ulid\"?".into()));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_a_reader_panic(text in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60)) {
            for format in [None, Some("uuid"), Some("snowflake"), Some("sequence"), Some("ulid"), Some("ksuid")] {
                let mut reader = reader(format);
                reader.numbers = reader.judge(&number(&text).into_iter().collect::<Vec<_>>(), now());
                if let Some(seen) = reader.read(&text) {
                    seen.class.text(seen.identity);
                }
            }
        }

        #[test]
        fn values_are_written_as_they_were_read(value in proptest::prelude::any::<i64>()) {
            let seen = reader(Some("sequence")).read(value.to_string().as_bytes()).unwrap();
            proptest::prop_assert_eq!(seen.class.text(seen.identity), Some(value.to_string()));
        }
    }
}
