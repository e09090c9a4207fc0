//! `mint uuid`: UUIDs in bulk, straight into one buffer.

use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use mintage::{Uuid, UuidText};

use crate::errors::Failure;
use crate::out::Out;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// v7 sorts by time, v4 is random
    #[arg(default_value = "v7")]
    version: Version,
    /// How many
    #[arg(short = 'n', long = "count", value_name = "N", default_value_t = 1)]
    count: u64,
    /// How to write them; raw is 16 bytes each, nothing between them
    #[arg(long, default_value = "hyphenated", value_parser = formats())]
    format: String,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Version {
    V4,
    V7,
}

/// Every form by name.
fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(UuidText::ALL.iter().map(|(name, _)| *name))
}

/// Minted at once: one clock reading and one draw of randomness for all of them.
const BATCH: usize = 1024;

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let form = UuidText::from_name(&args.format).expect("the parser admits only known names");
    if out.json && form == UuidText::Raw {
        return Err(Failure::usage("--format raw and --json exclude one another"));
    }
    let mut batch = vec![Uuid::nil(); BATCH.min(usize::try_from(args.count).unwrap_or(BATCH))];
    let mut left = args.count;
    while left > 0 {
        let n = usize::try_from(left).unwrap_or(BATCH).min(BATCH);
        let ids = &mut batch[..n];
        match args.version {
            Version::V4 => mintage::uuid4_many(ids),
            Version::V7 => mintage::uuid7_many(ids),
        }
        let (before, after) = if form == UuidText::Raw {
            (&b""[..], &b""[..])
        } else {
            out.id_frame()
        };
        let buffer = out.buffer();
        for id in ids.iter() {
            buffer.extend_from_slice(before);
            form.write(id, buffer);
            buffer.extend_from_slice(after);
        }
        out.written()?;
        left -= n as u64;
    }
    Ok(())
}
