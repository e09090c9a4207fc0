//! Percent-encoding of names in paths and queries (RFC 3986 section 2).

use std::borrow::Cow;

/// Encodes a segment of a path, or a value of a query: all but what every reader leaves alone, and segments of dots,
/// which mean something else on their way.
///
/// ```
/// use mintage_wire::percent;
/// assert_eq!(percent::encode("shop/orders v1.2"), "shop%2Forders%20v1.2");
/// assert_eq!(percent::encode(".."), "%2E%2E");
/// ```
pub fn encode(text: &str) -> String {
    let only_dots = text.bytes().all(|byte| byte == b'.');
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'.' if only_dots => encoded.push_str("%2E"),
            b'-' | b'.' | b'_' | b'~' | b':' => encoded.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Resolves percent-encoding; `None` if it is damaged.
///
/// ```
/// use mintage_wire::percent;
/// assert_eq!(percent::decode("a%3Ab").as_deref(), Some(&b"a:b"[..]));
/// assert_eq!(percent::decode("%4"), None);
/// ```
pub fn decode(text: &str) -> Option<Cow<'_, [u8]>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text.as_bytes()));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |b: &u8| (*b as char).to_digit(16);
                decoded.push((digit(high)? << 4 | digit(low)?) as u8);
                after
            }
            (b'%', _) => return None,
            _ => {
                decoded.push(*first);
                after
            }
        };
    }
    Some(Cow::Owned(decoded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_again() {
        for name in [
            "orders",
            "a:b",
            "shop/orders",
            "Seq Invoice",
            "inc:заказ",
            "ids#order",
            "%41",
            "?",
            ".",
            "..",
            "a.b",
        ] {
            let encoded = encode(name);
            assert_eq!(decode(&encoded).as_deref(), Some(name.as_bytes()), "{encoded}");
            assert!(!encoded.contains(['/', '?', '#', ' ']), "{encoded}");
        }
    }
}
