//! System variables: one table of those that clients ask for and set.

use super::value::Value;
use mintage_server::chassis::config::Config;
use mintage_server::chassis::kept::{Heap, allocated};

/// A system variable.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    is: Is,
    set: Set,
}

/// What it is unless it is set.
#[derive(Clone, Copy, Debug)]
enum Is {
    Number(i64),
    Text(&'static str),
    /// `ON` or `OFF` where it is shown, 1 or 0 where it is selected.
    Switch(bool),
    /// What the configuration says.
    Of(fn(&Config) -> Value),
    /// What the connection knows alone: see [`special`].
    Special,
}

/// Whether a connection may set it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Set {
    /// To anything of its kind, and nothing comes of it.
    Free,
    /// Never.
    Never,
    /// To what it is.
    Same,
}

/// Why a variable was not set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotSet {
    /// There is no such variable.
    Unknown,
    /// Nobody sets it.
    ReadOnly,
    /// Not to this.
    Value,
}

const fn row(name: &'static str, is: Is, set: Set) -> Row {
    Row { name, is, set }
}

const fn free(name: &'static str, text: &'static str) -> Row {
    row(name, Is::Text(text), Set::Free)
}

const fn number(name: &'static str, number: i64) -> Row {
    row(name, Is::Number(number), Set::Free)
}

const fn switch(name: &'static str, on: bool) -> Row {
    row(name, Is::Switch(on), Set::Free)
}

const fn never(name: &'static str, is: Is) -> Row {
    row(name, is, Set::Never)
}

const GENERAL: &str = "utf8mb4_general_ci";

/// Every variable, in the order of their names.
static ROWS: &[Row] = &[
    // Rows of a statement are consecutive here, whatever clients would make of another value.
    row("auto_increment_increment", Is::Number(1), Set::Same),
    row("auto_increment_offset", Is::Number(1), Set::Same),
    row("autocommit", Is::Special, Set::Free),
    number("big_tables", 0),
    free("character_set_client", "utf8mb4"),
    free("character_set_connection", "utf8mb4"),
    free("character_set_database", "utf8mb4"),
    free("character_set_filesystem", "binary"),
    free("character_set_results", "utf8mb4"),
    free("character_set_server", "utf8mb4"),
    never("character_set_system", Is::Text("utf8mb3")),
    free("collation_connection", GENERAL),
    free("collation_database", GENERAL),
    free("collation_server", GENERAL),
    free("completion_type", "NO_CHAIN"),
    free("default_storage_engine", "InnoDB"),
    number("error_count", 0),
    switch("foreign_key_checks", true),
    number("group_concat_max_len", 1_048_576),
    never("have_query_cache", Is::Text("NO")),
    never("have_ssl", Is::Text("DISABLED")),
    never(
        "hostname",
        Is::Of(|_| Value::text(mintage::host_name().unwrap_or_default())),
    ),
    never("identity", Is::Special),
    never("init_connect", Is::Text("")),
    number("innodb_lock_wait_timeout", 50),
    number("insert_id", 0),
    row("interactive_timeout", Is::Of(idle_seconds), Set::Free),
    never("last_insert_id", Is::Special),
    never("license", Is::Text("")),
    number("lock_wait_timeout", 86_400),
    never("lower_case_file_system", Is::Switch(false)),
    never("lower_case_table_names", Is::Number(0)),
    row("max_allowed_packet", Is::Of(request_bytes), Set::Same),
    never(
        "max_connections",
        Is::Of(|config| number_of(config.max_connections)),
    ),
    number("max_execution_time", 0),
    number("max_statement_time", 0),
    number("net_buffer_length", 16_384),
    number("net_read_timeout", 30),
    row(
        "net_write_timeout",
        Is::Of(|config| number_of(config.write_timeout.as_secs())),
        Set::Free,
    ),
    free("optimizer_switch", ""),
    never("performance_schema", Is::Switch(false)),
    never("port", Is::Number(7606)),
    switch("profiling", false),
    never("protocol_version", Is::Number(10)),
    never("pseudo_thread_id", Is::Special),
    never("query_cache_size", Is::Number(0)),
    never("query_cache_type", Is::Text("OFF")),
    never("read_only", Is::Switch(false)),
    never(
        "require_secure_transport",
        Is::Of(|config| Value::Integer(config.faces.get::<crate::mysql::Settings>().require_tls.into())),
    ),
    never("server_id", Is::Number(1)),
    free("session_track_schema", "ON"),
    free("session_track_system_variables", ""),
    never("socket", Is::Text("")),
    switch("sql_auto_is_null", false),
    switch("sql_big_selects", true),
    switch("sql_log_bin", true),
    free(
        "sql_mode",
        "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION",
    ),
    switch("sql_notes", true),
    switch("sql_quote_show_create", true),
    switch("sql_safe_updates", false),
    row(
        "sql_select_limit",
        Is::Of(|_| Value::Unsigned(u64::MAX)),
        Set::Free,
    ),
    never("system_time_zone", Is::Text("UTC")),
    free("time_zone", "SYSTEM"),
    number("timestamp", 0),
    free("tx_isolation", "REPEATABLE-READ"),
    switch("tx_read_only", false),
    switch("unique_checks", true),
    never(
        "version",
        Is::Of(|config| {
            Value::text(
                config
                    .faces
                    .get::<crate::mysql::Settings>()
                    .server_version
                    .shown(),
            )
        }),
    ),
    never("version_comment", Is::Text("Mintage")),
    never(
        "version_compile_machine",
        Is::Of(|_| Value::text(std::env::consts::ARCH)),
    ),
    never(
        "version_compile_os",
        Is::Of(|_| Value::text(std::env::consts::OS)),
    ),
    row("wait_timeout", Is::Of(idle_seconds), Set::Free),
    number("warning_count", 0),
];

/// What else some of them are called.
const ALIASES: &[(&str, &str)] = &[
    ("transaction_isolation", "tx_isolation"),
    ("transaction_read_only", "tx_read_only"),
    ("storage_engine", "default_storage_engine"),
];

fn number_of(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

/// After how many seconds a connection that asks nothing is closed; never: the most that can be said.
fn idle_seconds(config: &Config) -> Value {
    let seconds = config
        .resp_idle_timeout
        .0
        .map_or(SECONDS_MAX, |idle| idle.as_secs());
    number_of(seconds.clamp(1, SECONDS_MAX))
}

/// A year.
const SECONDS_MAX: u64 = 31_536_000;

fn request_bytes(config: &Config) -> Value {
    number_of(config.faces.get::<crate::mysql::Settings>().max_request.0 as u64)
}

/// What a connection has set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Settings(Vec<(u8, Value)>);

/// The variables that only the connection knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) autocommit: bool,
    pub(crate) last_insert_id: u64,
    pub(crate) connection: u32,
}

fn special(name: &str, known: &Known) -> Value {
    match name {
        "autocommit" => Value::Integer(known.autocommit.into()),
        "pseudo_thread_id" => Value::Integer(known.connection.into()),
        _ => Value::Unsigned(known.last_insert_id),
    }
}

fn find(name: &str) -> Option<(u8, &'static Row)> {
    let alias = ALIASES.iter().find(|(alias, _)| name.eq_ignore_ascii_case(alias));
    let name = alias.map_or(name, |(_, name)| name);
    let at = ROWS.iter().position(|row| name.eq_ignore_ascii_case(row.name))?;
    Some((u8::try_from(at).ok()?, &ROWS[at]))
}

impl Heap for Settings {
    fn heap(&self) -> usize {
        let values: usize = self.0.iter().map(|(_, value)| value.heap()).sum();
        allocated(self.0.capacity() * size_of::<(u8, Value)>()) + values
    }
}

impl Settings {
    /// What a variable is, as `@@` selects it.
    pub(crate) fn get(&self, name: &str, config: &Config, known: &Known) -> Option<Value> {
        let (at, row) = find(name)?;
        Some(self.of(at, row, config, known))
    }

    fn of(&self, at: u8, row: &Row, config: &Config, known: &Known) -> Value {
        if let Some((_, value)) = self.0.iter().find(|(set, _)| *set == at) {
            return value.clone();
        }
        match row.is {
            Is::Number(number) => Value::Integer(number),
            Is::Text(text) => Value::text(text),
            Is::Switch(on) => Value::Integer(on.into()),
            Is::Of(of) => of(config),
            Is::Special => special(row.name, known),
        }
    }

    /// Every variable with its value as it is shown.
    pub(crate) fn shown(&self, config: &Config, known: &Known) -> Vec<(&'static str, Value)> {
        let shown = |row: &'static Row, value: Value| match row.is {
            Is::Switch(_) => Value::text(if value.is_true() { "ON" } else { "OFF" }),
            Is::Special if row.name == "autocommit" => {
                Value::text(if value.is_true() { "ON" } else { "OFF" })
            }
            _ => value.to_text().map_or(Value::Null, Value::text),
        };
        let aliases = ALIASES
            .iter()
            .filter_map(|(alias, name)| Some((*alias, find(name)?)));
        let rows = ROWS.iter().filter_map(|row| Some((row.name, find(row.name)?)));
        let mut all: Vec<_> = rows
            .chain(aliases)
            .map(|(name, (at, row))| (name, shown(row, self.of(at, row, config, known))))
            .collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        all
    }

    /// Sets a variable; `None`: to its default. What a switch takes is read here; autocommit is the session's.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn set(
        &mut self,
        name: &str,
        value: Option<Value>,
        config: &Config,
        known: &Known,
    ) -> Result<(), NotSet> {
        let (at, row) = find(name).ok_or(NotSet::Unknown)?;
        let value = match (row.is, value) {
            (_, None) => {
                self.0.retain(|(set, _)| *set != at);
                return Ok(());
            }
            (Is::Switch(_), Some(value)) => Value::Integer(as_switch(&value).ok_or(NotSet::Value)?.into()),
            (Is::Number(_), Some(value)) => match value.as_integer().map(i64::try_from) {
                Some(Ok(number)) => Value::Integer(number),
                // MAX_STATEMENT_TIME=1.5
                _ if matches!(value, Value::Decimal(_)) => value,
                _ => return Err(NotSet::Value),
            },
            (_, Some(value)) => value,
        };
        match row.set {
            Set::Never => return Err(NotSet::ReadOnly),
            Set::Same => {
                let same = self.of(at, row, config, known).as_integer() == value.as_integer();
                return if same { Ok(()) } else { Err(NotSet::Value) };
            }
            Set::Free => {}
        }
        let is_long =
            matches!(&value, Value::Text(text) | Value::Decimal(text) if text.len() > TEXT_BYTES_MAX);
        if is_long {
            return Err(NotSet::Value);
        }
        match self.0.iter_mut().find(|(set, _)| *set == at) {
            Some((_, before)) => *before = value,
            None => self.0.push((at, value)),
        }
        Ok(())
    }
}

/// `ON`, `OFF`, 1, 0.
pub(crate) fn as_switch(value: &Value) -> Option<bool> {
    match value {
        Value::Text(text) if text.eq_ignore_ascii_case(b"on") || text.eq_ignore_ascii_case(b"true") => {
            Some(true)
        }
        Value::Text(text) if text.eq_ignore_ascii_case(b"off") || text.eq_ignore_ascii_case(b"false") => {
            Some(false)
        }
        value => match value.as_integer()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
    }
}

/// The longest text that a variable holds, in bytes.
const TEXT_BYTES_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Known = Known {
        autocommit: true,
        last_insert_id: 7,
        connection: 3,
    };

    #[test]
    fn names_are_unique_and_in_order() {
        for pair in ROWS.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} {}", pair[0].name, pair[1].name);
        }
        assert!(ROWS.len() < 256);
        assert!(
            ALIASES
                .iter()
                .all(|(alias, name)| find(alias).unwrap().1.name == *name)
        );
    }

    #[test]
    fn what_clients_ask_at_their_start_is_there() {
        let config = crate::config();
        for name in [
            // Connector/J.
            "auto_increment_increment",
            "character_set_client",
            "character_set_connection",
            "character_set_results",
            "character_set_server",
            "collation_server",
            "collation_connection",
            "init_connect",
            "interactive_timeout",
            "license",
            "lower_case_table_names",
            "max_allowed_packet",
            "net_write_timeout",
            "performance_schema",
            "query_cache_size",
            "query_cache_type",
            "sql_mode",
            "system_time_zone",
            "time_zone",
            "transaction_isolation",
            "wait_timeout", // Django, SQLAlchemy, Rails, mysql_async.
            "default_storage_engine",
            "sql_auto_is_null",
            "version_comment",
            "tx_isolation",
            "SOCKET",
        ] {
            assert!(Settings::default().get(name, &config, &KNOWN).is_some(), "{name}");
        }
        assert_eq!(
            Settings::default().get("identity", &config, &KNOWN),
            Some(Value::Unsigned(7))
        );
        assert_eq!(Settings::default().get("nothing", &config, &KNOWN), None);
    }

    #[test]
    fn some_are_set_and_others_are_not() {
        let config = crate::config();
        let mut settings = Settings::default();
        let mut set = |name, value: Value| settings.set(name, Some(value), &config, &KNOWN);
        for (name, value, expected) in [
            ("sql_mode", Value::text("ANSI"), Ok(())),
            ("transaction_isolation", Value::text("SERIALIZABLE"), Ok(())),
            ("foreign_key_checks", Value::text("off"), Ok(())),
            ("foreign_key_checks", Value::Integer(2), Err(NotSet::Value)),
            ("auto_increment_increment", Value::Integer(1), Ok(())),
            ("auto_increment_increment", Value::Integer(2), Err(NotSet::Value)),
            ("version", Value::text("1"), Err(NotSet::ReadOnly)),
            ("nothing", Value::Null, Err(NotSet::Unknown)),
            ("time_zone", Value::text("x".repeat(513)), Err(NotSet::Value)),
        ] {
            assert_eq!(set(name, value), expected, "{name}");
        }
        let shown = settings.shown(&config, &KNOWN);
        let of = |name: &str| {
            shown
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value.clone())
        };
        assert_eq!(of("sql_mode"), Some(Value::text("ANSI")));
        assert_eq!(of("tx_isolation"), Some(Value::text("SERIALIZABLE")));
        assert_eq!(of("foreign_key_checks"), Some(Value::text("OFF")));
        assert_eq!(of("autocommit"), Some(Value::text("ON")));
        settings.set("sql_mode", None, &config, &KNOWN).unwrap();
        assert!(
            settings
                .get("sql_mode", &config, &KNOWN)
                .unwrap()
                .to_text()
                .unwrap()
                .starts_with(b"STRICT")
        );
    }
}
