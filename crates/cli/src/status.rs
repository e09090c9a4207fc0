//! `mint status`: how a running server is, for people, scripts and health checks.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::connect::{Client, percent_encoded, server_url};
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
            return match status["ready"] == true {
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

/// What the server says of itself, as one document.
fn look(client: &Client, url: &str, about: Option<&str>) -> Result<Value, Failure> {
    let path = match about {
        None => "/readyz".to_string(),
        Some(about) => format!("/readyz?for={}", percent_encoded(about)),
    };
    let (code, text) = client.look(&path)?;
    let no_server = || {
        Failure::cannot(format_args!("{url} answers {code} and no JSON"))
            .with_hint("is this a mint server? its HTTP port is 7600 unless configured")
    };
    let ready: Value = serde_json::from_str(&text).map_err(|_| no_server())?;
    if !ready["ready"].is_boolean() {
        return Err(match ready["detail"].as_str() {
            Some(why) => Failure::cannot(why).with_hint_if(ready["hint"].as_str()),
            None => no_server(),
        });
    }
    let mut status = json!({ "server": url });
    // What a token is needed for, or a server out of places does not tell.
    if let (200, text) = client.look("/metrics")? {
        let metrics = Metrics(&text);
        status["version"] = json!(metrics.label("mint_build_info", "version"));
        status["store_class"] = json!(metrics.label_where("mint_store_class", "class", 1.0));
        for (name, metric, _) in NUMBERS {
            status[*name] = json!(metrics.sum(metric) as u64);
        }
    }
    if let (Value::Object(status), Value::Object(ready)) = (&mut status, ready) {
        status.extend(ready);
    }
    Ok(status)
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

fn show(status: &Value, out: &mut Out) -> Result<(), Failure> {
    if out.json {
        return out.json_line(status);
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
    let is = if status["ready"] == true {
        "ready"
    } else {
        "not ready"
    };
    let version = status["version"]
        .as_str()
        .map(|version| format!(", version {version}"));
    let server = text(&status["server"]);
    out.line(format!("{server} is {is}{}", version.unwrap_or_default()))?;
    for (label, key) in [("because", "reasons"), ("note", "notes")] {
        for line in status[key].as_array().into_iter().flatten() {
            out.line(format!("  {label:<12}  {}", text(line)))?;
        }
    }
    for kind in ["sequences", "pools"] {
        if let Some(part) = status[kind].as_object() {
            out.line(format!("  {kind:<12}  {}", part_in_words(part)))?;
        }
    }
    let store = &status["store"];
    let class = status["store_class"]
        .as_str()
        .map(|class| format!(", class {class}"));
    let up = match store["up"] == true {
        true => "up".to_string(),
        false => format!("down since {} s", store["down_s"]),
    };
    out.line(format!("  {:<12}  {up}{}", "store", class.unwrap_or_default()))?;
    if let Some(left) = store["budget_left_s"].as_u64() {
        let first = &store["first_to_end"];
        let of = format!("{} {}", text(&first["kind"]), text(&first["name"]));
        out.line(format!("  {:<12}  {left} s without the store ({of})", "budget"))?;
    }
    for (name, _, label) in NUMBERS {
        if let Some(number) = status[*name].as_u64() {
            out.line(format!("  {label:<12}  {}", in_words(name, number)))?;
        }
    }
    Ok(())
}

fn part_in_words(part: &Map<String, Value>) -> String {
    let not_ready = part
        .get("not_ready")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    match (part.get("ready") == Some(&Value::Bool(true)), not_ready) {
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
