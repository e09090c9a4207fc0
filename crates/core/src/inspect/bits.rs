//! Which bits of an id are which field.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Reading;
use crate::format::{Format, format, id_bytes};
use crate::layout::Layout;
use crate::presets::preset;

/// A field of an id's bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BitField {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its width.
    pub bits: u32,
}

impl Reading {
    /// The fields of the id's bits from the highest to the lowest, together as wide as the id; empty where the
    /// id is text alone, or its layout is not one of [`PRESETS`](crate::PRESETS) and
    /// [`WIDE_PRESETS`](crate::WIDE_PRESETS).
    ///
    /// ```
    /// use mintage::{Timestamp, inspect};
    /// let now = Timestamp::from_unix_millis(1_800_000_000_000);
    /// let reading = &inspect("1541815603606036480", now)[0];
    /// let widths: Vec<u32> = reading.bit_fields().iter().map(|field| field.bits).collect();
    /// assert_eq!(widths, [1, 41, 5, 5, 12]); // the highest bit is not used
    /// ```
    pub fn bit_fields(&self) -> Vec<BitField> {
        if let Some(name) = &self.preset {
            return preset(name).map_or_else(Vec::new, |preset| layout_fields(&preset.layout()));
        }
        let version = match self.version {
            Some(version @ 1..=8) => Some("uuid".to_string() + &version.to_string()),
            _ => None,
        };
        format(version.as_deref().unwrap_or(self.format)).map_or_else(Vec::new, Format::bit_fields)
    }
}

impl Format {
    /// The fields of [`Format::diagram`] from the highest bit to the lowest; empty where the format is text
    /// alone.
    ///
    /// ```
    /// use mintage::format;
    /// let fields = format("uuid7").expect("a format").bit_fields();
    /// assert_eq!((&*fields[0].name, fields[0].bits), ("unix_ts_ms", 48));
    /// assert_eq!(fields.iter().map(|field| field.bits).sum::<u32>(), 128);
    /// ```
    pub fn bit_fields(&self) -> Vec<BitField> {
        if self.bits == 0 {
            return Vec::new();
        }
        let line = self.diagram.lines().next().unwrap_or_default();
        let fields: Vec<BitField> = line.split('|').filter_map(cell).collect();
        let sum: u32 = fields.iter().map(|field| field.bits).sum();
        if sum == self.bits { fields } else { Vec::new() }
    }
}

/// `name 48`, `version 4 = 7`, `48 bits` or `number 64, signed`; not what stands in the text alone.
fn cell(text: &'static str) -> Option<BitField> {
    let text = text.split('=').next().unwrap_or_default().trim();
    if text.ends_with("characters") {
        return None;
    }
    let words = text.split([' ', ',']).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let at = words.iter().rposition(|word| word.parse::<u32>().is_ok())?;
    Some(BitField {
        name: words[..at].join(" ").into(),
        bits: words[at].parse().ok()?,
    })
}

/// The fields of a layout in the bytes that its ids have.
pub(crate) fn layout_fields(layout: &Layout) -> Vec<BitField> {
    let unused = id_bytes(layout) as u32 * 8 - layout.bits();
    let unused = (unused > 0).then_some(BitField {
        name: Cow::Borrowed(""),
        bits: unused,
    });
    let named = layout.fields().iter().map(|field| BitField {
        name: String::from(&*field.name).into(),
        bits: field.bits,
    });
    unused.into_iter().chain(named).collect()
}

#[cfg(test)]
mod tests {
    use crate::format::FORMATS;

    #[test]
    fn the_diagram_of_every_binary_format_adds_up() {
        for row in FORMATS {
            let sum: u32 = row.bit_fields().iter().map(|field| field.bits).sum();
            assert_eq!(sum, row.bits, "{}: {}", row.name, row.diagram);
        }
    }
}
