//! Settings that say who may ask: tokens, and the origins of web pages.

use serde::Deserialize;

use super::value::{Setting, quoted};
use crate::auth::{Right, Token, TokenDigest};

/// Where web pages come from: scheme, host and port, as browsers write it in `Origin`.
///
/// ```
/// use mintage_server::config::WebOrigin;
/// assert!("https://app.example.com".parse::<WebOrigin>().is_ok() && "http://localhost:5173".parse::<WebOrigin>().is_ok());
/// assert!("*".parse::<WebOrigin>().is_err() && "https://app.example.com/".parse::<WebOrigin>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebOrigin(String);

impl WebOrigin {
    /// As browsers write it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for WebOrigin {
    type Err = String;

    fn from_str(text: &str) -> Result<WebOrigin, String> {
        if text == "*" {
            return Err(
                "\"*\" would let the pages of every site take and move numbers: name each origin".into(),
            );
        }
        let authority = ["http://", "https://"]
            .iter()
            .find_map(|scheme| text.strip_prefix(scheme));
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte);
        match authority.filter(|rest| !rest.is_empty() && rest.bytes().all(fits)) {
            Some(_) => Ok(WebOrigin(text.to_ascii_lowercase())),
            None => Err(format!(
                "{text:?} is not an origin: http:// or https://, a host, and a port if it is not the usual one, without a \
                 path, as in https://app.example.com"
            )),
        }
    }
}

impl Setting for Vec<WebOrigin> {
    const KIND: &'static str = "list of origins";

    fn parse(text: &str) -> Result<Self, String> {
        Vec::<String>::parse(text)?
            .iter()
            .map(|origin| origin.parse())
            .collect()
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        Vec::<String>::from_toml(value)?
            .iter()
            .map(|origin| origin.parse())
            .collect()
    }

    fn show(&self) -> String {
        self.iter()
            .map(|origin| origin.0.clone())
            .collect::<Vec<_>>()
            .show()
    }
}

/// A token as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    name: String,
    sha256: String,
    may: Vec<Right>,
}

impl Setting for Vec<Token> {
    const KIND: &'static str = "list of tokens";

    fn parse(text: &str) -> Result<Self, String> {
        // As an environment variable: the same array as in the file. The text may hold anything, so that a
        // parser's message, which quotes it, is not passed on.
        let table: toml::Table = format!("tokens = {text}").parse().map_err(|_| {
            "not a TOML array such as [{name = \"web\", sha256 = \"…\", may = [\"allocate\"]}]".to_string()
        })?;
        Self::from_toml(&table["tokens"])
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let list = value
            .as_array()
            .ok_or_else(|| format!("expected {}, found {}", Self::KIND, value.type_str()))?;
        let mut tokens: Vec<Token> = Vec::new();
        for (i, item) in list.iter().enumerate() {
            let entry: TokenEntry = item
                .clone()
                .try_into()
                .map_err(|e| format!("token {}: {}", i + 1, e.message()))?;
            let digest =
                TokenDigest::from_hex(&entry.sha256).map_err(|e| format!("token {:?}: {e}", entry.name))?;
            // Two may share a name, while one takes over from the other; but one token is one person's.
            if let Some(same) = tokens.iter().find(|token| token.digest == digest) {
                return Err(format!(
                    "token {}: the same token stands twice, here and for {:?}",
                    i + 1,
                    same.name
                ));
            }
            tokens.push(Token {
                name: entry.name,
                digest,
                may: entry.may,
            });
        }
        Ok(tokens)
    }

    fn show(&self) -> String {
        let show = |t: &Token| {
            let may: Vec<String> = t.may.iter().map(|r| quoted(r.as_str())).collect();
            format!(
                "{{ name = {}, sha256 = \"***\", may = [{}] }}",
                quoted(&t.name),
                may.join(", ")
            )
        };
        format!("[{}]", self.iter().map(show).collect::<Vec<_>>().join(", "))
    }
}
