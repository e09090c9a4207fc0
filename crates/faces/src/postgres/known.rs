//! What can be set: one table of names, and what values they take.
//!
//! Most of them have no effect here; they are kept, and shown as they were set.

use std::rc::Rc;

use super::backend::Column;
use super::errors::{Result, SqlError, shown};
use super::types::Type;

/// What values a setting takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Bool,
    Text,
    /// A whole number within bounds.
    Number(i64, i64),
    /// In milliseconds, with a unit if one is given.
    Duration,
    /// One of these.
    OneOf(&'static [&'static str]),
    Encoding,
    DateStyle,
    /// It cannot be set.
    Fixed,
}

pub(super) struct Row {
    /// In lower case.
    pub(super) name: &'static str,
    /// As PostgreSQL writes it, where that differs.
    pub(super) title: &'static str,
    pub(super) form: Form,
    pub(super) default: &'static str,
    /// Clients are told of its changes.
    pub(super) reported: bool,
}

const fn row(name: &'static str, form: Form, default: &'static str) -> Row {
    Row {
        name,
        title: name,
        form,
        default,
        reported: false,
    }
}

const fn reported(name: &'static str, title: &'static str, form: Form, default: &'static str) -> Row {
    Row {
        name,
        title,
        form,
        default,
        reported: true,
    }
}

const LEVELS: Form = Form::OneOf(&[
    "serializable",
    "repeatable read",
    "read committed",
    "read uncommitted",
]);
const MESSAGES: Form = Form::OneOf(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "notice", "warning", "error",
]);

pub(super) static ROWS: &[Row] = &[
    reported("application_name", "application_name", Form::Text, ""),
    reported("client_encoding", "client_encoding", Form::Encoding, "UTF8"),
    reported("datestyle", "DateStyle", Form::DateStyle, "ISO, MDY"),
    reported(
        "default_transaction_read_only",
        "default_transaction_read_only",
        Form::Bool,
        "off",
    ),
    reported("in_hot_standby", "in_hot_standby", Form::Fixed, "off"),
    reported("integer_datetimes", "integer_datetimes", Form::Fixed, "on"),
    reported(
        "intervalstyle",
        "IntervalStyle",
        Form::OneOf(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
        "postgres",
    ),
    reported("is_superuser", "is_superuser", Form::Fixed, "on"),
    reported("server_encoding", "server_encoding", Form::Fixed, "UTF8"),
    reported("server_version", "server_version", Form::Fixed, ""),
    reported("session_authorization", "session_authorization", Form::Fixed, ""),
    reported(
        "standard_conforming_strings",
        "standard_conforming_strings",
        Form::Bool,
        "on",
    ),
    reported("timezone", "TimeZone", Form::Text, "UTC"),
    row("array_nulls", Form::Bool, "on"),
    row("backslash_quote", Form::Text, "safe_encoding"),
    row("bytea_output", Form::OneOf(&["hex", "escape"]), "hex"),
    row("check_function_bodies", Form::Bool, "on"),
    row("client_min_messages", MESSAGES, "notice"),
    row("constraint_exclusion", Form::Text, "partition"),
    row("cursor_tuple_fraction", Form::Text, "0.1"),
    row("default_table_access_method", Form::Text, "heap"),
    row("default_tablespace", Form::Text, ""),
    row("default_text_search_config", Form::Text, "pg_catalog.simple"),
    row("default_toast_compression", Form::Text, "pglz"),
    row("default_transaction_deferrable", Form::Bool, "off"),
    row("default_transaction_isolation", LEVELS, "read committed"),
    row("enable_hashjoin", Form::Bool, "on"),
    row("enable_indexscan", Form::Bool, "on"),
    row("enable_mergejoin", Form::Bool, "on"),
    row("enable_nestloop", Form::Bool, "on"),
    row("enable_seqscan", Form::Bool, "on"),
    row("escape_string_warning", Form::Bool, "on"),
    row("extra_float_digits", Form::Number(-15, 3), "1"),
    row("force_parallel_mode", Form::Text, "off"),
    row("geqo", Form::Bool, "on"),
    row("idle_in_transaction_session_timeout", Form::Duration, "0"),
    row("idle_session_timeout", Form::Duration, "0"),
    row("jit", Form::Bool, "on"),
    row("lc_collate", Form::Fixed, "C.UTF-8"),
    row("lc_ctype", Form::Fixed, "C.UTF-8"),
    row("lc_messages", Form::Text, "C.UTF-8"),
    row("lc_monetary", Form::Text, "C.UTF-8"),
    row("lc_numeric", Form::Text, "C.UTF-8"),
    row("lc_time", Form::Text, "C.UTF-8"),
    row("lock_timeout", Form::Duration, "0"),
    row("log_min_duration_statement", Form::Text, "-1"),
    row("log_statement", Form::Text, "none"),
    row("max_identifier_length", Form::Fixed, "255"),
    row("max_index_keys", Form::Fixed, "32"),
    row("maintenance_work_mem", Form::Text, "64MB"),
    row("plan_cache_mode", Form::Text, "auto"),
    row("quote_all_identifiers", Form::Bool, "off"),
    row("restrict_nonsystem_relation_kind", Form::Text, ""),
    row("row_security", Form::Bool, "on"),
    row("search_path", Form::Text, "\"$user\", public"),
    row("server_version_num", Form::Fixed, "170000"),
    row("session_replication_role", Form::Text, "origin"),
    row("ssl_renegotiation_limit", Form::Number(0, 0), "0"),
    row("standard_compliant_strings", Form::Bool, "on"),
    row("statement_timeout", Form::Duration, "0"),
    row("synchronize_seqscans", Form::Bool, "on"),
    row("synchronous_commit", Form::Text, "on"),
    row("temp_buffers", Form::Text, "8MB"),
    row("transaction_deferrable", Form::Bool, "off"),
    row("transaction_isolation", LEVELS, "read committed"),
    row("transaction_read_only", Form::Bool, "off"),
    row("transaction_timeout", Form::Duration, "0"),
    row("transform_null_equals", Form::Bool, "off"),
    row("work_mem", Form::Text, "4MB"),
    row("xmlbinary", Form::OneOf(&["base64", "hex"]), "base64"),
    row("xmloption", Form::OneOf(&["content", "document"]), "content"),
];

/// Whether administrators may turn sequences back: our own.
pub(super) const ALLOW_REPEAT: &str = "mint.allow_repeat";

/// How many settings a connection has of its own at most, and how long a value may be.
pub(super) const OWN_MAX: usize = 32;
pub(super) const VALUE_BYTES_MAX: usize = 256;

pub(super) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name.eq_ignore_ascii_case(name))
}

/// The name of a setting as PostgreSQL writes it.
pub(super) fn title(name: &str) -> String {
    find(name).map_or_else(|| name.to_string(), |row| row.title.to_string())
}

pub(super) fn show_all_columns() -> Vec<Column> {
    ["name", "setting", "description"]
        .map(|name| Column::new(name, Type::Text))
        .into()
}

/// A setting's name, and its value as it is shown.
pub(super) fn checked(name: &str, value: &str) -> Result<(Rc<str>, Rc<str>)> {
    if value.len() > VALUE_BYTES_MAX || name.len() > VALUE_BYTES_MAX {
        let message = format!(
            "value for parameter \"{}\" is longer than {VALUE_BYTES_MAX} bytes",
            shown(name)
        );
        return Err(SqlError::new("22023", message));
    }
    let lower = name.to_ascii_lowercase();
    let Some(row) = find(&lower) else {
        return match lower.as_str() {
            ALLOW_REPEAT => match bool_of(value) {
                Some(yes) => Ok((lower.into(), yes.into())),
                None => Err(not_bool(ALLOW_REPEAT)),
            },
            name if name.contains('.') => Ok((lower.as_str().into(), value.into())),
            _ => Err(unknown(name)),
        };
    };
    let wrong = || {
        let message = format!(
            "invalid value for parameter \"{}\": \"{}\"",
            row.title,
            shown(value)
        );
        SqlError::new("22023", message)
    };
    let shown: String = match row.form {
        Form::Fixed => return Err(cannot_change(row.title)),
        Form::Bool => bool_of(value).ok_or_else(|| not_bool(row.title))?.to_string(),
        // What is not printable is shown as a question mark, as PostgreSQL does.
        Form::Text => value
            .chars()
            .map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' })
            .collect(),
        Form::Number(low, high) => {
            let number: i64 = value.trim().parse().map_err(|_| wrong())?;
            if !(low..=high).contains(&number) {
                let title = row.title;
                let message = format!(
                    "{number} is outside the valid range for parameter \"{title}\" ({low} .. {high})"
                );
                return Err(SqlError::new("22023", message));
            }
            number.to_string()
        }
        Form::Duration => duration_shown(duration(row.title, value, wrong)?),
        Form::OneOf(words) => {
            let lower = value.to_ascii_lowercase();
            match words.contains(&lower.as_str()) {
                true => lower,
                false => {
                    return Err(wrong().with_hint(format!("Available values: {}.", words.join(", "))));
                }
            }
        }
        Form::Encoding => encoding(value).ok_or_else(wrong)?.to_string(),
        Form::DateStyle => date_style(value).ok_or_else(wrong)?,
    };
    Ok((lower.into(), shown.into()))
}

/// A duration in milliseconds; one before 0 is told as what it is.
fn duration(title: &str, value: &str, wrong: impl FnOnce() -> SqlError) -> Result<u64> {
    let (negative, size) = match value.trim().strip_prefix('-') {
        Some(size) if size.starts_with(|first: char| first.is_ascii_digit()) => (true, size),
        _ => (false, value),
    };
    let ms = ms_of(size).ok_or_else(wrong)?;
    if negative && ms > 0 {
        let message = format!(
            "-{ms} ms is outside the valid range for parameter \"{title}\" (0 .. {})",
            i32::MAX
        );
        return Err(SqlError::new("22023", message));
    }
    Ok(ms)
}

fn bool_of(value: &str) -> Option<&'static str> {
    let lower = value.to_ascii_lowercase();
    match lower.as_str() {
        "on" | "true" | "t" | "yes" | "y" | "1" | "tr" | "tru" | "ye" => Some("on"),
        "off" | "false" | "f" | "no" | "n" | "0" | "of" | "fa" | "fal" | "fals" => Some("off"),
        _ => None,
    }
}

fn not_bool(title: &str) -> SqlError {
    SqlError::new("22023", format!("parameter \"{title}\" requires a Boolean value"))
}

pub(super) fn unknown(name: &str) -> SqlError {
    SqlError::new(
        "42704",
        format!("unrecognized configuration parameter \"{}\"", shown(name)),
    )
}

/// The refusal of a name that is asked for and not known.
pub(super) fn not_known(name: &str) -> SqlError {
    unknown(name)
}

pub(super) fn cannot_change(title: &str) -> SqlError {
    SqlError::new("55P02", format!("parameter \"{title}\" cannot be changed"))
}

const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("min", 60_000),
    ("s", 1000),
    ("ms", 1),
];

/// A duration in milliseconds.
pub(super) fn ms_of(value: &str) -> Option<u64> {
    let value = value.trim();
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = value.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let unit = unit.trim();
    let factor = match unit {
        "" => 1,
        unit => UNITS.iter().find(|(name, _)| *name == unit)?.1,
    };
    number
        .checked_mul(factor)
        .filter(|ms| *ms <= u64::from(i32::MAX.unsigned_abs()))
}

fn duration_shown(ms: u64) -> String {
    let unit = UNITS
        .iter()
        .find(|(_, factor)| ms > 0 && ms.is_multiple_of(*factor));
    unit.map_or_else(
        || ms.to_string(),
        |(unit, factor)| format!("{}{unit}", ms / factor),
    )
}

/// The encodings of PostgreSQL, as it writes them. What is sent is ASCII, which is the same in all of them.
const ENCODINGS: [&str; 42] = [
    "UTF8",
    "SQL_ASCII",
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "LATIN5",
    "LATIN6",
    "LATIN7",
    "LATIN8",
    "LATIN9",
    "LATIN10",
    "WIN1250",
    "WIN1251",
    "WIN1252",
    "WIN1253",
    "WIN1254",
    "WIN1255",
    "WIN1256",
    "WIN1257",
    "WIN1258",
    "WIN866",
    "WIN874",
    "KOI8R",
    "KOI8U",
    "ISO_8859_5",
    "ISO_8859_6",
    "ISO_8859_7",
    "ISO_8859_8",
    "EUC_JP",
    "EUC_CN",
    "EUC_KR",
    "EUC_TW",
    "EUC_JIS_2004",
    "MULE_INTERNAL",
    "SJIS",
    "BIG5",
    "GBK",
    "UHC",
    "GB18030",
    "JOHAB",
    "SHIFT_JIS_2004",
];

fn encoding(value: &str) -> Option<&'static str> {
    let plain = |text: &str| -> String {
        let kept = text.chars().filter(char::is_ascii_alphanumeric);
        kept.map(|c| c.to_ascii_lowercase()).collect()
    };
    let asked = plain(value);
    let asked = match asked.as_str() {
        "unicode" => "utf8",
        "iso88591" => "latin1",
        "windows1252" => "win1252",
        other => other,
    };
    ENCODINGS.into_iter().find(|known| plain(known) == asked)
}

fn date_style(value: &str) -> Option<String> {
    let (mut style, mut order) = ("ISO", "MDY");
    for word in value.split(',') {
        match word.trim().to_ascii_lowercase().as_str() {
            "iso" => style = "ISO",
            "sql" => style = "SQL",
            "postgres" | "postgresql" => style = "Postgres",
            "german" => style = "German",
            "mdy" | "us" | "noneuro" | "noneuropean" => order = "MDY",
            "dmy" | "euro" | "european" => order = "DMY",
            "ymd" => order = "YMD",
            "default" => {}
            _ => return None,
        }
    }
    Some(format!("{style}, {order}"))
}

/// `170000` for `17.0 (…)`.
pub(super) fn version_number(version: &str) -> String {
    let first = version.split(' ').next().unwrap_or_default();
    let mut parts = first
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or_default());
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    (major.saturating_mul(10_000).saturating_add(minor)).to_string()
}
