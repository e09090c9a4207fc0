//! A column of CSV files.

use std::fs::File;
use std::io::{self, Read};

use csv::{ByteRecord, ReaderBuilder};
use serde_json::json;

use super::{Inspector, summary};
use crate::errors::Failure;
use crate::out::Out;

/// `--delimiter`: one character of ASCII, `\t` or `tab`.
pub(super) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("a delimiter is one character of ASCII, or tab".into()),
    }
}

/// Inspects the ids of a column; answers whether any could not be read. Each record gives one line.
pub(super) fn inspect(
    file: &str,
    column: &str,
    delimiter: Option<u8>,
    inspector: &Inspector,
    out: &mut Out,
) -> Result<bool, Failure> {
    let input: Box<dyn Read> = match file {
        "-" => Box::new(io::stdin().lock()),
        path => {
            let file =
                File::open(path).map_err(|e| Failure::cannot(format_args!("cannot read {path}: {e}")))?;
            Box::new(file)
        }
    };
    let delimiter = delimiter.unwrap_or(if file.ends_with(".tsv") { b'\t' } else { b',' });
    let number = column.parse::<usize>().ok();
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(number.is_none())
        .flexible(true)
        .from_reader(input);
    let cannot = |e: csv::Error| Failure::cannot(format_args!("cannot read {file}: {e}"));
    let at = match number {
        Some(0) => return Err(Failure::usage("columns are numbered from 1")),
        Some(number) => number - 1,
        None => {
            let headers = reader.byte_headers().map_err(cannot)?;
            // A byte order mark belongs to no name.
            let name =
                |header: &[u8]| header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header) == column.as_bytes();
            headers.iter().position(name).ok_or_else(|| {
                let names: Vec<_> = headers.iter().map(String::from_utf8_lossy).collect();
                Failure::usage(format_args!("{file} has no column {column:?}"))
                    .with_hint(format_args!("its first line names: {}", names.join(", ")))
            })?
        }
    };
    let mut unknown = false;
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(cannot)? {
        let line = record.position().map_or(0, csv::Position::line);
        let Some(id) = record.get(at) else {
            unknown = true;
            let why = format!(
                "line {line} has no column {}, but {} in all",
                at + 1,
                record.len()
            );
            match out.json {
                true => out.json_line(&json!({"input": null, "readings": [], "error": why}))?,
                false => out.line(format!("-  {why}"))?,
            }
            continue;
        };
        let id = String::from_utf8_lossy(id);
        let found = inspector.inspect(&id);
        unknown |= found.known().is_empty();
        match out.json {
            true => found.write(&id, out)?,
            false => summary(&id, &found, out)?,
        }
    }
    Ok(unknown)
}
