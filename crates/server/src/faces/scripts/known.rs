//! The scripts that are known without being declared, each with the pieces that a spelling of it consists of.

use std::sync::LazyLock;

use self::Piece::{Again, Command, End, New, Number, Sign, Word};
use crate::config::{Does, Machine, Sha1Digest};

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

/// The scripts of CosId's Redis distributor, by the digests of their texts in its releases, the newest first. Those before
/// 1.9 guard nothing: their leases last until they are given back.
const COSID: [(&str, Machine); 12] = [
    ("abb225fa62a528a2bd6ba2b023aaeb3f832c8a18", Machine::Distribute),
    ("bad2854510c56cf1ad461246e07b8a39f23739ec", Machine::Distribute),
    ("59afbeda61c976907b45a0cd32a4df0244d11984", Machine::Distribute),
    ("521d99ae31d120336e73a750d7cfb34458bde70e", Machine::Distribute),
    ("ce78f3f64f5f7887c74c35de86372c35e19ae98d", Machine::Distribute),
    ("d3f3370f1163c867dbeea875b97779b29266f0fe", Machine::Guard),
    ("72d5184b7ec1e4dbe0764750825570b6d9a972ea", Machine::Revert),
    ("113d531e7963cb1acf413da93e4e768a24045124", Machine::Revert),
    ("f70746adf455db91d47534d919fcea5ed61a35ab", Machine::Revert),
    ("c3bf4d20993e8e1d2207c6c136eb406b2f16f69c", Machine::RevertStable),
    ("272b54b4f9d697a80d25c21025faf8c3a274a703", Machine::RevertStable),
    ("bdf3625e28b5737ff8b164b3ece200919cb2c5d4", Machine::RevertStable),
];

/// What a script of CosId's does.
pub(super) fn of_cosid(sha1: Sha1Digest) -> Option<Does> {
    static DIGESTS: LazyLock<[Sha1Digest; 12]> =
        LazyLock::new(|| COSID.map(|(digits, _)| Sha1Digest::from_hex(digits.as_bytes()).expect("a digest")));
    let at = DIGESTS.iter().position(|digest| *digest == sha1)?;
    Some(Does::CosId(COSID[at].1))
}

/// What the text with this digest does, where it is spelled as in [`KNOWN`], or is one of CosId's.
pub(super) fn by_digest(sha1: Sha1Digest) -> Option<Does> {
    static DIGESTS: LazyLock<[Sha1Digest; 3]> = LazyLock::new(|| {
        KNOWN
            .each_ref()
            .map(|known| Sha1Digest::of(known.text.as_bytes()))
    });
    match DIGESTS.iter().position(|digest| *digest == sha1) {
        Some(at) => Some(KNOWN[at].does.clone()),
        None => of_cosid(sha1),
    }
}
