//! `mint series`: generated series of numbers, letters, dates or times, and the holes of a column.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use clap::builder::PossibleValuesParser;
use mintage::{Series, SeriesError, SeriesForm, TextSeries};

use crate::errors::Failure;
use crate::out::Out;

#[derive(clap::Args, Debug)]
#[command(
    override_usage = "mint series FROM TO [--step STEP] [--as FORM] [--missing FILE]\n       mint series seq_FROM_to_TO[_step_N]",
    after_help = "A series that goes down is the one that goes up, reversed: 15 to 1 by 3 is 13 10 7 4 1. With a negative \
    step it begins at FROM: 15 to 1 by -3 is 15 12 9 6 3. A step longer than the way gives FROM alone. Names are \
    MariaDB's, and give what MariaDB gives.\n\n\
    Steps of dates and times have units: w, d, h, m, s, ms, us, ns, together as in 1h30m; or months and years of the \
    calendar, mo and y. Those are counted from FROM: 31 January, 28 February, 31 March. Times are written at the offset \
    of FROM, which is fixed: there is no summer time."
)]
pub(crate) struct Args {
    /// The first bound: a number, letters, a date or a time with its zone; or a name such as seq_1_to_15_step_3
    #[arg(allow_negative_numbers = true)]
    from: String,
    /// The other bound; the series goes down if it is less
    #[arg(allow_negative_numbers = true)]
    to: Option<String>,
    /// From one to the next: a number, for dates also 2w, 1mo, 1y; times need one, such as 1h30m [default: 1]
    #[arg(long, value_name = "STEP", allow_hyphen_values = true)]
    step: Option<String>,
    /// What to write: 27, AA (as spreadsheets name columns), 1970-01-28, 1970-01-28T00:00:00Z [default: as FROM and TO]
    #[arg(long = "as", value_name = "FORM", value_parser = forms())]
    form: Option<String>,
    /// Print those that are not in this file, one per line; - is standard input
    #[arg(long, value_name = "FILE|-")]
    missing: Option<String>,
}

/// The forms of values.
fn forms() -> PossibleValuesParser {
    PossibleValuesParser::new(SeriesForm::ALL.iter().map(|form| form.name()))
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let series = asked(args)?;
    let mut sink = Sink::of(&series, out);
    match &args.missing {
        None => all(&series, &mut sink),
        Some(file) => holes(&series, file, &mut sink),
    }
}

/// The series that is asked for.
fn asked(args: &Args) -> Result<TextSeries, Failure> {
    let form = args.form.as_deref().and_then(SeriesForm::from_name);
    let Some(to) = &args.to else {
        let hint = "for example mint series 1 10, or mint series seq_1_to_15_step_3";
        if args.step.is_some() {
            return Err(Failure::usage("a name holds its own step").with_hint(hint));
        }
        return TextSeries::named(&args.from, form).map_err(|error| match error {
            SeriesError::Name | SeriesError::ZeroStep => Failure::usage(error).with_hint(hint),
            error => refused(&error),
        });
    };
    TextSeries::new(&args.from, to, args.step.as_deref(), form).map_err(|error| refused(&error))
}

fn refused(error: &SeriesError) -> Failure {
    Failure::usage(error).with_hint_if(error.hint())
}

fn all(series: &TextSeries, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let Some(numbers) = series.numbers() else {
        return (0..series.count()).try_for_each(|place| sink.put(place));
    };
    // Where everything fits 64 bits with room to spare, as it nearly always does, count in them.
    if let (Ok(mut number), Ok(last)) = (i64::try_from(numbers.first()), i64::try_from(numbers.last())) {
        let step = match numbers.count() {
            1 => 0,
            _ => (numbers.at(1) - numbers.first()) as i64,
        };
        loop {
            sink.put_number(number)?;
            if number == last {
                return Ok(());
            }
            number += step;
        }
    }
    numbers.iter().try_for_each(|number| sink.put_number(number))
}

/// A series of up to this many values is kept track of bit by bit: 128 MiB.
const BITS_MAX: u128 = 1 << 30;

fn holes(series: &TextSeries, file: &str, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let present = Present::open(file, series)?;
    if series.count() > BITS_MAX {
        let present = present.collect::<Result<BTreeSet<u128>, Failure>>()?;
        return (0..series.count())
            .filter(|place| !present.contains(place))
            .try_for_each(|place| sink.put(place));
    }
    let count = series.count() as usize;
    let mut seen = vec![0u64; count.div_ceil(64)];
    for place in present {
        let place = place? as usize;
        seen[place / 64] |= 1 << (place % 64);
    }
    (0..count)
        .filter(|place| seen[place / 64] >> (place % 64) & 1 == 0)
        .try_for_each(|place| sink.put(place as u128))
}

/// The places of a column's values in a series: values one a line, blanks around them and empty lines skipped, and
/// those that are not in the series.
struct Present<'a> {
    input: Box<dyn BufRead>,
    series: &'a TextSeries,
    name: String,
    line: Vec<u8>,
    at: u64,
}

/// No value has more characters.
const LINE_MAX: u64 = 4096;

impl Present<'_> {
    fn open<'a>(file: &str, series: &'a TextSeries) -> Result<Present<'a>, Failure> {
        let (name, input): (_, Box<dyn Read>) = match file {
            "-" => ("standard input".to_string(), Box::new(io::stdin().lock())),
            _ => {
                let opened = File::open(file);
                let opened = opened.map_err(|e| Failure::cannot(format_args!("cannot open {file}: {e}")))?;
                (file.to_string(), Box::new(opened))
            }
        };
        Ok(Present {
            input: Box::new(BufReader::with_capacity(64 * 1024, input)),
            series,
            name,
            line: Vec::new(),
            at: 0,
        })
    }

    /// The next place, `None` at the end.
    fn read(&mut self) -> Result<Option<u128>, Failure> {
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
            match self.series.place_of(&text) {
                Ok(Some(place)) => return Ok(Some(place)),
                Ok(None) => {}
                Err(_) => {
                    let shown: String = text.chars().take(40).collect();
                    let what = self.series.form().one();
                    return Err(Failure::cannot(format_args!(
                        "line {} of {} is not {what}: {shown:?}",
                        self.at, self.name
                    )));
                }
            }
        }
    }
}

impl Iterator for Present<'_> {
    type Item = Result<u128, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Where the values go, one per line.
struct Sink<'a> {
    series: &'a TextSeries,
    numbers: Option<Series>,
    out: &'a mut Out,
}

impl<'a> Sink<'a> {
    fn of(series: &'a TextSeries, out: &'a mut Out) -> Self {
        Sink {
            series,
            numbers: series.numbers(),
            out,
        }
    }

    /// The value at a place.
    fn put(&mut self, place: u128) -> Result<(), Failure> {
        match self.numbers {
            Some(numbers) => self.put_number(numbers.at(place)),
            None => {
                let series = self.series;
                self.put_line(|line| series.write(place, line))
            }
        }
    }

    fn put_number(&mut self, number: impl itoa::Integer) -> Result<(), Failure> {
        self.put_line(|line| line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()))
    }

    fn put_line(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Failure> {
        let (before, after): (&[u8], &[u8]) = match self.out.json {
            true => (b"{\"seq\":\"", b"\"}\n"),
            false => (b"", b"\n"),
        };
        let buffer = self.out.buffer();
        buffer.extend_from_slice(before);
        write(buffer);
        buffer.extend_from_slice(after);
        self.out.written()
    }
}
