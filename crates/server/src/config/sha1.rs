//! The name under which Redis knows a script: the SHA-1 of its text.

use std::fmt;
use std::str::FromStr;

use sha1::{Digest, Sha1};

/// The SHA-1 of a text, written as 40 hexadecimal digits.
///
/// ```
/// use mintage_server::config::Sha1Digest;
/// let digest = Sha1Digest::of(b"return redis.call('incr', KEYS[1])");
/// assert_eq!(digest.to_string(), "2bab3b661081db58bd2341920e0ba7cf5dc77b25");
/// // Read in any case, as Redis does.
/// assert_eq!("2BAB3B661081DB58BD2341920E0BA7CF5DC77B25".parse(), Ok(digest));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sha1Digest([u8; 20]);

impl Sha1Digest {
    /// That of a text.
    pub fn of(text: &[u8]) -> Self {
        Sha1Digest(Sha1::digest(text).into())
    }

    /// Reads 40 hexadecimal digits; nothing else is one.
    pub fn from_hex(digits: &[u8]) -> Option<Self> {
        let digits: &[u8; 40] = digits.try_into().ok()?;
        let mut digest = [0; 20];
        for (byte, pair) in digest.iter_mut().zip(digits.as_chunks::<2>().0) {
            let value = |digit: u8| char::from(digit).to_digit(16);
            *byte = (value(pair[0])? << 4 | value(pair[1])?) as u8;
        }
        Some(Sha1Digest(digest))
    }
}

impl fmt::Display for Sha1Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Sha1Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Sha1Digest::from_hex(text.as_bytes()).ok_or_else(|| {
            format!("{text:?} is not a SHA-1: 40 hexadecimal digits, as SCRIPT LOAD answers them")
        })
    }
}
