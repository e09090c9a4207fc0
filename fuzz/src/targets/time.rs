//! Times as people write them.

use mintage_wire::shown;

use crate::{Target, saw};

/// The command's reader, which is part of a program and of no library.
#[path = "../../../crates/cli/src/time.rs"]
#[allow(dead_code, unused_imports, clippy::unwrap_used)]
mod reader;

pub(super) fn target() -> Target {
    let seeds = [
        "2022-02-22T19:22:22.1234567Z",
        "2022-02-22 19:22:22+05:30",
        "2022-02-22",
        "+10889-08-02T05:31:50.655Z",
        "-0001-01-01",
        "@1645557742.5",
        "@-1645557742000ms",
        "@1ns",
        "now",
        "now-1h30m",
        "now+2d12h",
        "1582-10-15T00:00:00Z",
    ];
    Target::new("time", seeds, check).words(&[
        "now",
        "@",
        "ms",
        "us",
        "ns",
        "T",
        "Z",
        "+01:00",
        "-",
        "99999999999999999999",
    ])
}

fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let _ = reader::parse_duration(&text);
    match reader::parse(&text) {
        // What follows the clock differs from run to run.
        Ok(_) if text.starts_with("now") => saw("now"),
        Ok(at) => {
            // Years past six digits cannot be written.
            if at.unix_nanos().abs() < 31_000_000_000_000_000_000_000_000 / 1000 {
                assert_eq!(reader::parse(&shown(at)), Ok(at), "{}", shown(at));
            }
            saw((at.unix_nanos().signum(), at.unix_nanos() % 1_000_000_000 == 0));
        }
        Err(why) => {
            assert!(!why.is_empty());
            saw(why.len() % 64);
        }
    }
}
