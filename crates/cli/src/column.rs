//! `--column`: ids from a column of files, for the commands that take ids one by one.

use mintage_bulk::{Cells, Dialect, RowFormat, Source};

use crate::errors::Failure;
use crate::lines::{self, Origin};
use crate::out::Out;
use crate::rows::failed;

/// Which column of files.
#[derive(clap::Args, Debug)]
pub(crate) struct ColumnArgs {
    /// The ids are in this column of files, .gz and .zst too (- is standard input): its name in the first line, its
    /// number from 1 if the first line is no header, or a field of JSON Lines
    #[arg(long, value_name = "NAME|N")]
    column: Option<String>,
    /// What separates the columns [default: , and for .tsv files a tab]
    #[arg(long, value_name = "CHARACTER", requires = "column", value_parser = delimiter)]
    delimiter: Option<u8>,
}

impl ColumnArgs {
    /// Calls `each` with every id: those given, those of standard input, or those of the column of the files named.
    /// A row that lacks the column has a reason instead.
    pub(crate) fn for_each(
        &self,
        ids: &[String],
        out: &mut Out,
        mut each: impl FnMut(Result<&str, &str>, Origin, &mut Out) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(column) = &self.column else {
            return lines::for_each(ids, out, |id, place, out| each(Ok(id), place, out));
        };
        let piped = ["-".to_string()];
        for file in if ids.is_empty() { &piped[..] } else { ids } {
            let source = Source::from_arg(file);
            let format = self.format(&source, column)?;
            let mut cells = Cells::open(&source, &format, column).map_err(failed)?;
            while let Some(cell) = cells.next().map_err(failed)? {
                let place = Origin::Line(cell.line);
                match &cell.text {
                    Ok(text) => each(Ok(text), place, out)?,
                    Err(why) => each(Err(&format!("line {}: {why}", cell.line)), place, out)?,
                }
            }
        }
        Ok(())
    }

    /// What the file's name promises, or CSV.
    fn format(&self, source: &Source, column: &str) -> Result<RowFormat, Failure> {
        let mut format = RowFormat::of(source).unwrap_or(RowFormat::Fields(Dialect::CSV));
        match &mut format {
            RowFormat::Fields(dialect) => {
                dialect.delimiter = self.delimiter.unwrap_or(dialect.delimiter);
                dialect.header = column.parse::<u64>().is_err();
                if column == "0" {
                    return Err(Failure::usage("columns are numbered from 1"));
                }
            }
            _ if self.delimiter.is_some() => {
                return Err(Failure::usage("--delimiter is for CSV and TSV"));
            }
            _ => {}
        }
        Ok(format)
    }
}

/// One character of ASCII, `\t` or `tab`.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("a delimiter is one character of ASCII, or tab".into()),
    }
}
