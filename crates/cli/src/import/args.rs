//! What `mint import` is told.

use std::path::PathBuf;
use std::time::Duration;

use mintage_ledger::StoreSettings;
use mintage_ledger::moves::{CeilingAt, Told, Wish};
use mintage_ledger::source::{FillFrom, KEYS_MAX, OwnTable, SourceSettings};

use crate::errors::Failure;
use crate::tls::TlsFiles;

#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
                  mint import postgres://shop@db/shop                      the plan: nothing is changed\n  \
                  mint import postgres://shop@db/shop --apply              move every counter here\n  \
                  mint import redis://db --match 'orders*' --apply --yes   some of them, without a question\n  \
                  mint import shop --ceiling +100000 --apply               no pause: the source ends 100,000 \
                  numbers on\n  \
                  mint import shop --back --apply                          return them to the source\n\n\
                  Without --apply it prints what it would do. At a terminal --apply asks first, unless --yes is \
                  given. If it \
                  is cut off, run the same command again: it finishes the move.\n\n\
                  Exit codes: 0 done, possible or sound; 1 refused or not sound; 2 wrong usage; 3 a side could not be \
                  reached.")]
pub(crate) struct Args {
    /// Where counters are: a URL as mint doctor takes it, or a name of [sources.NAME] in the configuration, which
    /// --beside needs
    #[arg(value_name = "SOURCE", required_unless_present_any = ["status", "url_file"])]
    pub(super) source: Option<String>,
    /// A further source whose counters give out the same names' numbers, as the second of two ticket servers does: both
    /// become one sequence; may be repeated
    #[arg(long = "and", value_name = "SOURCE")]
    pub(super) and: Vec<String>,
    /// A file that holds the URL with its password
    #[arg(long, value_name = "FILE", conflicts_with = "source")]
    pub(super) url_file: Option<PathBuf>,
    /// Do it; otherwise the plan is printed
    #[arg(long)]
    pub(super) apply: bool,
    /// Do not ask first, as --apply does at a terminal
    #[arg(short, long, requires = "apply")]
    pub(super) yes: bool,
    /// Print the plan, as without --apply
    #[arg(long, conflicts_with = "apply")]
    pub(super) dry_run: bool,
    /// Only counters whose key is like this; * is any text, ? one character; may be repeated
    #[arg(long = "match", value_name = "GLOB")]
    pub(super) matching: Vec<String>,
    /// What a counter is called here; may be repeated
    #[arg(long = "name", value_name = "KEY=NAME", value_parser = pair)]
    pub(super) names: Vec<(String, String)>,
    /// Put before every other name
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(super) prefix: String,
    /// Numbers to skip above where the source stands; a source that may forget needs some
    #[arg(long, value_name = "N")]
    pub(super) advance: Option<u64>,
    /// Without a pause: the source continues below this number, and Mintage issues numbers from it on. +N: so many
    /// numbers beyond the source's next one
    #[arg(long, value_name = "B|+N", value_parser = ceiling, group = "way", allow_hyphen_values = true)]
    pub(super) ceiling: Option<CeilingAt>,
    /// Our servers take ranges out of the source, and both serve
    #[arg(long, group = "way")]
    pub(super) beside: bool,
    /// End what stands beside or below a ceiling: the source stops
    #[arg(long, group = "way")]
    pub(super) cut: bool,
    /// Give counters back: the source goes on above what was given out here
    #[arg(long, group = "way")]
    pub(super) back: bool,
    /// --back: to this one of several sources alone; the fences of the others stay
    #[arg(long, value_name = "SOURCE", requires = "back")]
    pub(super) to: Option<String>,
    /// --and: clients count in steps of N, where their source does not say so (Redis, a table of your own)
    #[arg(long, value_name = "N", requires = "and", value_parser = step)]
    pub(super) increment: Option<i64>,
    /// Look at both sides of what was moved
    #[arg(long, group = "way", conflicts_with = "apply")]
    pub(super) verify: bool,
    /// Show every move
    #[arg(long, group = "way", conflicts_with = "apply")]
    pub(super) status: bool,
    /// Print SQL for their client program, so that tables whose counters are here go on filling their columns by
    /// themselves: from our PostgreSQL or MySQL face at this address, as that database reaches it [default: 127.0.0.1
    /// and the usual port]. With --back: SQL that takes it back
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1",
        conflicts_with_all = ["apply", "verify", "status", "beside", "fence"])]
    fill: Option<FillFrom>,
    /// --fill: what that face puts before names (its setting `prefix`), so that the SQL asks for the rest
    #[arg(long, value_name = "TEXT", requires = "fill", default_value = "")]
    fill_prefix: String,
    /// `none`: the source may not be changed; it is watched instead, and must not move
    #[arg(long, value_name = "HOW", value_parser = ["none"])]
    pub(super) fence: Option<String>,
    /// How long it is watched
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = crate::time::parse_duration)]
    pub(super) watch: Duration,
    /// Take a name that is used here already, if its definition holds the source's
    #[arg(long)]
    pub(super) into_used: bool,
    /// own+…: the table that holds counters, one a row
    #[arg(long, value_name = "TABLE", requires_all = ["key_column", "column", "means"])]
    pub(super) table: Option<String>,
    /// own+…: the column that names the counter
    #[arg(long, value_name = "COLUMN")]
    pub(super) key_column: Option<String>,
    /// own+…: the column that holds its number
    #[arg(long, value_name = "COLUMN")]
    pub(super) column: Option<String>,
    /// own+…: what that number is
    #[arg(long, value_name = "WHAT", value_parser = ["next", "last"])]
    pub(super) means: Option<String>,
    /// own+…: a further condition, as SQL
    #[arg(long = "where", value_name = "SQL")]
    pub(super) condition: Option<String>,
    /// How many bits uid-generator's numbers of workers have (22 unless it was set up otherwise): they end there
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=62))]
    pub(super) worker_bits: Option<u32>,
    /// How long one statement may take
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = crate::time::parse_duration)]
    pub(super) timeout: Duration,
    /// The server to bring them to [default: MINT_SERVER, else http://127.0.0.1:7600]; its token is read from
    /// MINT_TOKEN
    #[arg(long, value_name = "URL")]
    pub(super) server: Option<String>,
    /// Bring them to this store instead; servers may use it, too, if it is a shared one
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    pub(super) store: Option<String>,
    #[command(flatten)]
    pub(super) tls: TlsFiles,
}

impl Args {
    pub(super) fn wish(&self) -> Wish {
        match (self.ceiling, self.beside) {
            (Some(at), _) => Wish::Ceiling(at),
            (None, true) => Wish::Beside,
            (None, false) => Wish::Cut,
        }
    }

    /// Where tables that fill themselves find our face.
    pub(super) fn fill(&self) -> Option<FillFrom> {
        let from = self.fill.clone()?;
        Some(FillFrom {
            prefix: self.fill_prefix.clone(),
            ..from
        })
    }

    /// By how much clients count, where they do not say so themselves.
    pub(super) fn told(&self) -> Option<Told> {
        Some(Told {
            increment: self.increment?,
            is_next: self.means.as_deref() == Some("next"),
        })
    }

    /// What the source is opened with.
    pub(super) fn settings(&self) -> Result<SourceSettings, Failure> {
        if self.timeout.is_zero() {
            return Err(Failure::usage("--timeout 0s leaves no time for an answer").with_hint("--timeout 5s"));
        }
        let table = match (&self.table, &self.key_column, &self.column, &self.means) {
            (Some(table), Some(key), Some(value), Some(means)) => Some(OwnTable {
                table: table.clone(),
                key_column: key.clone(),
                value_column: value.clone(),
                is_next: means == "next",
                condition: self.condition.clone(),
            }),
            _ => None,
        };
        Ok(SourceSettings {
            store: StoreSettings {
                request_timeout: self.timeout,
                connect_timeout: self.timeout,
                ..StoreSettings::default()
            },
            table,
            keys_max: Some(KEYS_MAX),
            worker_bits: self.worker_bits,
        })
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((key, name)) if !key.is_empty() && !name.is_empty() => Ok((key.to_string(), name.to_string())),
        _ => Err("a key there, = and a name here, as in orders_id_seq=orders".to_string()),
    }
}

fn ceiling(text: &str) -> Result<CeilingAt, String> {
    let wrong = |_| format!("{text:?} is neither a number nor + and a number");
    match text.strip_prefix('+') {
        Some(by) => by.parse().map(CeilingAt::Beyond).map_err(wrong),
        None => text.parse().map(CeilingAt::Number).map_err(wrong),
    }
}

fn step(text: &str) -> Result<i64, String> {
    match text.parse() {
        Ok(step) if step > 0 => Ok(step),
        // Such counters are fenced and lifted upwards alone.
        _ => Err("a number from 1 on".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ceilings_are_read() {
        assert_eq!(pair("a=b=c"), Ok(("a=b".into(), "c".into())));
        assert!(pair("a").is_err() && pair("=a").is_err() && pair("a=").is_err());
        assert_eq!(ceiling("+100"), Ok(CeilingAt::Beyond(100)));
        assert_eq!(ceiling("-5"), Ok(CeilingAt::Number(-5)));
        assert!(ceiling("").is_err() && ceiling("+-1").is_err() && ceiling("1e3").is_err());
    }
}
