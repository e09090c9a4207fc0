//! Settings that are one of a few words.

use super::value::{Setting, quoted};

/// How logs are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON document a line.
    Json,
}

/// What becomes of commands that would make a number expire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expire {
    /// They are refused.
    Refuse,
    /// They are answered, and change nothing.
    Ignore,
}

/// What a face of another system asks of its clients where tokens are configured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaceAuth {
    /// A token.
    Token,
    /// Nothing; and nobody creates, moves or drops.
    Open,
}

/// Whether clients must show a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientAuth {
    /// Those without one are refused.
    Require,
    /// Those without one are let in, and show a token where one is asked for.
    Optional,
}

/// The least severe log records that are written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LogLevel {
    /// What stops the work.
    Error,
    /// What needs attention.
    Warn,
    /// What an operator wants to see once.
    Info,
    /// What a developer wants to see.
    Debug,
    /// Everything.
    Trace,
}

impl LogFormat {
    const NAMES: [(&'static str, LogFormat); 2] = [("text", LogFormat::Text), ("json", LogFormat::Json)];
}

impl Expire {
    const NAMES: [(&'static str, Expire); 2] = [("refuse", Expire::Refuse), ("ignore", Expire::Ignore)];
}

impl FaceAuth {
    const NAMES: [(&'static str, FaceAuth); 2] = [("token", FaceAuth::Token), ("open", FaceAuth::Open)];
}

impl ClientAuth {
    const NAMES: [(&'static str, ClientAuth); 2] = [
        ("require", ClientAuth::Require),
        ("optional", ClientAuth::Optional),
    ];
}

impl LogLevel {
    const NAMES: [(&'static str, LogLevel); 5] = [
        ("error", LogLevel::Error),
        ("warn", LogLevel::Warn),
        ("info", LogLevel::Info),
        ("debug", LogLevel::Debug),
        ("trace", LogLevel::Trace),
    ];
}

impl Setting for LogFormat {
    const KIND: &'static str = "text or json";

    fn parse(text: &str) -> Result<Self, String> {
        named(text, &LogFormat::NAMES)
    }

    fn show(&self) -> String {
        show_named(*self, &LogFormat::NAMES)
    }
}

impl Setting for FaceAuth {
    const KIND: &'static str = "token or open";

    fn parse(text: &str) -> Result<Self, String> {
        named(text, &FaceAuth::NAMES)
    }

    fn show(&self) -> String {
        show_named(*self, &FaceAuth::NAMES)
    }
}

impl Setting for ClientAuth {
    const KIND: &'static str = "require or optional";

    fn parse(text: &str) -> Result<Self, String> {
        named(text, &ClientAuth::NAMES)
    }

    fn show(&self) -> String {
        show_named(*self, &ClientAuth::NAMES)
    }
}

impl Setting for Expire {
    const KIND: &'static str = "refuse or ignore";

    fn parse(text: &str) -> Result<Self, String> {
        named(text, &Expire::NAMES)
    }

    fn show(&self) -> String {
        show_named(*self, &Expire::NAMES)
    }
}

impl Setting for LogLevel {
    const KIND: &'static str = "level";

    fn parse(text: &str) -> Result<Self, String> {
        named(text, &LogLevel::NAMES)
    }

    fn show(&self) -> String {
        show_named(*self, &LogLevel::NAMES)
    }
}

/// The value of one of a few words.
pub fn named<T: Copy>(text: &str, names: &[(&'static str, T)]) -> Result<T, String> {
    names
        .iter()
        .find(|(name, _)| *name == text)
        .map(|(_, value)| *value)
        .ok_or_else(|| {
            let all: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            format!("{text:?} is none of {}", all.join(", "))
        })
}

/// The word of a value.
pub fn show_named<T: Copy + PartialEq>(value: T, names: &[(&'static str, T)]) -> String {
    quoted(
        names
            .iter()
            .find(|(_, v)| *v == value)
            .map_or("", |(name, _)| name),
    )
}
