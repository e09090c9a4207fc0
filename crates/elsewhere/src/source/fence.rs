//! What keeps a source from giving out more, and how it is known again.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::runtime::{Runtime, fresh_token};

/// The id of one move: random, and written into every fence that has room for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MoveId(u128);

impl MoveId {
    /// A fresh one.
    pub fn fresh(runtime: &dyn Runtime) -> MoveId {
        MoveId(fresh_token(runtime))
    }
}

impl fmt::Display for MoveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for MoveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads 32 hexadecimal digits.
///
/// ```
/// use mintage_elsewhere::source::MoveId;
/// let id: MoveId = "0123456789abcdef0123456789abcdef".parse().unwrap();
/// assert_eq!(id.to_string(), "0123456789abcdef0123456789abcdef");
/// assert!("xyz".parse::<MoveId>().is_err());
/// ```
impl FromStr for MoveId {
    type Err = String;

    fn from_str(text: &str) -> Result<MoveId, String> {
        let is_hex = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        match u128::from_str_radix(text, 16) {
            Ok(id) if is_hex => Ok(MoveId(id)),
            _ => Err(format!(
                "the id of a move has 32 hexadecimal digits, not {text:?}"
            )),
        }
    }
}

impl serde::Serialize for MoveId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for MoveId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<MoveId, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// How a counter comes to us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// The source stops at its mark.
    Cut,
    /// The source goes on below this number and then fails; ours begins there.
    Ceiling(i128),
    /// Our servers take ranges out of the source, which stays the one truth.
    Beside,
}

impl Way {
    /// `cut`, `ceiling` or `beside`.
    pub fn as_str(self) -> &'static str {
        match self {
            Way::Cut => "cut",
            Way::Ceiling(_) => "ceiling",
            Way::Beside => "beside",
        }
    }
}

/// Whose fence it is, and what must be put back when it is lifted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The move.
    pub id: MoveId,
    /// What [`Counter::before`](super::Counter::before) said before the fence was built.
    pub before: BTreeMap<String, String>,
    /// Where the move found its fence, once it knows: a fence that is only known by its form is this one's if it lies
    /// there. A lift that comes late would else undo what a later move built.
    pub mark: Option<i128>,
}

/// A fence that stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fenced {
    /// The first number that the source has not given out and never will: ours begins here at the earliest.
    pub mark: i128,
}

/// What keeps a counter from giving out more, as its source shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fence {
    /// Nothing.
    None,
    /// A fence of ours: of this move where a note of it fits, else only known by its form.
    Ours {
        /// The move, where the fence names it.
        id: Option<MoveId>,
        /// The first number that the source never gives out.
        mark: i128,
    },
    /// A fence of ours that does not hold any more: why, in words.
    Broken {
        /// The move, where the fence names it.
        id: Option<MoveId>,
        /// What was found.
        why: String,
    },
}

impl Fence {
    /// Whether it may be that of this move: it is, or carries no id.
    pub(crate) fn may_be_of(&self, move_id: MoveId) -> bool {
        match self {
            Fence::None => false,
            Fence::Ours { id, .. } | Fence::Broken { id, .. } => id.is_none_or(|id| id == move_id),
        }
    }
}
