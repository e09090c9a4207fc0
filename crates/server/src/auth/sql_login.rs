//! How clients of PostgreSQL and MySQL prove that they hold a token: without saying it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::verifiers::{ITERATIONS, SALT_BYTES, ScramVerifier, hmac};
use super::{Identity, Tokens};

/// The longest message of a client, in bytes; a nonce of 24 characters is usual.
const MESSAGE_BYTES_MAX: usize = 4096;
/// How many bytes of our own a nonce has, as PostgreSQL's.
const NONCE_BYTES: usize = 18;

/// Why a login by SCRAM fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScramError {
    /// The message is not what the protocol says, in words.
    Protocol(&'static str),
    /// Whoever it is, he does not hold the token of this name.
    Wrong,
}

/// A login by SCRAM-SHA-256 between its two messages (RFC 5802, RFC 7677, RFC 5929).
#[derive(Debug)]
pub struct Scram {
    user: String,
    face: &'static str,
    /// What the client has to repeat of its header, and what binds it to this connection.
    bound: Vec<u8>,
    nonce: String,
    /// Both first messages, without the header.
    before: String,
    salt: Vec<u8>,
    iterations: u32,
}

impl Scram {
    /// Takes the client's first message, and gives ours. `binding` is what the certificate shown to this client is known by
    /// (`tls-server-end-point`), where `SCRAM-SHA-256-PLUS` was offered. A user that is not known is given a salt all the same,
    /// always the same one.
    ///
    /// # Errors
    /// [`ScramError::Protocol`]
    pub fn begin(
        tokens: &Tokens,
        user: &str,
        face: &'static str,
        mechanism: &[u8],
        message: &[u8],
        binding: Option<&[u8]>,
    ) -> Result<(Scram, Vec<u8>), ScramError> {
        let message = text(message)?;
        let (header, bare) = parted(message)?;
        let bound = bound(mechanism, header, binding)?;
        let theirs = nonce_of(bare)?;
        let (salt, iterations) = tokens.scram_salt(user);
        let mut random = [0; NONCE_BYTES];
        mintage::fill_random(&mut random);
        let nonce = format!("{theirs}{}", BASE64.encode(random));
        let first = format!("r={nonce},s={},i={iterations}", BASE64.encode(&salt));
        let scram = Scram {
            user: user.to_string(),
            face,
            bound,
            nonce,
            before: format!("{bare},{first}"),
            salt,
            iterations,
        };
        Ok((scram, first.into_bytes()))
    }

    /// Takes the client's last message, and gives ours, which proves that we know the token too.
    ///
    /// # Errors
    /// Whose it is not, or what is wrong with the message.
    pub fn finish(self, tokens: &Tokens, message: &[u8]) -> Result<(Identity, Vec<u8>), ScramError> {
        let message = text(message)?;
        let (said, proof) = message
            .rsplit_once(",p=")
            .ok_or(ScramError::Protocol("there is no proof"))?;
        let (channel, rest) = said
            .strip_prefix("c=")
            .and_then(|said| said.split_once(",r="))
            .ok_or(ScramError::Protocol("it begins with c= and r="))?;
        if BASE64.decode(channel).ok().as_deref() != Some(&self.bound[..]) {
            return Err(ScramError::Protocol("the channel binding is another one"));
        }
        if rest.split(',').next() != Some(&self.nonce) {
            return Err(ScramError::Protocol("the nonce is another one"));
        }
        let proof: [u8; 32] = BASE64
            .decode(proof)
            .ok()
            .and_then(|proof| proof.try_into().ok())
            .ok_or(ScramError::Protocol("the proof is not 32 bytes in base64"))?;
        let all = format!("{},{said}", self.before);
        let mut server_key = None;
        let found = tokens.find(self.face, |token| {
            let known = token.name == self.user;
            let verifier = token
                .sql
                .scram
                .as_ref()
                .filter(|verifier| verifier.salt == self.salt && verifier.iterations == self.iterations);
            let fits = verifier.is_some_and(|verifier| proves(verifier, all.as_bytes(), &proof));
            if known && fits {
                server_key = verifier.map(|verifier| verifier.server_key);
            }
            known && fits
        });
        let (who, key) = found.zip(server_key).ok_or(ScramError::Wrong)?;
        let signed = hmac(&key, &[all.as_bytes()]);
        Ok((who, format!("v={}", BASE64.encode(signed)).into_bytes()))
    }
}

fn text(message: &[u8]) -> Result<&str, ScramError> {
    if message.len() > MESSAGE_BYTES_MAX {
        return Err(ScramError::Protocol("it is too long"));
    }
    std::str::from_utf8(message).map_err(|_| ScramError::Protocol("it is not UTF-8"))
}

/// The header of a first message (up to its second comma), and what comes behind it.
fn parted(message: &str) -> Result<(&str, &str), ScramError> {
    let mut commas = message.match_indices(',').map(|(at, _)| at);
    let (Some(first), Some(second)) = (commas.next(), commas.next()) else {
        return Err(ScramError::Protocol("it has no header"));
    };
    if first + 1 != second {
        return Err(ScramError::Protocol("nobody can log in for somebody else here"));
    }
    Ok(message.split_at(second + 1))
}

/// What the last message has to repeat: the header, and what the connection is bound by.
fn bound(mechanism: &[u8], header: &str, binding: Option<&[u8]>) -> Result<Vec<u8>, ScramError> {
    match (mechanism, header, binding) {
        (b"SCRAM-SHA-256", "n,,", _) | (b"SCRAM-SHA-256", "y,,", None) => Ok(header.into()),
        (b"SCRAM-SHA-256", "y,,", Some(_)) => Err(ScramError::Protocol(
            "a channel binding was offered, and somebody took the offer away",
        )),
        (b"SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,", Some(binding)) => {
            Ok([header.as_bytes(), binding].concat())
        }
        (b"SCRAM-SHA-256-PLUS", _, Some(_)) => Err(ScramError::Protocol(
            "the channel binding is tls-server-end-point or none",
        )),
        (b"SCRAM-SHA-256", ..) => Err(ScramError::Protocol("it begins with n or y")),
        _ => Err(ScramError::Protocol("the mechanism was not offered")),
    }
}

/// The nonce of `n=USER,r=NONCE`; the user's name is that of the startup message, as PostgreSQL has it.
fn nonce_of(bare: &str) -> Result<&str, ScramError> {
    let mut parts = bare.split(',');
    let user = parts.next().is_some_and(|part| part.starts_with("n="));
    let nonce = parts.next().and_then(|part| part.strip_prefix("r="));
    match (user, nonce) {
        (true, Some(nonce)) if !nonce.is_empty() => Ok(nonce),
        _ => Err(ScramError::Protocol("it holds n= and r=")),
    }
}

/// Whether a proof is that of a verifier's token.
fn proves(verifier: &ScramVerifier, all: &[u8], proof: &[u8; 32]) -> bool {
    let mut key = hmac(&verifier.stored_key, &[all]);
    key.iter_mut().zip(proof).for_each(|(key, proof)| *key ^= proof);
    Sha256::digest(key).as_slice().ct_eq(&verifier.stored_key).into()
}

/// Whether a client's answer proves a verifier of MySQL: it is the digest of the token, hidden by one of the other two.
fn answers<D: Digest>(hidden_by: &[u8], verifier: &[u8], answer: &[u8]) -> bool {
    if answer.len() != hidden_by.len() {
        return false;
    }
    let digest: Vec<u8> = answer.iter().zip(hidden_by).map(|(a, b)| a ^ b).collect();
    D::digest(digest).as_slice().ct_eq(verifier).into()
}

impl Tokens {
    /// Whether a client of this name can log in by SCRAM.
    pub fn has_scram(&self, user: &str) -> bool {
        self.all(|token| token.name == user && token.sql.scram.is_some())
    }

    /// Whether anybody can log in by SCRAM.
    pub fn offers_scram(&self) -> bool {
        self.all(|token| token.sql.scram.is_some())
    }

    /// Who a client is that says `user` and answers to `nonce` by `caching_sha2_password`.
    pub fn by_caching_sha2(
        &self,
        user: &str,
        nonce: &[u8; 20],
        answer: &[u8],
        face: &str,
    ) -> Option<Identity> {
        self.find(face, |token| {
            let fits = token.sql.mysql.as_ref().is_some_and(|verifier| {
                let hidden_by = Sha256::new()
                    .chain_update(verifier.0)
                    .chain_update(nonce)
                    .finalize();
                answers::<Sha256>(&hidden_by, &verifier.0, answer)
            });
            fits && token.name == user
        })
    }

    /// The same by `mysql_native_password`.
    pub fn by_native(&self, user: &str, nonce: &[u8; 20], answer: &[u8], face: &str) -> Option<Identity> {
        self.find(face, |token| {
            let fits = token.sql.mysql_native.as_ref().is_some_and(|verifier| {
                let hidden_by = Sha1::new()
                    .chain_update(nonce)
                    .chain_update(verifier.0)
                    .finalize();
                answers::<Sha1>(&hidden_by, &verifier.0, answer)
            });
            fits && token.name == user
        })
    }

    /// Whether a client of this name can log in by `mysql_native_password`, if `native`, or by `caching_sha2_password`.
    pub fn has_mysql(&self, user: &str, native: bool) -> bool {
        self.all(|token| {
            let has = match native {
                true => token.sql.mysql_native.is_some(),
                false => token.sql.mysql.is_some(),
            };
            token.name == user && has
        })
    }

    /// Whether there is a token of this name, and none of them can log in by this way of MySQL's.
    pub fn lacks_mysql(&self, user: &str, native: bool) -> bool {
        self.all(|token| token.name == user) && !self.has_mysql(user, native)
    }

    /// What a client of this name hashes its token with; for one that is not known, what is as good.
    fn scram_salt(&self, user: &str) -> (Vec<u8>, u32) {
        let mut found = None;
        let mut secret = Sha256::new();
        self.all(|token| {
            if let Some(scram) = &token.sql.scram {
                secret.update(scram.server_key);
                if token.name == user && found.is_none() {
                    found = Some((scram.salt.clone(), scram.iterations));
                }
            }
            false
        });
        // As long as the tokens are the same, so is the salt: another one each time would tell that nobody is called so.
        let made_up = hmac(&secret.finalize(), &[user.as_bytes()]);
        found.unwrap_or_else(|| (made_up[..SALT_BYTES].to_vec(), ITERATIONS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::verifiers::salted;
    use crate::auth::{Proof, Right, SqlVerifiers, Token, TokenDigest};

    fn tokens() -> Tokens {
        let token = |name: &str, secret: &[u8], salt| Token {
            name: name.into(),
            shows: Proof::Digest(TokenDigest::of(secret)),
            sql: SqlVerifiers::of(secret, [salt; 16], true),
            may: vec![Right::Allocate.into()],
            faces: None,
            until: None,
            rates: crate::rates::Rates::default(),
        };
        // The last one takes over from the first.
        Tokens::new(vec![
            token("web", b"old", 1),
            token("other", b"secret", 2),
            token("web", b"secret", 1),
        ])
    }

    /// What a client does, as RFC 5802 tells it.
    fn client(header: &str, bound: &[u8], token: &[u8], first: &str) -> (Vec<u8>, Vec<u8>) {
        let field = |name: &str| first.split(',').find_map(|part| part.strip_prefix(name)).unwrap();
        let salt = BASE64.decode(field("s=")).unwrap();
        let iterations = field("i=").parse().unwrap();
        let verifier = ScramVerifier::of(token, &salt, iterations);
        let channel = BASE64.encode([header.as_bytes(), bound].concat());
        let said = format!("c={channel},r={}", field("r="));
        let all = format!("n=,r=abc,{first},{said}");
        // The client key is what the stored one is the digest of: made again, since a verifier does not keep it.
        let salted = salted(token, &salt, iterations);
        let key = hmac(&salted, &[b"Client Key"]);
        let signature = hmac(&verifier.stored_key, &[all.as_bytes()]);
        let proof: Vec<u8> = key.iter().zip(signature).map(|(a, b)| a ^ b).collect();
        let expected = format!(
            "v={}",
            BASE64.encode(hmac(&verifier.server_key, &[all.as_bytes()]))
        );
        (
            format!("{said},p={}", BASE64.encode(proof)).into_bytes(),
            expected.into_bytes(),
        )
    }

    fn login(user: &str, token: &[u8], plus: bool) -> Result<Identity, ScramError> {
        let tokens = tokens();
        let binding: Option<&[u8]> = plus.then_some(b"hash");
        let (mechanism, header): (&[u8], _) = match plus {
            true => (b"SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,"),
            false => (b"SCRAM-SHA-256", "n,,"),
        };
        let begins = format!("{header}n=,r=abc");
        let (scram, first) = Scram::begin(&tokens, user, "postgres", mechanism, begins.as_bytes(), binding)?;
        let first = String::from_utf8(first).unwrap();
        assert!(first.starts_with("r=abc"), "{first}");
        let (last, expected) = client(header, binding.unwrap_or_default(), token, &first);
        let (who, answer) = scram.finish(&tokens, &last)?;
        assert_eq!(answer, expected);
        Ok(who)
    }

    #[test]
    fn whoever_holds_the_token_of_his_name_is_let_in() {
        for plus in [false, true] {
            for (user, token, is_in) in [
                ("web", &b"secret"[..], true),
                ("web", b"old", true),
                ("other", b"old", false),
                ("web", b"guess", false),
                ("nobody", b"secret", false),
            ] {
                let outcome = login(user, token, plus).map(|who| who.name().to_string());
                let expected = if is_in {
                    Ok(user.to_string())
                } else {
                    Err(ScramError::Wrong)
                };
                assert_eq!(outcome, expected, "{user} {plus}");
            }
        }
    }

    #[test]
    fn an_unknown_name_has_a_salt_of_its_own_and_keeps_it() {
        let salt = |user: &str| tokens().scram_salt(user);
        assert_eq!(salt("nobody"), salt("nobody"));
        assert_ne!(salt("nobody"), salt("somebody"));
        assert_eq!(salt("other").0, vec![2; 16]);
        assert!(tokens().has_scram("web") && !tokens().has_scram("nobody"));
    }

    #[test]
    fn first_messages_that_are_none_are_refused() {
        let tokens = tokens();
        let long = "n,,n=,r=".to_string() + &"x".repeat(MESSAGE_BYTES_MAX);
        for (mechanism, message, binding) in [
            ("SCRAM-SHA-256", "", false),
            ("SCRAM-SHA-256", "n,,", false),
            ("SCRAM-SHA-256", "n,,n=,r=", false),
            ("SCRAM-SHA-256", "n,,m=x,n=,r=a", false),
            ("SCRAM-SHA-256", "n,a=root,n=,r=a", false),
            ("SCRAM-SHA-256", "p=tls-unique,,n=,r=a", true),
            ("SCRAM-SHA-256", "y,,n=,r=a", true),
            ("SCRAM-SHA-256", long.as_str(), false),
            ("SCRAM-SHA-256-PLUS", "p=tls-unique,,n=,r=a", true),
            ("SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=,r=a", false),
            ("SCRAM-SHA-1", "n,,n=,r=a", false),
        ] {
            let binding: Option<&[u8]> = binding.then_some(b"hash");
            let begun = Scram::begin(
                &tokens,
                "web",
                "postgres",
                mechanism.as_bytes(),
                message.as_bytes(),
                binding,
            );
            assert!(
                matches!(begun, Err(ScramError::Protocol(_))),
                "{mechanism} {message}"
            );
        }
    }

    #[test]
    fn last_messages_that_are_none_are_refused() {
        let tokens = tokens();
        for last in [
            "",
            "c=biws",
            "c=biws,r=abc,p=x",
            "c=eSws,r=abc,p=x",
            "p=,c=biws,r=x",
        ] {
            let (scram, _) =
                Scram::begin(&tokens, "web", "postgres", b"SCRAM-SHA-256", b"n,,n=,r=abc", None).unwrap();
            let finished = scram.finish(&tokens, last.as_bytes());
            assert!(matches!(finished, Err(ScramError::Protocol(_))), "{last}");
        }
    }

    #[test]
    fn clients_of_mysql_prove_their_token() {
        let nonce: [u8; 20] = std::array::from_fn(|i| i as u8 + 33);
        let xor = |a: &[u8], b: &[u8]| -> Vec<u8> { a.iter().zip(b).map(|(a, b)| a ^ b).collect() };
        let tokens = tokens();
        for (user, token, is_in) in [
            ("web", &b"secret"[..], true),
            ("web", b"guess", false),
            ("x", b"secret", false),
        ] {
            let once = Sha256::digest(token);
            let hidden_by = Sha256::new()
                .chain_update(Sha256::digest(once))
                .chain_update(nonce)
                .finalize();
            let who = tokens.by_caching_sha2(user, &nonce, &xor(&once, &hidden_by), "mysql");
            assert_eq!(who.is_some(), is_in, "{user}");
            let once = Sha1::digest(token);
            let hidden_by = Sha1::new()
                .chain_update(nonce)
                .chain_update(Sha1::digest(once))
                .finalize();
            let who = tokens.by_native(user, &nonce, &xor(&once, &hidden_by), "mysql");
            assert_eq!(who.is_some(), is_in, "{user}");
        }
        assert!(tokens.by_caching_sha2("web", &nonce, b"", "mysql").is_none());
        assert!(tokens.by_native("web", &nonce, &[0; 32], "mysql").is_none());
    }
}
