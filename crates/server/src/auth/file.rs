//! Tokens as they stand in a configuration, and in a file of their own.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Deserialize;

use mintage_local::trusted;

use super::{Grant, Proof, ScramVerifier, SqlVerifiers, Token, TokenDigest, Verifier, user};
use crate::rates::Rates;

/// A token as it stands in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    sha256: Option<String>,
    scram: Option<String>,
    mysql: Option<String>,
    mysql_native: Option<String>,
    certificate: Option<String>,
    uid: Option<u32>,
    may: Vec<String>,
    faces: Option<Vec<String>>,
    until: Option<toml::Value>,
    requests_per_second: Option<u64>,
    ids_per_second: Option<u64>,
}

/// Reads a list of tokens.
///
/// # Errors
/// The first entry that cannot be used, and why; never what stands in place of a digest.
///
/// ```
/// use mintage_server::auth::read_tokens;
/// let table: toml::Table = r#"tokens = [
///     { name = "shop", uid = 1000, may = ["allocate:orders.*"], faces = ["resp"], until = 2027-01-01T00:00:00Z },
/// ]"#.parse()?;
/// let tokens = read_tokens(&table["tokens"])?;
/// assert_eq!((tokens[0].name.as_str(), tokens[0].may[0].to_string().as_str()), ("shop", "allocate:orders.*"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_tokens(value: &toml::Value) -> Result<Vec<Token>, String> {
    let list = value
        .as_array()
        .ok_or_else(|| format!("expected list of tokens, found {}", value.type_str()))?;
    let mut tokens: Vec<Token> = Vec::new();
    for (i, item) in list.iter().enumerate() {
        let entry: Entry = item
            .clone()
            .try_into()
            .map_err(|e: toml::de::Error| format!("token {}: {}", i + 1, e.message()))?;
        let name = entry.name.clone();
        let token = entry.read().map_err(|why| format!("token {name:?}: {why}"))?;
        // Two may share a name, while one takes over from the other; but one token is one person's.
        if let Some(same) = tokens.iter().find(|known| known.shows == token.shows) {
            return Err(format!(
                "token {}: the same token is listed twice, here and for {:?}",
                i + 1,
                same.name
            ));
        }
        tokens.push(token);
    }
    Ok(tokens)
}

impl Entry {
    fn read(self) -> Result<Token, String> {
        let sql = self.sql()?;
        let shows = match (self.sha256, self.certificate, self.uid) {
            (Some(sha256), None, None) => Proof::Digest(TokenDigest::from_hex(&sha256)?),
            (None, Some(name), None) => Proof::CertificateName(name.parse()?),
            (None, None, Some(uid)) => Proof::Uid(user::check(uid)?),
            _ => return Err("it has one of sha256, certificate (a name of it) and uid".into()),
        };
        let may = self.may.iter().map(|grant| grant.parse::<Grant>());
        Ok(Token {
            name: self.name,
            shows,
            sql,
            may: may.collect::<Result<_, _>>()?,
            faces: self.faces,
            until: self.until.as_ref().map(end).transpose()?,
            rates: Rates {
                requests: self.requests_per_second.map(rate).transpose()?,
                ids: self.ids_per_second.map(rate).transpose()?,
            },
        })
    }

    /// What its holder logs in by as a client of SQL.
    fn sql(&self) -> Result<SqlVerifiers, String> {
        let sql = SqlVerifiers {
            scram: self.scram.as_deref().map(ScramVerifier::from_text).transpose()?,
            mysql: self
                .mysql
                .as_deref()
                .map(|hex| Verifier::from_hex("mysql", hex))
                .transpose()?,
            mysql_native: self
                .mysql_native
                .as_deref()
                .map(|hex| Verifier::from_hex("mysql_native", hex))
                .transpose()?,
        };
        if self.sha256.is_none() && sql != SqlVerifiers::default() {
            return Err(
                "scram, mysql and mysql_native are digests of a token, and stand beside its sha256".into(),
            );
        }
        Ok(sql)
    }
}

fn rate(rate: u64) -> Result<u64, String> {
    match rate {
        0 => Err("a rate of 0 would let nothing through: revoke the token instead".into()),
        rate => Ok(rate),
    }
}

/// When a token ends: a time with its offset, as TOML writes it or as text.
fn end(value: &toml::Value) -> Result<Timestamp, String> {
    let text = match value {
        toml::Value::Datetime(time) => time.to_string(),
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.parse()
        .map_err(|_| format!("until = {text} is no time with its offset, such as 2027-01-01T00:00:00Z"))
}

/// A file that holds `tokens = [ … ]` and nothing else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenFile(pub PathBuf);

impl TokenFile {
    /// What it holds, and what to warn of.
    ///
    /// # Errors
    /// It cannot be read, somebody else could write to it, it does not say that there are no tokens, or the first entry that
    /// cannot be used.
    pub fn read(&self) -> Result<(Vec<Token>, Option<String>), String> {
        let shown = self.0.display();
        let cannot = |why: String| format!("auth.token_file {shown}: {why}");
        let can_be_read = trusted::check(&self.0).map_err(&cannot)?;
        let warning = can_be_read.then(|| {
            format!(
                "auth.token_file {shown} can be read by everybody, who learns names and rights from it: chmod o-r {shown}"
            )
        });
        let text =
            std::fs::read_to_string(&self.0).map_err(|error| cannot(format!("cannot read it: {error}")))?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..at]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count()
                + 1;
            cannot(format!("line {line} is not TOML: {}", error.message()))
        })?;
        if let Some(other) = table.keys().find(|key| *key != "tokens") {
            return Err(cannot(format!(
                "it holds {other:?}: tokens = [ … ] stands there and nothing else"
            )));
        }
        // Whoever writes a file anew empties it first: that is not the last word on every token.
        let Some(tokens) = table.get("tokens") else {
            let why = "it has no tokens = [ … ]: if nobody is to have one, it says tokens = []";
            return Err(cannot(why.into()));
        };
        Ok((read_tokens(tokens).map_err(cannot)?, warning))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(list: &str) -> String {
        let table: toml::Table = format!("tokens = {list}").parse().unwrap();
        read_tokens(&table["tokens"]).unwrap_err()
    }

    #[test]
    fn entries_that_cannot_be_used_are_told_why() {
        for (list, why) in [
            ("5", "expected list of tokens, found integer"),
            ("[{name = 'a', uid = 1, may = ['take']}]", "\"take\" is no right"),
            ("[{name = 'a', uid = 1, may = ['read:[x']}]", "never closed"),
            ("[{name = 'a', may = []}]", "one of sha256, certificate"),
            (
                "[{name = 'a', uid = 1, certificate = 'b', may = []}]",
                "one of sha256, certificate",
            ),
            (
                "[{name = 'a', uid = 1, may = [], until = 'soon'}]",
                "until = soon is no time",
            ),
            (
                "[{name = 'a', uid = 1, may = [], until = 2027-01-01}]",
                "is no time with its offset",
            ),
            (
                "[{name = 'a', sha256 = 'secret', may = []}]",
                "sha256 has 6 characters",
            ),
            (
                "[{name = 'a', uid = 1, may = []}, {name = 'b', uid = 1, may = []}]",
                "listed twice",
            ),
            (
                "[{name = 'a', uid = 1, may = [], ids_per_second = 0}]",
                "a rate of 0",
            ),
            (
                "[{name = 'a', uid = 1, may = [], mysql_native = '0000000000000000000000000000000000000000'}]",
                "stand beside its sha256",
            ),
            (
                "[{name = 'a', uid = 1, may = [], scram = 'secret'}]",
                "scram has not the form",
            ),
            ("[{name = 'a', uid = 1, may = [], rights = 1}]", "unknown field"),
            ("[{name = 'a', uid = 65534, may = []}]", "uid = 65534 is nobody"),
            ("[{name = 'a', certificate = '', may = []}]", "neither a DNS name"),
            (
                "[{name = 'a', certificate = 'spiffe://corp/a', may = []}]",
                "write \"uri:spiffe://corp/a\" for the URI",
            ),
        ] {
            let error = refused(list);
            assert!(error.contains(why), "{list}: {error}");
            mintage_testing::no_secret_in(list, &error, "secret");
        }
    }

    #[test]
    fn a_file_that_others_can_write_is_refused_and_one_that_they_can_read_is_told_of() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile(folder.path().join("tokens.toml"));
        std::fs::write(&file.0, "tokens = [{name = 'a', uid = 1, may = ['read']}]").unwrap();
        let with = |mode| {
            std::fs::set_permissions(&file.0, std::fs::Permissions::from_mode(mode)).unwrap();
            file.read()
        };
        assert!(with(0o666).unwrap_err().contains("others can write to it"));
        assert!(with(0o644).unwrap().1.unwrap().contains("chmod o-r"));
        assert_eq!(with(0o640).unwrap().1, None);
        let (tokens, warning) = with(0o600).unwrap();
        assert_eq!((tokens.len(), warning), (1, None));
        std::fs::write(&file.0, "tokens = []\n\nname = 5").unwrap();
        assert!(file.read().unwrap_err().contains("\"name\""));
        std::fs::write(&file.0, "tokens = [\n,").unwrap();
        assert!(file.read().unwrap_err().contains("line 2 is not TOML"));
        for empty in ["", "# tokens of production\n", "\n\n"] {
            std::fs::write(&file.0, empty).unwrap();
            assert!(
                file.read().unwrap_err().contains("it says tokens = []"),
                "{empty:?}"
            );
        }
        std::fs::write(&file.0, "tokens = []").unwrap();
        assert_eq!(file.read().unwrap().0, []);
        std::fs::remove_file(&file.0).unwrap();
        assert!(file.read().unwrap_err().contains("cannot read it"));
    }
}
