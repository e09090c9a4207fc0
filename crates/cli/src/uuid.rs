//! `mint uuid`: UUIDs in bulk, straight into one buffer.

use clap::ValueEnum;
use mintage::Uuid;

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
    /// How to write them
    #[arg(long, default_value = "hyphenated")]
    format: Format,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Version {
    V4,
    V7,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    /// 01890a5d-ac96-774b-bcce-b302099a8057
    Hyphenated,
    /// 32 hexadecimal digits
    Simple,
    /// urn:uuid:…
    Urn,
    /// {…}
    Braced,
    /// Hyphenated, upper case
    Upper,
    /// The 128 bits as a decimal number
    Int,
    /// 16 bytes each, nothing between them
    Raw,
}

/// Minted at once: one clock reading and one draw of randomness for all of them.
const BATCH: usize = 1024;

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    if out.json && args.format == Format::Raw {
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
        let json = out.json;
        let buffer = out.buffer();
        for id in ids.iter() {
            if json {
                buffer.extend_from_slice(b"{\"id\":\"");
                put(buffer, id, args.format);
                buffer.extend_from_slice(b"\"}\n");
            } else {
                put(buffer, id, args.format);
                if args.format != Format::Raw {
                    buffer.push(b'\n');
                }
            }
        }
        out.written()?;
        left -= n as u64;
    }
    Ok(())
}

fn put(buffer: &mut Vec<u8>, id: &Uuid, format: Format) {
    let mut text = Uuid::encode_buffer();
    let written: &str = match format {
        Format::Hyphenated => id.hyphenated().encode_lower(&mut text),
        Format::Simple => id.simple().encode_lower(&mut text),
        Format::Urn => id.urn().encode_lower(&mut text),
        Format::Braced => id.braced().encode_lower(&mut text),
        Format::Upper => id.hyphenated().encode_upper(&mut text),
        Format::Int => return buffer.extend_from_slice(id.as_u128().to_string().as_bytes()),
        Format::Raw => return buffer.extend_from_slice(id.as_bytes()),
    };
    buffer.extend_from_slice(written.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_form_is_as_documented() {
        let id = Uuid::from_u128(0x0189_0a5d_ac96_774b_bcce_b302_099a_8057);
        for (format, want) in [
            (Format::Hyphenated, "01890a5d-ac96-774b-bcce-b302099a8057"),
            (Format::Simple, "01890a5dac96774bbcceb302099a8057"),
            (Format::Urn, "urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057"),
            (Format::Braced, "{01890a5d-ac96-774b-bcce-b302099a8057}"),
            (Format::Upper, "01890A5D-AC96-774B-BCCE-B302099A8057"),
            (Format::Int, "2041464055624276170938893480911208535"),
        ] {
            let mut buffer = Vec::new();
            put(&mut buffer, &id, format);
            assert_eq!(String::from_utf8(buffer).unwrap(), want);
        }
    }
}
