//! Puts a layout together and checks it.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::{Field, Layout, LayoutError, Role, SequenceStart, Slot, ones};
use crate::time::Timestamp;

/// Puts a [`Layout`] together, highest field first.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct LayoutBuilder {
    name: Cow<'static, str>,
    fields: Vec<Field>,
    tick: Duration,
    epoch: Timestamp,
    start: SequenceStart,
}

impl LayoutBuilder {
    pub(super) fn new(name: Cow<'static, str>) -> Self {
        LayoutBuilder {
            name,
            fields: Vec::new(),
            tick: Duration::from_millis(1),
            epoch: Timestamp::UNIX_EPOCH,
            start: SequenceStart::Zero,
        }
    }

    /// Sets the unit of the time field: a whole number of nanoseconds, at least 1.
    pub fn tick(mut self, tick: Duration) -> Self {
        self.tick = tick;
        self
    }

    /// Sets the time of tick 0.
    pub fn epoch(mut self, epoch: Timestamp) -> Self {
        self.epoch = epoch;
        self
    }

    /// Sets where the sequence of a new tick begins.
    pub fn sequence_start(mut self, start: SequenceStart) -> Self {
        self.start = start;
        self
    }

    /// Adds the time field below the fields so far.
    pub fn time(self, name: impl Into<Cow<'static, str>>, bits: u32) -> Self {
        self.field(name, bits, Role::Time)
    }

    /// Adds a worker field below the fields so far.
    pub fn worker(self, name: impl Into<Cow<'static, str>>, bits: u32) -> Self {
        self.field(name, bits, Role::Worker)
    }

    /// Adds the sequence field below the fields so far.
    pub fn sequence(self, name: impl Into<Cow<'static, str>>, bits: u32) -> Self {
        self.field(name, bits, Role::Sequence)
    }

    /// Adds a field below the fields so far.
    pub fn field(mut self, name: impl Into<Cow<'static, str>>, bits: u32, role: Role) -> Self {
        self.fields.push(Field {
            name: name.into(),
            bits,
            shift: 0,
            role,
        });
        self
    }

    /// Checks everything and makes the layout.
    ///
    /// # Errors
    /// More than 128 bits in all; a field of none, or of more than 64; not exactly one time and one sequence field; more
    /// than 32 sequence bits; more than 32 worker bits, or 64 where all fields take more than 64; a constant too large for its field; a tick of zero or more than a day; a name that
    /// is empty, repeated or contains one of `, ; : = @`.
    pub fn build(mut self) -> Result<Layout, LayoutError> {
        match self.checked() {
            Ok(checked) => Ok(Layout {
                name: self.name,
                fields: self.fields,
                tick_ns: checked.tick_ns,
                epoch: self.epoch,
                bits: checked.bits,
                time: checked.time,
                sequence: checked.sequence,
                worker_bits: checked.worker_bits,
                constants: checked.constants,
                rollback: checked.rollback,
                start: self.start,
            }),
            Err(reason) => Err(LayoutError::Invalid {
                layout: self.name.into(),
                reason,
            }),
        }
    }

    /// Fills the shifts of the fields in, and says what follows from all of them or which rule they break.
    fn checked(&mut self) -> Result<Checked, String> {
        let tick_ns = u64::try_from(self.tick.as_nanos()).unwrap_or(u64::MAX);
        if tick_ns == 0 || tick_ns > TICK_MAX_NS {
            return Err(format!("a tick of {:?}, allowed are 1 ns to 1 day", self.tick));
        }
        let bits = self.place_fields()?;
        self.check_names()?;
        let time = self.the_one(Role::Time, "time")?;
        let sequence = self.the_one(Role::Sequence, "sequence")?;
        let worker_bits = self.of_role(Role::Worker).map(|slot| slot.bits).sum();
        // Where ids have 64 bits, more workers would leave too few for the time; a wide id holds an address.
        let workers = if bits > u64::BITS { 64 } else { 32 };
        for (what, bits, most) in [("worker", worker_bits, workers), ("sequence", sequence.bits, 32)] {
            if bits > most {
                return Err(format!("{bits} {what} bits, at most {most} are allowed"));
            }
        }
        self.check_start(sequence.bits)?;
        Ok(Checked {
            tick_ns,
            bits,
            time,
            sequence,
            worker_bits,
            constants: self.constants()?,
            rollback: self.rollback()?,
        })
    }

    /// Gives every field its place, and answers the width of all.
    fn place_fields(&mut self) -> Result<u32, String> {
        let bits: u64 = self.fields.iter().map(|field| u64::from(field.bits)).sum();
        if bits > BITS_MAX {
            return Err(format!(
                "its fields take {bits} bits, an id has at most {BITS_MAX}"
            ));
        }
        let mut shift = bits as u32;
        for field in &mut self.fields {
            if field.bits == 0 || field.bits > 64 {
                return Err(format!(
                    "field {:?} has {} bits, allowed are 1 to 64",
                    field.name, field.bits
                ));
            }
            shift -= field.bits;
            field.shift = shift;
        }
        Ok(bits as u32)
    }

    fn check_names(&self) -> Result<(), String> {
        let unwritable = |name: &str| name.is_empty() || name.contains([',', ';', ':', '=', '@']);
        if unwritable(&self.name) {
            return Err("its name is empty or contains one of , ; : = @".into());
        }
        for (i, field) in self.fields.iter().enumerate() {
            let is_used = self.fields[..i].iter().any(|other| other.name == field.name);
            if is_used || unwritable(&field.name) {
                return Err(format!(
                    "field name {:?} is empty, used twice or contains one of , ; : = @",
                    field.name
                ));
            }
        }
        Ok(())
    }

    /// The places of the fields of a role, the highest first.
    fn of_role(&self, role: Role) -> impl Iterator<Item = Slot> {
        let found = self.fields.iter().filter(move |field| field.role == role);
        found.map(|field| Slot {
            bits: field.bits,
            shift: field.shift,
        })
    }

    fn the_one(&self, role: Role, what: &str) -> Result<Slot, String> {
        let mut found = self.of_role(role);
        match (found.next(), found.next()) {
            (Some(slot), None) => Ok(slot),
            (None, _) => Err(format!("it has no {what} field")),
            _ => Err(format!("it has more than one {what} field")),
        }
    }

    fn rollback(&self) -> Result<Option<Slot>, String> {
        let mut found = self.of_role(Role::Rollback);
        match (found.next(), found.next()) {
            (None, _) => Ok(None),
            (Some(slot), None) if slot.bits <= 8 => Ok(Some(slot)),
            _ => Err("more than one rollback field, or one of more than 8 bits".into()),
        }
    }

    fn check_start(&self, sequence_bits: u32) -> Result<(), String> {
        let (begin, largest) = match self.start {
            SequenceStart::Zero | SequenceStart::Carry => (0, 0),
            SequenceStart::At(first) => (first, ones(sequence_bits)),
            SequenceStart::Random { below } => (below, ones(sequence_bits)),
        };
        if begin <= largest {
            return Ok(());
        }
        Err(format!(
            "its sequence of {sequence_bits} bits cannot begin at {begin}"
        ))
    }

    /// The constants in their places.
    fn constants(&self) -> Result<u128, String> {
        let mut constants = 0;
        for field in &self.fields {
            if let Role::Constant(value) = field.role {
                if value > field.max() {
                    return Err(format!(
                        "constant {value} does not fit field {:?}: {} bits, largest is {}",
                        field.name,
                        field.bits,
                        field.max()
                    ));
                }
                constants |= u128::from(value) << field.shift;
            }
        }
        Ok(constants)
    }
}

/// What follows from sound fields.
struct Checked {
    tick_ns: u64,
    bits: u32,
    time: Slot,
    sequence: Slot,
    worker_bits: u32,
    constants: u128,
    rollback: Option<Slot>,
}

/// As many as a UUID has, the widest number that databases and languages keep as one.
const BITS_MAX: u64 = 128;

/// One day: no known layout has a tick longer than a second.
const TICK_MAX_NS: u64 = 86_400_000_000_000;
