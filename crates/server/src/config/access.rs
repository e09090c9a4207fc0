//! Settings that say who may ask: tokens, and the origins of web pages.

use super::value::{Setting, quoted};
use crate::auth::{Grant, Proof, Token, read_tokens};

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
        read_tokens(value)
    }

    fn show(&self) -> String {
        let texts = |list: &mut dyn Iterator<Item = String>| {
            let quoted: Vec<String> = list.map(|text| quoted(&text)).collect();
            format!("[{}]", quoted.join(", "))
        };
        let show = |token: &Token| {
            let shows = match &token.shows {
                Proof::Digest(_) => "sha256 = \"***\"".to_string(),
                Proof::CertificateName(name) => format!("certificate = {}", quoted(&name.to_string())),
                Proof::Uid(uid) => format!("uid = {uid}"),
            };
            let sql = [
                ("scram", token.sql.scram.is_some()),
                ("mysql", token.sql.mysql.is_some()),
                ("mysql_native", token.sql.mysql_native.is_some()),
            ];
            let sql = sql.iter().filter(|(_, is_there)| *is_there);
            let sql: String = sql.map(|(key, _)| format!(", {key} = \"***\"")).collect();
            let may = texts(&mut token.may.iter().map(Grant::to_string));
            let faces = token
                .faces
                .iter()
                .map(|faces| format!(", faces = {}", texts(&mut faces.iter().cloned())));
            let until = token.until.iter().map(|until| format!(", until = {until}"));
            let rates = [("requests", token.rates.requests), ("ids", token.rates.ids)];
            let rates = rates
                .iter()
                .filter_map(|(what, rate)| rate.map(|rate| format!(", {what}_per_second = {rate}")));
            let limits: String = faces.chain(until).chain(rates).collect();
            format!(
                "{{ name = {}, {shows}{sql}, may = {may}{limits} }}",
                quoted(&token.name)
            )
        };
        format!("[{}]", self.iter().map(show).collect::<Vec<_>>().join(", "))
    }
}
