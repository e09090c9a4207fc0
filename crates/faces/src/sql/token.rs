//! One token of a statement.

use std::borrow::Cow;

/// Whose SQL it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    /// PostgreSQL's: unquoted names are folded, `"…"` are names, comments nest.
    Postgres,
    /// MySQL's and MariaDB's: `` `…` `` are names, `"…"` are texts, backslashes escape.
    Mysql,
}

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A keyword or a name without quotes.
    Word,
    /// A name in quotes.
    Name,
    /// A text in quotes; in PostgreSQL also `E'…'` and `$$…$$`.
    Text,
    /// A number as it was written: digits, perhaps with a fraction or an exponent.
    Number,
    /// `$1` in PostgreSQL, `?` in MySQL.
    Parameter,
    /// `@x` of MySQL.
    Variable,
    /// `@@x`, `@@session.x` of MySQL.
    SystemVariable,
    /// Any other character, or a pair that belongs together such as `::`.
    Symbol,
    /// The end of the text.
    End,
}

/// A token, as it was written and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind,
    /// As it was written, with its quotes.
    pub(crate) text: &'t str,
    /// Where it begins, in bytes.
    pub(crate) at: usize,
    pub(crate) dialect: Dialect,
}

impl<'t> Token<'t> {
    /// Whether it is this keyword, in any case. A name in quotes never is.
    #[inline]
    pub(crate) fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is this symbol.
    #[inline]
    pub(crate) fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.text == symbol
    }

    /// Where it ends, in bytes.
    pub(crate) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// The number of a parameter of PostgreSQL; `None` for one that is not a number of 1 to 65535.
    pub(crate) fn parameter(&self) -> Option<u16> {
        let number = self.text.strip_prefix('$')?.parse().ok()?;
        (self.kind == Kind::Parameter && number > 0).then_some(number)
    }

    /// What it stands for: a text or a name without its quotes and escapes, a word of PostgreSQL in lower case, a variable
    /// without `@`; everything else as it was written.
    pub(crate) fn value(&self) -> Cow<'t, str> {
        match (self.kind, self.dialect) {
            (Kind::Word, Dialect::Postgres) => folded(self.text),
            (Kind::Name, _) => undoubled(self.text),
            (Kind::Text, dialect) => text_of(self.text, dialect),
            (Kind::Variable | Kind::SystemVariable, _) => {
                let name = self.text.trim_start_matches('@');
                match name.as_bytes().first() {
                    Some(b'\'' | b'"' | b'`') => undoubled(name),
                    _ => Cow::Borrowed(name),
                }
            }
            _ => Cow::Borrowed(self.text),
        }
    }
}

/// A word as PostgreSQL reads it without quotes: ASCII letters in lower case.
pub(crate) fn folded(word: &str) -> Cow<'_, str> {
    match word.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(word.to_ascii_lowercase()),
        false => Cow::Borrowed(word),
    }
}

/// What is between the quotes; a doubled quote is one.
fn undoubled(quoted: &str) -> Cow<'_, str> {
    let Some(quote) = quoted.chars().next() else {
        return Cow::Borrowed(quoted);
    };
    let inner = between(quoted, 1, 1);
    match inner.contains(quote) {
        true => Cow::Owned(inner.replace(&format!("{quote}{quote}"), quote.encode_utf8(&mut [0; 4]))),
        false => Cow::Borrowed(inner),
    }
}

fn text_of(written: &str, dialect: Dialect) -> Cow<'_, str> {
    if let Some(behind) = written.strip_prefix('$') {
        let tag = behind.find('$').map_or(1, |at| at + 2);
        return Cow::Borrowed(between(written, tag, tag));
    }
    if written.starts_with(['E', 'e']) {
        return unescaped(&written[1..], dialect);
    }
    match dialect {
        Dialect::Mysql if written.contains('\\') => unescaped(written, dialect),
        _ => undoubled(written),
    }
}

fn between(text: &str, before: usize, after: usize) -> &str {
    let until = text.len().saturating_sub(after);
    text.get(before..until).unwrap_or_default()
}

/// A text with backslashes: `quoted` begins and ends with its quote.
fn unescaped(quoted: &str, dialect: Dialect) -> Cow<'_, str> {
    let quote = quoted.chars().next().unwrap_or('\'');
    let inner = between(quoted, 1, 1);
    if !inner.contains(['\\', quote]) {
        return Cow::Borrowed(inner);
    }
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c == quote {
            // The second of a pair.
            chars.next();
            out.push(quote);
        } else if c != '\\' {
            out.push(c);
        } else if let Some(escaped) = chars.next() {
            push_escaped(&mut out, escaped, &mut chars, dialect);
        }
    }
    Cow::Owned(out)
}

fn push_escaped(out: &mut String, escaped: char, chars: &mut std::str::Chars<'_>, dialect: Dialect) {
    let plain = match (escaped, dialect) {
        ('n', _) => '\n',
        ('r', _) => '\r',
        ('t', _) => '\t',
        ('b', _) => '\u{8}',
        ('f', Dialect::Postgres) => '\u{c}',
        ('0', Dialect::Mysql) => '\0',
        ('Z', Dialect::Mysql) => '\u{1a}',
        ('%' | '_', Dialect::Mysql) => {
            // They stay escaped for LIKE.
            out.push('\\');
            escaped
        }
        ('x', Dialect::Postgres) => return push_code(out, chars, 16, 2, escaped),
        ('u', Dialect::Postgres) => return push_code(out, chars, 16, 4, escaped),
        ('U', Dialect::Postgres) => return push_code(out, chars, 16, 8, escaped),
        ('0'..='7', Dialect::Postgres) => {
            let mut whole = escaped.to_digit(8).unwrap_or_default();
            for _ in 0..2 {
                let Some(digit) = chars.clone().next().and_then(|c| c.to_digit(8)) else {
                    break;
                };
                chars.next();
                whole = whole * 8 + digit;
            }
            char::from_u32(whole).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        (other, _) => other,
    };
    out.push(plain);
}

fn push_code(out: &mut String, chars: &mut std::str::Chars<'_>, radix: u32, digits: usize, letter: char) {
    let mut code = None;
    for _ in 0..digits {
        let Some(digit) = chars.clone().next().and_then(|c| c.to_digit(radix)) else {
            break;
        };
        chars.next();
        code = Some(code.unwrap_or(0u32).wrapping_mul(radix).wrapping_add(digit));
    }
    out.push(match code {
        Some(code) => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
        None => letter,
    });
}
