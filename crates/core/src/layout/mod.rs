//! Layouts as data: how an id is cut into fields, what a tick is, where time begins.
//!
//! One type for all widths: what a layout says of time and workers does not depend on how wide an id is. Only what
//! handles ids does, and has two doors: of up to 64 bits ([`Layout::pack`], [`Snowflake`](crate::Snowflake)), which
//! refuses wider layouts, and of up to 128 ([`Layout::pack_wide`], [`WideSnowflake`](crate::WideSnowflake)), which
//! takes every layout. Both are one body, compiled for either number.

mod builder;
mod datacenter;
mod error;
pub(crate) mod spec;
mod start;
mod text;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;
use core::time::Duration;

pub use builder::LayoutBuilder;
pub use error::LayoutError;
pub use start::SequenceStart;
pub(crate) use start::{place_from, places_in_a_row};
pub use text::FieldsText;

use crate::clock_policy::ClockPolicy;
use crate::time::Timestamp;
use crate::word::seeded::Number;

/// What a field of a layout holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Ticks since the epoch. Exactly one field.
    Time,
    /// Who mints. Any number of fields, also none; several form one number, the highest field first.
    Worker,
    /// The counter within a tick. Exactly one field.
    Sequence,
    /// How often the clock went far back; at most one field, of 1 to 8 bits. See
    /// [`ClockPolicy::Bump`](crate::ClockPolicy::Bump).
    Rollback,
    /// Always this value.
    Constant(u64),
}

/// One named bit field of a layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name, as `inspect` prints it.
    pub name: Cow<'static, str>,
    /// Its width, 1 to 64 bits.
    pub bits: u32,
    /// How many bits lie below it.
    pub shift: u32,
    /// What it holds.
    pub role: Role,
}

impl Field {
    /// The largest value that fits.
    pub const fn max(&self) -> u64 {
        ones(self.bits)
    }

    /// The value of this field in `id`.
    pub const fn of(&self, id: u64) -> u64 {
        self.of_wide(id as u128)
    }

    /// The value of this field in an `id` of up to 128 bits.
    ///
    /// ```
    /// let cosid = mintage::preset("cosid-string").expect("a preset").layout();
    /// let values = cosid.fields().iter().map(|field| field.of_wide(1000 << 36 | 7 << 16 | 5));
    /// assert_eq!(values.collect::<Vec<_>>(), [1000, 7, 5]);
    /// ```
    pub const fn of_wide(&self, id: u128) -> u64 {
        (id >> self.shift) as u64 & self.max()
    }
}

/// The three numbers in an id of some layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Parts {
    /// Ticks since the layout's epoch.
    pub tick: u64,
    /// The worker, all worker fields together.
    pub worker: u64,
    /// The counter within the tick.
    pub sequence: u64,
}

/// A checked layout: named bit fields, their order, the tick and the epoch.
///
/// ```
/// use core::time::Duration;
/// use mintage::{Layout, Timestamp};
/// let layout = Layout::builder("shop")
///     .epoch(Timestamp::from_unix_millis(1_700_000_000_000))
///     .tick(Duration::from_millis(1))
///     .time("timestamp_ms", 41)
///     .worker("shop", 6)
///     .worker("till", 4)
///     .sequence("sequence", 12)
///     .build()?;
/// let id = layout.pack(1000, 17, 5)?;
/// assert_eq!(id, 1000 << 22 | 17 << 12 | 5);
/// assert_eq!(layout.time_of(1000), Timestamp::from_unix_millis(1_700_000_001_000));
/// # Ok::<(), mintage::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    name: Cow<'static, str>,
    /// Highest first; shifts filled in.
    fields: Vec<Field>,
    tick_ns: u64,
    epoch: Timestamp,
    bits: u32,
    time: Slot,
    sequence: Slot,
    worker_bits: u32,
    constants: u128,
    rollback: Option<Slot>,
    start: SequenceStart,
}

/// Width and place of a field, without its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot {
    bits: u32,
    shift: u32,
}

impl Layout {
    /// Starts a layout: tick 1 ms, epoch 1970-01-01T00:00:00Z, no fields yet.
    pub fn builder(name: impl Into<Cow<'static, str>>) -> LayoutBuilder {
        LayoutBuilder::new(name.into())
    }

    /// The layout's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The width of an id, 1 to 128; ids are smaller than 2 to this power.
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// Whether ids of it need more than 64 bits, so that they are numbers of 128.
    ///
    /// ```
    /// let [twitter, cosid] = ["twitter", "cosid-string"].map(|name| mintage::preset(name).expect("a preset").layout());
    /// assert!(!twitter.is_wide() && cosid.is_wide());
    /// ```
    pub const fn is_wide(&self) -> bool {
        self.bits > u64::BITS
    }

    /// Refuses a layout whose ids do not fit 64 bits, for what handles no wider ones.
    ///
    /// # Errors
    /// [`LayoutError::Wide`], with the width of the layout.
    pub fn check_narrow(&self) -> Result<(), LayoutError> {
        if self.is_wide() {
            return Err(LayoutError::Wide {
                layout: self.name.clone().into(),
                bits: self.bits,
            });
        }
        Ok(())
    }

    /// The unit of the time field.
    pub const fn tick(&self) -> Duration {
        Duration::from_nanos(self.tick_ns)
    }

    /// The time of tick 0.
    pub const fn epoch(&self) -> Timestamp {
        self.epoch
    }

    /// The same layout with its time beginning elsewhere.
    ///
    /// ```
    /// use mintage::{Timestamp, preset};
    /// let epoch = Timestamp::from_unix_millis(1_420_070_400_000); // 2015-01-01
    /// let layout = preset("twitter").expect("a preset").layout().with_epoch(epoch);
    /// assert_eq!((layout.time_of(0), layout.bits()), (epoch, 63));
    /// ```
    #[must_use]
    pub fn with_epoch(self, epoch: Timestamp) -> Layout {
        Layout { epoch, ..self }
    }

    /// The width of the time field.
    pub const fn time_bits(&self) -> u32 {
        self.time.bits
    }

    /// The width of all worker fields together; 0 if there is none.
    pub const fn worker_bits(&self) -> u32 {
        self.worker_bits
    }

    /// The width of the sequence field.
    pub const fn sequence_bits(&self) -> u32 {
        self.sequence.bits
    }

    /// How many workers there are: worker ids are smaller than this. Of 64 bits of worker, one less than there are,
    /// which is the most that the number holds: [`Self::worker_max`] says which is the last.
    pub const fn workers(&self) -> u64 {
        self.worker_max().saturating_add(1)
    }

    /// The largest worker id.
    ///
    /// ```
    /// let layout: mintage::Layout = "time=60,worker=64,sequence=4".parse()?;
    /// assert_eq!((layout.worker_max(), layout.bits()), (u64::MAX, 128));
    /// # Ok::<(), mintage::LayoutError>(())
    /// ```
    pub const fn worker_max(&self) -> u64 {
        ones(self.worker_bits)
    }

    /// The largest tick that fits the time field.
    pub const fn ticks_max(&self) -> u64 {
        ones(self.time.bits)
    }

    /// The width of the rollback field; 0 if there is none.
    pub const fn rollback_bits(&self) -> u32 {
        match self.rollback {
            Some(slot) => slot.bits,
            None => 0,
        }
    }

    /// The first place (`tick << sequence_bits | sequence`) at which a generator that has used all before `free`
    /// goes on when the clock shows `tick`, by this layout's [`SequenceStart`]; and how many places from there on
    /// it may use in a row. For those who keep the place themselves; [`Snowflake`](crate::Snowflake) does it alone.
    ///
    /// `tick` and `free` must lie within the layout's time field.
    ///
    /// ```
    /// let yitter = mintage::preset("yitter").expect("a preset").layout(); // a tick begins at 5
    /// let bits = yitter.sequence_bits();
    /// assert_eq!(yitter.next_place(0, 7), (7 << bits | 5, (1 << bits) - 5));
    /// assert_eq!(yitter.next_place(7 << bits | 9, 7), (7 << bits | 9, (1 << bits) - 9));
    /// ```
    pub fn next_place(&self, free: u64, tick: u64) -> (u64, u64) {
        let (start, bits) = (self.sequence_start(), self.sequence_bits());
        let place = place_from(start, free, tick, bits);
        (place, places_in_a_row(start, place, bits))
    }

    /// Where the sequence of a new tick begins.
    pub const fn sequence_start(&self) -> SequenceStart {
        self.start
    }

    /// The fields, highest first.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The first time whose tick no longer fits the time field.
    pub fn end(&self) -> Timestamp {
        // Not `time_of`: after 64 bits of ticks comes one that their number does not hold.
        let ticks = i128::from(self.ticks_max()) + 1;
        Timestamp::from_unix_nanos(self.epoch.unix_nanos() + ticks * i128::from(self.tick_ns))
    }

    /// Whether ids can be minted at `now`, and for how long if that is less than five years.
    ///
    /// # Errors
    /// `now` lies before the epoch or past the end of the time field.
    ///
    /// ```
    /// use mintage::{Timestamp, preset};
    /// let twitter = preset("twitter").expect("a preset").layout();
    /// assert_eq!(twitter.check_at(Timestamp::from_unix_millis(1_800_000_000_000))?, None);
    /// let left = twitter.check_at(Timestamp::from_unix_millis(3_400_000_000_000))?.expect("it ends in 2080");
    /// assert_eq!(left.as_secs() / 86_400 / 365, 2);
    /// # Ok::<(), mintage::LayoutError>(())
    /// ```
    pub fn check_at(&self, now: Timestamp) -> Result<Option<Duration>, LayoutError> {
        self.tick_at(now)?;
        let left = self.end().since(now);
        Ok((left < WARN_BEFORE_END).then_some(left))
    }

    /// The tick that contains `time`, rounded down.
    ///
    /// # Errors
    /// `time` lies before the epoch or past the last tick.
    ///
    /// ```
    /// use mintage::{Timestamp, preset};
    /// let twitter = preset("twitter").expect("a preset").layout();
    /// let epoch = 1_288_834_974_657;
    /// assert_eq!(twitter.tick_at(Timestamp::from_unix_millis(epoch + 7))?, 7);
    /// assert!(twitter.tick_at(Timestamp::from_unix_millis(epoch - 1)).is_err());
    /// # Ok::<(), mintage::LayoutError>(())
    /// ```
    pub fn tick_at(&self, time: Timestamp) -> Result<u64, LayoutError> {
        match self.whole_tick(time) {
            // Past 64 bits of ticks the number stands still.
            Some(tick) if tick < self.ticks_max() || tick == self.ticks_max() && time < self.end() => {
                Ok(tick)
            }
            Some(_) => Err(LayoutError::PastEnd {
                layout: self.name.clone().into(),
                time,
                end: self.end(),
            }),
            None => Err(LayoutError::BeforeEpoch {
                layout: self.name.clone().into(),
                time,
                epoch: self.epoch,
            }),
        }
    }

    /// The tick of `time`, which may be past the field's end; `None` before the epoch.
    #[inline]
    pub(crate) fn whole_tick(&self, time: Timestamp) -> Option<u64> {
        let elapsed = time.unix_nanos().saturating_sub(self.epoch.unix_nanos());
        match u64::try_from(elapsed) {
            // 584 years of nanoseconds: the common case costs one 64-bit division.
            Ok(elapsed) => Some(elapsed / self.tick_ns),
            Err(_) if elapsed < 0 => None,
            Err(_) => Some(u64::try_from(elapsed / i128::from(self.tick_ns)).unwrap_or(u64::MAX)),
        }
    }

    /// When `tick` begins.
    pub fn time_of(&self, tick: u64) -> Timestamp {
        Timestamp::from_unix_nanos(self.epoch.unix_nanos() + i128::from(tick) * i128::from(self.tick_ns))
    }

    /// The id of these three numbers.
    ///
    /// # Errors
    /// One of them does not fit its field, or ids of the layout need more than 64 bits ([`LayoutError::Wide`]).
    pub fn pack(&self, tick: u64, worker: u64, sequence: u64) -> Result<u64, LayoutError> {
        self.check_narrow()?;
        self.packed(tick, worker, sequence)
    }

    /// The id of these three numbers, in any layout.
    ///
    /// # Errors
    /// One of them does not fit its field.
    ///
    /// ```
    /// let layout: mintage::Layout = "time=60,worker=64,sequence=4".parse()?;
    /// let id = layout.pack_wide(3, u64::MAX, 5)?;
    /// assert_eq!(id, 3 << 68 | u128::from(u64::MAX) << 4 | 5);
    /// assert!(layout.pack(3, 1, 5).is_err()); // its ids have 128 bits
    /// # Ok::<(), mintage::LayoutError>(())
    /// ```
    pub fn pack_wide(&self, tick: u64, worker: u64, sequence: u64) -> Result<u128, LayoutError> {
        self.packed(tick, worker, sequence)
    }

    /// [`Self::pack`] for either width, which the caller knows to suffice.
    fn packed<N: Number>(&self, tick: u64, worker: u64, sequence: u64) -> Result<N, LayoutError> {
        for (what, value, bits) in [
            ("tick", tick, self.time.bits),
            ("worker id", worker, self.worker_bits),
            ("sequence", sequence, self.sequence.bits),
        ] {
            if value > ones(bits) {
                return Err(LayoutError::TooLarge {
                    layout: self.name.clone().into(),
                    what,
                    value,
                    bits,
                });
            }
        }
        Ok(self.place::<N>(tick, sequence) | self.fixed_bits::<N>(worker))
    }

    /// The numbers in an id.
    ///
    /// # Errors
    /// `id` has bits outside the fields, a constant field holds something else, or ids of the layout need more than
    /// 64 bits ([`LayoutError::Wide`]).
    ///
    /// ```
    /// use mintage::{Parts, preset};
    /// let twitter = preset("twitter").expect("a preset").layout();
    /// let parts = twitter.unpack(1_541_815_603_606_036_480)?;
    /// assert_eq!(parts, Parts { tick: 367_597_485_448, worker: 378, sequence: 0 });
    /// # Ok::<(), mintage::LayoutError>(())
    /// ```
    pub fn unpack(&self, id: u64) -> Result<Parts, LayoutError> {
        self.check_narrow()?;
        self.unpacked(id)
    }

    /// The numbers in an id of any layout.
    ///
    /// # Errors
    /// `id` has bits outside the fields, or a constant field holds something else.
    ///
    /// ```
    /// use mintage::{Parts, preset};
    /// let cosid = preset("cosid-string").expect("a preset").layout();
    /// let parts = cosid.unpack_wide(1_700_000_000_000 << 36 | 7 << 16 | 5)?;
    /// assert_eq!(parts, Parts { tick: 1_700_000_000_000, worker: 7, sequence: 5 });
    /// # Ok::<(), mintage::LayoutError>(())
    /// ```
    pub fn unpack_wide(&self, id: u128) -> Result<Parts, LayoutError> {
        self.unpacked(id)
    }

    /// [`Self::unpack`] for either width, which the caller knows to suffice.
    fn unpacked<N: Number>(&self, id: N) -> Result<Parts, LayoutError> {
        let foreign = || LayoutError::NotOfLayout {
            layout: self.name.clone().into(),
            id: id.into(),
        };
        // A width of all bits leaves none outside, and is no shift.
        if self.bits < N::BITS && id >> self.bits != N::from(0) {
            return Err(foreign());
        }
        let mut parts = Parts {
            tick: 0,
            worker: 0,
            sequence: 0,
        };
        for field in &self.fields {
            let value = (id >> field.shift & N::from(field.max())).clamped();
            match field.role {
                Role::Time => parts.tick = value,
                // A field of all 64 bits is the only one, and a shift by as many would be none.
                Role::Worker => parts.worker = parts.worker.checked_shl(field.bits).unwrap_or(0) | value,
                Role::Sequence => parts.sequence = value,
                Role::Constant(constant) if constant != value => return Err(foreign()),
                Role::Constant(_) | Role::Rollback => {}
            }
        }
        Ok(parts)
    }

    /// A stable text of everything that decides which ids collide: widths, order, tick, epoch.
    ///
    /// Names do not enter, and neighbouring worker fields count as one: two layouts with one fingerprint make
    /// the same ids.
    ///
    /// ```
    /// use mintage::preset;
    /// let twitter = preset("twitter").expect("a preset").layout();
    /// assert_eq!(twitter.fingerprint(), "t41.w10.s12/1000000ns/1288834974657000000");
    /// ```
    pub fn fingerprint(&self) -> String {
        let mut text = String::new();
        let mut fields = self.fields.iter().peekable();
        while let Some(field) = fields.next() {
            let mut bits = field.bits;
            if field.role == Role::Worker {
                while let Some(next) = fields.next_if(|next| next.role == Role::Worker) {
                    bits += next.bits;
                }
            }
            if !text.is_empty() {
                text.push('.');
            }
            let written = match field.role {
                Role::Time => write!(text, "t{bits}"),
                Role::Worker => write!(text, "w{bits}"),
                Role::Sequence => write!(text, "s{bits}"),
                Role::Rollback => write!(text, "r{bits}"),
                Role::Constant(value) => write!(text, "c{bits}={value}"),
            };
            written.expect("a string takes every write");
        }
        write!(text, "/{}ns/{}", self.tick_ns, self.epoch.unix_nanos()).expect("a string takes every write");
        text
    }

    /// Checks that ids of this layout can follow a clock policy.
    ///
    /// # Errors
    /// [`ClockPolicy::Bump`](crate::ClockPolicy::Bump) without a rollback field.
    ///
    /// ```
    /// use mintage::{ClockPolicy, preset};
    /// let twitter = preset("twitter").expect("a preset").layout();
    /// assert!(twitter.check_policy(ClockPolicy::Error).is_ok());
    /// assert!(twitter.check_policy(ClockPolicy::Bump).is_err());
    /// ```
    pub fn check_policy(&self, policy: ClockPolicy) -> Result<(), LayoutError> {
        if policy == ClockPolicy::Bump && self.rollback_bits() == 0 {
            return Err(LayoutError::Generator {
                layout: self.name().into(),
                reason: "the clock policy `bump` needs a rollback field, and the layout has none".into(),
            });
        }
        Ok(())
    }

    /// How far up the rollback field lies; 0 without one.
    pub(crate) fn rollback_shift(&self) -> u32 {
        self.rollback.map_or(0, |slot| slot.shift)
    }

    /// Time and sequence in their places; both must fit.
    #[inline]
    pub(crate) fn place<N: Number>(&self, tick: u64, sequence: u64) -> N {
        N::from(tick) << self.time.shift | N::from(sequence) << self.sequence.shift
    }

    /// How far up time and sequence lie.
    pub(crate) fn shifts(&self) -> (u32, u32) {
        (self.time.shift, self.sequence.shift)
    }

    /// The bits that are the same in every id of one worker, which must fit.
    pub(crate) fn fixed_bits<N: Number>(&self, worker: u64) -> N {
        let mut rest = worker;
        let mut id = N::low_bits(self.constants);
        for field in self
            .fields
            .iter()
            .rev()
            .filter(|field| field.role == Role::Worker)
        {
            id = id | N::from(rest & field.max()) << field.shift;
            rest = rest.checked_shr(field.bits).unwrap_or(0);
        }
        id
    }
}

/// The largest number of `bits` bits (0 to 64).
pub(crate) const fn ones(bits: u32) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - bits) }
}

/// How long before its end a layout warns: time to move to another.
const WARN_BEFORE_END: Duration = Duration::from_secs(5 * 365 * 86_400);

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use proptest::prelude::*;

    use super::*;

    fn twitter() -> Layout {
        crate::preset("twitter").expect("a preset").layout()
    }

    #[track_caller]
    fn check_refused(builder: LayoutBuilder, reason: &str) {
        let error = builder.build().expect_err("the layout is not sound").to_string();
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn unsound_layouts_are_refused_in_words() {
        let ok = || {
            Layout::builder("x")
                .time("t", 41)
                .worker("w", 10)
                .sequence("s", 12)
        };
        assert!(ok().build().is_ok());
        check_refused(ok().worker("more", 66), "take 129 bits, an id has at most 128");
        check_refused(ok().worker("more", 65), "has 65 bits, allowed are 1 to 64");
        check_refused(ok().worker("more", 55), "65 worker bits, at most 64 are allowed");
        check_refused(
            Layout::builder("x").worker("w", 64).sequence("s", 12),
            "no time field",
        );
        check_refused(
            Layout::builder("x").time("t", 60).sequence("s", 33),
            "33 sequence bits, at most 32",
        );
        check_refused(Layout::builder("x").sequence("s", 12), "no time field");
        check_refused(ok().time("again", 1), "more than one time field");
        check_refused(Layout::builder("x").time("t", 41), "no sequence field");
        check_refused(Layout::builder("x").time("t", 0).sequence("s", 1), "has 0 bits");
        check_refused(
            Layout::builder("x").time("t", u32::MAX).sequence("s", u32::MAX),
            "take 8589934590 bits",
        );
        check_refused(Layout::builder("x").time("t", 20).sequence("t", 1), "used twice");
        check_refused(
            Layout::builder("x").time("t", 20).sequence("s", 33),
            "33 sequence bits",
        );
        check_refused(
            Layout::builder("x")
                .time("t", 20)
                .worker("w", 33)
                .sequence("s", 1),
            "33 worker bits",
        );
        check_refused(ok().tick(Duration::ZERO), "a tick of 0ns");
        check_refused(
            ok().field("r", 1, Role::Rollback).field("q", 0, Role::Rollback),
            "has 0 bits",
        );
        let narrow = || Layout::builder("x").time("t", 30).sequence("s", 5);
        check_refused(narrow().field("r", 9, Role::Rollback), "rollback");
        check_refused(
            narrow()
                .field("r", 1, Role::Rollback)
                .field("q", 1, Role::Rollback),
            "rollback",
        );
        check_refused(
            narrow().sequence_start(SequenceStart::At(32)),
            "cannot begin at 32",
        );
        check_refused(
            narrow().sequence_start(SequenceStart::Random { below: 32 }),
            "cannot begin at 32",
        );
        check_refused(ok().tick(Duration::MAX), "a tick of");
        check_refused(
            Layout::builder("x")
                .time("t", 41)
                .sequence("s", 1)
                .field("c", 2, Role::Constant(4)),
            "constant 4 does not fit",
        );
    }

    #[test]
    fn ids_that_do_not_fit_are_errors() {
        let layout = twitter();
        let error = layout.pack(0, 1024, 0).expect_err("too large").to_string();
        assert_eq!(
            error,
            r#"worker id 1024 does not fit layout "twitter": 10 bits, largest is 1023"#
        );
        assert!(layout.pack(1 << 41, 0, 0).is_err());
        assert!(layout.pack(0, 0, 4096).is_err());
        assert!(layout.unpack(1 << 63).is_err());
        assert_eq!(layout.pack(layout.ticks_max(), 1023, 4095), Ok(u64::MAX >> 1));
    }

    #[test]
    fn what_handles_64_bits_refuses_wider_layouts_in_words() {
        let layout: Layout = "time=60,worker=64,sequence=4".parse().expect("a sound layout");
        let error = layout.pack(1, 2, 3).expect_err("too wide");
        assert_eq!(
            error.to_string(),
            r#"layout "custom" takes 128 bits, and ids have at most 64 here; give it fewer"#
        );
        assert_eq!(layout.unpack(1), Err(error.clone()));
        assert_eq!(layout.check_narrow(), Err(error));
        let widest: Layout = "time=41,worker=10,sequence=13".parse().expect("64 bits");
        assert!(widest.check_narrow().is_ok() && !widest.is_wide());
        let foreign = crate::preset("cosid-string").expect("a preset").layout();
        let error = foreign.unpack_wide(1 << 80).expect_err("one bit too many");
        assert_eq!(
            error.to_string(),
            r#"1208925819614629174706176 is not an id of layout "cosid-string""#
        );
    }

    #[test]
    fn the_last_tick_of_64_bits_is_no_later_one() {
        let layout = crate::preset("flake").expect("a preset").layout();
        let end = layout.end();
        assert_eq!(end.unix_nanos(), (1 << 64) * 1_000_000);
        let last = end.saturating_sub(Duration::from_nanos(1));
        assert_eq!(layout.tick_at(last), Ok(u64::MAX));
        assert!(matches!(layout.tick_at(end), Err(LayoutError::PastEnd { .. })));
        let largest = layout.pack_wide(u64::MAX, ones(48), ones(16));
        assert_eq!(largest, Ok(u128::MAX));
    }

    #[test]
    fn both_ends_of_time_are_exact() {
        let layout = twitter();
        let last = layout.time_of(layout.ticks_max());
        assert_eq!(layout.tick_at(last), Ok((1 << 41) - 1));
        assert_eq!(
            layout.tick_at(layout.end().saturating_sub(Duration::from_nanos(1))),
            Ok((1 << 41) - 1)
        );
        assert!(matches!(
            layout.tick_at(layout.end()),
            Err(LayoutError::PastEnd { .. })
        ));
        let before = layout.epoch().saturating_sub(Duration::from_nanos(1));
        assert!(matches!(
            layout.tick_at(before),
            Err(LayoutError::BeforeEpoch { .. })
        ));
        assert!(
            layout
                .tick_at(Timestamp::from_unix_nanos(i64::MAX as i128 * 1000))
                .is_err()
        );
    }

    #[test]
    fn a_constant_field_is_set_and_checked() {
        let layout = Layout::builder("tagged")
            .field("tag", 3, Role::Constant(5))
            .time("t", 40)
            .sequence("s", 8)
            .build()
            .expect("a sound layout");
        let id = layout.pack(1, 0, 2).expect("it fits");
        assert_eq!(id, 5 << 48 | 1 << 8 | 2);
        assert!(layout.unpack(id ^ 1 << 48).is_err());
        assert_eq!(layout.fingerprint(), "c3=5.t40.s8/1000000ns/0");
    }

    proptest! {
        #[test]
        fn unpack_reads_back_what_pack_wrote(
            tick in 0u64..1 << 39, worker in 0u64..1 << 13, sequence in 0u64..256, order in 0usize..6,
        ) {
            let mut builder = Layout::builder("any").tick(Duration::from_millis(10));
            let fields = [("t", 39, Role::Time), ("s", 8, Role::Sequence), ("a", 6, Role::Worker)];
            for i in 0..3 {
                let (name, bits, role) = fields[(order + i * (1 + order / 3)) % 3];
                builder = builder.field(name, bits, role);
            }
            let layout = builder.worker("b", 7).build().expect("a sound layout");
            let id = layout.pack(tick, worker, sequence).expect("it fits");
            prop_assert_eq!(layout.unpack(id), Ok(Parts { tick, worker, sequence }));
            prop_assert_eq!(layout.tick_at(layout.time_of(tick)), Ok(tick));
        }

        /// Whatever the widths and their order: what was packed is read back, in the number and in the text of its
        /// fields; where time comes first ids sort by it, and the bounds of a tick hold all of it and nothing else.
        #[test]
        fn wide_layouts_keep_every_field(
            widths in (20u32..=64, 0u32..=32, 0u32..=32, 1u32..=32, 0u32..=8), order in 0usize..5,
            ticks in prop::array::uniform2(any::<u64>()), worker: u64, sequence: u64,
        ) {
            let (time, a, b, counter, rollback) = widths;
            let mut fields = std::vec![
                ("t", time, Role::Time), ("a", a, Role::Worker), ("b", b, Role::Worker),
                ("s", counter, Role::Sequence), ("r", rollback, Role::Rollback),
            ];
            fields.rotate_left(order);
            fields.retain(|(_, bits, _)| *bits > 0);
            let total: u32 = fields.iter().map(|(_, bits, _)| bits).sum();
            prop_assume!((65..=128).contains(&total));
            let builder = fields.into_iter().fold(Layout::builder("any"), |builder, (name, bits, role)| {
                builder.field(name, bits, role)
            });
            let layout = builder.build().expect("a sound layout");
            let (worker, sequence) = (worker & layout.worker_max(), sequence & ones(counter));
            let [tick, other] = ticks.map(|tick| tick & ones(time));
            let id = layout.pack_wide(tick, worker, sequence).expect("it fits");
            prop_assert_eq!(layout.unpack_wide(id), Ok(Parts { tick, worker, sequence }));
            prop_assert!(total == 128 || layout.unpack_wide(id | 1 << total).is_err());
            prop_assert_eq!(layout.spec().parse::<Layout>(), Ok(layout.clone()));
            for (_, form) in FieldsText::ALL {
                let mut text = Vec::new();
                form.write(id, &layout, &mut text);
                prop_assert_eq!(form.read(&text, &layout), Ok(id));
            }
            let format = crate::format("snowflake").expect("a format");
            let at = layout.time_of(tick);
            let options = crate::GenOptions { layout: Some(layout.clone().into()), ..Default::default() };
            let [min, max] = [format.min_at(at, &options), format.max_at(at, &options)]
                .map(|id| id.expect("a time of the layout").number().expect("16 bytes at most"));
            prop_assert!(min <= id && id <= max);
            prop_assert_eq!(layout.unpack_wide(min).map(|parts| parts.tick), Ok(tick));
            prop_assert_eq!(layout.unpack_wide(max).map(|parts| parts.tick), Ok(tick));
            if order == 0 {
                let tick_of = |id: u128| layout.unpack_wide(id).expect("an id").tick;
                prop_assert!(tick == 0 || tick_of(min - 1) == tick - 1);
                prop_assert!(tick == layout.ticks_max() || tick_of(max + 1) == tick + 1);
                let later = layout.pack_wide(other, 0, 0).expect("it fits");
                prop_assert!(tick == other || (id < later) == (tick < other));
            }
        }
    }
}
