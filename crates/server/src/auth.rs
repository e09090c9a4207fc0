//! Who may do what: bearer tokens, known by their SHA-256 digests.
//!
//! A token carries 256 random bits, so a plain digest is enough: there is nothing to guess. Digests are
//! compared in constant time, all of them, whichever fits.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::transport::Peer;

pub use mintage_wire::Right;

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
#[derive(Clone, Debug)]
pub struct Identity(Who);

#[derive(Clone, Debug)]
enum Who {
    /// No tokens are configured.
    Anybody,
    /// A face asks for none, though some are configured.
    Guest,
    /// The holder of a token.
    Known(Arc<Known>),
}

/// A token that is known, or was.
#[derive(Debug)]
struct Known {
    token: Token,
    /// It is not known any more.
    revoked: AtomicBool,
}

impl Identity {
    /// Where no tokens are configured, everybody may do everything.
    pub const ANYBODY: Identity = Identity(Who::Anybody);

    /// A client of a face that asks for no token, though some are configured: it may take ids and look.
    pub const OPEN: Identity = Identity(Who::Guest);

    /// Whether this identity has a right.
    pub fn may(&self, right: Right) -> bool {
        match &self.0 {
            Who::Anybody => true,
            Who::Guest => Right::Allocate.grants(right),
            Who::Known(known) => known.token.may.iter().any(|has| has.grants(right)),
        }
    }

    /// The token's name; `default` where none is configured, as Redis calls its only user; `open` where none is asked for.
    pub fn name(&self) -> &str {
        match &self.0 {
            Who::Anybody => "default",
            Who::Guest => "open",
            Who::Known(known) => &known.token.name,
        }
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
/// tokens.replace(vec![]);
/// assert!(!tokens.holds(&web) && !tokens.required());
/// ```
/// They can be changed while clients are served: whoever showed a token that is gone has to show another one.
#[derive(Debug, Default)]
pub struct Tokens {
    known: RwLock<Vec<Arc<Known>>>,
    /// Some are known; read with every request.
    required: AtomicBool,
}

impl Tokens {
    /// The configured tokens.
    pub fn new(tokens: Vec<Token>) -> Self {
        let all = Tokens::default();
        all.replace(tokens);
        all
    }

    /// Knows these from here on, and no others.
    pub fn replace(&self, tokens: Vec<Token>) {
        let mut known = self.known.write().expect("no panic while held");
        self.required.store(!tokens.is_empty(), Ordering::Release);
        // One that stays is the same object: who showed it need not show it again.
        let before = std::mem::take(&mut *known);
        *known = tokens
            .into_iter()
            .map(|token| {
                let same = before.iter().find(|known| known.token == token).cloned();
                same.unwrap_or_else(|| {
                    Arc::new(Known {
                        token,
                        revoked: AtomicBool::new(false),
                    })
                })
            })
            .collect();
        let gone = |one: &&Arc<Known>| !known.iter().any(|kept| Arc::ptr_eq(kept, one));
        for gone in before.iter().filter(gone) {
            gone.revoked.store(true, Ordering::Release);
        }
    }

    /// Whether a client must show a token.
    pub fn required(&self) -> bool {
        self.required.load(Ordering::Acquire)
    }

    /// Whether a client that has been identified is so still.
    #[inline]
    pub fn holds(&self, identity: &Identity) -> bool {
        match &identity.0 {
            Who::Known(known) => !known.revoked.load(Ordering::Acquire),
            Who::Anybody => !self.required(),
            Who::Guest => true,
        }
    }

    /// Who a client is before it shows a token: anybody where none is needed, nobody otherwise.
    pub fn anonymous(&self) -> Option<Identity> {
        (!self.required()).then_some(Identity::ANYBODY)
    }

    /// Whose token this is.
    pub fn identify(&self, token: &[u8]) -> Option<Identity> {
        let digest = TokenDigest::of(token);
        let mut found = None;
        for known in &*self.known.read().expect("no panic while held") {
            if known.token.digest.is(&digest) {
                found = Some(Identity(Who::Known(known.clone())));
            }
        }
        found
    }
}

/// Who has shown wrong tokens lately. Takes 8 KiB, however many there are: addresses that share a place share its
/// count.
#[derive(Debug)]
pub(crate) struct Failures {
    /// The second of the last one, and how many there were, each in 32 bits.
    places: Box<[AtomicU64]>,
    /// Nobody can choose an address that shares another's place.
    hasher: RandomState,
}

impl Default for Failures {
    fn default() -> Self {
        Failures {
            places: (0..FAILURE_PLACES).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl Failures {
    /// Notes one more of this address; how many there were without a pause, as far as they make it wait longer.
    pub(crate) fn note(&self, peer: Peer) -> u32 {
        self.note_at(peer, mintage::boottime().as_secs() as u32)
            .min(FAILURES_MAX)
    }

    fn note_at(&self, peer: Peer, second: u32) -> u32 {
        let place = self.hasher.hash_one(peer.who()) % FAILURE_PLACES;
        let counted = |before: u64| {
            let (then, count) = ((before >> 32) as u32, before as u32);
            let forgotten = second.wrapping_sub(then) >= FORGOTTEN_AFTER_S;
            if forgotten { 1 } else { count.saturating_add(1) }
        };
        let next = |before| Some(u64::from(second) << 32 | u64::from(counted(before)));
        match self.places[place as usize].fetch_update(Ordering::AcqRel, Ordering::Acquire, next) {
            Ok(before) | Err(before) => counted(before),
        }
    }
}

const FAILURE_PLACES: u64 = 1024;
/// A pause after which an address begins anew.
const FORGOTTEN_AFTER_S: u32 = 60;
/// The most by which the delay of a wrong token is multiplied.
const FAILURES_MAX: u32 = 20;

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
    fn an_address_that_shows_wrong_tokens_is_counted_until_it_pauses() {
        let failures = Failures::default();
        let peer = "10.0.0.1".parse().unwrap();
        let counts: Vec<u32> = [1000, 1000, 1030, 1089, 1149, 1150]
            .map(|second| failures.note_at(peer, second))
            .to_vec();
        assert_eq!(counts, [1, 2, 3, 4, 1, 2]);
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
