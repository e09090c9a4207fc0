//! Requests of the Redis protocol, read in place.
//!
//! A request is either an array of bulk strings (`*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n`) or an inline line
//! (`INCR k\r\n`, with Redis's quoting). The parser borrows from the read buffer: it allocates nothing per
//! request and never because of a length that the peer only declared. Limits are checked as soon as the bytes
//! that break them are seen, before the rest arrives.
//!
//! Source: Redis 7.0 `networking.c` (`processInlineBuffer`, `processMultibulkBuffer`) and `sds.c`
//! (`sdssplitargs`); texts recorded from 7.0.15. Stricter in one point: a bulk string must end in CR LF.

use std::fmt;
use std::ops::Range;

/// What one request may be made of. The whole request must also fit the read buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameLimits {
    /// Arguments of one request, the command's name included.
    pub arguments: usize,
    /// Bytes of one argument.
    pub argument_bytes: usize,
    /// Bytes of an inline request or of a length line.
    pub line_bytes: usize,
    /// Whether these are the limits of a connection that has not authenticated yet (changes the words only).
    pub unauthenticated: bool,
}

/// What the parser found at the start of the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A whole request of `len` bytes; its arguments are in [`Parser::args`].
    Request {
        /// Bytes of the buffer that the request takes.
        len: usize,
    },
    /// `len` bytes that ask for nothing: an empty line, `*0`, `*-1`.
    Nothing {
        /// Bytes of the buffer to pass over.
        len: usize,
    },
    /// The request is not complete yet.
    Incomplete,
}

/// Bytes that are no request; the connection answers and closes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameError {
    /// The number after `*` is no number, or more arguments than allowed.
    MultibulkLength,
    /// The number after `$` is no number, or longer than allowed.
    BulkLength,
    /// More arguments than a connection may send before it authenticates.
    UnauthenticatedMultibulk,
    /// A longer argument than a connection may send before it authenticates.
    UnauthenticatedBulk,
    /// Something else than `$` where an argument begins.
    ExpectedBulk(u8),
    /// A bulk string whose declared length is not followed by CR LF.
    MissingTerminator,
    /// A line after `*` that does not end.
    MultibulkLine,
    /// A line after `$` that does not end.
    BulkLine,
    /// An inline request that does not end.
    InlineLine,
    /// Quotes that do not close, or text directly after a closing quote.
    Quotes,
    /// A request that does not fit the read buffer.
    RequestTooLarge,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protocol error: ")?;
        f.write_str(match self {
            FrameError::MultibulkLength => "invalid multibulk length",
            FrameError::BulkLength => "invalid bulk length",
            FrameError::UnauthenticatedMultibulk => "unauthenticated multibulk length",
            FrameError::UnauthenticatedBulk => "unauthenticated bulk length",
            FrameError::ExpectedBulk(found) => {
                let shown = if found.is_ascii_graphic() {
                    *found as char
                } else {
                    '?'
                };
                return write!(f, "expected '$', got '{shown}'");
            }
            FrameError::MissingTerminator => "bulk string does not end in CR LF",
            FrameError::MultibulkLine => "too big mbulk count string",
            FrameError::BulkLine => "too big bulk count string",
            FrameError::InlineLine => "too big inline request",
            FrameError::Quotes => "unbalanced quotes in request",
            FrameError::RequestTooLarge => "too big request",
        })
    }
}

impl std::error::Error for FrameError {}

/// The arguments of one request, borrowed from the read buffer.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    bytes: &'a [u8],
    ranges: &'a [Range<u32>],
}

impl<'a> Args<'a> {
    /// The parts `ranges` of `bytes`, which must lie within.
    pub(crate) fn new(bytes: &'a [u8], ranges: &'a [Range<u32>]) -> Self {
        Args { bytes, ranges }
    }

    /// How many arguments there are, the command's name included.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether there is none; a request always has one.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Argument `i`; 0 is the command's name.
    pub fn get(&self, i: usize) -> Option<&'a [u8]> {
        let range = self.ranges.get(i)?;
        self.bytes.get(range.start as usize..range.end as usize)
    }

    /// Argument `i`, or nothing at all where there is none.
    pub fn at(&self, i: usize) -> &'a [u8] {
        self.get(i).unwrap_or_default()
    }

    /// The arguments from `first` on.
    pub fn from(&self, first: usize) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let bytes = self.bytes;
        let rest = self.ranges.get(first..).unwrap_or_default();
        rest.iter()
            .map(move |range| &bytes[range.start as usize..range.end as usize])
    }
}

/// Reads requests; keeps its working memory between them.
#[derive(Debug, Default)]
pub struct Parser {
    ranges: Vec<Range<u32>>,
    /// Arguments of an inline request, with quotes and escapes resolved.
    unquoted: Vec<u8>,
    inline: bool,
}

impl Parser {
    /// Looks at the start of `buffer`.
    ///
    /// # Errors
    /// The bytes can never become a request within `limits`.
    pub fn parse(&mut self, buffer: &[u8], limits: &FrameLimits) -> Result<Step, FrameError> {
        self.ranges.clear();
        match buffer.first() {
            None => Ok(Step::Incomplete),
            Some(b'*') => self.parse_array(buffer, limits),
            Some(_) => self.parse_inline(buffer, limits),
        }
    }

    /// The arguments of the request that [`Parser::parse`] found in `buffer` last.
    pub fn args<'a>(&'a self, buffer: &'a [u8]) -> Args<'a> {
        Args {
            bytes: if self.inline { &self.unquoted } else { buffer },
            ranges: &self.ranges,
        }
    }

    /// Whether the request that [`Parser::parse`] found last is an inline one.
    pub fn is_inline(&self) -> bool {
        self.inline
    }

    fn parse_array(&mut self, buffer: &[u8], limits: &FrameLimits) -> Result<Step, FrameError> {
        self.inline = false;
        let Some((line, mut at)) = length_line(buffer, 1, limits.line_bytes, FrameError::MultibulkLine)?
        else {
            return Ok(Step::Incomplete);
        };
        let count = strict_integer(line).ok_or(FrameError::MultibulkLength)?;
        if count <= 0 {
            return Ok(Step::Nothing { len: at });
        }
        if count as u64 > limits.arguments as u64 {
            return Err(if limits.unauthenticated {
                FrameError::UnauthenticatedMultibulk
            } else {
                FrameError::MultibulkLength
            });
        }
        for _ in 0..count {
            match buffer.get(at) {
                None => return Ok(Step::Incomplete),
                Some(b'$') => {}
                Some(other) => return Err(FrameError::ExpectedBulk(*other)),
            }
            let Some((line, start)) = length_line(buffer, at + 1, limits.line_bytes, FrameError::BulkLine)?
            else {
                return Ok(Step::Incomplete);
            };
            let length = strict_integer(line).and_then(|n| usize::try_from(n).ok());
            let length = length.ok_or(FrameError::BulkLength)?;
            if length > limits.argument_bytes {
                return Err(if limits.unauthenticated {
                    FrameError::UnauthenticatedBulk
                } else {
                    FrameError::BulkLength
                });
            }
            let end = start + length;
            match (buffer.get(end), buffer.get(end + 1)) {
                (Some(b'\r'), Some(b'\n')) => {}
                (None, _) | (Some(b'\r'), None) => return Ok(Step::Incomplete),
                _ => return Err(FrameError::MissingTerminator),
            }
            self.ranges.push(start as u32..end as u32);
            at = end + 2;
        }
        Ok(Step::Request { len: at })
    }

    fn parse_inline(&mut self, buffer: &[u8], limits: &FrameLimits) -> Result<Step, FrameError> {
        self.inline = true;
        self.unquoted.clear();
        let window = &buffer[..buffer.len().min(limits.line_bytes)];
        let Some(newline) = memchr::memchr(b'\n', window) else {
            return if buffer.len() >= limits.line_bytes {
                Err(FrameError::InlineLine)
            } else {
                Ok(Step::Incomplete)
            };
        };
        let len = newline + 1;
        let line = buffer[..newline]
            .strip_suffix(b"\r")
            .unwrap_or(&buffer[..newline]);
        let mut rest = line;
        while let Some(after) = self.unquote_word(rest)? {
            rest = after;
            if self.ranges.len() > limits.arguments {
                return Err(if limits.unauthenticated {
                    FrameError::UnauthenticatedMultibulk
                } else {
                    FrameError::MultibulkLength
                });
            }
            if self
                .ranges
                .last()
                .is_some_and(|r| r.len() > limits.argument_bytes)
            {
                return Err(if limits.unauthenticated {
                    FrameError::UnauthenticatedBulk
                } else {
                    FrameError::BulkLength
                });
            }
        }
        if self.ranges.is_empty() {
            Ok(Step::Nothing { len })
        } else {
            Ok(Step::Request { len })
        }
    }

    /// Takes one word of an inline request; answers what follows it, or `None` at the end of the line.
    fn unquote_word<'l>(&mut self, line: &'l [u8]) -> Result<Option<&'l [u8]>, FrameError> {
        let Some(first) = line.iter().position(|b| !is_space(*b)) else {
            return Ok(None);
        };
        let start = self.unquoted.len() as u32;
        let mut rest = &line[first..];
        loop {
            rest = match rest {
                [] => break,
                [b'"', after @ ..] => self.unquote_double(after)?,
                [b'\'', after @ ..] => self.unquote_single(after)?,
                [space, ..] if is_space(*space) => break,
                [plain, after @ ..] => {
                    self.unquoted.push(*plain);
                    after
                }
            };
        }
        self.ranges.push(start..self.unquoted.len() as u32);
        Ok(Some(rest))
    }

    /// Text between double quotes: `\n \r \t \b \a \xHH`, any other escaped byte stands for itself.
    fn unquote_double<'l>(&mut self, mut rest: &'l [u8]) -> Result<&'l [u8], FrameError> {
        loop {
            rest = match rest {
                [] => return Err(FrameError::Quotes),
                [b'"', after @ ..] => return closing_quote(after),
                [b'\\', b'x', high, low, after @ ..]
                    if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
                {
                    self.unquoted.push(hex_digit(*high) << 4 | hex_digit(*low));
                    after
                }
                [b'\\', escaped, after @ ..] => {
                    self.unquoted.push(match escaped {
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'b' => 8,
                        b'a' => 7,
                        other => *other,
                    });
                    after
                }
                [plain, after @ ..] => {
                    self.unquoted.push(*plain);
                    after
                }
            };
        }
    }

    /// Text between single quotes: only `\'` is an escape.
    fn unquote_single<'l>(&mut self, mut rest: &'l [u8]) -> Result<&'l [u8], FrameError> {
        loop {
            rest = match rest {
                [] => return Err(FrameError::Quotes),
                [b'\'', after @ ..] => return closing_quote(after),
                [b'\\', b'\'', after @ ..] => {
                    self.unquoted.push(b'\'');
                    after
                }
                [plain, after @ ..] => {
                    self.unquoted.push(*plain);
                    after
                }
            };
        }
    }
}

/// Reads an integer as Redis does in requests: no sign but `-`, no leading zero, no space, within `i64`.
///
/// ```
/// use mintage_server::resp::frame::strict_integer;
/// assert_eq!(strict_integer(b"-12"), Some(-12));
/// for refused in ["", "-", "+1", "01", "-0", " 1", "1.0", "9223372036854775808"] {
///     assert_eq!(strict_integer(refused.as_bytes()), None, "{refused:?}");
/// }
/// ```
pub fn strict_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut magnitude: u64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        // 19 digits stay below 10^19 < 2^64.
        magnitude = magnitude * 10 + u64::from(digit - b'0');
    }
    if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// The text of a length line that starts at `from`, and where the next byte after it is.
fn length_line(
    buffer: &[u8],
    from: usize,
    line_bytes: usize,
    too_long: FrameError,
) -> Result<Option<(&[u8], usize)>, FrameError> {
    let rest = buffer.get(from..).unwrap_or_default();
    let window = &rest[..rest.len().min(line_bytes)];
    match memchr::memchr(b'\n', window) {
        None if rest.len() >= line_bytes => Err(too_long),
        None => Ok(None),
        // A bare LF leaves no CR to strip, which no number survives.
        Some(newline) => Ok(Some((
            window[..newline].strip_suffix(b"\r").unwrap_or(b"?"),
            from + newline + 1,
        ))),
    }
}

fn closing_quote(after: &[u8]) -> Result<&[u8], FrameError> {
    match after.first() {
        Some(b) if !is_space(*b) => Err(FrameError::Quotes),
        _ => Ok(after),
    }
}

/// C's `isspace`, as Redis splits words.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn hex_digit(digit: u8) -> u8 {
    (digit as char)
        .to_digit(16)
        .expect("the caller checked for a hexadecimal digit") as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: FrameLimits = FrameLimits {
        arguments: 8,
        argument_bytes: 64,
        line_bytes: 128,
        unauthenticated: false,
    };

    /// Parses everything in `input`: the requests found, then the error or the bytes left over.
    fn parse_all(input: &[u8]) -> (Vec<Vec<Vec<u8>>>, Result<usize, FrameError>) {
        let (mut parser, mut at, mut found) = (Parser::default(), 0, Vec::new());
        loop {
            match parser.parse(&input[at..], &LIMITS) {
                Ok(Step::Request { len }) => {
                    let args = parser.args(&input[at..]);
                    assert_eq!(args.from(0).count(), args.len());
                    found.push(args.from(0).map(<[u8]>::to_vec).collect());
                    at += len;
                }
                Ok(Step::Nothing { len }) => at += len,
                Ok(Step::Incomplete) => return (found, Ok(input.len() - at)),
                Err(error) => return (found, Err(error)),
            }
        }
    }

    #[track_caller]
    fn check_words(input: &[u8], words: &[&[u8]]) {
        assert_eq!(
            parse_all(input),
            (vec![words.iter().map(|w| w.to_vec()).collect()], Ok(0)),
            "{}",
            input.escape_ascii()
        );
    }

    #[test]
    fn requests_are_read_as_redis_reads_them() {
        check_words(b"*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n", &[b"INCR", b"k"]);
        check_words(b"*1\r\n$0\r\n\r\n", &[b""]);
        check_words(b"*1\r\n$2\r\n\r\n\r\n", &[b"\r\n"]);
        check_words(b"PING\r\n", &[b"PING"]);
        check_words(b"PING\n", &[b"PING"]);
        check_words(b"  PING \t hi  \r\n", &[b"PING", b"hi"]);
        check_words(b"PING \"a\\x41\\n\\q\"\r\n", &[b"PING", b"aA\nq"]);
        check_words(b"PING 'a\\'b\\n'\r\n", &[b"PING", b"a'b\\n"]);
        check_words(b"PING \"\"\r\n", &[b"PING", b""]);
        check_words(b"PING pre\"fix\"\r\n", &[b"PING", b"prefix"]);
        check_words(b"*0\r\n*-1\r\n\r\n  \r\nPING\r\n", &[b"PING"]);
    }

    #[test]
    fn what_is_no_request_is_refused_in_redis_words() {
        let long = vec![b'1'; 200];
        let with_long = |head: &[u8]| [head, &long].concat();
        for (input, text) in [
            (b"*x\r\n".to_vec(), "invalid multibulk length"),
            (b"*01\r\n".to_vec(), "invalid multibulk length"),
            (b"*+1\r\n".to_vec(), "invalid multibulk length"),
            (b"*9\r\n".to_vec(), "invalid multibulk length"),
            (b"*9223372036854775808\r\n".to_vec(), "invalid multibulk length"),
            (b"*1\n".to_vec(), "invalid multibulk length"),
            (b"*1\r\n$x\r\n".to_vec(), "invalid bulk length"),
            (b"*1\r\n$-1\r\n".to_vec(), "invalid bulk length"),
            (b"*1\r\n$65\r\n".to_vec(), "invalid bulk length"),
            (b"*1\r\n$9223372036854775807\r\n".to_vec(), "invalid bulk length"),
            (b"*1\r\n:1\r\n".to_vec(), "expected '$', got ':'"),
            (b"*1\r\n\x01".to_vec(), "expected '$', got '?'"),
            (b"*1\r\n$1\r\nabc".to_vec(), "bulk string does not end in CR LF"),
            (b"*1\r\n$1\r\na\rc".to_vec(), "bulk string does not end in CR LF"),
            (b"PING \"a\r\n".to_vec(), "unbalanced quotes in request"),
            (b"PING 'a\r\n".to_vec(), "unbalanced quotes in request"),
            (b"PING \"a\"b\r\n".to_vec(), "unbalanced quotes in request"),
            (b"1 2 3 4 5 6 7 8 9\r\n".to_vec(), "invalid multibulk length"),
            ([&[b'a'; 65][..], b"\r\n"].concat(), "invalid bulk length"),
            (with_long(b"*"), "too big mbulk count string"),
            (with_long(b"*1\r\n$"), "too big bulk count string"),
            (with_long(b"PING "), "too big inline request"),
        ] {
            let error = parse_all(&input).1.expect_err("refused");
            assert_eq!(
                error.to_string(),
                format!("Protocol error: {text}"),
                "{}",
                input.escape_ascii()
            );
        }
    }

    #[test]
    fn before_authentication_limits_have_their_own_words() {
        let limits = FrameLimits {
            arguments: 2,
            argument_bytes: 4,
            unauthenticated: true,
            ..LIMITS
        };
        for (input, text) in [
            (&b"*3\r\n"[..], "Protocol error: unauthenticated multibulk length"),
            (b"*1\r\n$5\r\n", "Protocol error: unauthenticated bulk length"),
            (b"a b c\r\n", "Protocol error: unauthenticated multibulk length"),
            (b"abcde\r\n", "Protocol error: unauthenticated bulk length"),
        ] {
            assert_eq!(
                Parser::default().parse(input, &limits).unwrap_err().to_string(),
                text
            );
        }
    }

    #[test]
    fn every_prefix_of_a_request_is_incomplete() {
        for whole in [
            &b"*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n"[..],
            b"PING \"a\\x41\" 'b'\r\n",
        ] {
            for cut in 0..whole.len() {
                assert_eq!(
                    Parser::default().parse(&whole[..cut], &LIMITS),
                    Ok(Step::Incomplete),
                    "{cut}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered_without_panic(input in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_all(&input);
        }

        #[test]
        fn bytes_like_requests_are_answered_without_panic(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("*2\r\n"), Just("$4\r\n"), Just("INCR"), Just("\r\n"), Just("$"), Just("*"), Just("-1"),
                    Just("\""), Just("'"), Just("\\x4"), Just("k"), Just("\n"), Just("99999999999999999999"),
                ],
                0..40,
            )
        ) {
            let _ = parse_all(parts.concat().as_bytes());
        }

        #[test]
        fn what_is_written_as_an_array_is_read_back(
            words in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..64), 1..8)
        ) {
            let mut wire = format!("*{}\r\n", words.len()).into_bytes();
            for word in &words {
                wire.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
                wire.extend_from_slice(word);
                wire.extend_from_slice(b"\r\n");
            }
            prop_assert_eq!(parse_all(&wire), (vec![words], Ok(0)));
        }

        #[test]
        fn where_the_bytes_are_cut_makes_no_difference(
            input in proptest::collection::vec(
                prop_oneof![Just("*1\r\n$4\r\nPING\r\n"), Just("INCR k\r\n"), Just("*0\r\n"), Just("*x\r\n")],
                1..6,
            ),
            cut in any::<prop::sample::Index>(),
        ) {
            let input = input.concat().into_bytes();
            let (whole, end) = parse_all(&input);
            let (mut found, left) = parse_all(&input[..cut.index(input.len())]);
            let second = match left {
                Ok(left) => {
                    let (more, end) = parse_all(&input[cut.index(input.len()) - left..]);
                    found.extend(more);
                    end
                }
                Err(error) => Err(error),
            };
            prop_assert_eq!((found, second), (whole, end));
        }
    }
}
