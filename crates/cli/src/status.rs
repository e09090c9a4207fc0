//! `mint status`: how a running server is, for people, scripts and health checks.

use std::time::Duration;

use mintage_wire::{Op, PartReady, Problem, Ready};
use serde::Serialize;
use serde_json::json;

use crate::ask::Ask;
use crate::connect::{Client, server_url};
use crate::errors::Failure;
use crate::out::Out;
use crate::tls::TlsFiles;

#[derive(clap::Args, Debug)]
#[command(
    after_help = "The exit code is 0 while the server gives out ids, and 1 when it does not or cannot be \
                        reached: a health check for containers without a shell. Where the server has tokens, \
                        MINT_TOKEN holds one; without it, only what /readyz tells is shown."
)]
pub(crate) struct Args {
    /// The server's URL [default: MINT_SERVER, else http://127.0.0.1:7600]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    tls: TlsFiles,
    /// Ask about one thing: sequences, pools, or the sequence or pool of a name
    #[arg(long = "for", value_name = "NAME")]
    about: Option<String>,
    /// Ask again every second, until interrupted
    #[arg(long)]
    watch: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let url = server_url(args.server.as_deref());
    let client = Client::new(&url, &args.tls)?;
    loop {
        let status = look(&client, &url, args.about.as_deref());
        if !args.watch {
            // A health check knows two answers.
            let status = status.map_err(Failure::negative)?;
            show(&status, out)?;
            return match status.ready.ready {
                true => Ok(()),
                false => {
                    out.flush()?;
                    Err(Failure::Negative)
                }
            };
        }
        match status {
            Ok(status) => show(&status, out)?,
            Err(Failure::Said { message, .. }) if out.json => {
                out.json_line(&json!({ "server": url, "ready": false, "reasons": [message] }))?;
            }
            Err(Failure::Said { message, .. }) => out.line(format!("{url} is not ready: {message}"))?,
            Err(other) => return Err(other),
        }
        if !out.json {
            out.line("")?;
        }
        out.flush()?;
        std::thread::sleep(EVERY);
    }
}

/// How often `--watch` asks.
const EVERY: Duration = Duration::from_secs(1);

/// What a server says of itself.
#[derive(Serialize)]
struct Status<'a> {
    server: &'a str,
    /// What a token is needed for, or a server out of places does not tell.
    #[serde(flatten)]
    more: Option<More>,
    #[serde(flatten)]
    ready: Ready,
}

/// What its metrics say.
#[derive(Serialize)]
struct More {
    version: Option<String>,
    store_class: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tokens: Vec<TokenUse>,
    #[serde(flatten)]
    numbers: serde_json::Map<String, serde_json::Value>,
}

/// What became of a token since the server's start.
#[derive(Serialize)]
struct TokenUse {
    name: String,
    /// In seconds of Unix time.
    last_used: Option<u64>,
    refused: u64,
}

/// What the server says of itself, as one document.
fn look<'a>(client: &Client, url: &'a str, about: Option<&str>) -> Result<Status<'a>, Failure> {
    let (code, text) = client.answer(&Ask::new(Op::Readyz, &[]).with_if("for", about))?;
    let ready: Ready =
        serde_json::from_str(&text).map_err(|_| match serde_json::from_str::<Problem<'_>>(&text) {
            Ok(problem) => Failure::cannot(&problem.detail).with_hint_if(problem.hint.as_deref()),
            Err(_) => Failure::cannot(format_args!("{url} answered {code} without JSON"))
                .with_hint("is this a mint server? its HTTP port is 7600 unless configured"),
        })?;
    let more = match client.answer(&Ask::new(Op::Metrics, &[]))? {
        (200, text) => {
            let metrics = Metrics(&text);
            let number = |(name, metric, _): &(&str, &str, &str)| {
                (name.to_string(), (metrics.sum(metric) as u64).into())
            };
            Some(More {
                version: metrics.label("mint_build_info", "version").map(String::from),
                store_class: metrics
                    .label_where("mint_store_class", "class", 1.0)
                    .map(String::from),
                tokens: metrics.tokens(),
                numbers: NUMBERS.iter().map(number).collect(),
            })
        }
        _ => None,
    };
    Ok(Status {
        server: url,
        more,
        ready,
    })
}

/// Whole numbers of the document, the metrics whose samples they are the sum of, and what people read.
const NUMBERS: &[(&str, &str, &str)] = &[
    ("uptime_s", "mint_uptime_seconds", "uptime"),
    ("sequences_exist", "mint_sequences", "names"),
    ("ids", "mint_ids_total", "ids"),
    ("requests", "mint_requests_total", "requests"),
    ("refused", "mint_refused_total", "refused"),
    ("connections", "mint_connections", "connections"),
    ("lost_in_gaps", "mint_gap_ids_total", "lost in gaps"),
    ("open_files", "process_open_fds", "open files"),
    ("memory_bytes", "process_resident_memory_bytes", "memory"),
];

/// The text that Prometheus reads.
struct Metrics<'a>(&'a str);

impl<'a> Metrics<'a> {
    /// The labels, in braces, and values of a metric's samples.
    fn samples(&self, name: &str) -> impl Iterator<Item = (&'a str, f64)> {
        self.0.lines().filter_map(move |line| {
            let (labels, value) = line.strip_prefix(name)?.rsplit_once(' ')?;
            // Another metric may begin with this one's name.
            let is_it = labels.is_empty() || labels.starts_with('{');
            Some((labels, value.parse().ok()?)).filter(|_| is_it)
        })
    }

    /// What became of each token, by their names.
    fn tokens(&self) -> Vec<TokenUse> {
        let of = |(labels, last): (&str, f64)| {
            let refused = self
                .samples("mint_token_refused_total")
                .find(|(of, _)| *of == labels);
            Some(TokenUse {
                name: text_of(labels, "token")?.to_string(),
                last_used: Some(last as u64).filter(|last| *last > 0),
                refused: refused.map_or(0, |(_, refused)| refused as u64),
            })
        };
        self.samples("mint_token_last_use_seconds")
            .filter_map(of)
            .collect()
    }

    fn sum(&self, name: &str) -> f64 {
        self.samples(name).map(|(_, value)| value).sum()
    }

    fn label(&self, name: &str, label: &str) -> Option<&'a str> {
        self.samples(name).find_map(|(labels, _)| text_of(labels, label))
    }

    fn label_where(&self, name: &str, label: &str, wanted: f64) -> Option<&'a str> {
        let sample = self.samples(name).find(|(_, value)| *value == wanted)?;
        text_of(sample.0, label)
    }
}

/// A label's text; those that are asked for hold no quotes.
fn text_of<'a>(labels: &'a str, label: &str) -> Option<&'a str> {
    let (_, behind) = labels.split_once(&format!("{label}=\""))?;
    behind.split_once('"').map(|(text, _)| text)
}

fn show(status: &Status<'_>, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return out.json_line(status);
    }
    let (ready, more) = (&status.ready, status.more.as_ref());
    let is = if ready.ready { "ready" } else { "not ready" };
    let version = more.and_then(|more| more.version.as_deref());
    let version = version.map_or(String::new(), |version| format!(", version {version}"));
    out.line(format!("{} is {is}{version}", status.server))?;
    for (label, lines) in [("because", &ready.reasons), ("note", &ready.notes)] {
        for line in lines {
            out.line(format!("  {label:<12}  {line}"))?;
        }
    }
    for (kind, part) in [("sequences", &ready.sequences), ("pools", &ready.pools)] {
        if let Some(part) = part {
            out.line(format!("  {kind:<12}  {}", part_in_words(part)))?;
        }
    }
    let store = &ready.store;
    let class = more.and_then(|more| more.store_class.as_deref());
    let class = class.map_or(String::new(), |class| format!(", class {class}"));
    let up = match store.down_s.filter(|_| !store.up) {
        None => "up".to_string(),
        Some(down) => format!("down for {down} s"),
    };
    out.line(format!("  {:<12}  {up}{class}", "store"))?;
    if let (Some(left), Some(first)) = (store.budget_left_s, &store.first_to_end) {
        let of = format!("{} {}", first.kind, first.name);
        out.line(format!("  {:<12}  {left} s without the store ({of})", "budget"))?;
    }
    for (name, _, label) in NUMBERS {
        if let Some(number) = more.and_then(|more| more.numbers.get(*name)?.as_u64()) {
            out.line(format!("  {label:<12}  {}", in_words(name, number)))?;
        }
    }
    for token in more.map_or(&[][..], |more| &more.tokens) {
        let (name, refused) = (&token.name, token.refused);
        let used = token.last_used.map_or("not used yet".into(), used_ago);
        out.line(format!("  {:<12}  {name}: {used}, {refused} refused", "token"))?;
    }
    Ok(())
}

fn used_ago(second: u64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let ago = now.map_or(0, |now| now.as_secs().saturating_sub(second));
    format!("used {} ago", in_words("uptime_s", ago))
}

fn part_in_words(part: &PartReady) -> String {
    match (part.ready, part.not_ready.len()) {
        (true, 0) => "ready".into(),
        (true, some) => format!("ready, but for {some}"),
        (false, _) => "not ready".into(),
    }
}

fn in_words(name: &str, whole: u64) -> String {
    match name {
        "uptime_s" => {
            let (days, hours, minutes) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60);
            match (days, hours) {
                (0, 0) => format!("{minutes} min {} s", whole % 60),
                (0, _) => format!("{hours} h {minutes} min"),
                _ => format!("{days} d {hours} h"),
            }
        }
        "memory_bytes" => format!("{} MiB", whole >> 20),
        _ => whole.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_told_from_those_that_begin_alike() {
        let metrics = Metrics("# TYPE a gauge\na{x=\"1\"} 2\na{x=\"3\"} 1\na_b 7\nb 4\n");
        assert_eq!(
            (metrics.sum("a"), metrics.sum("b"), metrics.sum("c")),
            (3.0, 4.0, 0.0)
        );
        assert_eq!(
            (metrics.label("a", "x"), metrics.label_where("a", "x", 1.0)),
            (Some("1"), Some("3"))
        );
    }
}
