//! How many, as people write it: `10000`, `10_000`, `10k`, `1e6`.

/// Reads a count: digits, with `_` between them, and `k`, `M`, `G` (thousands, millions, thousand millions) or an
/// exponent behind them.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    read(text).ok_or_else(|| format!("a count is 0 to {}, written 10000, 10_000, 10k or 1e4", u64::MAX))
}

fn read(text: &str) -> Option<u64> {
    let (digits, factor) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, 10_u64.checked_pow(exponent.parse().ok()?)?),
        None => {
            let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let factor = match &text[digits.len()..] {
                "" => 1,
                "k" | "K" => 1_000,
                "M" | "m" => 1_000_000,
                "G" | "g" => 1_000_000_000,
                _ => return None,
            };
            (digits, factor)
        }
    };
    let grouped = digits
        .split('_')
        .all(|group| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit()));
    let number: u64 = digits.replace('_', "").parse().ok().filter(|_| grouped)?;
    number.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_people_write_them() {
        for (text, count) in [
            ("0", 0),
            ("7", 7),
            ("10_000", 10_000),
            ("10k", 10_000),
            ("1e6", 1_000_000),
            ("2M", 2_000_000),
            ("3G", 3_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(count), "{text}");
        }
    }

    #[test]
    fn what_is_no_count_is_told_the_range() {
        for text in [
            "",
            "-1",
            "+1",
            "1.5",
            "abc",
            "k",
            "_1",
            "1_",
            "1__0",
            "1e",
            "1e20",
            "1e-3",
            "10kb",
            "18446744073709551616",
            "٣",
        ] {
            let why = parse(text).expect_err(text);
            assert!(why.contains("0 to 18446744073709551615"), "{text}: {why}");
        }
    }
}
