//! Ids and tokens that say by a prefix what they are.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Foreign, Found, Mix, is_base62};
use crate::format::{Details, crc32, log2};
use crate::inspect::IdTime;
use crate::inspect::rank::is_wordy;
use crate::text::radix;
use crate::time::Timestamp;

pub(super) const GITHUB: Foreign = Foreign {
    name: "github",
    is: "a token of GitHub or npm, with its checksum",
    source: "GitHub's blog, Behind GitHub's new authentication token formats (2021); npm followed",
    read: github,
};

pub(super) const STRIPE: Foreign = Foreign {
    name: "stripe",
    is: "an object or key of Stripe, by its prefix",
    source: "Stripe's API reference",
    read: stripe,
};

pub(super) const SLACK: Foreign = Foreign {
    name: "slack",
    is: "an object or token of Slack, by its first letters",
    source: "Slack's API documentation, Object types and Token types",
    read: slack,
};

pub(super) const AWS: Foreign = Foreign {
    name: "aws",
    is: "an AWS key id or principal id, with the account in it",
    source: "AWS IAM user guide, Unique identifiers",
    read: aws,
};

pub(super) const UPID: Foreign = Foreign {
    name: "upid",
    is: "a prefix of four letters, milliseconds by 256 and 64 random bits",
    source: "carderne/upid, README",
    read: upid,
};

pub(super) const PREFIXED: Foreign = Foreign {
    name: "prefixed",
    is: "any prefix_BASE62, with how many bits it can hold",
    source: "the habit of Stripe, Clerk, WorkOS and hundreds more",
    read: prefixed,
};

/// 30 random characters and the checksum of them, six digits of base 62; prefix and what it opens.
const WITH_CHECKSUM: [(&str, &str); 6] = [
    ("ghp", "personal access token"),
    ("gho", "OAuth access token"),
    ("ghu", "user-to-server token"),
    ("ghs", "server-to-server token"),
    ("ghr", "refresh token"),
    ("npm", "npm access token"),
];

/// What a token with a checksum opens, by its prefix and length.
fn opened_by(prefix: &str, rest: &str) -> Option<&'static str> {
    let (_, opens) = WITH_CHECKSUM.iter().find(|(known, _)| *known == prefix)?;
    (rest.len() == 36).then_some(*opens)
}

fn github(text: &str, _: Timestamp) -> Option<Found> {
    if let Some(rest) = text.strip_prefix("github_pat_") {
        let (id, secret) = rest.split_once('_')?;
        let fits = id.len() == 22 && secret.len() == 59 && is_base62(id) && is_base62(secret);
        let details = Details::default()
            .text("prefix", "github_pat")
            .text("opens", "fine-grained personal access token");
        let why = "the prefix and the lengths of a fine-grained token of GitHub";
        return fits.then(|| Found::new(0.95, why, details).note(SECRET));
    }
    let (prefix, rest) = text.split_once('_')?;
    let opens = opened_by(prefix, rest).filter(|_| is_base62(rest))?;
    let (random, found) = rest.split_at(30);
    let mut expected = Vec::new();
    radix::write_fixed(crc32(random.as_bytes()).into(), radix::BASE62, 6, &mut expected);
    let good = expected == found.as_bytes();
    let details = Details::default()
        .text("prefix", prefix)
        .text("opens", opens)
        .text("checksum", if good { "fits" } else { "does not fit" });
    let (confidence, why) = if good {
        (
            0.99,
            "its checksum fits, as that of one in four thousand million texts does by chance",
        )
    } else {
        (
            0.4,
            "the prefix and the length of a token, but its checksum does not fit: mistyped or made up",
        )
    };
    Some(Found::new(confidence, why, details).note(SECRET))
}

const SECRET: &str = "a secret: who reads it here has it; revoke it if it was found in the open";

/// Prefixes of Stripe and the objects they stand for.
const STRIPES: &[(&str, &str)] = &[
    ("acct", "account"),
    ("ba", "bank account"),
    ("card", "card"),
    ("ch", "charge"),
    ("cn", "credit note"),
    ("cs", "checkout session"),
    ("cus", "customer"),
    ("dp", "dispute"),
    ("du", "dispute"),
    ("evt", "event"),
    ("fee", "application fee"),
    ("file", "file"),
    ("ii", "invoice item"),
    ("il", "invoice line item"),
    ("in", "invoice"),
    ("mandate", "mandate"),
    ("pi", "payment intent"),
    ("pk", "publishable key"),
    ("plink", "payment link"),
    ("pm", "payment method"),
    ("po", "payout"),
    ("price", "price"),
    ("prod", "product"),
    ("promo", "promotion code"),
    ("py", "payment"),
    ("pyr", "payment refund"),
    ("qt", "quote"),
    ("re", "refund"),
    ("req", "request"),
    ("rk", "restricted key"),
    ("seti", "setup intent"),
    ("si", "subscription item"),
    ("sk", "secret key"),
    ("src", "source"),
    ("sub", "subscription"),
    ("tok", "token"),
    ("tr", "transfer"),
    ("txn", "balance transaction"),
    ("txr", "tax rate"),
    ("we", "webhook endpoint"),
    ("whsec", "webhook secret"),
];

fn stripe(text: &str, _: Timestamp) -> Option<Found> {
    let (prefix, rest) = text.split_once('_')?;
    let (_, object) = STRIPES.iter().find(|(known, _)| *known == prefix)?;
    let (mode, random) = match rest.split_once('_') {
        Some((mode @ ("test" | "live"), random)) => (Some(mode), random),
        Some(_) => return None,
        None => (None, rest),
    };
    let mix = Mix::of(random);
    if !is_base62(random) || random.len() < 8 || !(mix.digit && (mix.upper || mix.lower)) {
        return None;
    }
    // Of other makers: Stripe's have both cases.
    let others = random.len() >= 20 && mix.upper != mix.lower || prefix == "req" && random.starts_with("01");
    if others {
        return None;
    }
    let mut details = Details::default().text("object", *object);
    if let Some(mode) = mode {
        details = details.text("mode", mode);
    }
    let details = bits_of(details, random, 62);
    let confidence = if random.len() >= 14 { 0.93 } else { 0.7 };
    let found = Found::new(
        confidence,
        "a prefix of Stripe and characters of base 62",
        details,
    );
    let secret = matches!(prefix, "sk" | "rk" | "whsec");
    Some(if secret { found.note(SECRET) } else { found })
}

/// How long the random part is, and how many bits it can hold.
fn bits_of(details: Details, random: &str, base: u32) -> Details {
    let bits = log2(base) * random.len() as f64;
    details
        .number("length", random.len() as u64, 32)
        .number("bits", bits as u64, 32)
}

fn slack(text: &str, _: Timestamp) -> Option<Found> {
    const TOKENS: &[(&str, &str)] = &[
        ("xoxb-", "bot token"),
        ("xoxp-", "user token"),
        ("xoxa-", "workspace token"),
        ("xoxr-", "refresh token"),
        ("xoxs-", "session token"),
        ("xoxe-", "refresh token"),
        ("xapp-", "app-level token"),
    ];
    if let Some((prefix, object)) = TOKENS.iter().find(|(prefix, _)| text.starts_with(prefix)) {
        let rest = &text[prefix.len()..];
        let fits = rest.len() >= 10
            && rest
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let details = Details::default().text("object", *object);
        return fits.then(|| Found::new(0.95, "a prefix of Slack's tokens", details).note(SECRET));
    }
    let object = match text.as_bytes().first()? {
        b'A' => "app",
        b'B' => "bot",
        b'C' => "public channel",
        b'D' => "direct message",
        b'E' => "enterprise",
        b'F' => "file",
        b'G' => "private channel",
        b'S' => "user group",
        b'T' => "team",
        b'U' => "user",
        b'W' => "enterprise user",
        _ => return None,
    };
    let rest = &text[1..];
    let mix = Mix::of(rest);
    let fits = (8..=12).contains(&rest.len()) && is_base62(rest) && !mix.lower && mix.digit;
    let confidence = match rest.starts_with('0') && mix.upper {
        // So begin Amazon's numbers, too.
        true if text.starts_with('B') => 0.45,
        true => 0.6,
        false => 0.08,
    };
    let why = "a letter for the object, then capitals and digits, as Slack has them";
    let details = Details::default().text("object", object);
    fits.then(|| Found::new(confidence, why, details))
}

fn aws(text: &str, _: Timestamp) -> Option<Found> {
    const KINDS: &[(&str, &str)] = &[
        ("AKIA", "access key"),
        ("ASIA", "temporary access key"),
        ("AIDA", "user"),
        ("AROA", "role"),
        ("AGPA", "group"),
        ("AIPA", "instance profile"),
        ("ANPA", "managed policy"),
        ("ABIA", "bearer token"),
        ("ACCA", "context-specific credential"),
    ];
    let (_, object) = KINDS.iter().find(|(prefix, _)| text.starts_with(prefix))?;
    let rest = text.get(4..).filter(|rest| matches!(rest.len(), 16 | 17))?;
    let base32 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let number = radix::read(rest.as_bytes(), base32, false).ok()?;
    // The account has 40 bits behind the first of the first 48; keys from before 2019 have chance there.
    let bits = rest.len() as u32 * 5;
    let account = (number >> (bits - 41)) & ((1 << 40) - 1);
    let mut details = Details::default().text("object", *object);
    let since = rest.as_bytes()[0] >= b'Q' && account < 1_000_000_000_000 && object.ends_with("key");
    if since {
        details = details.text("account", format!("{account:012}"));
    }
    Some(Found::new(
        0.95,
        "a prefix of AWS and 16 characters of base 32",
        details,
    ))
}

/// Digits of UPID, in ASCII order.
const UPID_DIGITS: &[u8] = b"234567abcdefghijklmnopqrstuvwxyz";

fn upid(text: &str, now: Timestamp) -> Option<Found> {
    let (prefix, rest) = text.split_once('_')?;
    let fits = prefix.len() == 4
        && prefix.bytes().all(|byte| byte.is_ascii_lowercase())
        && rest.len() == 22
        && rest.bytes().all(|byte| UPID_DIGITS.contains(&byte));
    if !fits {
        return None;
    }
    // 8 characters are the time, 13 random, the last a version.
    let ticks = radix::read(&rest.as_bytes()[..8], UPID_DIGITS, false).ok()? as i64;
    let at = Timestamp::from_unix_millis(ticks << 8);
    let plausible = at <= now && ticks << 8 >= 1_700_000_000_000 - (1 << 40);
    let details = Details::new(Some(IdTime { at, digits: 0 }));
    let details = details.text("prefix", prefix).text("version", &rest[21..]);
    let confidence = if plausible { 0.85 } else { 0.3 };
    Some(Found::new(
        confidence,
        "four letters and 22 characters of UPID's alphabet",
        details,
    ))
}

fn prefixed(text: &str, _: Timestamp) -> Option<Found> {
    let at = text.rfind('_')?;
    let (prefix, random) = (&text[..at], &text[at + 1..]);
    let name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let sound = (1..=32).contains(&prefix.len())
        && prefix.as_bytes()[0].is_ascii_lowercase()
        && prefix.bytes().all(name)
        && is_base62(random)
        && (6..=200).contains(&random.len());
    // One that lacks a character of a TypeID, or has one too many, is not a whole id of another kind.
    if !sound || crate::inspect::near::is_nearly_typeid(text) {
        return None;
    }
    let mix = Mix::of(random);
    // Words joined by an underscore are no id.
    let confidence = match (mix.digit, mix.upper, mix.lower) {
        // Whose prefix it is says more than that it is one, whether or not the checksum fits.
        _ if opened_by(prefix, random).is_some() => 0.1,
        _ if is_wordy(random) && random.len() < 20 => 0.02,
        (true, true, true) => 0.75,
        (true, _, _) if mix.upper || mix.lower => match random.len() {
            12.. => 0.6,
            _ => 0.3,
        },
        (false, true, true) if random.len() >= 12 => 0.4,
        (true, false, false) => 0.15,
        _ => 0.02,
    };
    let base = match (mix.upper, mix.lower) {
        (true, true) => 62,
        (false, false) => 10,
        _ => 36,
    };
    let details = bits_of(Details::default().text("prefix", prefix), random, base);
    let words: String = format!("a prefix and {} characters of base {base}", random.len());
    Some(Found::new(confidence, words, details))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_github_is_known_by_its_checksum() {
        // A published example of the format, in two pieces so that no scanner takes it for a leak.
        let token = ["ghp", "_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17"].concat();
        let now = Timestamp::from_unix_millis(1_800_000_000_000);
        let readings = crate::inspect(&token, now);
        assert_eq!(readings[0].format, "github");
        assert!(readings[0].confidence > 0.9, "{readings:?}");
        let mistyped = token.replace("0mLq17", "0mLq18");
        let readings = crate::inspect(&mistyped, now);
        let github = readings.iter().find(|reading| reading.format == "github");
        assert!(
            github.is_some_and(|reading| reading.confidence < 0.5),
            "{readings:?}"
        );
        // Whatever its characters: it is GitHub's first, with the checksum that is wrong.
        let made_up = [
            "16C7e42F292c6912E7710c838347Ae178B4a",
            "abcdefghijklmnopqrstuvwxyz0123456789",
        ];
        for (prefix, _) in WITH_CHECKSUM {
            for rest in made_up {
                let readings = crate::inspect(&[prefix, "_", rest].concat(), now);
                assert_eq!(readings[0].format, "github", "{readings:?}");
                assert!(readings[0].why.contains("checksum does not fit"), "{readings:?}");
                assert!(
                    readings[1..].iter().any(|reading| reading.format == "prefixed"),
                    "{readings:?}"
                );
            }
        }
    }

    #[test]
    fn words_with_underscores_are_no_ids() {
        let now = Timestamp::from_unix_millis(1_800_000_000_000);
        for text in ["hello_world", "order_items", "created_at_column"] {
            let readings = crate::inspect(text, now);
            assert!(
                readings
                    .iter()
                    .all(|reading| reading.confidence < crate::CONFIDENCE_LEAST),
                "{text}: {readings:?}"
            );
        }
    }
}
