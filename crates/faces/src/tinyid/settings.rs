//! The settings of this face.

use std::collections::BTreeMap;

use serde::Deserialize;

use mintage_server::chassis::auth::TokenDigest;
use mintage_server::chassis::config::{Setting, quoted};
use mintage_server::face_settings;

face_settings! {
    "tinyid" fits_main: true prefix: "tinyid:";
    /// How many numbers a segment spans, where `steps` does not say.
    "step" step: u64 = "100000" in 1 ..= 1_000_000_000;
    /// The same for single biz types: `{ order = 1000 }`.
    "steps" steps: Steps = "{}";
    /// The most ids that one `nextId` answers; more are not refused, as in the original.
    "batch_max" batch_max: u64 = "100000" in 1 ..= 1_000_000;
    /// Who may take ids of which biz types: `[{sha256 = "…", biz = ["order"]}]`, or `["*"]` for all; the digest is that of the token that clients have in `tinyid.token`.
    "tokens" tokens: BizTokens = "[]";
}

/// How many numbers the segments of single biz types span.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Steps(pub BTreeMap<String, u64>);

/// The largest step.
const STEP_MAX: i64 = 1_000_000_000;

impl Setting for Steps {
    const KIND: &'static str = "table of numbers";

    fn parse(text: &str) -> Result<Self, String> {
        Self::from_toml(&written(text, "a table such as { order = 1000 }")?)
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        if let toml::Value::String(text) = value {
            return Self::parse(text);
        }
        let table = value.as_table();
        let table = table.ok_or_else(|| format!("expected {}, found {}", Self::KIND, value.type_str()))?;
        let read = |(biz, step): (&String, &toml::Value)| match step.as_integer() {
            Some(step @ 1..=STEP_MAX) => Ok((biz.clone(), step.cast_unsigned())),
            _ => Err(format!(
                "{biz:?} must be a whole number from 1 to {STEP_MAX}, found {step}"
            )),
        };
        table.iter().map(read).collect::<Result<_, _>>().map(Steps)
    }

    fn show(&self) -> String {
        let entries = self.0.iter();
        let entries: Vec<String> = entries
            .map(|(biz, step)| format!("{} = {step}", quoted(biz)))
            .collect();
        match entries.is_empty() {
            true => "{}".to_string(),
            false => format!("{{ {} }}", entries.join(", ")),
        }
    }
}

/// A token of tinyid's clients.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BizToken {
    /// Its digest.
    pub digest: TokenDigest,
    /// The biz types that it is good for; `*`: all.
    pub biz: Vec<String>,
}

impl BizToken {
    /// Whether it is good for a biz type.
    pub fn is_good_for(&self, biz: &str) -> bool {
        self.biz.iter().any(|known| known == "*" || known == biz)
    }
}

/// The tokens of tinyid's clients.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BizTokens(pub Vec<BizToken>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    sha256: String,
    biz: Vec<String>,
}

impl Setting for BizTokens {
    const KIND: &'static str = "list of tokens";

    fn parse(text: &str) -> Result<Self, String> {
        Self::from_toml(&written(
            text,
            "an array such as [{sha256 = \"…\", biz = [\"order\"]}]",
        )?)
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        if let toml::Value::String(text) = value {
            return Self::parse(text);
        }
        let list = value.as_array();
        let list = list.ok_or_else(|| format!("expected {}, found {}", Self::KIND, value.type_str()))?;
        let read = |(at, item): (usize, &toml::Value)| {
            let wrong = |why: String| format!("token {}: {why}", at + 1);
            let entry: Entry = item
                .clone()
                .try_into()
                .map_err(|e: toml::de::Error| wrong(e.message().to_string()))?;
            let digest = TokenDigest::from_hex(&entry.sha256).map_err(wrong)?;
            Ok(BizToken {
                digest,
                biz: entry.biz,
            })
        };
        list.iter()
            .enumerate()
            .map(read)
            .collect::<Result<_, _>>()
            .map(BizTokens)
    }

    fn show(&self) -> String {
        let show = |token: &BizToken| format!("{{ sha256 = \"***\", biz = {} }}", token.biz.show());
        format!("[{}]", self.0.iter().map(show).collect::<Vec<_>>().join(", "))
    }
}

/// A value as it would stand in the file. The text may hold a secret, so that a parser's message is not passed on.
fn written(text: &str, expected: &str) -> Result<toml::Value, String> {
    let table: toml::Table = format!("value = {text}")
        .parse()
        .map_err(|_| format!("not {expected}"))?;
    Ok(table["value"].clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_tokens_are_read_and_no_digest_is_shown() {
        let steps = Steps::parse("{ order = 1000, \"a b\" = 1 }").unwrap();
        assert_eq!(steps.show(), "{ \"a b\" = 1, \"order\" = 1000 }");
        let said = Steps::parse("{ order = 0 }").unwrap_err();
        assert_eq!(
            said,
            "\"order\" must be a whole number from 1 to 1000000000, found 0"
        );
        let digest = TokenDigest::of(b"t").to_hex();
        let tokens = BizTokens::parse(&format!("[{{sha256 = \"{digest}\", biz = [\"a\"]}}]")).unwrap();
        assert!(tokens.0[0].is_good_for("a") && !tokens.0[0].is_good_for("b"));
        assert_eq!(tokens.show(), "[{ sha256 = \"***\", biz = [\"a\"] }]");
        for wrong in ["[", "[{}]", "[{sha256 = \"ab\", biz = []}]", "5"] {
            let said = BizTokens::parse(wrong).unwrap_err();
            assert!(!said.contains("ab\""), "{said}");
        }
    }
}
