//! The types of settings: how each is read from text or TOML, and how it is shown.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::transport::Endpoint;
use mintage::{ClockPolicy, NotAClockPolicy};
use mintage_ledger::shown_url;

/// A type that a setting can have.
pub trait Setting: Sized {
    /// What the type is called in the reference.
    const KIND: &'static str;

    /// Reads the text of an environment variable, a flag or a TOML string.
    ///
    /// # Errors
    /// Says what was expected and found.
    fn parse(text: &str) -> Result<Self, String>;

    /// Reads a TOML value; scalars go through [`Setting::parse`].
    ///
    /// # Errors
    /// As [`Setting::parse`].
    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        match value {
            toml::Value::String(text) => Self::parse(text),
            toml::Value::Integer(number) => Self::parse(&number.to_string()),
            toml::Value::Boolean(flag) => Self::parse(&flag.to_string()),
            other => Err(format!("expected {}, found {}", Self::KIND, other.type_str())),
        }
    }

    /// The value as TOML, without secrets.
    fn show(&self) -> String;

    /// The value as a number, where the setting has a range: a count, bytes, or milliseconds.
    fn magnitude(&self) -> Option<u64> {
        None
    }

    /// Where to listen, where that is what the setting says.
    fn as_listen(&self) -> Option<&Listen> {
        None
    }

    /// A bound of the range as a person writes it.
    fn show_bound(bound: u64) -> String {
        bound.to_string()
    }
}

/// Where to listen: addresses, paths of unix sockets, our own port of the protocol (`main`), or nowhere (`off`).
///
/// ```
/// use mintage_server::config::{Listen, Setting};
/// let listen = Listen::parse("main, 127.0.0.1:8080")?;
/// assert!(listen.main && listen.endpoints.len() == 1 && !listen.is_off());
/// assert_eq!(listen.show(), "[\"main\", \"127.0.0.1:8080\"]");
/// assert!(Listen::parse("off")?.is_off());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listen {
    /// Our own port of the same protocol answers its requests too.
    pub main: bool,
    /// Addresses and sockets of its own.
    pub endpoints: Vec<Endpoint>,
}

impl Listen {
    /// Nowhere.
    pub const OFF: Listen = Listen {
        main: false,
        endpoints: Vec::new(),
    };

    /// Whether it is nowhere.
    pub fn is_off(&self) -> bool {
        *self == Listen::OFF
    }
}

impl From<Endpoint> for Listen {
    fn from(endpoint: Endpoint) -> Listen {
        Listen {
            main: false,
            endpoints: vec![endpoint],
        }
    }
}

/// A setting that the program chooses itself unless told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Auto<T>(pub Option<T>);

/// A limit that may be absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Off<T>(pub Option<T>);

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Bytes(pub usize);

/// The URL of a store. May hold a password, which is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(pub String);

/// The cluster id of a shared store, as `mint init` prints it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClusterId(pub u128);

/// A folder or file of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalPath(pub PathBuf);

/// What a server calls itself towards others of its cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeName(pub String);

impl StoreUrl {
    /// The URL as it may be shown ([`shown_url`]).
    ///
    /// ```
    /// use mintage_server::config::StoreUrl;
    /// assert_eq!(StoreUrl("postgres://u:secret@db/ids".into()).redacted(), "postgres://***@db/ids");
    /// ```
    pub fn redacted(&self) -> String {
        shown_url(&self.0)
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted())
    }
}

impl Setting for bool {
    const KIND: &'static str = "true or false";

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            other => Err(format!("{other:?} is neither true nor false")),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for u64 {
    const KIND: &'static str = "number";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| format!("{text:?} is not a whole number"))
    }

    fn show(&self) -> String {
        self.to_string()
    }

    fn magnitude(&self) -> Option<u64> {
        Some(*self)
    }
}

impl Setting for Bytes {
    const KIND: &'static str = "size";

    fn parse(text: &str) -> Result<Self, String> {
        let (number, unit) = split_unit(text);
        let unit_bytes: usize = match unit {
            "B" => 1,
            "KiB" => 1024,
            "MiB" => 1024 * 1024,
            _ => {
                return Err(format!(
                    "{text:?} is not a size such as \"512B\", \"64KiB\" or \"1MiB\""
                ));
            }
        };
        let number: usize = number
            .parse()
            .map_err(|_| format!("{text:?} does not begin with a whole number"))?;
        number
            .checked_mul(unit_bytes)
            .map(Bytes)
            .ok_or_else(|| format!("{text:?} is too large"))
    }

    fn show(&self) -> String {
        quoted(&show_bytes(self.0))
    }

    fn magnitude(&self) -> Option<u64> {
        Some(self.0 as u64)
    }

    fn show_bound(bound: u64) -> String {
        show_bytes(bound as usize)
    }
}

impl Setting for Duration {
    const KIND: &'static str = "duration";

    fn parse(text: &str) -> Result<Self, String> {
        let (number, unit) = split_unit(text);
        let unit_ms: u64 = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => {
                return Err(format!(
                    "{text:?} is not a duration such as \"500ms\", \"5s\", \"10m\" or \"1h\""
                ));
            }
        };
        let number: u64 = number
            .parse()
            .map_err(|_| format!("{text:?} does not begin with a whole number"))?;
        number
            .checked_mul(unit_ms)
            .map(Duration::from_millis)
            .ok_or_else(|| format!("{text:?} is too long"))
    }

    fn show(&self) -> String {
        quoted(&show_ms(self.as_millis() as u64))
    }

    fn magnitude(&self) -> Option<u64> {
        Some(self.as_millis() as u64)
    }

    fn show_bound(bound: u64) -> String {
        show_ms(bound)
    }
}

impl<T: Setting> Setting for Auto<T> {
    const KIND: &'static str = T::KIND;

    fn parse(text: &str) -> Result<Self, String> {
        if text == "auto" {
            Ok(Auto(None))
        } else {
            T::parse(text).map(|v| Auto(Some(v))).map_err(or("auto"))
        }
    }

    fn show(&self) -> String {
        self.0.as_ref().map_or_else(|| quoted("auto"), T::show)
    }

    fn magnitude(&self) -> Option<u64> {
        self.0.as_ref().and_then(T::magnitude)
    }

    fn show_bound(bound: u64) -> String {
        T::show_bound(bound)
    }
}

impl<T: Setting> Setting for Off<T> {
    const KIND: &'static str = T::KIND;

    fn parse(text: &str) -> Result<Self, String> {
        if text == "off" {
            Ok(Off(None))
        } else {
            T::parse(text).map(|v| Off(Some(v))).map_err(or("off"))
        }
    }

    fn show(&self) -> String {
        self.0.as_ref().map_or_else(|| quoted("off"), T::show)
    }

    fn magnitude(&self) -> Option<u64> {
        self.0.as_ref().and_then(T::magnitude)
    }

    fn show_bound(bound: u64) -> String {
        T::show_bound(bound)
    }
}

impl Setting for Listen {
    const KIND: &'static str = "address";

    fn parse(text: &str) -> Result<Self, String> {
        let mut listen = Listen::OFF;
        let places: Vec<&str> = text.split(',').map(str::trim).collect();
        for place in &places {
            match *place {
                "off" if places.len() == 1 => {}
                "off" => return Err(format!("{text:?}: off stands alone")),
                "main" => listen.main = true,
                unix if unix.starts_with("unix:") => listen.endpoints.push(unix.parse()?),
                address => listen.endpoints.push(address.parse().map_err(or("off"))?),
            }
        }
        Ok(listen)
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        match value {
            toml::Value::Array(_) => Self::parse(&Vec::<String>::from_toml(value)?.join(",")),
            toml::Value::String(text) => Self::parse(text),
            other => Err(format!("expected {}, found {}", Self::KIND, other.type_str())),
        }
    }

    fn show(&self) -> String {
        let main = self.main.then(|| "main".to_string());
        let places: Vec<String> = main
            .into_iter()
            .chain(self.endpoints.iter().map(Endpoint::to_string))
            .collect();
        match places.as_slice() {
            [] => quoted("off"),
            [one] => quoted(one),
            _ => places.show(),
        }
    }

    fn as_listen(&self) -> Option<&Listen> {
        Some(self)
    }
}

impl Setting for StoreUrl {
    const KIND: &'static str = "URL";

    fn parse(text: &str) -> Result<Self, String> {
        if text.contains(':') {
            Ok(StoreUrl(text.to_string()))
        } else {
            // Not the text itself: it may be a password.
            Err("this is not a store URL such as \"file:./ids\" or \"memory:\"".to_string())
        }
    }

    fn show(&self) -> String {
        quoted(&self.redacted())
    }
}

impl Setting for ClockPolicy {
    const KIND: &'static str = "clock policy";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: NotAClockPolicy| error.to_string())
    }

    fn show(&self) -> String {
        quoted(&self.to_string())
    }
}

impl Setting for Vec<StoreUrl> {
    const KIND: &'static str = "list of URLs";

    /// URLs hold commas (`etcd://a,b`), so that blanks stand between them.
    fn parse(text: &str) -> Result<Self, String> {
        text.split_whitespace().map(StoreUrl::parse).collect()
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let wrong = || format!("expected {}, found {}", Self::KIND, value.type_str());
        match value {
            toml::Value::String(text) => Self::parse(text),
            toml::Value::Array(list) => list
                .iter()
                .map(|item| StoreUrl::parse(item.as_str().ok_or_else(wrong)?))
                .collect(),
            _ => Err(wrong()),
        }
    }

    fn show(&self) -> String {
        let urls: Vec<String> = self.iter().map(Setting::show).collect();
        format!("[{}]", urls.join(", "))
    }
}

impl Setting for ClusterId {
    const KIND: &'static str = "cluster id";

    fn parse(text: &str) -> Result<Self, String> {
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        match u128::from_str_radix(&digits, 16) {
            Ok(id) if digits.len() == 32 => Ok(ClusterId(id)),
            _ => Err(format!(
                "{text:?} is not a cluster id: 32 hexadecimal digits, as mint init prints them"
            )),
        }
    }

    fn show(&self) -> String {
        quoted(&format!("{:032x}", self.0))
    }
}

impl Setting for LocalPath {
    const KIND: &'static str = "path";

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("the path is empty".to_string()),
            path => Ok(LocalPath(path.into())),
        }
    }

    fn show(&self) -> String {
        quoted(&self.0.display().to_string())
    }
}

impl Setting for NodeName {
    const KIND: &'static str = "name";

    fn parse(text: &str) -> Result<Self, String> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || b"._:-".contains(&b);
        match text.len() {
            1..=64 if text.bytes().all(fits) => Ok(NodeName(text.to_string())),
            _ => Err(format!("{text:?} is not a name: 1 to 64 of [A-Za-z0-9._:-]")),
        }
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

impl Setting for Vec<String> {
    const KIND: &'static str = "list of texts";

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text
            .split(',')
            .map(str::trim)
            .filter(|t| !t.is_empty())
            .map(str::to_string)
            .collect())
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let wrong = || format!("expected {}, found {}", Self::KIND, value.type_str());
        let list = value.as_array().ok_or_else(wrong)?;
        list.iter()
            .map(|item| item.as_str().map(str::to_string).ok_or_else(wrong))
            .collect()
    }

    fn show(&self) -> String {
        format!(
            "[{}]",
            self.iter().map(|t| quoted(t)).collect::<Vec<_>>().join(", ")
        )
    }
}

fn or(word: &'static str) -> impl Fn(String) -> String {
    move |error| format!("{error}, nor {word:?}")
}

/// A text as a TOML basic string.
pub fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}

fn split_unit(text: &str) -> (&str, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at(digits)
}

fn show_bytes(bytes: usize) -> String {
    match bytes {
        b if b > 0 && b.is_multiple_of(1024 * 1024) => format!("{}MiB", b / (1024 * 1024)),
        b if b > 0 && b.is_multiple_of(1024) => format!("{}KiB", b / 1024),
        b => format!("{b}B"),
    }
}

fn show_ms(ms: u64) -> String {
    for (unit, unit_ms) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)] {
        // Ninety seconds read better than a minute and a half; a minute reads better than sixty seconds.
        if ms > 0 && ms.is_multiple_of(unit_ms) {
            return format!("{}{unit}", ms / unit_ms);
        }
    }
    format!("{ms}ms")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{Token, TokenDigest};
    use crate::config::{LogFormat, LogLevel};

    #[track_caller]
    fn check_shown<T: Setting>(text: &str, shown: &str) {
        assert_eq!(T::parse(text).map(|v| v.show()), Ok(shown.to_string()));
    }

    #[test]
    fn values_are_shown_as_they_are_written() {
        check_shown::<Duration>("500ms", "\"500ms\"");
        check_shown::<Duration>("60s", "\"1m\"");
        check_shown::<Duration>("90s", "\"90s\"");
        check_shown::<Duration>("24h", "\"1d\"");
        check_shown::<Bytes>("65536B", "\"64KiB\"");
        check_shown::<Bytes>("2MiB", "\"2MiB\"");
        check_shown::<Bytes>("0B", "\"0B\"");
        check_shown::<Off<Duration>>("off", "\"off\"");
        check_shown::<Auto<u64>>("auto", "\"auto\"");
        check_shown::<Auto<u64>>("4", "4");
        check_shown::<Listen>("localhost:0", "\"127.0.0.1:0\"");
        check_shown::<Listen>("[::1]:7600", "\"[::1]:7600\"");
        check_shown::<Listen>("unix:/run/mint.sock", "\"unix:/run/mint.sock\"");
        check_shown::<Vec<String>>("a, b", "[\"a\", \"b\"]");
        check_shown::<LogFormat>("json", "\"json\"");
        check_shown::<Vec<StoreUrl>>("etcd://a,b  redis://h/", "[\"etcd://a,b\", \"redis://h/\"]");
        check_shown::<Vec<StoreUrl>>("", "[]");
        let id = "00000000-0000-0000-0000-00000000002a";
        check_shown::<ClusterId>(id, "\"0000000000000000000000000000002a\"");
        check_shown::<NodeName>("eu-1:7600", "\"eu-1:7600\"");
    }

    #[track_caller]
    fn check_refused<T: Setting>(text: &str, says: &str) {
        let error = T::parse(text).err().unwrap_or_default();
        assert!(error.contains(says), "{text:?}: {error:?} lacks {says:?}");
    }

    #[test]
    fn values_without_units_or_sense_are_refused() {
        check_refused::<Duration>("5", "such as");
        check_refused::<Duration>("s", "whole number");
        check_refused::<Duration>("1.5s", "such as");
        check_refused::<Duration>("99999999999999999999s", "whole number");
        check_refused::<Duration>("9999999999999999999d", "too long");
        check_refused::<Bytes>("64", "such as");
        check_refused::<Bytes>("64KB", "such as");
        check_refused::<Bytes>("18446744073709551615MiB", "too large");
        check_refused::<Off<Duration>>("never", "nor \"off\"");
        check_refused::<Listen>("7600", "ADDRESS:PORT");
        check_refused::<bool>("yes", "neither true nor false");
        check_refused::<LogLevel>("loud", "none of error, warn, info, debug, trace");
        check_refused::<StoreUrl>("mint-data", "not a store URL");
        check_refused::<Vec<StoreUrl>>("redis://h/ x", "not a store URL");
        check_refused::<ClusterId>("2a", "32 hexadecimal digits");
        check_refused::<ClusterId>(&"g".repeat(32), "32 hexadecimal digits");
        check_refused::<NodeName>("a b", "1 to 64 of");
        check_refused::<LocalPath>("", "empty");
    }

    #[test]
    fn tokens_are_read_and_never_shown() {
        let digest = TokenDigest::of(b"t").to_hex();
        let text = format!("[{{name = \"web\", sha256 = \"{digest}\", may = [\"allocate\", \"admin\"]}}]");
        check_shown::<Vec<Token>>(
            &text,
            "[{ name = \"web\", sha256 = \"***\", may = [\"allocate\", \"admin\"] }]",
        );
        check_refused::<Vec<Token>>(
            "[{name = \"web\", sha256 = \"ab\", may = []}]",
            "64 hexadecimal digits",
        );
        check_refused::<Vec<Token>>("[{name = \"web\"}]", "missing field");
        check_refused::<Vec<Token>>("[", "not a TOML array");
        check_refused::<Vec<Token>>(
            &format!("[{}, {}]", &text[1..text.len() - 1], &text[1..text.len() - 1]),
            "twice",
        );
    }
}
