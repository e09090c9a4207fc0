//! Which store this is: schema version, cluster id, and the copy of the data that answers.

use super::super::{Class, Outcome, StoreError, StoreErrorKind};
use super::galera;
use super::row::Field;
use super::session::Probe;
use super::statements::SCHEMA_VERSION;
use crate::advice::Advice;

/// What the first columns of every read say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) schema_version: i64,
    pub(super) cluster_id: u128,
    /// Whether the register table has its sentinel.
    pub(super) whole: bool,
}

impl Head {
    /// Reads them; `None` when they make no sense.
    pub(super) fn read(row: &[Field]) -> Option<Head> {
        let [version, cluster, sentinel, ..] = row else {
            return None;
        };
        Some(Head {
            schema_version: version.int()?,
            cluster_id: read_hex(cluster.text()?)?,
            whole: sentinel.int().is_some(),
        })
    }
}

/// What `mint_meta` holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct MetaRow {
    pub(super) head: Head,
    /// The copy of the data that was last accepted.
    pub(super) copy: String,
    /// Its class when it was last probed.
    pub(super) class: String,
}

impl MetaRow {
    pub(super) fn read(row: &[Field]) -> Option<MetaRow> {
        Some(MetaRow {
            head: Head::read(row)?,
            copy: row.get(3)?.text()?.to_string(),
            class: row.get(4)?.text()?.trim_end().to_string(),
        })
    }
}

/// A 128-bit number as it stands in a column: 32 lower-case hexadecimal digits.
pub(super) fn hex(value: u128) -> String {
    format!("{value:032x}")
}

/// The opposite of [`hex`]; nothing else is taken.
pub(super) fn read_hex(text: &str) -> Option<u128> {
    let digits = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    digits.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

/// The letter of a class in `mint_meta`.
pub(super) fn letter(class: Class) -> &'static str {
    match class {
        Class::Survives => "S",
        Class::Durable => "D",
        Class::Lossy => "L",
    }
}

fn refused(kind: StoreErrorKind, store: &str, what: String, hint: impl Into<Advice>) -> StoreError {
    let message = format!("store {store} is refused: {what}");
    StoreError::new(kind, Outcome::NotDone, message).with_hint(hint)
}

/// There is no schema, or no cluster id in it.
pub(super) fn not_made(store: &str, what: &str) -> StoreError {
    refused(
        StoreErrorKind::Foreign,
        store,
        what.to_string(),
        Advice::InitialiseOrRestore,
    )
}

/// It was made and then emptied.
pub(super) fn emptied(store: &str, what: &str) -> StoreError {
    refused(
        StoreErrorKind::Foreign,
        store,
        what.to_string(),
        Advice::RestoreBackup,
    )
}

/// What is written there is damaged.
pub(super) fn damaged(store: &str, what: String) -> StoreError {
    refused(StoreErrorKind::Corrupt, store, what, Advice::RestoreDatabase)
}

/// Checks schema version, cluster id and sentinel.
pub(super) fn check_head(store: &str, head: &Head, expected: Option<u128>) -> Result<(), StoreError> {
    if head.schema_version != SCHEMA_VERSION {
        return Err(other_schema(store, head.schema_version));
    }
    if let Some(expected) = expected
        && head.cluster_id != expected
    {
        return Err(refused(
            StoreErrorKind::Foreign,
            store,
            format!(
                "it belongs to cluster {}, expected {}",
                hex(head.cluster_id),
                hex(expected)
            ),
            "check the URL; if the store was replaced on purpose, change the expected cluster id",
        ));
    }
    if !head.whole {
        return Err(emptied(
            store,
            "the table mint_register has lost its first row, '!cluster'",
        ));
    }
    Ok(())
}

/// Another schema than this program's.
pub(super) fn other_schema(store: &str, found: i64) -> StoreError {
    let what = format!("it has schema {found}, this program works with {SCHEMA_VERSION}");
    let hint = if found > SCHEMA_VERSION {
        Advice::NewerProgram {
            on_this_machine: false,
        }
    } else {
        "no release made that schema: restore mint_meta from a backup".into()
    };
    refused(StoreErrorKind::Foreign, store, what, hint)
}

/// What to do about the copy of the data that answers now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Copy {
    /// The one that is known, in the class that is known.
    Same,
    /// To be written down: another class, or a failover that lost nothing, or one that was accepted.
    Record,
    /// Another copy took over, and it may lack what the last one acknowledged.
    Refused,
}

/// The first part of a copy's name, `system/timeline`, where the account may not read it.
pub(in super::super) const UNKNOWN_SYSTEM: &str = "unknown";

/// Whether two names mean one copy: an account that may not see the system sees the timeline alone.
pub(super) fn same_copy(one: &str, other: &str) -> bool {
    match (one.split_once('/'), other.split_once('/')) {
        (Some((one, one_line)), Some((other, other_line))) => {
            one_line == other_line && (one == other || one == UNKNOWN_SYSTEM || other == UNKNOWN_SYSTEM)
        }
        _ => one == other,
    }
}

/// Compares the copy that answers with the one in `mint_meta`. Only a class that both that row and this process
/// know to be [`Class::Survives`] lets another copy take over.
pub(super) fn judge_copy(meta: &MetaRow, known: Option<Class>, probe: &Probe, allow_lossy: bool) -> Copy {
    let same = same_copy(&meta.copy, &probe.copy);
    if same && meta.class == letter(probe.durability.class) {
        return Copy::Same;
    }
    let survives =
        meta.class == letter(Class::Survives) && known.is_none_or(|class| class == Class::Survives);
    if same || survives || allow_lossy || galera::goes_on(&meta.copy, &probe.copy) {
        return Copy::Record;
    }
    Copy::Refused
}

/// Another copy took over where that may have lost something (docs/stores-sql.md).
pub(super) fn taken_over(store: &str, meta: &MetaRow, probe: &Probe) -> StoreError {
    refused(
        StoreErrorKind::Foreign,
        store,
        format!(
            "another copy of the data answers ({}) than the one that acknowledged the last writes ({}, class {}): \
             a replica was promoted, or the database was restored or moved, and marks may have gone back",
            probe.copy, meta.copy, meta.class
        ),
        Advice::AcceptCopy,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Durability;

    fn meta(copy: &str, class: &str) -> MetaRow {
        MetaRow {
            head: Head {
                schema_version: SCHEMA_VERSION,
                cluster_id: 1,
                whole: true,
            },
            copy: copy.into(),
            class: class.into(),
        }
    }

    fn probe(copy: &str, class: Class) -> Probe {
        Probe {
            durability: Durability {
                class,
                why: String::new(),
                fix: None,
            },
            copy: copy.into(),
            started_s: 0,
            unwritable: None,
            view: None,
        }
    }

    #[test]
    fn another_copy_is_taken_only_where_nothing_can_be_lost() {
        use Class::{Durable, Lossy, Survives};
        for (known, found, allow_lossy, copy) in [
            (("7/1", "D"), ("7/1", Durable), false, Copy::Same),
            (("7/1", "S"), ("7/1", Survives), false, Copy::Same),
            (("7/1", "D"), ("7/1", Survives), false, Copy::Record),
            (("7/1", "S"), ("7/1", Durable), false, Copy::Record),
            (("7/1", "D"), ("7/2", Durable), false, Copy::Refused),
            (("7/1", "D"), ("7/2", Survives), false, Copy::Refused),
            (("7/1", "L"), ("7/2", Durable), false, Copy::Refused),
            (("7/1", "S"), ("7/2", Durable), false, Copy::Record),
            (("7/1", "D"), ("7/2", Lossy), true, Copy::Record),
            // An account that may not read the system identifier, and one that may.
            (("7/1", "D"), ("unknown/1", Durable), false, Copy::Same),
            (("unknown/1", "D"), ("7/1", Durable), false, Copy::Same),
            (("7/1", "D"), ("unknown/2", Durable), false, Copy::Refused),
            (
                ("server_id 1", "D"),
                ("server_id 2", Durable),
                false,
                Copy::Refused,
            ),
        ] {
            let judged = judge_copy(
                &meta(known.0, known.1),
                None,
                &probe(found.0, found.1),
                allow_lossy,
            );
            assert_eq!(judged, copy, "{known:?} {found:?} {allow_lossy}");
        }
        // A copy that lags says that it survives; this process has seen since that it need not.
        let (meta, probe) = (meta("7/1", "S"), probe("7/2", Durable));
        assert_eq!(judge_copy(&meta, Some(Durable), &probe, false), Copy::Refused);
        assert_eq!(judge_copy(&meta, Some(Survives), &probe, false), Copy::Record);
    }

    #[test]
    fn only_our_own_spelling_of_a_number_is_read() {
        assert_eq!(read_hex(&hex(u128::MAX)), Some(u128::MAX));
        assert_eq!(read_hex(&hex(1)), Some(1));
        for wrong in [
            "",
            "1",
            "+0000000000000000000000000000001",
            "0000000000000000000000000000000A",
            "0000000000000000000000000000000ü",
        ] {
            assert_eq!(read_hex(wrong), None, "{wrong:?}");
        }
    }
}
