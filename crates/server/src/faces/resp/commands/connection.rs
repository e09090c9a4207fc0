//! PING, ECHO, SELECT, AUTH, HELLO, CLIENT, QUIT, RESET: the connection itself.

use super::{Call, Flow, Session, Subcommand, WRONG_PASS, run_subcommand};
use crate::error::{Code, ServiceError};
use crate::faces;
use crate::faces::resp::REDIS_VERSION;
use crate::faces::resp::frame::strict_integer;
use crate::kept::{Full, Heap};
use crate::transport::Endpoint;

/// `PING [text]`.
pub(super) fn ping(call: &mut Call<'_>) -> Flow {
    match call.args.len() {
        1 => call.reply.simple("PONG"),
        2 => call.reply.bulk(call.args.at(1)),
        _ => return super::refuse_arity(call, "ping"),
    }
    Flow::Done
}

/// `ECHO text`.
pub(super) fn echo(call: &mut Call<'_>) -> Flow {
    call.reply.bulk(call.args.at(1));
    Flow::Done
}

/// `SELECT 0`.
pub(super) fn select(call: &mut Call<'_>) -> Flow {
    match call.integer(1) {
        Some(0) => call.reply.simple("OK"),
        Some(_) => return call.error(Code::InvalidArgument, "ERR DB index is out of range"),
        None => {}
    }
    Flow::Done
}

/// `QUIT`.
pub(super) fn quit(call: &mut Call<'_>) -> Flow {
    call.reply.simple("OK");
    Flow::Close
}

/// `RESET`: version 2, no name, not authenticated.
pub(super) fn reset(call: &mut Call<'_>) -> Flow {
    call.session.name.clear();
    call.session.queue = None;
    call.session.identity = call.before_a_word();
    call.session.lapsed = None;
    call.session.taken.borrow_mut().clear();
    call.reply.set_resp3(false);
    call.reply.simple("RESET");
    Flow::Done
}

/// `AUTH [user] token`. The user's name is ignored: a token is enough.
pub(super) fn auth(call: &mut Call<'_>) -> Flow {
    let token = match call.args.len() {
        2 => call.args.at(1),
        3 => call.args.at(2),
        _ => return call.syntax_error(),
    };
    if !call.thread.service().tokens().required() {
        return match call.args.len() {
            2 => call.error(Code::InvalidArgument, NO_PASSWORD_CONFIGURED),
            _ if is_default_user(call.args.at(1)) => {
                call.reply.simple("OK");
                Flow::Done
            }
            _ => call.error(Code::WrongToken, WRONG_PASS),
        };
    }
    if !identify(call, token) {
        return refuse_token(call);
    }
    call.reply.simple("OK");
    Flow::Done
}

/// Whether this is the one user of a Redis without passwords, who may show any.
fn is_default_user(name: &[u8]) -> bool {
    name == b"default"
}

/// Answers a wrong token after a while; the connection stays as it was, until it has shown too many.
fn refuse_token(call: &mut Call<'_>) -> Flow {
    call.session.wrong_tokens += 1;
    let delay = call.thread.service().delay_of_wrong_token(call.session.peer);
    call.later(move |_, mut reply| async move {
        tokio::time::sleep(delay).await;
        reply.error(Code::WrongToken, WRONG_PASS);
        reply
    })
}

/// Takes a token for this connection; a wrong one leaves it as it was.
fn identify(call: &mut Call<'_>, token: &[u8]) -> bool {
    match call
        .thread
        .service()
        .tokens()
        .identify(token, faces::name(call.session.face))
    {
        Some(identity) => {
            tracing::debug!(token = identity.name(), peer = %call.session.peer, "authenticated");
            call.session.identity = Some(identity);
            true
        }
        None => false,
    }
}

/// `HELLO [2|3 [AUTH user token] [SETNAME name]]`.
pub(super) fn hello(call: &mut Call<'_>) -> Flow {
    let mut resp3 = call.reply.resp3();
    if call.args.len() > 1 {
        resp3 = match strict_integer(call.args.at(1)) {
            Some(2) => false,
            Some(3) => true,
            Some(_) => return call.error(Code::InvalidArgument, "NOPROTO unsupported protocol version"),
            None => {
                return call.error(
                    Code::InvalidArgument,
                    "ERR Protocol version is not an integer or out of range",
                );
            }
        };
    }
    let mut name = None;
    let mut i = 2;
    while i < call.args.len() {
        let after = call.args.len() - i - 1;
        if call.is(i, "auth") && after >= 2 {
            let token = call.args.at(i + 2);
            if !call.thread.service().tokens().required() {
                if !is_default_user(call.args.at(i + 1)) {
                    return call.error(Code::WrongToken, WRONG_PASS);
                }
            } else if !identify(call, token) {
                return refuse_token(call);
            }
            i += 3;
        } else if call.is(i, "setname") && after >= 1 {
            match client_name(call.args.at(i + 1)) {
                Some(text) => name = Some(text),
                None => return call.error(Code::InvalidArgument, BAD_CLIENT_NAME),
            }
            i += 2;
        } else {
            let option = String::from_utf8_lossy(call.args.at(i)).into_owned();
            let text = format!("ERR Syntax error in HELLO option '{option}'");
            return call.error(Code::InvalidArgument, &text);
        }
    }
    if call.session.identity.is_none() {
        return call.error(Code::Unauthenticated, NO_AUTH_HELLO);
    }
    if let Some(name) = name
        && let Err(full) = say(call.session, |session| &mut session.name, name)
    {
        return refuse_full(call, full);
    }
    call.reply.set_resp3(resp3);
    describe(call, resp3);
    Flow::Done
}

fn describe(call: &mut Call<'_>, resp3: bool) {
    let id = i64::try_from(call.session.id).unwrap_or(i64::MAX);
    let reply = &mut *call.reply;
    reply.map(7);
    reply.bulk(b"server");
    reply.bulk(b"mint");
    reply.bulk(b"version");
    reply.bulk(REDIS_VERSION.as_bytes());
    reply.bulk(b"proto");
    reply.integer(if resp3 { 3 } else { 2 });
    reply.bulk(b"id");
    reply.integer(id);
    reply.bulk(b"mode");
    reply.bulk(b"standalone");
    reply.bulk(b"role");
    reply.bulk(b"master");
    reply.bulk(b"modules");
    reply.array(0);
}

/// `CLIENT …`.
pub(super) fn client(call: &mut Call<'_>) -> Flow {
    run_subcommand(call, "client", CLIENT)
}

pub(super) static CLIENT: &[Subcommand] = &[
    Subcommand {
        name: "id",
        arity: 2,
        summary: "the connection's number",
        run: client_id,
    },
    Subcommand {
        name: "getname",
        arity: 2,
        summary: "the connection's name",
        run: client_getname,
    },
    Subcommand {
        name: "setname",
        arity: 3,
        summary: "names the connection",
        run: client_setname,
    },
    Subcommand {
        name: "setinfo",
        arity: 4,
        summary: "notes LIB-NAME or LIB-VER",
        run: client_setinfo,
    },
    Subcommand {
        name: "info",
        arity: 2,
        summary: "describes the connection",
        run: client_info,
    },
    Subcommand {
        name: "list",
        arity: -2,
        summary: "describes this connection; others are in the metrics",
        run: client_info,
    },
    Subcommand {
        name: "getredir",
        arity: 2,
        summary: "-1: nothing is tracked",
        run: client_getredir,
    },
    Subcommand {
        name: "tracking",
        arity: -3,
        summary: "OFF; ON is refused, since numbers change with every request",
        run: client_tracking,
    },
    Subcommand {
        name: "no-evict",
        arity: 3,
        summary: "ON or OFF; connections are never evicted",
        run: client_switch,
    },
    Subcommand {
        name: "no-touch",
        arity: 3,
        summary: "ON or OFF; nothing is touched",
        run: client_switch,
    },
];

fn client_id(call: &mut Call<'_>) -> Flow {
    call.reply
        .integer(i64::try_from(call.session.id).unwrap_or(i64::MAX));
    Flow::Done
}

/// Keeps what a client says of itself in its place; where that is too much, what stood there stays.
fn say(session: &mut Session, place: fn(&mut Session) -> &mut String, text: String) -> Result<(), Full> {
    let before = std::mem::replace(place(session), text);
    let bytes = session.name.heap() + session.library[0].heap() + session.library[1].heap();
    let kept = session.said.become_so_many(bytes);
    if kept.is_err() {
        *place(session) = before;
    }
    kept
}

#[cold]
fn refuse_full(call: &mut Call<'_>, full: Full) -> Flow {
    let error = ServiceError::new(full.code(), full.message()).with_hint(full.hint());
    call.reply.refuse(&error);
    Flow::Done
}

fn client_getname(call: &mut Call<'_>) -> Flow {
    if call.session.name.is_empty() {
        call.reply.null();
    } else {
        call.reply.bulk(call.session.name.as_bytes());
    }
    Flow::Done
}

fn client_setname(call: &mut Call<'_>) -> Flow {
    match client_name(call.args.at(2)) {
        Some(name) => {
            if let Err(full) = say(call.session, |session| &mut session.name, name) {
                return refuse_full(call, full);
            }
        }
        None => return call.error(Code::InvalidArgument, BAD_CLIENT_NAME),
    }
    call.reply.simple("OK");
    Flow::Done
}

fn client_setinfo(call: &mut Call<'_>) -> Flow {
    let slot = match () {
        () if call.is(2, "lib-name") => 0,
        () if call.is(2, "lib-ver") => 1,
        () => {
            let option = String::from_utf8_lossy(call.args.at(2)).into_owned();
            return call.error(
                Code::InvalidArgument,
                &format!("ERR Unrecognized option '{option}'"),
            );
        }
    };
    let Some(text) = client_name(call.args.at(3)) else {
        let option = String::from_utf8_lossy(call.args.at(2)).to_lowercase();
        let text = format!("ERR {option} cannot contain spaces, newlines or special characters.");
        return call.error(Code::InvalidArgument, &text);
    };
    let said = match slot {
        0 => say(call.session, |session| &mut session.library[0], text),
        _ => say(call.session, |session| &mut session.library[1], text),
    };
    if let Err(full) = said {
        return refuse_full(call, full);
    }
    call.reply.simple("OK");
    Flow::Done
}

fn client_info(call: &mut Call<'_>) -> Flow {
    let session = &*call.session;
    let age = mintage::boottime()
        .saturating_sub(session.since_boottime)
        .as_secs();
    let user = session.identity.as_ref().map_or("", |identity| identity.name());
    // As Redis writes both ends of a unix socket.
    let of_unix = match &session.local {
        Some(Endpoint::Unix(path)) => Some(format!("{}:0", path.display())),
        _ => None,
    };
    let text = format!(
        "id={} addr={} laddr={} name={} age={age} flags=N db=0 sub=0 psub=0 multi=-1 cmd=client|info user={user} resp={} lib-name={} lib-ver={}\n",
        session.id,
        of_unix.clone().unwrap_or_else(|| session.peer.to_string()),
        of_unix.unwrap_or_else(|| session.local.as_ref().map_or(String::new(), Endpoint::to_string)),
        session.name,
        if call.reply.resp3() { 3 } else { 2 },
        session.library[0],
        session.library[1],
    );
    call.reply.text(&text);
    Flow::Done
}

fn client_getredir(call: &mut Call<'_>) -> Flow {
    call.reply.integer(-1);
    Flow::Done
}

fn client_tracking(call: &mut Call<'_>) -> Flow {
    match () {
        () if call.is(2, "off") => call.reply.simple("OK"),
        () if call.is(2, "on") => {
            let why = "a number that a client keeps is behind with the next request";
            let error =
                ServiceError::new(Code::UnknownCommand, why).with_hint("switch client-side caching off");
            call.reply.refuse(&error);
        }
        () => return call.syntax_error(),
    }
    Flow::Done
}

fn client_switch(call: &mut Call<'_>) -> Flow {
    if !call.is(2, "on") && !call.is(2, "off") {
        return call.syntax_error();
    }
    call.reply.simple("OK");
    Flow::Done
}

/// A name that can stand in `CLIENT INFO`: printable, no spaces; empty takes it away.
fn client_name(bytes: &[u8]) -> Option<String> {
    bytes
        .iter()
        .all(u8::is_ascii_graphic)
        .then(|| String::from_utf8_lossy(bytes).into_owned())
}

const BAD_CLIENT_NAME: &str = "ERR Client names cannot contain spaces, newlines or special characters.";
const NO_PASSWORD_CONFIGURED: &str = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?";
const NO_AUTH_HELLO: &str = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time";
