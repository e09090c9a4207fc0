//! INCR, INCRBY, GET, MGET, SET: a sequence as Redis's clients know a counter.

use super::{Call, Flow, NOT_AN_INTEGER, refuse_counter};
use crate::error::Code;
use crate::resp::frame::strict_integer;
use crate::service::Condition;

/// `INCR key`, or a run of them: from stock if there is any, at once.
pub(super) fn incr(call: &mut Call<'_>) -> Flow {
    let mut left = call.serve_run();
    while left > 0 {
        match call.worker.try_take(call.args.at(1), left) {
            Some(run) => {
                call.reply.integers(run);
                left -= run.count;
            }
            None => return incr_later(call, left),
        }
    }
    Flow::Done
}

#[cold]
fn incr_later(call: &mut Call<'_>, left: u64) -> Flow {
    let name = call.owned(1);
    call.later(move |worker, mut reply| async move {
        let mut unanswered = left;
        let taken = worker.take(&name, left, |run| {
            unanswered -= run.count;
            reply.integers(run);
        });
        if let Err(error) = taken.await {
            // Each of the requests gets its answer.
            (0..unanswered).for_each(|_| refuse_counter(&mut reply, &error));
        }
        reply
    })
}

/// `INCRBY key n`: one run without a hole; answers its last.
pub(super) fn incrby(call: &mut Call<'_>) -> Flow {
    let max = call.worker.config().resp_max_increment;
    let n = strict_integer(call.args.at(2)).and_then(|n| u64::try_from(n).ok());
    let Some(n) = n.filter(|n| (1..=max).contains(n)) else {
        return call.error(Code::InvalidArgument, NOT_AN_INTEGER);
    };
    if n == 1 {
        return incr(call);
    }
    if let Some(run) = call.worker.try_take_contiguous(call.args.at(1), n) {
        call.reply.integer(run.last());
        return Flow::Done;
    }
    let name = call.owned(1);
    call.later(move |worker, mut reply| async move {
        match worker.take_contiguous(&name, n).await {
            Ok((run, _)) => reply.integer(run.last()),
            Err(error) => refuse_counter(&mut reply, &error),
        }
        reply
    })
}

/// `GET key`: the last number issued.
pub(super) fn get(call: &mut Call<'_>) -> Flow {
    if let Some(last) = call.worker.last_issued(call.args.at(1)) {
        call.reply.bulk_number(last);
        return Flow::Done;
    }
    let name = call.owned(1);
    call.later(move |worker, mut reply| async move {
        match worker.last(&name).await {
            Ok(Some(last)) => reply.bulk_number(last),
            Ok(None) => reply.null(),
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

/// `MGET key…`.
pub(super) fn mget(call: &mut Call<'_>) -> Flow {
    let names: Vec<Vec<u8>> = call.args.from(1).map(<[u8]>::to_vec).collect();
    call.later(move |worker, mut reply| async move {
        let mut found = reply.detached();
        found.array(names.len());
        for name in &names {
            match worker.last(name).await {
                Ok(Some(last)) => found.bulk_number(last),
                Ok(None) => found.null(),
                // One answer to the whole request: an error replaces the array.
                Err(error) => {
                    reply.refuse(&error);
                    return reply;
                }
            }
        }
        found
    })
}

/// `SET key n [NX|XX] [GET]`.
pub(super) fn set(call: &mut Call<'_>) -> Flow {
    let (mut condition, mut wants_previous) = (Condition::Always, false);
    for i in 3..call.args.len() {
        if call.is(i, "nx") && condition != Condition::IfPresent {
            condition = Condition::IfAbsent;
        } else if call.is(i, "xx") && condition != Condition::IfAbsent {
            condition = Condition::IfPresent;
        } else if call.is(i, "get") {
            wants_previous = true;
        } else if EXPIRY.iter().any(|word| call.is(i, word)) {
            return call.error(
                Code::InvalidArgument,
                "ERR mint: SET takes NX, XX and GET; a number never expires",
            );
        } else {
            return call.syntax_error();
        }
    }
    let Some(value) = call.integer(2) else {
        return Flow::Done;
    };
    let name = call.owned(1);
    call.later(move |worker, mut reply| async move {
        let answer = match worker.service().name(&name) {
            Ok(name) => worker.service().set(&name, value, condition).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(answer) if wants_previous => match answer.previous {
                Some(previous) => reply.bulk_number(previous),
                None => reply.null(),
            },
            // Applied here; servers of the cluster that do not follow yet may give out older numbers.
            Ok(answer) if answer.applied && !answer.pending.is_empty() => {
                reply.simple(&format!("OK pending on {}", answer.pending.join(",")));
            }
            Ok(answer) if answer.applied => reply.simple("OK"),
            Ok(_) => reply.null(),
            // Redis's clients expect the bare sentence here.
            Err(error) if error.code == Code::OnlyForward => {
                reply.error(error.code, &format!("ERR mint: {}", error.message));
            }
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

/// Options of Redis's SET that would make a number expire, or keep an expiry that no number has.
const EXPIRY: [&str; 5] = ["ex", "px", "exat", "pxat", "keepttl"];
