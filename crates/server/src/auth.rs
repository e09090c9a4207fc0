//! Who may do what: bearer tokens, known by their SHA-256 digests.
//!
//! A token carries 256 random bits, so a plain digest is enough: there is nothing to guess. Digests are
//! compared in constant time, all of them, whichever fits.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What a token may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// Take ids and look at everything.
    Allocate,
    /// Create, change, move and drop sequences.
    Admin,
}

impl Right {
    /// The right's name in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Right::Allocate => "allocate",
            Right::Admin => "admin",
        }
    }
}

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

/// One configured token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// Who holds it; appears in logs.
    pub name: String,
    /// The digest of the token.
    pub digest: TokenDigest,
    /// What it may do.
    pub may: Vec<Right>,
}

/// Who a connection or request turned out to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity(Option<Arc<Token>>);

impl Identity {
    /// Where no tokens are configured, everybody may do everything.
    pub const ANYBODY: Identity = Identity(None);

    /// Whether this identity has a right.
    pub fn may(&self, right: Right) -> bool {
        self.0.as_ref().is_none_or(|token| token.may.contains(&right))
    }

    /// The token's name; `default` where none is configured, as Redis calls its only user.
    pub fn name(&self) -> &str {
        self.0.as_ref().map_or("default", |token| &token.name)
    }
}

/// The tokens a server knows.
///
/// ```
/// use mintage_server::auth::{Right, Token, TokenDigest, Tokens};
/// let tokens = Tokens::new(vec![Token {
///     name: "web".into(),
///     digest: TokenDigest::of(b"secret"),
///     may: vec![Right::Allocate],
/// }]);
/// let web = tokens.identify(b"secret").expect("known");
/// assert!(web.may(Right::Allocate) && !web.may(Right::Admin));
/// assert!(tokens.identify(b"guess").is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tokens(Vec<Arc<Token>>);

impl Tokens {
    /// The configured tokens.
    pub fn new(tokens: Vec<Token>) -> Self {
        Tokens(tokens.into_iter().map(Arc::new).collect())
    }

    /// Whether a client must show a token.
    pub fn required(&self) -> bool {
        !self.0.is_empty()
    }

    /// Who a client is before it shows a token: anybody where none is needed, nobody otherwise.
    pub fn anonymous(&self) -> Option<Identity> {
        (!self.required()).then_some(Identity::ANYBODY)
    }

    /// Whose token this is.
    pub fn identify(&self, token: &[u8]) -> Option<Identity> {
        let digest = TokenDigest::of(token);
        let mut found = None;
        for known in &self.0 {
            if bool::from(known.digest.0.ct_eq(&digest.0)) {
                found = Some(Identity(Some(known.clone())));
            }
        }
        found
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

    #[test]
    fn without_tokens_everybody_may_do_everything() {
        let anybody = Tokens::default().anonymous().unwrap();
        assert!(anybody.may(Right::Admin) && anybody.may(Right::Allocate));
    }

    #[test]
    fn with_tokens_nobody_is_known_before_showing_one() {
        let token = Token {
            name: "a".into(),
            digest: TokenDigest::of(b"t"),
            may: vec![],
        };
        assert!(Tokens::new(vec![token]).anonymous().is_none());
    }
}
