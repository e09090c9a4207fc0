//! The Lua scripts, and what they answer.

use redis::{Pipeline, Value};

/// A script: one unit for every other client, and in the append-only file.
pub(super) struct Script(&'static str);

macro_rules! script {
    ($name:ident, $file:literal) => {
        pub(super) static $name: Script = Script(concat!(include_str!("head.lua"), include_str!($file)));
    };
}

script!(CUT, "cut.lua");
script!(TAKE, "take.lua");
script!(LIFT, "lift.lua");
script!(MAY, "may.lua");

impl Script {
    /// The call of it over one key.
    pub(super) fn call(&self, key: &[u8], args: &[&[u8]]) -> Pipeline {
        let mut commands = Pipeline::new();
        let call = commands.cmd("EVAL").arg(self.0).arg(1).arg(key);
        for arg in args {
            call.arg(*arg);
        }
        commands
    }
}

/// What a script answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// It was done; the number.
    Done(String),
    /// A fence of this move stands there, whose last number is this.
    Fenced(String, String),
    /// What stands there is no counter, in words.
    Other(String),
    /// It serves, at this number.
    Serves(String),
    /// There are not so many numbers left above this one.
    Ended(String),
    /// The server does not let us, in its words; nothing was done.
    Denied(String),
}

impl Answer {
    pub(super) fn parse(value: &Value) -> Option<Answer> {
        let Value::Array(parts) = value else {
            return None;
        };
        let mut words = Vec::new();
        for part in parts {
            words.push(text(part)?);
        }
        let mut words = words.into_iter();
        let (kind, mut next) = (words.next()?, || words.next());
        Some(match kind.as_str() {
            "done" => Answer::Done(next()?),
            "fenced" => Answer::Fenced(next()?, next()?),
            "other" => Answer::Other(next()?),
            "serves" => Answer::Serves(next()?),
            "ended" => Answer::Ended(next()?),
            "denied" => Answer::Denied(next()?),
            _ => return None,
        })
    }
}

/// A text of an answer.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) => Some(text.clone()),
        Value::Okay => Some("OK".to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_nonsense_is_none() {
        let bulk = |text: &str| Value::BulkString(text.into());
        let array = |words: &[&str]| Value::Array(words.iter().map(|word| bulk(word)).collect());
        assert_eq!(
            Answer::parse(&array(&["done", "7"])),
            Some(Answer::Done("7".into()))
        );
        assert_eq!(
            Answer::parse(&array(&["fenced", "ab", "7"])),
            Some(Answer::Fenced("ab".into(), "7".into()))
        );
        for wrong in [
            array(&["done"]),
            array(&["what", "7"]),
            array(&[]),
            Value::Nil,
            Value::Int(1),
        ] {
            assert_eq!(Answer::parse(&wrong), None);
        }
    }
}
