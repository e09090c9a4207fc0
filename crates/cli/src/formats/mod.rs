//! `mint formats`: every kind of id that this command makes, and which one to use.

mod table;

use serde_json::json;

use crate::errors::Failure;
use crate::out::Out;
use table::{CHOICES, Choice, FORMATS, Format};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// One format in full
    #[arg(value_name = "ID", conflicts_with = "choose")]
    format: Option<String>,
    /// Which one to use: what is needed, the format, the command that makes it
    #[arg(long)]
    choose: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    match (&args.format, args.choose) {
        (Some(name), _) => {
            // `uuid` alone is version 7 when made.
            let wanted = if name == "uuid" { "uuid7" } else { name };
            let row = FORMATS.iter().find(|row| row.name == wanted).ok_or_else(|| {
                let names: Vec<&str> = FORMATS.iter().map(|row| row.name).collect();
                Failure::usage(format_args!("there is no format {name:?}"))
                    .with_hint(format_args!("there are: {}", names.join(", ")))
            })?;
            one(row, out)
        }
        (None, true) => choose(out),
        (None, false) => all(out),
    }
}

fn all(out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return FORMATS.iter().try_for_each(|row| out.json_line(&document(row)));
    }
    out.line(format!(
        "{:<10}{:>5}  {:<7}{:<7}is",
        "format", "bits", "time", "sorts"
    ))?;
    for row in FORMATS {
        let Format {
            name,
            bits,
            time,
            sorts,
            is,
            ..
        } = row;
        out.line(format!(
            "{name:<10}{bits:>5}  {:<7}{:<7}{is}",
            time.unwrap_or("-"),
            yes(*sorts)
        ))?;
    }
    Ok(())
}

fn one(row: &Format, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return out.json_line(&document(row));
    }
    let bits = row.bits.to_string();
    for (name, value) in [
        ("format", row.name),
        ("is", row.is),
        ("bits", bits.as_str()),
        ("time", row.time.unwrap_or("-")),
        ("sorts", yes(row.sorts)),
        ("unique", row.unique),
        ("tells", row.tells),
        ("command", row.command),
    ] {
        out.line(format!("{name:<7}  {value}"))?;
    }
    Ok(())
}

fn choose(out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return CHOICES.iter().try_for_each(|row| {
            out.json_line(&json!({"need": row.need, "format": row.format, "command": row.command}))
        });
    }
    let width = |text: fn(&Choice) -> &str| CHOICES.iter().map(|row| text(row).len()).max().unwrap_or(0);
    let (needs, formats) = (width(|row| row.need), width(|row| row.format));
    out.line(format!("{:needs$}  {:formats$}  command", "you need", "use"))?;
    for Choice {
        need,
        format,
        command,
    } in CHOICES
    {
        out.line(format!("{need:needs$}  {format:formats$}  {command}"))?;
    }
    Ok(())
}

fn document(row: &Format) -> serde_json::Value {
    json!({
        "name": row.name,
        "is": row.is,
        "bits": row.bits,
        "time": row.time,
        "sorts": row.sorts,
        "unique": row.unique,
        "tells": row.tells,
        "command": row.command,
    })
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}
