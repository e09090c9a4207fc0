//! Scripts and functions of Redis whose meaning is known. No Lua is run: a script that resets its counter, or trusts an
//! expiry, cannot be made safe; one that takes a number can be answered by what takes a number.
//!
//! | file | what |
//! | --- | --- |
//! | `leveller` | what a text means, whatever its blanks, comments and quotes |
//! | `known` | the scripts that are known without being declared |
//! | `learned` | spellings of them, by their SHA-1, for EVALSHA |
//! | `parts` | ids as the parts from which clients of other projects make them |
//!
//! The commands (EVAL, EVALSHA, SCRIPT, FCALL, FUNCTION) are those of the Redis protocol:
//! `faces/resp/commands/scripts`. What the operator declares is `faces.scripts` of the configuration.

mod known;
mod learned;
mod leveller;
pub(crate) mod parts;

use crate::config::{Does, Script, Sha1Digest};
pub(crate) use learned::Learned;
pub use leveller::meaning;

/// What is done for a text: as declared, or as it means.
pub(crate) fn by_text(declared: &[Script], text: &[u8]) -> Option<(Sha1Digest, Does)> {
    let sha1 = Sha1Digest::of(text);
    let does = declared_as(declared, sha1).cloned();
    let does = does.or_else(|| known::of_cosid(sha1)).or_else(|| meaning(text))?;
    Some((sha1, does))
}

/// What is done for a digest without any text having been sent.
pub(crate) fn by_digest(declared: &[Script], sha1: Sha1Digest) -> Option<Does> {
    declared_as(declared, sha1)
        .cloned()
        .or_else(|| known::by_digest(sha1))
}

/// What is done for a function; names are looked up in any case, as in Redis.
pub(crate) fn by_function(declared: &[Script], name: &[u8]) -> Option<Does> {
    let is_it = |script: &&Script| {
        let called = script.function();
        called.is_some_and(|called| called.as_bytes().eq_ignore_ascii_case(name))
    };
    declared.iter().find(is_it).map(|script| script.does.clone())
}

fn declared_as(declared: &[Script], sha1: Sha1Digest) -> Option<&Does> {
    let script = declared.iter().find(|script| script.sha1() == Some(sha1))?;
    Some(&script.does)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Setting;

    #[test]
    fn what_is_declared_stands_above_what_is_known() {
        let (text, sha1) = known::KNOWN
            .iter()
            .map(|known| (known.text.as_bytes(), Sha1Digest::of(known.text.as_bytes())))
            .next()
            .unwrap();
        assert_eq!(by_text(&[], text), Some((sha1, Does::Incr)));
        assert_eq!(by_digest(&[], sha1), Some(Does::Incr));
        let declared = format!(
            "[{{sha1 = \"{sha1}\", does = \"range\"}}, {{function = \"nextid\", does = \"incrby\"}}]"
        );
        let declared = Vec::<Script>::parse(&declared).unwrap();
        assert_eq!(by_text(&declared, text), Some((sha1, Does::Range)));
        assert_eq!(by_digest(&declared, sha1), Some(Does::Range));
        assert_eq!(by_function(&declared, b"NextId"), Some(Does::IncrBy));
        assert_eq!(by_function(&declared, b"nextid2"), None);
        assert_eq!(by_text(&declared, b"return 1"), None);
    }
}
