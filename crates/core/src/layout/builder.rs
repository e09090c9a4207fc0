//! Puts a layout together and checks it.

use alloc::borrow::Cow;
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
    /// More than 64 bits in all; a field of no bits; not exactly one time and one sequence field; more than 32
    /// worker or sequence bits; a constant too large for its field; a tick of zero or more than a day; a name that
    /// is empty, repeated or contains one of `, ; : = @`.
    pub fn build(self) -> Result<Layout, LayoutError> {
        let invalid = |reason: String| LayoutError::Invalid {
            layout: self.name.clone().into(),
            reason,
        };
        let tick_ns = u64::try_from(self.tick.as_nanos()).unwrap_or(u64::MAX);
        if tick_ns == 0 || tick_ns > TICK_MAX_NS {
            return Err(invalid(alloc::format!(
                "a tick of {:?}, allowed are 1 ns to 1 day",
                self.tick
            )));
        }
        let bits: u64 = self.fields.iter().map(|field| u64::from(field.bits)).sum();
        if bits > 64 {
            return Err(invalid(alloc::format!(
                "its fields take {bits} bits, an id has 64"
            )));
        }
        let mut fields = self.fields.clone();
        let mut shift = bits as u32;
        for field in &mut fields {
            if field.bits == 0 || field.bits > 63 {
                return Err(invalid(alloc::format!(
                    "field {:?} has {} bits, allowed are 1 to 63",
                    field.name,
                    field.bits
                )));
            }
            shift -= field.bits;
            field.shift = shift;
        }
        let unwritable = |name: &str| name.is_empty() || name.contains([',', ';', ':', '=', '@']);
        if unwritable(&self.name) {
            return Err(invalid("its name is empty or contains one of , ; : = @".into()));
        }
        for (i, field) in fields.iter().enumerate() {
            if unwritable(&field.name) || fields[..i].iter().any(|other| other.name == field.name) {
                return Err(invalid(alloc::format!(
                    "field name {:?} is empty, used twice or contains one of , ; : = @",
                    field.name
                )));
            }
        }
        let the_one = |role: Role, what: &str| {
            let mut found = fields.iter().filter(|field| field.role == role);
            match (found.next(), found.next()) {
                (Some(field), None) => Ok(Slot {
                    bits: field.bits,
                    shift: field.shift,
                }),
                (None, _) => Err(invalid(alloc::format!("it has no {what} field"))),
                _ => Err(invalid(alloc::format!("it has more than one {what} field"))),
            }
        };
        let time = the_one(Role::Time, "time")?;
        let sequence = the_one(Role::Sequence, "sequence")?;
        let worker_bits = fields
            .iter()
            .filter(|f| f.role == Role::Worker)
            .map(|f| f.bits)
            .sum();
        for (what, bits) in [("worker", worker_bits), ("sequence", sequence.bits)] {
            if bits > 32 {
                return Err(invalid(alloc::format!(
                    "{bits} {what} bits, at most 32 are allowed"
                )));
            }
        }
        let mut rollbacks = fields.iter().filter(|field| field.role == Role::Rollback);
        let rollback = rollbacks.next().map(|field| Slot {
            bits: field.bits,
            shift: field.shift,
        });
        if rollbacks.next().is_some() || rollback.is_some_and(|slot| slot.bits > 8) {
            return Err(invalid(
                "more than one rollback field, or one of more than 8 bits".into(),
            ));
        }
        let (start_below, largest) = match self.start {
            SequenceStart::Zero | SequenceStart::Carry => (0, 0),
            SequenceStart::At(first) => (first, ones(sequence.bits)),
            SequenceStart::Random { below } => (below, ones(sequence.bits)),
        };
        if start_below > largest {
            return Err(invalid(alloc::format!(
                "its sequence of {} bits cannot begin at {start_below}",
                sequence.bits
            )));
        }
        let mut constants = 0;
        for field in &fields {
            if let Role::Constant(value) = field.role {
                if value > field.max() {
                    return Err(invalid(alloc::format!(
                        "constant {value} does not fit field {:?}: {} bits, largest is {}",
                        field.name,
                        field.bits,
                        field.max()
                    )));
                }
                constants |= value << field.shift;
            }
        }
        Ok(Layout {
            name: self.name,
            fields,
            tick_ns,
            epoch: self.epoch,
            bits: bits as u32,
            time,
            sequence,
            worker_bits,
            constants,
            rollback,
            start: self.start,
        })
    }
}

/// One day: no known layout has a tick longer than a second.
const TICK_MAX_NS: u64 = 86_400_000_000_000;
