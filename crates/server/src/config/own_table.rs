//! Tables of one's own that hold counters, `[sources.NAME.tables.LABEL]`: written as `mint import` has them.

use mintage_ledger::source::OwnTable;

use super::table::{Entry, show_table};
use super::value::quoted;

/// What an entry says.
///
/// # Errors
/// What is missing in it, or means nothing.
pub(super) fn read_own_table(label: &str, value: &toml::Value) -> Result<OwnTable, String> {
    let entry = Entry::of(label, value, &["table", "key_column", "column", "means", "where"])?;
    let text = |name: &str| match entry.text(name)? {
        Some(text) if !text.is_empty() => Ok(text.to_string()),
        _ => Err(entry.refusal(format_args!("{name} is missing"))),
    };
    Ok(OwnTable {
        table: text("table")?,
        key_column: text("key_column")?,
        value_column: text("column")?,
        is_next: match text("means")?.as_str() {
            NEXT => true,
            LAST => false,
            other => return Err(entry.refusal(format_args!("means is {other:?}: it is {NEXT} or {LAST}"))),
        },
        condition: entry.text("where")?.map(str::to_string),
    })
}

/// The entry in one line.
pub(super) fn show_own_table(own: &OwnTable) -> String {
    show_table(members(own).into_iter().map(|(key, value)| (key.into(), value)))
}

/// The line that says it under `[sources.NAME]`, for who is to write it there.
///
/// ```
/// let own = mintage_ledger::source::OwnTable {
///     table: "shop.counters".into(), key_column: "name".into(), value_column: "value".into(), is_next: false,
///     condition: None,
/// };
/// assert_eq!(
///     mintage_server::config::own_table_line(&own),
///     "tables.shopcounters = { table = \"shop.counters\", key_column = \"name\", column = \"value\", means = \"last\" }"
/// );
/// ```
pub fn own_table_line(own: &OwnTable) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let label: String = own.table.chars().filter(|c| fits(*c)).take(64).collect();
    let label = if label.is_empty() { "own" } else { &label };
    format!("tables.{label} = {}", show_own_table(own))
}

fn members(own: &OwnTable) -> Vec<(&'static str, String)> {
    let mut members = vec![
        ("table", quoted(&own.table)),
        ("key_column", quoted(&own.key_column)),
        ("column", quoted(&own.value_column)),
        ("means", quoted(if own.is_next { NEXT } else { LAST })),
    ];
    members.extend(own.condition.as_deref().map(|sql| ("where", quoted(sql))));
    members
}

/// What the number in the column is.
const NEXT: &str = "next";
const LAST: &str = "last";
