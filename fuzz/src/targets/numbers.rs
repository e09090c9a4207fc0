//! Numbers as text: Snowflakes, dates and letters of series, policies.

use mintage::{ClockPolicy, SnowflakeText, TextSeries, date_of, day_of_date, letters_of, number_of_letters};

use crate::{Target, saw, seeds};

pub(super) fn targets() -> Vec<Target> {
    let mut all: Vec<Target> = SnowflakeText::ALL
        .iter()
        .map(|&(name, form)| {
            let mut seeds = seeds::column("snowflake-refused.tsv", 1);
            for id in [0, 1, 13, 1_541_815_603_606_036_480, u64::MAX, 1 << 63] {
                let mut out = Vec::new();
                form.write(id, &mut out);
                seeds.push(out);
            }
            Target::new(format!("number-{name}"), seeds, move |input| check(form, input)).longest(90)
        })
        .collect();
    all.push(Target::new(
        "series",
        ["2024-02-29", "-0001-12-31", "A", "ZZ", "crpxnlskvljfhh"],
        series,
    ));
    all.push(Target::new(
        "series-of-text",
        [
            "1 15 3",
            "Y AB",
            "2025-12-31 2026-04-30 1mo",
            "2026-03-31 2026-01-15 -1y6mo",
            "2026-01-01T22:00:00+05:45 2026-01-02T00:00:00Z 1h30m",
            "@0 @90 500ms",
        ],
        series_of_text,
    ));
    all.push(Target::new(
        "clock-policy",
        ["hold", "error", "wait(5ms)", "bump"],
        policy,
    ));
    all
}

fn check(form: SnowflakeText, input: &[u8]) {
    match form.read(input) {
        Ok(id) => {
            let mut text = Vec::new();
            form.write(id, &mut text);
            // These two are read in either case.
            let plain = form.padded().map_or(form, |(plain, _)| plain);
            let folds = matches!(plain, SnowflakeText::Hex | SnowflakeText::Base36);
            assert!(text == input || folds && text.eq_ignore_ascii_case(input), "{id}");
            saw(64 - id.leading_zeros());
        }
        Err(error) => {
            assert!(error.position().is_none_or(|at| at <= input.len()), "{error}");
            saw((std::mem::discriminant(&error), error.position()));
        }
    }
}

fn series(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(day) = day_of_date(&text) {
        assert_eq!(date_of(day).as_deref(), Ok(&*text));
        saw(day.signum());
    }
    if let Ok(number) = number_of_letters(&text) {
        assert_eq!(letters_of(number), text.to_ascii_uppercase());
        saw(text.len());
    }
}

/// Bounds and step, blanks between them: whatever was admitted has its ends where they are read back.
fn series_of_text(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut words = text.split(' ');
    let (from, to) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if let Ok(series) = TextSeries::new(from, to, words.next(), None) {
        let last = series.count() - 1;
        for place in [0, last / 2, last] {
            assert_eq!(series.place_of(&series.text(place)), Ok(Some(place)), "{text}");
        }
        saw((series.form(), 128 - last.leading_zeros()));
    }
}

fn policy(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(policy) = text.parse::<ClockPolicy>() {
        assert_eq!(policy.to_string().parse(), Ok(policy));
        saw(std::mem::discriminant(&policy));
    }
}
