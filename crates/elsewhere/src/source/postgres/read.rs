//! Reading sequences: a few statements, however many there are.

use std::collections::BTreeMap;

use super::note::Bounds;
use super::sequence::{Sequence, Stands, limits};
use super::{PgHeld, Sequences};
use crate::source::{
    ColumnUse, Counter, Finding, FindingCode, How, Listed, Severity, SourceError, SourceErrorKind, Wanted,
};
use crate::store::sql::row::{Arg, Column, Row};

/// How many sequences or columns one statement reads.
const CHUNK: usize = 200;

/// What the catalogue says, and whether the sequence itself may be read.
const CATALOGUE: &str = "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), quote_ident(n.nspname), \
    c.oid::bigint::text, (SELECT typname::text FROM pg_type WHERE oid = s.seqtypid), s.seqmin::text, s.seqmax::text, s.seqstart::text, \
    s.seqcycle::text, s.seqincrement::text, s.seqcache::text, obj_description(c.oid, 'pg_class'), \
    c.relpersistence::text, quote_ident(pg_get_userbyid(c.relowner)), \
    (has_schema_privilege(n.oid, 'USAGE') AND has_sequence_privilege(c.oid, 'SELECT'))::text, \
    CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END || c.relname FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relpersistence <> 't'";
const CATALOGUE_WIDTH: usize = 15;

/// The columns that sequences fill: `a` owned by it (serial), `i` identity, `n` a default that names it; and whether an
/// index begins with the column, whether one holds it alone and unique, and whether the account may read it.
const COLUMNS: &str = "SELECT u.seq::bigint::text, u.how, a.attidentity::text, \
    quote_ident(n.nspname) || '.' || quote_ident(c.relname), quote_ident(a.attname), \
    (SELECT b.typname::text FROM pg_type b WHERE b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END), \
    EXISTS (SELECT FROM pg_index i JOIN pg_class ic ON ic.oid = i.indexrelid JOIN pg_am m ON m.oid = ic.relam \
        WHERE i.indrelid = a.attrelid AND i.indkey[0] = a.attnum AND i.indisvalid AND i.indpred IS NULL \
        AND m.amname = 'btree')::text, \
    EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indkey[0] = a.attnum AND i.indisunique \
        AND i.indnkeyatts = 1 AND i.indisvalid AND i.indpred IS NULL)::text, \
    (has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT'))::text \
    FROM (SELECT d.objid AS seq, d.deptype::text AS how, d.refobjid AS rel, d.refobjsubid AS num FROM pg_depend d \
            WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i') \
            AND d.refobjsubid > 0 \
        UNION ALL SELECT d.refobjid, 'n', f.adrelid, f.adnum FROM pg_depend d \
            JOIN pg_attrdef f ON f.oid = d.objid WHERE d.classid = 'pg_attrdef'::regclass \
            AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'n') u \
    JOIN pg_sequence s ON s.seqrelid = u.seq JOIN pg_class c ON c.oid = u.rel \
    JOIN pg_namespace n ON n.oid = c.relnamespace \
    JOIN pg_attribute a ON a.attrelid = u.rel AND a.attnum = u.num AND NOT a.attisdropped \
    JOIN pg_type t ON t.oid = a.atttypid WHERE $1 = 0 OR u.seq::bigint = $1 \
    ORDER BY 1, 4, 5, CASE u.how WHEN 'n' THEN 1 ELSE 0 END";
const COLUMNS_WIDTH: usize = 9;

/// The subscriptions of this database.
const SUBSCRIPTIONS: &str = "SELECT subname::text FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid \
    WHERE d.datname = current_database() ORDER BY 1";

/// A row of texts.
pub(super) type Texts = Vec<Option<String>>;

/// Runs a query whose columns are texts.
pub(super) async fn texts(
    held: &mut PgHeld<'_>,
    sql: &str,
    args: &[Arg<'_>],
    width: usize,
) -> Result<Vec<Texts>, SourceError> {
    let rows = held.rows(sql, args, &vec![Column::Text; width]).await?;
    let own = |row: Row| row.iter().map(|field| field.text().map(String::from)).collect();
    Ok(rows.into_iter().map(own).collect())
}

fn word(row: &Texts, at: usize) -> &str {
    row.get(at).and_then(Option::as_deref).unwrap_or_default()
}

fn number(row: &Texts, at: usize) -> i128 {
    word(row, at).parse().unwrap_or_default()
}

/// The rows of many queries, together; halved where one of them is refused, so that only that is missing.
async fn joined(
    held: &mut PgHeld<'_>,
    parts: &[String],
    width: usize,
    failed: &mut Vec<String>,
) -> Result<Vec<Texts>, SourceError> {
    let mut rows = Vec::new();
    let mut left: Vec<&[String]> = parts.chunks(CHUNK).rev().collect();
    while let Some(parts) = left.pop() {
        match texts(held, &parts.join(" UNION ALL "), &[], width).await {
            Ok(found) => rows.extend(found),
            Err(error) if error.kind == SourceErrorKind::Unavailable => return Err(error),
            Err(error) if parts.len() == 1 => failed.push(error.message),
            Err(_) => {
                let (first, second) = parts.split_at(parts.len() / 2);
                left.extend([second, first]);
            }
        }
    }
    Ok(rows)
}

fn sequence_of(row: &Texts) -> (Sequence, bool) {
    let sequence = Sequence {
        key: word(row, 0).to_string(),
        schema: word(row, 1).to_string(),
        oid: i64::try_from(number(row, 2)).unwrap_or_default(),
        type_name: word(row, 3).to_string(),
        bounds: Bounds {
            min: number(row, 4),
            max: number(row, 5),
            start: number(row, 6),
            cycle: word(row, 7) == "true",
        },
        increment: i64::try_from(number(row, 8)).unwrap_or(1),
        cache: u64::try_from(number(row, 9)).unwrap_or(1),
        comment: row.get(10).cloned().flatten(),
        is_unlogged: word(row, 11) == "u",
        owner: word(row, 12).to_string(),
        plain: word(row, 14).to_string(),
        stands: None,
    };
    (sequence, word(row, 13) == "true")
}

/// One sequence by its schema and name, with where it stands.
pub(super) async fn one(
    held: &mut PgHeld<'_>,
    schema: Option<&str>,
    name: &str,
) -> Result<Option<Sequence>, SourceError> {
    let (place, args) = match &schema {
        Some(schema) => ("n.nspname = $2", vec![Arg::Text(name), Arg::Text(schema)]),
        None => ("pg_table_is_visible(c.oid)", vec![Arg::Text(name)]),
    };
    let sql = format!("{CATALOGUE} AND c.relname = $1 AND {place}");
    let Some(row) = texts(held, &sql, &args, CATALOGUE_WIDTH)
        .await?
        .into_iter()
        .next()
    else {
        return Ok(None);
    };
    let (mut sequence, may_read) = sequence_of(&row);
    if may_read {
        sequence.stands = Some(stands(held, &sequence.key).await?);
    }
    Ok(Some(sequence))
}

/// Where one stands.
pub(super) async fn stands(held: &mut PgHeld<'_>, key: &str) -> Result<Stands, SourceError> {
    let sql = format!("SELECT last_value::text, is_called::text FROM {key}");
    let rows = texts(held, &sql, &[], 2).await?;
    let row = rows
        .first()
        .ok_or_else(|| SourceError::new(SourceErrorKind::Gone, format!("no sequence {key}")))?;
    Ok(Stands {
        last: number(row, 0),
        is_called: word(row, 1) == "true",
    })
}

/// The account's name, quoted.
pub(super) async fn account(held: &mut PgHeld<'_>) -> Result<String, SourceError> {
    let rows = texts(held, "SELECT quote_ident(current_user)", &[], 1).await?;
    Ok(rows
        .first()
        .map(|row| word(row, 0).to_string())
        .unwrap_or_default())
}

/// Why nothing is known of the numbers in a column, so that nobody takes its counter for sound; `None`: they are read.
fn unread(column: &ColumnUse, may_read: bool, is_cheap: bool, account: &str) -> Option<Finding> {
    let name = format!("{}.{}", column.table, column.column);
    let (severity, why, fix) = match (may_read, is_cheap) {
        (true, true) => return None,
        (false, _) => (
            Severity::Warn,
            format!("the account may not read {name}"),
            Some(format!("GRANT SELECT ON {} TO {account}", column.table)),
        ),
        (true, false) => (
            Severity::Info,
            format!("no index begins with {name}, and the whole table would be read"),
            None,
        ),
    };
    Some(Finding {
        code: FindingCode::Unreadable,
        severity,
        text: format!("unreadable: {why}; whether it is behind is not known"),
        fix,
    })
}

impl Sequences {
    pub(super) async fn list_now(&self, wanted: &Wanted) -> Result<Listed, SourceError> {
        let mut held = self.link.hold("list of sequences").await?;
        let sql = format!("{CATALOGUE} ORDER BY 1 LIMIT {}", self.keys_max.saturating_add(1));
        let rows = texts(&mut held, &sql, &[], CATALOGUE_WIDTH).await?;
        let mut listed = Listed::default();
        if rows.len() as u64 > self.keys_max {
            listed.failed.push(format!(
                "{}: more than {} sequences: the others were not looked at",
                self.link.place(),
                self.keys_max
            ));
        }
        let most = usize::try_from(self.keys_max).unwrap_or(usize::MAX);
        let found = rows.iter().take(most).map(sequence_of);
        let mut found: Vec<_> = found.filter(|(found, _)| wanted.is_of(&found.key)).collect();
        let part = |(at, (found, _)): (usize, &(Sequence, bool))| {
            format!(
                "SELECT '{at}', last_value::text, is_called::text FROM {}",
                found.key
            )
        };
        let readable = found.iter().enumerate().filter(|(_, (_, may_read))| *may_read);
        let parts: Vec<String> = readable.map(part).collect();
        for row in joined(&mut held, &parts, 3, &mut listed.failed).await? {
            let at = usize::try_from(number(&row, 0)).unwrap_or(usize::MAX);
            if let Some((sequence, _)) = found.get_mut(at) {
                sequence.stands = Some(Stands {
                    last: number(&row, 1),
                    is_called: word(&row, 2) == "true",
                });
            }
        }
        let account = account(&mut held).await?;
        let mut counters = BTreeMap::new();
        for (sequence, _) in &found {
            counters.insert(sequence.oid, sequence.counter(&account));
        }
        self.add_columns(
            &mut held,
            &mut counters,
            (None, wanted.full),
            &account,
            &mut listed.failed,
        )
        .await?;
        self.add_subscriptions(&mut held, &mut counters).await?;
        held.done();
        listed.counters = counters.into_values().collect();
        listed.counters.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(listed)
    }

    pub(super) async fn look_now(&self, key: &str) -> Result<Option<Counter>, SourceError> {
        let mut held = self.link.hold(&format!("look at {key}")).await?;
        let Some(sequence) = self.find(&mut held, key).await? else {
            held.done();
            return Ok(None);
        };
        let account = account(&mut held).await?;
        let mut counters = BTreeMap::from([(sequence.oid, sequence.counter(&account))]);
        let mut failed = Vec::new();
        self.add_columns(
            &mut held,
            &mut counters,
            (Some(sequence.oid), false),
            &account,
            &mut failed,
        )
        .await?;
        self.add_subscriptions(&mut held, &mut counters).await?;
        held.done();
        Ok(counters.into_values().next())
    }

    async fn add_columns(
        &self,
        held: &mut PgHeld<'_>,
        counters: &mut BTreeMap<i64, Counter>,
        (only, full): (Option<i64>, bool),
        account: &str,
        failed: &mut Vec<String>,
    ) -> Result<(), SourceError> {
        let rows = texts(held, COLUMNS, &[Arg::Int(only.unwrap_or(0))], COLUMNS_WIDTH).await?;
        let mut parts = Vec::new();
        let mut places = Vec::new();
        for row in &rows {
            let oid = i64::try_from(number(row, 0)).unwrap_or_default();
            let Some(counter) = counters.get_mut(&oid) else {
                continue;
            };
            let column = column_of(row);
            // The default of a serial column names its sequence, too.
            let is_known =
                |known: &ColumnUse| (&known.table, &known.column) == (&column.table, &column.column);
            if counter.columns.iter().any(is_known) {
                continue;
            }
            let holds_numbers = column.type_name == "numeric" || limits(&column.type_name).0 > i128::MIN;
            let is_indexed = word(row, 6) == "true";
            let may_read = word(row, 8) == "true";
            if let (true, Some(finding)) = (
                holds_numbers,
                unread(&column, may_read, is_indexed || full, account),
            ) {
                counter.findings.push(finding);
            }
            if may_read && holds_numbers && (is_indexed || full) {
                let furthest = if counter.increment > 0 { "max" } else { "min" };
                let (table, column) = (&column.table, &column.column);
                let at = places.len();
                parts.push(format!(
                    "SELECT '{at}', trunc({furthest}({column})::numeric)::text FROM {table}"
                ));
                places.push((oid, counter.columns.len()));
            }
            counter.columns.push(column);
        }
        for row in joined(held, &parts, 2, failed).await? {
            let at = usize::try_from(number(&row, 0)).unwrap_or(usize::MAX);
            let place = places.get(at);
            let counter = place.and_then(|(oid, column)| Some((counters.get_mut(oid)?, *column)));
            if let Some(column) = counter.and_then(|(counter, column)| counter.columns.get_mut(column)) {
                column.highest = word(&row, 1).parse().ok();
            }
        }
        Ok(())
    }

    /// Marks do not travel with logical replication: where this database is a subscriber, every one is suspect.
    async fn add_subscriptions(
        &self,
        held: &mut PgHeld<'_>,
        counters: &mut BTreeMap<i64, Counter>,
    ) -> Result<(), SourceError> {
        let rows = match texts(held, SUBSCRIPTIONS, &[], 1).await {
            // Some hosts forbid it.
            Err(error) if error.kind == SourceErrorKind::Denied => return Ok(()),
            rows => rows?,
        };
        let names: Vec<&str> = rows.iter().map(|row| word(row, 0)).collect();
        if names.is_empty() {
            return Ok(());
        }
        for counter in counters.values_mut() {
            let next = counter.columns.first().map(|column| {
                format!(
                    "SELECT setval('{}', (SELECT max({}) FROM {}))",
                    counter.key.replace('\'', "''"),
                    column.column,
                    column.table
                )
            });
            counter.findings.push(Finding {
                code: FindingCode::NotReplicated,
                severity: Severity::Warn,
                text: format!(
                    "subscription {} brings rows here and no marks: after a switch-over it may give out what is there",
                    names.join(", ")
                ),
                fix: next,
            });
        }
        Ok(())
    }
}

fn column_of(row: &Texts) -> ColumnUse {
    let type_name = word(row, 5).to_string();
    let (min, max) = limits(&type_name);
    ColumnUse {
        table: word(row, 3).to_string(),
        column: word(row, 4).to_string(),
        min,
        max,
        type_name,
        highest: None,
        unique: word(row, 7) == "true",
        how: match (word(row, 1), word(row, 2)) {
            ("i", "a") => How::IdentityAlways,
            ("i", _) => How::Identity,
            ("a", _) => How::Owned,
            _ => How::Default,
        },
    }
}
