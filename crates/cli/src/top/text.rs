//! Names, numbers and times as they stand on the screen.

/// A text from elsewhere, with what would drive the terminal or turn the line around written out: `\u{1b}`.
pub(super) fn plain(text: &str) -> String {
    mintage::Plain(text).to_string()
}

/// A count in at most six characters: `999`, `12.3k`, `4.56M`.
pub(super) fn count(number: f64) -> String {
    let units = [
        (1e18, "E"),
        (1e15, "P"),
        (1e12, "T"),
        (1e9, "G"),
        (1e6, "M"),
        (1e3, "k"),
    ];
    // From where it would be rounded to the next unit.
    let unit = units.iter().find(|(unit, _)| number >= unit * 0.9995);
    match unit {
        Some((unit, letter)) => format!("{}{letter}", three_digits(number / unit)),
        None if number > 0.0 && number < 9.95 && number.fract() > 0.0 => format!("{number:.1}"),
        // The sum of nothing is -0.
        None => format!("{:.0}", number + 0.0),
    }
}

fn three_digits(number: f64) -> String {
    match number {
        n if n < 9.995 => format!("{n:.2}"),
        n if n < 99.95 => format!("{n:.1}"),
        n => format!("{n:.0}"),
    }
}

/// A duration that was measured in microseconds.
pub(super) fn micros(us: f64) -> String {
    match us {
        us if us < 999.5 => format!("{us:.0} µs"),
        us if us < 999_500.0 => format!("{} ms", three_digits(us / 1e3)),
        us => format!("{} s", three_digits(us / 1e6)),
    }
}

/// A span of time in its two largest units.
pub(super) fn span(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    let (minutes, hours, days) = (whole / 60, whole / 3600, whole / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{whole} s"),
        (0, 0, _) => format!("{minutes} min {} s", whole % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        (1..=999, _, _) => format!("{days} d {} h", hours % 24),
        _ => match seconds / YEAR_S {
            years if years < 99.95 => format!("{years:.1} years"),
            years if years < 999.5 => format!("{years:.0} years"),
            _ => "> 1000 years".to_string(),
        },
    }
}

/// A year of the Gregorian calendar, in seconds.
pub(super) const YEAR_S: f64 = 31_556_952.0;

/// A difference of clocks, with its sign.
pub(super) fn offset(seconds: f64) -> String {
    let us = seconds.abs() * 1e6;
    let sign = if seconds < 0.0 { "−" } else { "+" };
    format!("{sign}{}", micros(us))
}

/// The last values as bars, the latest at the end: as many as there is room for.
pub(super) fn spark(values: impl DoubleEndedIterator<Item = f64>, width: usize) -> String {
    let mut last: Vec<f64> = values.rev().take(width).collect();
    last.reverse();
    let highest = last.iter().copied().fold(0.0, f64::max);
    let bar = |value: f64| match value / highest {
        part if part > 0.0 => BARS[((part * BARS.len() as f64).ceil() as usize).clamp(1, BARS.len()) - 1],
        // Nothing, or not known.
        _ => ' ',
    };
    let blanks = width - last.len();
    std::iter::repeat_n(' ', blanks)
        .chain(last.into_iter().map(bar))
        .collect()
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How much of something is left, from 0 to 1.
pub(super) fn bar(part: f64, width: usize) -> String {
    let full = (part.clamp(0.0, 1.0) * width as f64).round() as usize;
    "█".repeat(full) + &"░".repeat(width - full)
}

/// The time of day in UTC.
pub(super) fn time_of_day(ms: i64) -> String {
    let second = ms.div_euclid(1000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (0.25, "0.2"),
            (3.0, "3"),
            (999.0, "999"),
            (999.6, "1.00k"),
            (12_345.0, "12.3k"),
            (4_560_000.0, "4.56M"),
            (9.3e18, "9.30E"),
        ];
        for (number, shown) in cases {
            assert_eq!(count(number), shown);
        }
    }

    #[test]
    fn times_have_their_units() {
        let spans = [
            (0.4, "0 s"),
            (61.0, "1 min 1 s"),
            (7_260.0, "2 h 1 min"),
            (90_000.0, "1 d 1 h"),
        ];
        assert!(spans.iter().all(|(s, shown)| span(*s) == *shown));
        let years = [12.0, 345.0, 1e9].map(|years| span(YEAR_S * years));
        assert_eq!(years, ["12.0 years", "345 years", "> 1000 years"]);
        let times = [(80.4, "80 µs"), (1_234.0, "1.23 ms"), (2_500_000.0, "2.50 s")];
        assert!(times.iter().all(|(us, shown)| micros(*us) == *shown));
        assert_eq!(
            (offset(-0.0015), offset(2.0)),
            ("−1.50 ms".into(), "+2.00 s".into())
        );
        assert_eq!(time_of_day(86_400_000 * 3 + 3_723_000), "01:02:03");
    }

    #[test]
    fn bars_show_the_last_values_and_no_more_than_fit() {
        assert_eq!(spark([9.0, 0.0, 1.0, 4.0, 8.0].into_iter(), 4), " ▁▄█");
        assert_eq!(spark([f64::NAN, 2.0].into_iter(), 3), "  █");
        assert_eq!(spark([0.0, 0.0].into_iter(), 2), "  ");
        assert_eq!(
            (bar(0.5, 4), bar(7.0, 2), bar(f64::NAN, 1)),
            ("██░░".into(), "██".into(), "░".into())
        );
    }
}
