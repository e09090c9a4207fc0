//! tinyid's server: ids and segments over HTTP, as its clients ask for them.
//!
//! Failures are answered with 200, as by the original: its Java client takes an empty text for the only sign of one.

mod settings;

pub use settings::Settings;

use std::borrow::Cow;

use hyper::StatusCode;
use mintage::Run;
use serde::Serialize;

use mintage_server::chassis::auth::{Identity, Right, TokenDigest, What};
use mintage_server::chassis::config::{Config, FaceAuth};
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::faces;
use mintage_server::chassis::keyed::Keyed;
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::foreign::{Asked, Foreign};
use mintage_server::chassis::web::form::Form;
use mintage_server::chassis::web::head::Head;
use mintage_server::chassis::web::{self, servlet, spring};
use mintage_server::chassis::{Face, SettingsOf};

/// The row of this face.
pub(crate) const FACE: Face = Face {
    name: "tinyid",
    label: "tinyid",
    title: "tinyid's HTTP",
    section: "faces.tinyid",
    port: 9999,
    listen: |config| &config.faces.get::<Settings>().access.listen,
    example: |address| web::curl(address, "", "/tinyid/id/nextId?bizType=orders&token=any"),
    pools: |_| Vec::new(),
    serves: web::serves(|connection| web::begin(connection, &FOREIGN)),
    settings: Some(SettingsOf::of::<Settings>()),
    told: None,
    foreign: Some(&FOREIGN),
    calls: None,
};

static FOREIGN: Foreign = Foreign {
    access: |config| &config.faces.get::<Settings>().access,
    owns: |path| servlet::tidy(path).is_some_and(|path| path.starts_with("/tinyid/")),
    methods: "GET, POST",
    reads_all_headers: false,
    knows_tokens: true,
    is_probe: |_| false,
    right: |_| Right::Allocate,
    look,
    answer: |asked| Box::pin(answer(asked)),
    refuse,
};

/// What is asked for, and in which form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Route {
    Ids,
    IdsText,
    Segment,
    SegmentText,
}

impl Route {
    /// A slash or an ending behind the name changes nothing, as in Spring.
    fn of(path: &str) -> Option<Route> {
        let path = servlet::tidy(path)?;
        let name = path.strip_prefix("/tinyid/id/")?;
        let name = name.strip_suffix('/').unwrap_or(name);
        match name.split_once('.').map_or(name, |(name, _)| name) {
            "nextId" => Some(Route::Ids),
            "nextIdSimple" => Some(Route::IdsText),
            "nextSegmentId" => Some(Route::Segment),
            "nextSegmentIdSimple" => Some(Route::SegmentText),
            _ => None,
        }
    }

    fn is_text(self) -> bool {
        matches!(self, Route::IdsText | Route::SegmentText)
    }
}

/// Every JSON answer: members in this order.
#[derive(Serialize)]
struct Told<'a, T> {
    data: Option<T>,
    code: u16,
    message: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Segment {
    max_id: i64,
    loading_id: i64,
    current_id: i64,
    delta: i64,
    remainder: i64,
}

fn look(head: &Head<'_>, _: &Config) -> Response {
    match Route::of(head.path) {
        Some(route) => said(head, route, ""),
        None => spring::refuse(head, &unknown_path()),
    }
}

async fn answer(asked: &Asked<'_>) -> Answer<Response> {
    let route = Route::of(asked.head.path).ok_or_else(unknown_path)?;
    let form = Form::of(asked.head, asked.body);
    let count = batch_size(&form)?;
    let biz = form.joined("bizType").filter(|biz| !biz.is_empty());
    let shown = form.joined("token").or(asked.head.bearer().map(Cow::Borrowed));
    let token = shown.filter(|token| !token.is_empty());
    let (Some(biz), Some(token)) = (biz, token) else {
        asked.thread.service().admit(&asked.who, asked.client.peer)?;
        return Err(ServiceError::new(Code::Unauthenticated, TOKEN_IS_ERROR));
    };
    let who = identify(asked, &biz, &token).await?;
    if biz.contains(char::REPLACEMENT_CHARACTER) {
        // Bytes that are no text: two such keys would be one sequence.
        let unknown = ServiceError::new(Code::NotFound, "no text");
        let before = if matches!(route, Route::Ids | Route::IdsText) {
            OF_IDS
        } else {
            ""
        };
        return Err(unknown_biz(unknown, &biz, before));
    }
    let config = asked.thread.config();
    let keyed = Keyed {
        thread: asked.thread,
        keys: &config.faces.get::<Settings>().keys,
        who: &who,
        peer: asked.client.peer,
    };
    match route {
        Route::Ids | Route::IdsText => {
            let count = count.clamp(0, config.faces.get::<Settings>().batch_max.cast_signed());
            let ids = ids(&keyed, &biz, count.cast_unsigned()).await?;
            Ok(match route {
                Route::Ids => said(
                    asked.head,
                    route,
                    &format!("{{\"data\":[{ids}],\"code\":200,\"message\":\"\"}}"),
                ),
                _ => said(asked.head, route, &ids),
            })
        }
        Route::Segment | Route::SegmentText => {
            let segment = segment(&keyed, &config, &biz).await?;
            Ok(match route {
                Route::Segment => told(asked.head, route, Some(segment), 200, ""),
                _ => {
                    let Segment {
                        max_id,
                        loading_id,
                        current_id,
                        delta,
                        remainder,
                    } = segment;
                    let text = format!("{current_id},{loading_id},{max_id},{delta},{remainder}");
                    said(asked.head, route, &text)
                }
            })
        }
    }
}

/// `batchSize` as Spring reads an `Integer`: 1 where it is absent or empty, blanks anywhere, hexadecimal behind `0x`
/// or `#`.
fn batch_size(form: &Form<'_>) -> Answer<i64> {
    let text = form.get("batchSize").unwrap_or_default();
    if text.is_empty() {
        return Ok(1);
    }
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, &*text),
    };
    let marks = ["0x", "0X", "#"];
    let hexadecimal = marks.iter().find_map(|mark| digits.strip_prefix(mark));
    let (read, shown, radix) = match hexadecimal {
        // A second sign is none.
        Some(digits) if digits.starts_with(['+', '-']) => (None, digits, " under radix 16"),
        Some(digits) => {
            let size = i64::from_str_radix(digits, 16).ok();
            let size = size.map(|size| if is_negative { -size } else { size });
            (
                size.and_then(|size| i32::try_from(size).ok()),
                digits,
                " under radix 16",
            )
        }
        None => (text.parse().ok(), &*text, ""),
    };
    read.map(i64::from).ok_or_else(|| {
        let shown: String = shown.chars().take(40).collect();
        ServiceError::new(
            Code::InvalidCount,
            format!(
                "Failed to convert value of type 'java.lang.String' to required type 'java.lang.Integer'; nested \
                 exception is java.lang.NumberFormatException: For input string: \"{shown}\"{radix}"
            ),
        )
    })
}

/// Whose token it is: of the face's own table where there is one, else one of ours; where neither is, any will do.
async fn identify(asked: &Asked<'_>, biz: &str, token: &str) -> Answer<Identity> {
    let (config, service) = (asked.thread.config(), asked.thread.service());
    let own = &config.faces.get::<Settings>();
    let found = match own.tokens.0.is_empty() {
        true if !service.tokens().required() || own.access.auth == FaceAuth::Open => Some(asked.who.clone()),
        true => {
            let known = service
                .tokens()
                .identify(token.as_bytes(), faces::name(asked.face));
            known.filter(|known| known.may(Right::Allocate, What::Nothing))
        }
        false => {
            let digest = TokenDigest::of(token.as_bytes());
            // All of them are compared, whichever fits.
            let fits = own.tokens.0.iter().filter(|known| known.digest.is(&digest));
            let good = fits.fold(false, |good, known| good | known.is_good_for(biz));
            good.then(|| asked.who.clone())
        }
    };
    match found {
        Some(who) => {
            asked.client.is_welcome();
            service.admit(&who, asked.client.peer)?;
            Ok(who)
        }
        None => {
            service.admit(&asked.who, asked.client.peer)?;
            asked.client.has_shown_a_wrong_token(asked.thread).await;
            Err(ServiceError::new(Code::WrongToken, TOKEN_IS_ERROR))
        }
    }
}

/// So many ids, a comma between.
async fn ids(keyed: &Keyed<'_>, biz: &str, count: u64) -> Answer<String> {
    let mut text = String::new();
    let mut digits = itoa::Buffer::new();
    let taken = keyed.take(biz.as_bytes(), count, |run| {
        for id in run.iter() {
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(digits.format(id));
        }
    });
    taken.await.map_err(|error| unknown_biz(error, biz, OF_IDS))?;
    Ok(text)
}

/// One run, in the way that the Java client counts: it adds `delta` before it issues, and stops behind `maxId`. On a
/// set of stores it is one store's share, which is what tinyid's several databases have `delta` and `remainder` for.
async fn segment(keyed: &Keyed<'_>, config: &Config, biz: &str) -> Answer<Segment> {
    let found = keyed.find(biz.as_bytes()).await;
    let (start, increment) = match found {
        Ok(info) => (info.def.start, info.def.increment),
        // What its first use makes.
        Err(error) if error.code == Code::NotFound && keyed.keys.create => (1, 1),
        Err(error) => return Err(unknown_biz(error, biz, "")),
    };
    if increment < 1 {
        let why = format!("{biz} counts from {start} by {increment}: a segment counts up");
        return Err(ServiceError::new(Code::InvalidArgument, why));
    }
    let steps = &config.faces.get::<Settings>();
    let step = steps.steps.0.get(biz).copied().unwrap_or(steps.step);
    let run = keyed
        .take_spanning(biz.as_bytes(), step)
        .await
        .map_err(|error| unknown_biz(error, biz, ""))?;
    segment_of(run).ok_or_else(|| {
        let why =
            format!("{biz} stands at the end of 64 bits: a segment begins at the number before its first");
        ServiceError::new(Code::InvalidArgument, why)
    })
}

/// How the client is told of a run.
///
/// Before it issues anything it looks for the first `currentId` with `currentId % delta == remainder`, as Java
/// reckons: of a negative number that is negative, or 0. It looks no further than `delta` numbers on, so that below 0
/// only a remainder reckoned in that way is found at once.
fn segment_of(run: Run) -> Option<Segment> {
    let delta = run.step;
    let current_id = run.first.checked_sub(delta)?;
    let span = i128::from(run.last()) - i128::from(current_id);
    Some(Segment {
        max_id: run.last(),
        loading_id: current_id + i64::try_from(span * 20 / 100).expect("a fifth of what 64 bits hold"),
        current_id,
        delta,
        remainder: run.first % delta,
    })
}

fn unknown_biz(error: ServiceError, biz: &str, before: &str) -> ServiceError {
    match error.code {
        Code::NotFound => ServiceError::new(Code::NotFound, format!("{before}can not find biztype:{biz}")),
        _ => error,
    }
}

fn refuse(head: &Head<'_>, _: &Config, error: &ServiceError) -> Response {
    let Some(route) = Route::of(head.path) else {
        return spring::refuse(head, error);
    };
    let code = match error.code {
        Code::WrongToken | Code::Unauthenticated => 5,
        Code::InvalidCount => {
            return spring::error(
                head,
                StatusCode::BAD_REQUEST,
                Some(spring::MISMATCH),
                &error.message,
            );
        }
        Code::NotFound
        | Code::Exhausted
        | Code::Unavailable
        | Code::Moving
        | Code::MovedBack
        | Code::Stopped
        | Code::Internal
        | Code::InvalidArgument => 6,
        _ => return spring::refuse(head, error),
    };
    let mut response = match route.is_text() {
        true => said(head, route, ""),
        false => told(head, route, None::<Segment>, code, &error.message),
    };
    if let Some(seconds) = error.retry_after_s {
        response.add("retry-after", seconds.to_string());
    }
    response
}

fn told<T: Serialize>(head: &Head<'_>, route: Route, data: Option<T>, code: u16, message: &str) -> Response {
    let told = Told { data, code, message };
    let text = mintage_wire::json::to_vec(&told).expect("texts and numbers are JSON");
    said(head, route, &String::from_utf8_lossy(&text))
}

fn said(head: &Head<'_>, route: Route, text: &str) -> Response {
    match route.is_text() {
        true => Response::new(StatusCode::OK, spring::media_type(head), text.to_string()),
        false => Response::new(StatusCode::OK, spring::JSON, text.to_string()),
    }
}

fn unknown_path() -> ServiceError {
    ServiceError::new(Code::UnknownRoute, "no such path")
}

/// What stands before the original's words where ids were asked for.
const OF_IDS: &str = "error query segmentId: ";

const TOKEN_IS_ERROR: &str = "token is error";

#[cfg(test)]
mod tests {
    use mintage_testing::invariant;

    use super::*;

    /// What the Java client issues of a segment: `SegmentId.init`, then `addAndGet(delta)` until it is above `maxId`.
    fn issued(segment: &Segment) -> Vec<i64> {
        let mut current = segment.current_id;
        if current % segment.delta != segment.remainder {
            for _ in 0..=segment.delta {
                current += 1;
                if current % segment.delta == segment.remainder {
                    current -= segment.delta;
                    break;
                }
            }
        }
        let mut issued = Vec::new();
        loop {
            current += segment.delta;
            if current > segment.max_id {
                return issued;
            }
            issued.push(current);
        }
    }

    #[test]
    fn the_client_issues_the_numbers_of_the_run_and_no_other() {
        for step in 1..=7 {
            for first in -30..=30 {
                for count in [1, 2, 5, 40] {
                    let run = Run { first, step, count };
                    let segment = segment_of(run).unwrap();
                    let expected: Vec<i64> = run.iter().collect();
                    invariant!(issued(&segment) == expected, "{run:?}: {:?}", issued(&segment));
                }
            }
        }
        let lowest = Run {
            first: i64::MIN,
            step: 1,
            count: 1,
        };
        assert!(segment_of(lowest).is_none());
    }

    #[test]
    fn sizes_are_read_as_by_the_framework() {
        let read = |query| {
            let head = Head {
                query,
                ..Head::default()
            };
            batch_size(&Form::of_query(&head)).ok()
        };
        for (query, size) in [
            ("", Some(1)),
            ("batchSize=", Some(1)),
            ("batchSize=%20", None),
            ("batchSize=%201%202%20", Some(12)),
            ("batchSize=%2B3", Some(3)),
            ("batchSize=-3", Some(-3)),
            ("batchSize=3&batchSize=5", Some(3)),
            ("batchSize=0x10", Some(16)),
            ("batchSize=0X1f", Some(31)),
            ("batchSize=%2310", Some(16)),
            ("batchSize=-0x10", Some(-16)),
            ("batchSize=-0x80000000", Some(-0x8000_0000)),
            ("batchSize=0x80000000", None),
            ("batchSize=0x-5", None),
            ("batchSize=0x", None),
            ("batchSize=%2B0x5", None),
            ("batchSize=2147483647", Some(2_147_483_647)),
            ("batchSize=2147483648", None),
            ("batchSize=1.0", None),
            ("batchSize=-", None),
        ] {
            assert_eq!(read(query), size, "{query}");
        }
    }
}
