//! What `backfill` and `audit` have in common: how rows are told apart, sizes, and the progress bar.

use std::io::{self, IsTerminal};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mintage_bulk::{Dialect, Error, Kind, PATTERNS, Phase, Progress, RowFormat, Source};

use crate::errors::Failure;
use crate::hints;
use crate::out::Out;

/// How rows are written.
#[derive(clap::Args, Debug)]
pub(crate) struct RowArgs {
    /// How rows are written [default: as the file's name says]
    #[arg(long, value_name = "FORM", value_enum)]
    input_format: Option<Form>,
    /// What separates the fields of CSV, one character or \t
    #[arg(long, value_name = "CHAR", value_parser = parse_delimiter)]
    delimiter: Option<u8>,
    /// The first row is data; columns are called 1, 2, 3
    #[arg(long)]
    no_header: bool,
    /// Plain logs: a regular expression with named groups, or the name of a common form.
    #[arg(
        long,
        value_name = "REGEX",
        conflicts_with_all = ["delimiter", "no_header"],
        help = r"Plain logs: a regular expression with named groups such as (?<time>\S+), or iso, clf, syslog"
    )]
    pattern: Option<String>,
}

/// Forms of rows.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Csv,
    Tsv,
    Jsonl,
    Log,
    Lines,
}

impl RowArgs {
    /// The form of the rows of a source: what is said, what its name says, or `None`.
    pub(crate) fn of(&self, source: &Source) -> Result<Option<RowFormat>, Failure> {
        let mut format = match (self.input_format, &self.pattern) {
            (None | Some(Form::Log), Some(pattern)) => {
                let named = PATTERNS.iter().find(|(name, ..)| name == pattern);
                return Ok(Some(RowFormat::Log(
                    named
                        .map_or(pattern.as_str(), |(_, pattern, _)| pattern)
                        .to_string(),
                )));
            }
            (Some(_), Some(_)) => {
                return Err(Failure::usage("--pattern is for plain logs: --input-format log"));
            }
            (Some(Form::Log), None) => {
                return Err(Failure::usage("a plain log needs --pattern")
                    .with_hint("--pattern iso, clf, syslog, or a regular expression with (?<time>…)"));
            }
            (Some(Form::Csv), None) => RowFormat::Fields(Dialect::CSV),
            (Some(Form::Tsv), None) => RowFormat::Fields(Dialect::TSV),
            (Some(Form::Jsonl), None) => RowFormat::JsonLines,
            (Some(Form::Lines), None) => RowFormat::Lines,
            (None, None) => match RowFormat::of(source) {
                Some(format) => format,
                None if self.delimiter.is_some() || self.no_header => RowFormat::Fields(Dialect::CSV),
                None => return Ok(None),
            },
        };
        match &mut format {
            RowFormat::Fields(dialect) => {
                dialect.delimiter = self.delimiter.unwrap_or(dialect.delimiter);
                dialect.header = !self.no_header;
            }
            _ if self.delimiter.is_some() || self.no_header => {
                return Err(Failure::usage("--delimiter and --no-header are for CSV and TSV"));
            }
            _ => {}
        }
        Ok(Some(format))
    }

    /// How the times of a named pattern are written, where that is known.
    pub(crate) fn times_of_pattern(&self) -> Option<&'static str> {
        let pattern = self.pattern.as_ref()?;
        PATTERNS.iter().find(|(name, ..)| name == pattern)?.2
    }
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [b'"' | b'\n' | b'\r'] => Err("quotes and newlines have a meaning of their own".into()),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("one character of ASCII, or \\t".into()),
    }
}

/// A size such as `512MiB`, in bytes.
pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    let wrong = || format!("{text:?} is not a size: write 512MiB or 2GiB");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit: usize = match &text[digits..] {
        "KiB" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        _ => return Err(wrong()),
    };
    let count: usize = text[..digits].parse().map_err(|_| wrong())?;
    let bytes = count.checked_mul(unit).ok_or_else(wrong)?;
    match bytes {
        0..MEMORY_MIN => Err(format!("{text} is too little: 16MiB at least")),
        _ => Ok(bytes),
    }
}

const MEMORY_MIN: usize = 16 << 20;

/// An error of the bulk library as the command says it.
pub(crate) fn failed(error: Error) -> Failure {
    let failure = match error.kind {
        Kind::Usage => Failure::usage(error.message),
        Kind::Data | Kind::Io => Failure::cannot(error.message),
    };
    failure.with_hint_if(error.hint.as_ref().map(hints::words))
}

/// A bar with rate and remaining time, on a terminal; nothing elsewhere.
pub(crate) struct Bar {
    bar: Option<ProgressBar>,
    phase: Option<Phase>,
    started: Instant,
}

impl Bar {
    pub(crate) fn new(out: &Out) -> Bar {
        let bar = (io::stderr().is_terminal() && !out.quiet)
            .then(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8)));
        Bar {
            bar,
            phase: None,
            started: Instant::now(),
        }
    }

    /// Shows how far the work is.
    pub(crate) fn show(&mut self, progress: Progress) {
        let Some(bar) = &self.bar else { return };
        if self.phase != Some(progress.phase) {
            self.phase = Some(progress.phase);
            self.started = Instant::now();
            bar.reset();
            bar.set_style(style(progress));
        }
        match progress.total {
            Some(total) => bar.set_length(total),
            None => bar.unset_length(),
        }
        let rate = progress.rows as f64 / self.started.elapsed().as_secs_f64().max(0.001);
        bar.set_message(format!(
            "{} rows, {}/s",
            thousands(progress.rows),
            thousands(rate as u64)
        ));
        bar.set_position(progress.done);
    }

    /// Takes it away.
    pub(crate) fn done(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn style(progress: Progress) -> ProgressStyle {
    let word = match progress.phase {
        Phase::Reading => "reading",
        Phase::Sorting => "sorting",
        Phase::Writing => "writing",
    };
    let template = match progress.total {
        Some(_) => format!("{word} {{wide_bar}} {{percent:>3}} %  {{msg}}  {{eta}} left"),
        None => format!("{word} {{spinner}} {{msg}}  {{elapsed}}"),
    };
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// A number with its thousands apart, as people read it.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("512MiB"), Ok(512 << 20));
        assert_eq!(parse_size("1G"), Ok(1 << 30));
        for wrong in ["", "5", "MiB", "1KiB", "99999999999999999999GiB", "1 GiB"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn delimiters_are_one_character() {
        assert_eq!(parse_delimiter(";"), Ok(b';'));
        assert_eq!(parse_delimiter("\\t"), Ok(b'\t'));
        assert!(
            parse_delimiter(";;").is_err() && parse_delimiter("\"").is_err() && parse_delimiter("é").is_err()
        );
    }
}
