//! The commands: one table, one file per family.
//!
//! Names, arities and flags are Redis 7.0's; `COMMAND` prints this table, so clients see what is there.

mod connection;
mod cosid_keys;
mod counters;
mod dialect;
mod expiry;
mod keys;
mod machines;
mod mint;
mod queue;
mod scripts;
mod server;
mod session;
mod taken;
mod tools;
mod transactions;

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use mintage::Run;

use crate::audit::{self, Act, audited};
use crate::auth::{Identity, Presented, Right, What};
use crate::error::{Code, ServiceError};
use crate::faces;
use crate::faces::resp::frame::{Args, strict_integer};
use crate::faces::resp::reply::Reply;
use crate::kept::{Keeping, KeptBytes};
use crate::metrics::FaceId;
use crate::noise::Asker;
use crate::thread::ServingThread;
use crate::transport::{Endpoint, Peer};
use crate::turn::SMALL_BYTES;
use crate::watch::Watch;
pub use counters::above_limit;
pub use dialect::Dialect;
pub(super) use queue::Queue;
pub(super) use taken::Taken;

/// One connection's state, as its commands see and change it.
#[derive(Debug)]
pub struct Session {
    /// Unique within the server's life.
    pub id: u64,
    /// Who it is, once known.
    pub identity: Option<Identity>,
    /// Who it was until its token was gone, which may come back.
    pub lapsed: Option<Identity>,
    /// What its connection shows by itself.
    pub presented: Rc<Presented>,
    /// What `CLIENT SETNAME` said.
    pub name: String,
    /// What `CLIENT SETINFO` said: library, version.
    pub library: [String; 2],
    /// The client's address.
    pub peer: Peer,
    /// Our address.
    pub local: Option<Endpoint>,
    /// This face, for the counters.
    pub face: FaceId,
    /// What its port understands.
    pub dialect: &'static Dialect,
    /// When it connected, in boot time.
    pub since_boottime: Duration,
    /// How many wrong tokens it has shown.
    pub wrong_tokens: u64,
    /// The deadlines of its connection.
    pub watch: Rc<Watch>,
    /// What was said since `MULTI`.
    pub(crate) queue: Option<Queue>,
    /// The numbers it took last; shared with answers that are still to come.
    pub(crate) taken: Rc<RefCell<Taken>>,
    /// What it keeps.
    pub keeping: Keeping,
    /// Of that, what it has said of itself.
    pub said: KeptBytes,
}

/// A request on its way to its answer.
pub struct Call<'a> {
    /// Its arguments; 0 is the command.
    pub args: Args<'a>,
    /// How many byte-identical requests follow each other here, this one included. Above 1 only for
    /// [`CommandRow::repeats`].
    pub run: u64,
    /// How many of them this call answers: 1, unless it takes the whole run.
    pub served: u64,
    /// The thread that serves the client.
    pub thread: &'a Rc<ServingThread>,
    /// What the connection keeps.
    pub session: &'a mut Session,
    /// Where the answer is written.
    pub reply: &'a mut Reply,
}

/// What becomes of a request.
pub enum Flow {
    /// It is answered.
    Done,
    /// It is answered, and the connection ends.
    Close,
    /// Its answer needs the store.
    Wait(Later),
    /// Its answer is those of all these requests.
    Run(Queue),
}

/// An answer to come.
pub(crate) type Later = Pin<Box<dyn Future<Output = Reply>>>;

impl Call<'_> {
    /// Takes upon itself to answer the whole run of identical requests; how many they are.
    #[inline]
    pub fn serve_run(&mut self) -> u64 {
        self.served = self.run;
        self.run
    }

    /// Answers when `work` is done; requests behind this one wait, other connections do not.
    pub fn later<F>(&self, work: impl FnOnce(Rc<ServingThread>, Reply) -> F) -> Flow
    where
        F: Future<Output = Reply> + 'static,
    {
        Flow::Wait(Box::pin(work(self.thread.clone(), self.reply.detached())))
    }

    /// The same for an answer that takes so much memory: there must be room for it first.
    fn later_with_room<F>(
        &self,
        bytes: u64,
        work: impl FnOnce(Rc<ServingThread>, Reply) -> F + 'static,
    ) -> Flow
    where
        F: Future<Output = Reply> + 'static,
    {
        if bytes <= SMALL_BYTES {
            return self.later(work);
        }
        let watch = Rc::clone(&self.session.watch);
        self.later(move |thread, mut reply| async move {
            match thread.room_of_all(bytes, &watch).await {
                Err(error) => {
                    reply.refuse(&error);
                    reply
                }
                Ok(mut room) => {
                    let mut reply = work(thread, reply).await;
                    room.set(reply.bytes().len());
                    reply.keep(room);
                    reply
                }
            }
        })
    }

    /// Remembers for this connection what it took of a sequence.
    #[inline]
    fn took(&self, name: &[u8], run: Run) {
        let max = || self.thread.config().resp_max_currval;
        self.session.taken.borrow_mut().note(name, run.last(), max);
    }

    /// What remembers the same once an answer has come.
    fn remembers(&self, name: &[u8]) -> impl Fn(Run) + use<> {
        let (thread, taken, name) = (self.thread.clone(), self.session.taken.clone(), name.to_vec());
        move |run| {
            let max = || thread.config().resp_max_currval;
            taken.borrow_mut().note(&name, run.last(), max);
        }
    }

    /// Who asks this.
    fn asker(&self) -> Asker<'static> {
        let identity = self.session.identity.as_ref();
        Asker {
            token: identity.map_or("default", Identity::name).to_string().into(),
            peer: self.session.peer,
        }
    }

    /// Notes that this asks for so many ids.
    #[inline]
    fn spends(&self, ids: u64) {
        if let Some(who) = &self.session.identity {
            self.thread.service().spend(who, self.session.peer, ids);
        }
    }

    /// Who this is before it shows a token.
    fn before_a_word(&self) -> Option<Identity> {
        let (session, thread) = (&self.session, self.thread);
        let tokens = thread.service().tokens();
        session
            .dialect
            .before_a_word(tokens, &thread.config(), &session.presented, session.face)
    }

    /// Whether a sequence or pool that is no key of the request may be taken from; refused already if not.
    #[inline]
    fn may_take(&mut self, name: &[u8]) -> bool {
        let identity = self.session.identity.as_ref();
        match identity.map_or(Ok(()), |who| who.check(Right::Allocate, What::Named(name))) {
            Ok(()) => true,
            Err(_) => {
                self.reply.error(Code::Forbidden, NO_SUCH_KEYS);
                false
            }
        }
    }

    /// Answers with an error in Redis's words.
    fn error(&mut self, code: Code, text: &str) -> Flow {
        self.reply.error(code, text);
        Flow::Done
    }

    /// Argument `i`, to be kept.
    fn owned(&self, i: usize) -> Vec<u8> {
        self.args.at(i).to_vec()
    }

    /// Argument `i` as an integer, or Redis's refusal.
    fn integer(&mut self, i: usize) -> Option<i64> {
        let number = strict_integer(self.args.at(i));
        if number.is_none() {
            self.reply.error(Code::InvalidArgument, NOT_AN_INTEGER);
        }
        number
    }

    fn syntax_error(&mut self) -> Flow {
        self.error(Code::InvalidArgument, "ERR syntax error")
    }

    /// Whether argument `i` is this word, in any case.
    pub fn is(&self, i: usize, word: &str) -> bool {
        self.args.at(i).eq_ignore_ascii_case(word.as_bytes())
    }
}

/// Who may use a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Everybody, authenticated or not.
    Open,
    /// Who is authenticated.
    Known,
    /// Who may do this.
    With(Right),
}

/// One command.
#[derive(Debug)]
pub struct CommandRow {
    /// Its name, in lower case.
    pub name: &'static str,
    /// How many arguments it takes, itself included; negative: at least that many.
    pub arity: i32,
    /// Redis's flags.
    pub flags: &'static [&'static str],
    /// Where its keys stand: first, last (negative: from the end), step; zeros: nowhere.
    pub keys: (i32, i32, i32),
    /// What it does to its keys.
    pub access: Access,
    /// Whether a run of byte-identical requests may be answered at once.
    pub repeats: bool,
    /// Redis's group, for `COMMAND DOCS`.
    pub group: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Does it.
    pub run: fn(&mut Call<'_>) -> Flow,
}

impl CommandRow {
    /// Where the keys of a request with so many arguments stand.
    fn keys_of(&self, arguments: usize) -> impl Iterator<Item = usize> + use<> {
        let (first, last, step) = self.keys;
        let last = if last < 0 { arguments as i32 + last } else { last };
        (first..=last).step_by(step.max(1) as usize).map(|at| at as usize)
    }
}

const ALLOCATE: Access = Access::With(Right::Allocate);
const READ: Access = Access::With(Right::Read);
const ADMIN: Access = Access::With(Right::Admin);
const NO_KEYS: (i32, i32, i32) = (0, 0, 0);
/// Its first argument is its only key.
pub const ONE_KEY: (i32, i32, i32) = (1, 1, 1);

macro_rules! commands {
    ($($name:literal $arity:literal [$($flag:literal)*] $keys:expr, $access:expr, $repeats:literal, $group:literal, $run:path, $summary:literal;)*) => {
        /// Every command; the most used first.
        pub(crate) static COMMANDS: &[CommandRow] = &[$(CommandRow {
            name: $name, arity: $arity, flags: &[$($flag),*], keys: $keys, access: $access, repeats: $repeats,
            group: $group, summary: $summary, run: $run,
        },)*];
    };
}

commands! {
    "incr" 2 ["write" "fast"] ONE_KEY, ALLOCATE, true, "string", counters::incr, "Takes the next number of a sequence";
    "incrby" 3 ["write" "fast"] ONE_KEY, ALLOCATE, false, "string", counters::incrby, "Takes a run of numbers, returns its last";
    "get" 2 ["readonly" "fast"] ONE_KEY, READ, false, "string", counters::get, "The last number that was issued";
    "mget" -2 ["readonly" "fast"] (1, -1, 1), READ, false, "string", counters::mget, "The last numbers that were issued";
    "set" -3 ["write"] ONE_KEY, ADMIN, false, "string", counters::set, "Creates a sequence or moves it forward";
    "setnx" 3 ["write" "fast"] ONE_KEY, ADMIN, false, "string", counters::setnx, "Creates a sequence unless there is one";
    "getset" 3 ["write" "fast"] ONE_KEY, ADMIN, false, "string", counters::getset, "As SET, returns the number before";
    "setex" 4 ["write"] ONE_KEY, ADMIN, false, "string", counters::setex, "As SET, where expiry is ignored";
    "psetex" 4 ["write"] ONE_KEY, ADMIN, false, "string", counters::psetex, "As SET, where expiry is ignored";
    "decr" 2 ["write" "fast"] ONE_KEY, ALLOCATE, false, "string", counters::decr, "Refused: says what to create instead";
    "decrby" 3 ["write" "fast"] ONE_KEY, ALLOCATE, false, "string", counters::decrby, "Refused: says what to create instead";
    "multi" 1 ["fast"] NO_KEYS, Access::Known, false, "transactions", transactions::multi, "Queues what follows until EXEC";
    "exec" 1 [] NO_KEYS, Access::Known, false, "transactions", transactions::exec, "Runs what was queued";
    "discard" 1 ["fast"] NO_KEYS, Access::Known, false, "transactions", transactions::discard, "Forgets what was queued";
    "watch" -2 ["fast"] (1, -1, 1), Access::Known, false, "transactions", transactions::watch, "Refused: says what needs none";
    "unwatch" 1 ["fast"] NO_KEYS, Access::Known, false, "transactions", transactions::unwatch, "Nothing is watched";
    "expire" -3 ["write" "fast"] ONE_KEY, ALLOCATE, false, "generic", expiry::expire, "Refused or ignored: numbers never expire";
    "pexpire" -3 ["write" "fast"] ONE_KEY, ALLOCATE, false, "generic", expiry::expire, "Refused or ignored: numbers never expire";
    "expireat" -3 ["write" "fast"] ONE_KEY, ALLOCATE, false, "generic", expiry::expire, "Refused or ignored: numbers never expire";
    "pexpireat" -3 ["write" "fast"] ONE_KEY, ALLOCATE, false, "generic", expiry::expire, "Refused or ignored: numbers never expire";
    "persist" 2 ["write" "fast"] ONE_KEY, ALLOCATE, false, "generic", expiry::persist, "0: numbers never expire";
    "ttl" 2 ["readonly" "fast"] ONE_KEY, READ, false, "generic", expiry::ttl, "-1 for a sequence, -2 for nothing";
    "pttl" 2 ["readonly" "fast"] ONE_KEY, READ, false, "generic", expiry::ttl, "-1 for a sequence, -2 for nothing";
    "expiretime" 2 ["readonly" "fast"] ONE_KEY, READ, false, "generic", expiry::ttl, "-1 for a sequence, -2 for nothing";
    "pexpiretime" 2 ["readonly" "fast"] ONE_KEY, READ, false, "generic", expiry::ttl, "-1 for a sequence, -2 for nothing";
    "exists" -2 ["readonly" "fast"] (1, -1, 1), READ, false, "generic", keys::exists, "How many of the names exist";
    "del" -2 ["write"] (1, -1, 1), ADMIN, false, "generic", keys::del, "Drops sequences; tombstones keep their marks";
    "unlink" -2 ["write" "fast"] (1, -1, 1), ADMIN, false, "generic", keys::del, "Drops sequences; tombstones keep their marks";
    "getdel" 2 ["write" "fast"] ONE_KEY, READ, false, "string", keys::getdel, "Refused where there is a number: says what to use instead";
    "type" 2 ["readonly" "fast"] ONE_KEY, READ, false, "generic", keys::type_of, "string for a sequence, none for nothing";
    "keys" 2 ["readonly"] NO_KEYS, READ, false, "generic", keys::keys, "The names that match a pattern";
    "scan" -2 ["readonly"] NO_KEYS, READ, false, "generic", keys::scan, "The names, page by page";
    "dbsize" 1 ["readonly" "fast"] NO_KEYS, READ, false, "server", keys::dbsize, "How many sequences there are";
    "mint.next" -2 ["write" "fast"] ONE_KEY, ALLOCATE, true, "module", mint::next, "Takes the next numbers of a sequence";
    "mint.show" 2 ["readonly" "fast"] ONE_KEY, READ, false, "module", mint::show, "What a sequence is and its last number";
    "mint.id" -2 ["fast"] NO_KEYS, ALLOCATE, true, "module", mint::id, "Makes ids of a format";
    "mint.snowflake" -2 ["fast"] NO_KEYS, ALLOCATE, true, "module", mint::snowflake, "Makes ids of a pool";
    "mint.inspect" 2 ["readonly" "fast"] NO_KEYS, READ, false, "module", mint::inspect, "What an id is";
    "mint.currval" 2 ["readonly" "fast"] ONE_KEY, READ, false, "module", session::currval, "The last number that this connection took of a sequence";
    "mint.lastval" 1 ["readonly" "fast"] NO_KEYS, READ, false, "module", session::lastval, "The last number that this connection took of any sequence";
    "eval" -3 ["noscript" "stale" "skip_monitor" "no_mandatory_keys" "movablekeys"] NO_KEYS, ALLOCATE, false, "scripting", scripts::eval, "Does what a known script means; no Lua is run";
    "evalsha" -3 ["noscript" "stale" "skip_monitor" "no_mandatory_keys" "movablekeys"] NO_KEYS, ALLOCATE, false, "scripting", scripts::evalsha, "The same for a script's SHA-1";
    "eval_ro" -3 ["readonly" "noscript" "stale" "skip_monitor" "no_mandatory_keys" "movablekeys"] NO_KEYS, ALLOCATE, false, "scripting", scripts::eval_ro, "Refused for what takes numbers";
    "evalsha_ro" -3 ["readonly" "noscript" "stale" "skip_monitor" "no_mandatory_keys" "movablekeys"] NO_KEYS, ALLOCATE, false, "scripting", scripts::evalsha_ro, "Refused for what takes numbers";
    "fcall" -3 ["noscript" "stale" "skip_monitor" "no_mandatory_keys" "movablekeys"] NO_KEYS, ALLOCATE, false, "scripting", scripts::fcall, "Does what a declared function means";
    "fcall_ro" -3 ["readonly" "noscript" "stale" "skip_monitor" "no_mandatory_keys" "movablekeys"] NO_KEYS, ALLOCATE, false, "scripting", scripts::fcall_ro, "Refused for what takes numbers";
    "script" -2 [] NO_KEYS, ALLOCATE, false, "scripting", scripts::script, "Knows scripts by their SHA-1";
    "function" -2 [] NO_KEYS, Access::Known, false, "scripting", scripts::function, "Lists the declared functions";
    "ping" -1 ["fast"] NO_KEYS, Access::Known, false, "connection", connection::ping, "Answers PONG";
    "echo" 2 ["fast"] NO_KEYS, Access::Known, false, "connection", connection::echo, "Returns what was sent";
    "select" 2 ["fast"] NO_KEYS, Access::Known, false, "connection", connection::select, "There is database 0 only";
    "auth" -2 ["fast" "no_auth"] NO_KEYS, Access::Open, false, "connection", connection::auth, "Shows a token";
    "hello" -1 ["fast" "no_auth"] NO_KEYS, Access::Open, false, "connection", connection::hello, "Chooses the protocol's version";
    "client" -2 [] NO_KEYS, Access::Known, false, "connection", connection::client, "Names and describes a connection";
    "quit" -1 ["fast" "no_auth"] NO_KEYS, Access::Open, false, "connection", connection::quit, "Ends the connection";
    "reset" 1 ["fast" "no_auth"] NO_KEYS, Access::Open, false, "connection", connection::reset, "Makes the connection as new";
    "command" -1 [] NO_KEYS, Access::Known, false, "server", server::command, "Describes the commands";
    "config" -2 ["admin"] NO_KEYS, Access::Known, false, "server", server::config, "Redis's settings, as far as they are true here";
    "strlen" 2 ["readonly" "fast"] ONE_KEY, READ, false, "string", tools::strlen, "How many characters the last number has";
    "touch" -2 ["readonly" "fast"] (1, -1, 1), READ, false, "generic", keys::exists, "How many of the names exist";
    "randomkey" 1 ["readonly"] NO_KEYS, READ, false, "generic", tools::random_key, "Any name";
    "object" -2 ["readonly"] NO_KEYS, Access::Known, false, "generic", tools::object, "How a key is held: as a whole number";
    "memory" -2 ["readonly"] NO_KEYS, Access::Known, false, "server", tools::memory, "About how much memory a key takes";
    "debug" -2 ["admin"] NO_KEYS, Access::Known, false, "server", tools::debug, "Refused, as a Redis does unless told otherwise";
    "latency" -2 [] NO_KEYS, Access::Known, false, "server", tools::latency, "Nothing is noted: see the metrics";
    "slowlog" -2 [] NO_KEYS, Access::Known, false, "server", tools::slowlog, "Nothing is noted: see the metrics";
    "module" -2 [] NO_KEYS, Access::Known, false, "server", tools::module, "There are none";
    "acl" -2 [] NO_KEYS, Access::Known, false, "server", tools::acl, "Says which token this is";
    "cluster" -2 [] NO_KEYS, Access::Known, false, "cluster", tools::cluster, "Refused: every server serves every key";
    "readonly" 1 ["fast"] NO_KEYS, Access::Known, false, "cluster", tools::cluster, "Refused: every server serves every key";
    "readwrite" 1 ["fast"] NO_KEYS, Access::Known, false, "cluster", tools::cluster, "Refused: every server serves every key";
    "wait" 3 [] NO_KEYS, Access::Known, false, "generic", tools::wait, "0: there are no replicas";
    "role" 1 ["fast"] NO_KEYS, Access::Known, false, "server", tools::role, "master";
    "info" -1 [] NO_KEYS, Access::Known, false, "server", server::info, "How the server is";
    "time" 1 ["fast"] NO_KEYS, Access::Known, false, "server", server::time, "The time";
}

/// What our own port understands.
pub(super) static OURS: Dialect = Dialect {
    rows: COMMANDS,
    shared: &[],
    access: None,
    keys: None,
    unknown: refuse_unknown,
    arity: refuse_arity,
    no_request: |error| format!("ERR {error}"),
};

/// Runs one request, or keeps it for `EXEC`.
#[inline]
pub(crate) fn run(row: Option<&'static CommandRow>, call: &mut Call<'_>) -> Flow {
    match row {
        Some(known) if !call.session.dialect.is_foreign() && cosid_keys::may_have_some(known, call.args) => {
            run_named(known, call)
        }
        _ => run_as_it_is(row, call),
    }
}

/// The same with a key of CosId.
#[cold]
fn run_named(row: &'static CommandRow, call: &mut Call<'_>) -> Flow {
    let named = cosid_keys::Named::of(row, call.args, call.thread.config().faces.keys_of("cosid"));
    let mut same = Call {
        args: named.args(),
        run: call.run,
        served: call.served,
        thread: call.thread,
        session: &mut *call.session,
        reply: &mut *call.reply,
    };
    let flow = run_as_it_is(Some(row), &mut same);
    call.served = same.served;
    flow
}

/// Existence, arity and rights first, in Redis's order.
#[inline]
fn run_as_it_is(row: Option<&'static CommandRow>, call: &mut Call<'_>) -> Flow {
    let row = match permitted(row, call) {
        Ok(row) => row,
        Err(refused) => {
            transactions::refused(row, call);
            return refused;
        }
    };
    match call.session.queue {
        Some(_) if !transactions::is_at_once(row) => transactions::keep(row, call),
        _ if matches!(row.access, ADMIN) => told_of(row, call),
        _ => (row.run)(call),
    }
}

/// The command, if it may be run like this; else its refusal.
#[inline]
fn permitted(
    row: Option<&'static CommandRow>,
    call: &mut Call<'_>,
) -> std::result::Result<&'static CommandRow, Flow> {
    let Some(row) = row else {
        (call.session.dialect.unknown)(call);
        return Err(Flow::Done);
    };
    // Not its arguments: AUTH has a secret there.
    tracing::debug!(peer = %call.session.peer, command = row.name, count = call.run, "request");
    if !fits(row.arity, call.args.len()) {
        match row.name {
            "exec" => call.reply.error(Code::InvalidArgument, transactions::EXEC_ARITY),
            name => drop((call.session.dialect.arity)(call, name)),
        }
        return Err(Flow::Done);
    }
    let tokens = call.thread.service().tokens();
    // Tokens may have changed since it showed one, or needed none.
    if call
        .session
        .identity
        .as_ref()
        .is_none_or(|identity| !tokens.holds(identity))
    {
        let shown = call
            .session
            .identity
            .take()
            .or_else(|| call.session.lapsed.take());
        call.session.identity = match shown {
            Some(identity) if tokens.holds(&identity) => Some(identity),
            lapsed => {
                call.session.lapsed = lapsed;
                call.before_a_word()
            }
        };
    }
    let allowed = match (row.access, &call.session.identity) {
        (Access::Open, _) | (Access::Known, Some(_)) => true,
        (_, None) => {
            call.reply.error(Code::Unauthenticated, NO_AUTH);
            return Err(Flow::Done);
        }
        (Access::With(right), Some(identity)) => may_with_its_keys(row, call, identity, right),
    };
    if !allowed {
        return Err(refuse_rights(row, call));
    }
    let limited = matches!(row.access, Access::With(_)) && call.thread.service().has_limits();
    match limited && !admitted(call) {
        true => Err(Flow::Done),
        false => Ok(row),
    }
}

/// Whether one more request may be answered; refused already if not.
#[cold]
fn admitted(call: &mut Call<'_>) -> bool {
    let Some(who) = &call.session.identity else {
        return true;
    };
    match call.thread.service().admit(who, call.session.peer) {
        Ok(()) => true,
        Err(error) => {
            call.reply.refuse(&error);
            false
        }
    }
}

/// Whether it may do this with every key that stands in the request. Keys of other systems are names only once they are
/// read: their faces ask for each.
#[inline]
fn may_with_its_keys(row: &CommandRow, call: &Call<'_>, identity: &Identity, right: Right) -> bool {
    let (dialect, config) = (call.session.dialect, call.thread.config());
    if identity.may(right, What::Everything) {
        return true;
    }
    if dialect.is_foreign() || row.keys == NO_KEYS {
        return dialect.allows(identity, right, What::Nothing, &config);
    }
    row.keys_of(call.args.len())
        .all(|at| identity.may(right, What::Named(call.args.at(at))))
}

/// Refuses; the audit trail is told of what would have changed something.
#[cold]
fn refuse_rights(row: &'static CommandRow, call: &mut Call<'_>) -> Flow {
    let Access::With(right) = row.access else {
        return Flow::Done;
    };
    // Counted for its token.
    let has_it = call.session.identity.as_ref().is_some_and(|identity| {
        drop(identity.check(right, What::Everything));
        identity.may(right, What::Nothing)
    });
    let name = row.name;
    let text = match has_it {
        true => NO_SUCH_KEYS.to_string(),
        false => format!("NOPERM this user has no permissions to run the '{name}' command"),
    };
    if right != Right::Admin || !call.thread.service().audit().is_on() {
        call.reply.error(Code::Forbidden, &text);
        return Flow::Done;
    }
    let act = act(row, call);
    call.later(|thread, mut reply| async move {
        audit::refused(thread.service(), act).await;
        reply.error(Code::Forbidden, &text);
        reply
    })
}

/// Runs a command that changes sequences, and has the audit trail and the log tell who did so.
#[cold]
fn told_of(row: &'static CommandRow, call: &mut Call<'_>) -> Flow {
    let (act, thread) = (act(row, call), Rc::clone(call.thread));
    let (what, mut blank) = (row.name, call.reply.detached());
    let before = std::mem::replace(call.reply, call.reply.detached());
    let flow = (row.run)(call);
    let at_once = std::mem::replace(call.reply, before);
    let doing: Later = match flow {
        // What changes something waits for it: this was refused as it was read.
        Flow::Done => Box::pin(async { at_once }),
        Flow::Wait(later) => later,
        flow => return flow,
    };
    Flow::Wait(Box::pin(async move {
        let (name, token, peer) = (act.names.join(" "), act.token.clone(), act.peer.clone());
        let reply = match audited(thread.service(), act, doing, Reply::refusal).await {
            Ok(reply) => reply,
            Err(error) => {
                blank.refuse(&error);
                blank
            }
        };
        // Nothing was changed by what is refused, finds nothing, or does not apply.
        let answers_old = what == "getset";
        let unchanged = reply.refusal().is_some()
            || !answers_old && UNCHANGED.contains(&reply.bytes())
            || !reply.changed();
        if !unchanged {
            tracing::info!(what, name, token, peer, "changed");
        }
        reply
    }))
}

/// What a command does, for the audit trail.
fn act(row: &'static CommandRow, call: &Call<'_>) -> Act {
    let (dialect, config) = (call.session.dialect, call.thread.config());
    let Asker { token, peer } = call.asker();
    Act {
        what: row.name,
        names: row
            .keys_of(call.args.len())
            .map(|at| dialect.name_of(call.args.at(at), &config))
            .collect(),
        token: token.into_owned(),
        peer: peer.to_string(),
        face: faces::name(call.session.face),
        with: None,
    }
}

/// The answers of `DEL` and `SET` that did nothing.
const UNCHANGED: [&[u8]; 3] = [b":0\r\n", b"$-1\r\n", b"_\r\n"];

/// Whether a number of arguments fits an arity.
fn fits(arity: i32, arguments: usize) -> bool {
    let arguments = arguments as i64;
    if arity < 0 {
        arguments >= -i64::from(arity)
    } else {
        arguments == i64::from(arity)
    }
}

#[cold]
fn refuse_unknown(call: &mut Call<'_>) -> Flow {
    let mut shown = String::new();
    for arg in call.args.from(1) {
        if shown.len() >= SHOWN_MAX {
            break;
        }
        let room = SHOWN_MAX - shown.len();
        shown.push_str(&format!(
            "'{}' ",
            String::from_utf8_lossy(&arg[..arg.len().min(room)])
        ));
    }
    let name = call.args.at(0);
    let name = String::from_utf8_lossy(&name[..name.len().min(SHOWN_MAX)]);
    let text = format!("ERR unknown command '{name}', with args beginning with: {shown}");
    call.error(Code::UnknownCommand, &text)
}

#[cold]
fn refuse_arity(call: &mut Call<'_>, name: &str) -> Flow {
    let text = format!("ERR wrong number of arguments for '{name}' command");
    call.error(Code::InvalidArgument, &text)
}

/// A subcommand: its name in lower case, arity with the command's name, one sentence, and what it does.
struct Subcommand {
    name: &'static str,
    arity: i32,
    summary: &'static str,
    run: fn(&mut Call<'_>) -> Flow,
}

/// Runs a subcommand, with Redis's refusals.
fn run_subcommand(call: &mut Call<'_>, command: &str, table: &'static [Subcommand]) -> Flow {
    if call.is(1, "help") {
        call.reply.array(table.len() + 1);
        call.reply.simple(&format!(
            "{} <subcommand> [<arg> ...]. Subcommands are:",
            command.to_uppercase()
        ));
        for row in table {
            call.reply
                .simple(&format!("{}: {}", row.name.to_uppercase(), row.summary));
        }
        return Flow::Done;
    }
    match find_subcommand(call, command, table) {
        Some(row) => (row.run)(call),
        None => Flow::Done,
    }
}

/// Finds a subcommand that takes so many arguments; `None`: refused already.
fn find_subcommand(
    call: &mut Call<'_>,
    command: &str,
    table: &'static [Subcommand],
) -> Option<&'static Subcommand> {
    let Some(row) = table.iter().find(|row| call.is(1, row.name)) else {
        let name = call.args.at(1);
        let name = String::from_utf8_lossy(&name[..name.len().min(SHOWN_MAX)]);
        let text = format!(
            "ERR unknown subcommand '{name}'. Try {} HELP.",
            command.to_uppercase()
        );
        call.error(Code::UnknownCommand, &text);
        return None;
    };
    if !fits(row.arity, call.args.len()) {
        refuse_arity(call, &format!("{command}|{}", row.name));
        return None;
    }
    Some(row)
}

/// Whether a request names no subcommand, or one that there is; else it is refused already.
fn is_known_subcommand(row: &CommandRow, call: &mut Call<'_>) -> bool {
    let table = match row.name {
        "client" => connection::CLIENT,
        "command" => server::COMMAND,
        "config" => server::CONFIG,
        "function" => scripts::FUNCTION,
        "script" => scripts::SCRIPT,
        "object" => tools::OBJECT,
        "memory" => tools::MEMORY,
        "latency" => tools::LATENCY,
        "slowlog" => tools::SLOWLOG,
        "module" => tools::MODULE,
        "acl" => tools::ACL,
        _ => return true,
    };
    call.args.len() == 1 || call.is(1, "help") || find_subcommand(call, row.name, table).is_some()
}

/// Reads `[COUNT n]` from argument `from` on; `None`: refused already.
fn count_option(call: &mut Call<'_>, from: usize) -> Option<Option<u64>> {
    match call.args.len() - from {
        0 => Some(None),
        2 if call.is(from, "count") => {
            let count = strict_integer(call.args.at(from + 1)).and_then(|n| u64::try_from(n).ok());
            match call.thread.count(count) {
                Ok(count) => Some(Some(count)),
                Err(error) => {
                    call.reply.refuse(&error);
                    None
                }
            }
        }
        _ => {
            call.syntax_error();
            None
        }
    }
}

/// Answers an error of a counter command: at a bound, Redis's own words.
fn refuse_counter(reply: &mut Reply, error: &ServiceError) {
    match error.code {
        Code::Exhausted => reply.error(error.code, "ERR increment or decrement would overflow"),
        _ => reply.refuse(error),
    }
}

const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
/// What Redis says where an ACL leaves a key out.
const NO_SUCH_KEYS: &str = "NOPERM this user has no permissions to access one of the keys used as arguments";
const NO_AUTH: &str = "NOAUTH Authentication required.";
const WRONG_PASS: &str = "WRONGPASS invalid username-password pair or user is disabled.";

/// How much of what a client sent is shown to it in an error.
const SHOWN_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_commands_are_documented_and_need_the_same_right() {
        let is_ours = |row: &&CommandRow| row.name.starts_with("mint.");
        for row in COMMANDS.iter().filter(is_ours) {
            let is_it = |usage: &str| {
                let name = usage.split(' ').next();
                name.is_some_and(|name| name.eq_ignore_ascii_case(row.name))
            };
            let operation = mintage_wire::OPERATIONS
                .iter()
                .find(|operation| operation.command.is_some_and(is_it));
            let of_session = mintage_wire::SESSION_COMMANDS
                .iter()
                .find(|known| is_it(known.command));
            let right = operation
                .and_then(|operation| operation.right)
                .or(of_session.map(|known| known.right));
            assert_eq!(right.map(Access::With), Some(row.access), "{}", row.name);
        }
    }

    #[test]
    fn names_are_unique_and_in_lower_case() {
        for (i, row) in COMMANDS.iter().enumerate() {
            assert_eq!(row.name, row.name.to_lowercase());
            assert!(
                COMMANDS[..i].iter().all(|other| other.name != row.name),
                "{}",
                row.name
            );
            assert!(std::ptr::eq(
                OURS.find(row.name.to_uppercase().as_bytes()).unwrap(),
                row
            ));
        }
    }

    #[test]
    fn arities_count_as_in_redis() {
        for (arity, arguments, fit) in [
            (2, 2, true),
            (2, 1, false),
            (2, 3, false),
            (-2, 2, true),
            (-2, 9, true),
            (-2, 1, false),
        ] {
            assert_eq!(fits(arity, arguments), fit, "{arity} {arguments}");
        }
    }
}
