//! `mint inspect`: what an id is.

use std::io::{self, BufRead, BufReader};

use mintage::{Clock, FieldValue, Reading, SystemClock};
use mintage_server::render::{readings as document, rfc3339};

use crate::errors::Failure;
use crate::out::Out;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Ids; - reads them from standard input, one a line, and answers each with one line
    #[arg(required = true, value_name = "ID|-", allow_negative_numbers = true)]
    ids: Vec<String>,
}

/// A longer line is no id; what follows is passed over.
const LINE_MAX: u64 = 4096;

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let mut unknown = false;
    for (at, id) in args.ids.iter().enumerate() {
        if id == "-" {
            unknown |= stream(out)?;
            continue;
        }
        let readings = mintage::inspect(id, SystemClock.now());
        unknown |= readings.is_empty();
        if out.json {
            out.json_line(&document(id, &readings))?;
        } else {
            if at > 0 {
                out.line("")?;
            }
            paragraph(id, &readings, out)?;
        }
    }
    if unknown {
        out.flush()?;
        return Err(Failure::Negative);
    }
    Ok(())
}

/// One line in, exactly one line out, in order; answered before the next one is waited for.
fn stream(out: &mut Out) -> Result<bool, Failure> {
    let cannot = |e: io::Error| Failure::cannot(format_args!("cannot read standard input: {e}"));
    let mut input = BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut line = Vec::new();
    let mut unknown = false;
    loop {
        if !input.buffer().contains(&b'\n') {
            out.flush()?;
        }
        if read_line(&mut input, &mut line).map_err(cannot)? == 0 {
            return Ok(unknown);
        }
        let text = String::from_utf8_lossy(&line);
        let id = text.trim_end_matches(['\n', '\r']);
        let readings = mintage::inspect(id, SystemClock.now());
        unknown |= readings.is_empty();
        if out.json {
            out.json_line(&document(id, &readings))?;
        } else {
            out.line(summary(id, readings.first()))?;
        }
    }
}

/// Reads a line into `line`, keeping at most [`LINE_MAX`] of it; answers how many bytes it had.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    line.clear();
    let mut length = 0;
    loop {
        let available = input.fill_buf()?;
        if available.is_empty() {
            return Ok(length);
        }
        let (part, ends) = match available.iter().position(|b| *b == b'\n') {
            Some(at) => (&available[..=at], true),
            None => (available, false),
        };
        let room = (LINE_MAX as usize).saturating_sub(line.len()).min(part.len());
        line.extend_from_slice(&part[..room]);
        let used = part.len();
        length += used as u64;
        input.consume(used);
        if ends {
            return Ok(length);
        }
    }
}

fn paragraph(id: &str, readings: &[Reading], out: &mut Out) -> Result<(), Failure> {
    out.line(shown(id))?;
    if readings.is_empty() {
        return out.line("  not an id that mint knows");
    }
    for reading in readings {
        out.line(format!(
            "  {}  ({:.0} %: {})",
            title(reading),
            reading.confidence * 100.0,
            reading.why
        ))?;
        if let Some(time) = reading.time {
            out.line(format!("    {:<12} {}", "time", rfc3339(time)))?;
        }
        for (name, value) in &reading.fields {
            out.line(format!("    {name:<12} {}", field_text(value)))?;
        }
    }
    Ok(())
}

/// One line about an id: the likeliest reading.
fn summary(id: &str, reading: Option<&Reading>) -> String {
    let Some(reading) = reading else {
        return format!("{}  not an id that mint knows", shown(id));
    };
    let mut line = format!("{}  {}", shown(id), title(reading));
    if let Some(time) = reading.time {
        line.push_str(&format!("  {}", rfc3339(time)));
    }
    for (name, value) in &reading.fields {
        line.push_str(&format!("  {name}={}", field_text(value)));
    }
    line
}

fn title(reading: &Reading) -> String {
    let mut title = reading.format.to_string();
    if let Some(version) = reading.version {
        title.push_str(&format!(" version {version}"));
    }
    if let Some(variant) = reading.variant {
        title.push_str(&format!(", variant {variant}"));
    }
    if let Some(preset) = &reading.preset {
        title.push_str(&format!(" of preset {preset}"));
    }
    title
}

fn field_text(value: &FieldValue) -> String {
    match value {
        FieldValue::Number(n) | FieldValue::Big(n) => n.to_string(),
        FieldValue::Text(text) => text.clone(),
    }
}

/// What was read, without anything that could drive the terminal.
fn shown(id: &str) -> String {
    id.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}
