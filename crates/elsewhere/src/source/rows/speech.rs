//! Where the SQL of row counters differs between the servers.

use crate::source::Engine;
use crate::store::sql::row::Arg;
use crate::store::sql::session::Dialect;

/// What a server says differently.
pub(crate) trait Speech: Dialect {
    /// The server, as the table of sources names it.
    const ENGINE: Engine;
    /// The type that any value can be cast to and read as text.
    const TEXT: &'static str;
    /// The column of `information_schema.columns` that tells a type, unsigned included.
    const TYPE_COLUMN: &'static str;
    /// The schema that names without one mean.
    const HOME: &'static str;
    /// The account, as the GRANT of the server wants it but for quotes.
    const ACCOUNT: &'static str;
    /// Schemas of the server itself, as a list of SQL.
    const ITS_OWN: &'static str;
    /// Tables among those of one schema and name that a crash empties or spoils, each in words.
    const FORGETFUL: &'static str;

    /// A name in quotes.
    fn name(text: &str) -> String;

    /// A text in quotes.
    fn literal(text: &str) -> String;

    /// The place of the argument with this number, from 1.
    fn place(number: usize) -> String;

    /// The account in quotes.
    fn account(text: &str) -> String;
}

#[cfg(feature = "mysql")]
impl Speech for crate::store::mysql::MySql {
    const ENGINE: Engine = Engine::MySql;
    const TEXT: &'static str = "CHAR";
    const TYPE_COLUMN: &'static str = "column_type";
    const HOME: &'static str = "SELECT DATABASE()";
    const ACCOUNT: &'static str = "SELECT CURRENT_USER()";
    const ITS_OWN: &'static str = "('mysql', 'information_schema', 'performance_schema', 'sys')";
    // An engine without transactions loses writes at a crash, and its tables take none back.
    const FORGETFUL: &'static str = "SELECT CONCAT(table_name, ' is ', COALESCE(engine, 'unknown')) \
        FROM information_schema.tables WHERE table_schema = ? AND table_name = ? AND COALESCE(engine, '') <> 'InnoDB'";

    fn name(text: &str) -> String {
        format!("`{}`", text.replace('`', "``"))
    }

    fn literal(text: &str) -> String {
        format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
    }

    fn place(_: usize) -> String {
        "?".into()
    }

    fn account(text: &str) -> String {
        let (user, host) = text.rsplit_once('@').unwrap_or((text, "%"));
        format!("{}@{}", Self::literal(user), Self::literal(host))
    }
}

#[cfg(feature = "postgres")]
impl Speech for crate::store::postgres::Postgres {
    const ENGINE: Engine = Engine::Postgres;
    const TEXT: &'static str = "text";
    const TYPE_COLUMN: &'static str = "data_type";
    const HOME: &'static str = "SELECT current_schema()::text";
    const ACCOUNT: &'static str = "SELECT current_user::text";
    const ITS_OWN: &'static str = "('pg_catalog', 'information_schema')";
    const FORGETFUL: &'static str = "SELECT c.relname || ' is unlogged' FROM pg_class c \
        JOIN pg_namespace n ON n.oid = c.relnamespace \
        WHERE n.nspname = $1 AND c.relname = $2 AND c.relpersistence <> 'p'";

    fn name(text: &str) -> String {
        format!("\"{}\"", text.replace('"', "\"\""))
    }

    fn literal(text: &str) -> String {
        format!("'{}'", text.replace('\'', "''"))
    }

    fn place(number: usize) -> String {
        format!("${number}")
    }

    fn account(text: &str) -> String {
        Self::name(text)
    }
}

/// A statement that is written piece by piece: to be run, with its texts as arguments, or to be shown, with them inside.
#[derive(Clone, Debug, Default)]
pub(super) struct Sql {
    pub(super) text: String,
    args: Vec<String>,
    is_shown: bool,
}

impl Sql {
    /// One that people read.
    pub(super) fn shown() -> Sql {
        Sql {
            is_shown: true,
            ..Sql::default()
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn bind<D: Speech>(&mut self, value: &str) {
        match self.is_shown {
            true => self.text.push_str(&D::literal(value)),
            false => {
                self.args.push(value.to_string());
                self.text.push_str(&D::place(self.args.len()));
            }
        }
    }

    pub(super) fn args(&self) -> Vec<Arg<'_>> {
        self.args.iter().map(|arg| Arg::Text(arg)).collect()
    }
}

/// A type that numbers are kept in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NumberType {
    /// In the server's words.
    pub(super) name: String,
    pub(super) min: i128,
    pub(super) max: i128,
}

impl NumberType {
    /// Reads `bigint(20) unsigned`; `None`: it holds no whole numbers, or others too.
    pub(super) fn parse(name: &str) -> Option<NumberType> {
        let lower = name.to_ascii_lowercase();
        let word = lower.split([' ', '(']).next().unwrap_or_default();
        let bits = match word {
            "tinyint" => 8,
            "smallint" => 16,
            "mediumint" => 24,
            "int" | "integer" => 32,
            "bigint" => 64,
            _ => return None,
        };
        let (min, max) = match lower.contains("unsigned") {
            true => (0, (1i128 << bits) - 1),
            false => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        };
        Some(NumberType {
            name: name.to_string(),
            min,
            max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_say_what_they_hold() {
        let range = |name| NumberType::parse(name).map(|found| (found.min, found.max));
        assert_eq!(range("bigint(20)"), Some((i64::MIN.into(), i64::MAX.into())));
        assert_eq!(range("bigint(20) unsigned"), Some((0, u64::MAX.into())));
        assert_eq!(range("INT"), Some((i32::MIN.into(), i32::MAX.into())));
        assert_eq!(range("mediumint unsigned"), Some((0, (1 << 24) - 1)));
        assert_eq!(range("smallint"), Some((-32768, 32767)));
        assert_eq!(range("decimal(20,0)"), None);
        assert_eq!(range("varchar(20)"), None);
    }

    #[cfg(feature = "mysql")]
    #[test]
    fn texts_and_names_cannot_end_their_quotes() {
        use crate::store::mysql::MySql;
        assert_eq!(MySql::literal("a'b\\c"), "'a''b\\\\c'");
        assert_eq!(MySql::name("a`b"), "`a``b`");
        assert_eq!(MySql::account("a@b@%"), "'a@b'@'%'");
        let mut shown = Sql::shown();
        shown.bind::<MySql>("x'");
        assert_eq!((shown.text.as_str(), shown.args().len()), ("'x'''", 0));
        let mut bound = Sql::default();
        bound.bind::<MySql>("x'");
        assert_eq!((bound.text.as_str(), bound.args().len()), ("?", 1));
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn postgresql_quotes_as_it_reads() {
        use crate::store::postgres::Postgres;
        assert_eq!(Postgres::literal("a'b\\c"), "'a''b\\c'");
        assert_eq!(Postgres::name("a\"b"), "\"a\"\"b\"");
        let mut bound = Sql::default();
        bound.bind::<Postgres>("x");
        bound.bind::<Postgres>("y");
        assert_eq!(bound.text, "$1$2");
    }
}
