//! What one key holds, as read without a script: looking asks for no right to run one.

use redis::{ErrorKind, Pipeline, RedisError, RedisResult, ServerErrorKind, Value};

use super::script::text;
use crate::source::{Fence, MoveId};

/// How many commands read one key.
pub(super) const COMMANDS: usize = 4;

/// What a key holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Held {
    Absent,
    /// A counter; the last number that was given out.
    Number(i64),
    /// A fence.
    Moved {
        id: MoveId,
        last: i64,
    },
    /// Anything else, in words.
    Other(String),
}

/// The commands that read these keys. What does not fit a key's type answers an error that says so.
pub(super) fn commands<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> Pipeline {
    let mut commands = Pipeline::new();
    for key in keys {
        commands.cmd("TYPE").arg(key);
        // One more than the longest number: a long string is not read whole.
        commands.cmd("GETRANGE").arg(key).arg(0).arg(20);
        commands.cmd("PTTL").arg(key);
        commands.cmd("HMGET").arg(key).arg("move").arg("last");
    }
    commands
}

impl Held {
    /// Reads the answers to [`commands`] of one key.
    pub(super) fn parse(answers: &[RedisResult<Value>]) -> Result<Held, RedisError> {
        let [kind, value, expiry, fields] = answers else {
            return Err((ErrorKind::UnexpectedReturnType, "an answer is missing").into());
        };
        let kind = text(fits(kind)?.unwrap_or(&Value::Nil)).unwrap_or_default();
        let (value, expiry, fields) = (fits(value)?, fits(expiry)?, fits(fields)?);
        let other = |what: &str| Ok(Held::Other(what.to_string()));
        match kind.as_str() {
            "none" => Ok(Held::Absent),
            "hash" => Ok(fields.and_then(moved).unwrap_or(Held::Other(kind))),
            "string" => match (value.and_then(text).as_deref().and_then(whole), expiry) {
                (Some(number), Some(Value::Int(-1))) => Ok(Held::Number(number)),
                (Some(_), _) => other("string that expires"),
                (None, _) => other("string that is no whole number"),
            },
            _ => other(&kind),
        }
    }

    /// The same as the fence that callers know.
    pub(super) fn fence(&self) -> Fence {
        match self {
            Held::Moved { id, last } => Fence::Ours {
                id: Some(*id),
                mark: i128::from(*last) + 1,
            },
            _ => Fence::None,
        }
    }
}

/// An answer, or that it does not fit the key's type.
fn fits(answer: &RedisResult<Value>) -> Result<Option<&Value>, RedisError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code() == Some("WRONGTYPE") => Ok(None),
        Err(error) => Err(redirected(error).unwrap_or_else(|| error.clone())),
    }
}

/// What a node says that sends us elsewhere, in words that say what to do.
pub(super) fn redirected(error: &RedisError) -> Option<RedisError> {
    let why = "it is a node of a Redis Cluster, which is not supported: move to a server of its own first";
    let moved = matches!(
        error.kind(),
        ErrorKind::Server(ServerErrorKind::Moved | ServerErrorKind::Ask)
    );
    moved.then(|| (ErrorKind::InvalidClientConfig, why).into())
}

fn moved(fields: &Value) -> Option<Held> {
    let Value::Array(fields) = fields else {
        return None;
    };
    let [id, last] = fields.as_slice() else {
        return None;
    };
    Some(Held::Moved {
        id: text(id)?.parse().ok()?,
        last: whole(&text(last)?)?,
    })
}

/// A whole number as INCR wants it: no plus, no leading zero, no minus before a zero.
fn whole(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(kind: &str, value: &str, expiry: i64, fields: &[Option<&str>]) -> Held {
        let bulk = |text: &str| Value::BulkString(text.into());
        let fields = fields
            .iter()
            .map(|field| field.map_or(Value::Nil, bulk))
            .collect();
        Held::parse(&[
            Ok(Value::SimpleString(kind.into())),
            Ok(bulk(value)),
            Ok(Value::Int(expiry)),
            Ok(Value::Array(fields)),
        ])
        .unwrap()
    }

    #[test]
    fn only_whole_numbers_without_expiry_count() {
        for (value, number) in [
            ("0", 0),
            ("-1", -1),
            ("9007199254740993", 9_007_199_254_740_993),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(held("string", value, -1, &[]), Held::Number(number));
            assert!(matches!(held("string", value, 1000, &[]), Held::Other(_)));
        }
        for value in [
            "",
            "-0",
            "+1",
            "01",
            " 1",
            "1 ",
            "1.0",
            "9223372036854775808",
            "x",
        ] {
            assert!(
                matches!(held("string", value, -1, &[]), Held::Other(_)),
                "{value}"
            );
        }
        assert_eq!(held("none", "", -2, &[]), Held::Absent);
        assert_eq!(held("zset", "", -1, &[]), Held::Other("zset".into()));
    }

    #[test]
    fn fences_are_hashes_with_our_fields() {
        let id = "0123456789abcdef0123456789abcdef";
        let last = i64::MAX.to_string();
        let fence = held("hash", "", -1, &[Some(id), Some(&last)]).fence();
        assert_eq!(
            fence,
            Fence::Ours {
                id: id.parse().ok(),
                mark: i128::from(i64::MAX) + 1
            }
        );
        for fields in [
            [None, Some("7")],
            [Some(id), None],
            [Some(id), Some("x")],
            [Some("ab"), Some("7")],
        ] {
            assert_eq!(held("hash", "", -1, &fields), Held::Other("hash".into()));
        }
    }
}
