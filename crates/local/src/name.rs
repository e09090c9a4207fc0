//! The one grammar of names, for every store, route and protocol.

use std::borrow::Cow;
use std::fmt;

use mintage::is_plain;

use crate::name_key;
pub use crate::name_key::NAME_KEY_MAX_BYTES;

/// The name of a sequence or pool: any UTF-8 text of 1 to 255 bytes without control characters.
///
/// Names are compared byte for byte: nothing is folded, trimmed or normalised. In stores a name stands as
/// [`Name::to_key`].
///
/// ```
/// use mintage_local::name::Name;
/// assert!(Name::new("orders").is_ok());
/// assert!(Name::new("{acct}:seq").is_ok() && Name::new("inc:заказ").is_ok());
/// assert_eq!(Name::new("a\tb").unwrap_err().to_string(), r#"name "a\tb": byte 1 is a control character (U+0009)"#);
/// assert!(Name::new("x".repeat(256)).is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(Box<str>);

/// Why a text is not a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameError(String);

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NameError {}

/// The longest name.
pub const NAME_MAX_BYTES: usize = 255;

impl Name {
    /// Checks a text.
    ///
    /// # Errors
    /// Says what is wrong and where. A long name is shown cut.
    pub fn new(text: impl AsRef<str>) -> Result<Name, NameError> {
        let text = text.as_ref();
        if text.is_empty() {
            return Err(NameError(format!(
                "name is empty: it has 1 to {NAME_MAX_BYTES} bytes"
            )));
        }
        if text.len() > NAME_MAX_BYTES {
            return Err(NameError(format!(
                "name \"{}…\" has {} bytes, largest is {NAME_MAX_BYTES}",
                shown(text.as_bytes()).escape_debug(),
                text.len()
            )));
        }
        if let Some((at, control)) = text.char_indices().find(|(_, c)| c.is_control()) {
            return Err(NameError(format!(
                "name {:?}: byte {at} is a control character (U+{:04X})",
                shown(text.as_bytes()),
                u32::from(control)
            )));
        }
        Ok(Name(text.into()))
    }

    /// Checks bytes, as a wire protocol has them.
    ///
    /// # Errors
    /// As [`Name::new`], and where the bytes are not UTF-8.
    pub fn from_bytes(bytes: &[u8]) -> Result<Name, NameError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Name::new(text),
            Err(error) => Err(NameError(format!(
                "name {:?}: byte {} is not UTF-8",
                shown(bytes),
                error.valid_up_to()
            ))),
        }
    }

    /// Whether something new may be called so: people see every character of it for what it is ([`is_plain`]). What has
    /// another name from earlier versions keeps it.
    ///
    /// # Errors
    /// Says which character is hidden, and where.
    ///
    /// ```
    /// use mintage_local::name::Name;
    /// let name = Name::new("or\u{202e}ders")?;
    /// let error = name.check_new().unwrap_err().to_string();
    /// assert!(error.starts_with(r#"name "or\u{202e}ders": byte 2 is U+202E"#), "{error}");
    /// # Ok::<(), mintage_local::name::NameError>(())
    /// ```
    pub fn check_new(&self) -> Result<(), NameError> {
        check_new(&self.0)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as a part of a register's key: itself if it is of letters, digits and `._:-` (and some more signs),
    /// else encoded in printable ASCII without `/`. Keys sort as their names do.
    ///
    /// ```
    /// use mintage_local::name::Name;
    /// assert_eq!(Name::new("svc@prod:id")?.to_key(), "svc@prod:id");
    /// assert_eq!(Name::new("Seq Invoice")?.to_key(), "Seq%20Invoice");
    /// assert_eq!(Name::from_key("Seq%20Invoice")?.as_str(), "Seq Invoice");
    /// # Ok::<(), mintage_local::name::NameError>(())
    /// ```
    pub fn to_key(&self) -> Cow<'_, str> {
        name_key::encode(&self.0)
    }

    /// Reads what [`Name::to_key`] wrote.
    ///
    /// # Errors
    /// No name is written so.
    pub fn from_key(key: &str) -> Result<Name, NameError> {
        match name_key::decode(key) {
            Some(text) => Name::new(text),
            None => Err(NameError(format!(
                "no name is written {:?} in a key",
                shown(key.as_bytes())
            ))),
        }
    }
}

/// The same of any text by which somebody new calls itself.
///
/// # Errors
/// As [`Name::check_new`].
pub fn check_new(text: &str) -> Result<(), NameError> {
    match text.char_indices().find(|(_, c)| !is_plain(*c)) {
        None => Ok(()),
        Some((at, hidden)) => Err(NameError(format!(
            "name {:?}: byte {at} is U+{:04X}, which nobody sees, or which changes how the rest is shown: nothing new is \
             called so",
            shown(text.as_bytes()),
            u32::from(hidden)
        ))),
    }
}

/// The beginning of a name, as far as errors show it.
fn shown(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN_MAX)];
    match std::str::from_utf8(cut) {
        // A character that was cut in two is left out.
        Err(error) if bytes.len() > SHOWN_MAX && error.error_len().is_none() => {
            String::from_utf8_lossy(&cut[..error.valid_up_to()]).into_owned()
        }
        _ => String::from_utf8_lossy(cut).into_owned(),
    }
}

const SHOWN_MAX: usize = 40;

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_without_control_characters_is_a_name() {
        let longest = "🦀".repeat(63) + "abc";
        for text in [
            "a",
            ".",
            "..",
            "%41",
            " ",
            "a ",
            "/",
            "{acct}:seq",
            "inc:заказ",
            "\u{a0}",
            &longest,
        ] {
            assert_eq!(Name::new(text).unwrap().as_str(), text);
            assert_eq!(Name::from_bytes(text.as_bytes()).unwrap().as_str(), text);
        }
    }

    #[test]
    fn what_is_no_name_is_told_why() {
        let long = "я".repeat(128);
        for (bytes, why) in [
            (&b""[..], "name is empty: it has 1 to 255 bytes"),
            (b"a\0", "name \"a\\0\": byte 1 is a control character (U+0000)"),
            (
                b"a\xc2\x85",
                "name \"a\\u{85}\": byte 1 is a control character (U+0085)",
            ),
            (b"ab\xff", "name \"ab\u{fffd}\": byte 2 is not UTF-8"),
            (
                long.as_bytes(),
                "name \"яяяяяяяяяяяяяяяяяяяя…\" has 256 bytes, largest is 255",
            ),
        ] {
            assert_eq!(Name::from_bytes(bytes).unwrap_err().to_string(), why);
        }
    }

    #[test]
    fn nothing_new_has_a_name_that_is_not_seen_for_what_it_is() {
        for c in '\0'..=char::MAX {
            let text = format!("a{c}b");
            assert_eq!(check_new(&text).is_ok(), is_plain(c), "{text:?}");
            // What exists is found and dropped by its name.
            assert_eq!(Name::new(&text).is_ok(), !c.is_control(), "{text:?}");
        }
    }
}
