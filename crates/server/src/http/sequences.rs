//! `/v1/sequences…`

use std::rc::Rc;
use std::sync::Arc;

use hyper::StatusCode;
use mintage::{Base, Run, SequenceOptions};
use mintage_ledger::{Gap, RestartAt, SequencePatch, SequenceSpec};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use serde_json::json;

use super::answer::Response;
use super::document::{invalid, parse};
use super::head::{Head, Media};
use super::request::Query;
use crate::error::{Code, ServiceError};
use crate::noise::Asker;
use crate::render;
use crate::service::{Answer, Service, Worker, from_ledger};
use crate::turn::Turn;

/// `POST …/next?count=N&as=ids|range`
pub(super) async fn next(
    worker: &Rc<Worker>,
    head: &Head<'_>,
    query: &Query<'_>,
    name: &[u8],
    by: &Asker,
) -> Answer<Response> {
    query.only(&["count", "as"])?;
    let media = head.media()?;
    let count = query.count(worker)?;
    match query.get("as")?.as_deref() {
        None | Some(b"ids") => next_ids(worker, media, count, name, by).await,
        Some(b"range") => next_range(worker, media, count, name, by).await,
        Some(other) => {
            let shown = String::from_utf8_lossy(other);
            Err(ServiceError::new(
                Code::InvalidArgument,
                format!("as={shown} is neither ids nor range"),
            ))
        }
    }
}

async fn next_ids(
    worker: &Rc<Worker>,
    media: Media,
    count: u64,
    name: &[u8],
    by: &Asker,
) -> Answer<Response> {
    let mut list = IdList::new(media, count);
    // From stock without a wait where it lasts; the rest, if any, through the store.
    let mut left = count;
    let mut turn = None;
    while left > 0 {
        let part = left.min(worker.config().turn_ids);
        if let Some(run) = worker.try_take(name, part) {
            left -= run.count;
            list.push_run(run);
        } else {
            worker.take(name, part, by, |run| list.push_run(run)).await?;
            left -= part;
        }
        if left > 0 {
            let turn = turn.get_or_insert_with(|| Turn::begin(worker));
            turn.give_way_if_over().await;
        }
    }
    let cycling = worker.is_cycling(name);
    Ok(marked(Response::ids(media, list.finish(cycling)), cycling))
}

async fn next_range(
    worker: &Rc<Worker>,
    media: Media,
    count: u64,
    name: &[u8],
    by: &Asker,
) -> Answer<Response> {
    if media != Media::Json {
        return Err(ServiceError::new(
            Code::NotAcceptable,
            "a range is answered as application/json only",
        ));
    }
    let (run, sequence) = worker.take_contiguous(name, count, by).await?;
    let mut document = json!({
        "first": run.first.to_string(),
        "last": run.last().to_string(),
        "increment": run.step.to_string(),
    });
    let cycling = sequence.is_cycling();
    if cycling {
        document["cycle"] = json!(true);
    }
    Ok(marked(Response::json(StatusCode::OK, &document), cycling))
}

/// Numbers of a cycling sequence repeat by definition: every answer says so.
fn marked(mut response: Response, cycling: bool) -> Response {
    if cycling {
        response.add(CYCLE_HEADER, "true");
    }
    response
}

/// `GET /v1/sequences?prefix=BEGINNING&after=NAME&limit=N`
pub(super) async fn list(worker: &Rc<Worker>, query: &Query<'_>) -> Answer<Response> {
    query.only(&["prefix", "after", "limit"])?;
    let (prefix, after) = (query.name("prefix", worker)?, query.name("after", worker)?);
    let limit = query.limit()?;
    let list = |service: Arc<Service>| async move {
        let found = service
            .ledger()
            .list_of(prefix.as_ref(), after.as_ref(), limit)
            .await;
        let found = found.map_err(from_ledger)?;
        let next = found
            .last()
            .filter(|_| found.len() == usize::from(limit))
            .map(|info| info.name.to_string());
        let sequences: Vec<_> = found.iter().map(render::sequence).collect();
        Ok(Response::json(
            StatusCode::OK,
            &json!({ "sequences": sequences, "next": next }),
        ))
    };
    worker.service().aside(list).await
}

/// `GET /v1/sequences/{name}`
pub(super) async fn show(worker: &Rc<Worker>, name: &[u8]) -> Answer<Response> {
    let name = worker.service().name(name)?;
    let info = worker.service().show(&name).await?;
    Ok(Response::json(StatusCode::OK, &render::sequence(&info)))
}

/// `PUT /v1/sequences/{name}`
pub(super) async fn create(worker: &Rc<Worker>, name: &[u8], body: &[u8]) -> Answer<Response> {
    let name = worker.service().name(name)?;
    let definition: Definition = parse(body)?;
    if definition.allow_repeat.is_some() || definition.restart.is_some() {
        return Err(invalid(
            "allow_repeat and restart belong to changes, not to a creation",
        ));
    }
    let spec = SequenceSpec {
        options: definition.options(),
        gap: definition.gap()?.unwrap_or_default(),
        max_gap: definition.max_gap()?,
    };
    let (info, made) = worker.service().create(&name, &spec).await?;
    let shown = render::sequence(&info);
    Ok(match made {
        true => Response::created(&["sequences", name.as_str()], &shown),
        false => Response::json(StatusCode::OK, &shown),
    })
}

/// `PATCH /v1/sequences/{name}`
pub(super) async fn alter(worker: &Rc<Worker>, name: &[u8], body: &[u8]) -> Answer<Response> {
    let name = worker.service().name(name)?;
    let definition: Definition = parse(body)?;
    let patch = SequencePatch {
        options: definition.options(),
        gap: definition.gap()?,
        max_gap: definition.max_gap()?,
        allow_repeat: definition.allow_repeat.unwrap_or(false),
        restart: definition.restart()?,
    };
    let changed = worker.service().alter(&name, &patch).await?;
    Ok(Response::json(StatusCode::OK, &render::changed(&changed)))
}

/// `DELETE /v1/sequences/{name}`
pub(super) async fn drop_sequence(worker: &Rc<Worker>, name: &[u8]) -> Answer<Response> {
    let name = worker.service().name(name)?;
    match worker.service().drop_sequence(&name).await? {
        None => Err(ServiceError::new(Code::NotFound, format!("no sequence {name}"))),
        Some(pending) if pending.is_empty() => Ok(Response::empty(StatusCode::NO_CONTENT)),
        Some(pending) => Ok(Response::json(StatusCode::OK, &json!({ "pending": pending }))),
    }
}

/// `POST /v1/sequences/{name}/restart`
pub(super) async fn restart(worker: &Rc<Worker>, name: &[u8], body: &[u8]) -> Answer<Response> {
    let name = worker.service().name(name)?;
    let restart: Restart = parse(body)?;
    let to = Base {
        value: restart.value.0,
        is_called: restart.is_called.unwrap_or(true),
    };
    let changed = worker
        .service()
        .restart(&name, to, restart.allow_repeat.unwrap_or(false))
        .await?;
    Ok(Response::json(StatusCode::OK, &render::changed(&changed)))
}

/// A definition, or a change of one. `cache` is SQL's word for `max_gap`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    start: Option<Number>,
    increment: Option<Number>,
    min: Option<Number>,
    max: Option<Number>,
    cycle: Option<bool>,
    gap: Option<String>,
    max_gap: Option<Number>,
    cache: Option<Number>,
    order: Option<String>,
    allow_repeat: Option<bool>,
    /// `true`: at `start`; a number: there. As SQL's `RESTART [WITH n]`, the number is the next one.
    restart: Option<Restarts>,
}

impl Definition {
    fn options(&self) -> SequenceOptions {
        SequenceOptions {
            start: self.start.map(|n| n.0),
            increment: self.increment.map(|n| n.0),
            min: self.min.map(|n| n.0),
            max: self.max.map(|n| n.0),
            cycle: self.cycle,
        }
    }

    fn gap(&self) -> Answer<Option<Gap>> {
        match self.order.as_deref() {
            None | Some("node") => {}
            Some("cluster") => {
                return Err(invalid(
                    "order \"cluster\" is not built; numbers are in order per node",
                ));
            }
            Some(other) => return Err(invalid(format!("order {other:?} is not \"node\""))),
        }
        match self.gap.as_deref() {
            None => Ok(None),
            Some("bounded") => Ok(Some(Gap::Bounded)),
            Some("none") => Ok(Some(Gap::None)),
            Some(other) => Err(invalid(format!(
                "gap {other:?} is neither \"bounded\" nor \"none\""
            ))),
        }
    }

    fn max_gap(&self) -> Answer<Option<u64>> {
        let given = match (self.max_gap, self.cache) {
            (Some(_), Some(_)) => return Err(invalid("max_gap and cache are two names of one thing")),
            (given, None) | (None, given) => given,
        };
        let at_least_one = |n: Number| {
            let given = u64::try_from(n.0).ok().filter(|n| *n > 0);
            given.ok_or_else(|| {
                invalid(format!("max_gap {} is less than 1", n.0)).with_hint("gap \"none\" loses no number")
            })
        };
        given.map(at_least_one).transpose()
    }

    fn restart(&self) -> Answer<Option<RestartAt>> {
        match self.restart {
            None => Ok(None),
            Some(Restarts::Whether(true)) => Ok(Some(RestartAt::Start)),
            Some(Restarts::At(Number(value))) => Ok(Some(RestartAt::With(value))),
            Some(Restarts::Whether(false)) => Err(invalid("restart is false: leave it out to stay")),
        }
    }
}

/// Whether a body can be read as a definition, and as a restart.
#[cfg(feature = "testing")]
pub(super) fn documents(body: &[u8]) -> [bool; 2] {
    let definition = parse::<Definition>(body);
    [
        definition.is_ok_and(|read| read.gap().is_ok() && read.max_gap().is_ok()),
        parse::<Restart>(body).is_ok(),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Restart {
    value: Number,
    /// Whether `value` itself counts as issued, so that the next number is one increment further; yes if absent.
    is_called: Option<bool>,
    allow_repeat: Option<bool>,
}

/// An integer, as a JSON number or, since those lose digits beyond 2^53 in JavaScript, as a string.
#[derive(Clone, Copy)]
struct Number(i64);

/// Whether to go back to the start, or where to.
#[derive(Clone, Copy)]
enum Restarts {
    Whether(bool),
    At(Number),
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(Reader { or_bool: false })
            .map(|read| match read {
                Restarts::At(number) => number,
                Restarts::Whether(_) => unreachable!("it was not asked for"),
            })
    }
}

impl<'de> Deserialize<'de> for Restarts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader { or_bool: true })
    }
}

/// Reads a whole number, and `true` or `false` where they have a meaning.
struct Reader {
    or_bool: bool,
}

impl Visitor<'_> for Reader {
    type Value = Restarts;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.or_bool { "true, or " } else { "" })?;
        f.write_str("a whole number from -2^63 to 2^63-1, or one in quotes")
    }

    fn visit_bool<E: de::Error>(self, whether: bool) -> Result<Restarts, E> {
        match self.or_bool {
            true => Ok(Restarts::Whether(whether)),
            false => Err(E::invalid_type(de::Unexpected::Bool(whether), &self)),
        }
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Restarts, E> {
        Ok(Restarts::At(Number(n)))
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Restarts, E> {
        let number = i64::try_from(n).map(|n| Restarts::At(Number(n)));
        number.map_err(|_| E::invalid_value(de::Unexpected::Unsigned(n), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Restarts, E> {
        let number = text.parse().map(|n| Restarts::At(Number(n)));
        number.map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

/// Collects numbers in the form that the client accepts.
struct IdList {
    media: Media,
    body: Vec<u8>,
}

impl IdList {
    fn new(media: Media, count: u64) -> Self {
        // A number has at most 20 characters; few have more than 10.
        let mut body = Vec::with_capacity(HEAD.len() + TAIL_CYCLE.len() + count as usize * 13);
        if media == Media::Json {
            body.extend_from_slice(HEAD);
        }
        IdList { media, body }
    }

    fn push_run(&mut self, run: Run) {
        let mut digits = itoa::Buffer::new();
        for number in run.iter() {
            match self.media {
                Media::Json => {
                    self.body.extend_from_slice(if self.body.len() == HEAD.len() {
                        b"\""
                    } else {
                        b",\""
                    });
                    self.body.extend_from_slice(digits.format(number).as_bytes());
                    self.body.push(b'"');
                }
                Media::Text => {
                    self.body.extend_from_slice(digits.format(number).as_bytes());
                    self.body.push(b'\n');
                }
                Media::Octets => self.body.extend_from_slice(&number.to_be_bytes()),
            }
        }
    }

    fn finish(mut self, cycling: bool) -> Vec<u8> {
        if self.media == Media::Json {
            self.body
                .extend_from_slice(if cycling { TAIL_CYCLE } else { TAIL });
        }
        self.body
    }
}

const HEAD: &[u8] = b"{\"ids\":[";
const TAIL: &[u8] = b"]}\n";
const TAIL_CYCLE: &[u8] = b"],\"cycle\":true}\n";

/// Stands on every answer with numbers of a cycling sequence, in whatever form.
const CYCLE_HEADER: &str = "mint-cycle";

#[cfg(test)]
mod tests {
    use super::*;

    fn written(media: Media, cycling: bool) -> Vec<u8> {
        let mut list = IdList::new(media, 3);
        list.push_run(Run {
            first: -1,
            step: 1,
            count: 2,
        });
        list.push_run(Run {
            first: 7,
            step: 1,
            count: 1,
        });
        list.finish(cycling)
    }

    #[test]
    fn numbers_are_written_in_every_form() {
        assert_eq!(written(Media::Json, false), b"{\"ids\":[\"-1\",\"0\",\"7\"]}\n");
        assert_eq!(
            written(Media::Json, true),
            b"{\"ids\":[\"-1\",\"0\",\"7\"],\"cycle\":true}\n"
        );
        assert_eq!(written(Media::Text, false), b"-1\n0\n7\n");
        let packed: Vec<u8> = [-1i64, 0, 7].iter().flat_map(|n| n.to_be_bytes()).collect();
        assert_eq!(written(Media::Octets, false), packed);
    }

    #[test]
    fn numbers_in_bodies_may_be_quoted() {
        let definition: Definition = parse(br#"{"start": "9223372036854775807", "min": -5, "cache": 10}"#)
            .ok()
            .unwrap();
        assert_eq!(definition.options().start, Some(i64::MAX));
        assert_eq!(definition.options().min, Some(-5));
        assert_eq!(definition.max_gap(), Ok(Some(10)));
    }

    #[test]
    fn bodies_that_make_no_sense_are_refused() {
        for (body, says) in [
            (&br#"{"strat": 1}"#[..], "unknown field `strat`"),
            (br#"{"start": 1, "start": 2}"#, "duplicate field"),
            (br#"{"start": 1.5}"#, "whole number"),
            (br#"{"start": 9223372036854775808}"#, "whole number"),
            (br#"{"start": "x"}"#, "whole number"),
            (b"[", "EOF"),
            (b"{} x", "trailing"),
            (b"\xff", "JSON"),
        ] {
            let error = parse::<Definition>(body).err().unwrap();
            assert!(error.message.contains(says), "{error}");
        }
        for (body, says) in [
            (&br#"{"gap": "some"}"#[..], "neither"),
            (br#"{"order": "cluster"}"#, "not built"),
            (br#"{"order": "x"}"#, "is not \"node\""),
        ] {
            let error = parse::<Definition>(body).ok().unwrap().gap().unwrap_err();
            assert!(error.message.contains(says), "{error}");
        }
        assert!(
            parse::<Definition>(br#"{"cache": 1, "max_gap": 1}"#)
                .ok()
                .unwrap()
                .max_gap()
                .is_err()
        );
        assert!(
            parse::<Definition>(br#"{"cache": -1}"#)
                .ok()
                .unwrap()
                .max_gap()
                .is_err()
        );
        assert!(
            parse::<Restart>(b"{}")
                .err()
                .unwrap()
                .message
                .contains("missing field `value`")
        );
    }
}
