//! Rows of CSV, TSV, JSON Lines, plain logs and bare lists, with the few columns that are asked for.
//!
//! A row keeps its bytes as they stand in the file, so that what is written again is what was read.

mod array;
mod csv;
mod json;
mod log;

use sha2::{Digest, Sha256};

pub use log::PATTERNS;

use crate::error::{Error, column_hint, shown};
use crate::input::{Blocks, Meter, Source};
use crate::lines::{Lines, without_newline};

/// What a row looks like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowFormat {
    /// Fields parted by a character.
    Fields(Dialect),
    /// One JSON object a line; a column is a field's name, or a path such as `request.time`.
    JsonLines,
    /// Lines that a regular expression takes apart; a column is a named group, `(?<time>…)`.
    Log(String),
    /// One value a line, nothing else; its only column is called `id`.
    Lines,
}

/// How fields are parted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// What separates two fields; neither a quote nor a newline.
    pub delimiter: u8,
    /// Whether a field may stand in double quotes, which then may hold anything (RFC 4180). TSV has no quotes.
    pub quotes: bool,
    /// Whether the first row names the columns; without, they are called `1`, `2`, ….
    pub header: bool,
}

impl Dialect {
    /// Comma, quotes, a header.
    pub const CSV: Dialect = Dialect {
        delimiter: b',',
        quotes: true,
        header: true,
    };
    /// Tab, no quotes, a header.
    pub const TSV: Dialect = Dialect {
        delimiter: b'\t',
        quotes: false,
        header: true,
    };
}

impl RowFormat {
    /// What the name of a file promises, whether or not it is compressed.
    ///
    /// ```
    /// use mintage_bulk::{Dialect, RowFormat, Source};
    /// assert_eq!(RowFormat::of(&Source::from_arg("a.csv.gz")), Some(RowFormat::Fields(Dialect::CSV)));
    /// assert_eq!(RowFormat::of(&Source::from_arg("a.txt")), None);
    /// ```
    pub fn of(source: &Source) -> Option<RowFormat> {
        let stem = source.stem()?;
        match stem.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(RowFormat::Fields(Dialect::CSV)),
            "tsv" | "tab" => Some(RowFormat::Fields(Dialect::TSV)),
            "jsonl" | "ndjson" | "json" => Some(RowFormat::JsonLines),
            _ => None,
        }
    }
}

/// Why the fields of a row are not to be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Problem {
    /// Another number of fields than the header, or than the first row.
    Ragged { found: usize, expected: usize },
    /// A quote that opened a field and is never closed: the row is the rest of the file.
    OpenQuote { lines: u64 },
    /// No JSON object.
    Json(String),
    /// The pattern does not match.
    NoMatch,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::Ragged { found, expected } => {
                let fields = if *found == 1 { "field" } else { "fields" };
                write!(f, "this row has {found} {fields}, the header has {expected}")
            }
            Problem::OpenQuote { lines } => {
                f.write_str("a quote opens a field and is never closed")?;
                match lines.saturating_sub(1) {
                    0 => Ok(()),
                    1 => f.write_str("; it takes in the line that follows"),
                    more => write!(f, "; it takes in all {more} lines that follow"),
                }
            }
            Problem::Json(why) => write!(f, "this line is not a JSON object: {why}"),
            Problem::NoMatch => f.write_str("the pattern does not match this line"),
        }
    }
}

/// Where the text of a field is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FieldPlace {
    /// The row has no such field, or it is null.
    Absent,
    /// In the row, unchanged.
    Raw(usize, usize),
    /// In the scratch buffer, because something had to be unescaped.
    Scratch(usize, usize),
}

/// What a parser fills for each row.
#[derive(Debug, Default)]
struct Found {
    places: Vec<FieldPlace>,
    scratch: Vec<u8>,
}

impl Found {
    fn clear(&mut self) {
        self.places.fill(FieldPlace::Absent);
        self.scratch.clear();
    }
}

/// One row.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    /// Its bytes without the newline.
    pub(crate) raw: &'a [u8],
    /// `\n`, `\r\n`, or nothing for the last row.
    pub(crate) newline: &'a [u8],
    /// The number of its first line, from 1.
    pub(crate) line: u64,
    /// An empty line: no row at all.
    pub(crate) blank: bool,
    pub(crate) problem: Option<Problem>,
    found: &'a Found,
}

impl<'a> Row<'a> {
    /// The text of the column at this place of those asked for.
    #[inline]
    pub(crate) fn field(&self, wanted: usize) -> Option<&'a [u8]> {
        match self.found.places[wanted] {
            FieldPlace::Absent => None,
            FieldPlace::Raw(from, to) => Some(&self.raw[from..to]),
            FieldPlace::Scratch(from, to) => Some(&self.found.scratch[from..to]),
        }
    }
}

/// The rows of a source.
pub(crate) struct Rows {
    lines: Lines,
    parser: Parser,
    found: Found,
    wanted: Vec<String>,
    /// The row that was handed out last and is still in the buffer: its bytes and lines.
    handed: (usize, u64),
    header: Option<Header>,
    beginning: [u8; 32],
}

/// The first row, where it names the columns.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    /// Its bytes, newline included.
    pub(crate) raw: Vec<u8>,
    pub(crate) names: Vec<String>,
}

enum Parser {
    Fields(Box<csv::Fields>),
    Json(json::Picker),
    /// The elements of one array.
    Array(json::Picker),
    Log(log::Matcher),
    Lines,
}

impl Rows {
    /// Opens a source whose rows have these columns.
    ///
    /// # Errors
    /// It cannot be read, or has no such column.
    pub(crate) fn open(
        source: &Source,
        format: &RowFormat,
        wanted: &[String],
        meter: &Meter,
    ) -> Result<Rows, Error> {
        Rows::new(Blocks::open(source, 0, meter)?, format, wanted)
    }

    /// Opens a source of ids, which alone may be one JSON array: rows of it cannot be written again one a line.
    pub(crate) fn open_ids(
        source: &Source,
        format: &RowFormat,
        wanted: &[String],
        meter: &Meter,
    ) -> Result<Rows, Error> {
        let mut rows = Rows::open(source, format, wanted, meter)?;
        if let Parser::Json(_) = rows.parser
            && array::begins(rows.lines.data())
        {
            rows.parser = Parser::Array(json::Picker::new(wanted));
        }
        Ok(rows)
    }

    /// The next element of an array.
    fn next_element(&mut self) -> Result<Option<Row<'_>>, Error> {
        let Some(element) = array::next(&mut self.lines)? else {
            return Ok(None);
        };
        self.lines.consume(element.start, element.lines_before);
        self.found.clear();
        let end = element.end - element.start;
        let line = self.lines.line() + 1;
        self.handed = (end, element.lines_in);
        let raw = self.lines.data()[..end].trim_ascii_end();
        let problem = match (&mut self.parser, raw.first()) {
            (Parser::Array(picker), Some(b'{')) => picker.read(raw, &mut self.found).err(),
            // An array of ids alone.
            _ => {
                let quoted = raw.len() > 1 && raw.starts_with(b"\"") && raw.ends_with(b"\"");
                let quote = usize::from(quoted);
                self.found.places[0] = FieldPlace::Raw(quote, raw.len() - quote);
                None
            }
        };
        Ok(Some(Row {
            raw,
            newline: &[],
            line,
            blank: false,
            problem,
            found: &self.found,
        }))
    }

    /// Rows out of these bytes.
    pub(crate) fn new(blocks: Blocks, format: &RowFormat, wanted: &[String]) -> Result<Rows, Error> {
        let mut lines = Lines::new(blocks)?;
        lines.fill(BEGINNING_BYTES)?;
        let shown = lines.data().len().min(BEGINNING_BYTES);
        let beginning = Sha256::digest(&lines.data()[..shown]).into();
        let mut rows = Rows {
            parser: match format {
                RowFormat::Fields(dialect) => Parser::Fields(Box::new(csv::Fields::new(*dialect))),
                RowFormat::JsonLines => Parser::Json(json::Picker::new(wanted)),
                RowFormat::Log(pattern) => Parser::Log(log::Matcher::new(pattern, wanted)?),
                RowFormat::Lines => Parser::Lines,
            },
            lines,
            found: Found {
                places: vec![FieldPlace::Absent; wanted.len()],
                scratch: Vec::new(),
            },
            wanted: wanted.to_vec(),
            handed: (0, 0),
            header: None,
            beginning,
        };
        rows.resolve()?;
        Ok(rows)
    }

    /// The same columns, from a place that [`Rows::place`] gave.
    pub(crate) fn go_on_at(&mut self, source: &Source, place: Position, meter: &Meter) -> Result<(), Error> {
        self.lines = Lines::open_at(source, place.offset, place.line, meter)?;
        self.handed = (0, 0);
        Ok(())
    }

    /// The place after the row that was read last.
    pub(crate) fn place(&self) -> Position {
        Position {
            offset: self.lines.offset() + self.handed.0 as u64,
            line: self.lines.line() + self.handed.1,
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.lines.name()
    }

    pub(crate) fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// A digest of the first 64 KiB.
    pub(crate) fn beginning(&self) -> &[u8; 32] {
        &self.beginning
    }

    /// The next row, or `None` at the end. A row that cannot be taken apart says so itself.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        let (bytes, count) = std::mem::take(&mut self.handed);
        self.lines.consume(bytes, count);
        if let Parser::Array(_) = self.parser {
            return self.next_element();
        }
        let Some(mut end) = self.lines.line_end(0)? else {
            return Ok(None);
        };
        let line = self.lines.line() + 1;
        let mut count = 1;
        self.found.clear();
        let mut problem = None;
        let (text, _) = without_newline(&self.lines.data()[..end]);
        let blank = text.is_empty();
        if !blank {
            match &mut self.parser {
                Parser::Lines => self.found.places[0] = FieldPlace::Raw(0, text.len()),
                Parser::Json(picker) | Parser::Array(picker) => {
                    problem = picker.read(text, &mut self.found).err()
                }
                Parser::Log(matcher) => problem = matcher.read(text, &mut self.found).err(),
                Parser::Fields(fields) if fields.simple(text) => {
                    problem = fields.split(text, &mut self.found).err();
                }
                Parser::Fields(fields) => {
                    let (row_end, row_lines) = fields.quoted(&mut self.lines, end)?;
                    (end, count) = (row_end, row_lines);
                    problem = fields.take_quoted(&mut self.found).err();
                }
            }
        }
        self.handed = (end, count);
        let row = &self.lines.data()[..end];
        let (raw, newline) = without_newline(row);
        Ok(Some(Row {
            raw,
            newline: &row[row.len() - newline..],
            line,
            blank,
            problem,
            found: &self.found,
        }))
    }

    /// The error of a row that lacks a column which only JSON rows can lack.
    pub(crate) fn absent(row: &Row<'_>, file: &str, column: &str) -> Error {
        let names = json::names(row.raw);
        if names.iter().any(|name| name == column) {
            return Error::at(file, row.line, format_args!("the field {column:?} is null"));
        }
        let error = Error::at(file, row.line, format_args!("this row has no field {column:?}"));
        match names.is_empty() {
            true => error,
            false => error.with_hint(column_hint(column, &names)),
        }
    }

    /// Reads the header, and finds the columns in it.
    fn resolve(&mut self) -> Result<(), Error> {
        let Parser::Fields(fields) = &mut self.parser else {
            return Ok(());
        };
        let dialect = fields.dialect();
        let Some(end) = self.lines.line_end(0)? else {
            return Err(Error::at(
                self.lines.name(),
                1,
                if dialect.header {
                    "the file is empty: there is no header that names the columns"
                } else {
                    "the file is empty"
                },
            ));
        };
        let (line, _) = without_newline(&self.lines.data()[..end]);
        let (names, (end, count)) = match !line.is_empty() && fields.simple(line) {
            true => (fields.plain_names(line), (end, 1)),
            false => {
                let place = fields.quoted(&mut self.lines, end)?;
                (fields.names(), place)
            }
        };
        let names = match dialect.header {
            true => names,
            false => (1..=names.len()).map(|n| n.to_string()).collect(),
        };
        fields.expect(slots_of(
            &self.wanted,
            &names,
            self.lines.name(),
            dialect.delimiter,
        )?);
        if dialect.header {
            let raw = self.lines.data()[..end].to_vec();
            self.lines.consume(end, count);
            self.header = Some(Header { raw, names });
        }
        Ok(())
    }
}

/// For each field of a row, which of the wanted columns it is.
fn slots_of(
    wanted: &[String],
    names: &[String],
    file: &str,
    delimiter: u8,
) -> Result<Vec<Option<Vec<usize>>>, Error> {
    let mut slots = vec![None; names.len()];
    for (at_wanted, column) in wanted.iter().enumerate() {
        let mut found = names.iter().enumerate().filter(|(_, name)| *name == column);
        let Some((at, _)) = found.next() else {
            let what = format!("{} has no column {column:?}", file);
            let hint = match names.len() {
                1 => format!(
                    "there is only {}: is {:?} what separates the fields?",
                    shown(names[0].as_bytes()),
                    char::from(delimiter)
                ),
                _ => column_hint(column, names),
            };
            return Err(Error::usage(what).with_hint(hint));
        };
        if let Some((again, _)) = found.next() {
            return Err(Error::usage(format_args!(
                "{} has two columns {column:?}: the {} and the {}",
                file,
                ordinal(at + 1),
                ordinal(again + 1)
            )));
        }
        // One column may serve twice, as key and as node.
        slots[at].get_or_insert_with(Vec::new).push(at_wanted);
    }
    Ok(slots)
}

/// A place between two rows.
#[derive(Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, Debug)]
pub(crate) struct Position {
    /// In the decoded stream.
    pub(crate) offset: u64,
    /// Lines before it.
    pub(crate) line: u64,
}

/// How much of the input the default seed is made of.
const BEGINNING_BYTES: usize = 64 * 1024;

fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (1, 1..=10 | 20..) => "st",
        (2, 1..=10 | 20..) => "nd",
        (3, 1..=10 | 20..) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every row's line, fields, raw bytes, problem, and the length of its newline.
    type Seen = Vec<(u64, Vec<Option<String>>, String, Option<Problem>, usize)>;

    fn read(text: &[u8], format: RowFormat, wanted: &[&str]) -> Result<Seen, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        std::fs::write(&path, text).unwrap();
        let wanted: Vec<String> = wanted.iter().map(|w| w.to_string()).collect();
        let mut rows = Rows::open(&Source::File(path), &format, &wanted, &Meter::default())?;
        let mut seen = Vec::new();
        while let Some(row) = rows.next()? {
            let fields = (0..wanted.len()).map(|i| {
                row.field(i)
                    .map(|field| String::from_utf8_lossy(field).into_owned())
            });
            seen.push((
                row.line,
                fields.collect(),
                String::from_utf8_lossy(row.raw).into_owned(),
                row.problem.clone(),
                row.newline.len(),
            ));
        }
        Ok(seen)
    }

    fn some(fields: &[&str]) -> Vec<Option<String>> {
        fields.iter().map(|f| Some(f.to_string())).collect()
    }

    #[test]
    fn quoted_rows_keep_their_bytes_and_their_line_numbers() {
        let text = b"a,\"the, time\",c\r\n1,\"x\r\ny \"\"z\"\"\",3\r\n\r\n4,5,6\r\n7,8";
        let seen = read(text, RowFormat::Fields(Dialect::CSV), &["the, time", "a"]).unwrap();
        let ragged = Problem::Ragged {
            found: 2,
            expected: 3,
        };
        assert_eq!(seen.len(), 4);
        assert_eq!(seen[0].0, 2);
        assert_eq!(seen[0].1, some(&["x\r\ny \"z\"", "1"]));
        assert_eq!(seen[0].2, "1,\"x\r\ny \"\"z\"\"\",3");
        assert_eq!((seen[1].0, seen[1].2.as_str()), (4, ""));
        assert_eq!((seen[2].0, &seen[2].1), (5, &some(&["5", "4"])));
        assert_eq!((seen[3].0, &seen[3].3), (6, &Some(ragged)));
    }

    #[test]
    fn tabs_have_no_quotes_and_numbers_name_columns_without_a_header() {
        let dialect = Dialect {
            header: false,
            ..Dialect::TSV
        };
        let seen = read(b"\"a\tb\nc\t\"d\"\n", RowFormat::Fields(dialect), &["2", "1"]).unwrap();
        assert_eq!(seen[0].1, some(&["b", "\"a"]));
        assert_eq!(seen[1].1, some(&["\"d\"", "c"]));
    }

    #[test]
    fn json_rows_give_strings_numbers_and_paths() {
        let text = br#"{"t":"2024-01-01T00:00:00Z","n":12.50,"deep":{"er":{"k":"a\u00e9\"b"}}}
{"n":null,"deep":{"er":[1]}}
[1]
{"t":"x""#;
        let seen = read(text, RowFormat::JsonLines, &["t", "n", "deep.er.k"]).unwrap();
        assert_eq!(seen[0].1, some(&["2024-01-01T00:00:00Z", "12.50", "aé\"b"]));
        assert_eq!(seen[1].1, [None, None, None]);
        assert_eq!(seen[1].3, None);
        for row in [2, 3] {
            assert!(matches!(seen[row].3, Some(Problem::Json(_))), "{:?}", seen[row]);
        }
    }

    /// Half of a surrogate pair was read as an empty text: two such keys would have been one.
    #[test]
    fn json_texts_that_are_no_text_are_refused() {
        let text = br#"{"a":"\ud83d"}
{"a":"\ud83d\ude00"}
{"b":"\ud83d","a":"x"}
"#;
        let seen = read(text, RowFormat::JsonLines, &["a"]).unwrap();
        let Some(Problem::Json(why)) = &seen[0].3 else {
            panic!("{:?}", seen[0]);
        };
        assert!(why.contains("hex escape"), "{why}");
        assert_eq!((&seen[1].1, &seen[1].3), (&some(&["\u{1f600}"]), &None));
        assert_eq!((&seen[2].1, &seen[2].3), (&some(&["x"]), &None));
    }

    #[test]
    fn logs_are_taken_apart_by_named_groups() {
        let pattern = r"^(?<time>\S+) (?:\[(?<host>\w+)\] )?(?<rest>.*)$";
        let text = b"t1 [web] hello\nt2 bye\nnothing\n";
        let seen = read(text, RowFormat::Log(pattern.into()), &["time", "host"]).unwrap();
        assert_eq!(seen[0].1, some(&["t1", "web"]));
        assert_eq!(seen[1].1, [Some("t2".into()), None]);
        assert_eq!(seen[2].3, Some(Problem::NoMatch));
    }

    #[test]
    fn what_cannot_be_found_is_refused_with_the_nearest() {
        let csv = RowFormat::Fields(Dialect::CSV);
        for (text, format, column, says, hint) in [
            (
                &b"a,created_at\n"[..],
                csv.clone(),
                "created",
                "has no column \"created\"",
                "there are: a, created_at",
            ),
            (
                b"a;b\n",
                csv.clone(),
                "a",
                "has no column",
                "is ',' what separates",
            ),
            (b"a,b,a\n", csv.clone(), "a", "the 1st and the 3rd", ""),
            (b"", csv, "a", "the file is empty", ""),
            (
                b"x\n",
                RowFormat::Log("(?<time>.)".into()),
                "tme",
                "no group \"tme\"",
                "time",
            ),
            (
                b"x\n",
                RowFormat::Log("(?<time".into()),
                "time",
                "is not a regular expression",
                "",
            ),
        ] {
            let error = read(text, format, &[column]).unwrap_err();
            assert!(error.message.contains(says), "{error}");
            let said = format!("{:?}", error.hint);
            assert!(said.contains(hint), "{says}: {said}");
        }
    }

    #[test]
    fn a_quote_that_is_never_closed_ends_with_the_file() {
        let seen = read(b"a,b\n1,\"open\n2,3\n", RowFormat::Fields(Dialect::CSV), &["a"]).unwrap();
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].2, "1,\"open\n2,3");
        assert_eq!(seen[0].3, Some(Problem::OpenQuote { lines: 2 }));
        for closed in [
            &b"a,b\n1,\"shut\n2\"\n"[..],
            b"a,b\n1,\"shut\n2\"",
            b"a,b\n1,no\"quote",
            b"a,b\n1,no\"quote\n",
        ] {
            let seen = read(closed, RowFormat::Fields(Dialect::CSV), &["a"]).unwrap();
            assert_eq!((seen.len(), &seen[0].3), (1, &None), "{closed:?}");
        }
    }

    proptest! {
        /// The fast way of reading fields has the csv crate's core as its slow twin.
        #[test]
        fn splitting_agrees_with_csv_core(text in "[ab,\"\r\n]{0,60}") {
            let text = format!("x,y\n{text}");
            let seen = read(text.as_bytes(), RowFormat::Fields(Dialect::CSV), &["x"]).unwrap();
            let kept: usize = seen.iter().map(|row| row.2.len() + row.4).sum();
            prop_assert_eq!(kept, text.len() - "x,y\n".len(), "rows and newlines make up the file");
            for (_, fields, raw, problem, _) in seen {
                if raw.contains('"') || raw.is_empty() {
                    continue;
                }
                let split: Vec<&str> = raw.split(',').collect();
                match problem {
                    None => prop_assert_eq!(fields[0].as_deref(), Some(split[0])),
                    Some(problem) => {
                        prop_assert_eq!(problem, Problem::Ragged { found: split.len(), expected: 2 });
                    }
                }
            }
        }

        #[test]
        fn no_bytes_make_a_reader_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
            for format in [
                RowFormat::Fields(Dialect::CSV),
                RowFormat::Fields(Dialect { header: false, ..Dialect::CSV }),
                RowFormat::JsonLines,
                RowFormat::Log(r"(?<a>\d+)".into()),
            ] {
                let _ = read(&text, format, &["a"]);
            }
        }
    }
}
