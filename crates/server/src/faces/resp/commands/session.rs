//! MINT.CURRVAL, MINT.LASTVAL: what this connection took, as SQL's sessions know it.
//!
//! They ask the connection alone: nobody else's numbers are in it, and no store is read. `MULTI` and `DISCARD` leave it as
//! it is, `RESET` empties it, and a sequence that is dropped or moved by `SET` changes nothing of what was taken.

use super::{Call, Flow};
use crate::error::{Code, ServiceError};

/// `MINT.CURRVAL seq`: the last number that this connection took of it.
pub(super) fn currval(call: &mut Call<'_>) -> Flow {
    let name = call.args.at(1);
    if let Err(error) = call.thread.service().name(name) {
        call.reply.refuse(&error);
        return Flow::Done;
    }
    let number = call.session.taken.borrow().number_of(name);
    let shown = String::from_utf8_lossy(name).into_owned();
    answer(call, number, || format!("currval of sequence \"{shown}\""))
}

/// `MINT.LASTVAL`: the last number that this connection took of any sequence.
pub(super) fn lastval(call: &mut Call<'_>) -> Flow {
    let number = call.session.taken.borrow().last();
    answer(call, number, || "lastval".into())
}

/// The number, or PostgreSQL's refusal (SQLSTATE 55000) and what to do about it.
fn answer(call: &mut Call<'_>, number: Option<i64>, what: impl FnOnce() -> String) -> Flow {
    let Some(number) = number else {
        let message = format!("{} is not yet defined in this session", what());
        let most = call.thread.config().resp_max_currval;
        let hint = match (most, call.session.taken.borrow().forgot()) {
            (0, _) => "server.resp.max_currval is 0: no connection remembers what it took".into(),
            (_, true) => format!(
                "this connection took numbers of more than {most} sequences and remembers those it used last: \
                 server.resp.max_currval"
            ),
            (_, false) => "take a number on this connection first, with INCR, INCRBY or MINT.NEXT".into(),
        };
        let error = ServiceError::new(Code::NotFound, message).with_hint(hint);
        call.reply.refuse(&error);
        return Flow::Done;
    };
    call.reply.integer(number);
    Flow::Done
}
