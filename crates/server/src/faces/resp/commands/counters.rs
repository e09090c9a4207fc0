//! INCR, GET, SET and their kin: a sequence as Redis's clients know a counter.

use super::{Call, Flow, NOT_AN_INTEGER, expiry, refuse_counter};
use crate::error::{Code, ServiceError};
use crate::faces::resp::frame::strict_integer;
use crate::faces::resp::reply::Reply;
use crate::service::Condition;

/// `INCR key`, or a run of them: from stock if there is any, at once.
pub(super) fn incr(call: &mut Call<'_>) -> Flow {
    let name = call.args.at(1);
    take_next(call, name)
}

/// The next number of a sequence for each of a run of requests.
pub(super) fn take_next(call: &mut Call<'_>, name: &[u8]) -> Flow {
    let mut left = call.serve_run();
    call.spends(left);
    while left > 0 {
        match call.thread.try_take(name, left) {
            Some(run) => {
                call.reply.integers(run);
                call.took(name, run);
                left -= run.count;
            }
            None => return take_later(call, name, left),
        }
    }
    Flow::Done
}

#[cold]
fn take_later(call: &mut Call<'_>, name: &[u8], left: u64) -> Flow {
    let (name, by) = (name.to_vec(), call.asker());
    let took = call.remembers(&name);
    call.later(move |thread, mut reply| async move {
        let mut unanswered = left;
        let taken = thread.take(&name, left, &by, |run| {
            unanswered -= run.count;
            reply.integers(run);
            took(run);
        });
        if let Err(error) = taken.await {
            // Each of the requests gets its answer.
            (0..unanswered).for_each(|_| refuse_counter(&mut reply, &error));
        }
        reply
    })
}

/// `INCRBY key n`: one run without a hole; answers its last. With 0 it reads.
pub(super) fn incrby(call: &mut Call<'_>) -> Flow {
    let (name, count) = (call.args.at(1), call.args.at(2));
    take_run(call, name, count, Shown::Last)
}

/// What is shown of a run of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    /// Its last number.
    Last,
    /// Its first and its last.
    Both,
}

impl Shown {
    fn write(self, reply: &mut Reply, first: i64, last: i64) {
        if self == Shown::Both {
            reply.array(2);
            reply.integer(first);
        }
        reply.integer(last);
    }
}

/// One run without a hole of as many numbers as `count` says. With 0 it reads: an empty run behind the last number.
pub(super) fn take_run(call: &mut Call<'_>, name: &[u8], count: &[u8], shown: Shown) -> Flow {
    let n = match strict_integer(count) {
        Some(0) => return read(call, name, shown),
        Some(n) if n < 0 => return refuse_fall(call, name),
        Some(n) => n.cast_unsigned(),
        None => return call.error(Code::InvalidArgument, NOT_AN_INTEGER),
    };
    if let Some(refused) = above_limit(n, call.thread.config().resp_max_increment) {
        call.reply.refuse(&refused);
        return Flow::Done;
    }
    if n == 1 && shown == Shown::Last {
        return take_next(call, name);
    }
    call.spends(n);
    if let Some(run) = call.thread.try_take_counted(name, n) {
        shown.write(call.reply, run.first, run.last());
        call.took(name, run);
        return Flow::Done;
    }
    let (name, by) = (name.to_vec(), call.asker());
    let took = call.remembers(&name);
    call.later(move |thread, mut reply| async move {
        match thread.take_counted(&name, n, &by).await {
            Ok((run, _)) => {
                shown.write(&mut reply, run.first, run.last());
                took(run);
            }
            Err(error) => refuse_counter(&mut reply, &error),
        }
        reply
    })
}

/// The refusal of a run that is longer than the setting allows.
pub fn above_limit(n: u64, max: u64) -> Option<ServiceError> {
    (n > max).then(|| {
        let message = format!("a run of {n} numbers: server.resp.max_increment allows {max}");
        ServiceError::new(Code::InvalidArgument, message)
    })
}

/// Where a counter stands, as a number: 0 before its first one, as Redis counts. Makes nothing.
fn read(call: &mut Call<'_>, name: &[u8], shown: Shown) -> Flow {
    if let Some(last) = call.thread.last_issued(name) {
        shown.write(call.reply, last.saturating_add(1), last);
        return Flow::Done;
    }
    let name = name.to_vec();
    call.later(move |thread, mut reply| async move {
        let last = match thread.service().name(&name) {
            Ok(_) => thread.last(&name).await,
            Err(error) => Err(error),
        };
        match last {
            Ok(last) => {
                let last = last.unwrap_or(0);
                shown.write(&mut reply, last.saturating_add(1), last);
            }
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

/// `DECR key`: refused, with what to do instead.
pub(super) fn decr(call: &mut Call<'_>) -> Flow {
    let name = call.args.at(1);
    refuse_fall(call, name)
}

/// `DECRBY key n`: as `DECR`; with 0 it reads.
pub(super) fn decrby(call: &mut Call<'_>) -> Flow {
    let name = call.args.at(1);
    match call.integer(2) {
        Some(0) => read(call, name, Shown::Last),
        Some(_) => refuse_fall(call, name),
        None => Flow::Done,
    }
}

/// A sequence counts one way, so that no number comes again.
#[cold]
fn refuse_fall(call: &mut Call<'_>, name: &[u8]) -> Flow {
    const CREATE: &str = "for numbers that fall create a sequence with increment -1 and INCR it: \
                          mint seq create NAME --increment=-1";
    let name = name.to_vec();
    call.later(move |thread, mut reply| async move {
        let found = match thread.service().name(&name) {
            Ok(name) => thread.service().find(&name).await.map(|info| (name, info)),
            Err(error) => Err(error),
        };
        let invalid = |message: String| ServiceError::new(Code::InvalidArgument, message);
        let error = match found {
            Ok((name, Some(info))) if info.def.increment < 0 => invalid(format!(
                "{name} is a sequence that counts by {}: INCR takes its next number",
                info.def.increment
            )),
            Ok((name, Some(info))) => invalid(format!(
                "{name} is a sequence that counts up by {} and never goes back",
                info.def.increment
            ))
            .with_hint(CREATE),
            Ok((name, None)) => invalid(format!(
                "{name} does not exist, and what INCR and SET make counts up alone"
            ))
            .with_hint(CREATE),
            Err(error) => error,
        };
        reply.refuse(&error);
        reply
    })
}

/// `GET key`: the last number issued.
pub(super) fn get(call: &mut Call<'_>) -> Flow {
    if let Some(last) = call.thread.last_issued(call.args.at(1)) {
        call.reply.bulk_number(last);
        return Flow::Done;
    }
    let name = call.owned(1);
    call.later(move |thread, mut reply| async move {
        match thread.last(&name).await {
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
    call.later(move |thread, mut reply| async move {
        let mut found = reply.detached();
        found.array(names.len());
        for name in &names {
            match thread.last(name).await {
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

/// `SET key n [NX|XX] [GET]`; an expiry only where it is ignored.
pub(super) fn set(call: &mut Call<'_>) -> Flow {
    let (mut condition, mut told, mut expires) = (Condition::Always, Told::Ok, false);
    let mut i = 3;
    while i < call.args.len() {
        if call.is(i, "nx") && condition != Condition::IfPresent {
            condition = Condition::IfAbsent;
        } else if call.is(i, "xx") && condition != Condition::IfAbsent {
            condition = Condition::IfPresent;
        } else if call.is(i, "get") {
            told = Told::Previous;
        } else if !expires && EXPIRY.iter().any(|word| call.is(i, word)) && i + 1 < call.args.len() {
            if !expiry::may_ignore(call, "set", i + 1) {
                return Flow::Done;
            }
            (expires, i) = (true, i + 1);
        } else if !expires && call.is(i, "keepttl") {
            if !expiry::may_keep(call) {
                return Flow::Done;
            }
            expires = true;
        } else {
            return call.syntax_error();
        }
        i += 1;
    }
    set_to(call, 2, condition, told)
}

/// `SETNX key n`.
pub(super) fn setnx(call: &mut Call<'_>) -> Flow {
    set_to(call, 2, Condition::IfAbsent, Told::Applied)
}

/// `GETSET key n`.
pub(super) fn getset(call: &mut Call<'_>) -> Flow {
    set_to(call, 2, Condition::Always, Told::Previous)
}

/// `SETEX key seconds n`.
pub(super) fn setex(call: &mut Call<'_>) -> Flow {
    match expiry::may_ignore(call, "setex", 2) {
        true => set_to(call, 3, Condition::Always, Told::Ok),
        false => Flow::Done,
    }
}

/// `PSETEX key milliseconds n`.
pub(super) fn psetex(call: &mut Call<'_>) -> Flow {
    match expiry::may_ignore(call, "psetex", 2) {
        true => set_to(call, 3, Condition::Always, Told::Ok),
        false => Flow::Done,
    }
}

/// What a command that sets answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// OK, or nothing where it did not apply.
    Ok,
    /// 1 or 0.
    Applied,
    /// The number before.
    Previous,
}

/// Makes the sequence whose last number is argument `at`, or moves it there.
fn set_to(call: &mut Call<'_>, at: usize, condition: Condition, told: Told) -> Flow {
    let Some(value) = call.integer(at) else {
        return Flow::Done;
    };
    let name = call.owned(1);
    call.later(move |thread, mut reply| async move {
        let answer = match thread.service().name(&name) {
            Ok(name) => thread.service().set(&name, value, condition).await,
            Err(error) => Err(error),
        };
        match (answer, told) {
            (Ok(answer), Told::Previous) => match answer.previous {
                Some(previous) => reply.bulk_number(previous),
                None => reply.null(),
            },
            (Ok(answer), Told::Applied) => reply.integer(i64::from(answer.applied)),
            // Applied here; servers of the cluster that do not follow yet may give out older numbers.
            (Ok(answer), Told::Ok) if answer.applied && !answer.pending.is_empty() => {
                reply.simple(&format!("OK pending on {}", answer.pending.join(",")));
            }
            (Ok(answer), Told::Ok) if answer.applied => reply.simple("OK"),
            (Ok(_), Told::Ok) => reply.null(),
            // Redis's clients expect the bare sentence here.
            (Err(error), _) if error.code == Code::OnlyForward => {
                reply.error(error.code, &format!("ERR mint: {}", error.message));
            }
            (Err(error), _) => reply.refuse(&error),
        }
        reply
    })
}

/// Options of Redis's SET that would make a number expire.
const EXPIRY: [&str; 4] = ["ex", "px", "exat", "pxat"];
