//! Ids of traces: who called whom.

use super::{Foreign, Found, is_lower_hex};
use crate::format::Details;
use crate::inspect::IdTime;
use crate::inspect::rank::{Plausible, plausibility};
use crate::time::Timestamp;

pub(super) const TRACE: Foreign = Foreign {
    name: "trace",
    is: "a trace and a span: traceparent, B3, Jaeger, X-Ray",
    source: "W3C Trace Context; openzipkin/b3-propagation; Jaeger's client libraries; AWS X-Ray developer guide",
    read: trace,
};

pub(super) const DATADOG: Foreign = Foreign {
    name: "datadog",
    is: "a trace of Datadog: 32 bits of seconds, 32 of zeros, 64 random",
    source: "Datadog's documentation, Span and Trace ID formats",
    read: datadog,
};

fn trace(text: &str, now: Timestamp) -> Option<Found> {
    traceparent(text)
        .or_else(|| xray(text, now))
        .or_else(|| b3(text))
        .or_else(|| jaeger(text))
}

fn is_zero(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'0')
}

/// `version-trace-parent-flags`.
fn traceparent(text: &str) -> Option<Found> {
    let mut parts = text.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let (parent, flags) = (parts.next()?, parts.next()?);
    let hex = [(version, 2), (trace, 32), (parent, 16), (flags, 2)]
        .iter()
        .all(|(part, width)| part.len() == *width && is_lower_hex(part));
    // Later versions may add parts; ff is none.
    let more = parts.next().is_some();
    if !hex || version == "ff" || (version == "00" && more) || is_zero(trace) || is_zero(parent) {
        return None;
    }
    let sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
    let details = Details::default()
        .text("style", "traceparent")
        .text("trace_id", trace)
        .text("parent_id", parent)
        .text("sampled", if sampled { "yes" } else { "no" });
    Some(Found::new(
        0.99,
        "the form of W3C's traceparent, and neither id is zero",
        details,
    ))
}

/// `1-8 digits of seconds-24 digits`, also behind `Root=`.
fn xray(text: &str, now: Timestamp) -> Option<Found> {
    let root = text.split(';').find_map(|part| part.strip_prefix("Root="));
    let mut parts = root.unwrap_or(text).split('-');
    let (version, seconds, random) = (parts.next()?, parts.next()?, parts.next()?);
    let fits = version == "1"
        && parts.next().is_none()
        && (seconds.len(), random.len()) == (8, 24)
        && is_lower_hex(seconds)
        && is_lower_hex(random);
    if !fits {
        return None;
    }
    let at = Timestamp::from_unix_millis(i64::from(u32::from_str_radix(seconds, 16).ok()?) * 1000);
    let plausible = plausibility(at, Timestamp::UNIX_EPOCH, now) == Plausible::Yes;
    let details = Details::new(Some(IdTime { at, digits: 0 }));
    let details = details.text("style", "X-Ray").text("random", random);
    let confidence = if plausible { 0.97 } else { 0.6 };
    Some(Found::new(
        confidence,
        "the form of a trace id of AWS X-Ray",
        details,
    ))
}

/// `trace-span-sampled-parent`, the last two if they are known.
fn b3(text: &str) -> Option<Found> {
    let mut parts = text.split('-');
    let (trace, span) = (parts.next()?, parts.next()?);
    let (sampled, parent) = (parts.next(), parts.next());
    let fits = matches!(trace.len(), 16 | 32)
        && span.len() == 16
        && is_lower_hex(trace)
        && is_lower_hex(span)
        && sampled.is_none_or(|sampled| matches!(sampled, "0" | "1" | "d"))
        && parent.is_none_or(|parent| parent.len() == 16 && is_lower_hex(parent))
        && parts.next().is_none();
    let mut details = Details::default()
        .text("style", "B3")
        .text("trace_id", trace)
        .text("span_id", span);
    if let Some(parent) = parent {
        details = details.text("parent_id", parent);
    }
    fits.then(|| Found::new(0.95, "the form of B3's single header", details))
}

/// `trace:span:parent:flags`, each without leading zeros.
fn jaeger(text: &str) -> Option<Found> {
    let mut parts = text.split(':');
    let (trace, span) = (parts.next()?, parts.next()?);
    let (parent, flags) = (parts.next()?, parts.next()?);
    let fits = (9..=32).contains(&trace.len())
        && (9..=16).contains(&span.len())
        && (1..=16).contains(&parent.len())
        && (1..=2).contains(&flags.len())
        && [trace, span, parent, flags].iter().all(|part| is_lower_hex(part))
        && parts.next().is_none();
    let details = Details::default()
        .text("style", "Jaeger")
        .text("trace_id", trace)
        .text("span_id", span)
        .text("parent_id", parent);
    fits.then(|| Found::new(0.95, "the form of Jaeger's uber-trace-id", details))
}

fn datadog(text: &str, now: Timestamp) -> Option<Found> {
    if text.len() != 32 || !is_lower_hex(text) || !is_zero(&text[8..16]) {
        return None;
    }
    let seconds = u32::from_str_radix(&text[..8], 16).ok()?;
    let at = Timestamp::from_unix_millis(i64::from(seconds) * 1000);
    if plausibility(at, Timestamp::from_unix_millis(1_400_000_000_000), now) != Plausible::Yes {
        return None;
    }
    let details = Details::new(Some(IdTime { at, digits: 0 }));
    let details = details.text("random", &text[16..]);
    let why = "plausible seconds, then 32 bits of zeros, as chance seldom has them";
    Some(Found::new(0.95, why, details))
}
