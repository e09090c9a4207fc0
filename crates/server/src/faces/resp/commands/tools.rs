//! What tools of Redis ask besides counting: OBJECT, MEMORY, STRLEN, TOUCH, RANDOMKEY, DEBUG, LATENCY, SLOWLOG, MODULE, ACL,
//! CLUSTER, WAIT, ROLE. A key is a whole number in a string, nothing is slow or evicted, and there are no replicas of ours.

use std::sync::Arc;

use mintage::Clock;

use super::keys::sees;
use super::{Call, Flow, NO_SUCH_KEYS, NOT_AN_INTEGER, Subcommand, run_subcommand};
use crate::auth::{Identity, Right, What};
use crate::error::Code;
use crate::faces::resp::frame::strict_integer;
use crate::faces::resp::reply::Reply;
use crate::service::Service;

/// About what a sequence takes in memory: its record and its stock, without its name.
const SEQUENCE_BYTES: usize = 512;
/// Of how many names `RANDOMKEY` takes one.
const DRAWN_OF: u16 = 1000;

const NO_LFU: &str = "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when \
                      switching between policies at runtime LRU and LFU data will take some time to adjust.";
const NO_DEBUG: &str = "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run \
                        it from a local connection, otherwise you need to set this option in the configuration file, and \
                        then restart the server.";
const NO_CLUSTER: &str = "ERR This instance has cluster support disabled";

/// Answers with what `write` says of a key's last number; nothing where there is no such key.
fn of_key(call: &mut Call<'_>, at: usize, write: fn(&[u8], i64, &mut Reply)) -> Flow {
    let name = call.owned(at);
    let who = call.session.identity.as_ref();
    if who.is_none_or(|who| who.check(Right::Read, What::Named(&name)).is_err()) {
        return call.error(Code::Forbidden, NO_SUCH_KEYS);
    }
    call.later(move |thread, mut reply| async move {
        match thread.last(&name).await {
            Ok(Some(last)) => write(&name, last, &mut reply),
            Ok(None) => reply.null(),
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

/// `STRLEN key`: how many characters its number has.
pub(super) fn strlen(call: &mut Call<'_>) -> Flow {
    let name = call.owned(1);
    call.later(move |thread, mut reply| async move {
        match thread.last(&name).await {
            Ok(last) => reply.integer(last.map_or(0, |last| last.to_string().len() as i64)),
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

/// `RANDOMKEY`: one of the first names that may be seen.
pub(super) fn random_key(call: &mut Call<'_>) -> Flow {
    let who: Option<Identity> = call.session.identity.clone();
    // The clock picks it: nobody counts on which one comes.
    let drawn = call
        .thread
        .service()
        .ledger()
        .clock()
        .now()
        .unix_nanos()
        .unsigned_abs();
    call.later(move |thread, mut reply| async move {
        let list = |service: Arc<Service>| async move { service.list(None, DRAWN_OF).await };
        match thread.service().aside(list).await {
            Ok(infos) => {
                let names: Vec<_> = infos.into_iter().map(|info| info.name).collect();
                let names: Vec<_> = names.iter().filter(|name| sees(&who, name)).collect();
                match names.len() {
                    0 => reply.null(),
                    count => {
                        let at = usize::try_from(drawn / 1000 % count as u128).unwrap_or_default();
                        reply.bulk(names[at].as_str().as_bytes());
                    }
                }
            }
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

/// `OBJECT …`.
pub(super) fn object(call: &mut Call<'_>) -> Flow {
    run_subcommand(call, "object", OBJECT)
}

pub(super) static OBJECT: &[Subcommand] = &[
    Subcommand {
        name: "encoding",
        arity: 3,
        summary: "int: a key is a whole number",
        run: |call| of_key(call, 2, |_, _, reply| reply.bulk(b"int")),
    },
    Subcommand {
        name: "refcount",
        arity: 3,
        summary: "1",
        run: |call| of_key(call, 2, |_, _, reply| reply.integer(1)),
    },
    Subcommand {
        name: "idletime",
        arity: 3,
        summary: "0: nothing is evicted, so nothing is noted",
        run: |call| of_key(call, 2, |_, _, reply| reply.integer(0)),
    },
    Subcommand {
        name: "freq",
        arity: 3,
        summary: "refused: nothing is evicted",
        run: |call| of_key(call, 2, |_, _, reply| reply.error(Code::InvalidArgument, NO_LFU)),
    },
];

/// `MEMORY …`.
pub(super) fn memory(call: &mut Call<'_>) -> Flow {
    run_subcommand(call, "memory", MEMORY)
}

pub(super) static MEMORY: &[Subcommand] = &[
    Subcommand {
        name: "usage",
        arity: -3,
        summary: "about how many bytes a key takes",
        run: memory_usage,
    },
    Subcommand {
        name: "doctor",
        arity: 2,
        summary: "nothing to report: limits of memory are settings",
        run: |call| {
            said(
                call,
                "Memory is bounded by settings: server.max_kept, sequences.max_loaded. See INFO memory.",
            )
        },
    },
    Subcommand {
        name: "purge",
        arity: 2,
        summary: "nothing to do",
        run: ok,
    },
];

fn memory_usage(call: &mut Call<'_>) -> Flow {
    let mut at = 3;
    while at < call.args.len() {
        if !call.is(at, "samples") || at + 1 == call.args.len() {
            return call.syntax_error();
        }
        match strict_integer(call.args.at(at + 1)) {
            Some(samples) if samples >= 0 => at += 2,
            Some(_) => return call.syntax_error(),
            None => return call.error(Code::InvalidArgument, NOT_AN_INTEGER),
        }
    }
    of_key(call, 2, |name, _, reply| {
        reply.integer(i64::try_from(SEQUENCE_BYTES + name.len()).unwrap_or(i64::MAX));
    })
}

/// `DEBUG …`: as of a Redis that nobody has opened it on.
pub(super) fn debug(call: &mut Call<'_>) -> Flow {
    call.error(Code::UnknownCommand, NO_DEBUG)
}

/// `LATENCY …`: no command waits for another.
pub(super) fn latency(call: &mut Call<'_>) -> Flow {
    run_subcommand(call, "latency", LATENCY)
}

pub(super) static LATENCY: &[Subcommand] = &[
    Subcommand {
        name: "latest",
        arity: 2,
        summary: "no event: see /metrics",
        run: nothing,
    },
    Subcommand {
        name: "history",
        arity: 3,
        summary: "no event: see /metrics",
        run: nothing,
    },
    Subcommand {
        name: "reset",
        arity: -2,
        summary: "nothing to do",
        run: zero,
    },
    Subcommand {
        name: "doctor",
        arity: 2,
        summary: "where to look instead",
        run: |call| {
            said(
                call,
                "Latencies are in /metrics (mint_request_seconds), and in mint top.",
            )
        },
    },
];

/// `SLOWLOG …`.
pub(super) fn slowlog(call: &mut Call<'_>) -> Flow {
    run_subcommand(call, "slowlog", SLOWLOG)
}

pub(super) static SLOWLOG: &[Subcommand] = &[
    Subcommand {
        name: "get",
        arity: -2,
        summary: "nothing: no command is noted",
        run: slowlog_get,
    },
    Subcommand {
        name: "len",
        arity: 2,
        summary: "0",
        run: zero,
    },
    Subcommand {
        name: "reset",
        arity: 2,
        summary: "nothing to do",
        run: ok,
    },
];

fn slowlog_get(call: &mut Call<'_>) -> Flow {
    match call.args.get(2).map(strict_integer) {
        Some(None | Some(..=-2)) => call.error(
            Code::InvalidArgument,
            "ERR count should be greater than or equal to -1",
        ),
        _ => nothing(call),
    }
}

/// `MODULE LIST`.
pub(super) fn module(call: &mut Call<'_>) -> Flow {
    run_subcommand(call, "module", MODULE)
}

pub(super) static MODULE: &[Subcommand] = &[Subcommand {
    name: "list",
    arity: 2,
    summary: "none",
    run: nothing,
}];

/// `ACL WHOAMI`.
pub(super) fn acl(call: &mut Call<'_>) -> Flow {
    run_subcommand(call, "acl", ACL)
}

pub(super) static ACL: &[Subcommand] = &[Subcommand {
    name: "whoami",
    arity: 2,
    summary: "the token's name",
    run: whoami,
}];

fn whoami(call: &mut Call<'_>) -> Flow {
    let name = call.session.identity.as_ref().map_or("default", Identity::name);
    call.reply.bulk(name.as_bytes());
    Flow::Done
}

/// `CLUSTER …`, `READONLY`, `READWRITE`: servers share a store, and each serves every key.
pub(super) fn cluster(call: &mut Call<'_>) -> Flow {
    call.error(Code::UnknownCommand, NO_CLUSTER)
}

/// `WAIT replicas milliseconds`: a number is durable before it is answered, and no server of ours is a replica.
pub(super) fn wait(call: &mut Call<'_>) -> Flow {
    let Some(_) = call.integer(1) else {
        return Flow::Done;
    };
    match strict_integer(call.args.at(2)) {
        None => call.error(
            Code::InvalidArgument,
            "ERR timeout is not an integer or out of range",
        ),
        Some(..0) => call.error(Code::InvalidArgument, "ERR timeout is negative"),
        Some(_) => zero(call),
    }
}

/// `ROLE`.
pub(super) fn role(call: &mut Call<'_>) -> Flow {
    call.reply.array(3);
    call.reply.bulk(b"master");
    call.reply.integer(0);
    call.reply.array(0);
    Flow::Done
}

fn nothing(call: &mut Call<'_>) -> Flow {
    call.reply.array(0);
    Flow::Done
}

fn zero(call: &mut Call<'_>) -> Flow {
    call.reply.integer(0);
    Flow::Done
}

fn ok(call: &mut Call<'_>) -> Flow {
    call.reply.simple("OK");
    Flow::Done
}

fn said(call: &mut Call<'_>, text: &str) -> Flow {
    call.reply.text(text);
    Flow::Done
}
