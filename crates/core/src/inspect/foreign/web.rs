//! Ids in the addresses of well-known sites, and short random ones.

use super::{Foreign, Found, Mix, is_base62};
use crate::format::Details;
use crate::inspect::IdTime;
use crate::inspect::rank::{Plausible, plausibility};
use crate::presets::preset;
use crate::text::radix;
use crate::time::Timestamp;

pub(super) const YOUTUBE: Foreign = Foreign {
    name: "youtube",
    is: "a video of YouTube: 64 bits in 11 characters of base64url",
    source: "YouTube Data API, videos; by observation, as Google documents no structure",
    read: youtube,
};

pub(super) const INSTAGRAM: Foreign = Foreign {
    name: "instagram",
    is: "a short code of Instagram: the post's Snowflake in base64url",
    source: "Instagram engineering, Sharding & IDs at Instagram (2012); the code is the number's base64url",
    read: |text, now| short_code(text, now, "a post of Instagram"),
};

pub(super) const THREADS: Foreign = Foreign {
    name: "threads",
    is: "a post of Threads: Instagram's short code under another address",
    source: "by observation: threads.net shares Instagram's ids",
    read: |text, now| {
        let mut found = short_code(text, now, "a post of Threads, which has Instagram's")?;
        // Only from its opening in July 2023 on.
        let since = Timestamp::from_unix_millis(1_688_500_000_000);
        found.confidence *= 0.5;
        (found.details.time?.at >= since).then_some(found)
    },
};

pub(super) const GOOGLE: Foreign = Foreign {
    name: "googledoc",
    is: "a document of Google Drive",
    source: "Google Drive API, File and folder IDs",
    read: google,
};

pub(super) const NUID: Foreign = Foreign {
    name: "nuid",
    is: "a NUID of NATS: 12 random characters and 10 that count, base 62",
    source: "nats-io/nuid, README",
    read: |text, _| {
        let mix = Mix::of(text);
        let fits = text.len() == 22 && is_base62(text) && mix.digit && (mix.upper || mix.lower);
        let details = Details::default()
            .text("process", text.get(..12)?)
            .text("counter", &text[12..]);
        let confidence = if Mix::of(text).all() || !Mix::of(text).lower {
            0.2
        } else {
            0.05
        };
        let why = "22 characters of base 62, which has nothing else to check";
        fits.then(|| Found::new(confidence, why, details))
    },
};

pub(super) const SPOTIFY: Foreign = Foreign {
    name: "spotify",
    is: "an object of Spotify: 128 random bits in 22 characters of base 62",
    source: "Spotify Web API, Spotify URIs and IDs",
    read: spotify,
};

fn is_base64url(text: &str) -> bool {
    text.bytes().all(|byte| radix::BASE64_URL.contains(&byte))
}

fn youtube(text: &str, _: Timestamp) -> Option<Found> {
    // 64 bits leave two of the last character's six at zero.
    let last = *text.as_bytes().get(10)?;
    if text.len() != 11 || !is_base64url(text) || !b"AEIMQUYcgkosw048".contains(&last) {
        return None;
    }
    let mix = Mix::of(text);
    let confidence = match (mix.upper && mix.lower, mix.digit) {
        (true, true) => 0.45,
        (true, false) => 0.3,
        _ => 0.05,
    };
    let why = "11 characters of base64url, the last of which ends in two zero bits";
    Some(Found::new(confidence, why, Details::default()))
}

/// A number of Instagram's layout in base64url.
fn short_code(text: &str, now: Timestamp, of: &'static str) -> Option<Found> {
    if !(9..=11).contains(&text.len()) || !is_base64url(text) || text.starts_with('A') {
        return None;
    }
    let number = radix::read(text.as_bytes(), radix::BASE64_URL, false).ok()?;
    let number = u64::try_from(number).ok().filter(|number| *number < 1 << 63)?;
    let layout = preset("instagram")?.layout();
    let parts = layout.unpack(number).ok()?;
    let at = layout.time_of(parts.tick);
    let plausible = plausibility(at, layout.epoch(), now) == Plausible::Yes;
    let mix = Mix::of(text);
    // Every 10 characters give a time of its first four years.
    let confidence = match (plausible && mix.upper && mix.lower, text.len()) {
        (true, 11) => 0.5,
        // Of ten characters one in two is such a time.
        (true, 10) => 0.05,
        _ => 0.03,
    };
    let details = Details::new(Some(IdTime { at, digits: 3 }));
    let details = details
        .number("media", number, 64)
        .number("shard", parts.worker, 13)
        .number("sequence", parts.sequence, 10);
    let why = alloc::format!("as a number it is an id of Instagram's layout: {of}");
    Some(Found::new(confidence, why, details))
}

fn google(text: &str, _: Timestamp) -> Option<Found> {
    let mix = Mix::of(text);
    let fits = text.len() == 44 && text.starts_with('1') && is_base64url(text) && mix.all();
    let why = "44 characters of base64url that begin with 1, as documents of Google Drive do";
    fits.then(|| Found::new(0.7, why, Details::default()))
}

fn spotify(text: &str, _: Timestamp) -> Option<Found> {
    let mut parts = text.split(':');
    let (object, id) = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("spotify"), Some(object), Some(id), None) => (Some(object), id),
        (Some(id), None, ..) => (None, id),
        _ => return None,
    };
    if id.len() != 22 || !is_base62(id) {
        return None;
    }
    // Digits first, then small letters: as a number it has 128 bits.
    let digits = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    radix::read(id.as_bytes(), digits, false).ok()?;
    Some(match object {
        Some(object) => {
            let details = Details::default().text("object", object).text("id", id);
            Found::new(0.98, "the form of a URI of Spotify", details)
        }
        None => {
            let confidence = if Mix::of(id).all() { 0.15 } else { 0.03 };
            let why = "22 characters of base 62 within 128 bits, which has nothing else to check";
            Found::new(confidence, why, Details::default())
        }
    })
}
