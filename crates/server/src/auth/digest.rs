//! Digests of tokens.
//!
//! A token carries 256 random bits, so a plain digest is enough: there is nothing to guess. Digests are
//! compared in constant time, all of them, whichever fits.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The SHA-256 digest of a token.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// The digest of a token.
    pub fn of(token: &[u8]) -> Self {
        TokenDigest(Sha256::digest(token).into())
    }

    /// Reads 64 hexadecimal digits.
    ///
    /// # Errors
    /// Says how many digits were found, never which: a token written in place of its digest must not be shown.
    pub fn from_hex(text: &str) -> Result<Self, String> {
        let bytes = text.as_bytes();
        if bytes.len() != 64 || !bytes.iter().all(u8::is_ascii_hexdigit) {
            return Err(format!(
                "sha256 has {} characters, it must be 64 hexadecimal digits",
                bytes.len()
            ));
        }
        let mut digest = [0u8; 32];
        for (byte, pair) in digest.iter_mut().zip(bytes.chunks_exact(2)) {
            let digit = |b: u8| (b as char).to_digit(16).expect("checked above") as u8;
            *byte = digit(pair[0]) << 4 | digit(pair[1]);
        }
        Ok(TokenDigest(digest))
    }

    /// Whether this is the other digest, in a time that does not tell how much of it fits.
    pub fn is(&self, other: &TokenDigest) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// The digest as 64 hexadecimal digits.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|b| format!("{b:02x}")).collect()
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_survive_hexadecimal() {
        let digest = TokenDigest::of(b"");
        assert_eq!(
            digest.to_hex(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(TokenDigest::from_hex(&digest.to_hex().to_uppercase()), Ok(digest));
    }

    #[test]
    fn a_token_in_place_of_its_digest_is_not_shown() {
        let error = TokenDigest::from_hex("my-secret-token").unwrap_err();
        assert_eq!(
            error,
            "sha256 has 15 characters, it must be 64 hexadecimal digits"
        );
        assert_eq!(format!("{:?}", TokenDigest::of(b"x")), "***");
    }
}
