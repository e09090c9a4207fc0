//! What `inspect` knows of ids that nothing here makes: a row each, and a file per family.
//!
//! These are read and never made, so they are no rows of [`FORMATS`](crate::FORMATS). `vectors/readings.tsv` has
//! published examples of every one.

mod address;
mod catalogue;
mod clock;
mod cloud;
mod digest;
mod moment;
mod names;
mod prefixed;
mod proved;
mod trace;
mod web;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::Reading;
use crate::format::{Details, Id};
use crate::time::Timestamp;

/// A kind of id that is read and never made: one row of [`FOREIGN`].
///
/// ```
/// use mintage::FOREIGN;
/// assert!(FOREIGN.iter().any(|kind| kind.name == "stripe"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Foreign {
    /// Its name, as [`Reading::format`] has it.
    pub name: &'static str,
    /// What it is, a phrase.
    pub is: &'static str,
    /// Where that is written down.
    pub source: &'static str,
    read: fn(&str, Timestamp) -> Option<Found>,
}

/// What a row made of a text.
pub(super) struct Found {
    confidence: f64,
    why: Cow<'static, str>,
    details: Details,
    notes: Vec<String>,
}

impl Found {
    fn new(confidence: f64, why: impl Into<Cow<'static, str>>, details: Details) -> Self {
        Found {
            confidence,
            why: why.into(),
            details,
            notes: Vec::new(),
        }
    }

    fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// Every kind that is read and never made.
pub static FOREIGN: &[Foreign] = &[
    prefixed::GITHUB,
    prefixed::STRIPE,
    prefixed::SLACK,
    prefixed::AWS,
    prefixed::UPID,
    prefixed::PREFIXED,
    trace::TRACE,
    trace::DATADOG,
    address::MAC,
    address::IPV4,
    address::IPV6,
    moment::UNIX_TIME,
    digest::DIGEST,
    digest::SWHID,
    digest::IPFS,
    web::YOUTUBE,
    web::INSTAGRAM,
    web::THREADS,
    web::GOOGLE,
    web::NUID,
    web::SPOTIFY,
    catalogue::ISBN,
    catalogue::ASIN,
    proved::CARD,
    proved::IMEI,
    proved::GTIN,
    proved::ISSN,
    proved::IBAN,
    proved::ISIN,
    proved::LEI,
    proved::VIN,
    proved::ORCID,
    proved::TRACKING,
    clock::CLOCK,
    cloud::ARN,
    cloud::AWS_RESOURCE,
    cloud::AZURE,
    cloud::GOOGLE_CLOUD,
    cloud::GID,
    cloud::SALESFORCE,
    cloud::TWILIO,
    cloud::KUBERNETES,
    cloud::ELASTICSEARCH,
    cloud::GITHUB_NODE,
    cloud::SECRET,
    cloud::AI_API,
    cloud::REQUEST,
    names::DOI,
    names::IMDB,
    names::PUBMED,
    names::ARXIV,
    names::CVE,
    names::PHONE,
    names::REFERENCE,
    names::DATE,
    names::HDFS,
    names::JWT,
];

/// Reads `text` by every row.
pub(super) fn inspect(text: &str, now: Timestamp, readings: &mut Vec<Reading>) {
    for row in FOREIGN {
        if let Some(found) = (row.read)(text, now) {
            let mut reading = Reading::new(
                row.name,
                Id::from_text(text),
                found.details,
                (found.confidence, found.why),
            );
            reading.notes = found.notes;
            readings.push(reading);
        }
    }
}

/// Which kinds of characters a text has: what is random has most of them, words and names seldom.
#[derive(Clone, Copy, Default)]
struct Mix {
    upper: bool,
    lower: bool,
    digit: bool,
}

impl Mix {
    fn of(text: &str) -> Self {
        Mix {
            upper: text.bytes().any(|byte| byte.is_ascii_uppercase()),
            lower: text.bytes().any(|byte| byte.is_ascii_lowercase()),
            digit: text.bytes().any(|byte| byte.is_ascii_digit()),
        }
    }

    fn all(self) -> bool {
        self.upper && self.lower && self.digit
    }
}

fn is_base62(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_lower_hex(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}
