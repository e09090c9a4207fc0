//! The counters elsewhere out of which sequences may take their numbers: a table `[sources.NAME]` for each.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use mintage_ledger::source::{OwnTable, SOURCES};
use mintage_ledger::{OriginUrls, Runtime, StoreSettings, SystemRuntime, shown_url};

use super::own_table::{read_own_table, show_own_table};
use super::table::{Entry, read_table, show_table};
use super::value::quoted;
use super::{LocalPath, Setting, StoreUrl};

/// Sources by their names.
///
/// ```
/// use mintage_server::config::{Setting, SourceUrls};
/// let sources = SourceUrls::parse("{ shop = { url = 'postgres://u:secret@db/shop' } }")?;
/// assert_eq!(sources.url("shop"), Some("postgres://u:secret@db/shop"));
/// assert_eq!(sources.show(), "{ shop = { url = \"postgres://***@db/shop\" } }");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceUrls(BTreeMap<String, SourceUrl>);

/// Where a source is.
#[derive(Clone, PartialEq, Eq, Debug)]
struct SourceUrl {
    url: StoreUrl,
    /// The file that it was read from.
    file: Option<LocalPath>,
    /// Tables of one's own that its counters may be in, by what the operator calls them.
    tables: BTreeMap<String, OwnTable>,
}

impl SourceUrl {
    /// Without a password.
    fn shown(&self) -> String {
        let known = |kind: &str| SOURCES.iter().any(|row| row.name == kind);
        match self.url.0.split_once('+') {
            Some((kind, url)) if known(kind) => format!("{kind}+{}", shown_url(url)),
            _ => self.url.redacted(),
        }
    }
}

/// How many sources may be named, and how long a name and a file may be.
const SOURCES_MAX: usize = 256;
const TABLES_MAX: usize = 256;
const NAME_MAX_BYTES: usize = 64;
const FILE_MAX_BYTES: u64 = 65_536;

const EXAMPLE: &str = "{ shop = { url = \"postgres://USER@HOST/DB\" } }";

impl SourceUrls {
    /// The URL of the source of this name, with its password.
    pub fn url(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|source| source.url.0.as_str())
    }

    /// Whether counters of this source may be in this table: SQL is run there as it stands in the configuration, and
    /// nobody else's.
    ///
    /// ```
    /// use mintage_server::config::{Setting, SourceUrls};
    /// let table = "{ table = 'counters', key_column = 'name', column = 'value', means = 'last' }";
    /// let text = format!("{{ shop = {{ url = 'postgres://db/shop', tables = {{ all = {table} }} }} }}");
    /// let sources = SourceUrls::parse(&text)?;
    /// let mut own = mintage_ledger::source::OwnTable {
    ///     table: "counters".into(), key_column: "name".into(), value_column: "value".into(), is_next: false, condition: None,
    /// };
    /// assert!(sources.has_table("shop", &own) && !sources.has_table("mail", &own));
    /// own.condition = Some("true".into());
    /// assert!(!sources.has_table("shop", &own));
    /// # Ok::<(), String>(())
    /// ```
    pub fn has_table(&self, source: &str, table: &OwnTable) -> bool {
        let source = self.0.get(source);
        source.is_some_and(|source| source.tables.values().any(|own| own == table))
    }

    /// The names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Where a ledger finds them; `None`: there are none. Asks nobody.
    ///
    /// # Errors
    /// The first whose URL names no source, in words that name the setting.
    pub fn open(
        &self,
        settings: &StoreSettings,
        runtime: Arc<dyn Runtime>,
    ) -> Result<Option<Arc<OriginUrls>>, String> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let urls = self.0.iter();
        let urls = urls.map(|(name, source)| (name.clone(), source.url.0.clone()));
        OriginUrls::new(urls.collect(), settings.clone(), runtime)
            .map(Some)
            .map_err(|(name, error)| format!("sources.{name}: {error}"))
    }

    /// Whether each URL names a source. Asks nobody.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.0.is_empty() {
            return Ok(());
        }
        let open = |handle| {
            let opened = self.open(&StoreSettings::default(), SystemRuntime::new(handle));
            opened.map(drop)
        };
        if let Ok(handle) = tokio::runtime::Handle::try_current() {
            return open(handle);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(|error| format!("sources: {error}"))?;
        open(runtime.handle().clone())
    }

    /// The files that hold URLs.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &LocalPath)> {
        let all = self.0.iter();
        all.filter_map(|(name, source)| Some((name.as_str(), source.file.as_ref()?)))
    }
}

impl Setting for SourceUrls {
    const KIND: &'static str = "table of sources";

    fn parse(text: &str) -> Result<Self, String> {
        // The text may hold passwords, so that a parser's message, which quotes it, is not passed on.
        let table = read_table(&toml::Value::String(text.to_string()), EXAMPLE);
        let table = table.map_err(|_| format!("not a TOML table such as {EXAMPLE}"))?;
        Self::from_toml(&toml::Value::Table(table))
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let table = match value {
            toml::Value::String(text) => return Self::parse(text),
            toml::Value::Table(table) => table,
            other => {
                let found = other.type_str();
                return Err(format!("expected a table such as {EXAMPLE}, found {found}"));
            }
        };
        if table.len() > SOURCES_MAX {
            return Err(format!("{} sources, of at most {SOURCES_MAX}", table.len()));
        }
        let entries = table.iter();
        let entries = entries.map(|(name, value)| Ok((name.clone(), read_entry(name, value)?)));
        entries.collect::<Result<_, String>>().map(SourceUrls)
    }

    fn show(&self) -> String {
        show_table(self.0.iter().map(|(name, source)| {
            let (word, shown) = match &source.file {
                Some(file) => ("url_file", file.show()),
                None => ("url", quoted(&source.shown())),
            };
            let tables = match source.tables.is_empty() {
                true => String::new(),
                false => {
                    let tables = source.tables.iter();
                    let shown = tables.map(|(label, own)| (label.clone(), show_own_table(own)));
                    format!(", tables = {}", show_table(shown))
                }
            };
            (name.clone(), format!("{{ {word} = {shown}{tables} }}"))
        }))
    }
}

fn read_entry(name: &str, value: &toml::Value) -> Result<SourceUrl, String> {
    check_name(name, "a source")?;
    let entry = Entry::of(name, value, &["url", "url_file", "tables"])?;
    let tables = match value.get("tables") {
        Some(value) => read_tables(value).map_err(|error| entry.refusal(format!("tables: {error}")))?,
        None => BTreeMap::new(),
    };
    let read = |text: &str| {
        // Not the text itself: it may be a password.
        let is_one = text.contains("://") && !text.contains(char::is_whitespace);
        match is_one {
            true => Ok(StoreUrl(text.to_string())),
            false => Err(entry.refusal("this is not one URL such as postgres://USER@HOST/DB")),
        }
    };
    match (entry.text("url")?, entry.text("url_file")?) {
        (Some(url), None) => Ok(SourceUrl {
            url: read(url)?,
            file: None,
            tables,
        }),
        (None, Some(path)) => {
            let file = LocalPath::parse(path).map_err(|error| entry.refusal(error))?;
            let text =
                read_file(&file).map_err(|error| entry.refusal(format!("url_file {path}: {error}")))?;
            Ok(SourceUrl {
                url: read(text.trim())?,
                file: Some(file),
                tables,
            })
        }
        (None, None) => Err(entry.refusal("give url or url_file")),
        (Some(_), Some(_)) => Err(entry.refusal("url and url_file do not go together")),
    }
}

fn check_name(name: &str, of: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    match name.is_empty() || name.len() > NAME_MAX_BYTES || !name.bytes().all(fits) {
        true => Err(format!(
            "{} is not a name of {of}: 1 to {NAME_MAX_BYTES} of [A-Za-z0-9_-]",
            quoted(name)
        )),
        false => Ok(()),
    }
}

fn read_tables(value: &toml::Value) -> Result<BTreeMap<String, OwnTable>, String> {
    let Some(table) = value.as_table() else {
        return Err(format!("expected a table, found {}", value.type_str()));
    };
    if table.len() > TABLES_MAX {
        return Err(format!("{} tables, of at most {TABLES_MAX}", table.len()));
    }
    let read = |(label, value): (&String, _)| {
        check_name(label, "a table")?;
        Ok((label.clone(), read_own_table(label, value)?))
    };
    table.iter().map(read).collect()
}

fn read_file(file: &LocalPath) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("cannot read it: {error}");
    let mut text = String::new();
    let opened = File::open(&file.0).map_err(cannot)?;
    opened
        .take(FILE_MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(cannot)?;
    match text.len() as u64 {
        0..=FILE_MAX_BYTES => Ok(text),
        _ => Err(format!("it has more than {FILE_MAX_BYTES} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use mintage_testing::no_secret_in;

    use super::*;

    #[track_caller]
    fn check_refused(text: &str, says: &str) {
        let error = SourceUrls::parse(text).unwrap_err();
        assert!(error.contains(says), "{text}: {error:?} lacks {says:?}");
        no_secret_in("the refusal", &error, "secret");
    }

    /// Whoever looks at a source by its name with `mint doctor` starts a server with the same file.
    #[test]
    fn every_kind_that_a_doctor_looks_at_may_stand_in_the_configuration() {
        use mintage_ledger::doctor::{LookSettings, Target};
        use mintage_ledger::source::SOURCES;
        use mintage_ledger::source::workers::WORKER_SYSTEMS;

        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let runtime: Arc<dyn Runtime> = SystemRuntime::new(tokio.handle().clone());
        let mut look = LookSettings::default();
        look.source.table = Some(OwnTable {
            table: "t".into(),
            key_column: "k".into(),
            value_column: "v".into(),
            is_next: true,
            condition: None,
        });
        let kinds = SOURCES.iter().map(|row| row.example);
        let systems = WORKER_SYSTEMS.iter().map(|row| row.example);
        let wrong = [
            "mongodb://db/a",
            "leaf+redis://db/0",
            "nothing+mysql://db/a",
            "redis",
        ];
        for url in kinds.chain(systems).chain(wrong) {
            let looked_at = Target::open(url, &look, &runtime).map(drop);
            let configured = SourceUrls::parse(&format!("{{ a = {{ url = '{url}' }} }}"));
            let served = configured.and_then(|sources| sources.check());
            assert_eq!(
                (looked_at.is_ok(), served.is_ok()),
                (!wrong.contains(&url), !wrong.contains(&url)),
                "{url}: {looked_at:?}, {served:?}"
            );
        }
    }

    #[test]
    fn sources_are_shown_without_passwords_and_read_again() {
        for (text, shown) in [
            ("", "{}"),
            (
                "{ a-1 = { url = 'redis://:secret@h/' } }",
                "{ a-1 = { url = \"redis://***@h/\" } }",
            ),
            (
                "{ b = {url='mysql://u:secret@h/d'}, a = {url='postgres://h/d'} }",
                "{ a = { url = \"postgres://h/d\" }, b = { url = \"mysql://***@h/d\" } }",
            ),
            (
                "{ a = {url='nothing+mysql://u:secret@h/d'} }",
                "{ a = { url = \"nothing+mysql://***@h/d\" } }",
            ),
        ] {
            let sources = SourceUrls::parse(text).unwrap();
            assert_eq!(sources.show(), shown);
            no_secret_in("debug output", &format!("{sources:?}"), "secret");
        }
        for kind in SOURCES {
            let text = format!("{{ a = {{ url = '{}+mysql://u:secret@h/d' }} }}", kind.name);
            let shown = format!("{{ a = {{ url = \"{}+mysql://***@h/d\" }} }}", kind.name);
            assert_eq!(SourceUrls::parse(&text).unwrap().show(), shown);
        }
    }

    #[test]
    fn a_file_holds_the_url() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("url");
        let text = format!("{{ shop = {{ url_file = '{}' }} }}", path.display());
        check_refused(&text, "cannot read it");
        std::fs::write(&path, " \n").unwrap();
        check_refused(&text, "not one URL");
        std::fs::write(&path, vec![b'a'; 65_537]).unwrap();
        check_refused(&text, "more than 65536 bytes");
        std::fs::write(&path, "postgres://u:secret@db/shop\n").unwrap();
        let sources = SourceUrls::parse(&text).unwrap();
        assert_eq!(sources.url("shop"), Some("postgres://u:secret@db/shop"));
        assert_eq!(sources.show(), text.replace('\'', "\""));
        assert_eq!(
            sources.files().map(|(name, _)| name).collect::<Vec<_>>(),
            ["shop"]
        );
    }

    #[test]
    fn tables_of_ones_own_are_shown_and_read_again() {
        let table = "{ table = \"t\", key_column = \"k\", column = \"v\", means = \"next\"";
        let text = format!(
            "{{ a = {{ url = \"mysql://h/d\", tables = {{ b-1 = {table} }}, c = {table}, where = \"x = '1'\" }} }} }} }}"
        );
        let sources = SourceUrls::parse(&text).unwrap();
        assert_eq!(sources.show(), text);
        for (tables, says) in [
            ("5", "\"a\": tables: expected a table, found integer"),
            ("{ b = 5 }", "\"b\" must be a table of table, key_column"),
            ("{ b = { table = 't' } }", "\"b\": key_column is missing"),
            ("{ 'b c' = {} }", "not a name of a table"),
            (
                "{ b = { table = 't', key_column = 'k', column = 'v', means = 'now' } }",
                "means is \"now\": it is next or last",
            ),
            (
                "{ b = { table = 't', key_column = 'k', column = 'v', means = 'next', sql = 'x' } }",
                "has \"sql\"",
            ),
        ] {
            check_refused(
                &format!("{{ a = {{ url = 'mysql://u:secret@h/d', tables = {tables} }} }}"),
                says,
            );
        }
    }

    #[test]
    fn what_is_no_source_is_refused_in_words() {
        check_refused("postgres://u:secret@h/d", "not a TOML table such as");
        check_refused(
            "{ a = 'postgres://u:secret@h/d' }",
            "must be a table of url, url_file, tables",
        );
        check_refused("{ a = {} }", "\"a\": give url or url_file");
        check_refused("{ a = { url = 'secret' } }", "not one URL");
        check_refused(
            "{ a = { url = 'x://h', password = 'secret' } }",
            "has \"password\"",
        );
        check_refused("{ a = { url = 'x://h', url_file = 'x' } }", "do not go together");
        check_refused("{ 'a b' = { url = 'x://h' } }", "not a name of a source");
        let many: String = (0..257)
            .map(|n| format!("a{n} = {{ url = 'x://h' }}, "))
            .collect();
        check_refused(&format!("{{ {many} }}"), "257 sources, of at most 256");
        let error = SourceUrls::from_toml(&5.into()).unwrap_err();
        assert!(error.ends_with("found integer"), "{error}");
        let unknown = SourceUrls::parse("{ a = { url = 'mongodb://u:secret@h/d' } }").unwrap();
        let error = unknown.check().unwrap_err();
        assert!(
            error.starts_with("sources.a: no source has the scheme \"mongodb\""),
            "{error}"
        );
        no_secret_in("the refusal", &error, "secret");
    }
}
