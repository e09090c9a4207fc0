//! `mint serve`: the server, with nothing to set up.

use std::net::SocketAddr;
use std::path::PathBuf;

use mintage_ledger::Class;
use mintage_server::config::{Config, ConfigError, Loaded, LogFormat, LogLevel, Override};
use mintage_server::faces::{self, Face};
use mintage_server::transport::Endpoint;
use mintage_server::{Host, Serving, serve, stores_shown};
use serde_json::{Value, json};

use crate::color::Color;
use crate::config::{check_stores, load, opening, read, refused, store_given, validated};
use crate::errors::Failure;
use crate::logging;
use crate::out::Out;
use crate::passwords::warn_of_passwords;

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Every other setting: mint config init. Without any, the store is the folder ~/.local/share/mint, for \
                        root /var/lib/mint."
)]
pub(crate) struct Args {
    /// Where reservations are kept: file:PATH, postgres://…, mysql://…, redis://…, etcd://…, zookeeper://… or memory:
    /// [default: file:, the default folder]
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Address of the HTTP interface, tls:ADDR, unix:PATH, or off [default: 127.0.0.1:7600]
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// Address of the Redis protocol, tls:ADDR, unix:PATH, or off [default: 127.0.0.1:7601]
    #[arg(long, value_name = "ADDR")]
    resp: Option<String>,
    /// Address of gRPC, tls:ADDR, unix:PATH, main for the HTTP port, or off [default: main]
    #[arg(long, value_name = "ADDR")]
    grpc: Option<String>,
    /// Serve clients of another system as well: NAME, NAME=ADDR, NAME=main for our HTTP port, or all; may be repeated
    /// [default addresses: docs/faces.md]
    #[arg(long, value_name = "NAME[=ADDR]")]
    face: Vec<String>,
    /// Configuration file; without it ./mint.toml, if there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Serving threads [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<String>,
    /// How to write logs: text or json [default: text]
    #[arg(long, value_name = "FORMAT")]
    log: Option<String>,
    /// Listen on other than loopback addresses without tokens
    #[arg(long)]
    insecure: bool,
    /// Make the store in its folder anew where this machine remembers one that is gone
    #[arg(long)]
    new: bool,
    /// Say whether it could start; open and touch nothing
    #[arg(long)]
    check: bool,
}

impl Args {
    /// How logs are to be written, where the configuration cannot be read.
    fn log_format_wished(&self) -> LogFormat {
        let wished = self
            .log
            .clone()
            .or_else(|| std::env::var("MINT_LOG__FORMAT").ok());
        match wished.as_deref() {
            Some("json") => LogFormat::Json,
            _ => LogFormat::Text,
        }
    }

    fn overrides(&self) -> Result<Vec<Override>, ConfigError> {
        let given = [
            ("server.http.listen", "--http", self.http.as_deref()),
            ("server.resp.listen", "--resp", self.resp.as_deref()),
            ("server.grpc.listen", "--grpc", self.grpc.as_deref()),
            ("server.threads", "--threads", self.threads.as_deref()),
            ("log.format", "--log", self.log.as_deref()),
            ("insecure", "--insecure", self.insecure.then_some("true")),
            ("store.new", "--new", self.new.then_some("true")),
        ];
        let row = |(path, flag, value): (&str, &str, Option<&str>)| {
            Some(Override {
                path: path.into(),
                value: value?.into(),
                flag: flag.into(),
            })
        };
        let store = self.store.as_deref().map(store_given).unwrap_or_default();
        let settings = store.into_iter().chain(given.into_iter().filter_map(row));
        Ok(settings.chain(faces_given(&self.face)?).collect())
    }
}

/// Where `--face` has faces listen: all that is said of one together, a comma between.
fn faces_given(given: &[String]) -> Result<Vec<Override>, ConfigError> {
    let foreign = || faces::all().filter(|face| face.is_foreign());
    let mut listens: Vec<Override> = Vec::new();
    for text in given {
        let (name, address) = match text.split_once('=') {
            Some((name, address)) => (name, Some(address)),
            None => (text.as_str(), None),
        };
        let named: Vec<&Face> = match (name, address) {
            ("all", None) => foreign().collect(),
            _ => foreign().filter(|face| face.name == name).collect(),
        };
        if named.is_empty() {
            let known: Vec<&str> = foreign().map(|face| face.name).collect();
            return Err(ConfigError::new(format!("--face {text}: there is no such face"))
                .with_hint(format!("there are {}, and all", known.join(", "))));
        }
        for face in named {
            let address = address.map_or_else(|| format!("127.0.0.1:{}", face.port), str::to_string);
            let path = format!("{}.listen", face.section);
            match listens.iter_mut().find(|listen| listen.path == path) {
                Some(listen) => listen.value = format!("{},{address}", listen.value),
                None => listens.push(Override {
                    path,
                    value: address,
                    flag: format!("--face {}", face.name),
                }),
            }
        }
    }
    Ok(listens)
}

pub(crate) fn run(args: &Args, color: Color, out: &mut Out) -> Result<(), Failure> {
    let loaded = args
        .overrides()
        .map_err(refused)
        .and_then(|overrides| load(args.config.as_deref(), overrides));
    let format = match &loaded {
        Ok(loaded) => loaded.config.log_format,
        Err(_) => args.log_format_wished(),
    };
    // What reads JSON gets nothing else: no password's warning, no refusal of the start as text.
    let is_json = format == LogFormat::Json && !args.check;
    if !is_json {
        warn_of_passwords(|text| out.note(format!("warning: {text}")));
        return start(args, loaded?, None, color, out);
    }
    let (level, loaded) = match loaded {
        Ok(loaded) => (loaded.config.log_level, Ok(loaded)),
        Err(failure) => (LogLevel::Info, Err(failure)),
    };
    // Also for what is said before the configuration is known to be right.
    let level = logging::start(format, level, color);
    warn_of_passwords(|text| tracing::warn!(about = text, "the command line"));
    loaded
        .and_then(|loaded| start(args, loaded, Some(level), color, out))
        .map_err(Failure::logged)
}

fn start(
    args: &Args,
    loaded: Loaded,
    logging: Option<logging::Level>,
    color: Color,
    out: &mut Out,
) -> Result<(), Failure> {
    let warnings = validated(&loaded)?;
    if args.check {
        check_stores(&loaded)?;
        for warning in &warnings {
            out.note(format!("warning: {warning}"));
        }
        return if out.json {
            out.json_line(&json!({"valid": true, "warnings": warnings}))
        } else {
            out.line("the server could start with this configuration")
        };
    }
    let config = opening(loaded)?;
    let level = logging.unwrap_or_else(|| logging::start(config.log_format, config.log_level, color));
    for warning in &warnings {
        tracing::warn!(about = warning, "the configuration");
    }
    let store = stores_shown(&config);
    let hosts = [&["localhost".to_string()], &config.http_hosts[..]]
        .concat()
        .join(" ");
    let mut running = Running {
        args,
        level,
        store,
        hosts,
        log_format: config.log_format,
        out,
        printed: Ok(()),
    };
    serve(config, &mut running).map_err(|error| Failure::cannot(&error).with_hint_if(error.hint))?;
    // Somebody who reads only the first line and leaves does not end the server.
    match running.printed {
        Err(Failure::BrokenPipe) => Ok(()),
        other => other,
    }
}

/// This command, as the server sees it.
struct Running<'a> {
    args: &'a Args,
    level: logging::Level,
    store: String,
    /// The names by which browsers may ask.
    hosts: String,
    log_format: LogFormat,
    out: &'a mut Out,
    printed: Result<(), Failure>,
}

impl Host for Running<'_> {
    fn ready(&mut self, serving: &Serving) {
        let shown = |face| serving.address(face).map_or("off".to_string(), |a| a.to_string());
        let all = serving.addresses.iter();
        let own = all.map(|(face, address)| format!("{face}={address}"));
        let sharing = serving.sharing.iter().map(|face| format!("{face}=main"));
        let faces: Vec<String> = own.chain(sharing).collect();
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            store = self.store,
            class = serving.durability.class.letter(),
            http = shown("http"),
            resp = shown("resp"),
            faces = faces.join(" "),
            hosts = self.hosts,
            pid = std::process::id(),
            "started"
        );
        // The line of the log is the banner of those who read JSON.
        if self.out.json || self.log_format == LogFormat::Text {
            self.printed = announce(serving, &self.store, self.out);
        }
    }

    fn reload(&mut self) -> Result<Config, ConfigError> {
        let loaded = read(self.args.config.as_deref(), self.args.overrides()?)?;
        loaded.check_files()?;
        Ok(loaded.config)
    }

    fn set_log_level(&mut self, level: LogLevel) {
        self.level.set(level);
    }
}

/// Says where it serves, with a command to try for each face.
fn announce(serving: &Serving, store: &str, out: &mut Out) -> Result<(), Failure> {
    let (letter, meaning) = class(serving.durability.class);
    let why = &serving.durability.why;
    if out.json {
        let mut document = serde_json::Map::new();
        for face in faces::all().filter(|face| !face.is_foreign()) {
            let shares = serving.sharing.contains(&face.name).then(|| "main".to_string());
            let address = serving.address(face.name).map(ToString::to_string);
            document.insert(face.name.into(), address.or(shares).into());
        }
        let foreign = faces::all().filter(|face| face.is_foreign());
        let foreign = foreign.map(|face| (face.name, places(face, serving)));
        let foreign: serde_json::Map<String, Value> = foreign
            .filter(|(_, places)| !places.is_empty())
            .map(|(name, places)| (name.to_string(), json!(places)))
            .collect();
        document.insert("faces".into(), foreign.into());
        document.insert("store".into(), store.into());
        document.insert("class".into(), letter.into());
        document.insert("class_why".into(), why.as_str().into());
        document.insert("threads".into(), serving.threads.into());
        document.insert("version".into(), env!("CARGO_PKG_VERSION").into());
        out.json_line(&Value::Object(document))?;
        return out.flush();
    }
    out.line(concat!("mint ", env!("CARGO_PKG_VERSION"), " serves"))?;
    let labels = faces::all().filter(|face| !places(face, serving).is_empty());
    let width = labels.map(|face| face.label.len()).max().unwrap_or(0).max(7);
    for address in at_port(serving) {
        out.line(format!("  {:<width$} {:<21}  in a browser", "console", address))?;
    }
    for face in faces::all() {
        for address in at(face, serving) {
            let (shown, example) = (address.to_string(), (face.example)(&reachable(address)));
            out.line(format!("  {:<width$} {shown:<21}  {example}", face.label))?;
        }
    }
    let why = match why.as_str() {
        "" => String::new(),
        why => format!(" ({why})"),
    };
    out.line(format!(
        "  {:<width$} {store:<21}  class {letter}: {meaning}{why}",
        "store"
    ))?;
    out.flush()
}

/// Where a face can be reached: where it listens, and our own port where it shares that.
fn at<'s>(face: &'static Face, serving: &'s Serving) -> impl Iterator<Item = &'s Endpoint> {
    let shares = serving.sharing.contains(&face.name);
    let of = |name: &'static str| {
        let all = serving.addresses.iter().filter(move |(of, _)| *of == name);
        all.map(|(_, address)| address)
    };
    of(face.name).chain(of("http").filter(move |_| shares))
}

/// Where a browser finds the console: it has no use for a unix socket.
fn at_port(serving: &Serving) -> impl Iterator<Item = String> {
    let http = serving.addresses.iter().filter(|(face, _)| *face == "http");
    http.filter_map(|(_, address)| {
        let tcp = reachable(address).tcp()?;
        let scheme = if address.to_string().starts_with("tls:") {
            "https"
        } else {
            "http"
        };
        Some(format!("{scheme}://{tcp}"))
    })
}

fn places(face: &'static Face, serving: &Serving) -> Vec<String> {
    at(face, serving).map(ToString::to_string).collect()
}

/// An address that a client on this machine can use.
fn reachable(address: &Endpoint) -> Endpoint {
    let Some(mut tcp) = address.tcp() else {
        return address.clone();
    };
    if tcp.ip().is_unspecified() {
        tcp.set_ip(match tcp {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    address.with_tcp(tcp)
}

/// What a store may forget, as a letter and in words.
pub(crate) fn class(class: Class) -> (&'static str, &'static str) {
    (class.letter(), class.meaning())
}
