//! What a text means, whatever its blanks, comments, quotes, semicolons, letter case of commands, and the name of its
//! variable.
//!
//! A text is cut into Lua's tokens and these are compared one by one with those of the scripts in
//! [`known`](super::known). So two texts are the same only where Lua itself sees the same program; whatever is left
//! makes a text unknown, which is always safe. On purpose that is so for:
//!
//! - strings with a backslash, and long ones (`[[incr]]`): no need to read escapes as Lua does;
//! - numbers in other forms (`0x1`, `1.0`, `1e0`), though they are equal;
//! - `redis.pcall`, which returns errors instead of raising them: arithmetic on what it returns is an error of its own;
//! - a variable called `redis`, `KEYS` or `ARGV`, which would hide what the rest of the line means;
//! - a second statement, a second `;`, and anything behind the last piece;
//! - a line's end between a function and its `(`, which Lua 5.1 refuses as ambiguous.
//!
//! Total and linear: every byte is looked at once for each known script, nothing is allocated. Source: Lua 5.1.5
//! `llex.c`, which is what Redis has built in.

use super::known::{KNOWN, Piece};
use crate::config::Does;

/// What a Lua text does, if it is one of the known scripts in some spelling.
///
/// ```
/// use mintage_server::config::Does;
/// use mintage_server::scripts::meaning;
/// assert_eq!(meaning(b"return redis.call(\"INCR\", KEYS[ 1 ]); -- next"), Some(Does::Incr));
/// // Another key; and what is no call of redis.
/// assert_eq!(meaning(b"return redis.call('incr', KEYS[2])"), None);
/// assert_eq!(meaning(b"return redis.pcall('incr', KEYS[1])"), None);
/// ```
pub fn meaning(text: &[u8]) -> Option<Does> {
    let known = KNOWN.iter().find(|known| is_spelling(text, known.pieces))?;
    Some(known.does.clone())
}

/// Whether a text is these pieces, whole.
fn is_spelling(text: &[u8], pieces: &[Piece]) -> bool {
    let mut tokens = Tokens::of(text);
    let mut variable: &[u8] = &[];
    for piece in pieces {
        if *piece == Piece::End {
            tokens.pass(b';');
            continue;
        }
        let fits = match (*piece, tokens.next()) {
            (Piece::Word(word), Some(Token::Word(found))) => found == word.as_bytes(),
            (Piece::Sign(sign), Some(Token::Sign(found))) => {
                found == sign && !(sign == b'(' && tokens.line_ended)
            }
            (Piece::Number(number), Some(Token::Number(found))) => found == number.as_bytes(),
            (Piece::Command(name), Some(Token::Text(found))) => found.eq_ignore_ascii_case(name.as_bytes()),
            (Piece::New, Some(Token::Word(found))) => {
                variable = found;
                !NOT_VARIABLES.iter().any(|word| word.as_bytes() == found)
            }
            (Piece::Again, Some(Token::Word(found))) => found == variable,
            _ => false,
        };
        if !fits {
            return false;
        }
    }
    tokens.next().is_none()
}

/// Names that a variable must not have: those that mean something here, and Lua's own words.
const NOT_VARIABLES: [&str; 24] = [
    "redis", "KEYS", "ARGV", "and", "break", "do", "else", "elseif", "end", "false", "for", "function",
    "goto", "if", "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until",
];

/// A token of Lua, as far as known scripts have such.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token<'a> {
    /// A word of Lua, or a name.
    Word(&'a [u8]),
    /// A number as it is spelled, with all letters and dots that Lua would read as part of it.
    Number(&'a [u8]),
    /// What stands in quotes, free of escapes.
    Text(&'a [u8]),
    /// One of the signs that known scripts have.
    Sign(u8),
    /// Anything else; nothing is read behind it.
    Other,
}

/// The tokens of a text.
struct Tokens<'a> {
    rest: &'a [u8],
    /// Whether a line ended between the last token and the one before it.
    line_ended: bool,
}

impl<'a> Tokens<'a> {
    fn of(text: &'a [u8]) -> Self {
        Tokens {
            rest: text,
            line_ended: false,
        }
    }

    /// Passes one sign over, if it is the next token.
    fn pass(&mut self, sign: u8) {
        let before = self.rest;
        if self.next() != Some(Token::Sign(sign)) {
            self.rest = before;
        }
    }

    /// Passes over what means nothing; `false`: a comment that Lua would refuse.
    fn pass_blanks(&mut self) -> bool {
        self.line_ended = false;
        loop {
            let blanks = self.rest.iter().take_while(|byte| is_blank(**byte)).count();
            self.pass_over(blanks);
            let Some(comment) = self.rest.strip_prefix(b"--") else {
                return true;
            };
            let length = match opening_level(comment) {
                Some(level) => match long_comment_end(&comment[level + 2..], level) {
                    Some(end) => level + 2 + end,
                    None => return false,
                },
                None => comment.iter().take_while(|byte| !is_line_end(**byte)).count(),
            };
            self.pass_over(b"--".len() + length);
        }
    }

    fn pass_over(&mut self, length: usize) {
        let passed = self.cut(length);
        self.line_ended |= passed.iter().any(|byte| is_line_end(*byte));
    }

    fn cut(&mut self, length: usize) -> &'a [u8] {
        let (token, rest) = self.rest.split_at(length);
        self.rest = rest;
        token
    }

    fn other(&mut self) -> Option<Token<'a>> {
        self.rest = &[];
        Some(Token::Other)
    }

    /// The rest of a string behind its opening quote.
    fn quoted(&mut self, quote: u8) -> Option<Token<'a>> {
        let inside = &self.rest[1..];
        let length = inside
            .iter()
            .take_while(|byte| **byte != quote && **byte != b'\\' && !is_line_end(**byte))
            .count();
        match inside.get(length) {
            Some(end) if *end == quote => {
                self.rest = &inside[length + 1..];
                Some(Token::Text(&inside[..length]))
            }
            _ => self.other(),
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if !self.pass_blanks() {
            return self.other();
        }
        let first = *self.rest.first()?;
        let run = |fits: fn(u8) -> bool| self.rest.iter().take_while(|byte| fits(**byte)).count();
        match first {
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => {
                let length = run(is_of_name);
                Some(Token::Word(self.cut(length)))
            }
            b'0'..=b'9' => {
                let length = run(|byte| is_of_name(byte) || byte == b'.');
                Some(Token::Number(self.cut(length)))
            }
            b'"' | b'\'' => self.quoted(first),
            // A long string.
            b'[' if opening_level(self.rest).is_some() => self.other(),
            b'.' | b'(' | b')' | b',' | b'[' | b']' | b'{' | b'}' | b'=' | b'+' | b'-' | b';' => {
                self.cut(1);
                Some(Token::Sign(first))
            }
            _ => self.other(),
        }
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// C's `isspace` in the C locale.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// How many `=` stand in a long bracket that opens here, if one does: 0 in `[[`, 2 in `[==[`.
fn opening_level(text: &[u8]) -> Option<usize> {
    let level = text
        .strip_prefix(b"[")?
        .iter()
        .take_while(|byte| **byte == b'=')
        .count();
    (text.get(level + 1) == Some(&b'[')).then_some(level)
}

/// How long a long comment is behind its opening bracket, with the closing one; `None` where Lua refuses it: it does
/// not end, or it is of level 0 and holds another `[[`.
fn long_comment_end(text: &[u8], level: usize) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'[' if level == 0 && text.get(at + 1) == Some(&b'[') => return None,
            b']' => {
                let signs = text[at + 1..].iter().take_while(|byte| **byte == b'=').count();
                if signs == level && text.get(at + 1 + signs) == Some(&b']') {
                    return Some(at + signs + 2);
                }
                at += 1 + signs;
            }
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INCR: &str = "return redis.call('incr', KEYS[1])";
    const RANGE: &str = "local v = redis.call('incrby', KEYS[1], ARGV[1]) return {v - ARGV[1] + 1, v}";

    #[test]
    fn known_texts_mean_what_they_say() {
        for known in &KNOWN {
            assert_eq!(
                meaning(known.text.as_bytes()),
                Some(known.does.clone()),
                "{}",
                known.text
            );
        }
    }

    #[test]
    fn spellings_are_one_script() {
        for text in [
            "return redis.call('INCR',KEYS[1])",
            "return redis.call(\"Incr\", KEYS[1]);",
            "\t return\r\nredis . call ( 'incr' , KEYS [ 1 ] ) \x0b\x0c ;",
            "-- next id\nreturn redis.call('incr', KEYS[1]) -- done",
            "--[[ two\nlines ]] return redis.call('incr', --[==[ ]] [[ ]=] ]==] KEYS[1])",
            "--[ a line\rreturn redis.call('incr', KEYS[1])--",
            "--[=\nreturn redis.call('incr', KEYS[1])",
            "return\nredis\n.\ncall --[[]] (\n'incr'\n,\nKEYS\n[\n1\n]\n)\n;\n",
            "--[[]]return redis.call('incr',KEYS[1])--[=[\0\u{e9}]=]",
        ] {
            assert_eq!(meaning(text.as_bytes()), Some(Does::Incr), "{text}");
        }
        for text in [
            "local last=redis.call('INCRBY',KEYS[1],ARGV[1]);return{last-ARGV[1]+1,last};",
            "local _1 = redis.call('incrby', KEYS[1], ARGV[1])\nreturn {\n  _1 - ARGV[1] + 1,\n  _1\n}\n",
            "local v --[[the last]] = redis.call(\"incrby\", KEYS[1], ARGV[1])\nreturn {v - --\nARGV[1] + 1, v}",
        ] {
            assert_eq!(meaning(text.as_bytes()), Some(Does::Range), "{text}");
        }
    }

    #[test]
    fn what_means_something_else_is_unknown() {
        for text in [
            "",
            " ",
            "--",
            "return",
            "return 1",
            "redis.call('incr', KEYS[1])",
            "return redis.pcall('incr', KEYS[1])",
            "return redis.call('decr', KEYS[1])",
            "return redis.call('incr', KEYS[2])",
            "return redis.call('incr', KEYS[1], ARGV[1])",
            "return redis.call('incr', keys[1])",
            "return Redis.call('incr', KEYS[1])",
            "return redis.Call('incr', KEYS[1])",
            "RETURN redis.call('incr', KEYS[1])",
            "return redis.call('incr ', KEYS[1])",
            "return redis.call('incr', 'KEYS[1]')",
            "return redis.call(\"incr', KEYS[1])",
            "return redis.call('in\\99r', KEYS[1])",
            "return redis.call('incr\\\n', KEYS[1])",
            "return redis.call([[incr]], KEYS[1])",
            "return redis.call([=[incr]=], KEYS[1])",
            "return redis.call('incr', KEYS[0x1])",
            "return redis.call('incr', KEYS[1.0])",
            "return redis.call('incr', KEYS[1e0])",
            "return redis.call('incr', KEYS[01])",
            "return redis.call('incr', KEYS[1 ]]",
            "return redis..call('incr', KEYS[1])",
            "return redis:call('incr', KEYS[1])",
            "return redis.call('incr', KEYS[1]) + 1",
            "return redis.call\n('incr', KEYS[1])",
            "return redis.call --\r('incr', KEYS[1])",
            "return redis.call --[[\n]] ('incr', KEYS[1])",
            "return redis.call('incr', KEYS[1]);;",
            ";return redis.call('incr', KEYS[1])",
            "return redis.call('incr', KEYS[1]) return 1",
            "return redis.call('incr', KEYS[1]) end function f()",
            "return redis.call('incr', KEYS[1]) --[[ open",
            "return redis.call('incr', KEYS[1]) --[=[ ]]",
            "return redis.call('incr', KEYS[1]) --[[ nested [[ ]] ]]",
            "return redis.call('incr', KEYS[1]) --[[ nested [[ ]]",
            "--[[ ]] ]] return redis.call('incr', KEYS[1])",
            "-- return redis.call('incr', KEYS[1])",
            "#!lua\nreturn redis.call('incr', KEYS[1])",
            "\u{feff}return redis.call('incr', KEYS[1])",
            "return redis.call('incr', KEYS[1])\0",
            "local redis = redis return redis.call('incr', KEYS[1])",
            "local KEYS = {'a'} return redis.call('incr', KEYS[1])",
            "if redis.call('incr', KEYS[1]) == 1 then redis.call('expire', KEYS[1], 9) end",
            "local v = redis.call('incr', KEYS[1]) redis.call('expire', KEYS[1], ARGV[1]) return v",
            "return redis.call('incrby', KEYS[1], -ARGV[1])",
            "return redis.call('incrby', KEYS[1], ARGV[2])",
            "local ARGV = redis.call('incrby', KEYS[1], ARGV[1]) return {ARGV - ARGV[1] + 1, ARGV}",
            "local redis = redis.call('incrby', KEYS[1], ARGV[1]) return {redis - ARGV[1] + 1, redis}",
            "local end = redis.call('incrby', KEYS[1], ARGV[1]) return {end - ARGV[1] + 1, end}",
            "local v = redis.call('incrby', KEYS[1], ARGV[1]) return {v - ARGV[1], v}",
            "local v = redis.call('incrby', KEYS[1], ARGV[1]) return {v - ARGV[1] + 1, w}",
            "local v = redis.call('incrby', KEYS[1], ARGV[1]) return {w - ARGV[1] + 1, v}",
            "local v = redis.call('incrby', KEYS[1], ARGV[1]) return {v --ARGV[1] + 1, v}",
            "local v = redis.call('incrby', KEYS[1], ARGV[1]) return {v - ARGV[1] + 1, v, v}",
            "local v = redis.pcall('incrby', KEYS[1], ARGV[1]) return {v - ARGV[1] + 1, v}",
            "local v = redis.call('incrby', KEYS[1], ARGV[1]) return {v - ARGV[1] + 1; v}",
            "local v, w = redis.call('incrby', KEYS[1], ARGV[1]) return {v - ARGV[1] + 1, v}",
            "v = redis.call('incrby', KEYS[1], ARGV[1]) return {v - ARGV[1] + 1, v}",
        ] {
            assert_eq!(meaning(text.as_bytes()), None, "{text}");
        }
    }

    /// Blanks and comments of every kind.
    fn blank() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ \t\r\n\x0b\x0c]{1,3}",
            "--[^\\[\r\n]?[a-z ]{0,5}\n",
            "--\\[\\[[a-z =\\-\n]{0,5}\\]\\]",
            "--\\[==\\[[a-z =\\[\n]{0,5}\\]==\\]",
        ]
    }

    proptest! {
        #[test]
        fn blanks_between_pieces_change_nothing(blanks in proptest::collection::vec(blank(), 40)) {
            for known in &KNOWN {
                let mut tokens = Tokens::of(known.text.as_bytes());
                let mut text = String::new();
                for blank in &blanks {
                    let before = tokens.rest;
                    let token = tokens.next();
                    // Apart from a minus before it, which would make it another comment.
                    text.push(' ');
                    if token != Some(Token::Sign(b'(')) {
                        text.push_str(blank);
                    }
                    if token.is_none() {
                        break;
                    }
                    let token = &before[..before.len() - tokens.rest.len()];
                    text.push_str(std::str::from_utf8(token).unwrap());
                }
                prop_assert!(tokens.next().is_none());
                prop_assert_eq!(meaning(text.as_bytes()), Some(known.does.clone()), "{}", text);
            }
        }
    }

    #[test]
    fn a_changed_byte_is_another_script_or_another_spelling() {
        // Where no blank and no letter of a command is touched, one byte makes all the difference.
        for text in [INCR, RANGE] {
            let command = text.find('\'').unwrap()..text.rfind('\'').unwrap();
            let text = text.as_bytes();
            for (at, byte) in (0..text.len()).flat_map(|at| (0..=u8::MAX).map(move |byte| (at, byte))) {
                let mut changed = text.to_vec();
                changed[at] = byte;
                if let Some(does) = meaning(&changed) {
                    let same = changed == text;
                    let blank = is_blank(text[at]) && (is_blank(byte) || byte == b';');
                    let case = changed.eq_ignore_ascii_case(text) && command.contains(&at);
                    assert!(same || blank || case, "{:?}", String::from_utf8_lossy(&changed));
                    assert_eq!(Some(does), meaning(text));
                }
            }
        }
    }
}
