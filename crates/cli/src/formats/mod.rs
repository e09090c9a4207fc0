//! `mint formats`: every kind of id there is, one in full, and which one to use.

mod choices;

use mintage::{FORMATS, Format, GenOptions, ids_until_repeat};
use mintage_wire::{self as wire, length, shown, three_digits, verbs};
use serde_json::json;

use crate::errors::Failure;
use crate::format_options::{format_named, format_names};
use crate::out::Out;
use choices::{CHOICES, Choice};

#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  mint formats\n  mint formats uuid7\n  mint formats --choose")]
pub(crate) struct Args {
    /// One format in full: its bits, what its randomness is worth, where it is specified
    #[arg(value_name = "FORMAT", conflicts_with = "choose", value_parser = format_names(), ignore_case = true, hide_possible_values = true)]
    format: Option<String>,
    /// Which one to use: what is needed, the format, the command that makes it
    #[arg(long)]
    choose: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    match (&args.format, args.choose) {
        (Some(name), _) => one(format_named(name), out),
        (None, true) => choose(out),
        (None, false) => all(out),
    }
}

fn all(out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return FORMATS
            .iter()
            .try_for_each(|row| out.json_line(&wire::Format::from(row)));
    }
    out.line(format!(
        "{:<10} {:>5} {:>7}  {:<7} {:<6} is",
        "format", "bits", "chars", "time", "sorts"
    ))?;
    for row in FORMATS {
        let bits = if row.bits == 0 {
            "-".to_string()
        } else {
            row.bits.to_string()
        };
        out.line(format!(
            "{:<10} {bits:>5} {:>7}  {:<7} {:<6} {}",
            row.name,
            characters(row),
            row.time
                .map_or("-".to_string(), |shape| short(&length(shape.tick))),
            yes(row.bytes_sort || row.text_sorts),
            row.summary
        ))?;
    }
    Ok(())
}

/// A length of time that is no whole number of seconds, shortened.
fn short(length: &str) -> String {
    match length.split_once(' ') {
        Some((number, unit)) if number.len() > 5 => match number.parse::<f64>() {
            Ok(number) => format!("{number:.0} {unit}"),
            Err(_) => length.to_string(),
        },
        _ => length.to_string(),
    }
}

fn characters(row: &Format) -> String {
    match row.text_len {
        (least, most) if least == most => least.to_string(),
        (least, most) => format!("{least}-{most}"),
    }
}

fn one(row: &'static Format, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return out.json_line(&wire::Format::from(row));
    }
    let mut say = |name: &str, value: &str| out.line(format!("{name:<10}  {value}"));
    say("format", row.name)?;
    if !row.aliases.is_empty() {
        say("also", &row.aliases.join(", "))?;
    }
    say("is", &format!("{}: {}", row.title, row.summary))?;
    for (i, line) in row.diagram.lines().enumerate() {
        say(if i == 0 { "layout" } else { "" }, line)?;
    }
    let bits = if row.bits == 0 {
        "text alone".into()
    } else {
        format!("{} bits", row.bits)
    };
    say("size", &format!("{bits}, {} characters", characters(row)))?;
    match row.time {
        Some(shape) => {
            let (first, last) = (shown(shape.first), shown(shape.last));
            say(
                "time",
                &format!("in steps of {}, {first} to {last}", length(shape.tick)),
            )?;
        }
        None => say("time", "none")?,
    }
    say(
        "sorts",
        match (row.bytes_sort, row.text_sorts) {
            (true, true) => "by time, as bytes and as text",
            (true, false) => "by time, as bytes but not as text",
            (false, true) => "by time, as text",
            (false, false) => "no",
        },
    )?;
    say("unique", row.unique)?;
    say("tells", row.tells)?;
    for (i, line) in randomness(row).iter().enumerate() {
        say(if i == 0 { "random" } else { "" }, line)?;
    }
    if !row.options.is_empty() {
        let options: Vec<String> = row
            .options
            .iter()
            .map(|option| format!("--{}", option.name()))
            .collect();
        say("options", &options.join(" "))?;
    }
    say("does", &verbs(row).join(", "))?;
    say("source", row.source)?;
    say("command", &mintage_wire::command_of(row))
}

/// What the random bits of a format are worth.
fn randomness(row: &Format) -> Vec<String> {
    let bits = row.entropy_bits(&GenOptions::default());
    if bits <= 0.0 {
        return vec!["no bits: only what makes it unique keeps two ids apart".into()];
    }
    let of = match row.time {
        Some(shape) => format!(
            "{} bits in each id of one tick of {}",
            tidy(bits),
            length(shape.tick)
        ),
        None => format!("{} bits", tidy(bits)),
    };
    let ids = |chance| human(ids_until_repeat(bits, chance));
    let within = if row.time.is_some() { " in one tick" } else { "" };
    vec![
        of,
        format!("one repeat: chance 10^-9 from {} ids{within} on", ids(1e-9)),
        format!("            chance 1 %   from {} ids{within} on", ids(0.01)),
        format!("            chance 50 %  from {} ids{within} on", ids(0.5)),
    ]
}

/// With at most two digits after the point.
fn tidy(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Three digits, and a power of ten where there are more than a billion.
fn human(number: f64) -> String {
    let number = three_digits(number);
    if number < 1e9 {
        let digits = format!("{number:.0}");
        let mut grouped = String::new();
        for (i, digit) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        return grouped;
    }
    let power = number.log10().floor();
    format!("{} * 10^{power}", tidy(number / 10f64.powf(power)))
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

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_have_three_digits() {
        for (number, text) in [
            (23.0, "23"),
            (4821.7, "4,820"),
            (77_163.0, "77,100"),
            (999_999_999.0, "999,000,000"),
            (2.714e18, "2.71 * 10^18"),
            (1e9, "1 * 10^9"),
        ] {
            assert_eq!(human(number), text);
        }
    }
}
