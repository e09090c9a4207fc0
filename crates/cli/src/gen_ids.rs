//! `mint gen`: ids of any format.

use std::time::Duration;

use mintage::{Format, FormatError, GenOptions, Id, MintError, SystemEntropy, Timestamp};

use crate::errors::Failure;
use crate::format_options::{FormatOptions, format_named, format_names, refused};
use crate::out::Out;
use mintage_wire::command_of;

#[derive(clap::Args, Debug)]
#[command(after_help = after_help())]
pub(crate) struct Args {
    /// Which kind; mint formats lists them, mint formats --choose helps to decide
    #[arg(value_name = "FORMAT", value_parser = format_names(), ignore_case = true, hide_possible_values = true)]
    format: String,
    /// How many
    #[arg(short = 'n', long = "count", value_name = "N", default_value_t = 1, value_parser = crate::count::parse)]
    count: u64,
    /// Made at this time, the rest random; touches no state
    #[arg(long, value_name = "TIME", value_parser = crate::time::parse)]
    at: Option<Timestamp>,
    #[command(flatten)]
    options: FormatOptions,
}

fn after_help() -> String {
    format!(
        "Examples:\n  mint gen ulid -n 3\n  mint gen typeid --prefix user\n  mint gen nanoid --length 12 --alphabet \
         0123456789abcdef\n  mint gen ksuid --at 2022-02-22\n  mint gen sqids --numbers 1,2,3\n\n{}",
        crate::time::FORMS
    )
}

/// Made at once.
const BATCH: usize = 1024;

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let format = format_named(&args.format);
    let options = args.options.of(format)?;
    match args.at {
        Some(at) => made_at(format, &options, at, args.count, out),
        None => now(format, &options, args.count, out),
    }
}

fn now(format: &Format, options: &GenOptions, count: u64, out: &mut Out) -> Result<(), Failure> {
    if !format.can_make() {
        let message = format!("mint gen does not make {}", format.title);
        return Err(Failure::usage(message).with_hint(format_args!("{} does", command_of(format))));
    }
    let mut left = count;
    let mut ids = vec![Id::default(); if out.json { BATCH } else { 0 }];
    while left > 0 {
        let n = usize::try_from(left).unwrap_or(BATCH).min(BATCH);
        let start = out.buffer().len();
        let made = if out.json {
            format.make_many(options, &mut ids[..n])
        } else {
            format.write_lines(options, n, out.buffer())
        };
        match made {
            Ok(()) if out.json => put(format, &ids[..n], out)?,
            Ok(()) => out.written()?,
            Err(error) => {
                // What is there more than before was not issued.
                out.buffer().truncate(start);
                wait(format, &error, out)?;
                continue;
            }
        }
        left -= n as u64;
    }
    Ok(())
}

/// Waits for the clock where ids are made faster than time goes by; every other error is one.
fn wait(format: &Format, error: &FormatError, out: &mut Out) -> Result<(), Failure> {
    let ticks = match error {
        FormatError::Mint(MintError::TooFarAhead { ticks }) => *ticks,
        FormatError::Full => 1,
        _ => return Err(refused(format, error)),
    };
    let tick = format.time.map_or(Duration::from_millis(1), |shape| shape.tick);
    let how_long = tick.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX));
    if how_long > LONGEST_WAIT {
        return Err(Failure::cannot("the clock was set back while ids were made").with_hint("set it right"));
    }
    out.flush()?;
    std::thread::sleep(how_long.max(Duration::from_millis(1)));
    Ok(())
}

/// Longer than any format runs ahead of the clock.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

fn made_at(
    format: &Format,
    options: &GenOptions,
    at: Timestamp,
    count: u64,
    out: &mut Out,
) -> Result<(), Failure> {
    if !format.can_make_at() {
        let message = match format.time {
            Some(_) => format!("mint gen cannot make {} at a given time", format.title),
            None => format!("{} holds no time", format.title),
        };
        return Err(Failure::usage(message).with_hint("mint formats says which formats hold one"));
    }
    for _ in 0..count {
        let id = format
            .make_at(at, options, &mut SystemEntropy)
            .map_err(|e| refused(format, &e))?;
        put(format, &[id], out)?;
    }
    Ok(())
}

fn put(format: &Format, ids: &[Id], out: &mut Out) -> Result<(), Failure> {
    let json = out.json;
    let buffer = out.buffer();
    for id in ids {
        if json {
            // An alphabet of the caller's may hold what JSON escapes.
            let text = format.text(id).map_err(|e| refused(format, &e))?;
            buffer.extend_from_slice(b"{\"id\":");
            mintage_wire::json::to_writer(&mut *buffer, &text).map_err(std::io::Error::from)?;
            buffer.extend_from_slice(b"}\n");
            continue;
        }
        format.write(id, buffer).map_err(|e| refused(format, &e))?;
        buffer.push(b'\n');
    }
    out.written()
}
