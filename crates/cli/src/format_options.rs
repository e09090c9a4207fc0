//! What a caller chooses about the ids of a format: the same options for every command that reads or makes them.

use std::sync::Arc;

use clap::builder::PossibleValuesParser;
use mintage::{Alphabet, FORMATS, Format, FormatError, GenOptions, Layout, Timestamp};

use crate::errors::Failure;
use crate::snowflake::preset_layout;
use crate::snowflake_layout::parse_layout;
use mintage_server::render::shown;

/// Options of formats; each format takes some and refuses the others by name.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Options of formats (mint formats NAME lists those of one)")]
pub(crate) struct FormatOptions {
    /// typeid, token: the prefix
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// nanoid, token, sqids, hashids: the characters, in their order
    #[arg(long, value_name = "CHARACTERS", value_parser = alphabet)]
    alphabet: Option<Alphabet>,
    /// nanoid, cuid2, token: how many characters; sqids, hashids: the fewest
    #[arg(long, value_name = "N")]
    length: Option<usize>,
    /// token: ends in a checksum
    #[arg(long)]
    checksum: bool,
    /// tsid, tid, flake, uuid1, uuid6: who makes them, a number, 0x… or six octets as 9f:6b:de:ce:d8:46
    #[arg(long, value_name = "NODE", value_parser = node)]
    node: Option<u64>,
    /// uuid1, uuid6: 0 to 16383
    #[arg(long, value_name = "N")]
    clock_seq: Option<u16>,
    /// tsid: how many bits the node has
    #[arg(long, value_name = "N")]
    node_bits: Option<u32>,
    /// tsid, snowflake: where time begins
    #[arg(long, value_name = "TIME", value_parser = crate::time::parse)]
    epoch: Option<Timestamp>,
    /// snowflake: a known layout, see mint presets
    #[arg(long, value_name = "NAME", conflicts_with = "layout")]
    preset: Option<String>,
    /// snowflake: a layout of your own, see mint snowflake --help
    #[arg(long, value_name = "LAYOUT", value_parser = parse_layout)]
    layout: Option<Layout>,
    /// snowflake: the worker
    #[arg(long, value_name = "N")]
    worker: Option<u64>,
    /// sqids, hashids: the numbers to encode
    #[arg(long, value_name = "N,N,…", value_delimiter = ',')]
    numbers: Vec<u64>,
    /// hashids: the salt
    #[arg(long, value_name = "TEXT")]
    salt: Option<String>,
}

impl FormatOptions {
    /// For a format: options that it does not take are refused.
    pub(crate) fn of(&self, format: &Format) -> Result<GenOptions, Failure> {
        let options = self.all()?;
        format.check_options(&options).map_err(|e| refused(format, &e))?;
        Ok(options)
    }

    /// Whatever was given.
    pub(crate) fn all(&self) -> Result<GenOptions, Failure> {
        let layout = self.chosen_layout()?;
        Ok(GenOptions {
            prefix: self.prefix.clone(),
            alphabet: self.alphabet.clone(),
            length: self.length,
            checksum: self.checksum,
            node: self.node,
            node_bits: self.node_bits,
            clock_seq: self.clock_seq,
            // A layout has its epoch within.
            epoch: self.epoch.filter(|_| layout.is_none()),
            layout: layout.map(Arc::new),
            worker: self.worker,
            numbers: self.numbers.clone(),
            salt: self.salt.clone(),
            ..GenOptions::default()
        })
    }

    /// The layout that was named, with the epoch that was.
    pub(crate) fn chosen_layout(&self) -> Result<Option<Layout>, Failure> {
        let layout = match (&self.preset, &self.layout) {
            (Some(name), _) => preset_layout(name)?,
            (None, Some(layout)) => layout.clone(),
            (None, None) => return Ok(None),
        };
        match self.epoch {
            Some(epoch) => with_epoch(&layout, epoch).map(Some),
            None => Ok(Some(layout)),
        }
    }

    /// The epoch, if one was given and no layout to put it in.
    pub(crate) fn lone_epoch(&self) -> Option<Timestamp> {
        self.epoch
            .filter(|_| self.preset.is_none() && self.layout.is_none())
    }
}

/// A layout with another epoch.
pub(crate) fn with_epoch(layout: &Layout, epoch: Timestamp) -> Result<Layout, Failure> {
    mintage_server::readings::with_epoch(layout, epoch)
        .map_err(|e| Failure::usage(format_args!("epoch {}: {e}", shown(epoch))))
}

/// The format of a name, in any case, that [`format_names`] let pass.
pub(crate) fn format_named(name: &str) -> &'static Format {
    mintage::format(&name.to_ascii_lowercase()).expect("the parser admits only known names")
}

/// The names of all formats, for the parser, its completions and its hints.
pub(crate) fn format_names() -> PossibleValuesParser {
    let names = FORMATS
        .iter()
        .flat_map(|row| std::iter::once(row.name).chain(row.aliases.iter().copied()));
    PossibleValuesParser::new(names)
}

/// A format's refusal in words, with times as people write them.
pub(crate) fn refused(format: &Format, error: &FormatError) -> Failure {
    match error {
        FormatError::Time { time, first, last } => Failure::usage(format_args!(
            "{} does not fit format {}, which holds {} to {}",
            shown(*time),
            format.name,
            shown(*first),
            shown(*last)
        )),
        FormatError::NoOption { option, takes, .. } => {
            let takes: Vec<String> = match takes.as_str() {
                "nothing" => Vec::new(),
                list => list.split(", ").map(|name| format!("--{name}")).collect(),
            };
            Failure::usage(format_args!(
                "--{option} does not apply to format {}",
                format.name
            ))
            .with_hint(if takes.is_empty() {
                "it takes none of these options".to_string()
            } else {
                format!("it takes {}", takes.join(", "))
            })
        }
        FormatError::Option { option, .. }
            if matches!(*option, "namespace" | "name" | "domain" | "local-id" | "custom") =>
        {
            Failure::usage(format_args!("format {} needs a {option}", format.name))
                .with_hint(format_args!("{} makes them", format.command))
        }
        FormatError::Option { option, reason } => Failure::usage(format_args!("--{option}: {reason}")),
        FormatError::Verb { .. } => {
            Failure::usage(error).with_hint(format_args!("{} makes them", format.command))
        }
        other => Failure::cannot(other),
    }
}

fn alphabet(text: &str) -> Result<Alphabet, String> {
    Alphabet::new(text).map_err(|e| e.to_string())
}

/// A number, or the octets of an address.
fn node(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is neither a number nor six octets as 9f:6b:de:ce:d8:46");
    if text.contains([':', '-']) {
        let node: mintage::Node = text.parse().map_err(|_| wrong())?;
        return Ok(node
            .octets()
            .iter()
            .fold(0, |bits, octet| bits << 8 | u64::from(*octet)));
    }
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).map_err(|_| wrong()),
        None => text.parse().map_err(|_| wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_takes_another_epoch() {
        let twitter = preset_layout("twitter").unwrap();
        let moved = with_epoch(&twitter, Timestamp::from_unix_millis(1_700_000_000_000)).unwrap();
        assert_eq!(moved.epoch().unix_millis(), 1_700_000_000_000);
        assert_eq!(moved.fields(), twitter.fields());
    }

    #[test]
    fn nodes_are_numbers_or_addresses() {
        assert_eq!(node("7"), Ok(7));
        assert_eq!(node("0xff"), Ok(255));
        assert_eq!(node("9f:6b:de:ce:d8:46"), Ok(0x9f6b_dece_d846));
        assert!(node("9f:6b").is_err() && node("x").is_err());
    }
}
