//! Who may do what: what clients show, and what whoever shows it may.
//!
//! | file | what |
//! | --- | --- |
//! | `digest` | digests of bearer tokens |
//! | `verifiers` | digests by which SQL clients log in |
//! | `sql_login` | how they do: SCRAM-SHA-256, `caching_sha2_password`, `mysql_native_password` |
//! | `testing` | their messages without a connection |
//! | `pattern` | names by pattern |
//! | `token` | a row of the tokens: what shows it, what it may, where and until when; the one decision |
//! | `file` | tokens in a file of their own |
//! | `certificate_name` | a name in a certificate, with its kind |
//! | `user` | users of this machine |
//! | `identity` | who a connection or a request turned out to be |
//! | `known` | one that is known, and what became of it |
//! | `tokens` | all that are known |
//! | `expose` | what the metrics tell of them |
//! | `failures` | who has shown wrong ones lately |

mod certificate_name;
mod digest;
mod expose;
mod failures;
mod file;
mod identity;
mod known;
mod pattern;
mod sql_login;
#[cfg(feature = "testing")]
pub mod testing;
mod token;
mod tokens;
mod user;
mod verifiers;

pub use certificate_name::CertificateName;
pub use digest::TokenDigest;
pub(crate) use expose::expose;
pub(crate) use failures::Failures;
pub use file::{TokenFile, read_tokens};
pub use identity::Identity;
pub use identity::Presented;
pub use mintage_wire::Right;
pub use pattern::Pattern;
pub use sql_login::{Scram, ScramError};
pub use token::{Because, Denied, Grant, Proof, Token, What};
pub use tokens::{TokenUse, Tokens};
pub(crate) use user::is_nobody;
pub use verifiers::{ScramVerifier, SqlVerifiers, Verifier};
