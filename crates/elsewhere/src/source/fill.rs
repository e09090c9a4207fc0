//! Tables that go on filling a column by themselves, though its counter is here.

use sha2::{Digest, Sha256};

/// Where the database of a table finds our face.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FillFrom {
    /// The host, as that database reaches it.
    pub host: String,
    /// The port of the face; `None`: its usual one.
    pub port: Option<u16>,
    /// What the face puts before the names that it is asked for.
    pub prefix: String,
}

impl FillFrom {
    /// What that face is asked for where a sequence of this name is meant.
    ///
    /// # Errors
    /// It cannot be asked for that.
    #[allow(dead_code, reason = "a build may have no engine at all")]
    pub(super) fn asked<'a>(&self, name: &'a str) -> Result<&'a str, Fill> {
        let asked = name.strip_prefix(&self.prefix).filter(|asked| !asked.is_empty());
        asked.ok_or_else(|| Fill::Named {
            why: format!(
                "our face puts {:?} before what it is asked for, and {name} does not begin so",
                self.prefix
            ),
            before: Vec::new(),
        })
    }
}

impl Default for FillFrom {
    fn default() -> FillFrom {
        FillFrom {
            host: "127.0.0.1".into(),
            port: None,
            prefix: String::new(),
        }
    }
}

/// Reads `HOST`, `HOST:PORT` and `[HOST]:PORT`.
///
/// ```
/// use mintage_elsewhere::source::FillFrom;
/// let read = |text: &str| text.parse::<FillFrom>().map(|from| (from.host, from.port));
/// assert_eq!(read("ids.example:7632"), Ok(("ids.example".into(), Some(7632))));
/// assert_eq!(read("::1"), Ok(("::1".into(), None)));
/// assert_eq!(read("[::1]:7606"), Ok(("::1".into(), Some(7606))));
/// assert!(read("ids:port").is_err() && read("").is_err() && read("a b").is_err());
/// ```
impl std::str::FromStr for FillFrom {
    type Err = String;

    fn from_str(text: &str) -> Result<FillFrom, String> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
            _ => (text, None),
        };
        let refused = |what: &str| format!("{text:?} {what}: HOST:PORT, as the database reaches our face");
        let port = match port {
            Some(port) => Some(port.parse().map_err(|_| refused("has no port"))?),
            None => None,
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_string();
        let is_host = |c: char| c.is_ascii_alphanumeric() || ".-_:%".contains(c);
        match !host.is_empty() && host.chars().all(is_host) {
            true => Ok(FillFrom {
                host,
                port,
                prefix: String::new(),
            }),
            false => Err(refused("has no host")),
        }
    }
}

/// Whether inserts that name no id go on once a counter is here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fill {
    /// After these statements they do: run once the counter is here, in this order, in one session of an administrator.
    ByItself(Vec<String>),
    /// They must name the id.
    Named {
        /// Why.
        why: String,
        /// What to run before the move, so that they need not.
        before: Vec<String>,
    },
}

impl Fill {
    /// What to run before the move.
    pub fn before(&self) -> &[String] {
        match self {
            Fill::ByItself(_) => &[],
            Fill::Named { before, .. } => before,
        }
    }
}

/// The user and the password that the statements say: a token's name and the token, where there are tokens.
#[allow(dead_code, reason = "a build may have no engine at all")]
pub(super) const LOGIN: (&str, &str) = ("web", "TOKEN");

/// A name for something of ours in their database: the text where it is at most `max` bytes long, else its beginning
/// and digits that stand for all of it.
#[allow(dead_code, reason = "a build may have no engine at all")]
pub(super) fn short(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_string();
    }
    let digest = Sha256::digest(text);
    let digits: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let room = max.saturating_sub(digits.len() + 1);
    let end = (0..=room)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    format!("{}_{digits}", &text[..end])
}
