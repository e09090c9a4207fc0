//! What a caller chooses about the ids of a format.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use ::uuid::Uuid;

use super::{Alphabet, FormatError};
use crate::layout::Layout;
use crate::presets::preset;
use crate::time::Timestamp;
use crate::uuid::{Domain, Node, namespace};

/// What a caller chooses about the ids of a format; `default()` chooses nothing.
///
/// Every format takes some of it ([`Format::options`](crate::Format::options)) and refuses the rest by name.
///
/// ```
/// use mintage::{GenOptions, format};
/// let options = GenOptions { prefix: Some("user".into()), ..GenOptions::default() };
/// assert!(format("typeid").expect("a format").make(&options)?.text() == Some("user"));
/// let refused = format("ulid").expect("a format").make(&options).unwrap_err();
/// assert_eq!(refused.to_string(), "format ulid takes no prefix; it takes nothing");
/// # Ok::<(), mintage::FormatError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GenOptions {
    /// What stands in front: of a TypeID, of a token.
    pub prefix: Option<String>,
    /// The symbols of a NanoID, a token or a Sqid.
    pub alphabet: Option<Alphabet>,
    /// How many characters: of a NanoID, a CUID2, a token's secret part; the fewest of a Sqid.
    pub length: Option<usize>,
    /// Who makes the ids, where the format has a place for it.
    pub node: Option<u64>,
    /// How wide that place is, where it can be chosen.
    pub node_bits: Option<u32>,
    /// Where time begins, where it can be chosen.
    pub epoch: Option<Timestamp>,
    /// The layout of a Snowflake; Twitter's if none.
    pub layout: Option<Arc<Layout>>,
    /// The worker of a Snowflake.
    pub worker: Option<u64>,
    /// Whether a token ends in a checksum.
    pub checksum: bool,
    /// The namespace of a UUID made from a name.
    pub namespace: Option<Uuid>,
    /// The name that a UUID is made from.
    pub name: Option<Vec<u8>>,
    /// Whose local id it is, UUID version 2.
    pub domain: Option<Domain>,
    /// The local id, UUID version 2.
    pub local_id: Option<u32>,
    /// The clock sequence of a UUID of version 1, 2 or 6.
    pub clock_seq: Option<u16>,
    /// The custom bits of a UUID of version 8.
    pub custom: Option<[u8; 16]>,
    /// The numbers that a Sqid or a Hashid stands for.
    pub numbers: Vec<u64>,
    /// What a Hashid is turned round by.
    pub salt: Option<String>,
}

impl GenOptions {
    /// Sets an option from text, as people and requests write it.
    ///
    /// Numbers are decimal; a node may also be six octets in hexadecimal; an epoch is milliseconds since 1970; a
    /// layout is a preset's name or a layout's one-line form; a checksum is `true` or `false` or nothing, which is
    /// true; a namespace is `dns`, `url`, `oid`, `x500` or a UUID; custom bits are 32 hexadecimal digits; numbers
    /// have commas between them.
    ///
    /// # Errors
    /// The text is not of the option's kind: says what it must be.
    ///
    /// ```
    /// use mintage::{GenOption, GenOptions};
    /// let mut options = GenOptions::default();
    /// options.set(GenOption::Numbers, "1,2,3")?;
    /// assert_eq!(options.numbers, [1, 2, 3]);
    /// let refused = options.set(GenOption::Length, "many").unwrap_err();
    /// assert_eq!(refused.to_string(), "length: \"many\" is no number");
    /// # Ok::<(), mintage::FormatError>(())
    /// ```
    pub fn set(&mut self, option: GenOption, text: &str) -> Result<(), FormatError> {
        let refused = |must: &str| FormatError::option(option.name(), format!("{text:?} is {must}"));
        let number = || text.parse::<u64>().map_err(|_| refused("no number"));
        match option {
            GenOption::Prefix => self.prefix = Some(text.into()),
            GenOption::Salt => self.salt = Some(text.into()),
            GenOption::Alphabet => self.alphabet = Some(Alphabet::new(text)?),
            GenOption::Length => {
                let length = number()?;
                self.length = Some(usize::try_from(length).map_err(|_| refused("too large"))?);
            }
            GenOption::Node => {
                self.node = Some(match text.parse::<Node>() {
                    // Twelve digits are more likely a number than an address without colons.
                    Ok(node) if text.len() == 17 => node.bits(),
                    _ => number()?,
                });
            }
            GenOption::NodeBits => {
                self.node_bits = Some(u32::try_from(number()?).map_err(|_| refused("too large"))?);
            }
            GenOption::Epoch => {
                let millis = text
                    .parse()
                    .map_err(|_| refused("no number of milliseconds since 1970"))?;
                self.epoch = Some(Timestamp::from_unix_millis(millis));
            }
            GenOption::Layout => {
                let layout = match preset(text) {
                    Some(preset) => preset.layout(),
                    None => text
                        .parse()
                        .map_err(|error| FormatError::option(option.name(), format!("{error}")))?,
                };
                self.layout = Some(Arc::new(layout));
            }
            GenOption::Worker => self.worker = Some(number()?),
            GenOption::Checksum => {
                self.checksum = match text {
                    "true" | "" => true,
                    "false" => false,
                    _ => return Err(refused("neither true nor false")),
                };
            }
            GenOption::Namespace => {
                let known = namespace(text).or_else(|| Uuid::try_parse(text).ok());
                self.namespace =
                    Some(known.ok_or_else(|| refused("neither dns, url, oid, x500 nor a UUID"))?);
            }
            GenOption::Name => self.name = Some(text.into()),
            GenOption::Domain => {
                let domain = Domain::from_name(text);
                self.domain = Some(domain.ok_or_else(|| refused("neither person, group nor org"))?);
            }
            GenOption::LocalId => {
                self.local_id = Some(text.parse().map_err(|_| refused("no number of 32 bits"))?);
            }
            GenOption::ClockSeq => {
                self.clock_seq = Some(text.parse().map_err(|_| refused("no number of 16 bits"))?);
            }
            GenOption::Custom => {
                let bits =
                    Some(text).filter(|text| text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit()));
                let bits = bits.and_then(|text| u128::from_str_radix(text, 16).ok());
                self.custom = Some(
                    bits.ok_or_else(|| refused("not 32 hexadecimal digits"))?
                        .to_be_bytes(),
                );
            }
            GenOption::Numbers => {
                let numbers = text.split(',').map(|number| number.trim().parse());
                let numbers: Result<_, _> = numbers.collect();
                self.numbers = numbers.map_err(|_| refused("no numbers with commas between them"))?;
            }
        }
        Ok(())
    }
}

/// The name of a field of [`GenOptions`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum GenOption {
    /// [`GenOptions::prefix`].
    Prefix,
    /// [`GenOptions::alphabet`].
    Alphabet,
    /// [`GenOptions::length`].
    Length,
    /// [`GenOptions::node`].
    Node,
    /// [`GenOptions::node_bits`].
    NodeBits,
    /// [`GenOptions::epoch`].
    Epoch,
    /// [`GenOptions::layout`].
    Layout,
    /// [`GenOptions::worker`].
    Worker,
    /// [`GenOptions::checksum`].
    Checksum,
    /// [`GenOptions::namespace`].
    Namespace,
    /// [`GenOptions::name`].
    Name,
    /// [`GenOptions::domain`].
    Domain,
    /// [`GenOptions::local_id`].
    LocalId,
    /// [`GenOptions::clock_seq`].
    ClockSeq,
    /// [`GenOptions::custom`].
    Custom,
    /// [`GenOptions::numbers`].
    Numbers,
    /// [`GenOptions::salt`].
    Salt,
}

impl GenOption {
    /// Every option.
    pub const ALL: &[GenOption] = &[
        GenOption::Prefix,
        GenOption::Alphabet,
        GenOption::Length,
        GenOption::Node,
        GenOption::NodeBits,
        GenOption::Epoch,
        GenOption::Layout,
        GenOption::Worker,
        GenOption::Checksum,
        GenOption::Namespace,
        GenOption::Name,
        GenOption::Domain,
        GenOption::LocalId,
        GenOption::ClockSeq,
        GenOption::Custom,
        GenOption::Numbers,
        GenOption::Salt,
    ];

    /// Its name in words, hyphens between them: `prefix`, `node-bits`, …
    pub const fn name(self) -> &'static str {
        match self {
            GenOption::Prefix => "prefix",
            GenOption::Alphabet => "alphabet",
            GenOption::Length => "length",
            GenOption::Node => "node",
            GenOption::NodeBits => "node-bits",
            GenOption::Epoch => "epoch",
            GenOption::Layout => "layout",
            GenOption::Worker => "worker",
            GenOption::Checksum => "checksum",
            GenOption::Namespace => "namespace",
            GenOption::Name => "name",
            GenOption::Domain => "domain",
            GenOption::LocalId => "local-id",
            GenOption::ClockSeq => "clock-seq",
            GenOption::Custom => "custom",
            GenOption::Numbers => "numbers",
            GenOption::Salt => "salt",
        }
    }

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

    /// Whether `options` chooses it.
    pub fn is_in(self, options: &GenOptions) -> bool {
        match self {
            GenOption::Prefix => options.prefix.is_some(),
            GenOption::Alphabet => options.alphabet.is_some(),
            GenOption::Length => options.length.is_some(),
            GenOption::Node => options.node.is_some(),
            GenOption::NodeBits => options.node_bits.is_some(),
            GenOption::Epoch => options.epoch.is_some(),
            GenOption::Layout => options.layout.is_some(),
            GenOption::Worker => options.worker.is_some(),
            GenOption::Checksum => options.checksum,
            GenOption::Namespace => options.namespace.is_some(),
            GenOption::Name => options.name.is_some(),
            GenOption::Domain => options.domain.is_some(),
            GenOption::LocalId => options.local_id.is_some(),
            GenOption::ClockSeq => options.clock_seq.is_some(),
            GenOption::Custom => options.custom.is_some(),
            GenOption::Numbers => !options.numbers.is_empty(),
            GenOption::Salt => options.salt.is_some(),
        }
    }
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
            (GenOption::Node, "9f:6b:de:ce:d8:46", Some("9f:6b:de:ce:d8")),
            (GenOption::NodeBits, "10", Some("4294967296")),
            (GenOption::Epoch, "1577836800000", Some("2020")),
            (GenOption::Layout, "twitter", Some("tweeter")),
            (GenOption::Layout, "time=41,worker=10,sequence=12", Some("")),
            (GenOption::Worker, "7", Some("seven")),
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
            if option == GenOption::Epoch {
                continue;
            }
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
