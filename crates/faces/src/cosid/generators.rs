//! Generators: what makes the ids behind `/ids/NAME`, and how they are written as text.

use std::collections::BTreeMap;

use mintage_ledger::Name;
use serde::Deserialize;

use super::pattern::DatePattern;
use mintage_server::chassis::config::{Setting, quoted};
use mintage_server::chassis::config::{read_table, show_table};

/// What the original calls the generator of `/ids`.
pub(super) const SHARE: &str = "__share__";

/// What makes ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A sequence.
    Segment,
    /// The pool `cosid`.
    Snowflake,
}

/// How an id becomes text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Converter {
    /// Digits, upper and lower case letters.
    #[default]
    Radix62,
    /// Digits and upper case letters.
    Radix36,
    /// Decimal digits.
    ToString,
    /// Of a snowflake: its time, its machine and its number in the millisecond.
    SnowflakeFriendly,
}

/// One generator; what is not said is as in the original.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// What makes its ids; a segment, unless it is said.
    pub kind: Option<Kind>,
    /// How its ids become text.
    #[serde(default)]
    pub converter: Converter,
    /// Whether the text of the number is filled up with zeros.
    pad: Option<bool>,
    /// How many characters the text of the number has: all of them where it is filled up, at most otherwise.
    chars: Option<usize>,
    /// What stands before it.
    #[serde(default)]
    pub prefix: String,
    /// What stands behind it.
    #[serde(default)]
    pub suffix: String,
    /// A date before the number, written so; none where it is empty.
    #[serde(default)]
    pub date_prefix: DatePattern,
    /// What stands between the two; `-` unless it is said.
    date_delimiter: Option<String>,
    /// The date stands before the prefix too.
    #[serde(default)]
    pub date_first: bool,
}

/// The longest prefix, suffix or delimiter, in bytes.
const TEXT_BYTES_MAX: usize = 64;
/// How many generators there may be.
const GENERATORS_MAX: usize = 1000;

impl Generator {
    /// What makes its ids.
    pub(super) fn kind(&self) -> Kind {
        self.kind.unwrap_or(Kind::Segment)
    }

    /// Whether the text of the number is filled up with zeros.
    pub(super) fn pads(&self) -> bool {
        let radix = matches!(self.converter, Converter::Radix62 | Converter::Radix36);
        self.pad.unwrap_or(radix)
    }

    /// How many characters the text of a number has at most, or at least where it is decimal.
    pub(super) fn chars(&self) -> usize {
        self.chars.unwrap_or(match self.converter {
            Converter::Radix36 => RADIX36_CHARS,
            _ => RADIX62_CHARS,
        })
    }

    /// What stands between date and number.
    pub(super) fn date_delimiter(&self) -> &str {
        self.date_delimiter.as_deref().unwrap_or("-")
    }

    fn check(&self, kind: Kind) -> Result<(), String> {
        let most = match self.converter {
            Converter::Radix62 => RADIX62_CHARS,
            Converter::Radix36 => RADIX36_CHARS,
            Converter::ToString | Converter::SnowflakeFriendly => TEXT_BYTES_MAX,
        };
        if !(1..=most).contains(&self.chars()) {
            return Err(format!("chars must be from 1 to {most}, found {}", self.chars()));
        }
        let texts = [
            ("prefix", &*self.prefix),
            ("suffix", &*self.suffix),
            ("date_delimiter", self.date_delimiter()),
        ];
        if let Some((name, text)) = texts.iter().find(|(_, text)| text.len() > TEXT_BYTES_MAX) {
            let bytes = text.len();
            return Err(format!("{name} has {bytes} bytes, the most is {TEXT_BYTES_MAX}"));
        }
        if self.converter == Converter::SnowflakeFriendly && kind == Kind::Segment {
            return Err("converter = \"snowflake_friendly\" needs kind = \"snowflake\"".to_string());
        }
        Ok(())
    }
}

/// How many characters a number of 63 bits has at most.
const RADIX62_CHARS: usize = 11;
const RADIX36_CHARS: usize = 13;

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Kind::Segment => "segment",
            Kind::Snowflake => "snowflake",
        }
    }
}

impl Converter {
    const fn word(self) -> &'static str {
        match self {
            Converter::Radix62 => "radix62",
            Converter::Radix36 => "radix36",
            Converter::ToString => "to_string",
            Converter::SnowflakeFriendly => "snowflake_friendly",
        }
    }
}

impl Setting for Kind {
    const KIND: &'static str = "segment or snowflake";

    fn parse(text: &str) -> Result<Self, String> {
        let kinds = [Kind::Segment, Kind::Snowflake];
        let found = kinds.into_iter().find(|kind| kind.word() == text);
        found.ok_or_else(|| format!("{text:?} is not {}", Self::KIND))
    }

    fn show(&self) -> String {
        quoted(self.word())
    }
}

/// The generators by their names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Generators(pub BTreeMap<String, Generator>);

impl Setting for Generators {
    const KIND: &'static str = "table of generators";

    fn parse(text: &str) -> Result<Self, String> {
        Self::from_toml(&text.into())
    }

    fn from_toml(value: &toml::Value) -> Result<Self, String> {
        let entries = read_table(value, "{ order = { converter = \"radix36\", prefix = \"O-\" } }")?;
        if entries.len() > GENERATORS_MAX {
            return Err(format!(
                "{} generators: there may be {GENERATORS_MAX}",
                entries.len()
            ));
        }
        let read = |(name, entry): (String, toml::Value)| {
            let wrong = |why: String| format!("{name:?}: {why}");
            let generator: Generator = entry
                .try_into()
                .map_err(|error: toml::de::Error| wrong(error.message().to_string()))?;
            // Which kind the shared one is may stand beside the table.
            let unsaid = if name == SHARE {
                Kind::Snowflake
            } else {
                Kind::Segment
            };
            generator.check(generator.kind.unwrap_or(unsaid)).map_err(wrong)?;
            Ok((name, generator))
        };
        entries
            .into_iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Generators)
    }

    fn show(&self) -> String {
        let entries = self.0.iter();
        show_table(entries.map(|(name, generator)| (quoted(name), shown(generator))))
    }
}

/// What is said of a generator.
fn shown(generator: &Generator) -> String {
    let text = |name: &str, text: &str| (!text.is_empty()).then(|| (name.to_string(), quoted(text)));
    let converter = (generator.converter != Converter::default()).then(|| generator.converter.word());
    let delimiter = generator.date_delimiter.as_deref();
    let members = [
        text("kind", generator.kind.map_or("", Kind::word)),
        text("converter", converter.unwrap_or_default()),
        generator.pad.map(|pad| ("pad".to_string(), pad.to_string())),
        generator
            .chars
            .map(|chars| ("chars".to_string(), chars.to_string())),
        text("prefix", &generator.prefix),
        text("suffix", &generator.suffix),
        text("date_prefix", generator.date_prefix.as_str()),
        delimiter.map(|delimiter| ("date_delimiter".to_string(), quoted(delimiter))),
        generator
            .date_first
            .then(|| ("date_first".to_string(), "true".to_string())),
    ];
    show_table(members.into_iter().flatten())
}

/// A namespace of CosId, which begins names of sequences.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Namespace(pub String);

/// The longest namespace, in bytes.
const NAMESPACE_BYTES_MAX: usize = 48;

impl Setting for Namespace {
    const KIND: &'static str = "beginning of a name";

    fn parse(text: &str) -> Result<Self, String> {
        match text.len() {
            1..=NAMESPACE_BYTES_MAX => match Name::from_bytes(text.as_bytes()) {
                Ok(_) => Ok(Namespace(text.to_string())),
                Err(error) => Err(format!("{text:?} cannot begin a name: {error}")),
            },
            bytes => Err(format!(
                "{text:?} has {bytes} bytes: it has 1 to {NAMESPACE_BYTES_MAX}"
            )),
        }
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_are_read_and_shown() {
        let all = r#"{ "a b" = { kind = "snowflake", converter = "snowflake_friendly", pad = true }, "order" = { converter = "radix36", chars = 9, prefix = "O-", suffix = "-x", date_prefix = "yyMMdd", date_delimiter = "", date_first = true } }"#;
        let read = Generators::parse(all).unwrap();
        assert_eq!(read.show(), all);
        assert_eq!(Generators::parse("").unwrap().show(), "{}");
        assert!(Generators::parse(r#"{ __share__ = { converter = "snowflake_friendly" } }"#).is_ok());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (wrong, said) in [
            ("3", "table"),
            (r#"{ order = 3 }"#, "\"order\": "),
            (r#"{ order = { kind = "uuid" } }"#, "segment"),
            (r#"{ order = { convertor = "radix36" } }"#, "converter"),
            (r#"{ order = { chars = 12 } }"#, "from 1 to 11, found 12"),
            (r#"{ order = { chars = 0 } }"#, "from 1 to 11, found 0"),
            (
                r#"{ order = { converter = "snowflake_friendly" } }"#,
                "needs kind = \"snowflake\"",
            ),
            (r#"{ order = { date_prefix = "yyMMddQ" } }"#, "Q"),
            (r#"{ order = { date_prefix = "yy'MM" } }"#, "quote"),
        ] {
            let refused = Generators::parse(wrong).unwrap_err();
            assert!(refused.contains(said), "{wrong}: {refused}");
        }
        let long = format!(r#"{{ order = {{ prefix = "{}" }} }}"#, "x".repeat(65));
        assert!(Generators::parse(&long).unwrap_err().contains("65 bytes"));
        let many: String = (0..1001).map(|i| format!("g{i} = {{}}, ")).collect();
        assert!(
            Generators::parse(&format!("{{ {many} }}"))
                .unwrap_err()
                .contains("1000")
        );
        assert!(Namespace::parse("").is_err() && Namespace::parse("a\nb").is_err());
    }
}
