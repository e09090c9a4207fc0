//! The parts of a snowflake, as Leaf splits any 64 bits.

use crate::zone::Zone;

/// What is said of something that is no number of 64 bits.
const NOT_A_NUMBER: &str = r#"{"errorMsg":"snowflake Id反解析发生异常!"}"#;

/// Milliseconds from the beginning of 1970 to that of Leaf's time.
const EPOCH_UNIX_MS: i64 = 1_288_834_974_657;

/// The document about a number. Its layout is always Leaf's own, and a negative one has a time before its epoch.
pub(super) fn decode(text: &str, zone: &Zone) -> String {
    let Ok(id) = text.parse::<i64>() else {
        return NOT_A_NUMBER.to_string();
    };
    let (worker, sequence) = (id >> 12 & 0x3ff, id & 0xfff);
    let unix_ms = (id >> 22) + EPOCH_UNIX_MS;
    let shown = zone
        .show(unix_ms)
        .expect("42 bits of milliseconds lie between the years 1900 and 2100");
    format!(r#"{{"workerId":"{worker}","sequenceId":"{sequence}","timestamp":"{unix_ms}({shown})"}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mintage_server::chassis::config::Setting;

    #[test]
    fn any_64_bits_are_decoded() {
        for (text, expected) in [
            (
                "0",
                r#"{"workerId":"0","sequenceId":"0","timestamp":"1288834974657(2010-11-04 01:42:54.657)"}"#,
            ),
            (
                "1541815603606036480",
                r#"{"workerId":"378","sequenceId":"0","timestamp":"1656432460105(2022-06-28 16:07:40.105)"}"#,
            ),
            (
                "-1",
                r#"{"workerId":"1023","sequenceId":"4095","timestamp":"1288834974656(2010-11-04 01:42:54.656)"}"#,
            ),
            (
                "9223372036854775807",
                r#"{"workerId":"1023","sequenceId":"4095","timestamp":"3487858230208(2080-07-10 17:30:30.208)"}"#,
            ),
            (
                "-9223372036854775808",
                r#"{"workerId":"0","sequenceId":"0","timestamp":"-910188280895(1941-02-27 09:55:19.105)"}"#,
            ),
            ("9223372036854775808", NOT_A_NUMBER),
            ("", NOT_A_NUMBER),
            ("12x", NOT_A_NUMBER),
        ] {
            assert_eq!(decode(text, &Zone::parse("UTC").unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn the_time_is_that_of_the_zone() {
        let shanghai = decode("0", &Zone::parse("Asia/Shanghai").unwrap());
        assert!(shanghai.contains("(2010-11-04 09:42:54.657)"), "{shanghai}");
    }
}
