//! Ids as text, as the converters of the original write them.

use jiff::tz::TimeZone;

use super::generators::{Converter, Generator};
use mintage_server::chassis::error::{Answer, Code, ServiceError};

/// The text of an id that was made at a time.
///
/// # Errors
/// It has more characters than the generator allows: as in the original, it is used up.
pub(super) fn write(generator: &Generator, id: u64, made_at: &jiff::Zoned) -> Answer<String> {
    let mut text = match generator.converter {
        Converter::Radix62 => in_radix(generator, id, 62)?,
        Converter::Radix36 => in_radix(generator, id, 36)?,
        Converter::ToString => padded(&id.to_string(), generator.pads(), generator.chars()),
        Converter::SnowflakeFriendly => friendly(id, generator.pads(), made_at.time_zone()),
    };
    let dated = |text: String| match generator.date_prefix.as_str() {
        "" => text,
        _ => format!(
            "{}{}{text}",
            generator.date_prefix.write(made_at),
            generator.date_delimiter()
        ),
    };
    if !generator.date_first {
        text = dated(text);
    }
    text.insert_str(0, &generator.prefix);
    if generator.date_first {
        text = dated(text);
    }
    text.push_str(&generator.suffix);
    Ok(text)
}

fn in_radix(generator: &Generator, id: u64, radix: u64) -> Answer<String> {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let (mut digits, mut left) = (Vec::new(), id);
    while left > 0 || digits.is_empty() {
        digits.push(DIGITS[(left % radix) as usize]);
        left /= radix;
    }
    let chars = generator.chars();
    if digits.len() > chars {
        let message = format!(
            "id {id} has {} characters, and chars = {chars} are allowed",
            digits.len()
        );
        return Err(ServiceError::new(Code::Exhausted, message));
    }
    let text: String = digits.iter().rev().map(|digit| char::from(*digit)).collect();
    Ok(padded(&text, generator.pads(), chars))
}

fn padded(text: &str, pads: bool, chars: usize) -> String {
    match pads {
        true => format!("{text:0>chars$}"),
        false => text.to_string(),
    }
}

/// `yyyyMMddHHmmssSSS-MACHINE-SEQUENCE` of a snowflake of the pool.
fn friendly(id: u64, pads: bool, zone: &TimeZone) -> String {
    let layout = mintage::preset("cosid").expect("a row of PRESETS").layout();
    let (machine_bits, sequence_bits) = (layout.worker_bits(), layout.sequence_bits());
    let ms = layout.epoch().unix_millis() + (id >> (machine_bits + sequence_bits)).cast_signed();
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX);
    let time = time
        .to_zoned(zone.clone())
        .strftime("%Y%m%d%H%M%S%3f")
        .to_string();
    let part = |shift: u32, bits: u32| {
        let number = id >> shift & ((1 << bits) - 1);
        padded(&number.to_string(), pads, decimal_digits(bits))
    };
    format!(
        "{time}-{}-{}",
        part(sequence_bits, machine_bits),
        part(0, sequence_bits)
    )
}

/// How many digits the largest number of so many bits has.
fn decimal_digits(bits: u32) -> usize {
    ((1_u64 << bits) - 1).to_string().len()
}

/// How many digits machines and sequences of the pool have at most.
pub(super) fn friendly_digits() -> (usize, usize) {
    let layout = mintage::preset("cosid").expect("a row of PRESETS").layout();
    (
        decimal_digits(layout.worker_bits()),
        decimal_digits(layout.sequence_bits()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cosid::generators::Generators;
    use mintage_server::chassis::config::Setting;

    fn made_at() -> jiff::Zoned {
        "2024-03-05T07:08:09.012+08:00[Asia/Shanghai]".parse().unwrap()
    }

    #[track_caller]
    fn check(generator: &str, id: u64, text: &str) {
        let read = Generators::parse(&format!("{{ g = {{ {generator} }} }}")).unwrap();
        assert_eq!(write(&read.0["g"], id, &made_at()).unwrap(), text, "{generator}");
    }

    #[test]
    fn ids_are_written_as_the_original_writes_them() {
        for (id, text) in [
            (0, "00000000000"),
            (4, "00000000004"),
            (10, "0000000000A"),
            (36, "0000000000a"),
            (61, "0000000000z"),
            (62, "00000000010"),
            (i64::MAX as u64, "AzL8n0Y58m7"),
        ] {
            check("", id, text);
        }
        check("pad = false", 62, "10");
        check("pad = false", 0, "0");
        check("chars = 3", 4, "004");
        check(r#"converter = "radix36""#, 71, "000000000001Z");
        check(
            r#"converter = "radix36", pad = false"#,
            i64::MAX as u64,
            "1Y2P0IJ32E8E7",
        );
        check(r#"converter = "to_string""#, 42, "42");
        check(r#"converter = "to_string", pad = true, chars = 5"#, 42, "00042");
        check(
            r#"converter = "to_string", prefix = "O-", suffix = "/x""#,
            42,
            "O-42/x",
        );
        let dated = r#"converter = "to_string", prefix = "O-", date_prefix = "yyMMdd""#;
        check(dated, 42, "O-240305-42");
        check(&format!("{dated}, date_first = true"), 42, "240305-O-42");
        check(&format!("{dated}, date_delimiter = \"\""), 42, "O-24030542");
        let friendly = r#"kind = "snowflake", converter = "snowflake_friendly""#;
        // 2020-01-01 00:00:00.001 in Shanghai, as the epoch is 2019-12-24 16:00 UTC.
        let id = (7 * 24 * 3_600_000 + 1) << 22 | 7 << 12 | 5;
        check(friendly, id, "20200101000000001-7-5");
        check(
            &format!("{friendly}, pad = true"),
            id,
            "20200101000000001-0007-0005",
        );
    }

    #[test]
    fn a_number_that_is_too_large_for_its_characters_is_refused() {
        let read = Generators::parse("{ g = { chars = 2 } }").unwrap();
        assert!(write(&read.0["g"], 62 * 62 - 1, &made_at()).is_ok());
        let refused = write(&read.0["g"], 62 * 62, &made_at()).unwrap_err();
        assert!(refused.message.contains("chars = 2"), "{refused}");
    }
}
