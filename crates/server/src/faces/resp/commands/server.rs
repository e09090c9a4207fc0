//! COMMAND, CONFIG, INFO, TIME: the server itself.

use std::rc::Rc;
use std::sync::Arc;

use mintage::Clock;
use mintage_ledger::Class;

use super::{Call, CommandRow, Flow, Subcommand, run_subcommand};
use crate::auth::{Right, What};
use crate::desk::Found;
use crate::error::Code;
use crate::faces::resp::REDIS_VERSION;
use crate::faces::resp::reply::Reply;
use crate::glob;
use crate::metrics::{FaceId, IdKind};
use crate::process::Told as Process;
use crate::thread::ServingThread;
use crate::transport::Endpoint;
use crate::unnamed;

/// `COMMAND …`; alone it describes every command.
pub(super) fn command(call: &mut Call<'_>) -> Flow {
    if call.args.len() > 1 {
        return run_subcommand(call, "command", COMMAND);
    }
    describe_all(call)
}

fn describe_all(call: &mut Call<'_>) -> Flow {
    let dialect = call.session.dialect;
    call.reply.array(dialect.all().count());
    dialect.all().for_each(|row| describe(call.reply, row));
    Flow::Done
}

pub(super) static COMMAND: &[Subcommand] = &[
    Subcommand {
        name: "count",
        arity: 2,
        summary: "how many commands there are",
        run: command_count,
    },
    Subcommand {
        name: "info",
        arity: -2,
        summary: "describes commands",
        run: command_info,
    },
    Subcommand {
        name: "docs",
        arity: -2,
        summary: "describes commands for people",
        run: command_docs,
    },
    Subcommand {
        name: "list",
        arity: 2,
        summary: "the commands' names",
        run: command_list,
    },
];

fn command_count(call: &mut Call<'_>) -> Flow {
    call.reply.integer(call.session.dialect.all().count() as i64);
    Flow::Done
}

fn command_list(call: &mut Call<'_>) -> Flow {
    let dialect = call.session.dialect;
    call.reply.array(dialect.all().count());
    dialect.all().for_each(|row| call.reply.bulk(row.name.as_bytes()));
    Flow::Done
}

fn command_info(call: &mut Call<'_>) -> Flow {
    if call.args.len() == 2 {
        return describe_all(call);
    }
    call.reply.array(call.args.len() - 2);
    for name in call.args.from(2) {
        match call.session.dialect.find(name) {
            Some(row) => describe(call.reply, row),
            None => call.reply.null_array(),
        }
    }
    Flow::Done
}

fn command_docs(call: &mut Call<'_>) -> Flow {
    let rows: Vec<&CommandRow> = match call.args.len() {
        2 => call.session.dialect.all().collect(),
        _ => {
            let named = call.args.from(2);
            named.filter_map(|name| call.session.dialect.find(name)).collect()
        }
    };
    call.reply.map(rows.len());
    for row in rows {
        call.reply.bulk(row.name.as_bytes());
        call.reply.map(2);
        call.reply.bulk(b"summary");
        call.reply.bulk(row.summary.as_bytes());
        call.reply.bulk(b"group");
        call.reply.bulk(row.group.as_bytes());
    }
    Flow::Done
}

/// Redis 7's ten fields: name, arity, flags, first and last key, step, categories, tips, key specifications,
/// subcommands.
fn describe(reply: &mut Reply, row: &CommandRow) {
    reply.array(10);
    reply.bulk(row.name.as_bytes());
    reply.integer(i64::from(row.arity));
    reply.set(row.flags.len());
    row.flags.iter().for_each(|flag| reply.simple(flag));
    for position in [row.keys.0, row.keys.1, row.keys.2] {
        reply.integer(i64::from(position));
    }
    reply.set(1);
    reply.simple(&format!("@{}", row.group));
    for _ in 0..3 {
        reply.set(0);
    }
}

/// `CONFIG …`.
pub(super) fn config(call: &mut Call<'_>) -> Flow {
    run_subcommand(call, "config", CONFIG)
}

pub(super) static CONFIG: &[Subcommand] = &[Subcommand {
    name: "get",
    arity: -3,
    summary: "settings that match patterns",
    run: config_get,
}];

/// What Redis's settings would be if this were Redis: tools look here to learn how durable a server is.
fn config_get(call: &mut Call<'_>) -> Flow {
    let config = call.thread.config();
    let durable = call.thread.service().ledger().store_class() != Class::Lossy;
    let port = config.resp_listen.endpoints.first().map_or(0, Endpoint::port);
    let settings: [(&str, String); 10] = [
        ("appendonly", if durable { "yes" } else { "no" }.to_string()),
        ("appendfsync", if durable { "always" } else { "no" }.to_string()),
        ("save", String::new()),
        ("maxmemory", "0".to_string()),
        ("maxmemory-policy", "noeviction".to_string()),
        ("maxclients", config.max_connections.to_string()),
        (
            "timeout",
            config
                .resp_idle_timeout
                .0
                .map_or(0, |timeout| timeout.as_secs())
                .to_string(),
        ),
        ("databases", "1".to_string()),
        ("port", port.to_string()),
        ("proto-max-bulk-len", config.resp_max_argument.0.to_string()),
    ];
    let wanted = |name: &str| {
        call.args
            .from(2)
            .any(|p| glob::matches(&p.to_ascii_lowercase(), name.as_bytes()))
    };
    let found: Vec<_> = settings.iter().filter(|(name, _)| wanted(name)).collect();
    call.reply.map(found.len());
    for (name, value) in found {
        call.reply.bulk(name.as_bytes());
        call.reply.bulk(value.as_bytes());
    }
    Flow::Done
}

/// `TIME`: seconds and microseconds of the clock that ids read.
pub(super) fn time(call: &mut Call<'_>) -> Flow {
    let us = call.thread.service().ledger().clock().now().unix_nanos() / 1000;
    call.reply.array(2);
    call.reply.bulk_number(us.div_euclid(1_000_000));
    call.reply.bulk_number(us.rem_euclid(1_000_000));
    Flow::Done
}

/// `INFO [section…]`.
pub(super) fn info(call: &mut Call<'_>) -> Flow {
    let everything = call.args.len() == 1
        || ["all", "default", "everything"]
            .iter()
            .any(|word| (1..call.args.len()).any(|i| call.is(i, word)));
    let wanted = SECTIONS.map(|(name, _)| everything || (1..call.args.len()).any(|i| call.is(i, name)));
    let (local, face) = (call.session.local.as_ref(), call.session.face);
    let port = local.map_or(0, Endpoint::port);
    let who = call.session.identity.as_ref();
    let sees_all = who.is_some_and(|who| who.may(Right::Read, What::Everything));
    call.later(move |thread, mut reply| async move {
        let found = match thread.service().found().await {
            Ok(found) => found,
            Err(error) => {
                reply.refuse(&error);
                return reply;
            }
        };
        let told = Told {
            thread,
            port,
            face,
            found,
            sees_all,
        };
        let mut text = String::new();
        for ((name, write), _) in SECTIONS.iter().zip(wanted).filter(|(_, wanted)| *wanted) {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            let (head, tail) = name.split_at(1);
            text.push_str(&format!("# {}{tail}\r\n", head.to_uppercase()));
            for (field, value) in write(&told) {
                text.push_str(&format!("{field}:{value}\r\n"));
            }
        }
        reply.text(&text);
        reply
    })
}

/// What `INFO` is told from.
struct Told {
    thread: Rc<ServingThread>,
    /// Ours, on this connection; 0 for a unix socket.
    port: u16,
    face: FaceId,
    found: Arc<Found>,
    /// Who asks may read every name.
    sees_all: bool,
}

type Section = fn(&Told) -> Vec<(&'static str, String)>;

static SECTIONS: [(&str, Section); 9] = [
    ("server", info_server),
    ("clients", info_clients),
    ("memory", info_memory),
    ("persistence", info_persistence),
    ("stats", info_stats),
    ("replication", info_replication),
    ("cpu", info_cpu),
    ("keyspace", info_keyspace),
    ("mint", info_mint),
];

fn info_server(told: &Told) -> Vec<(&'static str, String)> {
    let uptime = told.thread.service().uptime().as_secs();
    vec![
        ("redis_version", REDIS_VERSION.to_string()),
        ("redis_mode", "standalone".to_string()),
        ("mint_version", env!("CARGO_PKG_VERSION").to_string()),
        ("os", std::env::consts::OS.to_string()),
        ("arch_bits", usize::BITS.to_string()),
        ("process_id", std::process::id().to_string()),
        ("tcp_port", told.port.to_string()),
        ("uptime_in_seconds", uptime.to_string()),
        ("uptime_in_days", (uptime / 86_400).to_string()),
    ]
}

fn info_clients(told: &Told) -> Vec<(&'static str, String)> {
    let connected = told.thread.service().metrics().connections(told.face);
    vec![
        ("connected_clients", connected.to_string()),
        ("maxclients", told.thread.config().max_connections.to_string()),
        ("blocked_clients", "0".to_string()),
    ]
}

/// All of it is of this process: nothing says what of that is for keys.
fn info_memory(_: &Told) -> Vec<(&'static str, String)> {
    let used = Process::read().map_or(0, |process| process.resident_bytes as u64);
    vec![
        ("used_memory", used.to_string()),
        ("used_memory_human", human(used)),
        ("used_memory_rss", used.to_string()),
        ("used_memory_rss_human", human(used)),
        ("maxmemory", "0".to_string()),
        ("maxmemory_human", human(0)),
        ("maxmemory_policy", "noeviction".to_string()),
        ("mem_fragmentation_ratio", "1.00".to_string()),
    ]
}

/// Bytes as Redis writes them for people.
fn human(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["K", "M", "G", "T"];
    let (mut size, mut unit) = (bytes as f64, "B");
    for larger in UNITS {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, larger);
    }
    match unit {
        "B" => format!("{bytes}B"),
        unit => format!("{size:.2}{unit}"),
    }
}

fn info_persistence(told: &Told) -> Vec<(&'static str, String)> {
    let durable = told.thread.service().ledger().store_class() != Class::Lossy;
    vec![
        ("loading", "0".to_string()),
        ("rdb_bgsave_in_progress", "0".to_string()),
        ("aof_enabled", u8::from(durable).to_string()),
    ]
}

fn info_replication(_: &Told) -> Vec<(&'static str, String)> {
    vec![
        ("role", "master".to_string()),
        ("connected_slaves", "0".to_string()),
        ("master_repl_offset", "0".to_string()),
    ]
}

fn info_cpu(_: &Told) -> Vec<(&'static str, String)> {
    let used_s = Process::read().map_or(0.0, |process| process.cpu_s);
    vec![
        ("used_cpu_sys", "0.000000".to_string()),
        ("used_cpu_user", format!("{used_s:.6}")),
    ]
}

fn info_stats(told: &Told) -> Vec<(&'static str, String)> {
    let metrics = told.thread.service().metrics();
    vec![
        (
            "total_connections_received",
            metrics.accepted(told.face).to_string(),
        ),
        (
            "total_commands_processed",
            metrics.requests(told.face).to_string(),
        ),
        (
            "rejected_connections",
            metrics.refused(Code::TooManyConnections).to_string(),
        ),
        ("expired_keys", "0".to_string()),
        ("evicted_keys", "0".to_string()),
    ]
}

fn info_keyspace(told: &Told) -> Vec<(&'static str, String)> {
    match told.thread.service().count() {
        0 => vec![],
        keys => vec![("db0", format!("keys={keys},expires=0,avg_ttl=0"))],
    }
}

fn info_mint(told: &Told) -> Vec<(&'static str, String)> {
    let service = told.thread.service();
    let metrics = service.metrics();
    let ready = service.ledger().ready_as_of(&told.found.survey);
    let mut lines = vec![
        ("store", service.ledger().store_scheme().to_string()),
        ("ready", u8::from(ready.ready).to_string()),
        ("numbers_issued", metrics.ids(IdKind::Sequence).to_string()),
        ("snowflakes_issued", metrics.ids(IdKind::Snowflake).to_string()),
        (
            "uuids_issued",
            (metrics.ids(IdKind::Uuid4) + metrics.ids(IdKind::Uuid7)).to_string(),
        ),
    ];
    if let Some(reason) = ready.reasons.first() {
        let reason = match told.sees_all {
            true => reason.clone(),
            false => unnamed(reason),
        };
        lines.push(("not_ready_because", reason.replace(['\r', '\n'], " ")));
    }
    lines
}
