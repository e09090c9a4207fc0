//! Time zones as settings of faces.

use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;
use mintage_server::chassis::config::{Setting, quoted};

/// A time zone, and what it was called.
#[derive(Clone, PartialEq, Debug)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

impl Zone {
    /// A time as it is read there.
    pub(crate) fn at(&self, unix_ms: i64) -> Option<jiff::Zoned> {
        let time = jiff::Timestamp::from_millisecond(unix_ms).ok()?;
        Some(time.to_zoned(self.zone.clone()))
    }

    /// The same as text, to the millisecond: `yyyy-MM-dd HH:mm:ss.SSS`.
    pub(crate) fn show(&self, unix_ms: i64) -> Option<String> {
        let there = self.at(unix_ms)?;
        Some(there.strftime("%Y-%m-%d %H:%M:%S.%3f").to_string())
    }
}

impl Setting for Zone {
    const KIND: &'static str = "time zone";

    fn parse(text: &str) -> Result<Self, String> {
        let zone = DateTimeParser::new().parse_time_zone(text);
        let zone = zone.map_err(|_| {
            format!("{text:?} is not a time zone such as \"UTC\", \"Asia/Shanghai\" or \"+08:00\"")
        })?;
        Ok(Zone {
            name: text.to_string(),
            zone,
        })
    }

    fn show(&self) -> String {
        quoted(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_names_and_offsets() {
        for (zone, shown) in [
            ("UTC", "1970-01-01 00:00:00.001"),
            ("Asia/Shanghai", "1970-01-01 08:00:00.001"),
            ("-02:30", "1969-12-31 21:30:00.001"),
        ] {
            assert_eq!(
                Zone::parse(zone).unwrap().show(1).as_deref(),
                Some(shown),
                "{zone}"
            );
        }
        for wrong in ["", "Mars/Olympus", "+26:00"] {
            let refused = Zone::parse(wrong).unwrap_err();
            assert!(refused.contains("Asia/Shanghai"), "{refused}");
        }
    }
}
