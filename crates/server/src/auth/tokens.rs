//! The tokens a server knows, and the last use of each.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};

use jiff::Timestamp;

use super::identity::{Identity, Presented, Who};
use super::known::Known;
use super::{Proof, Token, TokenDigest};

/// What became of a token so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenUse {
    /// The token.
    pub token: Token,
    /// When it was used last, to the second.
    pub last_used: Option<Timestamp>,
    /// How often its holder asked for what it does not allow.
    pub refused: u64,
}

/// The tokens a server knows.
///
/// ```
/// use mintage_server::auth::{Proof, Right, Token, TokenDigest, Tokens, What};
/// let tokens = Tokens::new(vec![Token {
///     name: "web".into(),
///     shows: Proof::Digest(TokenDigest::of(b"secret")),
///     may: vec!["allocate:orders.*".parse()?],
///     faces: None,
///     until: None,
///     rates: Default::default(),
///     sql: Default::default(),
/// }]);
/// let web = tokens.identify(b"secret", "http").expect("known");
/// assert!(web.may(Right::Allocate, What::Named(b"orders.eu")) && !web.may(Right::Allocate, What::Named(b"bills")));
/// assert!(tokens.identify(b"guess", "http").is_none());
/// tokens.replace(vec![], false);
/// assert!(!tokens.holds(&web) && !tokens.required());
/// # Ok::<(), String>(())
/// ```
/// They can be changed while clients are served: whoever showed a token that is gone has to show another one, unless the
/// same comes back.
#[derive(Debug, Default)]
pub struct Tokens {
    known: RwLock<Vec<Arc<Known>>>,
    /// Those that are gone, and that somebody has shown who is still here.
    gone: Mutex<Vec<Weak<Known>>>,
    /// What the configuration says cannot be used, and these are those from before.
    stale: AtomicBool,
    /// Clients must show one; read with every request.
    required: AtomicBool,
}

impl Tokens {
    /// The configured tokens.
    pub fn new(tokens: Vec<Token>) -> Self {
        let all = Tokens::default();
        let required = !tokens.is_empty();
        all.replace(tokens, required);
        all
    }

    /// Knows these from here on, and no others. Whether clients must show one is said apart: where the last one was
    /// revoked, nobody may do anything, and not everybody everything.
    pub fn replace(&self, tokens: Vec<Token>, required: bool) {
        let mut known = self.known.write().expect("no panic while held");
        self.required.store(required, Ordering::Release);
        let mut gone = self.gone.lock().expect("no panic while held");
        // One that stays, or comes back, is the same object: who showed it need not show it again.
        let mut before = std::mem::take(&mut *known);
        before.extend(gone.drain(..).filter_map(|gone| gone.upgrade()));
        *known = tokens
            .into_iter()
            .map(|token| {
                let same = before.iter().find(|known| known.token == token).cloned();
                same.unwrap_or_else(|| Known::new(token))
            })
            .collect();
        let now = Timestamp::now();
        for one in before {
            let is_gone = !known.iter().any(|kept| Arc::ptr_eq(kept, &one));
            one.revoked
                .store(is_gone || one.has_ended(now), Ordering::Release);
            if is_gone {
                gone.push(Arc::downgrade(&one));
            }
        }
    }

    /// Notes whether the tokens of the configuration could be used.
    pub(crate) fn note_usable(&self, is_usable: bool) {
        self.stale.store(!is_usable, Ordering::Release);
    }

    /// Whether these are what the configuration says.
    pub(crate) fn are_usable(&self) -> bool {
        !self.stale.load(Ordering::Acquire)
    }

    /// Whether clients must show one, from here on.
    pub(crate) fn require(&self, required: bool) {
        self.required.store(required, Ordering::Release);
    }

    /// Notes what was used, and ends what has come to its end; how many did.
    pub(crate) fn look(&self, now: Timestamp) -> usize {
        let mut ended = 0;
        for known in &*self.known.read().expect("no panic while held") {
            if known.is_used.swap(false, Ordering::Relaxed) {
                let second = u64::try_from(now.as_second()).unwrap_or_default();
                known.used_at.store(second, Ordering::Relaxed);
            }
            if known.has_ended(now) && !known.revoked.swap(true, Ordering::AcqRel) {
                tracing::info!(token = known.token.name, "a token has come to its end");
                ended += 1;
            }
        }
        ended
    }

    /// What became of each so far.
    pub fn uses(&self) -> Vec<TokenUse> {
        let known = self.known.read().expect("no panic while held");
        let of = |known: &Arc<Known>| TokenUse {
            token: known.token.clone(),
            last_used: match known.used_at.load(Ordering::Relaxed) {
                0 => None,
                second => i64::try_from(second)
                    .ok()
                    .and_then(|second| Timestamp::from_second(second).ok()),
            },
            refused: known.refused.load(Ordering::Relaxed),
        };
        known.iter().map(of).collect()
    }

    /// Whether a client must show a token.
    #[inline]
    pub fn required(&self) -> bool {
        self.required.load(Ordering::Acquire)
    }

    /// Whether a client that has been identified is so still; it asks for something.
    #[inline]
    pub fn holds(&self, identity: &Identity) -> bool {
        match &identity.0 {
            Who::Known { known, .. } => {
                known.note_use();
                !known.revoked.load(Ordering::Acquire)
            }
            Who::Anybody => !self.required(),
            Who::Guest => true,
        }
    }

    /// Who a client is before it shows a token: anybody where none is needed, else whoever its connection says.
    pub fn before_a_word(&self, presented: &Presented, face: &str) -> Option<Identity> {
        match self.required() {
            false => Some(Identity::ANYBODY),
            true if *presented == Presented::default() => None,
            true => self.find(face, |token| match &token.shows {
                Proof::Digest(_) => false,
                Proof::CertificateName(name) => presented.certificate_names.contains(name),
                Proof::Uid(uid) => presented.uid == Some(*uid),
            }),
        }
    }

    /// Whose token this is.
    pub fn identify(&self, token: &[u8], face: &str) -> Option<Identity> {
        let digest = TokenDigest::of(token);
        self.find(
            face,
            |token| matches!(&token.shows, Proof::Digest(known) if known.is(&digest)),
        )
    }

    /// Whether one that has not ended is such; all of them are looked at.
    pub(super) fn all(&self, mut is_such: impl FnMut(&Token) -> bool) -> bool {
        let all = self.known.read().expect("no panic while held");
        let mut found = false;
        for known in all.iter().filter(|known| !known.revoked.load(Ordering::Acquire)) {
            found |= is_such(&known.token);
        }
        found
    }

    /// The first that fits and has not ended; all of them are looked at, whichever fits.
    pub(super) fn find(&self, face: &str, mut fits: impl FnMut(&Token) -> bool) -> Option<Identity> {
        let mut found: Option<&Arc<Known>> = None;
        let all = self.known.read().expect("no panic while held");
        for known in &*all {
            let is_it = fits(&known.token);
            if is_it && !known.revoked.load(Ordering::Acquire) && found.is_none() {
                found = Some(known);
            }
        }
        let known = found.filter(|known| known.token.until.is_none_or(|until| until > Timestamp::now()))?;
        known.note_use();
        let is_here = known.token.is_for(face);
        Some(Identity(Who::Known {
            known: Arc::clone(known),
            is_here,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{Right, What};

    fn token(name: &str, shows: Proof) -> Token {
        Token {
            name: name.into(),
            shows,
            may: vec![Right::Allocate.into()],
            faces: Some(vec!["http".into()]),
            rates: crate::rates::Rates::default(),
            sql: Default::default(),
            until: Some("2100-01-01T00:00:00Z".parse().unwrap()),
        }
    }

    fn tokens() -> Tokens {
        Tokens::new(vec![
            token("bearer", Proof::Digest(TokenDigest::of(b"secret"))),
            token(
                "certificate",
                Proof::CertificateName("web.internal".parse().unwrap()),
            ),
            token("user", Proof::Uid(1000)),
        ])
    }

    fn of(names: &[&str], uid: Option<u32>) -> Presented {
        Presented {
            certificate_names: names.iter().map(|name| name.parse().unwrap()).collect(),
            uid,
        }
    }

    #[test]
    fn without_tokens_everybody_may_do_everything() {
        let anybody = Tokens::default().before_a_word(&of(&[], None), "http").unwrap();
        assert!(anybody.may(Right::Admin, What::Everything) && anybody.may(Right::Allocate, What::Nothing));
    }

    #[test]
    fn whoever_shows_nothing_is_nobody_and_what_a_connection_shows_is_somebody() {
        let tokens = tokens();
        let named = |presented: &Presented| {
            tokens
                .before_a_word(presented, "http")
                .map(|who| who.name().to_string())
        };
        assert_eq!(named(&of(&[], None)), None);
        assert_eq!(named(&of(&[], Some(1000))).as_deref(), Some("user"));
        assert_eq!(named(&of(&[], Some(1001))), None);
        assert_eq!(
            named(&of(&["a", "WEB.internal"], None)).as_deref(),
            Some("certificate")
        );
    }

    #[test]
    fn a_token_is_good_for_its_faces() {
        let tokens = tokens();
        let may = |face: &str| {
            let who = tokens.identify(b"secret", face).unwrap();
            who.may(Right::Allocate, What::Nothing)
        };
        assert!(may("http") && !may("resp"));
    }

    #[test]
    fn a_token_ends_and_its_last_use_is_known() {
        let tokens = tokens();
        let who = tokens.identify(b"secret", "http").unwrap();
        let now: Timestamp = "2099-12-31T23:59:59Z".parse().unwrap();
        assert_eq!(tokens.look(now), 0);
        assert_eq!(tokens.uses()[0].last_used, Some(now));
        assert_eq!(tokens.uses()[1].last_used, None);
        assert!(tokens.holds(&who));
        let end: Timestamp = "2100-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(tokens.look(end), 3);
        assert!(!tokens.holds(&who) && tokens.identify(b"secret", "http").is_none());
        assert!(tokens.required(), "what ends opens nothing");
    }

    #[test]
    fn whoever_revokes_the_last_token_shuts_everybody_out() {
        let tokens = tokens();
        tokens.replace(vec![], true);
        assert!(tokens.before_a_word(&of(&[], None), "http").is_none());
    }

    /// A file that is emptied for a moment, or a row that is taken out and put back, logs nobody out who stays silent meanwhile.
    #[test]
    fn a_token_that_comes_back_is_the_same_one() {
        let tokens = tokens();
        let who = tokens.identify(b"secret", "http").unwrap();
        let all: Vec<Token> = tokens.uses().into_iter().map(|of| of.token).collect();
        for _ in 0..3 {
            tokens.replace(vec![], true);
            assert!(!tokens.holds(&who));
        }
        tokens.replace(all.clone(), true);
        assert!(tokens.holds(&who));
        // Another token of the same name is another one, and one that has ended does not come back.
        let mut other = all.clone();
        other[0].may = vec![Right::Read.into()];
        tokens.replace(other, true);
        assert!(!tokens.holds(&who));
        let mut ended = all;
        ended[0].until = Some("2001-01-01T00:00:00Z".parse().unwrap());
        let tokens = Tokens::new(ended.clone());
        tokens.replace(ended, true);
        assert!(tokens.identify(b"secret", "http").is_none());
    }

    #[test]
    fn tokens_that_nobody_holds_are_forgotten() {
        let tokens = tokens();
        for round in 0..100_u32 {
            tokens.replace(vec![token("many", Proof::Uid(round))], true);
        }
        assert!(tokens.gone.lock().unwrap().len() <= 1);
    }

    #[test]
    fn refusals_are_counted() {
        let tokens = tokens();
        let who = tokens.identify(b"secret", "http").unwrap();
        who.check(Right::Admin, What::Nothing).unwrap_err();
        assert_eq!(tokens.uses()[0].refused, 1);
    }
}
