//! Keys of Redis and Valkey that `INCR` counts in.
//!
//! | file | what |
//! | --- | --- |
//! | `keys` | keys of any bytes as text |
//! | `script` | the Lua scripts and what they answer |
//! | `held` | what one key holds, as read without a script |
//!
//! A counter is a string without expiry that is a whole number of 64 bits as INCR writes it; its value is the last number
//! that was given out. Counters that go down (`DECR`) look the same and cannot be told apart: they are not for this source.
//!
//! **The fence is a hash in the key's place**, made by one script: `moved_to` mint, `move` the move's id, `last` the last
//! number, `at` the time in milliseconds. INCR then answers WRONGTYPE. The number stays a text from end to end, since Lua's
//! own numbers round above 2^53; `last` and not the mark is kept, so that no script has to add. The key is never absent:
//! INCR would begin at 1. A plain `SET` of an old client still overwrites the hash, and nothing is left of it then:
//! [`Source::check`] calls the fence broken if the number is smaller than before the move, and says [`Fence::None`] if it is
//! not, which whoever knows of the fence has to take for broken as well.
//!
//! A node of a cluster and a replica are refused: what they acknowledge is lost with the next that takes over.

mod held;
mod keys;
mod script;

use std::fmt;
use std::sync::Arc;

use mintage::Run;
use redis::Pipeline;

use self::held::Held;
use self::keys::{key_of, scan_glob, text_of};
use self::script::{Answer, CUT, LIFT, MAY, Script, TAKE};
use super::kind::Place;
use super::redis_keys::{self, cosid_segment};
use super::{
    Counter, Engine, Fence, Fenced, KEYS_MAX, Listed, Note, Source, SourceError, SourceErrorKind, SourceKind,
    SourceResult, SourceSettings, Wanted, Way,
};
use crate::store::redis::PlainRedis;
use crate::store::{Durability, Outcome};

/// How many keys are asked for and looked at in one round trip.
const PAGE: usize = 500;

/// The most numbers that one take asks for.
const TAKE_MAX: u64 = 1 << 32;

/// The face whose clients ask for segments of CosId.
const COSID: &str = "cosid";

/// What a note remembers.
const BEFORE: &str = "value";

pub(super) const REDIS: SourceKind = SourceKind {
    name: "redis",
    engine: Engine::Redis,
    example: "redis://ann@db/0",
    summary: "keys that INCR counts in",
    is_found: true,
    has_ceiling: false,
    has_beside: true,
    open,
};

fn open(place: &Place, settings: &SourceSettings) -> Result<Arc<dyn Source>, SourceError> {
    match place {
        Place::Redis(scheme, rest, runtime) => Ok(Arc::new(RedisKeys {
            redis: PlainRedis::new(scheme, rest, &settings.store, runtime.clone())?,
            keys_max: settings.keys_max.unwrap_or(KEYS_MAX),
        })),
        #[allow(unreachable_patterns, reason = "a build may have no other engine")]
        _ => Err(SourceError::new(
            SourceErrorKind::Invalid,
            "keys of Redis live in Redis",
        )),
    }
}

/// The counters among the keys of one database.
pub(super) struct RedisKeys {
    redis: PlainRedis,
    keys_max: u64,
}

impl fmt::Debug for RedisKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisKeys({})", self.redis.place())
    }
}

impl RedisKeys {
    fn error(&self, kind: SourceErrorKind, why: &str) -> SourceError {
        SourceError::new(kind, format!("{}: {why}", self.redis.place()))
    }

    fn key(&self, key: &str) -> Result<Vec<u8>, SourceError> {
        key_of(key).map_err(|why| self.error(SourceErrorKind::Invalid, &why))
    }

    /// Runs a script over one key.
    async fn run(
        &self,
        what: &str,
        script: &Script,
        key: &str,
        args: &[&[u8]],
    ) -> Result<Answer, SourceError> {
        let call = script.call(&self.key(key)?, args);
        let what = format!("{what} {}", shown(key));
        let mut answers = self.redis.ask(&what, call, Outcome::Unknown).await?;
        let answer = match answers.pop() {
            Some(Ok(answer)) => Answer::parse(&answer),
            Some(Err(error)) => {
                let error = held::redirected(&error).unwrap_or(error);
                let error = SourceError::from(self.redis.refused(&what, error));
                return Err(self.advised(key, error));
            }
            None => None,
        };
        match answer {
            Some(Answer::Denied(why)) => {
                let error = self.error(SourceErrorKind::Denied, &format!("{what}: {why}"));
                Err(self.advised(key, error))
            }
            Some(answer) => Ok(answer),
            None => Err(self
                .error(
                    SourceErrorKind::Refused,
                    &format!("{what}: the script's answer makes no sense"),
                )
                .unknown()),
        }
    }

    /// Adds to a refusal for want of rights what would allow it.
    fn advised(&self, key: &str, error: SourceError) -> SourceError {
        match error.kind {
            SourceErrorKind::Denied => error.with_fix(self.grant(key)),
            _ => error,
        }
    }

    /// What lets the account cut, take from and give back a counter.
    fn grant(&self, key: &str) -> String {
        format!(
            "ACL SETUSER {} ~{} +ping +info +config|get +scan +type +strlen +get +getrange +pttl +hmget +eval +hset +del \
             +set +incrby",
            self.redis.account(),
            acl_pattern(key),
        )
    }

    fn gone(&self, key: &str) -> SourceError {
        self.error(SourceErrorKind::Gone, &format!("no counter {}", shown(key)))
    }

    /// The error of an answer that a call has no use for.
    fn unfit(&self, key: &str, answer: Answer) -> SourceError {
        let key = shown(key);
        match answer {
            Answer::Other(what) if what == "none" => self.error(
                SourceErrorKind::Gone,
                &format!("no counter {key}: the key is not there, and INCR would begin at 1"),
            ),
            Answer::Other(what) => self.error(
                SourceErrorKind::Refused,
                &format!("{key} is no counter but a {what}: a string that is a whole number and does not expire is one"),
            ),
            Answer::Fenced(id, _) => self.error(
                SourceErrorKind::Foreign,
                &format!("{key} was fenced by another move {id}: that one has to end it or take it back"),
            ),
            other => self
                .error(
                    SourceErrorKind::Refused,
                    &format!("{key}: the script answered {other:?}"),
                )
                .unknown(),
        }
    }

    fn number(&self, key: &str, text: &str) -> Result<i64, SourceError> {
        text.parse().map_err(|_| {
            self.error(
                SourceErrorKind::Foreign,
                &format!("{} holds {text:?}, which is no number of 64 bits", shown(key)),
            )
        })
    }

    async fn take_now(&self, key: &str, n: u64) -> Result<Vec<Run>, SourceError> {
        let mut count = n.clamp(1, TAKE_MAX);
        // Once more for what is left where there are not so many; somebody may take of that meanwhile.
        for _ in 0..3 {
            let asked = count.to_string();
            match self.run("take from", &TAKE, key, &[asked.as_bytes()]).await? {
                Answer::Done(value) => {
                    let last = self.number(key, &value).map_err(SourceError::unknown)?;
                    return Ok(vec![Run {
                        first: last.wrapping_sub_unsigned(count - 1),
                        step: 1,
                        count,
                    }]);
                }
                Answer::Ended(value) => {
                    let left = i64::MAX.abs_diff(self.number(key, &value)?);
                    if left == 0 {
                        return Err(self.error(
                            SourceErrorKind::Exhausted,
                            &format!("{} has no further number", shown(key)),
                        ));
                    }
                    count = count.min(left);
                }
                Answer::Fenced(..) => {
                    return Err(self.error(
                        SourceErrorKind::Refused,
                        &format!(
                            "{} was moved: a fence stands there, and nothing can be taken",
                            shown(key)
                        ),
                    ));
                }
                other => return Err(self.unfit(key, other)),
            }
        }
        Err(self.error(
            SourceErrorKind::Unavailable,
            &format!("{} changes too fast near its end", shown(key)),
        ))
    }

    async fn fence_now(&self, key: &str, way: Way, note: &Note) -> Result<Fenced, SourceError> {
        if let Way::Ceiling(_) = way {
            let why = "a key of Redis takes no ceiling: cut it, or take beside it and cut later";
            return Err(self.error(SourceErrorKind::Refused, why));
        }
        let id = note.id.to_string();
        let at = self.redis.runtime().wall().unix_millis().to_string();
        let last = match self
            .run("fence of", &CUT, key, &[id.as_bytes(), at.as_bytes()])
            .await?
        {
            Answer::Done(last) => last,
            Answer::Fenced(of, last) if of == id => last,
            other => return Err(self.unfit(key, other)),
        };
        Ok(Fenced {
            mark: i128::from(self.number(key, &last)?) + 1,
        })
    }

    async fn lift_now(&self, key: &str, note: &Note, issued: Option<i64>) -> Result<(), SourceError> {
        let id = note.id.to_string();
        let last = match self.held(key).await? {
            Held::Moved { id: of, last } if of == note.id => last,
            Held::Moved { id, last } => {
                return Err(self.unfit(key, Answer::Fenced(id.to_string(), last.to_string())));
            }
            Held::Number(value) => return self.already_lifted(key, value, issued),
            Held::Absent => return Err(self.unfit(key, Answer::Other("none".into()))),
            Held::Other(what) => return Err(self.unfit(key, Answer::Other(what))),
        };
        let number = issued.map_or(last, |issued| issued.max(last)).to_string();
        let last = last.to_string();
        let args = [id.as_bytes(), last.as_bytes(), number.as_bytes()];
        match self.run("lift of the fence of", &LIFT, key, &args).await? {
            Answer::Done(_) => Ok(()),
            // The same lift, run twice at once.
            Answer::Serves(value) => self.already_lifted(key, self.number(key, &value)?, issued),
            other => Err(self.unfit(key, other)),
        }
    }

    /// A lift that finds no fence: right if the counter stands above what was issued.
    fn already_lifted(&self, key: &str, value: i64, issued: Option<i64>) -> Result<(), SourceError> {
        match issued {
            Some(issued) if value < issued => Err(self
                .error(
                    SourceErrorKind::Foreign,
                    &format!(
                        "no fence stands at {}, and it would give out {issued} again, which was given out here",
                        shown(key)
                    ),
                )
                .with_fix(format!("SET {} {issued}", shown(key)))),
            _ => Ok(()),
        }
    }

    async fn check_now(&self, key: &str, note: &Note) -> Result<Fence, SourceError> {
        let before: Option<i64> = note.before.get(BEFORE).and_then(|value| value.parse().ok());
        let broken = |why: String| Fence::Broken { id: None, why };
        Ok(match (self.held(key).await?, before) {
            (Held::Number(value), Some(before)) if value < before => broken(format!(
                "the key holds {value}, and held {before} before the move: a client has SET it"
            )),
            (Held::Absent, Some(_)) => broken("the key is not there: INCR begins at 1".to_string()),
            (Held::Other(what), Some(_)) => broken(format!("the key is a {what}")),
            (held, _) => held.fence(),
        })
    }

    async fn look_now(&self, key: &str) -> Result<Option<Counter>, SourceError> {
        Ok(self.show(key.to_string(), &self.held(key).await?))
    }

    /// What callers see of a key; `None`: no counter. What other systems lease workers by is shown with the reason why it is
    /// none, whatever its type.
    fn show(&self, key: String, held: &Held) -> Option<Counter> {
        let no_counter = redis_keys::no_counter(&key, &self.redis.place());
        let last = match held {
            Held::Number(last) | Held::Moved { last, .. } => Some(*last),
            Held::Other(_) if no_counter.is_some() => None,
            Held::Absent | Held::Other(_) => return None,
        };
        let mark = last.map(|last| i128::from(last) + 1);
        let bytes = key_of(&key).unwrap_or_default();
        let segment = cosid_segment(&bytes);
        let face = segment.map(|_| COSID);
        let called = String::from_utf8(segment.unwrap_or(&bytes).to_vec()).ok();
        let called = called.filter(|called| *called != key);
        let before = last.map(|last| (BEFORE.to_string(), last.to_string()));
        Some(Counter {
            face,
            called,
            no_counter,
            mark,
            min: mark.map_or(1, |mark| mark.min(1)),
            type_name: "string".into(),
            fence: held.fence(),
            before: before.into_iter().collect(),
            ..Counter::new(REDIS.name, key)
        })
    }

    async fn held(&self, key: &str) -> Result<Held, SourceError> {
        let what = format!("look at {}", shown(key));
        let commands = held::commands([self.key(key)?.as_slice()]);
        let answers = self.redis.ask(&what, commands, Outcome::NotDone).await?;
        match Held::parse(&answers) {
            Ok(held) => Ok(held),
            Err(error) => {
                let error = SourceError::from(self.redis.refused(&what, error));
                Err(self.advised(key, error))
            }
        }
    }

    async fn list_now(&self, wanted: &Wanted) -> Result<Listed, SourceError> {
        let mut listed = Listed::default();
        // SCAN may show a key twice.
        let mut counters = std::collections::BTreeMap::new();
        let (mut cursor, mut seen) = (b"0".to_vec(), 0u64);
        loop {
            let (next, keys) = self.scan(&cursor, wanted).await?;
            seen += keys.len() as u64;
            for keys in keys.chunks(PAGE) {
                self.look_at(keys, wanted, &mut counters, &mut listed.failed)
                    .await?;
            }
            if next == b"0" {
                break;
            }
            if seen >= self.keys_max {
                listed.failed.push(format!(
                    "more than {} keys: the others were not looked at; name those that count with --match",
                    self.keys_max
                ));
                break;
            }
            cursor = next;
        }
        listed.counters = counters.into_values().collect();
        Ok(listed)
    }

    /// Some keys, and where the next are.
    async fn scan(&self, cursor: &[u8], wanted: &Wanted) -> Result<(Vec<u8>, Vec<Vec<u8>>), SourceError> {
        let what = "list of keys";
        let mut commands = Pipeline::new();
        let call = commands.cmd("SCAN").arg(cursor);
        // Several globs need several scans, or one over everything; a scan is the dear part.
        if let [glob] = wanted.matching.as_slice() {
            call.arg("MATCH").arg(scan_glob(glob));
        }
        call.arg("COUNT")
            .arg(PAGE.min(usize::try_from(self.keys_max).unwrap_or(PAGE)).max(1));
        let mut answers = self.redis.ask(what, commands, Outcome::NotDone).await?;
        match answers
            .pop()
            .map(|answer| answer.and_then(|value| Ok(redis::from_redis_value(value)?)))
        {
            Some(Ok(page)) => Ok(page),
            Some(Err(error)) => {
                let error = SourceError::from(self.redis.refused(what, error));
                Err(self.advised("*", error))
            }
            None => Err(self.error(SourceErrorKind::Refused, "SCAN answered nothing")),
        }
    }

    async fn look_at(
        &self,
        keys: &[Vec<u8>],
        wanted: &Wanted,
        counters: &mut std::collections::BTreeMap<String, Counter>,
        failed: &mut Vec<String>,
    ) -> Result<(), SourceError> {
        let names = keys.iter().map(|key| (text_of(key), key));
        let keys: Vec<(String, &Vec<u8>)> = names.filter(|(name, _)| wanted.is_of(name)).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let what = "look at keys";
        let commands = held::commands(keys.iter().map(|(_, key)| key.as_slice()));
        let answers = self.redis.ask(what, commands, Outcome::NotDone).await?;
        for ((name, _), answers) in keys.into_iter().zip(answers.chunks(held::COMMANDS)) {
            match Held::parse(answers) {
                Ok(held) => {
                    if let Some(counter) = self.show(name.clone(), &held) {
                        counters.insert(name, counter);
                    }
                }
                // An account may see only some keys; a million refusals say no more than some.
                Err(error) if failed.len() < PAGE => {
                    failed.push(format!("{}: {}", shown(&name), self.redis.refused(what, error)));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    async fn rights_now(&self, key: &str, way: Way) -> Result<Vec<String>, SourceError> {
        let what: &[u8] = match way {
            Way::Beside => b"INCRBY",
            _ => b"HSET",
        };
        match self.run("rights on", &MAY, key, &[what]).await {
            Ok(Answer::Done(_) | Answer::Fenced(..)) => Ok(Vec::new()),
            Ok(Answer::Other(what)) if what == "none" => Err(self.gone(key)),
            Ok(other) => Err(self.unfit(key, other)),
            Err(error) if error.kind == SourceErrorKind::Denied => Ok(error.fix.into_iter().collect()),
            Err(error) => Err(error),
        }
    }
}

/// A key for messages: short enough for a line.
fn shown(key: &str) -> String {
    match key.char_indices().nth(80) {
        Some((at, _)) => format!("{}…", &key[..at]),
        None => key.to_string(),
    }
}

/// A key as a pattern of ACL that means it alone, where that can be typed.
fn acl_pattern(key: &str) -> String {
    let mut pattern = String::new();
    for c in key.chars() {
        match c {
            // No blank can stand in a pattern of an ACL file.
            ' ' => pattern.push('?'),
            '[' | ']' | '?' | '\\' => {
                pattern.push('\\');
                pattern.push(c);
            }
            c => pattern.push(c),
        }
    }
    pattern
}

impl Source for RedisKeys {
    fn kind(&self) -> &'static SourceKind {
        &REDIS
    }

    fn place(&self) -> String {
        self.redis.place()
    }

    fn durability(&self) -> SourceResult<'_, Durability> {
        Box::pin(async move { Ok(self.redis.durability().await?) })
    }

    fn list<'a>(&'a self, wanted: &'a Wanted) -> SourceResult<'a, Listed> {
        Box::pin(self.list_now(wanted))
    }

    fn look<'a>(&'a self, key: &'a str) -> SourceResult<'a, Option<Counter>> {
        Box::pin(self.look_now(key))
    }

    fn take<'a>(&'a self, key: &'a str, n: u64) -> SourceResult<'a, Vec<Run>> {
        Box::pin(self.take_now(key, n))
    }

    fn fence<'a>(&'a self, key: &'a str, way: Way, note: &'a Note) -> SourceResult<'a, Fenced> {
        Box::pin(self.fence_now(key, way, note))
    }

    fn lift<'a>(&'a self, key: &'a str, note: &'a Note, issued: Option<i64>) -> SourceResult<'a, ()> {
        Box::pin(self.lift_now(key, note, issued))
    }

    fn check<'a>(&'a self, key: &'a str, note: &'a Note) -> SourceResult<'a, Fence> {
        Box::pin(self.check_now(key, note))
    }

    fn statements(&self, counter: &Counter, way: Way) -> Vec<String> {
        let key = &counter.key;
        match way {
            Way::Beside => vec![format!("INCRBY {key} n")],
            _ => vec![format!(
                "EVAL: DEL {key}; HSET {key} moved_to mint move MOVE-ID last VALUE at TIME"
            )],
        }
    }

    fn rights<'a>(&'a self, key: &'a str, way: Way) -> SourceResult<'a, Vec<String>> {
        Box::pin(self.rights_now(key, way))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_acl_mean_the_key_alone() {
        assert_eq!(acl_pattern("orders"), "orders");
        assert_eq!(acl_pattern("a b[c]?"), "a?b\\[c\\]\\?");
        assert_eq!(acl_pattern("*"), "*");
    }

    #[test]
    fn long_keys_are_cut_for_messages() {
        assert_eq!(shown("orders"), "orders");
        assert_eq!(shown(&"é".repeat(100)).chars().count(), 81);
    }
}
