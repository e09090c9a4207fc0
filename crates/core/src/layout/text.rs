//! An id of a layout as text in which every field has digits of its own.

use alloc::vec::Vec;

use super::{Field, Layout};
use crate::text::{TextError, radix};

/// Text in which each field stands for itself, from the highest to the lowest, in as many digits as its largest value
/// has: it sorts as the ids do, and a person can cut it into its fields.
///
/// CosId writes its string ids so: 8, 4 and 3 digits of base 62 for 44, 20 and 16 bits (Ahoo-Wang/CosId,
/// RadixCosIdStateParser).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FieldsText {
    /// Digits `0-9a-z`, read in either case.
    Base36,
    /// Digits `0-9A-Za-z`.
    Base62,
}

impl FieldsText {
    /// Every form with its name.
    pub const ALL: &[(&str, FieldsText)] = &[
        ("base36-fields", FieldsText::Base36),
        ("base62-fields", FieldsText::Base62),
    ];

    /// The form called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut known = Self::ALL.iter();
        known.find(|(known, _)| *known == name).map(|(_, form)| *form)
    }

    /// How many characters ids of `layout` have.
    ///
    /// ```
    /// let cosid = mintage::preset("cosid-string").expect("a preset").layout();
    /// assert_eq!(mintage::FieldsText::ALL.iter().map(|(_, form)| form.chars(&cosid)).collect::<Vec<_>>(), [17, 15]);
    /// ```
    pub fn chars(self, layout: &Layout) -> usize {
        layout.fields().iter().map(|field| self.width(field)).sum()
    }

    /// Appends an id of `layout` to `out`.
    ///
    /// ```
    /// use mintage::{FieldsText, preset};
    /// let (cosid, mut out) = (preset("cosid-string").expect("a preset").layout(), Vec::new());
    /// FieldsText::Base62.write(cosid.pack_wide(61, 62, 63)?, &cosid, &mut out);
    /// assert_eq!(out, b"0000000z0010011");
    /// # Ok::<(), mintage::LayoutError>(())
    /// ```
    pub fn write(self, id: u128, layout: &Layout, out: &mut Vec<u8>) {
        for field in layout.fields() {
            radix::write_fixed(field.of_wide(id).into(), self.alphabet(), self.width(field), out);
        }
    }

    /// Reads an id of `layout`, in exactly this form.
    ///
    /// # Errors
    /// The text has another length or a foreign character, or a field of it is larger than its bits hold.
    ///
    /// ```
    /// use mintage::{FieldsText, TextError, preset};
    /// let cosid = preset("cosid-string").expect("a preset").layout();
    /// assert_eq!(FieldsText::Base62.read(b"0000000z0010011", &cosid), Ok(61 << 36 | 62 << 16 | 63));
    /// // 62^3 - 1 is more than 16 bits hold.
    /// assert!(FieldsText::Base62.read(b"0000000z0010zzz", &cosid).is_err());
    /// ```
    pub fn read(self, text: &[u8], layout: &Layout) -> Result<u128, TextError> {
        let expected = self.chars(layout);
        if text.len() != expected {
            return Err(TextError::Length {
                found: text.len(),
                expected,
            });
        }
        let (mut id, mut at) = (0, 0);
        for field in layout.fields() {
            let digits = &text[at..at + self.width(field)];
            let value = radix::read(digits, self.alphabet(), self == Self::Base36);
            let value = value.map_err(|error| error.moved(at))?;
            if value > u128::from(field.max()) {
                return Err(TextError::Rule {
                    position: at,
                    rule: "a field larger than its bits hold",
                });
            }
            id |= value << field.shift;
            at += digits.len();
        }
        Ok(id)
    }

    fn alphabet(self) -> &'static [u8] {
        match self {
            // Capitals, as CosId writes them; both are read.
            Self::Base36 => b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            Self::Base62 => radix::BASE62,
        }
    }

    fn width(self, field: &Field) -> usize {
        radix::digits_for(field.bits, self.alphabet().len())
    }
}
