//! Numbers of things that are sold, with check digits.

use super::{Foreign, Found, Mix, is_base62};
use crate::format::Details;
use crate::time::Timestamp;

pub(super) const ISBN: Foreign = Foreign {
    name: "isbn",
    is: "a book's number with its check digit",
    source: "ISO 2108, International ISBN Agency's users' manual",
    read: isbn,
};

pub(super) const ASIN: Foreign = Foreign {
    name: "asin",
    is: "an article of Amazon",
    source: "Amazon's seller documentation: 10 characters, B0 in front but for books",
    read: |text, _| {
        let fits = text.len() == 10 && text.starts_with("B0") && is_base62(text) && !Mix::of(text).lower;
        let why = "10 capitals and digits that begin with B0";
        fits.then(|| Found::new(0.5, why, Details::default()))
    },
};

fn isbn(text: &str, _: Timestamp) -> Option<Found> {
    if text.len() > 17 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'X')) {
        return None;
    }
    let punctuated = text.contains('-');
    // The last group is the check digit.
    if punctuated && text.rsplit('-').next().is_none_or(|last| last.len() != 1) {
        return None;
    }
    let digits = text.bytes().filter(|byte| *byte != b'-');
    let value = |byte: u8| if byte == b'X' { 10 } else { u32::from(byte - b'0') };
    let count = digits.clone().count();
    let x_at = digits.clone().position(|byte| byte == b'X');
    let (sum, modulus) = match count {
        13 if x_at.is_none() => {
            let weighted = digits.clone().enumerate();
            (
                weighted
                    .map(|(at, byte)| value(byte) * if at % 2 == 0 { 1 } else { 3 })
                    .sum::<u32>(),
                10,
            )
        }
        10 if x_at.is_none_or(|at| at == 9) => {
            let weighted = (1..=10u32).rev().zip(digits.clone());
            (
                weighted.map(|(weight, byte)| weight * value(byte)).sum::<u32>(),
                11,
            )
        }
        _ => return None,
    };
    let first_three = digits.take(3).fold(0, |number, byte| number * 10 + value(byte));
    if sum % modulus != 0 || (count == 13 && !matches!(first_three, 978 | 979)) {
        return None;
    }
    let confidence = match (count, punctuated) {
        (_, true) => 0.97,
        (13, _) => 0.75,
        // One number of ten digits in eleven has such a last one.
        _ => 0.12,
    };
    let details = Details::default().number("digits", count as u64, 32);
    Some(Found::new(confidence, "its check digit fits", details))
}
