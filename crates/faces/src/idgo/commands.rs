//! What idgo's clients ask, and the words of its errors.

use std::rc::Rc;

use mintage::Run;
use mintage_ledger::{Name, SequenceSpec};

use mintage_server::chassis::auth::{Identity, Right, What};
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::keyed::{Keyed, NameBuffer, joined};
use mintage_server::chassis::resp::commands::{
    Access, Call, CommandRow, Dialect, Flow, ONE_KEY, above_limit,
};
use mintage_server::chassis::resp::reply::Reply;
use mintage_server::chassis::service::Condition;
use mintage_server::chassis::thread::ServingThread;
use mintage_server::chassis::transport::Peer;

/// What this port understands.
pub(super) static DIALECT: Dialect = Dialect {
    rows: COMMANDS,
    shared: &[
        "ping", "echo", "quit", "auth", "hello", "client", "command", "info", "config", "time", "reset",
    ],
    access: Some(|config| &config.faces.get::<crate::idgo::Settings>().access),
    keys: Some(|config| &config.faces.get::<crate::idgo::Settings>().keys),
    unknown: |call| refuse(call, Code::UnknownCommand, "Method is not supported"),
    arity: |call, _| {
        refuse(
            call,
            Code::InvalidArgument,
            "Not enough arguments for the command",
        )
    },
    no_request: |_| "ERROR Protocol error".to_string(),
};

static COMMANDS: &[CommandRow] = &[
    row(
        "get",
        -2,
        Right::Allocate,
        true,
        get,
        "Takes the next number of a key",
    ),
    row(
        "set",
        -3,
        Right::Admin,
        false,
        set,
        "Makes a key; the next number is the one behind what is set",
    ),
    CommandRow {
        keys: ALL_KEYS,
        ..row(
            "exists",
            -2,
            Right::Read,
            false,
            exists,
            "How many of the keys there are",
        )
    },
    CommandRow {
        keys: ALL_KEYS,
        ..row(
            "del",
            -2,
            Right::Admin,
            false,
            del,
            "Drops keys; made again, they go on above their numbers",
        )
    },
    row(
        "select",
        -2,
        Right::Read,
        false,
        select,
        "Answers OK: there is one database",
    ),
    row(
        "incr",
        -2,
        Right::Allocate,
        true,
        incr,
        "Takes the next number of a key that there is",
    ),
    row(
        "incrby",
        -3,
        Right::Allocate,
        false,
        incrby,
        "Takes a run of numbers, returns its last",
    ),
];

/// Of commands whose arguments are all keys.
const ALL_KEYS: (i32, i32, i32) = (1, -1, 1);

const fn row(
    name: &'static str,
    arity: i32,
    right: Right,
    repeats: bool,
    run: fn(&mut Call<'_>) -> Flow,
    summary: &'static str,
) -> CommandRow {
    CommandRow {
        name,
        arity,
        flags: &["fast"],
        keys: ONE_KEY,
        access: Access::With(right),
        repeats,
        group: "string",
        summary,
        run,
    }
}

/// How numbers are written.
type Write = fn(&mut Reply, Run);

fn get(call: &mut Call<'_>) -> Flow {
    take(call, |reply, run| {
        run.iter().for_each(|number| reply.bulk_number(number))
    })
}

fn incr(call: &mut Call<'_>) -> Flow {
    take(call, Reply::integers)
}

/// A number for each of a run of requests: from stock if there is any, at once.
#[inline]
fn take(call: &mut Call<'_>, write: Write) -> Flow {
    let mut left = call.serve_run();
    let config = call.thread.config();
    let mut buffer = NameBuffer::default();
    let who = call.session.identity.as_ref();
    let may = |name: &&[u8]| who.is_none_or(|who| who.may(Right::Allocate, What::Named(name)));
    if let Some(name) = joined(
        &config.faces.get::<crate::idgo::Settings>().keys,
        call.args.at(1),
        &mut buffer,
    )
    .filter(may)
    {
        while let Some(run) = call.thread.try_take(name, left) {
            call.thread
                .service()
                .spend(who.unwrap_or(&Identity::OPEN), call.session.peer, run.count);
            write(call.reply, run);
            left -= run.count;
            if left == 0 {
                return Flow::Done;
            }
        }
    }
    take_later(call, left, write)
}

#[cold]
fn take_later(call: &mut Call<'_>, left: u64, write: Write) -> Flow {
    if let Some(refused) = without_key(call) {
        (1..left).for_each(|_| drop(without_key(call)));
        return refused;
    }
    let client = Client::of(call);
    let is_get = call.is(0, "get");
    call.later(move |thread, mut reply| async move {
        let mut unanswered = left;
        let taken = client.take(&thread, left, |run| {
            unanswered -= run.count;
            write(&mut reply, run);
        });
        if let Err(error) = taken.await {
            for _ in 0..unanswered {
                match error.code {
                    Code::NotFound if is_get => reply.null_bulk(),
                    _ => client.refuse(&mut reply, &error),
                }
            }
        }
        reply
    })
}

fn incrby(call: &mut Call<'_>) -> Flow {
    if let Some(refused) = without_key(call) {
        return refused;
    }
    let Some(n) = integer(call.args.at(2))
        .filter(|n| *n > 0)
        .map(i64::cast_unsigned)
    else {
        return refuse(call, Code::InvalidArgument, EXPECTED_INTEGER);
    };
    if let Some(refused) = above_limit(n, call.thread.config().resp_max_increment) {
        return refuse(call, Code::InvalidArgument, &refused.message);
    }
    let client = Client::of(call);
    call.later(move |thread, mut reply| async move {
        match client.take_counted(&thread, n).await {
            Ok(run) => reply.integer(run.last()),
            Err(error) => client.refuse(&mut reply, &error),
        }
        reply
    })
}

/// `SET key n`: the key is made, and `n + 1` is its next number. One that is there stays as it is; one that was dropped
/// goes on above its old numbers, whatever `n` says.
fn set(call: &mut Call<'_>) -> Flow {
    if let Some(refused) = without_key(call) {
        return refused;
    }
    let last = match integer(call.args.at(2)) {
        Some(last) if last >= 0 => last,
        Some(_) => return refuse(call, Code::InvalidArgument, "Expected positive integer"),
        None => return refuse(call, Code::InvalidArgument, EXPECTED_INTEGER),
    };
    let client = Client::of(call);
    call.later(move |thread, mut reply| async move {
        match client.make(&thread, last).await {
            Ok(made) => {
                reply.simple("OK");
                reply.has_changed(made);
            }
            // No first use makes names: not even this one.
            Err(error) if error.code == Code::NotFound => {
                reply.error(error.code, &format!("ERROR {}", error.message));
            }
            Err(error) => client.refuse(&mut reply, &error),
        }
        reply
    })
}

fn exists(call: &mut Call<'_>) -> Flow {
    count(call, Right::Read, |thread, name| {
        Box::pin(async move { thread.exists(name.as_str().as_bytes()).await })
    })
}

fn del(call: &mut Call<'_>) -> Flow {
    count(call, Right::Admin, |thread, name| {
        Box::pin(async move { Ok(thread.service().drop_sequence(name).await?.is_some()) })
    })
}

type Counted<'a> = std::pin::Pin<Box<dyn Future<Output = Answer<bool>> + 'a>>;

/// Of how many of the keys something holds. One that can have no name is not there.
fn count(
    call: &mut Call<'_>,
    right: Right,
    of: for<'a> fn(&'a Rc<ServingThread>, &'a Name) -> Counted<'a>,
) -> Flow {
    if let Some(refused) = without_key(call) {
        return refused;
    }
    let client = Client::of(call);
    let keys: Vec<Vec<u8>> = call.args.from(1).map(<[u8]>::to_vec).collect();
    call.later(move |thread, mut reply| async move {
        let mut found = 0;
        for key in &keys {
            let Ok(name) = name_of(&thread, key) else {
                continue;
            };
            let counted = match client.check(right, &name) {
                Ok(()) => of(&thread, &name).await,
                Err(error) => Err(error),
            };
            match counted {
                Ok(is_one) => found += i64::from(is_one),
                Err(error) => {
                    client.refuse(&mut reply, &error);
                    return reply;
                }
            }
        }
        reply.integer(found);
        reply
    })
}

fn select(call: &mut Call<'_>) -> Flow {
    match without_key(call) {
        Some(refused) => refused,
        None => {
            call.reply.simple("OK");
            Flow::Done
        }
    }
}

/// Who asks for a key.
struct Client {
    key: Vec<u8>,
    who: Identity,
    peer: Peer,
}

impl Client {
    fn of(call: &Call<'_>) -> Client {
        Client {
            key: call.args.at(1).to_vec(),
            who: call.session.identity.clone().unwrap_or(Identity::OPEN),
            peer: call.session.peer,
        }
    }

    async fn take(&self, thread: &Rc<ServingThread>, n: u64, each: impl FnMut(Run)) -> Answer<()> {
        let config = thread.config();
        self.keyed(thread, &config.faces.get::<crate::idgo::Settings>().keys)
            .take(&self.key, n, each)
            .await
    }

    async fn take_counted(&self, thread: &Rc<ServingThread>, n: u64) -> Answer<Run> {
        let config = thread.config();
        let keyed = self.keyed(thread, &config.faces.get::<crate::idgo::Settings>().keys);
        Ok(keyed.take_counted(&self.key, n).await?.0)
    }

    fn keyed<'a>(
        &'a self,
        thread: &'a Rc<ServingThread>,
        keys: &'a mintage_server::chassis::config::Keys,
    ) -> Keyed<'a> {
        Keyed {
            thread,
            keys,
            who: &self.who,
            peer: self.peer,
        }
    }

    /// Whether it may do this with a sequence.
    fn check(&self, right: Right, name: &Name) -> Answer<()> {
        Ok(self.who.check(right, What::Named(name.as_str().as_bytes()))?)
    }

    /// Makes the key, unless there is one; whether it was made.
    async fn make(&self, thread: &Rc<ServingThread>, last: i64) -> Answer<bool> {
        let name = name_of(thread, &self.key)?;
        self.check(Right::Admin, &name)?;
        match thread.service().set(&name, last, Condition::IfAbsent).await {
            Ok(set) => Ok(set.applied),
            // It was there once, and got further.
            Err(error) if error.code == Code::OnlyForward => {
                let (_, made) = thread
                    .service()
                    .create_by_use(&name, &SequenceSpec::default())
                    .await?;
                Ok(made)
            }
            Err(error) => Err(error),
        }
    }

    fn refuse(&self, reply: &mut Reply, error: &ServiceError) {
        let key = String::from_utf8_lossy(&self.key);
        let text = match (error.code, error.retry_after_s) {
            (Code::Exhausted, _) => format!("{key} has no further number"),
            (_, Some(seconds)) => format!("not available right now, retry in {seconds} s"),
            (Code::NotFound, _) => format!("{key} is not known: SET makes it"),
            _ => error.message.to_string(),
        };
        reply.error(error.code, &format!("ERROR {text}"));
    }
}

/// The name of a key's sequence.
fn name_of(thread: &ServingThread, key: &[u8]) -> Answer<Name> {
    let config = thread.config();
    let mut buffer = NameBuffer::default();
    let name = joined(
        &config.faces.get::<crate::idgo::Settings>().keys,
        key,
        &mut buffer,
    );
    let name = name.ok_or_else(|| ServiceError::new(Code::InvalidName, "the key is too long for a name"))?;
    thread.service().name(name)
}

/// The refusal of a key that is empty.
fn without_key(call: &mut Call<'_>) -> Option<Flow> {
    let is_empty = call.args.at(1).is_empty();
    is_empty.then(|| refuse(call, Code::InvalidArgument, "no key for set"))
}

fn refuse(call: &mut Call<'_>, code: Code, text: &str) -> Flow {
    call.reply.error(code, &format!("ERROR {text}"));
    Flow::Done
}

/// `[+-]?[0-9]{1,19}` within 64 bits, as Go reads it.
fn integer(text: &[u8]) -> Option<i64> {
    let digits = text
        .strip_prefix(b"+")
        .or(text.strip_prefix(b"-"))
        .unwrap_or(text);
    let fits = (1..=19).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| fits)?.parse().ok()
}

const EXPECTED_INTEGER: &str = "Expected integer";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_go() {
        for (text, number) in [
            ("+5", Some(5)),
            ("-5", Some(-5)),
            ("007", Some(7)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("00000000000000000001", None),
            ("+-1", None),
            ("+", None),
            ("", None),
            ("1_0", None),
            (" 1", None),
        ] {
            assert_eq!(integer(text.as_bytes()), number, "{text:?}");
        }
    }
}
