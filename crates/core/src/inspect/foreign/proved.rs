//! Numbers that prove themselves by check digits: no chance makes them all fit, so they come before every guess.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Foreign, Found};
use crate::format::Details;
use crate::time::Timestamp;

pub(super) const CARD: Foreign = Foreign {
    name: "card",
    is: "the number of a payment card, with its check digit",
    source: "ISO/IEC 7812-1; the schemes' ranges as they publish them",
    read: card,
};

pub(super) const IMEI: Foreign = Foreign {
    name: "imei",
    is: "a mobile phone's number, with its check digit",
    source: "3GPP TS 23.003, section 6.2",
    read: |text, _| {
        let body = number_in_groups(text).filter(|body| body.len() == 15)?;
        // Offices that allocate or allocated type codes.
        let offices = [
            "01", "33", "35", "44", "45", "49", "50", "51", "52", "53", "54", "86", "91", "98", "99",
        ];
        let allocated = offices.contains(&&body[..2]);
        let details = Details::default().text("type", &body[..8]);
        (allocated && luhn(&body)).then(|| Found::new(0.7, FITS, details))
    },
};

pub(super) const GTIN: Foreign = Foreign {
    name: "gtin",
    is: "an article's number on a bar code (EAN, UPC), with its check digit",
    source: "GS1 General Specifications, sections 3.3 and 7.9",
    read: gtin,
};

pub(super) const ISSN: Foreign = Foreign {
    name: "issn",
    is: "a serial's number, with its check digit",
    source: "ISO 3297",
    read: |text, _| {
        let fits = text.len() == 9 && text.as_bytes()[4] == b'-' && modulo_11(&text.replace('-', ""));
        fits.then(|| Found::new(0.93, FITS, Details::default()))
    },
};

pub(super) const IBAN: Foreign = Foreign {
    name: "iban",
    is: "the number of a bank account, with its check digits",
    source: "ISO 13616-1; check digits of ISO/IEC 7064, MOD 97-10",
    read: |text, _| {
        let body = text.replace(' ', "");
        let letters = |part: &str| part.bytes().all(|byte| byte.is_ascii_uppercase());
        let capitals = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        let sound = (15..=34).contains(&body.len()) && body.bytes().all(capitals) && letters(&body[..2]);
        if !sound || !body[2..4].bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let turned: String = [&body[4..], &body[..4]].concat();
        let details = Details::default().text("country", &body[..2]);
        (modulo_97(&turned) == 1).then(|| Found::new(0.97, FITS, details))
    },
};

pub(super) const ISIN: Foreign = Foreign {
    name: "isin",
    is: "a security's number, with its check digit",
    source: "ISO 6166",
    read: |text, _| {
        let shape = text.len() == 12
            && text.bytes().take(2).all(|byte| byte.is_ascii_uppercase())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
            && text.ends_with(|last: char| last.is_ascii_digit())
            && text.bytes().filter(u8::is_ascii_digit).count() >= 4;
        let details = Details::default().text("country", text.get(..2)?);
        (shape && luhn(&in_digits(text))).then(|| Found::new(0.92, FITS, details))
    },
};

pub(super) const LEI: Foreign = Foreign {
    name: "lei",
    is: "a legal entity's number, with its check digits",
    source: "ISO 17442-1; check digits of ISO/IEC 7064, MOD 97-10",
    read: |text, _| {
        let capitals = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        let shape = text.len() == 20
            && text.bytes().all(capitals)
            && text.bytes().any(|byte| byte.is_ascii_uppercase())
            && text.bytes().rev().take(2).all(|byte| byte.is_ascii_digit());
        (shape && modulo_97(text) == 1).then(|| Found::new(0.95, FITS, Details::default()))
    },
};

pub(super) const VIN: Foreign = Foreign {
    name: "vin",
    is: "a vehicle's number, with its check digit",
    source: "ISO 3779; 49 CFR 565.15 for the check digit",
    read: vin,
};

pub(super) const ORCID: Foreign = Foreign {
    name: "orcid",
    is: "a researcher's number, with its check digit",
    source: "ORCID's documentation, Structure of the ORCID Identifier; ISO/IEC 7064, MOD 11-2",
    read: |text, _| {
        let body = text.strip_prefix("https://orcid.org/").unwrap_or(text);
        let groups: Vec<&str> = body.split('-').collect();
        if groups.len() != 4 || groups.iter().any(|group| group.len() != 4) {
            return None;
        }
        let body = groups.concat();
        let digits = body.as_bytes();
        let total = digits[..15].iter().try_fold(0u32, |total, byte| {
            byte.is_ascii_digit()
                .then(|| (total + u32::from(byte - b'0')) * 2)
        })?;
        let last = match (12 - total % 11) % 11 {
            10 => b'X',
            digit => b'0' + digit as u8,
        };
        (digits[15] == last).then(|| Found::new(0.95, FITS, Details::default()))
    },
};

pub(super) const TRACKING: Foreign = Foreign {
    name: "tracking",
    is: "a parcel's number of UPS or USPS, with its check digit",
    source: "USPS Publication 199; UPS, Tracking number format, whose check digit is by observation",
    read: |text, _| {
        let postal = matches!(text.len(), 20 | 22)
            && text.starts_with(['9'])
            && matches!(text.as_bytes()[1], b'1'..=b'5')
            && text.bytes().all(|byte| byte.is_ascii_digit());
        if postal && gs1(text) {
            return Some(Found::new(0.8, FITS, Details::default().text("carrier", "USPS")));
        }
        let body = text.strip_prefix("1Z").filter(|body| body.len() == 16)?;
        let value = |byte: u8| match byte {
            b'0'..=b'9' => Some(u32::from(byte - b'0')),
            b'A'..=b'Z' => Some(u32::from(byte - 63) % 10),
            _ => None,
        };
        let mut total = 0;
        for (at, byte) in body.bytes().take(15).enumerate() {
            total += value(byte)? * (1 + at as u32 % 2);
        }
        let last = body.bytes().last().filter(u8::is_ascii_digit)?;
        let fits = (total + u32::from(last - b'0')) % 10 == 0;
        let details = Details::default()
            .text("carrier", "UPS")
            .text("shipper", &body[..6]);
        fits.then(|| Found::new(0.95, FITS, details))
    },
};

const FITS: &str = "its check digit fits, and so does its shape";

/// Digits alone, or in groups parted by single spaces or hyphens.
fn number_in_groups(text: &str) -> Option<String> {
    let sound = |byte: u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-');
    let whole =
        text.starts_with(|c: char| c.is_ascii_digit()) && text.ends_with(|c: char| c.is_ascii_digit());
    let grouped = text.len() <= 24 && text.bytes().all(sound) && !text.contains("  ") && !text.contains("--");
    (whole && grouped).then(|| text.chars().filter(char::is_ascii_digit).collect())
}

/// Luhn's check digit (ISO/IEC 7812-1, annex B).
fn luhn(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .zip(0..)
        .map(|(byte, at)| {
            let value = u32::from(byte - b'0') << (at % 2);
            value / 10 + value % 10
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Letters as 10 to 35.
fn in_digits(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' => alloc::format!("{}", byte - b'A' + 10),
            digit => char::from(digit).into(),
        })
        .collect()
}

fn modulo_97(text: &str) -> u32 {
    in_digits(text)
        .bytes()
        .fold(0, |rest, byte| (rest * 10 + u32::from(byte - b'0')) % 97)
}

/// The check digit of ISSN and ISBN-10, the last: weights count down to 1, and X is 10.
fn modulo_11(text: &str) -> bool {
    let last = text.len().saturating_sub(1);
    let values = text.bytes().enumerate().map(|(at, byte)| match byte {
        b'0'..=b'9' => Some(u32::from(byte - b'0')),
        b'X' if at == last => Some(10),
        _ => None,
    });
    let sum: Option<u32> = values
        .zip((1..=text.len() as u32).rev())
        .map(|(value, weight)| Some(value? * weight))
        .sum();
    sum.is_some_and(|sum| sum % 11 == 0)
}

fn card(text: &str, _: Timestamp) -> Option<Found> {
    let digits = number_in_groups(text)?;
    let leading = |width: usize| digits.get(..width)?.parse::<u32>().ok();
    let scheme = match (leading(4)?, digits.len()) {
        (4000..=4999, 13 | 16 | 19) => "Visa",
        (5100..=5599 | 2221..=2720, 16) => "Mastercard",
        (3400..=3499 | 3700..=3799, 15) => "American Express",
        (6011 | 6440..=6599, 16) => "Discover",
        (3528..=3589, 16) => "JCB",
        (3000..=3059 | 3600..=3699 | 3800..=3999, 14) => "Diners Club",
        (6200..=6299, 16..=19) => "UnionPay",
        (5018 | 5020 | 5038 | 6304 | 6759 | 6761..=6763, 12..=19) => "Maestro",
        _ => return None,
    };
    let groups: Vec<usize> = text.split([' ', '-']).map(str::len).collect();
    let grouped = groups.len() > 1;
    let fours = groups
        .split_last()
        .is_some_and(|(last, rest)| *last <= 4 && rest.iter().all(|group| *group == 4));
    if grouped && !fours && groups != [4, 6, 5] && groups != [4, 6, 4] {
        return None;
    }
    // Times since 1970 and ids of 18 and 19 digits are as long; one number in ten has such a last digit.
    let confidence = match (grouped, digits.len()) {
        (true, _) => 0.97,
        (false, 15 | 16) => 0.85,
        (false, 14) => 0.4,
        _ => 0.3,
    };
    let note = "who reads it here has it: card numbers do not belong into logs (PCI DSS 3.5)";
    let details = Details::default().text("scheme", scheme);
    luhn(&digits).then(|| Found::new(confidence, FITS, details).note(note))
}

/// The check digit of GS1, the last: weights 1 and 3 in turn from it.
fn gs1(text: &str) -> bool {
    let weighted = text.bytes().rev().zip([1, 3].into_iter().cycle());
    let sum: u32 = weighted
        .map(|(byte, weight)| u32::from(byte - b'0') * weight)
        .sum();
    sum.is_multiple_of(10) && sum > 0
}

fn gtin(text: &str, _: Timestamp) -> Option<Found> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let prefix: u32 = text.get(..3)?.parse().ok()?;
    // 140 to 199 are given to nobody, and so are no milliseconds since 1970 of these decades; 978 and 979 are books.
    let assigned = matches!(prefix, 0..=139 | 200..=977 | 980..=999);
    let (kind, confidence) = match text.len() {
        13 if assigned => ("EAN-13", 0.75),
        12 => ("UPC-A", 0.6),
        14 if text.starts_with(['1', '2', '3', '4', '5', '6', '7', '8']) => ("GTIN-14", 0.3),
        8 => ("EAN-8", 0.2),
        _ => return None,
    };
    let details = Details::default().text("kind", kind);
    gs1(text).then(|| Found::new(confidence, FITS, details))
}

fn vin(text: &str, _: Timestamp) -> Option<Found> {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    if text.len() != 17 || text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut sum = 0;
    for (byte, weight) in text.bytes().zip(WEIGHTS) {
        let value = match byte {
            b'0'..=b'9' => byte - b'0',
            b'A'..=b'H' => byte - b'A' + 1,
            b'J'..=b'N' => byte - b'J' + 1,
            b'P' => 7,
            b'R' => 9,
            b'S'..=b'Z' => byte - b'S' + 2,
            _ => return None,
        };
        sum += u32::from(value) * weight;
    }
    let expected = match sum % 11 {
        10 => b'X',
        digit => b'0' + digit as u8,
    };
    let details = Details::default()
        .text("maker", &text[..3])
        .text("serial", &text[11..]);
    (text.as_bytes()[8] == expected).then(|| Found::new(0.9, FITS, details))
}
