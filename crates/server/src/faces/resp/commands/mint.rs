//! MINT.NEXT, MINT.SHOW, MINT.ID, MINT.SNOWFLAKE, MINT.INSPECT: what Redis has no word for.

use mintage::{GenOptions, Id, Uuid};
use mintage_ledger::{DEFAULT_POOL, UUID1_POOL};
use serde_json::json;

use super::{Call, Flow, count_option, refuse_counter};
use crate::faces::resp::frame::strict_integer;
use crate::faces::resp::reply::Reply;
use crate::formats::{FormatRow, Make, format, no_time};
use crate::render;
use crate::service::{Answer, Door};
use crate::turn::{SLICE, Turn, bytes_of_ids, make_in_turns, take_in_turns};
use mintage_wire::Inspected;

/// `MINT.NEXT seq [COUNT n]`: a number, or with COUNT an array of numbers.
pub(super) fn next(call: &mut Call<'_>) -> Flow {
    let Some(count) = count_option(call, 2) else {
        return Flow::Done;
    };
    let Some(count) = count else {
        return super::counters::incr(call);
    };
    call.spends(count);
    let (name, by) = (call.owned(1), call.asker());
    let took = call.remembers(&name);
    call.later_with_room(bytes_of_ids(count, 0), move |thread, mut reply| async move {
        let mut numbers = reply.detached();
        numbers.array(count as usize);
        let mut last = None;
        let taken = take_in_turns(&thread, &name, count, &by, |run| {
            numbers.integers(run);
            last = Some(run);
        });
        if let Err(error) = taken.await {
            refuse_counter(&mut reply, &error);
            return reply;
        }
        // What was taken before a refusal is not answered, so the connection does not know it.
        last.into_iter().for_each(took);
        numbers
    })
}

/// `MINT.SHOW seq`.
pub(super) fn show(call: &mut Call<'_>) -> Flow {
    let name = call.owned(1);
    call.later(move |thread, mut reply| async move {
        let shown = match thread.service().name(&name) {
            Ok(name) => thread.service().show(&name).await,
            Err(error) => Err(error),
        };
        match shown {
            Ok(info) => reply.json(&json!(render::sequence(&info))),
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

/// `MINT.ID format [COUNT n]`, for formats with options `MINT.ID format [COUNT n] [option value …]`.
pub(super) fn id(call: &mut Call<'_>) -> Flow {
    let row = match format(call.args.at(1)) {
        Ok(row) => row,
        Err(error) => {
            call.reply.refuse(&error);
            return Flow::Done;
        }
    };
    match row.make {
        Make::Snowflake => mint(call, DEFAULT_POOL.as_bytes()),
        Make::Core => of_core(call, &row),
        make @ (Make::Uuid1 | Make::Uuid6) => timed_uuids(call, make),
        // Whether the clock tells the time must be waited for, or this is refused.
        make @ Make::Uuid7 if call.thread.service().ledger().clock().refusal().is_some() => {
            timed_uuids(call, make)
        }
        make => uuids(call, make),
    }
}

/// `MINT.SNOWFLAKE pool [COUNT n]`.
pub(super) fn snowflake(call: &mut Call<'_>) -> Flow {
    let pool = call.args.at(1);
    mint(call, pool)
}

/// `MINT.INSPECT id`.
pub(super) fn inspect(call: &mut Call<'_>) -> Flow {
    let text = String::from_utf8_lossy(call.args.at(1)).into_owned();
    let readings = call.thread.service().inspect(&text);
    call.reply.json(&json!(Inspected::new(&text, &readings)));
    Flow::Done
}

fn uuids(call: &mut Call<'_>, make: Make) -> Flow {
    let Some(count) = count_option(call, 2) else {
        return Flow::Done;
    };
    call.spends(count.unwrap_or(1));
    let Some(count) = count else {
        // A run of requests is one batch.
        let mut left = call.serve_run() as usize;
        while left > 0 {
            left -= write_new_uuids(call.thread, call.reply, make, left).unwrap_or_else(|error| {
                call.reply.refuse(&error);
                1
            });
        }
        return Flow::Done;
    };
    call.later_with_room(bytes_of_ids(count, 0), move |thread, mut reply| async move {
        let mut list = reply.detached();
        list.array(count as usize);
        let (mut turn, mut left) = (Turn::begin(&thread), count as usize);
        while left > 0 {
            turn.give_way_if_over().await;
            match write_new_uuids(&thread, &mut list, make, left) {
                Ok(written) => left -= written,
                Err(error) => {
                    reply.refuse(&error);
                    return reply;
                }
            }
        }
        list
    })
}

/// Writes at most `left` UUIDs of a version that comes from memory; how many.
fn write_new_uuids(thread: &Door, reply: &mut Reply, make: Make, left: usize) -> Answer<usize> {
    let mut ids = [Uuid::nil(); SLICE];
    let ids = &mut ids[..left.min(SLICE)];
    if !thread.mint_uuids(make, ids) {
        // The gate was shut a moment ago.
        let refusal = thread.service().ledger().clock().refusal();
        return Err(no_time("uuid7", &refusal.unwrap_or_default()));
    }
    write_uuids(reply, ids);
    Ok(ids.len())
}

fn write_uuids(reply: &mut Reply, ids: &[Uuid]) {
    for id in ids {
        reply.bulk(
            id.hyphenated()
                .encode_lower(&mut Uuid::encode_buffer())
                .as_bytes(),
        );
    }
}

/// Ids that core makes alone, with the format's own options.
fn of_core(call: &mut Call<'_>, row: &FormatRow) -> Flow {
    let arguments = call.args.len();
    if !arguments.is_multiple_of(2) {
        call.syntax_error();
        return Flow::Done;
    }
    let (mut count, mut options) = (None, GenOptions::default());
    for at in (2..arguments).step_by(2) {
        let value = call.args.at(at + 1);
        let set = if call.is(at, "count") {
            let number = strict_integer(value).and_then(|n| u64::try_from(n).ok());
            call.thread.count(number).map(|number| count = Some(number))
        } else {
            row.set(&mut options, &call.args.at(at).to_ascii_lowercase(), value)
        };
        if let Err(error) = set {
            call.reply.refuse(&error);
            return Flow::Done;
        }
    }
    call.spends(count.unwrap_or(1));
    let row = *row;
    let Some(count) = count else {
        let Some(made) = call.thread.try_make(&row, &options, 1) else {
            return call.later(move |thread, mut reply| async move {
                let made = thread.make(&row, &options, 1).await;
                write_made(&mut reply, &row, made);
                reply
            });
        };
        write_made(call.reply, &row, made);
        return Flow::Done;
    };
    let bytes = bytes_of_ids(count, options.length.unwrap_or(0));
    call.later_with_room(bytes, move |thread, mut reply| async move {
        let mut list = reply.detached();
        list.array(count as usize);
        let write = |ids: &[Id]| write_ids(&mut list, &row, ids);
        match make_in_turns(&thread, &row, &options, count as usize, write).await {
            Ok(()) => list,
            Err(error) => {
                reply.refuse(&error);
                reply
            }
        }
    })
}

fn write_made(reply: &mut Reply, row: &FormatRow, made: Answer<Vec<Id>>) {
    match made {
        Ok(ids) => write_ids(reply, row, &ids),
        Err(error) => reply.refuse(&error),
    }
}

fn write_ids(reply: &mut Reply, row: &FormatRow, ids: &[Id]) {
    let mut text = Vec::new();
    for id in ids {
        text.clear();
        row.format.write(id, &mut text).expect("made by this format");
        reply.bulk(&text);
    }
}

/// Versions 1 and 6 may have to wait for their pool's window.
fn timed_uuids(call: &mut Call<'_>, make: Make) -> Flow {
    let Some(count) = count_option(call, 2) else {
        return Flow::Done;
    };
    call.spends(count.unwrap_or(1));
    let bytes = bytes_of_ids(count.unwrap_or(1), 0);
    call.later_with_room(bytes, move |thread, mut reply| async move {
        let mut ids = vec![Uuid::nil(); count.unwrap_or(1) as usize];
        match thread.mint_timed(make, UUID1_POOL.as_bytes(), &mut ids).await {
            Ok(()) => {
                if count.is_some() {
                    reply.array(ids.len());
                }
                let mut turn = Turn::begin(&thread);
                for ids in ids.chunks(SLICE) {
                    turn.give_way_if_over().await;
                    write_uuids(&mut reply, ids);
                }
            }
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

fn mint(call: &mut Call<'_>, pool: &[u8]) -> Flow {
    if !call.may_take(pool) {
        return Flow::Done;
    }
    let Some(count) = count_option(call, 2) else {
        return Flow::Done;
    };
    call.spends(count.unwrap_or(1));
    let Some(count) = count else {
        return mint_run(call, pool);
    };
    let pool = pool.to_vec();
    call.later_with_room(bytes_of_ids(count, 0), move |thread, mut reply| async move {
        let mut ids = vec![0; count as usize];
        match thread.mint(&pool, &mut ids).await {
            Ok(()) => {
                reply.array(ids.len());
                let mut turn = Turn::begin(&thread);
                for ids in ids.chunks(SLICE) {
                    turn.give_way_if_over().await;
                    ids.iter().for_each(|id| reply.bulk_number(*id));
                }
            }
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

/// One id for each request of a run: from memory if it can be, at once.
fn mint_run(call: &mut Call<'_>, pool: &[u8]) -> Flow {
    let mut left = call.serve_run();
    let mut ids = [0; SLICE];
    while left > 0 {
        let minted = call
            .thread
            .try_mint(pool, &mut ids[..left.min(SLICE as u64) as usize]);
        ids[..minted].iter().for_each(|id| call.reply.bulk_number(*id));
        left -= minted as u64;
        if minted == 0 {
            break;
        }
    }
    if left == 0 {
        return Flow::Done;
    }
    let pool = pool.to_vec();
    call.later(move |thread, mut reply| async move {
        for _ in 0..left {
            let mut id = [0];
            match thread.mint(&pool, &mut id).await {
                Ok(()) => reply.bulk_number(id[0]),
                Err(error) => reply.refuse(&error),
            }
        }
        reply
    })
}
