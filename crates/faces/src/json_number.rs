//! Numbers in the JSON of faces whose clients expect them bare.

/// The largest whole number that every reader of JSON keeps: 2^53-1 (RFC 8259 section 6).
pub(super) const EXACT_MAX: u64 = (1 << 53) - 1;

/// Writes a number, with `strings` in quotes where readers may round it.
pub(super) fn put_number(number: i64, strings: bool, body: &mut Vec<u8>) {
    let quote: &[u8] = match strings && number.unsigned_abs() > EXACT_MAX {
        true => b"\"",
        false => b"",
    };
    body.extend_from_slice(quote);
    body.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    body.extend_from_slice(quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_javascript_rounds_are_quoted_where_asked_for() {
        let written = |number, strings| {
            let mut body = Vec::new();
            put_number(number, strings, &mut body);
            String::from_utf8(body).unwrap()
        };
        assert_eq!(written(9_007_199_254_740_991, true), "9007199254740991");
        assert_eq!(written(9_007_199_254_740_992, true), "\"9007199254740992\"");
        assert_eq!(written(-9_007_199_254_740_992, true), "\"-9007199254740992\"");
        assert_eq!(written(i64::MAX, false), "9223372036854775807");
    }
}
