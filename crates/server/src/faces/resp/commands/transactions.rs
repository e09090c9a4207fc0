//! MULTI, EXEC, DISCARD, WATCH, UNWATCH: requests that are answered together.
//!
//! They run in their order, each as if it stood alone, and one that fails changes nothing for the others, as in Redis.
//! Unlike in Redis, requests of other connections may come between: every number is still given out once.

use super::queue::Queue;
use super::{Call, CommandRow, Flow, is_known_subcommand};
use crate::error::{Code, ServiceError};
use crate::kept::Full;

/// `MULTI`.
pub(super) fn multi(call: &mut Call<'_>) -> Flow {
    if call.session.queue.is_some() {
        return call.error(Code::InvalidArgument, "ERR MULTI calls can not be nested");
    }
    call.session.keeping.follow(&call.thread.config());
    call.session.queue = Some(Queue::new(&call.session.keeping));
    call.reply.simple("OK");
    Flow::Done
}

/// `EXEC`.
pub(super) fn exec(call: &mut Call<'_>) -> Flow {
    match call.session.queue.take() {
        None => call.error(Code::InvalidArgument, "ERR EXEC without MULTI"),
        Some(queue) if queue.is_spoiled() => call.error(
            Code::InvalidArgument,
            "EXECABORT Transaction discarded because of previous errors.",
        ),
        Some(queue) => Flow::Run(queue),
    }
}

/// `DISCARD`.
pub(super) fn discard(call: &mut Call<'_>) -> Flow {
    if call.session.queue.take().is_none() {
        return call.error(Code::InvalidArgument, "ERR DISCARD without MULTI");
    }
    call.reply.simple("OK");
    Flow::Done
}

/// `WATCH key…`: refused, since others may take numbers between any two requests, and that is no conflict.
pub(super) fn watch(call: &mut Call<'_>) -> Flow {
    if call.session.queue.is_some() {
        return call.error(Code::InvalidArgument, "ERR WATCH inside MULTI is not allowed");
    }
    let error = ServiceError::new(Code::UnknownCommand, "sequences cannot be watched").with_hint(
        "INCR takes a number that nobody else gets, SET NX makes a sequence once, and SET never goes back: none of \
         them needs WATCH",
    );
    call.reply.refuse(&error);
    Flow::Done
}

/// `UNWATCH`: nothing is watched.
pub(super) fn unwatch(call: &mut Call<'_>) -> Flow {
    call.reply.simple("OK");
    Flow::Done
}

/// Whether a command is run at once, although a transaction is open.
pub(super) fn is_at_once(row: &CommandRow) -> bool {
    AT_ONCE.contains(&row.name)
}

/// Redis's own list.
const AT_ONCE: [&str; 6] = ["multi", "exec", "discard", "watch", "quit", "reset"];

/// After a refusal nothing of a transaction is run; a refused `EXEC` ends it.
#[cold]
pub(super) fn refused(row: Option<&CommandRow>, call: &mut Call<'_>) {
    if row.is_some_and(|row| row.name == "exec") {
        call.session.queue = None;
    } else if let Some(queue) = &mut call.session.queue {
        queue.spoil();
    }
}

/// What Redis says to an `EXEC` with arguments.
pub(super) const EXEC_ARITY: &str =
    "EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command";

/// Keeps a request for `EXEC`, if there is room.
pub(super) fn keep(row: &'static CommandRow, call: &mut Call<'_>) -> Flow {
    let config = call.thread.config();
    let (most, most_bytes) = (config.resp_max_queued, config.resp_max_queued_bytes.0);
    let known = is_known_subcommand(row, call);
    let Some(queue) = &mut call.session.queue else {
        return (row.run)(call);
    };
    let bytes: usize = call.args.from(0).map(<[u8]>::len).sum();
    if known && !queue.is_spoiled() && queue.len() as u64 >= most {
        queue.spoil();
        return refuse_room(call, &format!("{most} commands"), "server.resp.max_queued");
    }
    if known && !queue.is_spoiled() && queue.bytes() + bytes > most_bytes {
        queue.spoil();
        let most = format!("commands of {most_bytes} bytes");
        return refuse_room(call, &most, "server.resp.max_queued_bytes");
    }
    if !known {
        queue.spoil();
        return Flow::Done;
    }
    // After a refusal Redis goes on to say so, and runs nothing.
    if !queue.is_spoiled()
        && let Err(full) = queue.keep(row, call.args)
    {
        queue.spoil();
        return refuse_full(call, full);
    }
    call.reply.simple("QUEUED");
    Flow::Done
}

#[cold]
fn refuse_room(call: &mut Call<'_>, most: &str, setting: &str) -> Flow {
    let error = ServiceError::new(
        Code::InvalidArgument,
        format!("MULTI queues at most {most}, and nothing of this transaction is run"),
    )
    .with_hint(format!("send fewer at a time, or raise {setting}"));
    call.reply.refuse(&error);
    Flow::Done
}

#[cold]
fn refuse_full(call: &mut Call<'_>, full: Full) -> Flow {
    let message = format!("{}: nothing of this transaction is run", full.message());
    let error = ServiceError::new(full.code(), message).with_hint(full.hint());
    call.reply.refuse(&error);
    Flow::Done
}
