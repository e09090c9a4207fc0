//! The statements of the SQL stores, written once.
//!
//! Every one of them looks at the cluster id: reads carry it in their first columns, writes have it in their
//! condition. So no write can land in another cluster's tables, whatever stands between this process and the
//! server (a proxy, a failover, a pooler that hands out another connection).

use std::sync::Arc;

use super::row::Column;
use crate::PROGRESS_KEY;

/// The schema version that this program makes and understands.
pub(in super::super) const SCHEMA_VERSION: i64 = 1;

/// The key of the register that tells an emptied table from a fresh one. Outside the key grammar, so that no
/// caller can name it, and before every key.
pub(in super::super) const SENTINEL: &str = "!cluster";

/// Where one server's SQL differs from the other's.
#[derive(Clone, Copy, Debug)]
pub struct Texts {
    /// Parameters are `$1`, `$2`, … instead of `?`, and names are not quoted with backticks.
    pub(in super::super) numbered: bool,
    /// What makes an insert of an existing key match no row; where empty, it fails as [`super::session::Sort::Duplicate`].
    pub(in super::super) unless_there: &'static str,
    /// The condition or the clause with which a write that matched answers the number that it was given, as its last
    /// parameter: one of the two, the other is empty.
    pub(in super::super) numbers: &'static str,
    /// See `numbers`; at the very end.
    pub(in super::super) returns: &'static str,
    /// The server's clock, in microseconds since 1970.
    pub(in super::super) wall: &'static str,
    /// The age of `written_at` in whole seconds.
    pub(in super::super) age: &'static str,
    /// The tables.
    pub(in super::super) schema: &'static str,
}

/// Every statement that a store runs, in one server's SQL.
#[derive(Debug)]
pub(in super::super) struct Statements {
    /// `(key)` -> [`HEAD`] and [`REGISTER`], whose columns are NULL for an absent register.
    pub(super) get: Arc<str>,
    /// `(first key, end, limit)` -> one row as `get` of an absent register, then those that are there.
    pub(super) page_from: Arc<str>,
    /// `(key before, end, limit)` -> rows as `page_from`.
    pub(super) page_after: Arc<str>,
    /// `(key, mark, token, body, cluster, number)`
    pub(super) insert: Arc<str>,
    /// `(mark, token, body, key, version, highest old mark, cluster, number)`
    pub(super) update: Arc<str>,
    /// `(add, token, key, version, highest old mark, cluster, number)`
    pub(super) add: Arc<str>,
    /// `(key, version, cluster)`
    pub(super) delete: Arc<str>,
    /// `()` -> [`META`]
    pub(super) meta: Arc<str>,
    /// `(copy, class, cluster, old copy, old class)`
    pub(super) record: Arc<str>,
    /// `()` -> [`super::vouched::BEATS`]
    pub(super) beats: Arc<str>,
    /// `(cluster, copy, class)`
    pub(super) insert_meta: Arc<str>,
    /// `(token, body)`
    pub(super) insert_sentinel: Arc<str>,
    /// `(new cluster, cluster)`
    pub(super) rename_meta: Arc<str>,
    /// `(token, body)`
    pub(super) rename_sentinel: Arc<str>,
    /// `()` -> one row with 1, or none, when there is any register
    pub(super) any_register: Arc<str>,
    /// `()` -> microseconds
    pub(super) wall: Arc<str>,
}

/// Schema version, cluster id, version of the sentinel.
pub(super) const HEAD: [Column; 3] = [Column::Int, Column::Text, Column::Int];

/// Head, then key, version, mark, token, body.
pub(super) const REGISTER: [Column; 8] = [
    HEAD[0],
    HEAD[1],
    HEAD[2],
    Column::Text,
    Column::Int,
    Column::Int,
    Column::Text,
    Column::Text,
];

/// Head, then copy and class.
pub(super) const META: [Column; 5] = [HEAD[0], HEAD[1], HEAD[2], Column::Text, Column::Text];

impl Statements {
    pub(in super::super) fn new(texts: &Texts) -> Statements {
        let head = "m.schema_version, m.cluster_id, s.version";
        let sentinel = format!("mint_register s ON s.`key` = '{SENTINEL}'");
        let ours = format!(
            "EXISTS (SELECT 1 FROM mint_meta m WHERE m.one = 1 AND m.cluster_id = ? \
             AND m.schema_version = {SCHEMA_VERSION})"
        );
        let now = "written_at = CURRENT_TIMESTAMP(6)";
        // Two parts, so that neither server needs a temporary table to sort: it is faster, and MariaDB dies if another
        // instance that starts with the same `tmpdir` has removed the table's files meanwhile.
        let page = |compare: &str| {
            format!(
                "SELECT {head}, NULL, NULL, NULL, NULL, NULL \
                 FROM mint_meta m LEFT JOIN {sentinel} WHERE m.one = 1 UNION ALL \
                 (SELECT {head}, r.`key`, r.version, r.mark, r.token, r.body \
                 FROM mint_meta m JOIN {sentinel} CROSS JOIN mint_register r \
                 WHERE m.one = 1 AND r.`key` {compare} ? AND r.`key` < ? ORDER BY r.`key` LIMIT ?)"
            )
        };
        let text = |sql: String| -> Arc<str> {
            match texts.numbered {
                true => numbered(&sql).into(),
                false => sql.into(),
            }
        };
        Statements {
            get: text(format!(
                "SELECT {head}, r.`key`, r.version, r.mark, r.token, r.body \
                 FROM mint_meta m LEFT JOIN {sentinel} LEFT JOIN mint_register r ON r.`key` = ? WHERE m.one = 1"
            )),
            page_from: text(page(">=")),
            page_after: text(page(">")),
            insert: text(format!(
                "INSERT INTO mint_register (`key`, version, mark, token, body, written_at) \
                 SELECT ?, 1, ?, ?, ?, CURRENT_TIMESTAMP(6) FROM mint_meta m JOIN {sentinel} \
                 WHERE m.one = 1 AND m.cluster_id = ? AND m.schema_version = {SCHEMA_VERSION}{}{}{}",
                texts.numbers, texts.unless_there, texts.returns
            )),
            update: text(format!(
                "UPDATE mint_register SET version = version + 1, mark = ?, token = ?, body = ?, {now} \
                 WHERE `key` = ? AND version = ? AND mark <= ? AND {ours}{}{}",
                texts.numbers, texts.returns
            )),
            add: text(format!(
                "UPDATE mint_register SET version = version + 1, mark = mark + ?, token = ?, {now} \
                 WHERE `key` = ? AND version = ? AND mark <= ? AND {ours}{}{}",
                texts.numbers, texts.returns
            )),
            delete: text(format!(
                "DELETE FROM mint_register WHERE `key` = ? AND version = ? AND mark = 0 AND {ours}"
            )),
            meta: text(format!(
                "SELECT {head}, m.incarnation, m.class FROM mint_meta m LEFT JOIN {sentinel} WHERE m.one = 1"
            )),
            record: text(
                "UPDATE mint_meta SET incarnation = ?, class = ? \
                 WHERE one = 1 AND cluster_id = ? AND incarnation = ? AND class = ?"
                    .into(),
            ),
            beats: text(format!(
                "SELECT `key`, {}, body FROM mint_register \
                 WHERE `key` = '{PROGRESS_KEY}' OR `key` >= 'instance/' AND `key` < 'instance0'",
                texts.age
            )),
            insert_meta: text(format!(
                "INSERT INTO mint_meta (one, schema_version, cluster_id, incarnation, class, made_at) \
                 VALUES (1, {SCHEMA_VERSION}, ?, ?, ?, CURRENT_TIMESTAMP(6))"
            )),
            insert_sentinel: text(format!(
                "INSERT INTO mint_register (`key`, version, mark, token, body, written_at) \
                 VALUES ('{SENTINEL}', 1, 0, ?, ?, CURRENT_TIMESTAMP(6))"
            )),
            rename_meta: text("UPDATE mint_meta SET cluster_id = ? WHERE one = 1 AND cluster_id = ?".into()),
            rename_sentinel: text(format!(
                "UPDATE mint_register SET token = ?, body = ? WHERE `key` = '{SENTINEL}'"
            )),
            any_register: text("SELECT version FROM mint_register LIMIT 1".into()),
            wall: text(texts.wall.into()),
        }
    }
}

/// Turns `?` into `$1`, `$2`, … and drops backticks. No statement has either inside a literal.
fn numbered(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 16);
    let mut parameters = 0;
    for c in sql.chars() {
        match c {
            '?' => {
                parameters += 1;
                out.push_str(&format!("${parameters}"));
            }
            '`' => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn parameters_are_numbered_from_one() {
        assert_eq!(
            super::numbered("SELECT `key` FROM t WHERE a = ? AND b < ?"),
            "SELECT key FROM t WHERE a = $1 AND b < $2"
        );
    }
}
