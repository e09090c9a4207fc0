//! What a caller chooses about the ids of a format.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use ::uuid::Uuid;

use super::Alphabet;
use crate::layout::Layout;
use crate::time::Timestamp;
use crate::uuid::Domain;

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
    /// The numbers that a Sqid stands for.
    pub numbers: Vec<u64>,
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
        }
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
        }
    }
}
