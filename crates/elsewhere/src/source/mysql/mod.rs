//! Counters that MySQL (8 and later, older ones with a warning) and MariaDB (10.3 and later) keep themselves.
//!
//! | file | what |
//! | --- | --- |
//! | `shared` | names, types, versions, rights, patience |
//! | `bounds` | what a SEQUENCE shows, its fence by a bound, and the statements for both |
//! | `sequence`, `drawn` | SEQUENCE of MariaDB, and how numbers are taken out of one |
//! | `generated` | how a column of AUTO_INCREMENT stands, and the trigger that fences it |
//! | `auto_increment` | AUTO_INCREMENT |
//! | `mend` | the statements that mend what a doctor finds |
//! | `tickets` | tables like Flickr's Tickets64 |
//!
//! Statements that define things commit by themselves, so each deed is one statement, or its order is such that an end
//! between two of them leaves at worst a gap.

mod auto_increment;
mod bounds;
mod drawn;
mod fill;
mod generated;
pub(super) mod mend;
mod sequence;
mod shared;
mod tickets;

use std::sync::Arc;

use super::kind::Place;
use super::{Engine, Source, SourceError, SourceErrorKind, SourceKind};

/// SEQUENCE of MariaDB.
pub(super) const MARIADB: SourceKind = SourceKind {
    name: "mariadb",
    engine: Engine::MySql,
    example: "mariadb+mysql://ann@db/shop",
    summary: "the sequences of a MariaDB server",
    is_found: true,
    has_ceiling: true,
    has_beside: true,
    open: |place, _| Ok(Arc::new(sequence::Sequences::new(&link(place)?))),
};

/// Columns of AUTO_INCREMENT.
pub(super) const AUTO_INCREMENT: SourceKind = SourceKind {
    name: "auto_increment",
    engine: Engine::MySql,
    example: "auto_increment+mysql://ann@db/shop",
    summary: "the AUTO_INCREMENT columns of a MySQL or MariaDB server",
    is_found: true,
    has_ceiling: false,
    has_beside: true,
    open: |place, _| -> Result<Arc<dyn Source>, SourceError> {
        Ok(Arc::new(auto_increment::AutoIncrement::new(&link(place)?, None)))
    },
};

/// The workers of Baidu's uid-generator.
pub(super) const UID_GENERATOR: SourceKind = SourceKind {
    name: "uid-generator",
    engine: Engine::MySql,
    example: "uid-generator+mysql://ann@db/uid",
    summary: "the workers of Baidu's uid-generator: the ids of its table WORKER_NODE",
    is_found: true,
    has_ceiling: false,
    has_beside: true,
    open: |place, settings| -> Result<Arc<dyn Source>, SourceError> {
        let bits = settings.worker_bits.unwrap_or(UID_GENERATOR_BITS);
        Ok(Arc::new(auto_increment::AutoIncrement::new(
            &link(place)?,
            Some(bits),
        )))
    },
};

/// How many bits uid-generator's numbers of workers have, unless it was set up otherwise.
const UID_GENERATOR_BITS: u32 = 22;

/// Flickr's ticket tables.
pub(super) const TICKETS: SourceKind = SourceKind {
    name: "tickets",
    engine: Engine::MySql,
    example: "tickets+mysql://ann@db/tickets",
    summary: "ticket tables as Flickr has them: an AUTO_INCREMENT id and a unique stub",
    is_found: true,
    has_ceiling: false,
    has_beside: true,
    open: |place, _| Ok(Arc::new(tickets::Tickets::new(&link(place)?))),
};

fn link(place: &Place) -> Result<shared::MyLink, SourceError> {
    match place {
        Place::MySql(link) => Ok(Arc::clone(link)),
        #[allow(unreachable_patterns, reason = "a build may have this engine alone")]
        _ => Err(SourceError::new(
            SourceErrorKind::Invalid,
            "this kind of counter lives in MySQL and MariaDB",
        )),
    }
}
