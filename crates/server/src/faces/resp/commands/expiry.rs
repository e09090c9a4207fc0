//! EXPIRE, TTL and their kin: numbers never expire, and what is asked for all the same is refused or ignored
//! (`server.resp.expire`).

use super::{Call, Flow, NOT_AN_INTEGER};
use crate::config::Expire;
use crate::error::{Code, ServiceError};
use crate::faces::resp::frame::strict_integer;

/// `EXPIRE key n [NX|XX|GT|LT]`, `PEXPIRE`, `EXPIREAT`, `PEXPIREAT`.
pub(super) fn expire(call: &mut Call<'_>) -> Flow {
    let (mut nx, mut xx, mut gt, mut lt) = (false, false, false, false);
    for i in 3..call.args.len() {
        match () {
            () if call.is(i, "nx") => nx = true,
            () if call.is(i, "xx") => xx = true,
            () if call.is(i, "gt") => gt = true,
            () if call.is(i, "lt") => lt = true,
            () => {
                let option = String::from_utf8_lossy(call.args.at(i)).into_owned();
                return call.error(Code::InvalidArgument, &format!("ERR Unsupported option {option}"));
            }
        }
    }
    if nx && (xx || gt || lt) {
        return call.error(
            Code::InvalidArgument,
            "ERR NX and XX, GT or LT options at the same time are not compatible",
        );
    }
    if gt && lt {
        return call.error(
            Code::InvalidArgument,
            "ERR GT and LT options at the same time are not compatible",
        );
    }
    if call.integer(2).is_none() {
        return Flow::Done;
    }
    if call.thread.config().resp_expire == Expire::Refuse {
        let command = String::from_utf8_lossy(call.args.at(0)).to_uppercase();
        return refuse(call, &format!("{command}: a number never expires"));
    }
    // Redis takes a key without an expiry for one that lasts for ever.
    let applies = !xx && !gt;
    say_of_existing(call, i64::from(applies), 0)
}

/// `TTL key`, `PTTL`, `EXPIRETIME`, `PEXPIRETIME`: -1 for a sequence, which lasts; -2 for nothing.
pub(super) fn ttl(call: &mut Call<'_>) -> Flow {
    say_of_existing(call, -1, -2)
}

/// `PERSIST key`: there is no expiry to take away.
pub(super) fn persist(call: &mut Call<'_>) -> Flow {
    say_of_existing(call, 0, 0)
}

fn say_of_existing(call: &mut Call<'_>, there: i64, absent: i64) -> Flow {
    let name = call.owned(1);
    call.later(move |thread, mut reply| async move {
        match thread.exists(&name).await {
            Ok(found) => reply.integer(if found { there } else { absent }),
            Err(error) => reply.refuse(&error),
        }
        reply
    })
}

/// Whether the expiry in argument `at` of a command that writes may be ignored; else it is refused already.
pub(super) fn may_ignore(call: &mut Call<'_>, command: &str, at: usize) -> bool {
    if call.thread.config().resp_expire == Expire::Refuse {
        let what = match command {
            "set" => "SET takes NX, XX and GET; a number never expires".to_string(),
            other => format!("{}: a number never expires", other.to_uppercase()),
        };
        refuse(call, &what);
        return false;
    }
    match strict_integer(call.args.at(at)) {
        Some(n) if n > 0 => return true,
        Some(_) => {
            let text = format!("ERR invalid expire time in '{command}' command");
            call.reply.error(Code::InvalidArgument, &text);
        }
        None => call.reply.error(Code::InvalidArgument, NOT_AN_INTEGER),
    }
    false
}

/// Refuses an expiry that takes no time.
pub(super) fn may_keep(call: &mut Call<'_>) -> bool {
    let ignored = call.thread.config().resp_expire == Expire::Ignore;
    if !ignored {
        refuse(call, "SET takes NX, XX and GET; a number never expires");
    }
    ignored
}

#[cold]
fn refuse(call: &mut Call<'_>, what: &str) -> Flow {
    let error = ServiceError::new(Code::InvalidArgument, what.to_string())
        .with_hint("server.resp.expire = \"ignore\" has expiry answered and ignored");
    call.reply.refuse(&error);
    Flow::Done
}
