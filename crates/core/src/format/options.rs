//! What a caller chooses about the ids of a format: one table, and what is made of it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use ::uuid::Uuid;

use super::{Alphabet, FormatError};
use crate::layout::Layout;
use crate::presets::preset;
use crate::time::Timestamp;
use crate::time_text;
use crate::uuid::{Domain, NAMESPACES, Node, namespace};

/// Makes of the table of options: [`GenOptions`] with a field, [`GenOption`] and [`OptionValue`] with a variant for
/// each row, and all that is known of it.
macro_rules! options {
    ($(
        $(#[$doc:meta])*
        $option:ident $name:literal $field:ident: $kept:ty = $value:ty {
            form: $form:expr,
            says: $says:literal,
            read: $read:expr,
        }
    )+) => {
        /// What a caller chooses about the ids of a format; `default()` chooses nothing.
        ///
        /// Every format takes some of it ([`Format::options`](crate::Format::options)) and refuses the rest by name.
        ///
        /// ```
        /// use mintage::{GenOptions, format};
        /// let options = GenOptions { prefix: Some("user".into()), ..GenOptions::default() };
        /// assert!(format("typeid").expect("a format").make(&options)?.text() == Some("user"));
        /// let refused = format("ulid").expect("a format").make(&options).unwrap_err();
        /// assert_eq!(refused.to_string(), "format ulid takes no prefix; it takes no options");
        /// # Ok::<(), mintage::FormatError>(())
        /// ```
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct GenOptions {
            $($(#[$doc])* pub $field: $kept,)+
        }

        /// The name of a field of [`GenOptions`].
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum GenOption {
            $(#[doc = concat!("[`GenOptions::", stringify!($field), "`].")] $option,)+
        }

        /// The value of an option.
        #[derive(Clone, PartialEq, Debug)]
        #[non_exhaustive]
        pub enum OptionValue {
            $(#[doc = concat!("Of [`GenOptions::", stringify!($field), "`].")] $option($value),)+
        }

        impl GenOptions {
            /// Chooses a value.
            ///
            /// ```
            /// use mintage::{GenOption, GenOptions};
            /// let mut options = GenOptions::default();
            /// options.choose(GenOption::Node.read("0xff")?);
            /// assert_eq!(options.node, Some(255));
            /// # Ok::<(), mintage::FormatError>(())
            /// ```
            pub fn choose(&mut self, value: OptionValue) {
                match value {
                    $(OptionValue::$option(value) => self.$field.keep(value),)+
                }
            }
        }

        impl GenOption {
            /// Every option.
            pub const ALL: &[GenOption] = &[$(GenOption::$option),+];

            /// Its name in words, hyphens between them: `prefix`, `node-bits`, …
            pub const fn name(self) -> &'static str {
                match self {
                    $(GenOption::$option => $name,)+
                }
            }

            /// What its text looks like, and between which bounds it lies.
            pub const fn form(self) -> OptionForm {
                match self {
                    $(GenOption::$option => $form,)+
                }
            }

            /// What it means, a phrase.
            pub const fn says(self) -> &'static str {
                match self {
                    $(GenOption::$option => $says,)+
                }
            }

            /// Whether `options` chooses it.
            pub fn is_in(self, options: &GenOptions) -> bool {
                match self {
                    $(GenOption::$option => options.$field.is_chosen(),)+
                }
            }

            /// Its value from text: the one reader, of commands and of requests.
            ///
            /// # Errors
            /// The text is not of the option's form: says what it must be.
            ///
            /// ```
            /// use mintage::{GenOption, OptionValue, Timestamp};
            /// let epoch = Timestamp::from_unix_millis(1_609_459_200_000);
            /// for text in ["2021-01-01", "1609459200000", "@1609459200"] {
            ///     assert_eq!(GenOption::Epoch.read(text), Ok(OptionValue::Epoch(epoch)));
            /// }
            /// let refused = GenOption::Length.read("many").unwrap_err();
            /// assert_eq!(refused.to_string(), "length: \"many\" is no number");
            /// ```
            pub fn read(self, text: &str) -> Result<OptionValue, FormatError> {
                let value = match self {
                    $(GenOption::$option => {
                        let read: fn(&str) -> Result<$value, String> = $read;
                        read(text).map(OptionValue::$option)
                    })+
                };
                value.map_err(|reason| FormatError::option(self.name(), reason))
            }
        }
    };
}

options! {
    /// What stands in front: of a TypeID, of a token.
    Prefix "prefix" prefix: Option<String> = String {
        form: OptionForm::Text("TEXT"),
        says: "the prefix",
        read: |text| Ok(text.into()),
    }
    /// The symbols of a NanoID, a token or a Sqid.
    Alphabet "alphabet" alphabet: Option<Alphabet> = Alphabet {
        form: OptionForm::Text("CHARACTERS"),
        says: "the characters, in their order",
        read: alphabet,
    }
    /// How many characters: of a NanoID, a CUID2, a token's secret part; the fewest of a Sqid.
    Length "length" length: Option<usize> = usize {
        form: OptionForm::Number(usize::MAX as u64),
        says: "how many characters; of sqids and hashids the fewest",
        read: number,
    }
    /// Whether a token ends in a checksum.
    Checksum "checksum" checksum: bool = bool {
        form: OptionForm::Flag,
        says: "ends in a checksum",
        read: flag,
    }
    /// Who makes the ids, where the format has a place for it.
    Node "node" node: Option<u64> = u64 {
        form: OptionForm::Text("NODE"),
        says: "who makes them: a number, 0x… or six octets as 9f:6b:de:ce:d8:46",
        read: node,
    }
    /// The clock sequence of a UUID of version 1, 2 or 6.
    ClockSeq "clock-seq" clock_seq: Option<u16> = u16 {
        form: OptionForm::Number(u16::MAX as u64),
        says: "0 to 16383, of version 2 to 63",
        read: number,
    }
    /// How wide that place is, where it can be chosen.
    NodeBits "node-bits" node_bits: Option<u32> = u32 {
        form: OptionForm::Number(u32::MAX as u64),
        says: "how many bits the node has, 0 to 20",
        read: number,
    }
    /// Where time begins, where it can be chosen.
    Epoch "epoch" epoch: Option<Timestamp> = Timestamp {
        form: OptionForm::Text("TIME"),
        says: "where time begins, also that of a layout: a date, RFC 3339, or milliseconds since 1970",
        read: time_text::epoch,
    }
    /// The layout of a Snowflake; Twitter's if none.
    Layout "layout" layout: Option<Arc<Layout>> = Arc<Layout> {
        form: OptionForm::Text("LAYOUT"),
        says: "a known layout such as twitter, or one of your own: time=41,worker=10,sequence=12,epoch=2020-01-01",
        read: layout,
    }
    /// The worker of a Snowflake.
    Worker "worker" worker: Option<u64> = u64 {
        form: OptionForm::Number(u64::MAX),
        says: "the worker",
        read: number,
    }
    /// The datacenter of that worker, where the layout has a field for it.
    Datacenter "datacenter" datacenter: Option<u64> = u64 {
        form: OptionForm::Number(u64::MAX),
        says: "the datacenter, where the layout has a field for it; the worker is then the one in there",
        read: number,
    }
    /// The numbers that a Sqid or a Hashid stands for.
    Numbers "numbers" numbers: Vec<u64> = Vec<u64> {
        form: OptionForm::Numbers,
        says: "the numbers to encode",
        read: numbers,
    }
    /// What a Hashid is turned round by.
    Salt "salt" salt: Option<String> = String {
        form: OptionForm::Text("TEXT"),
        says: "the salt",
        read: |text| Ok(text.into()),
    }
    /// The namespace of a UUID made from a name.
    Namespace "namespace" namespace: Option<Uuid> = Uuid {
        form: OptionForm::Text("NAMESPACE"),
        says: "whose name it is: dns, url, oid, x500 or a UUID",
        read: namespace_of,
    }
    /// The name that a UUID is made from.
    Name "name" name: Option<Vec<u8>> = Vec<u8> {
        form: OptionForm::Text("NAME"),
        says: "the name it is made from",
        read: |text| Ok(text.into()),
    }
    /// Whose local id it is, UUID version 2.
    Domain "domain" domain: Option<Domain> = Domain {
        form: OptionForm::OneOf(&["person", "group", "org"]),
        says: "whose local id it is: person, group or org",
        read: |text| {
            Domain::from_name(text).ok_or_else(|| format!("{text:?} is neither person, group nor org"))
        },
    }
    /// The local id, UUID version 2.
    LocalId "local-id" local_id: Option<u32> = u32 {
        form: OptionForm::Number(u32::MAX as u64),
        says: "the local id",
        read: number,
    }
    /// The custom bits of a UUID of version 8.
    Custom "custom" custom: Option<[u8; 16]> = [u8; 16] {
        form: OptionForm::Text("HEX"),
        says: "bits of your own, 32 hexadecimal digits",
        read: custom,
    }
}

/// What the text of an option looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OptionForm {
    /// Text; the word stands for it in descriptions.
    Text(&'static str),
    /// A whole number from 0 to this.
    Number(u64),
    /// Numbers with commas between them.
    Numbers,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// `true` or `false`; named without a value it is true.
    Flag,
}

impl GenOptions {
    /// Sets an option from text: [`GenOption::read`], then [`GenOptions::choose`].
    ///
    /// # Errors
    /// As [`GenOption::read`].
    ///
    /// ```
    /// use mintage::{GenOption, GenOptions};
    /// let mut options = GenOptions::default();
    /// options.set(GenOption::Numbers, "1,2,3")?;
    /// assert_eq!(options.numbers, [1, 2, 3]);
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    pub fn set(&mut self, option: GenOption, text: &str) -> Result<(), FormatError> {
        self.choose(option.read(text)?);
        Ok(())
    }

    /// The same with the epoch put into the layout, where there are both.
    ///
    /// ```
    /// use mintage::{GenOption, GenOptions};
    /// let mut options = GenOptions::default();
    /// options.set(GenOption::Layout, "twitter")?;
    /// options.set(GenOption::Epoch, "2015-01-01")?;
    /// let options = options.with_epoch_in_layout();
    /// assert_eq!(options.layout.expect("chosen").epoch().to_string(), "2015-01-01T00:00:00Z");
    /// assert_eq!(options.epoch, None);
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    #[must_use]
    pub fn with_epoch_in_layout(mut self) -> GenOptions {
        if let Some(layout) = &mut self.layout
            && let Some(epoch) = self.epoch.take()
        {
            *layout = Arc::new(Layout::clone(layout).with_epoch(epoch));
        }
        self
    }
}

impl GenOption {
    /// The option called `name`, words apart by hyphens or underscores.
    ///
    /// ```
    /// use mintage::GenOption;
    /// assert_eq!(GenOption::from_name("node_bits"), Some(GenOption::NodeBits));
    /// assert_eq!(GenOption::from_name("colour"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        let same = |known: &str| {
            known.len() == name.len()
                && known
                    .bytes()
                    .zip(name.bytes())
                    .all(|(a, b)| a == b || (a, b) == (b'-', b'_'))
        };
        Self::ALL.iter().copied().find(|option| same(option.name()))
    }
}

/// A field of [`GenOptions`].
trait Kept<T> {
    fn is_chosen(&self) -> bool;
    fn keep(&mut self, value: T);
}

impl<T> Kept<T> for Option<T> {
    fn is_chosen(&self) -> bool {
        self.is_some()
    }

    fn keep(&mut self, value: T) {
        *self = Some(value);
    }
}

impl Kept<bool> for bool {
    fn is_chosen(&self) -> bool {
        *self
    }

    fn keep(&mut self, value: bool) {
        *self = value;
    }
}

impl Kept<Vec<u64>> for Vec<u64> {
    fn is_chosen(&self) -> bool {
        !self.is_empty()
    }

    fn keep(&mut self, value: Vec<u64>) {
        *self = value;
    }
}

fn alphabet(text: &str) -> Result<Alphabet, String> {
    Alphabet::new(text).map_err(|error| match error {
        FormatError::Option { reason, .. } => reason,
        other => other.to_string(),
    })
}

fn number<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let number: u64 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
    N::try_from(number).map_err(|_| format!("{text:?} is too large"))
}

fn flag(text: &str) -> Result<bool, String> {
    match text {
        "true" | "" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("{text:?} is neither true nor false")),
    }
}

/// A number, or the octets of an address; twelve digits without colons are a number.
fn node(text: &str) -> Result<u64, String> {
    let node = match text.strip_prefix("0x") {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
        None if text.contains([':', '-']) => text.parse::<Node>().ok().map(Node::bits),
        _ => text.parse().ok(),
    };
    node.ok_or_else(|| format!("{text:?} is neither a number nor six octets as 9f:6b:de:ce:d8:46"))
}

fn layout(text: &str) -> Result<Arc<Layout>, String> {
    let layout = match preset(text) {
        Some(preset) => Ok(preset.layout()),
        None => text.parse(),
    };
    layout
        .map(Arc::new)
        .map_err(|error: crate::LayoutError| error.to_string())
}

fn numbers(text: &str) -> Result<Vec<u64>, String> {
    let numbers = text.split(',').map(|number| number.trim().parse());
    let numbers: Result<_, _> = numbers.collect();
    numbers.map_err(|_| format!("{text:?} is not numbers with commas between them"))
}

fn namespace_of(text: &str) -> Result<Uuid, String> {
    let known = namespace(text).or_else(|| Uuid::try_parse(text).ok());
    known.ok_or_else(|| {
        let names: Vec<&str> = NAMESPACES.iter().map(|(name, _)| *name).collect();
        format!("{text:?} is neither {} nor a UUID", names.join(", "))
    })
}

fn custom(text: &str) -> Result<[u8; 16], String> {
    let is = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bits = is.then(|| u128::from_str_radix(text, 16).ok()).flatten();
    bits.map(u128::to_be_bytes)
        .ok_or_else(|| format!("{text:?} is not 32 hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_set_from_text_and_refuses_other_text() {
        for (option, good, bad) in [
            (GenOption::Prefix, "user", None),
            (GenOption::Alphabet, "abc", Some("aa")),
            (GenOption::Length, "21", Some("-1")),
            (GenOption::Node, "7", Some("x")),
            (GenOption::Node, "0xff", Some("0x+f")),
            (GenOption::Node, "9f:6b:de:ce:d8:46", Some("9f:6b:de:ce:d8")),
            (GenOption::NodeBits, "10", Some("4294967296")),
            (GenOption::Epoch, "1577836800000", Some("20-20")),
            (GenOption::Epoch, "2021-01-01", Some("2021-02-30")),
            (
                GenOption::Epoch,
                "2021-01-01T12:00:00+01:00",
                Some("2021-01-01T12:00:00"),
            ),
            (GenOption::Epoch, "@1609459200", Some("@1us")),
            (GenOption::Layout, "twitter", Some("tweeter")),
            (GenOption::Layout, "time=41,worker=10,sequence=12", Some("")),
            (
                GenOption::Layout,
                "time=41,sequence=22,epoch=2021-01-01",
                Some("time=41"),
            ),
            (GenOption::Worker, "7", Some("seven")),
            (GenOption::Datacenter, "3", Some("eu")),
            (GenOption::Checksum, "true", Some("yes")),
            (GenOption::Namespace, "dns", Some("ftp")),
            (GenOption::Name, "www.example.com", None),
            (GenOption::Domain, "person", Some("people")),
            (GenOption::LocalId, "1000", Some("4294967296")),
            (GenOption::ClockSeq, "7", Some("65536")),
            (
                GenOption::Custom,
                "00112233445566778899aabbccddeeff",
                Some("+0112233445566778899aabbccddeeff"),
            ),
            (GenOption::Numbers, "1,2, 3", Some("1,,2")),
            (GenOption::Salt, "this is my salt", None),
        ] {
            let mut options = GenOptions::default();
            assert!(!option.is_in(&options));
            assert_eq!(options.set(option, good), Ok(()), "{option:?} {good}");
            assert!(option.is_in(&options), "{option:?}");
            let count = GenOption::ALL
                .iter()
                .filter(|other| other.is_in(&options))
                .count();
            assert_eq!(count, 1, "{option:?} sets itself alone");
            if let Some(bad) = bad {
                let refused = options.set(option, bad).map_err(|error| format!("{error}"));
                assert!(
                    refused.is_err_and(|text| text.starts_with(option.name())),
                    "{option:?} {bad}"
                );
            }
        }
    }
}
