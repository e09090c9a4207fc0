//! Texts of statements as tokens, without allocation.

use std::ops::RangeInclusive;

use super::token::{Dialect, Kind, Token};

/// What is wrong with a text where a token should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FaultKind {
    /// A text without its end.
    OpenText,
    /// `$tag$` without its end.
    OpenDollar,
    /// A name in quotes without its end.
    OpenName,
    /// A comment without its end.
    OpenComment,
    /// A name in quotes that is empty.
    EmptyName,
    /// Letters behind a number.
    NumberWithLetters,
    /// Comments in comments, deeper than [`DEPTH_MAX`].
    TooDeep,
}

/// What is wrong, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    /// Where it begins, in bytes.
    pub(crate) at: usize,
}

/// How deep comments, and parentheses, may be in each other.
pub(crate) const DEPTH_MAX: usize = 64;

/// The newest version whose `/*! … */` is code: as of the server that the MySQL face calls itself.
const VERSION_MAX: u32 = 101_100;

/// The versions of MySQL 5.7 and later, which MariaDB has never been: what `/*! … */` says to them alone is a comment to it.
/// <https://mariadb.com/kb/en/comment-syntax/>
const MYSQL_VERSIONS: RangeInclusive<u32> = 50_700..=99_999;

/// Reads tokens from the beginning of a text. A copy looks ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    dialect: Dialect,
    /// Inside `/*! … */`.
    in_code: bool,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str, dialect: Dialect) -> Lexer<'t> {
        Lexer {
            text,
            at: 0,
            dialect,
            in_code: false,
        }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// The next token; [`Kind::End`] at the end, as often as it is asked for.
    ///
    /// # Errors
    /// What has no end. The lexer is at the end then.
    pub(crate) fn next(&mut self) -> Result<Token<'t>, Fault> {
        let next = self.blanks().and_then(|()| self.token());
        if next.is_err() {
            (self.at, self.in_code) = (self.text.len(), false);
        }
        next
    }

    /// The next token, without going on.
    ///
    /// # Errors
    /// As [`Lexer::next`].
    pub(crate) fn peek(&self) -> Result<Token<'t>, Fault> {
        let mut ahead = *self;
        ahead.next()
    }

    fn byte(&self, offset: usize) -> u8 {
        let bytes = self.text.as_bytes();
        bytes.get(self.at + offset).copied().unwrap_or_default()
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Goes past blanks and comments.
    fn blanks(&mut self) -> Result<(), Fault> {
        let mysql = self.dialect == Dialect::Mysql;
        while !self.is_at_end() {
            match (self.byte(0), self.byte(1)) {
                (b' ' | b'\t' | b'\n' | b'\r' | 0x0c | 0x0b, _) => self.at += 1,
                (b'-', b'-') if !mysql || self.byte(2) <= b' ' => self.line(),
                (b'#', _) if mysql => self.line(),
                (b'/', b'*') if mysql => self.mysql_comment()?,
                (b'/', b'*') => self.comment()?,
                (b'*', b'/') if self.in_code => {
                    self.in_code = false;
                    self.at += 2;
                }
                _ => return Ok(()),
            }
        }
        match self.in_code {
            true => Err(self.fault(FaultKind::OpenComment, self.at)),
            false => Ok(()),
        }
    }

    fn line(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
    }

    /// A comment of PostgreSQL, in which others may be.
    fn comment(&mut self) -> Result<(), Fault> {
        let (start, mut depth) = (self.at, 0);
        loop {
            match (self.byte(0), self.byte(1)) {
                _ if self.is_at_end() => return Err(self.fault(FaultKind::OpenComment, start)),
                (b'/', b'*') if depth == DEPTH_MAX => return Err(self.fault(FaultKind::TooDeep, start)),
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// A comment of MySQL: code where it says so, for a version that is not newer than ours.
    fn mysql_comment(&mut self) -> Result<(), Fault> {
        let start = self.at;
        let mark = match (self.byte(2), self.byte(3)) {
            (b'!', _) => 3,
            (b'M', b'!') => 4,
            _ => 0,
        };
        if mark > 0 && !self.in_code {
            let digits = (mark..mark + 6).take_while(|at| self.byte(*at).is_ascii_digit());
            let digits = digits.count();
            let number = &self.text[start + mark..start + mark + digits];
            let of_mysql = |version| mark == 3 && MYSQL_VERSIONS.contains(&version);
            let is_ours = |version| version <= VERSION_MAX && !of_mysql(version);
            if digits < 5 || number.parse().is_ok_and(is_ours) {
                self.at += mark + if digits < 5 { 0 } else { digits };
                self.in_code = true;
                return Ok(());
            }
        }
        let rest = &self.text.as_bytes()[start + 2..];
        match memchr::memmem::find(rest, b"*/") {
            Some(length) => self.at = start + 2 + length + 2,
            None => return Err(self.fault(FaultKind::OpenComment, start)),
        }
        Ok(())
    }

    fn fault(&self, kind: FaultKind, at: usize) -> Fault {
        Fault { kind, at }
    }

    fn token(&mut self) -> Result<Token<'t>, Fault> {
        let start = self.at;
        if self.is_at_end() {
            return Ok(self.since(start, Kind::End));
        }
        let mysql = self.dialect == Dialect::Mysql;
        let kind = match self.byte(0) {
            b'E' | b'e' if !mysql && self.byte(1) == b'\'' => {
                self.at += 1;
                self.quoted(b'\'', true, FaultKind::OpenText, start)?;
                Kind::Text
            }
            b'\'' => {
                self.quoted(b'\'', mysql, FaultKind::OpenText, start)?;
                Kind::Text
            }
            b'"' if mysql => {
                self.quoted(b'"', true, FaultKind::OpenText, start)?;
                Kind::Text
            }
            quote @ (b'"' | b'`') if mysql == (quote == b'`') => {
                self.quoted(quote, false, FaultKind::OpenName, start)?;
                if self.at - start == 2 {
                    return Err(self.fault(FaultKind::EmptyName, start));
                }
                Kind::Name
            }
            b'0'..=b'9' => self.number(start)?,
            byte if begins_word(byte) => {
                self.word();
                Kind::Word
            }
            b'$' if !mysql => self.dollar(start)?,
            b'$' => {
                self.word();
                Kind::Word
            }
            b'?' if mysql => {
                self.at += 1;
                Kind::Parameter
            }
            b'@' if mysql => self.variable(start)?,
            _ => {
                self.symbol();
                Kind::Symbol
            }
        };
        Ok(self.since(start, kind))
    }

    fn since(&self, start: usize, kind: Kind) -> Token<'t> {
        Token {
            kind,
            text: &self.text[start..self.at],
            at: start,
            dialect: self.dialect,
        }
    }

    /// From one quote to its other; a doubled one is part of it.
    fn quoted(&mut self, quote: u8, escapes: bool, open: FaultKind, start: usize) -> Result<(), Fault> {
        self.at += 1;
        let bytes = self.text.as_bytes();
        loop {
            let rest = bytes.get(self.at..).unwrap_or_default();
            let found = match escapes {
                true => memchr::memchr2(quote, b'\\', rest),
                false => memchr::memchr(quote, rest),
            };
            let Some(found) = found else {
                return Err(self.fault(open, start));
            };
            self.at += found;
            match (self.byte(0) == quote, self.byte(1) == quote) {
                (true, false) => {
                    self.at += 1;
                    return Ok(());
                }
                (true, true) => self.at += 2,
                // The character behind a backslash, however long it is: quotes and backslashes are no part of longer ones.
                (false, _) => self.at += 2,
            }
        }
    }

    fn word(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        let in_word = |byte: &u8| begins_word(*byte) || byte.is_ascii_digit() || *byte == b'$';
        self.at += rest.iter().take_while(|byte| in_word(byte)).count();
    }

    fn digits(&mut self) {
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self, start: usize) -> Result<Kind, Fault> {
        let mysql = self.dialect == Dialect::Mysql;
        if mysql && self.byte(0) == b'0' && matches!(self.byte(1), b'x' | b'X') {
            self.word();
            return Ok(Kind::Number);
        }
        self.digits();
        if self.byte(0) == b'.' && (self.byte(1).is_ascii_digit() || !begins_word(self.byte(1))) {
            self.at += 1;
            self.digits();
        }
        if matches!(self.byte(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
            if self.byte(1 + sign).is_ascii_digit() {
                self.at += 1 + sign;
                self.digits();
            }
        }
        if !begins_word(self.byte(0)) {
            return Ok(Kind::Number);
        }
        self.word();
        match mysql {
            // A name may begin with digits there.
            true => Ok(Kind::Word),
            false => Err(self.fault(FaultKind::NumberWithLetters, start)),
        }
    }

    /// `$1`, or a text between `$tag$` and the same again.
    fn dollar(&mut self, start: usize) -> Result<Kind, Fault> {
        self.at += 1;
        if self.byte(0).is_ascii_digit() {
            self.digits();
            return match begins_word(self.byte(0)) {
                true => Err(self.fault(FaultKind::NumberWithLetters, start)),
                false => Ok(Kind::Parameter),
            };
        }
        let rest = &self.text.as_bytes()[self.at..];
        let in_tag = |byte: &u8| begins_word(*byte) || byte.is_ascii_digit();
        let tag = rest.iter().take_while(|byte| in_tag(byte)).count();
        if rest.get(tag) != Some(&b'$') {
            return Ok(Kind::Symbol);
        }
        let opening = &self.text[start..self.at + tag + 1];
        let inner = &rest[tag + 1..];
        match memchr::memmem::find(inner, opening.as_bytes()) {
            Some(length) => {
                self.at += tag + 1 + length + opening.len();
                Ok(Kind::Text)
            }
            None => Err(self.fault(FaultKind::OpenDollar, start)),
        }
    }

    fn variable(&mut self, start: usize) -> Result<Kind, Fault> {
        self.at += 1;
        let system = self.byte(0) == b'@';
        self.at += usize::from(system);
        match self.byte(0) {
            quote @ (b'\'' | b'"' | b'`') => self.quoted(quote, false, FaultKind::OpenName, start)?,
            _ => {
                self.word();
                while self.byte(0) == b'.' && (begins_word(self.byte(1)) || self.byte(1).is_ascii_digit()) {
                    self.at += 1;
                    self.word();
                }
            }
        }
        Ok(match system {
            true => Kind::SystemVariable,
            false => Kind::Variable,
        })
    }

    fn symbol(&mut self) {
        let pairs: [&[u8; 2]; 11] = [
            b"::", b":=", b"=>", b"<=", b">=", b"<>", b"!=", b"||", b"!~", b"~*", b"->",
        ];
        let pair = [self.byte(0), self.byte(1)];
        self.at += match pairs.contains(&&pair) {
            true => 2,
            // Longer characters begin words.
            false => 1,
        };
    }
}

/// Whether a word may begin with it: letters, and every part of a longer character.
fn begins_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests;
