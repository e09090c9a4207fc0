//! The one grammar of names, for every store, route and protocol.

use std::fmt;

/// The name of a sequence or pool: `[A-Za-z0-9_][A-Za-z0-9._:-]{0,127}`.
///
/// ```
/// use mintage_ledger::Name;
/// assert!(Name::new("orders").is_ok());
/// assert_eq!(Name::new("a b").unwrap_err().to_string(), r#"name "a b": byte 1 is not in [A-Za-z0-9._:-]"#);
/// assert!(Name::new("x".repeat(129)).is_err());
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
pub const NAME_MAX_BYTES: usize = 128;

impl Name {
    /// Checks a text.
    ///
    /// # Errors
    /// Says what is wrong and where. A long name is shown cut.
    pub fn new(text: impl AsRef<str>) -> Result<Name, NameError> {
        Name::from_bytes(text.as_ref().as_bytes())
    }

    /// Checks bytes, as a wire protocol has them.
    ///
    /// # Errors
    /// As [`Name::new`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Name, NameError> {
        let shown = || String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
        if bytes.is_empty() {
            return Err(NameError("name is empty: it has 1 to 128 characters".into()));
        }
        if bytes.len() > NAME_MAX_BYTES {
            return Err(NameError(format!(
                "name \"{}…\" has {} bytes, largest is {NAME_MAX_BYTES}",
                shown().escape_debug(),
                bytes.len()
            )));
        }
        let first = bytes[0];
        if !(first.is_ascii_alphanumeric() || first == b'_') {
            return Err(NameError(format!(
                "name {:?}: it must begin with [A-Za-z0-9_]",
                shown()
            )));
        }
        if let Some(at) = bytes
            .iter()
            .position(|b| !(b.is_ascii_alphanumeric() || b"_.:-".contains(b)))
        {
            return Err(NameError(format!(
                "name {:?}: byte {at} is not in [A-Za-z0-9._:-]",
                shown()
            )));
        }
        Ok(Name(String::from_utf8_lossy(bytes).into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

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
