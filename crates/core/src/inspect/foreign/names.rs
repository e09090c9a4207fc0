//! Names and numbers that people and offices give: papers, films, orders, telephones, dates.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Foreign, Found, Mix, is_base62};
use crate::format::Details;
use crate::time::Timestamp;

pub(super) const DOI: Foreign = Foreign {
    name: "doi",
    is: "a digital object identifier",
    source: "ISO 26324; DOI Handbook",
    read: |text, _| {
        let body = ["https://doi.org/", "doi:"]
            .iter()
            .find_map(|start| text.strip_prefix(start))
            .unwrap_or(text);
        let (registrant, rest) = body.strip_prefix("10.")?.split_once('/')?;
        let fits = (4..=9).contains(&registrant.len()) && is_digits(registrant) && !rest.is_empty();
        let details = Details::default()
            .text("registrant", registrant)
            .text("object", rest);
        fits.then(|| {
            Found::new(
                0.95,
                "10., a registrant's number, and a name after a slash",
                details,
            )
        })
    },
};

pub(super) const IMDB: Foreign = Foreign {
    name: "imdb",
    is: "a title or person of the Internet Movie Database",
    source: "IMDb's documentation, IMDb IDs",
    read: |text, _| {
        let (kind, digits) = text.split_at_checked(2)?;
        let object = match kind {
            "tt" => "title",
            "nm" => "person",
            "co" => "company",
            "ch" => "character",
            _ => return None,
        };
        let fits = matches!(digits.len(), 7 | 8) && is_digits(digits);
        fits.then(|| {
            Found::new(
                0.85,
                "two letters of IMDb and seven or eight digits",
                Details::default().text("object", object),
            )
        })
    },
};

pub(super) const PUBMED: Foreign = Foreign {
    name: "pubmed",
    is: "an article of PubMed Central",
    source: "NCBI's documentation, PMCID",
    read: |text, _| {
        let digits = text.strip_prefix("PMC")?;
        let fits = (3..=8).contains(&digits.len()) && is_digits(digits);
        fits.then(|| Found::new(0.9, "PMC and digits", Details::default().text("article", digits)))
    },
};

pub(super) const ARXIV: Foreign = Foreign {
    name: "arxiv",
    is: "a paper of arXiv",
    source: "arXiv's help, Understanding the arXiv identifier",
    read: |text, _| {
        let body = text.strip_prefix("arXiv:");
        let (month, number) = body.unwrap_or(text).split_once('.')?;
        let number = number.split('v').next()?;
        let sound =
            month.len() == 4 && is_digits(month) && matches!(number.len(), 4 | 5) && is_digits(number);
        let details = Details::default().text("month", month);
        // Without the name in front it is as well a sum of money.
        let confidence = if body.is_some() { 0.97 } else { 0.05 };
        sound.then(|| Found::new(confidence, "a month and a number of that month", details))
    },
};

pub(super) const CVE: Foreign = Foreign {
    name: "cve",
    is: "a vulnerability",
    source: "CVE Numbering Authority rules, CVE ID syntax",
    read: |text, _| {
        let (year, number) = text.strip_prefix("CVE-")?.split_once('-')?;
        let fits =
            year.len() == 4 && is_digits(year) && (4..=19).contains(&number.len()) && is_digits(number);
        fits.then(|| {
            Found::new(
                0.99,
                "CVE, a year and a number",
                Details::default().text("year", year),
            )
        })
    },
};

pub(super) const PHONE: Foreign = Foreign {
    name: "phone",
    is: "a telephone number",
    source: "ITU-T E.164, E.123",
    read: |text, _| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let sound =
            |byte: u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'(' | b')' | b'.' | b'/');
        let groups: Vec<usize> = text
            .split(|c: char| !c.is_ascii_digit())
            .map(str::len)
            .filter(|len| *len > 0)
            .collect();
        let international = text.strip_prefix('+').is_some_and(|rest| {
            (7..=15).contains(&digits)
                && rest.bytes().all(sound)
                && rest.starts_with(|c: char| c.is_ascii_digit())
        });
        // As North America writes them.
        let american = groups == [3, 3, 4] && text.bytes().all(sound) && text.len() <= 14;
        let confidence = if international { 0.95 } else { 0.9 };
        let why = "the digits and the punctuation of a telephone number";
        (international || american).then(|| Found::new(confidence, why, Details::default()))
    },
};

pub(super) const REFERENCE: Foreign = Foreign {
    name: "reference",
    is: "the number of an order, an invoice or a ticket: letters or a year, and a number that counts",
    source: "the habit of shops and offices; Amazon's order numbers, Jira's keys",
    read: reference,
};

pub(super) const DATE: Foreign = Foreign {
    name: "date",
    is: "a date or a time of the calendar in digits alone",
    source: "ISO 8601-1, the basic format",
    read: |text, _| {
        let number = |from: usize| text.get(from..from + 2)?.parse::<u32>().ok();
        if !matches!(text.len(), 8 | 12 | 14) || !is_digits(text) {
            return None;
        }
        let year: u32 = text.get(..4)?.parse().ok()?;
        let within = |at: usize, range: core::ops::RangeInclusive<u32>| {
            number(at).is_some_and(|it| range.contains(&it))
        };
        let days = match number(4) {
            Some(2) => 29,
            Some(4 | 6 | 9 | 11) => 30,
            _ => 31,
        };
        let day = (1970..=2039).contains(&year) && within(4, 1..=12) && within(6, 1..=days);
        let clock = (text.len() < 12 || within(8, 0..=23) && within(10, 0..=59))
            && (text.len() < 14 || within(12, 0..=59));
        let confidence = match text.len() {
            8 => 0.55,
            12 => 0.62,
            _ => 0.85,
        };
        let words: String = alloc::format!("{year}-{}-{}", &text[4..6], &text[6..8]);
        let details = Details::default().text("day", words);
        (day && clock).then(|| Found::new(confidence, "its digits are a day of the calendar", details))
    },
};

pub(super) const HDFS: Foreign = Foreign {
    name: "hdfs",
    is: "a block of HDFS: a random number of 64 bits with its sign",
    source: "apache/hadoop, Block.java",
    read: |text, _| {
        let number = text.strip_prefix("blk_")?;
        let number = number.split_once('_').map_or(number, |(number, _)| number);
        number.parse::<i64>().ok()?;
        Some(Found::new(
            0.93,
            "blk_ and a number of 64 bits",
            Details::default().text("block", number),
        ))
    },
};

pub(super) const JWT: Foreign = Foreign {
    name: "jwt",
    is: "a JSON Web Token",
    source: "RFC 7519, RFC 7515",
    read: |text, _| {
        let parts: Vec<&str> = text.split('.').collect();
        let base64url = |part: &&str| {
            part.bytes()
                .all(|byte| crate::text::radix::BASE64_URL.contains(&byte))
        };
        // Every object of JSON that begins with a name begins so.
        let fits = parts.len() == 3 && text.starts_with("eyJ") && parts.iter().all(base64url);
        let note = "a secret: who reads it here may act as its bearer until it ends";
        fits.then(|| {
            Found::new(
                0.98,
                "three parts of base64url, the first of which is JSON",
                Details::default(),
            )
            .note(note)
        })
    },
};

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `INV-2026-000123`, `VF/2016/10306`, `PROJ-123`, `123-1234567-1234567`.
fn reference(text: &str, _: Timestamp) -> Option<Found> {
    let parts: Vec<&str> = text.split(['-', '/']).collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    if lengths == [3, 7, 7] && parts.iter().all(|part| is_digits(part)) {
        return Some(Found::new(
            0.9,
            "the groups of an order of Amazon",
            Details::default(),
        ));
    }
    let (first, last) = (parts.first()?, parts.last()?);
    let mix = Mix::of(first);
    if [
        "UTF", "ISO", "SHA", "RFC", "COVID", "GPT", "UTC", "GMT", "DIN", "IPV", "EUI", "ISBN", "UCS", "MD",
    ]
    .contains(first)
    {
        return None;
    }
    let name = (1..=10).contains(&first.len()) && is_base62(first) && mix.upper && !mix.lower;
    let middle = parts.get(1..parts.len().checked_sub(1)?)?;
    let counts = |part: &&str| is_digits(part) && part.len() <= 9;
    if !(2..=4).contains(&parts.len()) || !name || mix.digit || !counts(last) || !middle.iter().all(counts) {
        return None;
    }
    let is_year = |part: &&&str| part.len() == 4 && (part.starts_with("19") || part.starts_with("20"));
    let mut details = Details::default().text("series", *first);
    if let Some(year) = middle.iter().find(is_year) {
        details = details.text("year", *year);
    }
    let confidence = if middle.is_empty() { 0.6 } else { 0.9 };
    let why = "capitals, then numbers that count, as orders, invoices and tickets have";
    Some(Found::new(confidence, why, details.text("number", *last)))
}
