//! What logins of SQL clients are checked against: digests beside that of the token, which the token cannot be made of.
//!
//! `sha256` would not do: whoever stole it could log in by `caching_sha2_password`, whose client proves that it knows
//! just this digest.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// How often PostgreSQL's own verifiers are hashed (`SCRAM_SHA_256_DEFAULT_ITERATIONS`).
pub(super) const ITERATIONS: u32 = 4096;
/// The most iterations that a row may ask a client for, whose time they cost.
const ITERATIONS_MAX: u32 = 1_000_000;
/// How long PostgreSQL's own salts are, and the longest that is taken.
pub(super) const SALT_BYTES: usize = 16;
const SALT_BYTES_MAX: usize = 64;

/// The digests of one token by which SQL clients log in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SqlVerifiers {
    /// For SCRAM-SHA-256.
    pub scram: Option<ScramVerifier>,
    /// For `caching_sha2_password`.
    pub mysql: Option<Verifier<32>>,
    /// For `mysql_native_password`.
    pub mysql_native: Option<Verifier<20>>,
}

impl SqlVerifiers {
    /// Those of a token, `native` among them where it is asked for.
    ///
    /// ```
    /// use mintage_server::auth::SqlVerifiers;
    /// let made = SqlVerifiers::of(b"secret", [7; 16], true);
    /// let scram = made.scram.expect("always").to_text();
    /// assert!(scram.starts_with("SCRAM-SHA-256$4096:BwcHBwcHBwcHBwcHBwcHBw==$"));
    /// assert!(made.mysql.is_some() && made.mysql_native.is_some());
    /// ```
    pub fn of(token: &[u8], salt: [u8; SALT_BYTES], native: bool) -> SqlVerifiers {
        SqlVerifiers {
            scram: Some(ScramVerifier::of(token, &salt, ITERATIONS)),
            mysql: Some(Verifier(Sha256::digest(Sha256::digest(token)).into())),
            mysql_native: native.then(|| Verifier(Sha1::digest(Sha1::digest(token)).into())),
        }
    }
}

/// A digest that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier<const N: usize>(pub(super) [u8; N]);

impl<const N: usize> Verifier<N> {
    /// Reads it in hexadecimal digits.
    ///
    /// # Errors
    /// How many digits were found, never which.
    pub fn from_hex(key: &str, text: &str) -> Result<Self, String> {
        let bytes = text.as_bytes();
        if bytes.len() != 2 * N || !bytes.iter().all(u8::is_ascii_hexdigit) {
            return Err(format!(
                "{key} has {} characters, it must be {} hexadecimal digits, as mint token new --sql prints them",
                bytes.len(),
                2 * N
            ));
        }
        let mut digest = [0; N];
        for (byte, pair) in digest.iter_mut().zip(bytes.chunks_exact(2)) {
            let digit = |b: u8| (b as char).to_digit(16).expect("checked above") as u8;
            *byte = digit(pair[0]) << 4 | digit(pair[1]);
        }
        Ok(Verifier(digest))
    }

    /// The digest in hexadecimal digits.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl<const N: usize> fmt::Debug for Verifier<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// What PostgreSQL keeps of a password for SCRAM-SHA-256 (RFC 5802, RFC 7677).
#[derive(Clone, PartialEq, Eq)]
pub struct ScramVerifier {
    pub(super) iterations: u32,
    pub(super) salt: Vec<u8>,
    pub(super) stored_key: [u8; 32],
    pub(super) server_key: [u8; 32],
}

impl ScramVerifier {
    /// The salt, for another token that clients may show in the place of this one.
    pub fn salt(&self) -> &[u8] {
        &self.salt
    }

    /// That of a token.
    pub(super) fn of(token: &[u8], salt: &[u8], iterations: u32) -> ScramVerifier {
        let salted = salted(token, salt, iterations);
        ScramVerifier {
            iterations,
            salt: salt.to_vec(),
            stored_key: Sha256::digest(hmac(&salted, &[b"Client Key"])).into(),
            server_key: hmac(&salted, &[b"Server Key"]),
        }
    }

    /// Reads PostgreSQL's own text: `SCRAM-SHA-256$ITERATIONS:SALT$STORED:SERVER`, the last three in base64.
    ///
    /// # Errors
    /// Which part is wrong, never what it is.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "scram {what}: it is SCRAM-SHA-256$ITERATIONS:SALT$STORED:SERVER, as mint token new --sql prints it"
            )
        };
        let parts = text
            .strip_prefix("SCRAM-SHA-256$")
            .and_then(|rest| rest.split_once('$'))
            .and_then(|(first, keys)| Some((first.split_once(':')?, keys.split_once(':')?)));
        let ((iterations, salt), (stored, server)) = parts.ok_or_else(|| wrong("has not the form"))?;
        let iterations = iterations
            .parse()
            .ok()
            .filter(|iterations| (ITERATIONS..=ITERATIONS_MAX).contains(iterations))
            .ok_or_else(|| {
                wrong(&format!(
                    "has not between {ITERATIONS} and {ITERATIONS_MAX} iterations"
                ))
            })?;
        let salt = BASE64
            .decode(salt)
            .ok()
            .filter(|salt| (1..=SALT_BYTES_MAX).contains(&salt.len()))
            .ok_or_else(|| wrong("has no salt in base64"))?;
        let key = |text: &str| BASE64.decode(text).ok()?.try_into().ok();
        Ok(ScramVerifier {
            iterations,
            salt,
            stored_key: key(stored).ok_or_else(|| wrong("has no stored key of 32 bytes"))?,
            server_key: key(server).ok_or_else(|| wrong("has no server key of 32 bytes"))?,
        })
    }

    /// The text that [`ScramVerifier::from_text`] reads.
    pub fn to_text(&self) -> String {
        format!(
            "SCRAM-SHA-256${}:{}${}:{}",
            self.iterations,
            BASE64.encode(&self.salt),
            BASE64.encode(self.stored_key),
            BASE64.encode(self.server_key)
        )
    }
}

impl fmt::Debug for ScramVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// `Hi` of RFC 5802: PBKDF2 of one block.
pub(super) fn salted(token: &[u8], salt: &[u8], iterations: u32) -> [u8; 32] {
    let mut last = hmac(token, &[salt, &1u32.to_be_bytes()]);
    let mut all = last;
    for _ in 1..iterations {
        last = hmac(token, &[&last]);
        all.iter_mut().zip(last).for_each(|(all, last)| *all ^= last);
    }
    all
}

/// HMAC-SHA-256 of the parts, one behind the other.
pub(super) fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What PostgreSQL 15 keeps of the password of RFC 7677's example.
    #[test]
    fn a_verifier_is_postgresqls_own_text() {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let made = ScramVerifier::of(b"pencil", &salt, 4096);
        let text = made.to_text();
        assert_eq!(
            text,
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
             wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
        assert_eq!(ScramVerifier::from_text(&text).unwrap(), made);
    }

    #[test]
    fn what_is_no_verifier_is_refused_and_not_shown() {
        for wrong in [
            "secret",
            "SCRAM-SHA-256$4096:secret$a:b",
            "SCRAM-SHA-256$1:W22ZaJ0SNY7soEsUEjb6gQ==$a:b",
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$c2VjcmV0:c2VjcmV0",
            "SCRAM-SHA-256$99999999999:W22ZaJ0SNY7soEsUEjb6gQ==$a:b",
        ] {
            let why = ScramVerifier::from_text(wrong).unwrap_err();
            assert!(why.contains("mint token new --sql"), "{why}");
            mintage_testing::no_secret_in("the refusal", &why, "secret");
        }
        let why = Verifier::<32>::from_hex("mysql", "secret").unwrap_err();
        assert!(why.starts_with("mysql has 6 characters, it must be 64"), "{why}");
        assert_eq!(
            format!("{:?}", SqlVerifiers::of(b"x", [0; 16], true))
                .matches("***")
                .count(),
            3
        );
    }
}
