//! Logins of SQL clients without a connection, for fuzzing. Available with the feature `testing`.

use super::sql_login::{Scram, ScramError};
use super::{Proof, ScramVerifier, SqlVerifiers, Token, TokenDigest, Tokens};
use crate::rates::Rates;

/// What a login came to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Login {
    /// A message was refused, in words.
    Refused(&'static str),
    /// It was read, and proves nothing.
    Wrong,
    /// Somebody was let in.
    In,
}

/// A login by SCRAM-SHA-256 with two messages of a client who does not know the token `web`.
pub fn scram(user: &str, mechanism: &[u8], first: &[u8], last: &[u8], binding: Option<&[u8]>) -> Login {
    let tokens = Tokens::new(vec![Token {
        name: "web".into(),
        shows: Proof::Digest(TokenDigest::of(b"secret")),
        sql: SqlVerifiers {
            scram: ScramVerifier::from_text(
                "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
                 wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
            )
            .ok(),
            ..SqlVerifiers::default()
        },
        may: Vec::new(),
        faces: None,
        until: None,
        rates: Rates::default(),
    }]);
    let ended = Scram::begin(&tokens, user, "postgres", mechanism, first, binding)
        .and_then(|(scram, _)| scram.finish(&tokens, last));
    match ended {
        Ok(_) => Login::In,
        Err(ScramError::Wrong) => Login::Wrong,
        Err(ScramError::Protocol(why)) => Login::Refused(why),
    }
}
