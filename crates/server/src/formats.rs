//! The formats of ids that a server makes: one row per name, read by every face.

use crate::config::edit_distance;
use crate::error::{Code, ServiceError};
use crate::metrics::IdKind;

/// How the ids of a format are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Make {
    /// UUID version 1 of the pool `uuid1`, whose node and clock sequences are leased.
    Uuid1,
    /// The same with its time in sorting order: version 6.
    Uuid6,
    /// UUID version 4: 122 random bits.
    Uuid4,
    /// UUID version 7: the time in milliseconds, then random bits; strictly increasing within the process.
    Uuid7,
    /// The pool `default`, whose layout is Twitter's.
    Snowflake,
}

impl Make {
    /// What its ids are counted by.
    pub fn kind(self) -> IdKind {
        match self {
            Make::Uuid1 => IdKind::Uuid1,
            Make::Uuid6 => IdKind::Uuid6,
            Make::Uuid4 => IdKind::Uuid4,
            Make::Uuid7 => IdKind::Uuid7,
            Make::Snowflake => IdKind::Snowflake,
        }
    }
}

/// A format that ids can be asked for in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatRow {
    /// Its name in every face.
    pub name: &'static str,
    /// What it is, in a few words.
    pub is: &'static str,
    /// How its ids are made.
    pub make: Make,
}

/// Every format.
pub static FORMATS: &[FormatRow] = &[
    FormatRow {
        name: "uuid",
        is: "UUID version 7",
        make: Make::Uuid7,
    },
    FormatRow {
        name: "uuid1",
        is: "100 ns time, leased clock sequence and node",
        make: Make::Uuid1,
    },
    FormatRow {
        name: "uuid4",
        is: "122 random bits",
        make: Make::Uuid4,
    },
    FormatRow {
        name: "uuid6",
        is: "version 1 with its time in sorting order",
        make: Make::Uuid6,
    },
    FormatRow {
        name: "uuid7",
        is: "time in milliseconds, then counted and random bits",
        make: Make::Uuid7,
    },
    FormatRow {
        name: "snowflake",
        is: "64 bits of pool default: time, worker, sequence",
        make: Make::Snowflake,
    },
];

/// The format called `name`.
///
/// # Errors
/// Names the formats there are.
///
/// ```
/// use mintage_server::formats::{Make, format};
/// assert_eq!(format(b"uuid7").map(|f| f.make), Ok(Make::Uuid7));
/// assert_eq!(format(b"uuid8").unwrap_err().to_string(), "there is no format \"uuid8\"");
/// ```
pub fn format(name: &[u8]) -> Result<&'static FormatRow, ServiceError> {
    if let Some(row) = FORMATS.iter().find(|row| row.name.as_bytes() == name) {
        return Ok(row);
    }
    let shown = String::from_utf8_lossy(&name[..name.len().min(40)]).into_owned();
    let known: Vec<&str> = FORMATS.iter().map(|row| row.name).collect();
    let near = known
        .iter()
        .find(|known| edit_distance(known, &shown.to_lowercase()) == 1);
    let hint = match near {
        Some(near) => format!("did you mean {near}? known are {}", known.join(", ")),
        None => format!("known are {}", known.join(", ")),
    };
    Err(ServiceError::new(Code::UnknownFormat, format!("there is no format {shown:?}")).with_hint(hint))
}
