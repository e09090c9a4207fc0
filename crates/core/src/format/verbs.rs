//! The verbs that every row answers.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

#[cfg(feature = "std")]
use super::Generators;
use super::{
    Details, Family, Format, FormatError, GenOption, GenOptions, Generate, Id, IdTime, LINES_AT_ONCE, Source,
    id_bytes,
};
use crate::Entropy;
use crate::text::TextError;
use crate::time::{Clock, Timestamp};

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

    /// How likely `id`, which reads as one of this format, is one: 0 to 1, with a time that can be or without any.
    pub(crate) fn likely(&self, id: &Id, details: &Details, options: &GenOptions) -> f64 {
        (self.likely)(id, details, options)
    }

    /// The options of the row's example.
    ///
    /// ```
    /// let typeid = mintage::format("typeid").expect("a format");
    /// assert_eq!(typeid.example_options().prefix.as_deref(), Some("user"));
    /// ```
    pub fn example_options(&self) -> GenOptions {
        let mut options = GenOptions::default();
        for (option, text) in self.example {
            options.choose(option.read(text).expect("a test reads the examples of all rows"));
        }
        options
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
        let foreign = |option: &&GenOption| option.is_in(options) && !self.options.contains(option);
        match GenOption::ALL.iter().find(foreign) {
            None => Ok(()),
            Some(foreign) => Err(FormatError::NoOption {
                format: self.name,
                option: *foreign,
                takes: self.options,
            }),
        }
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
        self.check_size_to_read(id, options)?;
        Ok((self.read)(id, options))
    }

    /// When `id` says it was made, if it does: what [`Self::read`] tells, with less work.
    ///
    /// # Errors
    /// As [`Self::read`].
    ///
    /// ```
    /// use mintage::{GenOptions, format};
    /// let (ulid, nothing) = (format("ulid").expect("a format"), GenOptions::default());
    /// let id = ulid.parse(b"01ARZ3NDEKTSV4RRFFQ69G5FAV", &nothing)?;
    /// assert_eq!(ulid.time_of(&id, &nothing).expect("it has bits enough"), ulid.read(&id, &nothing).unwrap().time);
    /// # Ok::<(), mintage::TextError>(())
    /// ```
    pub fn time_of(&self, id: &Id, options: &GenOptions) -> Result<Option<IdTime>, FormatError> {
        self.check_size_to_read(id, options)?;
        Ok(match self.time_of {
            Some(time_of) => Some(time_of(id)),
            None => (self.read)(id, options).time,
        })
    }

    /// Makes an id now, by the process's clock and random source. Thread-safe and fork-safe; strictly increasing
    /// over all threads of the process where the format sorts.
    ///
    /// # Errors
    /// The format makes none, does not take these options, or its clock does not allow it.
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
    /// The format holds no time, not this time, or does not take these options.
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
    /// The format has none, or does not take these options.
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

    /// Refuses what has not the row's number of bytes; a text of a Snowflake is written of those of any layout.
    fn check_size(&self, id: &Id) -> Result<(), FormatError> {
        let least = self.bits.div_ceil(8) as usize;
        let most = match self.family {
            Family::Snowflake => 16,
            _ => least,
        };
        self.check_bytes(id, least..=most)
    }

    /// The same for a reader, who knows the layout.
    fn check_size_to_read(&self, id: &Id, options: &GenOptions) -> Result<(), FormatError> {
        match &options.layout {
            Some(layout) if self.family == Family::Snowflake => {
                let bytes = id_bytes(layout);
                self.check_bytes(id, bytes..=bytes)
            }
            _ => {
                let bytes = self.bits.div_ceil(8) as usize;
                self.check_bytes(id, bytes..=bytes)
            }
        }
    }

    fn check_bytes(&self, id: &Id, sound: RangeInclusive<usize>) -> Result<(), FormatError> {
        let found = id.bytes().len();
        if sound.contains(&found) {
            return Ok(());
        }
        Err(FormatError::Size {
            format: self.name,
            found,
            expected: *sound.start(),
        })
    }

    fn no(&self, verb: &'static str) -> FormatError {
        FormatError::Verb {
            format: self.name,
            verb,
        }
    }
}
