//! `--since`: where counters stood, from what an earlier `--json` printed.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use mintage::Timestamp;
use mintage_ledger::doctor::{Earlier, Stood};
use serde::Deserialize;

use crate::errors::Failure;

/// How long a document may be: one of a counter that fills many columns is some kilobytes.
const LINE_MAX: usize = 1 << 20;

/// How many counters one file may tell of.
const COUNTERS_MAX: usize = 2_000_000;

/// What matters of a document; the summary has no name.
#[derive(Deserialize)]
struct Line {
    source: Option<String>,
    place: Option<String>,
    name: Option<String>,
    mark: Option<String>,
    at: Option<String>,
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Earlier, Failure> {
    let shown = path.display();
    let file = File::open(path).map_err(|error| Failure::usage(format_args!("--since {shown}: {error}")))?;
    let refused = |at: usize, why: &str| {
        Failure::usage(format_args!("--since {shown}, line {at}: {why}"))
            .with_hint("it is what mint doctor --json printed before")
    };
    let mut input = BufReader::new(file);
    let mut earlier = Earlier::default();
    let mut line = Vec::new();
    for at in 1.. {
        line.clear();
        let read = input.by_ref().take(LINE_MAX as u64).read_until(b'\n', &mut line);
        if read.map_err(|error| Failure::cannot(format_args!("--since {shown}: {error}")))? == 0 {
            break;
        }
        if line.len() == LINE_MAX {
            return Err(refused(at, "it is too long for one of ours"));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let found: Line = serde_json::from_slice(&line).map_err(|error| refused(at, &error.to_string()))?;
        note(found, &mut earlier).map_err(|why| refused(at, &why))?;
        if earlier.len() > COUNTERS_MAX {
            return Err(refused(at, "more than 2,000,000 counters"));
        }
    }
    Ok(earlier)
}

fn note(line: Line, earlier: &mut Earlier) -> Result<(), String> {
    let (Some(source), Some(place), Some(name), Some(mark)) = (line.source, line.place, line.name, line.mark)
    else {
        return Ok(());
    };
    let mark = mark
        .parse()
        .map_err(|_| format!("the mark {mark:?} is no whole number"))?;
    let at = line.at.unwrap_or_default();
    let at: Timestamp = at
        .parse()
        .map_err(|_| format!("the time {at:?} of \"at\" cannot be read"))?;
    earlier.add((place, source, name), Stood { at, mark });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Earlier, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read(file.path()).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn marks_are_read_and_what_has_none_is_passed_over() {
        let earlier = of(concat!(
            r#"{"source":"postgres","place":"p","name":"s","mark":"18446744073709551616","at":"1970-01-01T00:00:01Z"}"#,
            "\n",
            r#"{"source":"postgres","place":"p","name":"t","mark":null,"at":"1970-01-01T00:00:01Z"}"#,
            "\n\n",
            r#"{"counters":2,"errors":0,"at":"1970-01-01T00:00:01Z"}"#,
        ))
        .unwrap();
        let stood = earlier.of("p", "postgres", "s").unwrap();
        assert_eq!((stood.mark, stood.at.unix_millis()), (1 << 64, 1000));
        assert_eq!(earlier.len(), 1);
    }

    #[test]
    fn what_is_no_such_file_is_refused_with_its_line() {
        for (text, says) in [
            ("counter  mark\n", "line 1"),
            ("{}\n{\"source\":1}", "line 2"),
            (
                r#"{"source":"a","place":"p","name":"s","mark":"x","at":"1970-01-01T00:00:01Z"}"#,
                "no whole number",
            ),
            (
                r#"{"source":"a","place":"p","name":"s","mark":"1","at":"noon"}"#,
                "cannot be read",
            ),
            (
                r#"{"source":"a","place":"p","name":"s","mark":"1"}"#,
                "cannot be read",
            ),
        ] {
            let said = of(text).unwrap_err();
            assert!(said.contains(says) && said.contains("code: 2"), "{said}");
        }
        assert!(read(Path::new("/nowhere")).is_err());
        let long = format!("{{\"name\":\"{}\"}}", "x".repeat(LINE_MAX));
        assert!(of(&long).unwrap_err().contains("too long"));
    }
}
