//! `mint explain`: where an id comes from, as far as a server's records tell.

use mintage_wire::{Block, Explained, Op, Origin};

use crate::ask::Ask;
use crate::connect::{Client, server_url};
use crate::errors::Failure;
use crate::out::Out;
use crate::tls::TlsFiles;

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Verdicts, the surest first: issued: it was given out; reserved: it was reserved, so that \
                  it was given out, is in somebody's memory, or is lost; possible: the records are silent; \
                  not_yet: nobody has reserved it; never: it cannot be. Exit code 1 if none of them is \
                  issued, reserved or possible.

Without --sequence and --pool, all that the token may read are looked at. What servers keep and for \
                  how long: docs/explain.md.

Examples:
  mint explain 1541815603606036480
  mint explain 4711 --sequence orders
  mint explain c232ab00-9414-11ec-b3c8-9f6bdeced846 --pool uuid1"
)]
pub(crate) struct Args {
    /// The id: a number of a sequence, a Snowflake, a UUID; any other says what it itself tells
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    id: String,
    /// The sequence that it is a number of
    #[arg(long, value_name = "NAME")]
    sequence: Option<String>,
    /// The pool that it is of
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// The server's URL [default: MINT_SERVER, else http://127.0.0.1:7600]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    tls: TlsFiles,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let client = Client::new(&server_url(args.server.as_deref()), &args.tls)?;
    let ask = Ask::new(Op::Explain, &[&args.id])
        .with_if("sequence", args.sequence.as_deref())
        .with_if("pool", args.pool.as_deref());
    let explained: Explained = client.call(&ask)?;
    match out.json {
        true => out.json_line(&explained)?,
        false => show(&explained, out)?,
    }
    match explained.origins.iter().any(|origin| may_be(&origin.verdict)) {
        true => Ok(()),
        false => {
            out.flush()?;
            Err(Failure::Negative)
        }
    }
}

/// Whether a verdict lets it come from there.
fn may_be(verdict: &str) -> bool {
    matches!(verdict, "issued" | "reserved" | "possible")
}

fn show(explained: &Explained, out: &mut Out) -> Result<(), Failure> {
    out.line(&explained.input)?;
    if let Some(reading) = &explained.reading {
        out.line(format!("  read as {reading}"))?;
    }
    for origin in &explained.origins {
        show_origin(origin, out)?;
    }
    for note in &explained.notes {
        out.line(format!("  {note}"))?;
    }
    Ok(())
}

fn show_origin(origin: &Origin, out: &mut Out) -> Result<(), Failure> {
    let Origin {
        of,
        name,
        verdict,
        says,
        ..
    } = origin;
    out.line(format!("  {of} {name}: {verdict}"))?;
    out.line(format!("    {says}"))?;
    if let Some(server) = &origin.server {
        out.line(format!("    server {server}"))?;
    }
    if let Some(block) = &origin.block {
        out.line(format!("    {}", of_block(block)))?;
    }
    if let Some(window) = &origin.window {
        out.line(format!(
            "    worker {}, window from {} until {}",
            window.worker, window.from, window.until
        ))?;
    }
    Ok(())
}

fn of_block(block: &Block) -> String {
    let Block {
        at,
        first,
        last,
        count,
        used,
        ..
    } = block;
    format!(
        "block {} to {}, reserved at {at}: {used} of {count} used",
        first.0, last.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_or_has_not_come_is_a_negative_answer() {
        for (verdict, may) in [
            ("issued", true),
            ("reserved", true),
            ("possible", true),
            ("not_yet", false),
            ("never", false),
        ] {
            assert_eq!(may_be(verdict), may, "{verdict}");
        }
    }
}
