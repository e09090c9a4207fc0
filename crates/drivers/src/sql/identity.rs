//! Which store this is: schema version, cluster id, and the copy of the data that answers.

use super::super::{Class, Outcome, StoreError, StoreErrorKind};
use super::galera;
use super::row::Field;
use super::session::Probe;
use super::statements::SCHEMA_VERSION;
use super::vouched::WRITTEN_WITHIN_S;
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
    /// A copy that says of itself that it lacks nothing took over: to be written down if somebody else vouches for that.
    Unvouched,
    /// The copy that is known has fallen from a class that another one had, perhaps since it lives on beside a promoted
    /// one: to be written down if the other servers use it.
    Fallen,
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

/// What a process has seen of the store before.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The class, if it was seen so lately that the process can vouch for it.
    pub(super) class: Option<Class>,
    /// The copy of the data.
    pub(super) copy: String,
}

/// Whether a copy is one from before another that was followed: PostgreSQL counts timelines up with every promotion.
fn is_older(copy: &str, than: &str) -> bool {
    let read = |copy: &str| {
        let (system, line) = copy.split_once('/')?;
        Some((system.to_string(), u64::from_str_radix(line, 16).ok()?))
    };
    match (read(copy), read(than)) {
        (Some((system, line)), Some((other, followed))) => system == other && line < followed,
        _ => false,
    }
}

/// Compares the copy that answers with the one in `mint_meta`, and both with what this process knows.
/// Only a class that both that row and somebody else know to be [`Class::Survives`] lets another copy take over.
/// `is_new`: the connection was made just now, so that this process may have been away.
pub(super) fn judge_copy(
    meta: &MetaRow,
    known: Option<&Known>,
    probe: &Probe,
    allow_lossy: bool,
    is_new: bool,
) -> Copy {
    if !allow_lossy && known.is_some_and(|known| is_older(&probe.copy, &known.copy)) {
        return Copy::Refused;
    }
    let known = known.and_then(|known| known.class);
    let same = same_copy(&meta.copy, &probe.copy);
    let survives = meta.class == letter(Class::Survives);
    if same && meta.class == letter(probe.durability.class) {
        return Copy::Same;
    }
    let knew_better = known.is_none_or(|class| class == Class::Survives);
    if same && survives && knew_better && is_new && !allow_lossy {
        return Copy::Fallen;
    }
    if same || allow_lossy || galera::goes_on(&meta.copy, &probe.copy) {
        return Copy::Record;
    }
    match known {
        Some(Class::Survives) if survives => Copy::Record,
        None if survives => Copy::Unvouched,
        _ => Copy::Refused,
    }
}

/// The copy that is known has fallen from class S while this process was away (docs/stores-sql.md).
pub(super) fn fallen(store: &str, probe: &Probe) -> StoreError {
    refused(
        StoreErrorKind::Unavailable,
        store,
        format!(
            "it is the copy that is known ({}), of class {} now, and was of class S before this server lost its \
             connection; no other server writes to it: a standby may have been promoted, which the others use",
            probe.copy,
            letter(probe.durability.class)
        ),
        Advice::AcceptFallen,
    )
}

/// Another copy took over where that may have lost something (docs/stores-sql.md).
pub(super) fn taken_over(store: &str, meta: &MetaRow, probe: &Probe) -> StoreError {
    let unvouched = match meta.class == letter(Class::Survives) {
        true => format!(
            "; that the class was S to the end is said by this copy alone: no server runs that has seen it lately, and \
             none has written to it within {WRITTEN_WITHIN_S} s"
        ),
        false => String::new(),
    };
    refused(
        StoreErrorKind::Foreign,
        store,
        format!(
            "another copy of the data answers ({}) than the one that acknowledged the last writes ({}, class {}): \
             a replica was promoted, or the database was restored or moved, and marks may have gone back{unvouched}",
            probe.copy, meta.copy, meta.class
        ),
        Advice::AcceptCopy,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Durability;

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
            durability: Durability::plain(class, ""),
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
            (("7/1", "S"), ("7/1", Durable), false, Copy::Fallen),
            (("7/1", "S"), ("7/1", Durable), true, Copy::Record),
            (("7/1", "D"), ("7/2", Durable), false, Copy::Refused),
            (("7/1", "D"), ("7/2", Survives), false, Copy::Refused),
            (("7/1", "L"), ("7/2", Durable), false, Copy::Refused),
            (("7/1", "S"), ("7/2", Durable), false, Copy::Unvouched),
            (("7/1", "S"), ("7/2", Durable), true, Copy::Record),
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
                true,
            );
            assert_eq!(judged, copy, "{known:?} {found:?} {allow_lossy}");
        }
        // A copy that lags says that it survives; this process has seen since that it need not.
        let seen = |class| Known {
            class: Some(class),
            copy: "7/1".into(),
        };
        let (meta, other) = (meta("7/1", "S"), probe("7/2", Durable));
        let judge = |known: Option<Known>, probe: &Probe, accept, is_new| {
            judge_copy(&meta, known.as_ref(), probe, accept, is_new)
        };
        assert_eq!(judge(Some(seen(Durable)), &other, false, true), Copy::Refused);
        assert_eq!(judge(Some(seen(Survives)), &other, false, true), Copy::Record);
        // The old primary, beside a promoted standby; or its settings were changed under a connection that lives.
        let old = probe("7/1", Durable);
        assert_eq!(judge(Some(seen(Survives)), &old, false, true), Copy::Fallen);
        assert_eq!(judge(Some(seen(Survives)), &old, false, false), Copy::Record);
        assert_eq!(judge(Some(seen(Survives)), &old, true, true), Copy::Record);
        assert_eq!(judge(Some(seen(Durable)), &old, false, true), Copy::Record);
        // And one who has followed the promoted one.
        let followed = Known {
            class: Some(Durable),
            copy: "7/2".into(),
        };
        assert_eq!(judge(Some(followed), &old, false, false), Copy::Refused);
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
