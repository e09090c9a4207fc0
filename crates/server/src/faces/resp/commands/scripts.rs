//! EVAL, EVALSHA, SCRIPT, FCALL, FUNCTION and their kin: what scripts mean is done, and no Lua is run.
//!
//! Words and order of refusals are Redis 7.0's: clients repeat an EVALSHA with its text upon exactly its NOSCRIPT.

use mintage_ledger::Name;

use super::counters::{self, Shown};
use super::{Call, Flow, NOT_AN_INTEGER, Subcommand, machines, run_subcommand};
use crate::config::{Does, Sha1Digest};
use crate::error::{Answer, Code, ServiceError};
use crate::faces::resp::frame::{Args, strict_integer};
use crate::faces::resp::reply::Reply;
use crate::faces::scripts::{self, Learned, parts};
use crate::glob;

/// `EVAL text numkeys [key …] [argument …]`.
pub(super) fn eval(call: &mut Call<'_>) -> Flow {
    match text_of(call) {
        Some((does, given)) => act(call, &does, given),
        None => Flow::Done,
    }
}

/// `EVAL_RO`: every known script takes a number, which Redis calls a write.
pub(super) fn eval_ro(call: &mut Call<'_>) -> Flow {
    match text_of(call) {
        Some(_) => call.error(Code::InvalidArgument, WRITES),
        None => Flow::Done,
    }
}

/// `EVALSHA sha1 numkeys [key …] [argument …]`.
pub(super) fn evalsha(call: &mut Call<'_>) -> Flow {
    match digest_of(call) {
        Some((does, given)) => act(call, &does, given),
        None => Flow::Done,
    }
}

/// `EVALSHA_RO`: as `EVAL_RO`.
pub(super) fn evalsha_ro(call: &mut Call<'_>) -> Flow {
    match digest_of(call) {
        Some(_) => call.error(Code::InvalidArgument, WRITES),
        None => Flow::Done,
    }
}

/// `FCALL function numkeys [key …] [argument …]`.
pub(super) fn fcall(call: &mut Call<'_>) -> Flow {
    match function_of(call) {
        Some((does, given)) => act(call, &does, given),
        None => Flow::Done,
    }
}

/// `FCALL_RO`: as `EVAL_RO`.
pub(super) fn fcall_ro(call: &mut Call<'_>) -> Flow {
    match function_of(call) {
        Some(_) => call.error(
            Code::InvalidArgument,
            "ERR Can not execute a script with write flag using *_ro command.",
        ),
        None => Flow::Done,
    }
}

/// `SCRIPT …`.
pub(super) fn script(call: &mut Call<'_>) -> Flow {
    run_subcommand(call, "script", SCRIPT)
}

pub(super) static SCRIPT: &[Subcommand] = &[
    Subcommand {
        name: "load",
        arity: 3,
        summary: "a known script's SHA-1",
        run: load,
    },
    Subcommand {
        name: "exists",
        arity: -3,
        summary: "which scripts are known by their SHA-1",
        run: exists,
    },
    Subcommand {
        name: "flush",
        arity: -2,
        summary: "forgets spellings of known scripts",
        run: flush,
    },
];

/// `FUNCTION …`.
pub(super) fn function(call: &mut Call<'_>) -> Flow {
    run_subcommand(call, "function", FUNCTION)
}

pub(super) static FUNCTION: &[Subcommand] = &[Subcommand {
    name: "list",
    arity: -2,
    summary: "the functions that are declared",
    run: list,
}];

/// What stands behind a script in its request.
#[derive(Clone, Copy)]
struct Given<'a> {
    args: Args<'a>,
    keys: usize,
}

impl<'a> Given<'a> {
    /// `KEYS[i]`, counted from 1.
    fn key(self, i: usize) -> Option<&'a [u8]> {
        self.args.get(FIRST_KEY + i - 1).filter(|_| i <= self.keys)
    }

    /// `ARGV[i]`, counted from 1.
    fn argument(self, i: usize) -> Option<&'a [u8]> {
        self.args.get(FIRST_KEY + self.keys + i - 1)
    }
}

/// Behind the command, the script, and the number of keys.
const FIRST_KEY: usize = 3;

/// Reads the number of keys; `None`: refused already.
fn given<'a>(call: &mut Call<'a>, no_number: &str) -> Option<Given<'a>> {
    let args = call.args;
    let refusal = match strict_integer(args.at(FIRST_KEY - 1)) {
        None => no_number,
        Some(keys) if keys > (args.len() - FIRST_KEY) as i64 => {
            "ERR Number of keys can't be greater than number of args"
        }
        Some(keys) if keys < 0 => "ERR Number of keys can't be negative",
        Some(keys) => {
            let keys = keys as usize;
            return Some(Given { args, keys });
        }
    };
    call.error(Code::InvalidArgument, refusal);
    None
}

/// What a text does, and is remembered for; `None`: refused already.
fn text_of<'a>(call: &mut Call<'a>) -> Option<(Does, Given<'a>)> {
    let given = given(call, NOT_AN_INTEGER)?;
    let (_, does) = learn(call, call.args.at(1))?;
    Some((does, given))
}

/// What a digest does; `None`: refused already.
fn digest_of<'a>(call: &mut Call<'a>) -> Option<(Does, Given<'a>)> {
    let digits = call.args.at(1);
    // Redis looks at the length before the number of keys, and at the digits behind it.
    if digits.len() == 40 {
        let given = given(call, NOT_AN_INTEGER)?;
        let found = Sha1Digest::from_hex(digits).and_then(|sha1| find(call, sha1));
        if let Some(does) = found {
            return Some((does, given));
        }
    }
    call.error(Code::NotFound, NOSCRIPT);
    None
}

/// What a function does; `None`: refused already.
fn function_of<'a>(call: &mut Call<'a>) -> Option<(Does, Given<'a>)> {
    let config = call.thread.config();
    let Some(does) = scripts::by_function(&config.scripts, call.args.at(1)) else {
        call.error(Code::NotFound, "ERR Function not found");
        return None;
    };
    let given = given(call, "ERR Bad number of keys provided")?;
    Some((does, given))
}

/// What a digest does: declared, known, or met as a text before.
fn find(call: &Call<'_>, sha1: Sha1Digest) -> Option<Does> {
    let config = call.thread.config();
    scripts::by_digest(&config.scripts, sha1).or_else(|| call.thread.shared().of_face::<Learned>().find(sha1))
}

/// What a text does, and from now on its digest; `None`: refused already.
fn learn(call: &mut Call<'_>, text: &[u8]) -> Option<(Sha1Digest, Does)> {
    let config = call.thread.config();
    let Some((sha1, does)) = scripts::by_text(&config.scripts, text) else {
        refuse_lua(call, text);
        return None;
    };
    if scripts::by_digest(&config.scripts, sha1).is_none() {
        let learned = call.thread.shared().of_face::<Learned>();
        learned.learn(sha1, &does, config.resp_max_scripts);
    }
    Some((sha1, does))
}

#[cold]
fn refuse_lua(call: &mut Call<'_>, text: &[u8]) {
    let sha1 = Sha1Digest::of(text);
    let text = format!(
        "ERR mint: this server runs no Lua; register script {sha1} under faces.scripts, or call INCR"
    );
    call.error(Code::UnknownCommand, &text);
}

/// Does what a script means.
fn act(call: &mut Call<'_>, does: &Does, given: Given<'_>) -> Flow {
    let name = match does {
        Does::Incr | Does::IncrBy | Does::Range => given.key(1),
        // The name of its pool is found with its namespace.
        Does::CosId(_) => None,
        Does::Snowflake(pool)
        | Does::SnowflakeText(pool)
        | Does::Icicle(pool)
        | Does::SecondsPartition(pool) => Some(pool.as_str().as_bytes()),
    };
    if name.is_some_and(|name| !call.may_take(name)) {
        return Flow::Done;
    }
    match does {
        Does::Incr => match given.key(1) {
            Some(name) => counters::take_next(call, name),
            None => call.error(Code::InvalidArgument, NIL_ARGUMENT),
        },
        Does::IncrBy => take_run(call, given, Shown::Last),
        Does::Range => take_run(call, given, Shown::Both),
        Does::Snowflake(pool) => snowflake(call, pool, |reply, id| match i64::try_from(id) {
            Ok(id) => reply.integer(id),
            Err(_) => reply.refuse(&too_large(id)),
        }),
        Does::SnowflakeText(pool) => snowflake(call, pool, |reply, id| reply.bulk_number(id)),
        Does::Icicle(pool) => icicle(call, does, pool, given),
        Does::SecondsPartition(pool) => in_parts(call, does, pool, 1, |reply, run| {
            integers(reply, &parts::seconds_partition(run));
        }),
        Does::CosId(machine) => {
            let arguments = [1, 2, 3, 4].map(|i| given.argument(i));
            machines::act_on(call, *machine, given.key(1), arguments)
        }
    }
}

fn take_run(call: &mut Call<'_>, given: Given<'_>, shown: Shown) -> Flow {
    match (given.key(1), given.argument(1)) {
        (Some(name), Some(count)) => counters::take_run(call, name, count, shown),
        _ => call.error(Code::InvalidArgument, NIL_ARGUMENT),
    }
}

fn snowflake(call: &mut Call<'_>, pool: &Name, write: fn(&mut Reply, u64)) -> Flow {
    call.spends(1);
    let pool = pool.as_str().as_bytes();
    let mut id = [0];
    if call.thread.try_mint(pool, &mut id) == 1 {
        write(call.reply, id[0]);
        return Flow::Done;
    }
    let pool = pool.to_vec();
    call.later(move |thread, mut reply| async move {
        match thread.mint(&pool, &mut id).await {
            Ok(()) => write(&mut reply, id[0]),
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

#[cold]
fn too_large(id: u64) -> ServiceError {
    ServiceError::new(
        Code::InvalidArgument,
        format!("{id} is above the integers of Redis, which end at {}", i64::MAX),
    )
    .with_hint("declare the script as snowflake_text")
}

/// `KEYS[4]` says how many ids are wanted. What the client says of its greatest sequence and of its workers is that of
/// the layout, which is checked.
fn icicle(call: &mut Call<'_>, does: &Does, pool: &Name, given: Given<'_>) -> Flow {
    let count = given.key(4).and_then(strict_integer);
    let count = count.and_then(|count| u64::try_from(count).ok());
    match count.filter(|count| (1..=parts::ICICLE_MAX).contains(count)) {
        Some(count) => in_parts(call, does, pool, count, |reply, run| {
            integers(reply, &parts::icicle(run));
        }),
        None => {
            let message = format!(
                "KEYS[4], how many ids, must be a whole number from 1 to {}",
                parts::ICICLE_MAX
            );
            call.reply.refuse(&ServiceError::new(Code::InvalidCount, message));
            Flow::Done
        }
    }
}

/// Ids of one tick, as the parts that the client puts together.
fn in_parts(
    call: &mut Call<'_>,
    does: &Does,
    pool: &Name,
    count: u64,
    write: fn(&mut Reply, &crate::service::TickRun),
) -> Flow {
    call.spends(count);
    let (does, name) = (does.clone(), pool.clone());
    call.later(move |thread, mut reply| async move {
        let fits = |pool: &mintage_ledger::Pool| -> Answer<()> { parts::check_pool(&does, pool) };
        match thread
            .mint_in_one_tick(name.as_str().as_bytes(), count, fits)
            .await
        {
            Ok(run) => write(&mut reply, &run),
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

fn integers(reply: &mut Reply, numbers: &[i64]) {
    reply.array(numbers.len());
    numbers.iter().for_each(|number| reply.integer(*number));
}

/// `SCRIPT LOAD text`.
fn load(call: &mut Call<'_>) -> Flow {
    if let Some((sha1, _)) = learn(call, call.args.at(2)) {
        call.reply.bulk(sha1.to_string().as_bytes());
    }
    Flow::Done
}

/// `SCRIPT EXISTS sha1…`.
fn exists(call: &mut Call<'_>) -> Flow {
    call.reply.array(call.args.len() - 2);
    for digits in call.args.from(2) {
        let found = Sha1Digest::from_hex(digits).and_then(|sha1| find(call, sha1));
        call.reply.integer(i64::from(found.is_some()));
    }
    Flow::Done
}

/// `SCRIPT FLUSH [SYNC|ASYNC]`: the known and the declared ones stay.
fn flush(call: &mut Call<'_>) -> Flow {
    let fits = match call.args.len() {
        2 => true,
        3 => call.is(2, "sync") || call.is(2, "async"),
        _ => false,
    };
    if !fits {
        let text = "ERR SCRIPT FLUSH only support SYNC|ASYNC option";
        return call.error(Code::InvalidArgument, text);
    }
    call.thread.shared().of_face::<Learned>().forget();
    call.reply.simple("OK");
    Flow::Done
}

/// `FUNCTION LIST [LIBRARYNAME pattern] [WITHCODE]`: one library with all that is declared.
fn list(call: &mut Call<'_>) -> Flow {
    let (mut pattern, mut with_code) = (None, false);
    let mut i = 2;
    while i < call.args.len() {
        if !with_code && call.is(i, "withcode") {
            with_code = true;
        } else if pattern.is_none() && call.is(i, "libraryname") {
            i += 1;
            pattern = call.args.get(i);
            if pattern.is_none() {
                return call.error(Code::InvalidArgument, "ERR library name argument was not given");
            }
        } else {
            let unknown = String::from_utf8_lossy(call.args.at(i));
            let unknown: String = unknown.chars().take(super::SHOWN_MAX).collect();
            return call.error(Code::InvalidArgument, &format!("ERR Unknown argument {unknown}"));
        }
        i += 1;
    }
    let config = call.thread.config();
    let names: Vec<&str> = config
        .scripts
        .iter()
        .filter_map(|script| script.function())
        .collect();
    let wanted =
        pattern.is_none_or(|pattern| glob::matches(&pattern.to_ascii_lowercase(), LIBRARY.as_bytes()));
    if names.is_empty() || !wanted {
        call.reply.array(0);
        return Flow::Done;
    }
    write_library(call.reply, &names, with_code);
    Flow::Done
}

fn write_library(reply: &mut Reply, names: &[&str], with_code: bool) {
    reply.array(1);
    reply.map(if with_code { 4 } else { 3 });
    reply.bulk(b"library_name");
    reply.bulk(LIBRARY.as_bytes());
    reply.bulk(b"engine");
    reply.bulk(b"LUA");
    reply.bulk(b"functions");
    reply.array(names.len());
    for name in names {
        reply.map(3);
        reply.bulk(b"name");
        reply.bulk(name.as_bytes());
        reply.bulk(b"description");
        reply.null();
        reply.bulk(b"flags");
        reply.set(0);
    }
    if with_code {
        reply.bulk(b"library_code");
        reply.bulk(
            format!("#!lua name={LIBRARY}\n-- declared under faces.scripts: no Lua is run here\n").as_bytes(),
        );
    }
}

/// What the library of all declared functions is called.
const LIBRARY: &str = "mint";

const NOSCRIPT: &str = "NOSCRIPT No matching script. Please use EVAL.";
const WRITES: &str = "ERR Write commands are not allowed from read-only scripts.";

/// What Redis says of `KEYS[1]` where no key was given.
const NIL_ARGUMENT: &str = "ERR Lua redis lib command arguments must be strings or integers";
