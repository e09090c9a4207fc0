//! What the sources in MySQL and MariaDB share: names in quotes, what integer types hold, the server's version and
//! numbering, rights and their GRANT in words, patience with locks.

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::source::error::{SourceError, SourceErrorKind};
use crate::source::link::{Held, Link};
use crate::source::registry::is_no_home;
use crate::source::{Counter, How, Wanted};
use crate::store::mysql::MySql;
use crate::store::sql::row::{Arg, Column, Field};
use crate::store::{Durability, Outcome};

pub(super) type MyLink = Arc<Link<MySql>>;
pub(super) type MyHeld<'a> = Held<'a, MySql>;

/// One row of an answer whose columns are all read as text.
pub(super) type TextRow = Vec<Option<String>>;

/// How often a statement that waits for other people's locks is tried.
const TRIES: u32 = 5;

/// The pause after the first try; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// How long one try waits for locks at most, in seconds: writers queue behind it.
const LOCK_WAIT_S: u64 = 5;

/// How many tables one statement reads.
pub(super) const CHUNK: usize = 200;

/// The longest name of a table or trigger, in characters.
const NAME_MAX_CHARS: usize = 64;

/// What a table is called that was moved to us.
const MOVED: &str = "_moved_to_mint";

/// The schemas of the server itself, for `NOT IN`.
pub(super) const ITS_OWN: &str = "('mysql', 'information_schema', 'performance_schema', 'sys')";

/// A name in quotes.
pub(super) fn name(text: &str) -> String {
    format!("`{}`", text.replace('`', "``"))
}

/// A text in quotes.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// A table with its schema.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Table {
    pub(super) schema: String,
    pub(super) name: String,
}

impl Table {
    pub(super) fn new(schema: &str, name: &str) -> Table {
        Table {
            schema: schema.to_string(),
            name: name.to_string(),
        }
    }

    pub(super) fn quoted(&self) -> String {
        format!("{}.{}", name(&self.schema), name(&self.name))
    }

    /// As people write it.
    pub(super) fn plain(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// What it is called while its counter is ours.
    pub(super) fn moved(&self) -> Table {
        let moved = format!("{}{MOVED}", self.name);
        let fits = moved.chars().count() <= NAME_MAX_CHARS;
        let moved = if fits {
            moved
        } else {
            format!("{}{MOVED}", digest(&self.name))
        };
        Table::new(&self.schema, &moved)
    }
}

/// The name before the move of a table that is called like one that was moved; `None`: it is not, or its name was too
/// long to be kept.
pub(super) fn unmoved(name: &str) -> Option<&str> {
    name.strip_suffix(MOVED).filter(|name| !name.is_empty())
}

/// A name of ours for something of a table; the table's name where it fits.
pub(super) fn name_for(prefix: &str, table: &str) -> String {
    let named = format!("{prefix}{table}");
    match named.chars().count() <= NAME_MAX_CHARS {
        true => named,
        false => format!("{prefix}{}", digest(table)),
    }
}

/// 16 digits that stand for a name.
fn digest(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every way to read a key as `parts` names that are parted by full stops: names may hold such too.
pub(super) fn splits(key: &str, parts: usize) -> Vec<Vec<String>> {
    if parts <= 1 {
        return match key.is_empty() {
            true => Vec::new(),
            false => vec![vec![key.to_string()]],
        };
    }
    let mut found = Vec::new();
    for (at, _) in key.match_indices('.').filter(|(at, _)| *at > 0) {
        for rest in splits(&key[at + 1..], parts - 1) {
            let mut names = vec![key[..at].to_string()];
            names.extend(rest);
            found.push(names);
        }
    }
    found
}

/// What a type of whole numbers holds; `None`: it holds others, too.
pub(super) fn limits(column_type: &str) -> Option<(i128, i128)> {
    let lower = column_type.to_ascii_lowercase();
    let bits = match lower.split([' ', '(']).next().unwrap_or_default() {
        "tinyint" => 8,
        "smallint" => 16,
        "mediumint" => 24,
        "int" | "integer" => 32,
        "bigint" => 64,
        // Both hold every whole number up to there.
        "float" => return Some((-(1 << 24), 1 << 24)),
        "double" => return Some((-(1 << 53), 1 << 53)),
        _ => return None,
    };
    match lower.contains("unsigned") {
        true => Some((0, (1i128 << bits) - 1)),
        false => Some((-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)),
    }
}

/// Reads rows of texts.
pub(super) async fn texts(
    held: &mut MyHeld<'_>,
    sql: &str,
    args: &[Arg<'_>],
    width: usize,
) -> Result<Vec<TextRow>, SourceError> {
    let shape = vec![Column::Text; width];
    let rows = held.rows(sql, args, &shape).await?;
    Ok(rows.into_iter().map(text_row).collect())
}

pub(super) fn text_row(row: Vec<Field>) -> TextRow {
    let fields = row.into_iter();
    fields
        .map(|field| match field {
            Field::Text(text) => Some(text),
            _ => None,
        })
        .collect()
}

/// A field of a row as text; empty where it is NULL.
pub(super) fn word(row: &TextRow, at: usize) -> &str {
    row.get(at).and_then(Option::as_deref).unwrap_or_default()
}

/// A field of a row as a number; `None` where it is NULL.
pub(super) fn number(row: &TextRow, at: usize) -> Option<i128> {
    word(row, at).parse().ok()
}

/// What a server says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Host {
    pub(super) version: String,
    /// The step of generated numbers, and where they begin.
    pub(super) increment: i64,
    pub(super) offset: i64,
    /// Which server it is, for comparison with its partner.
    pub(super) identity: String,
}

impl Host {
    pub(super) async fn read(held: &mut MyHeld<'_>) -> Result<Host, SourceError> {
        let sql = "SELECT VERSION(), CAST(@@session.auto_increment_increment AS CHAR), \
                   CAST(@@session.auto_increment_offset AS CHAR), \
                   CONCAT(@@server_id, ' ', @@hostname, ':', @@port)";
        let rows = texts(held, sql, &[], 4).await?;
        let row = rows.first().cloned().unwrap_or_default();
        let host = Host {
            version: word(&row, 0).to_string(),
            increment: word(&row, 1).parse().unwrap_or(1).max(1),
            offset: word(&row, 2).parse().unwrap_or(1).max(1),
            identity: word(&row, 3).to_string(),
        };
        if host.is_mysql_8() {
            // What it keeps about tables may be a day old.
            held.script("SET SESSION information_schema_stats_expiry = 0")
                .await?;
        }
        Ok(host)
    }

    fn is_mariadb(&self) -> bool {
        self.version.contains("MariaDB")
    }

    fn is_mysql_8(&self) -> bool {
        !self.is_mariadb() && self.numbers() >= [8, 0, 0]
    }

    fn numbers(&self) -> [u32; 3] {
        // Old MariaDB speaks of itself as a MySQL 5.5.5 first.
        let version = self.version.strip_prefix("5.5.5-").unwrap_or(&self.version);
        let mut parts = version.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
        [(); 3].map(|()| parts.next().unwrap_or(0))
    }

    /// Whether InnoDB forgets its counters at a restart, and begins again above the largest number that is left.
    pub(super) fn forgets_counters(&self) -> bool {
        match self.is_mariadb() {
            true => self.numbers() < [10, 2, 4],
            false => self.numbers() < [8, 0, 0],
        }
    }

    /// The first number at or above this one that the server would generate.
    pub(super) fn align(&self, number: i128) -> i128 {
        let (step, offset) = (i128::from(self.increment), i128::from(self.offset));
        // The server takes no notice of an offset above the step.
        let offset = if offset > step { 1 } else { offset };
        number + (offset - number).rem_euclid(step)
    }
}

/// The account in quotes, and the rights that it lacks for a table, as one GRANT; none if it lacks nothing, or has a role
/// whose rights it cannot see.
pub(super) async fn missing(
    held: &mut MyHeld<'_>,
    table: &Table,
    needed: &[&str],
) -> Result<Vec<String>, SourceError> {
    let account = account(held).await?;
    let sql = "SELECT privilege_type FROM information_schema.user_privileges WHERE grantee = ? \
               UNION SELECT privilege_type FROM information_schema.schema_privileges \
               WHERE grantee = ? AND ? LIKE table_schema \
               UNION SELECT privilege_type FROM information_schema.table_privileges \
               WHERE grantee = ? AND table_schema = ? AND table_name = ?";
    let (who, schema) = (Arg::Text(&account), Arg::Text(&table.schema));
    let args = [who, who, schema, who, schema, Arg::Text(&table.name)];
    let rows = texts(held, sql, &args, 1).await?;
    // Servers without roles have no such table.
    let roles = texts(
        held,
        "SELECT role_name FROM information_schema.applicable_roles",
        &[],
        1,
    )
    .await;
    if roles.is_ok_and(|roles| !roles.is_empty()) {
        return Ok(Vec::new());
    }
    let has = |right: &str| rows.iter().any(|row| word(row, 0) == right);
    let lacking: Vec<&str> = needed.iter().copied().filter(|right| !has(right)).collect();
    Ok(match lacking.is_empty() {
        true => Vec::new(),
        false => vec![grant(&account, table, &lacking)],
    })
}

/// Beside a binary log only some accounts may make triggers, unless the server trusts all: the statement that has it do so.
pub(super) async fn no_triggers(held: &mut MyHeld<'_>) -> Result<Option<String>, SourceError> {
    let sql = "SELECT CAST(@@log_bin AS CHAR), CAST(@@log_bin_trust_function_creators AS CHAR)";
    let rows = texts(held, sql, &[], 2).await?;
    let is = |at: usize| rows.first().is_some_and(|row| word(row, at) == "1");
    if !is(0) || is(1) {
        return Ok(None);
    }
    let account = account(held).await?;
    let sql = "SELECT privilege_type FROM information_schema.user_privileges \
               WHERE grantee = ? AND privilege_type IN ('SUPER', 'BINLOG ADMIN')";
    let found = texts(held, sql, &[Arg::Text(&account)], 1).await?;
    let trust = "SET GLOBAL log_bin_trust_function_creators = 1";
    Ok(found.is_empty().then(|| trust.to_string()))
}

/// The statement that gives rights; LOCK TABLES can be given for a whole schema only, and so are those that a table of
/// another name needs.
fn grant(account: &str, table: &Table, rights: &[&str]) -> String {
    let is_wide = ["LOCK TABLES", "CREATE", "DROP"]
        .iter()
        .any(|wide| rights.contains(wide));
    let place = match is_wide {
        true => format!("{}.*", name(&table.schema)),
        false => table.quoted(),
    };
    format!("GRANT {} ON {place} TO {account}", rights.join(", "))
}

async fn account(held: &mut MyHeld<'_>) -> Result<String, SourceError> {
    let rows = texts(held, "SELECT CURRENT_USER()", &[], 1).await?;
    let account = rows.first().map(|row| word(row, 0)).unwrap_or_default();
    let (user, host) = account.rsplit_once('@').unwrap_or((account, "%"));
    Ok(format!("{}@{}", literal(user), literal(host)))
}

/// The table of a key of so many names. They may hold full stops: the one that is there, or that was moved, is meant.
pub(super) async fn resolved(held: &mut MyHeld<'_>, key: &str, parts: usize) -> Result<Table, SourceError> {
    let mut tables: Vec<Table> = splits(key, parts)
        .iter()
        .map(|names| Table::new(&names[0], &names[1]))
        .collect();
    if tables.len() > 1 {
        let sql = "SELECT table_name FROM information_schema.tables \
                   WHERE table_schema = ? AND (table_name = ? OR table_name = ?)";
        for (at, table) in tables.iter().enumerate() {
            let moved = table.moved();
            let args = [&table.schema, &table.name, &moved.name].map(|name| Arg::Text(name));
            if !texts(held, sql, &args, 1).await?.is_empty() {
                return Ok(tables.swap_remove(at));
            }
        }
    }
    Ok(tables.into_iter().next().unwrap_or_else(|| Table::new("", key)))
}

/// Adds to a refusal for want of rights what would grant them.
pub(super) async fn explained<T>(
    link: &MyLink,
    (key, parts): (&str, usize),
    needed: &[&str],
    answer: Result<T, SourceError>,
) -> Result<T, SourceError> {
    let error = match answer {
        Err(error) if error.kind == SourceErrorKind::Denied && error.fix.is_none() => error,
        other => return other,
    };
    // CREATE TRIGGER beside a binary log.
    if error.message.contains("log_bin_trust_function_creators") {
        return Err(error.with_fix("SET GLOBAL log_bin_trust_function_creators = 1"));
    }
    let Ok(mut held) = link.hold("rights").await else {
        return Err(error);
    };
    let grants = match resolved(&mut held, key, parts).await {
        Ok(table) => missing(&mut held, &table, needed).await,
        Err(error) => Err(error),
    };
    // A session does not see rights on its database that are granted later: this one is not kept.
    drop(held);
    match grants {
        Ok(grants) if !grants.is_empty() => Err(error.with_fix(grants.join("; "))),
        _ => Err(error),
    }
}

/// What the server may forget: the judgement of the store on the same server.
pub(super) async fn durability(link: &MyLink) -> Result<Durability, SourceError> {
    let mut held = link.hold("durability").await?;
    let probe = held.probe().await?;
    held.done();
    Ok(probe.durability)
}

/// Says how long statements of a session wait for the locks of others: half as long as we wait for their answer, so that
/// it comes in time and it is known that nothing was done.
pub(super) async fn wait_briefly(link: &MyLink, held: &mut MyHeld<'_>) -> Result<(), SourceError> {
    held.script(&format!("SET SESSION lock_wait_timeout = {}", patience_s(link)))
        .await
}

fn patience_s(link: &MyLink) -> u64 {
    let answer_s = link.settings.request_timeout.as_secs();
    (answer_s / 2).clamp(1, LOCK_WAIT_S)
}

/// Makes the session the only one that changes the fence of a key, until [`disown`] or its end. Needs no right, and is
/// lost with the server, as the sessions are.
pub(super) async fn own(link: &MyLink, held: &mut MyHeld<'_>, key: &str) -> Result<(), SourceError> {
    let sql = format!(
        "SELECT CAST(GET_LOCK({}, {}) AS CHAR)",
        lock_name(key),
        patience_s(link)
    );
    let rows = texts(held, &sql, &[], 1).await?;
    match rows.first().map(|row| word(row, 0)) {
        Some("1") => Ok(()),
        _ => {
            let why = format!("{key}: another session changes its fence");
            Err(error(link, SourceErrorKind::Unavailable, &why))
        }
    }
}

/// Ends [`own`] and keeps the session; one that does not answer is closed, which ends it, too.
pub(super) async fn disown(mut held: MyHeld<'_>, key: &str) {
    let sql = format!("DO RELEASE_LOCK({})", lock_name(key));
    if held.script(&sql).await.is_ok() {
        held.done();
    }
}

/// Locks of this kind are the whole server's, and their names end at 64 characters.
fn lock_name(key: &str) -> String {
    literal(&format!("mint_fence_{}", digest(key)))
}

/// How often to try again what waits for locks.
pub(super) struct Patience<'a> {
    link: &'a MyLink,
    tries: u32,
    pause: Duration,
}

impl<'a> Patience<'a> {
    pub(super) fn new(link: &'a MyLink) -> Patience<'a> {
        Patience {
            link,
            tries: 1,
            pause: FIRST_PAUSE,
        }
    }

    /// Whether it is worth another try, after a pause.
    pub(super) async fn again(&mut self, error: &SourceError) -> bool {
        let may_pass = error.kind == SourceErrorKind::Unavailable && error.outcome == Outcome::NotDone;
        if !may_pass || self.tries >= TRIES {
            return false;
        }
        self.tries += 1;
        self.link.runtime.sleep(self.pause).await;
        self.pause *= 2;
        true
    }
}

/// Locks a table against everybody else, or says that it is gone. Ended by `UNLOCK TABLES`, or with the session.
pub(super) async fn lock(link: &MyLink, held: &mut MyHeld<'_>, table: &Table) -> Result<(), SourceError> {
    wait_briefly(link, held).await?;
    let locked = held
        .script(&format!("LOCK TABLES {} WRITE", table.quoted()))
        .await;
    // A lock alone changes nothing.
    locked.map_err(|error| SourceError {
        outcome: Outcome::NotDone,
        ..error
    })
}

pub(super) fn error(link: &MyLink, kind: SourceErrorKind, what: &str) -> SourceError {
    SourceError::new(kind, format!("{}: {what}", link.place()))
}

pub(super) fn gone(link: &MyLink, key: &str) -> SourceError {
    error(
        link,
        SourceErrorKind::Gone,
        &format!("no counter {key}, or the account may not see it"),
    )
}

/// The largest numbers of columns, in statements over [`CHUNK`] tables each. What cannot be read is said in `failed`.
pub(super) async fn highest(
    held: &mut MyHeld<'_>,
    columns: &[(Table, String)],
    failed: &mut Vec<String>,
) -> Result<Vec<Option<i128>>, SourceError> {
    let mut found = vec![None; columns.len()];
    for (chunk, columns) in columns.chunks(CHUNK).enumerate() {
        let one = |(at, (table, column)): (usize, &(Table, String))| {
            format!(
                "SELECT '{}', CAST(MAX({}) AS CHAR) FROM {}",
                chunk * CHUNK + at,
                name(column),
                table.quoted()
            )
        };
        let parts: Vec<String> = columns.iter().enumerate().map(one).collect();
        for row in union(held, &parts, failed).await? {
            let at = number(&row, 0).and_then(|at| usize::try_from(at).ok());
            if let Some(place) = at.and_then(|at| found.get_mut(at)) {
                *place = number_of_float(&row, 1);
            }
        }
    }
    Ok(found)
}

/// A column of a type with a fraction prints one.
fn number_of_float(row: &TextRow, at: usize) -> Option<i128> {
    let text = word(row, at);
    text.split('.').next()?.parse().ok()
}

/// Two columns each, together; one after the other where one of them cannot be read.
async fn union(
    held: &mut MyHeld<'_>,
    parts: &[String],
    failed: &mut Vec<String>,
) -> Result<Vec<TextRow>, SourceError> {
    joined(held, parts, 2, failed).await
}

/// The rows of many queries of the same width, together; one after the other where one of them is refused.
pub(super) async fn joined(
    held: &mut MyHeld<'_>,
    parts: &[String],
    width: usize,
    failed: &mut Vec<String>,
) -> Result<Vec<TextRow>, SourceError> {
    match texts(held, &parts.join(" UNION ALL "), &[], width).await {
        Err(error) if error.kind != SourceErrorKind::Unavailable => {}
        other => return other,
    }
    let mut rows = Vec::new();
    for part in parts {
        match texts(held, part, &[], width).await {
            Ok(found) => rows.extend(found),
            Err(error) if error.kind == SourceErrorKind::Unavailable => return Err(error),
            Err(error) => failed.push(error.message),
        }
    }
    Ok(rows)
}

/// The database that the URL names.
pub(super) async fn home(held: &mut MyHeld<'_>) -> Result<Option<String>, SourceError> {
    let rows = texts(held, "SELECT DATABASE()", &[], 1).await?;
    let home = rows.first().and_then(|row| row[0].clone());
    Ok(home.filter(|home| !is_no_home(home)))
}

/// Whether counters of a schema are wanted.
pub(super) fn is_wanted_of(wanted: &Wanted, home: Option<&str>, schema: &str) -> bool {
    !wanted.at_home || home.is_none_or(|home| home == schema)
}

/// Says what clients call counters: without the database that they are connected to, which is the URL's, and by the table
/// where that has one generated column.
pub(super) fn call(counters: &mut [Counter], home: Option<&str>) {
    for counter in counters {
        let generated = counter
            .columns
            .iter()
            .find(|column| column.how == How::AutoIncrement);
        let full = generated.map_or(counter.key.as_str(), |column| column.table.as_str());
        let bare = home.and_then(|home| full.strip_prefix(home)?.strip_prefix('.'));
        counter.called = Some(bare.unwrap_or(full).to_string());
        counter.face = Some("mysql");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(version: &str, increment: i64, offset: i64) -> Host {
        Host {
            version: version.into(),
            increment,
            offset,
            identity: String::new(),
        }
    }

    #[test]
    fn names_and_texts_cannot_end_their_quotes() {
        assert_eq!(name("a`b"), "`a``b`");
        assert_eq!(literal("a'b\\c"), "'a''b\\\\c'");
        assert_eq!(Table::new("a`", "b.c").quoted(), "`a```.`b.c`");
    }

    #[test]
    fn keys_are_read_in_every_way() {
        assert_eq!(splits("a.b.c", 3), [["a", "b", "c"]]);
        assert_eq!(splits("a.b.c", 2), [["a", "b.c"], ["a.b", "c"]]);
        assert!(splits("a.b", 3).is_empty() && splits("a.", 2).is_empty() && splits(".a", 2).is_empty());
    }

    #[test]
    fn types_say_what_they_hold() {
        assert_eq!(limits("bigint(20)"), Some((i64::MIN.into(), i64::MAX.into())));
        assert_eq!(limits("BIGINT UNSIGNED"), Some((0, u64::MAX.into())));
        assert_eq!(limits("int(11)"), Some((i32::MIN.into(), i32::MAX.into())));
        assert_eq!(limits("mediumint(8) unsigned zerofill"), Some((0, (1 << 24) - 1)));
        assert_eq!(limits("smallint"), Some((-32768, 32767)));
        assert_eq!(limits("tinyint unsigned"), Some((0, 255)));
        assert_eq!(limits("varchar(20)"), None);
    }

    #[test]
    fn versions_that_forget_their_counters() {
        for (version, forgets) in [
            ("5.7.44-log", true),
            ("8.0.11", false),
            ("8.4.1", false),
            ("10.2.3-MariaDB", true),
            ("10.2.4-MariaDB", false),
            ("5.5.5-10.1.48-MariaDB-0ubuntu0.18.04.1", true),
            ("10.11.19-MariaDB-0+deb12u1", false),
        ] {
            assert_eq!(host(version, 1, 1).forgets_counters(), forgets, "{version}");
        }
        assert!(host("8.0.11", 1, 1).is_mysql_8() && !host("10.11.19-MariaDB", 1, 1).is_mysql_8());
    }

    #[test]
    fn numbers_keep_the_residue_of_their_server() {
        let second_of_two = host("8.0.11", 2, 2);
        assert_eq!([1, 2, 3].map(|n| second_of_two.align(n)), [2, 2, 4]);
        assert_eq!(host("8.0.11", 1, 1).align(7), 7);
        assert_eq!(host("8.0.11", 5, 9).align(7), 11);
    }

    #[test]
    fn long_names_are_shortened() {
        let table = Table::new("db", &"t".repeat(64));
        assert_eq!(table.moved().name.len(), 16 + MOVED.len());
        assert_eq!(Table::new("db", "t").moved().name, "t_moved_to_mint");
        assert_eq!(unmoved("t_moved_to_mint"), Some("t"));
        assert_eq!(name_for("mint_fence_", "t"), "mint_fence_t");
        assert_eq!(name_for("mint_fence_", &table.name).len(), 11 + 16);
    }

    #[test]
    fn rights_are_granted_where_they_can_be() {
        let table = Table::new("db", "t");
        assert_eq!(
            grant("'a'@'%'", &table, &["ALTER"]),
            "GRANT ALTER ON `db`.`t` TO 'a'@'%'"
        );
        assert_eq!(
            grant("'a'@'%'", &table, &["ALTER", "LOCK TABLES"]),
            "GRANT ALTER, LOCK TABLES ON `db`.* TO 'a'@'%'"
        );
    }
}
