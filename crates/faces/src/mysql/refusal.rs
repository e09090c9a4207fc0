//! What is refused, as clients of MySQL know it: a number, a state of five characters, a text.

use std::borrow::Cow;

use crate::sql::names::SqlName;
use mintage_server::chassis::error::{Code, ServiceError};
use mintage_server::chassis::kept::Full;

/// A refusal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The number that clients match on.
    pub errno: u16,
    /// SQLSTATE.
    pub state: &'static str,
    /// In words; the original's where it has some.
    pub text: Cow<'static, str>,
    /// What it is counted by.
    pub code: Code,
    /// Whether the connection ends.
    pub ends_connection: bool,
    /// Where in the text the connection's database belongs, which is not known yet where texts are read.
    pub database_at: Option<usize>,
}

impl From<Full> for Refusal {
    fn from(full: Full) -> Refusal {
        Refusal::too_much_kept(full)
    }
}

/// What was to be done with a sequence: the original has errors of its own for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verb {
    /// A row of a table was to be made or read.
    Table,
    /// `NEXTVAL` and its kin, and the definition of a sequence.
    Sequence,
    /// An id of a pool or a format was to be made.
    Id,
}

/// The number and the state of a code.
const fn row(code: Code, verb: Verb) -> (u16, &'static str) {
    match (code, verb) {
        (Code::Exhausted, Verb::Table) => (1264, "22003"),
        (Code::Exhausted, _) => (4084, "HY000"),
        (Code::NotFound, Verb::Table) => (1146, "42S02"),
        (Code::NotFound, Verb::Sequence) => (4091, "42S02"),
        (Code::NotFound | Code::UnknownFormat, _) => (1305, "42000"),
        (Code::Exists, _) => (1050, "42S01"),
        (Code::OnlyForward | Code::NeedsAllowRepeat, _) => (4085, "HY000"),
        (Code::Forbidden | Code::CrossOrigin | Code::WrongHost, _) => (1142, "42000"),
        (Code::InvalidName, _) => (1103, "42000"),
        (Code::InvalidCount, _) => (1104, "42000"),
        (Code::InvalidArgument, _) => (1210, "HY000"),
        // What most clients try again.
        (Code::Unavailable | Code::ClockBack | Code::Moving, _) => (1205, "HY000"),
        (Code::RateLimited, _) => (1226, "42000"),
        (Code::Stopped | Code::MovedBack, _) => (1030, "HY000"),
        (Code::Conflict, _) => (1213, "40001"),
        (Code::TooMany, _) => (1114, "HY000"),
        (Code::Unauthenticated | Code::WrongToken, _) => (1045, "28000"),
        (Code::TooManyConnections, _) => (1040, "08004"),
        (Code::Protocol | Code::InvalidBody, _) => (1835, "HY000"),
        (Code::BodyTooLarge | Code::HeaderTooLarge, _) => (1153, "08S01"),
        (Code::UnknownCommand | Code::UnknownRoute | Code::MethodNotAllowed, _) => (1047, "08S01"),
        (Code::RequestTimeout | Code::IdleTimeout | Code::SlowReader, _) => (1159, "08S01"),
        (
            Code::Internal
            | Code::Handshake
            | Code::NotAcceptable
            | Code::UnsupportedMediaType
            | Code::IdempotencyKey,
            _,
        ) => (1105, "HY000"),
    }
}

impl Refusal {
    fn new(errno: u16, state: &'static str, code: Code, text: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal {
            errno,
            state,
            text: text.into(),
            code,
            ends_connection: false,
            database_at: None,
        }
    }

    /// The same as a connection is told that is in this database.
    pub(crate) fn in_database(mut self, database: &str) -> Refusal {
        if let Some(at) = self.database_at.take().filter(|_| !database.is_empty()) {
            let (before, name) = self.text.split_at(at);
            let quote = if name.starts_with('`') { "`" } else { "" };
            self.text = format!("{before}{quote}{database}{quote}.{name}").into();
        }
        self
    }

    /// The same with another state.
    pub(crate) fn with_state(self, state: &'static str) -> Refusal {
        Refusal { state, ..self }
    }

    fn last(self) -> Refusal {
        Refusal {
            ends_connection: true,
            ..self
        }
    }

    /// What the service refuses, of what is called `name`, with its database where one is chosen.
    pub(crate) fn of(error: &ServiceError, verb: Verb, name: &str) -> Refusal {
        let (errno, state) = row(error.code, verb);
        let text = match (error.code, verb) {
            (Code::Exhausted, Verb::Table) => "Out of range value for column 'id' at row 1".into(),
            (Code::Exhausted, Verb::Sequence) => format!("Sequence '{name}' has run out").into(),
            (Code::NotFound, Verb::Table) => format!("Table '{name}' doesn't exist").into(),
            (Code::NotFound, Verb::Sequence) => format!("Unknown SEQUENCE: '{name}'").into(),
            (Code::Exists, _) => format!("Table '{}' already exists", unqualified(name)).into(),
            (Code::OnlyForward | Code::NeedsAllowRepeat, _) => return Refusal::options(name),
            (Code::InvalidName, _) => format!("Incorrect table name '{}'", unqualified(name)).into(),
            _ => with_hint(error),
        };
        Refusal::new(errno, state, error.code, text)
    }

    /// A definition that cannot be.
    pub(crate) fn options(name: &str) -> Refusal {
        let text = format!("Sequence '{name}' has out of range value for options");
        Refusal::new(4085, "HY000", Code::InvalidArgument, text)
    }

    /// A command that is not allowed.
    pub(crate) fn denied(command: &str, user: &str, host: &str, name: &str) -> Refusal {
        let text = format!("{command} command denied to user '{user}'@'{host}' for table '{name}'");
        Refusal::new(1142, "42000", Code::Forbidden, text)
    }

    /// The text is nothing that is known, from `rest` on.
    pub(crate) fn syntax(rest: &str, line: usize) -> Refusal {
        let near: String = rest.chars().take(NEAR_CHARS_MAX).collect();
        let text = format!(
            "You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server version \
             for the right syntax to use near '{near}' at line {line}"
        );
        Refusal::new(1064, "42000", Code::InvalidArgument, text)
    }

    /// The original knows it, and it is not here.
    pub(crate) fn not_here(what: &str) -> Refusal {
        let what: String = what.chars().take(NEAR_CHARS_MAX).collect();
        let text =
            format!("This version of Mintage doesn't yet support '{what}': it holds sequences, not tables");
        Refusal::new(1235, "42000", Code::InvalidArgument, text)
    }

    /// A row has more or fewer values than there are columns.
    pub(crate) fn column_count(row: u64) -> Refusal {
        let text = format!("Column count doesn't match value count at row {row}");
        Refusal::new(1136, "21S01", Code::InvalidArgument, text)
    }

    /// A row of this key is there.
    pub(crate) fn duplicate(key: &str) -> Refusal {
        let key: String = key.chars().take(NEAR_CHARS_MAX).collect();
        let text = format!("Duplicate entry '{key}' for key 'PRIMARY'");
        Refusal::new(1062, "23000", Code::Exists, text)
    }

    /// There is no such function.
    pub(crate) fn no_function(name: &SqlName) -> Refusal {
        let start = "FUNCTION ";
        let text = format!("{start}{name} does not exist");
        Refusal {
            database_at: name.schema.is_none().then_some(start.len()),
            ..Refusal::new(1305, "42000", Code::InvalidArgument, text)
        }
    }

    /// Nobody changes a series.
    pub(crate) fn series(name: &SqlName) -> Refusal {
        let start = "Storage engine SEQUENCE of the table ";
        let quoted = name.to_string().replace('.', "`.`");
        let text = format!("{start}`{quoted}` doesn't have this option");
        Refusal {
            database_at: name.schema.is_none().then_some(start.len()),
            ..Refusal::new(1031, "HY000", Code::InvalidArgument, text)
        }
    }

    /// Parentheses are too deep in each other.
    pub(crate) fn too_deep() -> Refusal {
        let text = "Thread stack overrun: parentheses are deeper in each other than 64";
        Refusal::new(1436, "HY000", Code::InvalidArgument, text)
    }

    /// A number that does not fit its place.
    pub(crate) fn out_of_range(what: &str) -> Refusal {
        let text = format!("BIGINT value is out of range in '{what}'");
        Refusal::new(1690, "22003", Code::InvalidArgument, text)
    }

    /// An argument that makes no sense.
    pub(crate) fn arguments(what: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal::new(1210, "HY000", Code::InvalidArgument, what)
    }

    /// More rows than one statement may have.
    pub(crate) fn too_many_rows(max: u64) -> Refusal {
        let text = format!(
            "The SELECT would examine more than MAX_JOIN_SIZE rows: one statement has {max} at most (server.max_count)"
        );
        Refusal::new(1104, "42000", Code::InvalidCount, text)
    }

    /// A column that is not there, in this part of a statement.
    pub(crate) fn no_column(name: &str, clause: &str) -> Refusal {
        let text = format!("Unknown column '{name}' in '{clause}'");
        Refusal::new(1054, "42S22", Code::InvalidArgument, text)
    }

    /// A text without a statement.
    pub(crate) fn empty() -> Refusal {
        Refusal::new(1065, "42000", Code::InvalidArgument, "Query was empty")
    }

    /// A variable that is not there.
    pub(crate) fn no_variable(name: &str) -> Refusal {
        let name: String = name.chars().take(NEAR_CHARS_MAX).collect();
        Refusal::new(
            1193,
            "HY000",
            Code::InvalidArgument,
            format!("Unknown system variable '{name}'"),
        )
    }

    /// A variable that nobody sets.
    pub(crate) fn read_only_variable(name: &str) -> Refusal {
        Refusal::new(
            1238,
            "HY000",
            Code::InvalidArgument,
            format!("Variable '{name}' is a read only variable"),
        )
    }

    /// A variable that does not take this.
    pub(crate) fn variable_value(name: &str, value: &str) -> Refusal {
        let value: String = value.chars().take(NEAR_CHARS_MAX).collect();
        let text = format!("Variable '{name}' can't be set to the value of '{value}'");
        Refusal::new(1231, "42000", Code::InvalidArgument, text)
    }

    /// What is set for all connections is the configuration's.
    pub(crate) fn global_variable() -> Refusal {
        let text = "Access denied; you need (at least one of) the SUPER privilege(s) for this operation: \
                    what all connections share is set in the configuration";
        Refusal::new(1227, "42000", Code::Forbidden, text)
    }

    /// A database whose name is too long.
    pub(crate) fn database(name: &str) -> Refusal {
        let name: String = name.chars().take(NEAR_CHARS_MAX).collect();
        let text = format!("Incorrect database name '{name}'");
        Refusal::new(1102, "42000", Code::InvalidName, text)
    }

    /// A connection that is not there.
    pub(crate) fn no_thread(id: u64) -> Refusal {
        Refusal::new(1094, "HY000", Code::NotFound, format!("Unknown thread id: {id}"))
    }

    /// Somebody else's connection.
    pub(crate) fn not_owner(id: u64) -> Refusal {
        let text = format!("You are not owner of thread {id}");
        Refusal::new(1095, "HY000", Code::Forbidden, text)
    }

    /// Somebody ended the statement.
    pub(crate) fn interrupted() -> Refusal {
        let text = "Query execution was interrupted";
        Refusal::new(1317, "70100", Code::Conflict, text)
    }

    /// Somebody ended the connection.
    pub(crate) fn killed() -> Refusal {
        Refusal::new(1927, "70100", Code::Conflict, "Connection was killed").last()
    }

    /// The server stops.
    pub(crate) fn shutdown() -> Refusal {
        Refusal::new(1053, "08S01", Code::Unavailable, "Server shutdown in progress").last()
    }

    /// A command that is not there.
    pub(crate) fn unknown_command() -> Refusal {
        Refusal::new(1047, "08S01", Code::UnknownCommand, "Unknown command")
    }

    /// A statement that was never prepared, or is gone.
    pub(crate) fn no_statement(id: u32, what: &str) -> Refusal {
        let text = format!("Unknown prepared statement handler ({id}) given to {what}");
        Refusal::new(1243, "HY000", Code::InvalidArgument, text)
    }

    /// More statements than a connection may have prepared.
    pub(crate) fn too_many_statements(max: usize) -> Refusal {
        let text =
            format!("Can't create more than max_prepared_stmt_count statements (current value: {max})");
        Refusal::new(1461, "42000", Code::TooMany, text)
    }

    /// Whatever a connection, or all together, would keep is too much.
    fn too_much_kept(full: Full) -> Refusal {
        let text = format!("Out of memory: {}; {}", full.message(), full.hint());
        Refusal::new(1041, "HY000", full.code(), text)
    }

    /// More placeholders than a statement may have.
    pub(crate) fn too_many_parameters() -> Refusal {
        let text = "Prepared statement contains too many placeholders";
        Refusal::new(1390, "HY000", Code::TooMany, text)
    }

    /// Values that do not fit their packet.
    pub(crate) fn malformed() -> Refusal {
        Refusal::new(1835, "HY000", Code::Protocol, "Malformed communication packet")
    }

    /// A text that is not UTF-8.
    pub(crate) fn not_utf8() -> Refusal {
        let text = "Invalid utf8mb4 character string";
        Refusal::new(1300, "HY000", Code::InvalidArgument, text)
    }

    /// Packets that do not follow each other.
    pub(crate) fn out_of_order() -> Refusal {
        Refusal::new(1156, "08S01", Code::Protocol, "Got packets out of order").last()
    }

    /// A packet that is too long.
    pub(crate) fn too_long() -> Refusal {
        let text = "Got a packet bigger than 'max_allowed_packet' bytes";
        Refusal::new(1153, "08S01", Code::BodyTooLarge, text).last()
    }

    /// A login that is none.
    pub(crate) fn bad_handshake() -> Refusal {
        Refusal::new(1043, "08S01", Code::Protocol, "Bad handshake").last()
    }

    /// A client from before version 4.1.
    pub(crate) fn old_client() -> Refusal {
        let text =
            "Client does not support authentication protocol requested by server; consider upgrading client";
        Refusal::new(1251, "08004", Code::Protocol, text).last()
    }

    /// A login without TLS where that is asked for.
    pub(crate) fn wants_tls() -> Refusal {
        let text = "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
        Refusal::new(3159, "08004", Code::Unauthenticated, text).last()
    }

    /// A user or token that is not known.
    pub(crate) fn access_denied(user: &str, host: &str, has_password: bool) -> Refusal {
        let using = if has_password { "YES" } else { "NO" };
        let user: String = user.chars().take(NEAR_CHARS_MAX).collect();
        let text = format!("Access denied for user '{user}'@'{host}' (using password: {using})");
        Refusal::new(1045, "28000", Code::WrongToken, text).last()
    }
}

/// What a service says, and what to do about it.
fn with_hint(error: &ServiceError) -> Cow<'static, str> {
    match (&error.hint, error.retry_after_s) {
        (Some(hint), _) => format!("{} ({hint})", error.message).into(),
        (None, Some(seconds)) => format!("{} (worth asking again after {seconds} s)", error.message).into(),
        (None, None) => error.message.clone(),
    }
}

/// The last part of a name.
fn unqualified(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}

/// As much of a statement is shown.
const NEAR_CHARS_MAX: usize = 80;

/// What a connection beyond the limit is told instead of a greeting.
pub(super) const TOO_MANY_CONNECTIONS: &[u8] = b"\x1d\0\0\0\xff\x10\x04#08004Too many connections";

#[cfg(test)]
mod tests {
    use mintage_wire::CODES;

    use super::*;

    #[test]
    fn every_code_has_a_number_and_a_state() {
        for row in CODES {
            for verb in [Verb::Table, Verb::Sequence, Verb::Id] {
                let error = ServiceError::new(row.code, "text");
                let refusal = Refusal::of(&error, verb, "db.s");
                assert_eq!(refusal.state.len(), 5, "{}", row.name);
                assert!(refusal.errno >= 1030 && !refusal.text.is_empty(), "{}", row.name);
            }
        }
    }

    #[test]
    fn refusals_have_the_words_of_the_original() {
        let of = |code, verb| Refusal::of(&ServiceError::new(code, "m"), verb, "db.s");
        for (refusal, errno, text) in [
            (
                of(Code::Exhausted, Verb::Sequence),
                4084,
                "Sequence 'db.s' has run out",
            ),
            (
                of(Code::Exhausted, Verb::Table),
                1264,
                "Out of range value for column 'id' at row 1",
            ),
            (
                of(Code::NotFound, Verb::Table),
                1146,
                "Table 'db.s' doesn't exist",
            ),
            (
                of(Code::NotFound, Verb::Sequence),
                4091,
                "Unknown SEQUENCE: 'db.s'",
            ),
            (of(Code::Exists, Verb::Sequence), 1050, "Table 's' already exists"),
            (
                of(Code::OnlyForward, Verb::Sequence),
                4085,
                "Sequence 'db.s' has out of range value for options",
            ),
            (of(Code::Unavailable, Verb::Sequence), 1205, "m"),
        ] {
            assert_eq!((refusal.errno, &*refusal.text), (errno, text));
        }
    }

    #[test]
    fn who_comes_too_late_is_told_so() {
        let text = &TOO_MANY_CONNECTIONS[4..];
        assert_eq!(usize::from(TOO_MANY_CONNECTIONS[0]), text.len());
    }
}
