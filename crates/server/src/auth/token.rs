//! A row of the tokens, and the one decision whether its holder may.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use mintage_wire::Right;

use super::pattern::SOURCE;
use super::{CertificateName, Pattern, SqlVerifiers, TokenDigest};
use crate::error::{Code, ServiceError};
use crate::rates::Rates;

/// One configured token: what shows it, and what its holder may.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// Who holds it; appears in logs.
    pub name: String,
    /// What its holder shows.
    pub shows: Proof,
    /// What its holder logs in by as a client of SQL, where it is a bearer token.
    pub sql: SqlVerifiers,
    /// What it may do.
    pub may: Vec<Grant>,
    /// The faces that it is good for; `None`: all.
    pub faces: Option<Vec<String>>,
    /// When it ends.
    pub until: Option<Timestamp>,
    /// How much its holders may ask for together, where that is not what everybody may.
    pub rates: Rates,
}

/// What a client shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Proof {
    /// A bearer token with this digest.
    Digest(TokenDigest),
    /// A certificate for this name (subject alternative name).
    CertificateName(CertificateName),
    /// Nothing: it comes through a unix socket as this user.
    Uid(u32),
}

/// A right, for all names or for those of a pattern: `allocate`, `allocate:orders.*`.
///
/// ```
/// use mintage_server::auth::{Grant, Right};
/// let grant: Grant = "allocate:orders.*".parse()?;
/// assert!(grant.right == Right::Allocate && grant.names.is_some());
/// assert_eq!(grant.to_string(), "allocate:orders.*");
/// assert!("take".parse::<Grant>().unwrap_err().contains("read, allocate or admin"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// What it allows.
    pub right: Right,
    /// For which names; `None`: for all.
    pub names: Option<Pattern>,
}

impl From<Right> for Grant {
    fn from(right: Right) -> Self {
        Grant { right, names: None }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.right.as_str())?;
        match &self.names {
            Some(names) => write!(f, ":{names}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Grant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (right, names) = match text.split_once(':') {
            Some((right, names)) => (right, Some(names.parse()?)),
            None => (text, None),
        };
        let all = [Right::Read, Right::Allocate, Right::Admin];
        match all.into_iter().find(|known| known.as_str() == right) {
            Some(right) => Ok(Grant { right, names }),
            None => Err(format!(
                "{text:?} is no right: it is read, allocate or admin, for some names alone as in allocate:orders.*"
            )),
        }
    }
}

/// What a right is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What<'n> {
    /// Nothing that has a name, such as an id of a format; or names that are asked for one by one later.
    Nothing,
    /// A sequence or a pool.
    Named(&'n [u8]),
    /// A database elsewhere, `[sources.NAME]`, or the place of one: its numbers are not ours to give.
    Source(&'n str),
    /// Everything there is, whatever its name.
    Everything,
}

impl Token {
    /// Whether its holder may: the one decision, whatever face asks. `is_here`: it is good for that face.
    ///
    /// # Errors
    /// Which of its limits stands in the way.
    #[inline]
    pub(crate) fn decide(&self, right: Right, what: What<'_>, is_here: bool) -> Result<(), Because> {
        if !is_here {
            return Err(Because::Face);
        }
        let mut because = Because::Right;
        for grant in self.may.iter().filter(|grant| grant.right.grants(right)) {
            let fits = match (&grant.names, what) {
                (None, _) | (Some(_), What::Nothing) => true,
                (Some(names), What::Named(name)) => names.fits(name),
                (Some(names), What::Source(source)) => names.fits_source(source),
                (Some(_), What::Everything) => false,
            };
            if fits {
                return Ok(());
            }
            because = Because::Name;
        }
        Err(because)
    }

    /// Whether it is good for the face of this name.
    pub(crate) fn is_for(&self, face: &str) -> bool {
        self.faces
            .as_ref()
            .is_none_or(|faces| faces.iter().any(|known| known == face))
    }
}

/// Which limit of a token stands in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Because {
    /// It is not good for this face.
    Face,
    /// It does not have the right.
    Right,
    /// It has the right, and not for this name, or not for everything.
    Name,
}

/// A refusal, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Denied {
    /// What is said.
    pub message: String,
    /// What it may instead.
    pub hint: Option<String>,
}

impl Denied {
    /// That the holder of `token` may not.
    #[cold]
    pub(crate) fn new(token: &Token, right: Right, what: What<'_>, because: Because) -> Denied {
        let (name, right) = (&token.name, right.as_str());
        let may: Vec<String> = token.may.iter().map(Grant::to_string).collect();
        let (message, hint) = match (because, what) {
            (Because::Face, _) => {
                let faces = token.faces.as_deref().unwrap_or_default().join(", ");
                (
                    format!("token {name:?} is not good for this face"),
                    Some(format!("it is for {faces}")),
                )
            }
            (Because::Name, What::Named(named)) => {
                let named = String::from_utf8_lossy(named);
                (
                    format!("token {name:?} may not {right} {named:?}"),
                    Some(format!("it may {}", may.join(", "))),
                )
            }
            (Because::Name, What::Source(source)) => (
                format!("token {name:?} may not {right} the source {source:?}"),
                Some(format!(
                    "it may {}; a right for that source is written {right}:{SOURCE}{source}",
                    may.join(", ")
                )),
            ),
            (Because::Name, _) => (
                format!("token {name:?} may {right} some names alone, and this is about all of them"),
                Some(format!("it may {}", may.join(", "))),
            ),
            (Because::Right, _) => (format!("token {name:?} may not {right}"), None),
        };
        Denied { message, hint }
    }
}

impl From<Denied> for ServiceError {
    fn from(denied: Denied) -> Self {
        let error = ServiceError::new(Code::Forbidden, denied.message);
        match denied.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(may: &[&str]) -> Token {
        Token {
            sql: SqlVerifiers::default(),
            name: "web".into(),
            shows: Proof::Uid(1000),
            may: may.iter().map(|grant| grant.parse().unwrap()).collect(),
            faces: None,
            until: None,
            rates: Rates::default(),
        }
    }

    /// Operation, right, name, face: what is decided for each.
    #[test]
    fn one_decision_for_every_right_name_and_face() {
        use Because::{Face, Name, Right as NoRight};
        use Right::{Admin, Allocate, Read};
        use What::{Everything, Named, Nothing, Source};
        let (orders, bills) = (Named(b"orders.eu"), Named(b"bills"));
        type Case<'t> = (&'t [&'t str], Right, What<'t>, bool, Result<(), Because>);
        let cases: &[Case<'_>] = &[
            (&[], Read, Nothing, true, Err(NoRight)),
            (&["read"], Read, Everything, true, Ok(())),
            (&["read"], Read, bills, true, Ok(())),
            (&["read"], Allocate, bills, true, Err(NoRight)),
            (&["read"], Read, bills, false, Err(Face)),
            (&["allocate"], Read, Everything, true, Ok(())),
            (&["allocate"], Allocate, Nothing, true, Ok(())),
            (&["allocate"], Admin, orders, true, Err(NoRight)),
            (&["allocate:orders.*"], Allocate, orders, true, Ok(())),
            (&["allocate:orders.*"], Allocate, bills, true, Err(Name)),
            (&["allocate:orders.*"], Allocate, Nothing, true, Ok(())),
            (&["allocate:orders.*"], Allocate, Everything, true, Err(Name)),
            (&["allocate:orders.*"], Read, orders, true, Ok(())),
            (&["allocate:orders.*"], Read, bills, true, Err(Name)),
            (&["allocate:orders.*"], Read, Everything, true, Err(Name)),
            (&["allocate:orders.*"], Allocate, orders, false, Err(Face)),
            (&["allocate:orders.*", "read"], Read, Everything, true, Ok(())),
            (&["allocate:orders.*", "read"], Allocate, bills, true, Err(Name)),
            (
                &["allocate:orders.*", "allocate:bills"],
                Allocate,
                bills,
                true,
                Ok(()),
            ),
            (&["admin:orders.*"], Admin, orders, true, Ok(())),
            (&["admin:orders.*"], Admin, bills, true, Err(Name)),
            (&["admin:orders.*"], Admin, Everything, true, Err(Name)),
            (&["admin:orders.*"], Allocate, orders, true, Err(NoRight)),
            (&["admin"], Admin, Everything, true, Ok(())),
            // A right for names is none for a source, however wide it is.
            (&["admin"], Admin, Source("old"), true, Ok(())),
            (&["admin:source:old"], Admin, Source("old"), true, Ok(())),
            (&["admin:source:o*"], Admin, Source("old"), true, Ok(())),
            (&["admin:source:old"], Admin, Source("older"), true, Err(Name)),
            (&["admin:source:old"], Admin, orders, true, Err(Name)),
            (&["admin:source:old"], Admin, Source("old"), false, Err(Face)),
            (&["admin:orders.*"], Admin, Source("old"), true, Err(Name)),
            (&["admin:old"], Admin, Source("old"), true, Err(Name)),
            (&["admin:*"], Admin, Source("old"), true, Err(Name)),
            (&["admin:[r-t]ource:old"], Admin, Source("old"), true, Err(Name)),
            (&["allocate:source:old"], Admin, Source("old"), true, Err(NoRight)),
        ];
        for (may, right, what, is_here, decided) in cases {
            let found = token(may).decide(*right, *what, *is_here);
            assert_eq!(found, *decided, "{may:?} {right:?} {what:?} {is_here}");
        }
    }

    #[test]
    fn a_refusal_says_what_there_is_instead() {
        let token = token(&["allocate:orders.*", "read"]);
        let denied = Denied::new(&token, Right::Allocate, What::Named(b"bills"), Because::Name);
        assert_eq!(denied.message, "token \"web\" may not allocate \"bills\"");
        assert_eq!(denied.hint.as_deref(), Some("it may allocate:orders.*, read"));
        let denied = Denied::new(&token, Right::Admin, What::Source("old"), Because::Name);
        assert_eq!(denied.message, "token \"web\" may not admin the source \"old\"");
        assert!(denied.hint.unwrap().ends_with("is written admin:source:old"));
    }
}
