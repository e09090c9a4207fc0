//! `mint series`: generated series of numbers, letters or dates, and the holes of a column.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use clap::ValueEnum;
use mintage::{Series, SeriesError, date_of, day_of_date, letters_of, number_of_letters};

use crate::errors::Failure;
use crate::out::Out;

#[derive(clap::Args, Debug)]
#[command(
    override_usage = "mint series FROM TO [--step N] [--as FORM] [--missing FILE]\n       mint series seq_FROM_to_TO[_step_N]",
    after_help = "A series that goes down is the one that goes up, reversed: 15 to 1 by 3 is 13 10 7 4 1. A step longer \
    than the way gives FROM alone. Names are MariaDB's, and give what MariaDB gives."
)]
pub(crate) struct Args {
    /// The first bound: a number, letters or a date; or a name such as seq_1_to_15_step_3
    #[arg(allow_negative_numbers = true)]
    from: String,
    /// The other bound; the series goes down if it is less
    #[arg(allow_negative_numbers = true)]
    to: Option<String>,
    /// From one to the next
    #[arg(long, value_name = "N", default_value_t = 1)]
    step: u64,
    /// What to write: 27, AA (as spreadsheets name columns), 1970-01-28 [default: as FROM and TO]
    #[arg(long = "as", value_name = "FORM")]
    form: Option<Form>,
    /// Print those that are not in this file, one per line; - is standard input
    #[arg(long, value_name = "FILE|-")]
    missing: Option<String>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Number,
    Letter,
    Date,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let (series, form) = asked(args)?;
    check_form(&series, form)?;
    let mut sink = Sink { form, out };
    match &args.missing {
        None => all(&series, &mut sink),
        Some(file) => holes(&series, file, &mut sink),
    }
}

/// The series, and how to write it.
fn asked(args: &Args) -> Result<(Series, Form), Failure> {
    let Some(to) = &args.to else {
        let hint = "for example mint series 1 10, or mint series seq_1_to_15_step_3";
        if args.step != 1 {
            return Err(Failure::usage("a name holds its own step").with_hint(hint));
        }
        let series = args
            .from
            .parse()
            .map_err(|e: SeriesError| Failure::usage(e).with_hint(hint))?;
        return Ok((series, args.form.unwrap_or(Form::Number)));
    };
    let (first, last) = (read(&args.from)?, read(to)?);
    let form = match (args.form, first.1, last.1) {
        (None, a, b) if a == b => a,
        // Numbers can be written as letters; a date is a date.
        (Some(Form::Letter), Form::Number, Form::Number) => Form::Letter,
        (Some(Form::Number), Form::Letter, Form::Letter) => Form::Number,
        (Some(wanted), a, b) if wanted == a && wanted == b => wanted,
        _ => {
            return Err(Failure::usage(format_args!(
                "{} and {to} are not bounds of one such series",
                args.from
            ))
            .with_hint("both are numbers, both letters, or both dates"));
        }
    };
    let series = Series::new(first.0, last.0, args.step).map_err(Failure::usage)?;
    Ok((series, form))
}

/// A bound, and the form it has.
fn read(text: &str) -> Result<(i128, Form), Failure> {
    let looks_like = |form| match form {
        Form::Number => text.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit()),
        Form::Letter => text.bytes().all(|b| b.is_ascii_alphabetic()),
        Form::Date => text.contains('-'),
    };
    let form = [Form::Number, Form::Letter, Form::Date]
        .into_iter()
        .find(|form| looks_like(*form));
    let number = match form {
        _ if text.is_empty() => None,
        Some(form) => parse(text, form),
        None => None,
    };
    match (number, form) {
        (Some(number), Some(form)) => Ok((number, form)),
        (None, Some(Form::Letter)) => Err(Failure::usage(SeriesError::Letters)),
        (None, Some(Form::Date)) => Err(Failure::usage(SeriesError::Date)),
        _ => Err(Failure::usage(format_args!(
            "{text:?} is not a bound: write a 64-bit number, letters, or a date YYYY-MM-DD"
        ))),
    }
}

/// A value of one form as a number.
fn parse(text: &str, form: Form) -> Option<i128> {
    match form {
        Form::Number => {
            let number = text.parse().ok()?;
            (i128::from(i64::MIN)..=i128::from(u64::MAX))
                .contains(&number)
                .then_some(number)
        }
        Form::Letter => number_of_letters(text).ok().map(i128::from),
        Form::Date => day_of_date(text).ok().map(i128::from),
    }
}

/// Refuses numbers that the form cannot write.
fn check_form(series: &Series, form: Form) -> Result<(), Failure> {
    let ends = [series.first(), series.last()];
    let fits = |number: &i128| match form {
        Form::Number => true,
        Form::Letter => *number >= 1,
        Form::Date => i64::try_from(*number).is_ok_and(|day| date_of(day).is_ok()),
    };
    match ends.iter().find(|end| !fits(end)) {
        None => Ok(()),
        Some(end) if form == Form::Letter => {
            Err(Failure::usage(format_args!("{end} has no letters: 1 is A")))
        }
        Some(end) => Err(Failure::usage(format_args!(
            "{end} is not a day: {}",
            SeriesError::Date
        ))),
    }
}

fn all(series: &Series, sink: &mut Sink<'_>) -> Result<(), Failure> {
    // Where everything fits 64 bits with room to spare, as it nearly always does, count in them.
    let (first, last) = (i64::try_from(series.first()), i64::try_from(series.last()));
    if let (Ok(mut number), Ok(last), Form::Number) = (first, last, sink.form) {
        let mut rest = series.iter();
        rest.next();
        let step = rest
            .next()
            .map_or(0, |second| (second - i128::from(number)) as i64);
        loop {
            sink.put_number(number)?;
            if number == last {
                return Ok(());
            }
            number += step;
        }
    }
    series.iter().try_for_each(|number| sink.put(number))
}

/// A series of up to this many numbers is kept track of bit by bit: 128 MiB.
const BITS_MAX: u128 = 1 << 30;

fn holes(series: &Series, file: &str, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let form = sink.form;
    let values = Values::open(file, form)?;
    if series.count() > BITS_MAX {
        let present = values.collect::<Result<Vec<i128>, Failure>>()?;
        return series.missing(present).try_for_each(|number| sink.put(number));
    }
    let (low, high) = (
        series.first().min(series.last()),
        series.first().max(series.last()),
    );
    let step = if series.count() > 1 {
        (high - low) / (series.count() as i128 - 1)
    } else {
        1
    };
    let place = |number: i128| ((number - low) / step) as usize;
    let mut seen = vec![0u64; (series.count() as usize).div_ceil(64)];
    for number in values {
        let number = number?;
        if series.contains(number) {
            seen[place(number) / 64] |= 1 << (place(number) % 64);
        }
    }
    for number in series.iter() {
        if seen[place(number) / 64] >> (place(number) % 64) & 1 == 0 {
            sink.put(number)?;
        }
    }
    Ok(())
}

/// The values of a column: one a line, blanks around them and empty lines skipped.
struct Values {
    input: Box<dyn BufRead>,
    form: Form,
    name: String,
    line: Vec<u8>,
    at: u64,
}

/// No value has more characters.
const LINE_MAX: u64 = 4096;

impl Values {
    fn open(file: &str, form: Form) -> Result<Values, Failure> {
        let (name, input): (_, Box<dyn Read>) = match file {
            "-" => ("standard input".to_string(), Box::new(io::stdin().lock())),
            _ => {
                let opened = File::open(file);
                let opened = opened.map_err(|e| Failure::cannot(format_args!("cannot open {file}: {e}")))?;
                (file.to_string(), Box::new(opened))
            }
        };
        let input = Box::new(BufReader::with_capacity(64 * 1024, input));
        Ok(Values {
            input,
            form,
            name,
            line: Vec::new(),
            at: 0,
        })
    }

    /// The next value, `None` at the end.
    fn read(&mut self) -> Result<Option<i128>, Failure> {
        loop {
            self.line.clear();
            self.at += 1;
            let mut limited = (&mut self.input).take(LINE_MAX);
            let read = limited.read_until(b'\n', &mut self.line);
            match read {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(e) => return Err(Failure::cannot(format_args!("cannot read {}: {e}", self.name))),
            }
            let text = self.line.trim_ascii();
            if text.is_empty() {
                continue;
            }
            let text = String::from_utf8_lossy(text);
            return match parse(&text, self.form) {
                Some(number) => Ok(Some(number)),
                None => {
                    let shown: String = text.chars().take(40).collect();
                    let what = match self.form {
                        Form::Number => "a number",
                        Form::Letter => "letters",
                        Form::Date => "a date YYYY-MM-DD",
                    };
                    Err(Failure::cannot(format_args!(
                        "line {} of {} is not {what}: {shown:?}",
                        self.at, self.name
                    )))
                }
            };
        }
    }
}

impl Iterator for Values {
    type Item = Result<i128, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Where the values go, one per line.
struct Sink<'a> {
    form: Form,
    out: &'a mut Out,
}

impl Sink<'_> {
    fn put(&mut self, number: i128) -> Result<(), Failure> {
        match self.form {
            Form::Number => self.put_number(number),
            Form::Letter => self.put_text(&letters_of(u64::try_from(number).unwrap_or(0))),
            Form::Date => {
                let day = i64::try_from(number).map_err(|_| SeriesError::Date);
                self.put_text(&day.and_then(date_of).map_err(Failure::usage)?)
            }
        }
    }

    fn put_number(&mut self, number: impl itoa::Integer) -> Result<(), Failure> {
        self.put_text(itoa::Buffer::new().format(number))
    }

    fn put_text(&mut self, text: &str) -> Result<(), Failure> {
        let (before, after): (&[u8], &[u8]) = match self.out.json {
            true => (b"{\"seq\":\"", b"\"}\n"),
            false => (b"", b"\n"),
        };
        let buffer = self.out.buffer();
        buffer.extend_from_slice(before);
        buffer.extend_from_slice(text.as_bytes());
        buffer.extend_from_slice(after);
        self.out.written()
    }
}
