//! Versions 3, 5 and 8: from a name, or from bits of your own.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};

use mintage::Uuid;

use super::{Args, Sink, Version};
use crate::errors::Failure;

/// A longer name is refused; no name that people use comes near.
const NAME_MAX_BYTES: u64 = 16 << 20;

pub(super) fn run(args: &Args, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let version = args.version.number();
    match (args.version, args.custom, args.sha256) {
        (Version::V8, Some(custom), _) => {
            if args.namespace.is_some() || !args.names.is_empty() {
                return Err(Failure::usage("--custom takes no namespace and no name"));
            }
            return sink.put(&[mintage::uuid8(custom)]);
        }
        (Version::V8, None, false) => {
            return Err(
                Failure::usage("version 8 holds what you put in: nothing was given")
                    .with_hint("--custom HEX32, or --sha256 --namespace NAMESPACE NAME"),
            );
        }
        _ => {}
    }
    let flags = if args.sha256 { " --sha256" } else { "" };
    let example = || format!("for example mint uuid v{version}{flags} --namespace dns www.example.com");
    let Some(namespace) = args.namespace else {
        return Err(
            Failure::usage(format_args!("version {version} needs a --namespace")).with_hint(example()),
        );
    };
    if args.names.is_empty() {
        return Err(Failure::usage(format_args!("version {version} needs a name")).with_hint(example()));
    }
    let make = match args.version {
        Version::V3 => mintage::uuid3,
        Version::V5 => mintage::uuid5,
        _ => mintage::uuid8_sha256,
    };
    for name in &args.names {
        if name == "-" {
            from_stdin(sink, |name| make(&namespace, name))?;
        } else {
            sink.put(&[make(&namespace, octets(name)?)])?;
        }
    }
    Ok(())
}

/// The octets of an argument as they are: a name need not be text.
#[cfg(unix)]
fn octets(name: &OsStr) -> Result<&[u8], Failure> {
    use std::os::unix::ffi::OsStrExt;
    Ok(name.as_bytes())
}

#[cfg(not(unix))]
fn octets(name: &OsStr) -> Result<&[u8], Failure> {
    let text = name.to_str();
    text.map(str::as_bytes)
        .ok_or_else(|| Failure::usage(format_args!("the name {name:?} is not Unicode")))
}

/// One line in, one id out, in order; answered before the next one is waited for. A name is all that stands
/// before the line feed.
fn from_stdin(sink: &mut Sink<'_>, make: impl Fn(&[u8]) -> Uuid) -> Result<(), Failure> {
    let cannot = |e: io::Error| Failure::cannot(format_args!("cannot read standard input: {e}"));
    let mut input = BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut line = Vec::new();
    loop {
        if !input.buffer().contains(&b'\n') {
            sink.out.flush()?;
        }
        line.clear();
        let mut limited = io::Read::take(&mut input, NAME_MAX_BYTES + 1);
        if limited.read_until(b'\n', &mut line).map_err(cannot)? == 0 {
            return Ok(());
        }
        let name = line.strip_suffix(b"\n").unwrap_or(&line);
        if name.len() as u64 > NAME_MAX_BYTES {
            return Err(Failure::cannot(format_args!(
                "a line of standard input is longer than {NAME_MAX_BYTES} bytes"
            )));
        }
        sink.put(&[make(name)])?;
    }
}

/// `--namespace`
pub(super) fn parse_namespace(text: &str) -> Result<Uuid, String> {
    mintage::namespace(text)
        .or_else(|| Uuid::try_parse(text).ok())
        .ok_or_else(|| {
            let names: Vec<&str> = mintage::NAMESPACES.iter().map(|(name, _)| *name).collect();
            format!("a namespace is {}, or a UUID of your own", names.join(", "))
        })
}

/// `--custom`
pub(super) fn parse_custom(text: &str) -> Result<[u8; 16], String> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let found = digits.chars().count();
    if found != 32 {
        return Err(format!("{found} hexadecimal digits where 32 are needed"));
    }
    match Uuid::try_parse(&digits) {
        Ok(bits) => Ok(bits.into_bytes()),
        Err(_) => Err("not hexadecimal".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn custom_bits_are_32_digits_with_or_without_hyphens() {
        let bits = 0x2489e9ad_2ee2_2e00_0ec9_32d5f69181c0_u128.to_be_bytes();
        assert_eq!(parse_custom("2489e9ad2ee22e000ec932d5f69181c0"), Ok(bits));
        assert_eq!(parse_custom("2489E9AD-2EE2-2E00-0EC9-32D5F69181C0"), Ok(bits));
        for text in [
            "",
            "2489",
            "2489e9ad2ee22e000ec932d5f69181cg",
            "2489e9ad2ee22e000ec932d5f69181cé",
        ] {
            assert!(parse_custom(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_namespace_has_a_name_or_is_a_uuid() {
        assert_eq!(
            parse_namespace("x500"),
            Ok(Uuid::from_u128(0x6ba7b814_9dad_11d1_80b4_00c04fd430c8))
        );
        let own = "01890a5d-ac96-774b-bcce-b302099a8057";
        assert_eq!(parse_namespace(own).map(|id| id.to_string()).as_deref(), Ok(own));
        assert!(parse_namespace("DNS").is_err());
    }
}
