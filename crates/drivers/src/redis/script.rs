//! The Lua scripts: how they are run and what they answer.

use std::sync::OnceLock;

use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, RedisError, ServerErrorKind};

use super::super::answered::{ANSWERS_ANOTHER, number_of_call};
use super::super::link::{Failure, InitRecord};
use super::super::{Key, StoreErrorKind, Value, Version, Versioned};

/// One script, and how the server calls it. The last argument is a number of the call's own, and its answer begins with
/// that: Redis numbers nothing itself, and where something in between repeats an answer, each that follows is taken for
/// the next one's.
pub(super) struct Script {
    text: &'static str,
    /// The server's name for the text, its SHA-1.
    sha: OnceLock<String>,
}

macro_rules! script {
    ($name:ident, $($file:literal),+) => {
        pub(super) static $name: Script = Script {
            text: concat!(
                "local function answer()\n",
                $(include_str!($file),)+
                "\nend\nreturn {ARGV[#ARGV], answer()}"
            ),
            sha: OnceLock::new(),
        };
    };
}

script!(GET, "head.lua", "get.lua");
script!(SET, "head.lua", "set.lua");
script!(CLAIM, "head.lua", "claim.lua");
script!(REMOVE, "head.lua", "remove.lua");
script!(SCAN, "head.lua", "scan.lua");
script!(RENAME, "head.lua", "rename.lua");
script!(INIT, "init.lua");

/// Makes the scripts known to the server, so that calls by SHA-1 find them. A server that does not let us is told
/// the text at the first call.
pub(super) async fn load(mut connection: MultiplexedConnection) -> Result<(), Failure> {
    let mut all = redis::pipe();
    for script in [&GET, &SET, &CLAIM, &REMOVE, &SCAN] {
        all.cmd("SCRIPT").arg("LOAD").arg(script.text).ignore();
    }
    let answer: Result<(), RedisError> = all.query_async(&mut connection).await;
    match answer.map_err(failure) {
        Ok(()) | Err(Failure::Refused(..)) => Ok(()),
        Err(failure) => Err(failure),
    }
}

/// What a script answers.
#[derive(Debug)]
pub(super) enum Answer {
    Stranger,
    Absent,
    Held(Versioned),
    Done,
    Page(Vec<(Key, Versioned)>),
    /// Of `mint init`.
    Made,
    There(Option<InitRecord>),
    Remains,
}

impl Script {
    /// Runs it by its SHA-1, by its text where the server does not know it: then it certainly did not run.
    pub(super) async fn run(
        &self,
        mut connection: MultiplexedConnection,
        keys: &[&str],
        args: Vec<Vec<u8>>,
    ) -> Result<Answer, Failure> {
        let number = number_of_call();
        let call = |how: &str, script: &str| {
            let mut command = redis::cmd(how);
            command.arg(script).arg(keys.len()).arg(keys);
            for arg in &args {
                command.arg(arg.as_slice());
            }
            command.arg(number);
            command
        };
        let sha = self.sha.get_or_init(|| sha1_hex(self.text));
        let mut answer = call("EVALSHA", sha).query_async(&mut connection).await;
        if let Err(error) = &answer
            && error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
        {
            answer = call("EVAL", self.text).query_async(&mut connection).await;
        }
        let (answered, parts): (u64, Vec<Vec<u8>>) = answer.map_err(failure)?;
        if answered != number {
            return Err(Failure::Lost(ANSWERS_ANOTHER.to_string()));
        }
        read(&parts).ok_or_else(|| {
            let shown: Vec<_> = parts.iter().map(|part| String::from_utf8_lossy(part)).collect();
            let shown: String = shown.join(" ").chars().take(200).collect();
            let why = format!("the record is not one of mint's: {shown}");
            // A script that wrote answers nothing but "done".
            Failure::Refused(StoreErrorKind::Corrupt, why)
        })
    }
}

fn sha1_hex(text: &str) -> String {
    use sha1::{Digest, Sha1};
    Sha1::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn read(parts: &[Vec<u8>]) -> Option<Answer> {
    let (verdict, rest) = parts.split_first()?;
    Some(match (verdict.as_slice(), rest) {
        (b"stranger", []) => Answer::Stranger,
        (b"absent", []) => Answer::Absent,
        (b"done", []) => Answer::Done,
        (b"held", [version, mark, token, body]) => Answer::Held(register(version, mark, token, body)?),
        (b"page", registers) => {
            let (registers, odd) = registers.as_chunks::<5>();
            if !odd.is_empty() {
                return None;
            }
            let page = registers.iter().map(|[name, version, mark, token, body]| {
                Some((Key::new(text(name)?).ok()?, register(version, mark, token, body)?))
            });
            Answer::Page(page.collect::<Option<_>>()?)
        }
        (b"made", []) => Answer::Made,
        (b"remains", []) => Answer::Remains,
        (b"there", [schema, id]) => Answer::There(meta(schema, id)),
        _ => return None,
    })
}

/// The record of `mint init` from its two fields.
pub(super) fn meta(schema: &[u8], id: &[u8]) -> Option<InitRecord> {
    Some(InitRecord {
        schema: text(schema)?.parse().ok()?,
        cluster_id: u128::from_str_radix(text(id)?, 16).ok()?,
    })
}

fn register(version: &[u8], mark: &[u8], token: &[u8], body: &[u8]) -> Option<Versioned> {
    let mark: u64 = text(mark)?.parse().ok()?;
    Some(Versioned {
        value: Value {
            mark: (mark <= i64::MAX as u64).then_some(mark)?,
            token: u128::from_str_radix(text(token)?, 16).ok()?,
            body: text(body)?.to_string(),
        },
        version: Version::of(text(version)?.parse().ok()?),
    })
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Judges an error of the driver: whether the server answered it, and whether the connection can go on.
pub(super) fn failure(error: RedisError) -> Failure {
    use ServerErrorKind as Server;
    let why = error.to_string();
    match error.kind() {
        // The server's own answers: our scripts write in one command, as their last step that can fail.
        ErrorKind::Server(Server::NoPerm) => Failure::Refused(StoreErrorKind::Denied, why),
        // A replica, or a server whose master is away: another connection may lead to the master.
        ErrorKind::Server(Server::ReadOnly | Server::MasterDown | Server::BusyLoading) => {
            Failure::Useless(StoreErrorKind::Unavailable, why)
        }
        // What a script may not do comes without a code of its own up to Redis 7.0.
        ErrorKind::Server(Server::ResponseError)
            if error
                .detail()
                .is_some_and(|text| text.contains("can't run this command")) =>
        {
            Failure::Refused(StoreErrorKind::Denied, why)
        }
        ErrorKind::Server(_) => Failure::Refused(StoreErrorKind::Unavailable, why),
        ErrorKind::Extension => match error.code() {
            Some("NOAUTH" | "WRONGPASS") => Failure::Useless(StoreErrorKind::Denied, why),
            Some("WRONGTYPE") => Failure::Refused(StoreErrorKind::Corrupt, why),
            _ => Failure::Refused(StoreErrorKind::Unavailable, why),
        },
        ErrorKind::AuthenticationFailed => {
            Failure::Useless(StoreErrorKind::Denied, "it refuses user or password".to_string())
        }
        ErrorKind::InvalidClientConfig => Failure::Useless(StoreErrorKind::Invalid, why),
        _ => Failure::Lost(why),
    }
}
