//! Numbers that other clocks than Unix's count.

use super::{Foreign, Found};
use crate::format::Details;
use crate::inspect::IdTime;
use crate::inspect::rank::{Plausible, plausibility};
use crate::time::Timestamp;

pub(super) const CLOCK: Foreign = Foreign {
    name: "clock",
    is: "a time of another clock: .NET, Windows and LDAP, WebKit, Cocoa, Excel",
    source: "Microsoft's DateTime.Ticks and FILETIME; Chromium's base::Time; Apple's NSDate; ECMA-376 part 1, 18.17.4",
    read,
};

/// A clock: its name, digits before the point, nanoseconds of one, milliseconds from 1970 to its beginning, and how
/// sure such a number is.
struct Ticks {
    clock: &'static str,
    digits: usize,
    nanos: i128,
    from_ms: i128,
    confidence: f64,
}

const CLOCKS: &[Ticks] = &[
    Ticks {
        clock: ".NET: 100 ns since the year 1",
        digits: 18,
        nanos: 100,
        from_ms: -62_135_596_800_000,
        // Twitter's ids of 2014 are as long and as large: one of the two, and .NET's are the commoner.
        confidence: 0.65,
    },
    Ticks {
        clock: "FILETIME of Windows, LDAP: 100 ns since 1601",
        digits: 18,
        nanos: 100,
        from_ms: -11_644_473_600_000,
        confidence: 0.65,
    },
    Ticks {
        clock: "WebKit, Chrome: microseconds since 1601",
        digits: 17,
        nanos: 1000,
        from_ms: -11_644_473_600_000,
        confidence: 0.65,
    },
];

/// Clocks that count days or seconds: told from a price by the fraction, and less sure.
const WITH_FRACTION: &[Ticks] = &[
    Ticks {
        clock: "Cocoa: seconds since 2001",
        digits: 9,
        nanos: 1_000_000_000,
        from_ms: 978_307_200_000,
        confidence: 0.6,
    },
    Ticks {
        clock: "Excel: days since 1899-12-30",
        digits: 5,
        nanos: 86_400_000_000_000,
        from_ms: -2_209_161_600_000,
        confidence: 0.5,
    },
];

fn read(text: &str, now: Timestamp) -> Option<Found> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    // Two digits behind the point are money.
    if !digits(whole) || !digits(fraction) || matches!(fraction.len(), 1 | 2) || fraction.len() > 12 {
        return None;
    }
    let clocks = if fraction.is_empty() {
        CLOCKS
    } else {
        WITH_FRACTION
    };
    let number: i128 = whole.parse().ok()?;
    let part = match fraction {
        "" => 0,
        _ => fraction.parse::<i128>().ok()?,
    };
    let scale = 10i128.pow(fraction.len() as u32);
    clocks
        .iter()
        .filter(|counts| counts.digits == whole.len())
        .find_map(|counts| {
            let nanos = number * counts.nanos + part * counts.nanos / scale + counts.from_ms * 1_000_000;
            let at = Timestamp::from_unix_nanos(nanos);
            let since = Timestamp::from_unix_millis(SINCE_MS);
            if plausibility(at, since, now) != Plausible::Yes {
                return None;
            }
            let details = Details::new(Some(IdTime { at, digits: 3 })).text("clock", counts.clock);
            let why = "as many digits as that clock's times have, and the time has been";
            Some(Found::new(counts.confidence, why, details))
        })
}

/// 2005-01-01: what is older is not found in columns of ids often enough to stand before them.
const SINCE_MS: i64 = 1_104_537_600_000;
