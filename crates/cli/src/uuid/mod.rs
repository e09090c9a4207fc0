//! `mint uuid`: every version, in bulk, straight into one buffer.

mod names;
mod node;
mod pooled;
mod state;
mod timed;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use mintage::{Timestamp, Uuid, UuidText};

use crate::errors::Failure;
use crate::out::Out;
use crate::tls::TlsFiles;
use node::NodeSource;

#[derive(clap::Args, Debug)]
#[command(after_help = crate::time::FORMS, override_usage = USAGE)]
pub(crate) struct Args {
    /// v7 sorts by time, v4 is random, v5 and v3 are made from names, v8 is your own; v1, v6, v2 hold a node; nil
    /// is all zeros, max all ones
    #[arg(default_value = "v7", hide_default_value = true, ignore_case = true)]
    version: Version,
    /// v3, v5, v8 --sha256: the names; - reads them from standard input, one per line
    #[arg(value_name = "NAME|-")]
    names: Vec<OsString>,
    /// How many [default: 1]
    #[arg(short = 'n', long = "count", value_name = "N", value_parser = crate::count::parse)]
    count: Option<u64>,
    /// How to write them; raw is 16 bytes each, nothing between them
    #[arg(long, default_value = "hyphenated", value_parser = formats())]
    format: String,
    /// v1, v2, v6, v7: made at this time; touches no state, further ids take the next places
    #[arg(long, value_name = "TIME", value_parser = crate::time::parse)]
    at: Option<Timestamp>,
    /// v1, v2, v6: random, hardware, hardware:INTERFACE, ip, fingerprint, or six octets as 9f:6b:de:ce:d8:46
    /// [default: random; v6: random in every id]
    #[arg(long, value_name = "NODE")]
    node: Option<NodeSource>,
    /// v1, v6: 0 to 16383; v2: 0 to 63 [default: random]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=16383))]
    clock_seq: Option<u16>,
    /// v1, v6, v7: strictly increasing across all processes that use this file, through kills and
    /// clock steps; keeps node and clock sequence
    #[arg(long, value_name = "FILE", conflicts_with_all = ["at", "clock_seq", "precision"])]
    state: Option<PathBuf>,
    /// v1, v6: node and clock sequence of this pool, which leases them safely across machines; alone it means the
    /// server of MINT_SERVER
    #[arg(long, value_name = "NAME", conflicts_with_all = ["at", "node", "clock_seq", "state"])]
    pool: Option<String>,
    /// v1, v6: take them from a server's pool; its token is read from MINT_TOKEN
    #[arg(long, value_name = "URL", conflicts_with_all = ["at", "node", "clock_seq", "state", "store"])]
    server: Option<String>,
    /// v1, v6: take them from a pool of this store, which no server may have open
    #[arg(long, value_name = "URL", conflicts_with_all = ["at", "node", "clock_seq", "state"])]
    store: Option<String>,
    #[command(flatten)]
    tls: TlsFiles,
    /// v2: what the local id names [default: person]
    #[arg(long)]
    domain: Option<DomainArg>,
    /// v2: a user id, group id or number of your own [default: this user's or group's]
    #[arg(long, value_name = "N")]
    local_id: Option<u32>,
    /// v3, v5, v8 --sha256: dns, url, oid, x500, or a UUID
    #[arg(long, value_name = "NAMESPACE", value_parser = names::parse_namespace)]
    namespace: Option<Uuid>,
    /// v7: how much of the time it holds: milliseconds, or 244 ns steps
    #[arg(long)]
    precision: Option<PrecisionArg>,
    /// v8: these 128 bits, of which 6 give way to version and variant
    #[arg(long, value_name = "HEX32", value_parser = names::parse_custom)]
    custom: Option<[u8; 16]>,
    /// v8: from the SHA-256 of a name in a namespace
    #[arg(long, conflicts_with = "custom")]
    sha256: bool,
}

const USAGE: &str = "mint uuid [v4|v7|nil|max] [OPTIONS]
       mint uuid v1|v6|v7 --at TIME [--node NODE] [--clock-seq N]
       mint uuid v1|v6|v7 --state FILE
       mint uuid v1|v6 --pool NAME [--server URL|--store URL]
       mint uuid v2 [--domain DOMAIN] [--local-id N]
       mint uuid v3|v5 --namespace NAMESPACE NAME...
       mint uuid v8 --custom HEX32
       mint uuid v8 --sha256 --namespace NAMESPACE NAME...";

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    #[value(alias = "1")]
    V1,
    #[value(alias = "2")]
    V2,
    #[value(alias = "3")]
    V3,
    #[value(alias = "4")]
    V4,
    #[value(alias = "5")]
    V5,
    #[value(alias = "6")]
    V6,
    #[value(alias = "7")]
    V7,
    #[value(alias = "8")]
    V8,
    Nil,
    Max,
}

impl Version {
    fn number(self) -> u8 {
        self as u8 + 1
    }

    /// As it is typed.
    fn name(self) -> String {
        match self {
            Version::Nil => "nil".to_string(),
            Version::Max => "max".to_string(),
            _ => format!("v{}", self.number()),
        }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum DomainArg {
    Person,
    Group,
    Org,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum PrecisionArg {
    Ms,
    Submilli,
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
        return Err(Failure::usage("--format raw and --json cannot be combined"));
    }
    args.check_fit()?;
    let mut sink = Sink { form, out };
    if let Some(file) = &args.state {
        return state::run(args, file, &mut sink);
    }
    if args.pool.is_some() || args.server.is_some() || args.store.is_some() {
        return pooled::run(args, &mut sink);
    }
    match args.version {
        Version::V4 => sink.many(args.count.unwrap_or(1), |ids| {
            mintage::uuid4_many(ids);
            Ok(())
        }),
        Version::V3 | Version::V5 | Version::V8 => names::run(args, &mut sink),
        Version::V1 | Version::V2 | Version::V6 | Version::V7 => timed::run(args, &mut sink),
        Version::Nil => sink.put(&[Uuid::nil()]),
        Version::Max => sink.put(&[Uuid::max()]),
    }
}

impl Args {
    /// Refuses options that mean nothing for the version.
    fn check_fit(&self) -> Result<(), Failure> {
        use Version::{V1, V2, V3, V4, V5, V6, V7, V8};
        let options: [(&str, bool, &[Version]); 14] = [
            ("--at", self.at.is_some(), &[V1, V2, V6, V7]),
            ("--node", self.node.is_some(), &[V1, V2, V6]),
            ("--clock-seq", self.clock_seq.is_some(), &[V1, V2, V6]),
            ("--state", self.state.is_some(), &[V1, V6, V7]),
            ("--pool", self.pool.is_some(), &[V1, V6]),
            ("--server", self.server.is_some(), &[V1, V6]),
            ("--store", self.store.is_some(), &[V1, V6]),
            ("--domain", self.domain.is_some(), &[V2]),
            ("--local-id", self.local_id.is_some(), &[V2]),
            ("--namespace", self.namespace.is_some(), &[V3, V5, V8]),
            ("--precision", self.precision.is_some(), &[V7]),
            ("--custom", self.custom.is_some(), &[V8]),
            ("--sha256", self.sha256, &[V8]),
            (
                "--count",
                self.count.is_some_and(|n| n != 1),
                &[V1, V2, V4, V6, V7],
            ),
        ];
        for (option, given, fits) in options {
            if given && !fits.contains(&self.version) {
                let fits: Vec<String> = fits.iter().map(|version| version.name()).collect();
                let message = format!("{option} does not apply to {}", self.version.name());
                return Err(Failure::usage(message).with_hint(format!("it is for {}", fits.join(", "))));
            }
        }
        if let (false, Some(name)) = (matches!(self.version, V3 | V5 | V8), self.names.first()) {
            let message = format!("{} takes no name, and {name:?} was given", self.version.name());
            return Err(
                Failure::usage(message).with_hint("mint uuid v5 --namespace dns NAME makes one from a name")
            );
        }
        Ok(())
    }
}

/// Where ids go.
type Sink<'a> = crate::sink::Sink<'a, UuidText>;

impl Sink<'_> {
    /// Writes `count` ids, made in batches by `fill`.
    fn many(
        &mut self,
        count: u64,
        mut fill: impl FnMut(&mut [Uuid]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut batch = [Uuid::nil(); BATCH];
        let mut left = count;
        while left > 0 {
            let n = usize::try_from(left).unwrap_or(BATCH).min(BATCH);
            fill(&mut batch[..n])?;
            self.put(&batch[..n])?;
            left -= n as u64;
        }
        Ok(())
    }
}
