//! Reads a configuration from its sources, in order, and remembers where each value came from.

use std::fmt;
use std::path::{Path, PathBuf};

use mintage_local::trusted;

use super::{Config, Input, Key, LocalPath, keys};

/// Where a value came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Built in.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
    /// A flag of the command.
    Flag(String),
}

impl Origin {
    /// Which of two stands above the other.
    fn rank(&self) -> u8 {
        match self {
            Origin::Default => 0,
            Origin::File(_) => 1,
            Origin::Environment(_) => 2,
            Origin::Flag(_) => 3,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(path) => write!(f, "{}", path.display()),
            Origin::Environment(name) => write!(f, "environment {name}"),
            Origin::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// A setting given on the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Override {
    /// The setting's path, such as `store.url`.
    pub path: String,
    /// Its value.
    pub value: String,
    /// The flag, for messages and `mint config show`: `--store`.
    pub flag: String,
}

/// Where to read from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sources {
    /// A file that must exist.
    pub file: Option<PathBuf>,
    /// A file that is read if it exists and `file` is not given: `./mint.toml`.
    pub default_file: Option<PathBuf>,
    /// The environment: settings begin with `MINT_`, and `XDG_DATA_HOME` and `HOME` say where the default folder is.
    pub environment: Vec<(String, String)>,
    /// Flags, which stand above everything.
    pub overrides: Vec<Override>,
}

/// A configuration and where its values came from.
#[derive(Clone, PartialEq, Debug)]
pub struct Loaded {
    /// The values.
    pub config: Config,
    /// The origin of each, in the order of [`keys`].
    pub origins: Vec<Origin>,
}

impl Default for Loaded {
    /// What is built in.
    fn default() -> Self {
        Loaded {
            config: Config::default(),
            origins: vec![Origin::Default; keys().len()],
        }
    }
}

impl Loaded {
    /// Every setting with its value (secrets as `***`) and origin.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Key, String, &Origin)> {
        keys()
            .iter()
            .zip(&self.origins)
            .map(|(key, origin)| (key, (key.show)(&self.config), origin))
    }

    /// Reads the text of the configuration file `file` over what is there.
    ///
    /// # Errors
    /// It is no TOML, or the first setting or value that cannot be used.
    ///
    /// ```
    /// use std::path::Path;
    /// use mintage_server::config::Loaded;
    /// let mut loaded = Loaded::default();
    /// loaded.read_text("[server]\nmax_count = 5", Path::new("mint.toml"))?;
    /// assert_eq!(loaded.config.max_count, 5);
    /// let error = loaded.read_text("[server]\nmax_cuont = 5", Path::new("mint.toml")).unwrap_err();
    /// assert_eq!(error.message, "mint.toml: there is no setting server.max_cuont");
    /// # Ok::<(), mintage_server::config::ConfigError>(())
    /// ```
    pub fn read_text(&mut self, text: &str, file: &Path) -> Result<(), ConfigError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1;
            ConfigError::new(format!(
                "{} line {line} is not TOML: {}",
                file.display(),
                error.message()
            ))
        })?;
        self.read_table(&table, "", file)
    }
}

/// A configuration that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// What was found where.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ConfigError {
    /// An error without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        ConfigError {
            message: message.into(),
            hint: None,
        }
    }

    /// The same error with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}

/// Reads all sources. Does not check settings against each other: [`Config::validate`] does.
///
/// # Errors
/// The first source, setting and value that cannot be used; unknown settings with the nearest known one.
pub fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    let mut loaded = Loaded::default();
    let file = match (&sources.file, &sources.default_file) {
        (Some(path), _) => Some(path),
        (None, Some(path)) if path.exists() => Some(path),
        _ => None,
    };
    if let Some(path) = file {
        loaded.read_file(path)?;
    }
    for (name, value) in &sources.environment {
        loaded.read_environment(name, value)?;
    }
    for given in &sources.overrides {
        let index = find(&given.path).ok_or_else(|| unknown(&given.path, &given.flag))?;
        loaded.set(index, Input::Text(&given.value), Origin::Flag(given.flag.clone()))?;
    }
    loaded.read_url_file()?;
    loaded.name_default_folder(&sources.environment);
    Ok(loaded)
}

/// What to tell of a file that holds a password and that others of this machine may read.
pub(super) fn readable_by_others(setting: &str, file: &LocalPath) -> Option<String> {
    let shown = file.0.display();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file.0).ok()?.permissions().mode();
        (mode & 0o077 != 0).then(|| format!("{setting} {shown} can be read by others: chmod 600 {shown}"))
    }
    #[cfg(not(unix))]
    None
}

/// Settings that say who may do what: whoever writes the file that has one may do everything.
fn is_of_access(path: &str) -> bool {
    path == "auth.token_file" || path.ends_with(".tokens")
}

/// Checks that nobody else can write to a file that a server believes.
pub(super) fn check_trusted(setting: &str, file: &Path) -> Result<(), ConfigError> {
    match trusted::check(file) {
        Ok(_) => Ok(()),
        Err(why) => Err(ConfigError::new(format!("{setting} {}: {why}", file.display()))),
    }
}

impl Loaded {
    /// Checks that nobody but root and this user can write to a file of the configuration that says who may do what.
    ///
    /// # Errors
    /// Who can, and what to do.
    pub fn check_files(&self) -> Result<(), ConfigError> {
        for (key, origin) in keys().iter().zip(&self.origins) {
            if is_of_access(key.path)
                && let Origin::File(file) = origin
            {
                check_trusted("the configuration", file)?;
            }
        }
        Ok(())
    }

    /// Takes the store's URL from the file that `store.url_file` names, unless a stronger source names the store.
    fn read_url_file(&mut self) -> Result<(), ConfigError> {
        let origin = |loaded: &Loaded, path| loaded.origins[find(path).expect("it is a setting")].clone();
        let (of_file, of_url) = (origin(self, "store.url_file"), origin(self, "store.url"));
        let of_url = of_url.rank().max(origin(self, "store.urls").rank());
        let Some(LocalPath(path)) = self
            .config
            .url_file
            .0
            .clone()
            .filter(|_| of_file.rank() >= of_url)
        else {
            return Ok(());
        };
        if of_file.rank() == of_url {
            return Err(ConfigError::new(format!(
                "{of_file}: store.url_file and store.url (or store.urls) do not go together"
            )));
        }
        let cannot = |why: String| ConfigError::new(format!("store.url_file {}: {why}", path.display()));
        let text =
            std::fs::read_to_string(&path).map_err(|error| cannot(format!("cannot read it: {error}")))?;
        let (setting, other) = match text.split_whitespace().count() {
            0 => return Err(cannot("it is empty".to_string())),
            1 => ("store.url", "store.urls"),
            _ => ("store.urls", "store.url"),
        };
        let index = find(setting).expect("it is a setting");
        self.set(index, Input::Text(text.trim()), Origin::File(path))?;
        if other == "store.urls" {
            self.config.store_urls = Vec::new();
        }
        Ok(())
    }

    fn read_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            ConfigError::new(format!(
                "cannot read configuration file {}: {error}",
                path.display()
            ))
        })?;
        self.read_text(&text, path)
    }

    fn read_table(&mut self, table: &toml::Table, prefix: &str, file: &Path) -> Result<(), ConfigError> {
        for (name, value) in table {
            let path = if prefix.is_empty() {
                name.clone()
            } else {
                format!("{prefix}.{name}")
            };
            if let Some(index) = find(&path) {
                self.set(index, Input::Toml(value), Origin::File(file.to_path_buf()))?;
            } else if let (toml::Value::Table(inner), true) = (value, is_section(&path)) {
                self.read_table(inner, &path, file)?;
            } else if is_section(&path) {
                return Err(is_no_setting(&path, file));
            } else {
                return Err(unknown(&path, &file.display().to_string()));
            }
        }
        Ok(())
    }

    /// Sections are joined by two underscores. A name with a section that does not exist is a mistake; other
    /// names (`MINT_SERVER`, the address that commands talk to) belong to other parts of the program.
    fn read_environment(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let Some(rest) = name.strip_prefix("MINT_") else {
            return Ok(());
        };
        let path = rest.to_lowercase().replace("__", ".");
        match find(&path) {
            Some(index) => self.set(index, Input::Text(value), Origin::Environment(name.to_string())),
            None if rest.contains("__") => Err(unknown(&path, name)),
            None => Ok(()),
        }
    }

    fn set(&mut self, index: usize, input: Input<'_>, origin: Origin) -> Result<(), ConfigError> {
        let key = &keys()[index];
        (key.set)(&mut self.config, input).map_err(|error| {
            ConfigError::new(match &origin {
                Origin::File(path) => format!("{}: {}: {error}", path.display(), key.path),
                Origin::Environment(name) => format!("{name}: {error}"),
                Origin::Flag(name) => format!("{name}: {error}"),
                Origin::Default => format!("{}: {error}", key.path),
            })
        })?;
        self.origins[index] = origin;
        Ok(())
    }
}

/// Reads a table over the defaults, for tests of the default file.
#[cfg(test)]
pub(super) fn from_table(table: &toml::Table) -> Result<Config, ConfigError> {
    let mut loaded = Loaded::default();
    loaded.read_table(table, "", Path::new("test"))?;
    Ok(loaded.config)
}

fn find(path: &str) -> Option<usize> {
    keys().iter().position(|key| key.path == path)
}

fn is_section(path: &str) -> bool {
    keys().iter().any(|key| {
        key.path
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

fn is_no_setting(section: &str, file: &Path) -> ConfigError {
    let below = |path: &'static str| path.strip_prefix(section)?.strip_prefix('.');
    let names: Vec<&str> = keys().iter().filter_map(|key| below(key.path)).collect();
    let what = format!("{}: {section} is a section, not a setting", file.display());
    ConfigError::new(what).with_hint(format!("write [{section}] with {}", names.join(", ")))
}

fn unknown(path: &str, source: &str) -> ConfigError {
    let error = ConfigError::new(format!("{source}: there is no setting {path}"));
    match nearest(path) {
        Some(known) => error.with_hint(format!(
            "did you mean {known}? mint config init prints all settings"
        )),
        None => error.with_hint("mint config init prints all settings"),
    }
}

/// The known path that takes the fewest edits, if that is less than half of its length.
fn nearest(path: &str) -> Option<&'static str> {
    fn last(path: &str) -> &str {
        path.rsplit('.').next().unwrap_or_default()
    }
    let mut best: Option<(usize, usize, &str)> = None;
    for key in keys() {
        let most = (key.path.len() - 1) / 2;
        let most = best.map_or(most, |(fewest, ..)| most.min(fewest));
        // The right name in the wrong section is nearer than another name in the right one; of several, the one whose
        // section is nearest.
        let edits = match last(key.path) == last(path) {
            true => Some(1),
            false => edits(key.path, path, most),
        };
        let found = edits.map(|edits| (edits, strsim::levenshtein(key.path, path), key.path));
        best = found.into_iter().chain(best).min();
    }
    best.map(|(.., known)| known)
}

/// Insertions, removals and replacements of letters that turn `a` into `b`, if `most` are enough.
pub(crate) fn edits(a: &str, b: &str, most: usize) -> Option<usize> {
    // Texts of very different lengths are not worth the comparison.
    (a.len().abs_diff(b.len()) <= 4 * most)
        .then(|| strsim::levenshtein(a, b))
        .filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mint.toml");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn origin_of(loaded: &Loaded, path: &str) -> (String, String) {
        let (_, value, origin) = loaded.rows().find(|(key, ..)| key.path == path).unwrap();
        (value, origin.to_string())
    }

    #[test]
    fn flags_stand_above_environment_above_file_above_defaults() {
        let (_folder, path) = file(
            "[server.http]\nlisten = \"127.0.0.1:1\"\n[server.resp]\nlisten = \"127.0.0.1:2\"\n[store]\nurl = \"file:a\"\n",
        );
        let sources = Sources {
            default_file: Some(path.clone()),
            environment: vec![
                ("MINT_SERVER__RESP__LISTEN".into(), "127.0.0.1:3".into()),
                ("MINT_STORE__URL".into(), "file:b".into()),
                ("MINT_SERVER".into(), "http://elsewhere".into()),
                ("HOME".into(), "/".into()),
            ],
            overrides: vec![Override {
                path: "store.url".into(),
                value: "memory:".into(),
                flag: "--store".into(),
            }],
            ..Sources::default()
        };
        let loaded = load(&sources).unwrap();
        assert_eq!(
            origin_of(&loaded, "server.http.listen"),
            ("\"127.0.0.1:1\"".into(), path.display().to_string())
        );
        assert_eq!(
            origin_of(&loaded, "server.resp.listen"),
            (
                "\"127.0.0.1:3\"".into(),
                "environment MINT_SERVER__RESP__LISTEN".into()
            )
        );
        assert_eq!(
            origin_of(&loaded, "store.url"),
            ("\"memory:\"".into(), "flag --store".into())
        );
        assert_eq!(
            origin_of(&loaded, "server.max_count"),
            ("10000".into(), "default".into())
        );
    }

    #[test]
    fn a_file_names_the_store_unless_something_stronger_does() {
        let (folder, path) = file("postgres://u:secret@h/ids\n");
        let named = path.display().to_string();
        let loaded = |environment: &[(&str, &str)], flags: &[(&str, &str)], toml: &str| {
            let config = folder.path().join("config.toml");
            std::fs::write(&config, toml).unwrap();
            load(&Sources {
                file: Some(config),
                environment: environment
                    .iter()
                    .map(|(n, v)| (n.to_string(), v.to_string()))
                    .collect(),
                overrides: flags
                    .iter()
                    .map(|(path, value)| Override {
                        path: path.to_string(),
                        value: value.to_string(),
                        flag: "--store".into(),
                    })
                    .collect(),
                ..Sources::default()
            })
        };
        let environment = [("MINT_STORE__URL_FILE", named.as_str())];
        let found = loaded(&environment, &[], "[store]\nurl = \"redis://h\"").unwrap();
        assert_eq!(found.config.store_url.0, "postgres://u:secret@h/ids");
        let (shown, origin) = origin_of(&found, "store.url");
        assert_eq!(
            (shown.as_str(), origin),
            ("\"postgres://***@h/ids\"", named.clone())
        );
        let flags = [("store.url", "memory:")];
        assert_eq!(
            loaded(&environment, &flags, "").unwrap().config.store_url.0,
            "memory:"
        );
        let in_file = format!("[store]\nurl_file = {named:?}\n");
        let environment = [("MINT_STORE__URL", "redis://h")];
        assert_eq!(
            loaded(&environment, &[], &in_file).unwrap().config.store_url.0,
            "redis://h"
        );
        let both = format!("{in_file}url = \"redis://h\"");
        let error = loaded(&[], &[], &both).unwrap_err();
        assert!(error.message.contains("do not go together"), "{error}");
        // A set, an empty file, and none.
        std::fs::write(&path, "redis://a redis://b\n").unwrap();
        assert_eq!(loaded(&[], &[], &in_file).unwrap().config.store_urls.len(), 2);
        std::fs::write(&path, "\n").unwrap();
        assert!(
            loaded(&[], &[], &in_file)
                .unwrap_err()
                .message
                .contains("it is empty")
        );
        std::fs::remove_file(&path).unwrap();
        assert!(
            loaded(&[], &[], &in_file)
                .unwrap_err()
                .message
                .contains("cannot read it")
        );
    }

    #[test]
    fn whoever_can_write_to_a_file_that_says_who_may_do_what_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, path) = file("");
        for (text, is_believed) in [
            ("", true),
            ("[server]\nmax_count = 5", true),
            ("[auth]\ntokens = [{name = 'a', uid = 1, may = ['read']}]", false),
            ("[auth]\ntoken_file = 'tokens.toml'", false),
        ] {
            let mut loaded = Loaded::default();
            loaded.read_text(text, &path).unwrap();
            for mode in [0o600, 0o644, 0o640, 0o622, 0o660] {
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
                let checked = loaded.check_files().map_err(|error| error.message);
                assert_eq!(
                    checked.is_ok(),
                    is_believed || mode & 0o022 == 0,
                    "{text} {mode:o}: {checked:?}"
                );
            }
        }
        let why = check_trusted("store.url_file", &path).unwrap_err().message;
        assert!(
            why.starts_with("store.url_file /") && why.contains("chmod go-w"),
            "{why}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_warned_of() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, path) = file("memory:");
        for (mode, warned) in [(0o600, false), (0o640, true), (0o604, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let warning = readable_by_others("store.url_file", &LocalPath(path.clone()));
            assert_eq!(warning.is_some(), warned, "{mode:o}");
        }
    }

    #[test]
    fn mistakes_name_their_place_and_the_nearest_setting() {
        for (text, message, hint) in [
            (
                "[server.http]\nlissten = \"x\"",
                "there is no setting server.http.lissten",
                "did you mean server.http.listen?",
            ),
            (
                "[stor]\nurl = \"x\"",
                "there is no setting stor",
                "mint config init",
            ),
            (
                "[server]\nlisten = \"x\"",
                "there is no setting server.listen",
                "did you mean server.",
            ),
            (
                "[server.http]\nlisten = 5",
                "server.http.listen: expected address, found integer",
                "",
            ),
            (
                "[server.http]\nlisten = [5]",
                "expected list of texts, found array",
                "",
            ),
            ("[server.http]\nlisten = 5.5", "expected address, found float", ""),
            ("server = 5", "server is a section", ""),
            (
                "[server]\nmax_count = 0",
                "server.max_count: 0 is out of range: 1 to 1000000",
                "",
            ),
            (
                "[server.resp]\nmax_line = \"1B\"",
                "\"1B\" is out of range: 256B to 1MiB",
                "",
            ),
            ("a = \n", "line 1 is not TOML", ""),
            ("[store]\nurl = \"memory:\"\n[store]\n", "line 3 is not TOML", ""),
        ] {
            let (_folder, path) = file(text);
            let error = load(&Sources {
                file: Some(path),
                ..Sources::default()
            })
            .unwrap_err();
            assert!(error.message.contains(message), "{text:?}: {error}");
            assert!(
                error.hint.clone().unwrap_or_default().contains(hint),
                "{text:?}: {:?}",
                error.hint
            );
        }
    }

    #[test]
    fn a_file_that_was_named_must_exist_and_the_default_one_need_not() {
        let missing = PathBuf::from("/nonexistent/mint.toml");
        let named = Sources {
            file: Some(missing.clone()),
            ..Sources::default()
        };
        assert!(
            load(&named)
                .unwrap_err()
                .message
                .contains("cannot read configuration file /nonexistent/mint.toml")
        );
        assert!(
            load(&Sources {
                default_file: Some(missing),
                ..Sources::default()
            })
            .is_ok()
        );
    }

    #[test]
    fn unknown_variables_and_overrides_are_refused() {
        let environment = vec![("MINT_SERVER__HTTP__LISTE".to_string(), "x".to_string())];
        let error = load(&Sources {
            environment,
            ..Sources::default()
        })
        .unwrap_err();
        assert_eq!(
            error.message,
            "MINT_SERVER__HTTP__LISTE: there is no setting server.http.liste"
        );
        assert!(error.hint.unwrap().contains("server.http.listen"));
        let overrides = vec![Override {
            path: "nope".into(),
            value: "1".into(),
            flag: "--nope".into(),
        }];
        assert!(
            load(&Sources {
                overrides,
                ..Sources::default()
            })
            .is_err()
        );
    }

    #[test]
    fn a_section_that_is_written_as_a_setting_names_its_settings() {
        let text = "[server]\nhttp = \"127.0.0.1:7600\"\n".to_string();
        let read = Loaded::default().read_text(&text, Path::new("mint.toml"));
        let error = read.unwrap_err();
        assert_eq!(
            error.message,
            "mint.toml: server.http is a section, not a setting"
        );
        assert!(
            error
                .hint
                .unwrap()
                .starts_with("write [server.http] with listen, ")
        );
    }

    #[test]
    fn distances_are_counted_in_single_edits() {
        for (a, b, distance) in [
            ("", "", 0),
            ("a", "", 1),
            ("kitten", "sitting", 3),
            ("listen", "lissten", 1),
        ] {
            assert_eq!(edits(a, b, 9), Some(distance));
            assert_eq!(edits(b, a, distance), Some(distance));
            if let Some(fewer) = distance.checked_sub(1) {
                assert_eq!(edits(a, b, fewer), None);
            }
        }
    }
}
