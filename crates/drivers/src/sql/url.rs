//! The URL of a SQL store: what may stand in it, and how it is named in messages.

use super::super::shown::{Parts, parts};
use super::super::{Outcome, StoreError, StoreErrorKind};

/// A URL as far as a store reads it itself.
#[derive(Debug)]
pub(in super::super) struct Place {
    /// Host, port and database, without credentials.
    pub(in super::super) label: String,
}

pub(in super::super) fn invalid(scheme: &str, why: &str) -> StoreError {
    // Never the URL itself: it may hold a password.
    StoreError::new(
        StoreErrorKind::Invalid,
        Outcome::NotDone,
        format!("store {scheme}: {why}"),
    )
    .with_hint(format!(
        "write {scheme}://USER:PASSWORD@HOST:PORT/DATABASE, special characters percent-encoded"
    ))
}

/// Checks what follows `scheme:`: an authority, a database, and no parameter but those of `known`. Files that
/// parameters of `files` name must be readable.
pub(in super::super) fn check(
    scheme: &str,
    rest: &str,
    known: &[&str],
    files: &[&str],
) -> Result<Place, StoreError> {
    let Some(rest) = rest.strip_prefix("//") else {
        return Err(invalid(scheme, "the URL has no // after its scheme"));
    };
    let Parts { place, query, .. } = parts(rest).map_err(|why| invalid(scheme, why))?;
    let (host, database) = place.split_once('/').unwrap_or((place, ""));
    if database.is_empty() {
        return Err(invalid(scheme, "the URL names no database"));
    }
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if !known.contains(&name) {
            return Err(invalid(
                scheme,
                &format!(
                    "the URL has an unknown parameter {name:?}: known are {}",
                    known.join(", ")
                ),
            ));
        }
        if files.contains(&name) {
            let path = percent_decoded(value);
            if let Err(error) = std::fs::File::open(&path) {
                return Err(invalid(
                    scheme,
                    &format!("cannot read {path}, which {name} names: {error}"),
                ));
            }
        }
    }
    Ok(Place {
        label: format!("{scheme}://{host}/{database}"),
    })
}

/// A query value as it is meant; what is no valid encoding stays as it stands.
fn percent_decoded(value: &str) -> String {
    let bytes = value.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let two = value.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match two.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(if bytes[at] == b'+' { b' ' } else { bytes[at] });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_in_no_message_and_no_label() {
        let known = ["sslmode"];
        let place = check(
            "postgres",
            "//ann:s%40cret@db:5432/ids?sslmode=require",
            &known,
            &[],
        )
        .unwrap();
        assert_eq!(place.label, "postgres://db:5432/ids");
        for (rest, why) in [
            ("ann:s%40cret@db/ids", "no //"),
            ("//ann:s%40cret@db", "no database"),
            ("//ann:s%40cret@db/?sslmode=require", "no database"),
            (
                "//ann:s%40cret@db/ids?ssl=1",
                "unknown parameter \"ssl\": known are sslmode",
            ),
        ] {
            let error = check("postgres", rest, &known, &[]).unwrap_err();
            assert!(error.message.contains(why), "{rest}: {error}");
            assert!(!format!("{error:?}").contains("cret"), "{rest}: {error:?}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let error = check(
            "postgres",
            "//db/ids?sslrootcert=/no/such%20file",
            &["sslrootcert"],
            &["sslrootcert"],
        );
        let error = error.unwrap_err();
        assert!(
            error
                .message
                .contains("cannot read /no/such file, which sslrootcert names"),
            "{error}"
        );
    }
}
