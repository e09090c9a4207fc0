//! The scripts that are known without being declared, each with the pieces that a spelling of it consists of.

use std::sync::LazyLock;

use self::Piece::{Again, Command, End, New, Number, Sign, Word};
use crate::config::{Does, Sha1Digest};

/// One known script.
#[derive(Debug)]
pub(super) struct Known {
    /// As it is mostly written.
    pub(super) text: &'static str,
    pub(super) does: Does,
    /// What every spelling of it consists of.
    pub(super) pieces: &'static [Piece],
}

/// A piece of a known script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// This word of Lua, or name.
    Word(&'static str),
    /// This sign.
    Sign(u8),
    /// This number, spelled so.
    Number(&'static str),
    /// The name of a command in quotes, in any case.
    Command(&'static str),
    /// The name of a variable, which is free.
    New,
    /// The same name again.
    Again,
    /// The end of a statement, where one `;` may stand.
    End,
}

/// All of them.
pub(super) static KNOWN: [Known; 3] = [
    Known {
        text: "return redis.call('incr', KEYS[1])",
        does: Does::Incr,
        pieces: &[
            Word("return"),
            Word("redis"),
            Sign(b'.'),
            Word("call"),
            Sign(b'('),
            Command("incr"),
            Sign(b','),
            Word("KEYS"),
            Sign(b'['),
            Number("1"),
            Sign(b']'),
            Sign(b')'),
            End,
        ],
    },
    Known {
        text: "return redis.call('incrby', KEYS[1], ARGV[1])",
        does: Does::IncrBy,
        pieces: &[
            Word("return"),
            Word("redis"),
            Sign(b'.'),
            Word("call"),
            Sign(b'('),
            Command("incrby"),
            Sign(b','),
            Word("KEYS"),
            Sign(b'['),
            Number("1"),
            Sign(b']'),
            Sign(b','),
            Word("ARGV"),
            Sign(b'['),
            Number("1"),
            Sign(b']'),
            Sign(b')'),
            End,
        ],
    },
    Known {
        text: "local v = redis.call('incrby', KEYS[1], ARGV[1]) return {v - ARGV[1] + 1, v}",
        does: Does::Range,
        pieces: &[
            Word("local"),
            New,
            Sign(b'='),
            Word("redis"),
            Sign(b'.'),
            Word("call"),
            Sign(b'('),
            Command("incrby"),
            Sign(b','),
            Word("KEYS"),
            Sign(b'['),
            Number("1"),
            Sign(b']'),
            Sign(b','),
            Word("ARGV"),
            Sign(b'['),
            Number("1"),
            Sign(b']'),
            Sign(b')'),
            End,
            Word("return"),
            Sign(b'{'),
            Again,
            Sign(b'-'),
            Word("ARGV"),
            Sign(b'['),
            Number("1"),
            Sign(b']'),
            Sign(b'+'),
            Number("1"),
            Sign(b','),
            Again,
            Sign(b'}'),
            End,
        ],
    },
];

/// What the text with this digest does, where it is spelled as in [`KNOWN`].
pub(super) fn by_digest(sha1: Sha1Digest) -> Option<Does> {
    static DIGESTS: LazyLock<[Sha1Digest; 3]> = LazyLock::new(|| {
        KNOWN
            .each_ref()
            .map(|known| Sha1Digest::of(known.text.as_bytes()))
    });
    let at = DIGESTS.iter().position(|digest| *digest == sha1)?;
    Some(KNOWN[at].does.clone())
}
