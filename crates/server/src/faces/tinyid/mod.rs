//! tinyid's server: ids and segments over HTTP, as its clients ask for them.
//!
//! Failures are answered with 200, as by the original: its Java client takes an empty text for the only sign of one.

pub(crate) mod settings;

use std::borrow::Cow;

use hyper::StatusCode;
use serde::Serialize;

use super::Face;
use super::keyed::Keyed;
use super::web::answer::Response;
use super::web::foreign::{Asked, Foreign};
use super::web::form::Form;
use super::web::head::Head;
use super::web::{self, spring};
use crate::auth::{Identity, Right, TokenDigest, What};
use crate::config::{Config, FaceAuth};
use crate::error::{Answer, Code, ServiceError};
use crate::faces;

/// The row of this face.
pub(super) const FACE: Face = Face {
    name: "tinyid",
    label: "tinyid",
    title: "tinyid's HTTP",
    section: "faces.tinyid",
    port: 9999,
    listen: |config| &config.faces.tinyid.access.listen,
    example: |address| web::curl(address, "", "/tinyid/id/nextId?bizType=orders&token=any"),
    pools: |_| Vec::new(),
    serves: web::serves(|connection| web::begin(connection, &FOREIGN)),
    foreign: Some(&FOREIGN),
    calls: None,
};

static FOREIGN: Foreign = Foreign {
    access: |config| &config.faces.tinyid.access,
    owns: |path| path.starts_with("/tinyid/"),
    methods: "GET, POST",
    reads_all_headers: false,
    knows_tokens: true,
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
    let biz = form.get("bizType").filter(|biz| !biz.is_empty());
    let shown = form.get("token").or(asked.head.bearer().map(Cow::Borrowed));
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
        keys: &config.faces.tinyid.keys,
        who: &who,
        peer: asked.client.peer,
    };
    match route {
        Route::Ids | Route::IdsText => {
            let count = count.clamp(0, config.faces.tinyid.batch_max.cast_signed());
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

/// `batchSize` as Spring reads an `Integer`: 1 where it is absent or empty.
fn batch_size(form: &Form<'_>) -> Answer<i64> {
    let Some(text) = form.get("batchSize") else {
        return Ok(1);
    };
    match text.trim() {
        "" => Ok(1),
        text => text.parse::<i32>().map(i64::from).map_err(|_| {
            let shown: String = text.chars().take(40).collect();
            ServiceError::new(
                Code::InvalidCount,
                format!("batchSize {shown:?} is not a whole number of 32 bits"),
            )
        }),
    }
}

/// Whose token it is: of the face's own table where there is one, else one of ours; where neither is, any will do.
async fn identify(asked: &Asked<'_>, biz: &str, token: &str) -> Answer<Identity> {
    let (config, service) = (asked.thread.config(), asked.thread.service());
    let own = &config.faces.tinyid;
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

/// One contiguous run, in the way that the Java client counts: it adds `delta` before it issues, and stops behind `maxId`.
async fn segment(keyed: &Keyed<'_>, config: &Config, biz: &str) -> Answer<Segment> {
    let found = keyed.find(biz.as_bytes()).await;
    let (start, increment) = match found {
        Ok(info) => (info.def.start, info.def.increment),
        // What its first use makes.
        Err(error) if error.code == Code::NotFound && keyed.keys.create => (1, 1),
        Err(error) => return Err(unknown_biz(error, biz, "")),
    };
    if increment < 1 || start < 1 {
        let why = format!("{biz} counts from {start} by {increment}: a segment counts up, from 1 or more");
        return Err(ServiceError::new(Code::InvalidArgument, why));
    }
    let steps = &config.faces.tinyid;
    let step = steps.steps.0.get(biz).copied().unwrap_or(steps.step);
    let count = (step / increment.cast_unsigned()).max(1);
    let (run, _) = keyed
        .take_contiguous(biz.as_bytes(), count)
        .await
        .map_err(|error| unknown_biz(error, biz, ""))?;
    let delta = run.step;
    let current_id = run.first - delta;
    let span = i128::from(run.last()) - i128::from(current_id);
    Ok(Segment {
        max_id: run.last(),
        loading_id: current_id + i64::try_from(span * 20 / 100).expect("a fifth of what 64 bits hold"),
        current_id,
        delta,
        remainder: run.first.rem_euclid(delta),
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
        true => Response::new(StatusCode::OK, spring::media_type(head.accept), text.to_string()),
        false => Response::new(StatusCode::OK, spring::JSON, text.to_string()),
    }
}

fn unknown_path() -> ServiceError {
    ServiceError::new(Code::UnknownRoute, "no such path")
}

/// What stands before the original's words where ids were asked for.
const OF_IDS: &str = "error query segmentId: ";

const TOKEN_IS_ERROR: &str = "token is error";
