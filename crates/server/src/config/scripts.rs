//! The scripts and functions whose meaning the operator has declared: `faces.scripts`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use mintage_ledger::{DEFAULT_POOL, Name};
use serde::Deserialize;

use super::sha1::Sha1Digest;
use super::value::{Setting, quoted};

/// One declared script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// What it is called by.
    pub called: Called,
    /// What is done in its place.
    pub does: Does,
}

/// What a script is called by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Called {
    /// `EVALSHA`, and `EVAL` of the text with this digest.
    Sha1(Sha1Digest),
    /// The same for the text of a file, which was read with the configuration.
    File {
        /// Where it is.
        path: PathBuf,
        /// The digest of what was in it.
        sha1: Sha1Digest,
    },
    /// `FCALL` of this name.
    Function(String),
}

/// What is done in a script's place. The pool stands with those that make ids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Does {
    /// The next number of sequence `KEYS[1]`.
    Incr,
    /// One run of `ARGV[1]` numbers of sequence `KEYS[1]`: its last.
    IncrBy,
    /// The same: its first and its last.
    Range,
    /// An id, as an integer.
    Snowflake(Name),
    /// An id, as text.
    SnowflakeText(Name),
    /// The five numbers from which Icicle's clients make `KEYS[4]` ids.
    Icicle(Name),
    /// Seconds, microseconds, worker and sequence of one id.
    SecondsPartition(Name),
    /// What CosId does with the numbers of the machines of namespace `KEYS[1]`.
    CosId(Machine),
}

/// What CosId does with the number of machine `ARGV[1]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// Leases one, up to `ARGV[2]`.
    Distribute,
    /// Guards it.
    Guard,
    /// Gives it back.
    Revert,
    /// Keeps it for the machine, which has stopped.
    RevertStable,
}

impl Machine {
    const NAMES: [(&'static str, Machine); 4] = [
        ("cosid_distribute", Machine::Distribute),
        ("cosid_guard", Machine::Guard),
        ("cosid_revert", Machine::Revert),
        ("cosid_revert_stable", Machine::RevertStable),
    ];
}

impl Script {
    /// The digest of its text, unless it is a function.
    pub fn sha1(&self) -> Option<Sha1Digest> {
        match &self.called {
            Called::Sha1(sha1) | Called::File { sha1, .. } => Some(*sha1),
            Called::Function(_) => None,
        }
    }

    /// Its name, if it is a function.
    pub fn function(&self) -> Option<&str> {
        match &self.called {
            Called::Function(name) => Some(name),
            Called::Sha1(_) | Called::File { .. } => None,
        }
    }

    fn show(&self) -> String {
        let (what, text) = match &self.called {
            Called::Sha1(sha1) => ("sha1", sha1.to_string()),
            Called::File { path, .. } => ("file", path.display().to_string()),
            Called::Function(name) => ("function", name.clone()),
        };
        let does = self.does.word();
        match self.does.pool() {
            Some(pool) => format!(
                "{{ {what} = {}, does = \"{does}\", pool = {} }}",
                quoted(&text),
                quoted(pool.as_str())
            ),
            None => format!("{{ {what} = {}, does = \"{does}\" }}", quoted(&text)),
        }
    }
}

impl Does {
    /// Its word in the configuration.
    ///
    /// ```
    /// use mintage_server::config::Does;
    /// assert_eq!(Does::IncrBy.word(), "incrby");
    /// ```
    pub fn word(&self) -> &'static str {
        match self {
            Does::Incr => "incr",
            Does::IncrBy => "incrby",
            Does::Range => "range",
            Does::Snowflake(_) => "snowflake",
            Does::SnowflakeText(_) => "snowflake_text",
            Does::Icicle(_) => "icicle",
            Does::SecondsPartition(_) => "seconds_partition",
            Does::CosId(machine) => Machine::NAMES[*machine as usize].0,
        }
    }

    /// The pool its ids come from, if it makes ids.
    pub fn pool(&self) -> Option<&Name> {
        match self {
            Does::Incr | Does::IncrBy | Does::Range | Does::CosId(_) => None,
            Does::Snowflake(pool)
            | Does::SnowflakeText(pool)
            | Does::Icicle(pool)
            | Does::SecondsPartition(pool) => Some(pool),
        }
    }

    fn of(word: &str, pool: Option<String>) -> Result<Does, String> {
        let plain = match word {
            "incr" => Some(Does::Incr),
            "incrby" => Some(Does::IncrBy),
            "range" => Some(Does::Range),
            _ => {
                let known = Machine::NAMES.iter().find(|(name, _)| *name == word);
                known.map(|(_, machine)| Does::CosId(*machine))
            }
        };
        if let Some(does) = plain {
            return match pool {
                None => Ok(does),
                Some(pool) => Err(format!(
                    "does = \"{word}\" is about KEYS[1] and has no pool of its own, but pool = {pool:?} is given"
                )),
            };
        }
        let of_pool: fn(Name) -> Does = match word {
            "snowflake" => Does::Snowflake,
            "snowflake_text" => Does::SnowflakeText,
            "icicle" => Does::Icicle,
            "seconds_partition" => Does::SecondsPartition,
            _ => return Err(format!("does = {word:?} is none of {}", WORDS.join(", "))),
        };
        let pool = pool.unwrap_or_else(|| DEFAULT_POOL.to_string());
        Name::new(&pool)
            .map(of_pool)
            .map_err(|error| format!("pool = {pool:?}: {error}"))
    }
}

/// Every `does`.
const WORDS: [&str; 11] = [
    "incr",
    "incrby",
    "range",
    "snowflake",
    "snowflake_text",
    "icicle",
    "seconds_partition",
    Machine::NAMES[0].0,
    Machine::NAMES[1].0,
    Machine::NAMES[2].0,
    Machine::NAMES[3].0,
];

/// A script as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    sha1: Option<String>,
    file: Option<String>,
    function: Option<String>,
    does: String,
    pool: Option<String>,
}

impl Entry {
    fn read(self) -> Result<Script, String> {
        let called = match (self.sha1, self.file, self.function) {
            (Some(sha1), None, None) => Called::Sha1(sha1.parse()?),
            (None, Some(path), None) => Called::File {
                sha1: digest_of_file(Path::new(&path))
                    .map_err(|error| format!("file = {path:?}: {error}"))?,
                path: path.into(),
            },
            (None, None, Some(name)) => Called::Function(function_name(name)?),
            (None, None, None) => {
                return Err("give sha1, file or function: what the script is called by".to_string());
            }
            _ => return Err("give one of sha1, file and function, not several".to_string()),
        };
        let does = Does::of(&self.does, self.pool)?;
        Ok(Script { called, does })
    }
}

/// The digest of a whole file: every byte counts, a last line's end too.
fn digest_of_file(path: &Path) -> Result<Sha1Digest, String> {
    let cannot = |error: std::io::Error| format!("cannot read it: {error}");
    // Not what would never end, as a pipe.
    if !std::fs::metadata(path).map_err(cannot)?.is_file() {
        return Err("it is not a file".to_string());
    }
    let mut text = Vec::new();
    let file = File::open(path).map_err(cannot)?;
    file.take(FILE_MAX_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(cannot)?;
    match text.len() as u64 {
        0 => Err("it is empty".to_string()),
        1..=FILE_MAX_BYTES => Ok(Sha1Digest::of(&text)),
        _ => Err(format!("it has more than {FILE_MAX_BYTES} bytes")),
    }
}

/// The largest request there can be (`server.resp.max_request`): no longer script is ever sent.
const FILE_MAX_BYTES: u64 = 1_048_576;

/// Checks a name by Redis's rule for functions.
fn function_name(name: String) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match name.len() {
        1..=64 if name.bytes().all(fits) => Ok(name),
        _ => Err(format!(
            "function = {name:?} is not a name of a function: 1 to 64 of [A-Za-z0-9_]"
        )),
    }
}

impl Setting for Vec<Script> {
    const KIND: &'static str = "list of scripts";

    fn parse(text: &str) -> Result<Self, String> {
        let table: toml::Table = format!("scripts = {text}").parse().map_err(|_| {
            format!("{text:?} is not a TOML array such as [{{sha1 = \"…\", does = \"incr\"}}]")
        })?;
        Self::from_toml(&table["scripts"])
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let list = value
            .as_array()
            .ok_or_else(|| format!("expected {}, found {}", Self::KIND, value.type_str()))?;
        if list.len() > SCRIPTS_MAX {
            return Err(format!("{} scripts, of at most {SCRIPTS_MAX}", list.len()));
        }
        let mut scripts: Vec<Script> = Vec::new();
        for (i, item) in list.iter().enumerate() {
            let wrong = |error: String| format!("script {}: {error}", i + 1);
            let entry: Entry = item
                .clone()
                .try_into()
                .map_err(|error: toml::de::Error| wrong(error.message().to_string()))?;
            let script = entry.read().map_err(wrong)?;
            let is_same = |other: &Script| {
                (script.sha1().is_some() && other.sha1() == script.sha1())
                    || script.function().is_some_and(|name| {
                        // As Redis looks them up.
                        other
                            .function()
                            .is_some_and(|other| other.eq_ignore_ascii_case(name))
                    })
            };
            if let Some(at) = scripts.iter().position(is_same) {
                return Err(wrong(format!(
                    "the same script or function is listed already, as script {}",
                    at + 1
                )));
            }
            scripts.push(script);
        }
        Ok(scripts)
    }

    fn show(&self) -> String {
        let shown: Vec<String> = self.iter().map(Script::show).collect();
        format!("[{}]", shown.join(", "))
    }
}

/// How many scripts may be declared: each request of a script looks through them.
const SCRIPTS_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    const SHA1: &str = "2bab3b661081db58bd2341920e0ba7cf5dc77b25";

    #[track_caller]
    fn check_refused(text: &str, says: &str) {
        let error = Vec::<Script>::parse(text).unwrap_err();
        assert!(error.contains(says), "{text}: {error:?} lacks {says:?}");
    }

    #[test]
    fn scripts_are_shown_as_they_are_written() {
        for text in [
            "[]".to_string(),
            format!("[{{ sha1 = \"{SHA1}\", does = \"incr\" }}]"),
            "[{ function = \"next_id\", does = \"icicle\", pool = \"icicle\" }, \
              { function = \"b\", does = \"range\" }]"
                .to_string(),
        ] {
            let shown = Vec::<Script>::parse(&text).unwrap().show();
            assert_eq!(shown.replace("  ", " "), text.replace("  ", " "));
            assert_eq!(Vec::<Script>::parse(&shown), Vec::<Script>::parse(&text));
        }
        let pool = Vec::<Script>::parse("[{function = \"f\", does = \"snowflake\"}]").unwrap();
        assert!(pool.show().contains("pool = \"default\""), "{}", pool.show());
    }

    #[test]
    fn a_file_stands_for_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("next.lua");
        let text = format!("[{{ file = \"{}\", does = \"incr\" }}]", path.display());
        check_refused(&text, "cannot read it");
        std::fs::write(&path, "").unwrap();
        check_refused(&text, "it is empty");
        std::fs::write(&path, vec![b' '; 1_048_577]).unwrap();
        check_refused(&text, "more than 1048576 bytes");
        std::fs::write(&path, "return redis.call('incr', KEYS[1])").unwrap();
        let scripts = Vec::<Script>::parse(&text).unwrap();
        assert_eq!(scripts[0].sha1().unwrap().to_string(), SHA1);
        assert_eq!(scripts.show(), text);
        let folder = text.replace("/next.lua", "");
        check_refused(&folder, "it is not a file");
    }

    #[test]
    fn what_is_no_script_is_refused_in_words() {
        check_refused("[{does = \"incr\"}]", "script 1: give sha1, file or function");
        check_refused(
            &format!("[{{sha1 = \"{SHA1}\", function = \"f\", does = \"incr\"}}]"),
            "not several",
        );
        check_refused("[{function = \"f\"}]", "missing field `does`");
        check_refused(
            "[{function = \"f\", does = \"decr\"}]",
            "is none of incr, incrby, range",
        );
        check_refused(
            "[{function = \"f g\", does = \"incr\"}]",
            "not a name of a function",
        );
        check_refused("[{sha1 = \"abc\", does = \"incr\"}]", "40 hexadecimal digits");
        check_refused(
            "[{function = \"f\", does = \"incr\", pool = \"p\"}]",
            "has no pool",
        );
        check_refused(
            "[{function = \"f\", does = \"icicle\", pool = \"\"}]",
            "pool = \"\"",
        );
        check_refused(
            "[{function = \"f\", does = \"incr\", key = \"p\"}]",
            "unknown field `key`",
        );
        check_refused(
            "[{function = \"f\", does = \"incr\"}, {function = \"F\", does = \"range\"}]",
            "script 2: the same script or function is listed already, as script 1",
        );
        check_refused("incr", "not a TOML array");
        check_refused("5", "expected list of scripts, found integer");
        let many = "{function = \"f\", does = \"incr\"}, ".repeat(257);
        check_refused(&format!("[{many}]"), "257 scripts, of at most 256");
    }
}
