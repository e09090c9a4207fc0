//! What Spring Boot's actuator says of the original: whether it is well, for probes of unchanged deployments, and how its
//! generators stand.

use std::collections::BTreeMap;

use hyper::StatusCode;
use mintage::Clock;
use mintage_ledger::PoolKind;
use serde::Serialize;

use super::generators::{Converter, Generator, Kind};
use super::route::Actuator;
use super::{ids, keyed, text};
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::keyed::NameBuffer;
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::foreign::Asked;

/// What numbers and documents are answered as.
pub(super) const MEDIA: &str = "application/vnd.spring-boot.actuator.v3+json";
/// What text is answered as.
const TEXT: &str = "application/vnd.spring-boot.actuator.v3+json;charset=UTF-8";

/// Answers `GET`, and `HEAD` of probes.
pub(super) async fn answer(asked: &Asked<'_>, route: &Actuator) -> Answer<Response> {
    Ok(match route {
        Actuator::Health => {
            let (status, word) = health(asked, "DOWN").await;
            let body = format!(r#"{{"groups":["liveness","readiness"],"status":"{word}"}}"#);
            Response::new(status, MEDIA, body)
        }
        Actuator::Readiness => {
            let (status, word) = health(asked, "OUT_OF_SERVICE").await;
            Response::new(status, MEDIA, format!(r#"{{"status":"{word}"}}"#))
        }
        Actuator::Liveness => Response::new(StatusCode::OK, MEDIA, r#"{"status":"UP"}"#),
        Actuator::States => {
            let mut states = BTreeMap::new();
            let config = asked.thread.config();
            for name in config.faces.get::<crate::cosid::Settings>().names() {
                states.insert(name, state(asked, name).await?);
            }
            document(&states)
        }
        Actuator::State(name) => document(&state(asked, name).await?),
        Actuator::Id { name, as_text } => {
            let body = ids::make(asked, name, *as_text).await?;
            Response::new(StatusCode::OK, if *as_text { TEXT } else { MEDIA }, body)
        }
    })
}

/// Whether ids can be given out, as `/readyz` has it.
async fn health(asked: &Asked<'_>, down: &'static str) -> (StatusCode, &'static str) {
    let service = asked.thread.service();
    let ready = match service.found().await {
        Ok(found) => service.ledger().ready_as_of(&found.survey).ready,
        Err(_) => false,
    };
    match ready {
        true => (StatusCode::OK, "UP"),
        false => (StatusCode::SERVICE_UNAVAILABLE, down),
    }
}

fn document(document: &impl Serialize) -> Response {
    let body = mintage_wire::json::to_vec(document).expect("texts and numbers are JSON");
    Response::new(StatusCode::OK, MEDIA, body)
}

/// A generator with its converter.
#[derive(Serialize)]
struct State {
    kind: &'static str,
    actual: Source,
    converter: Conversion,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Source {
    Segment(Segment),
    Snowflake(Snowflake),
}

/// Members in the original's order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Segment {
    kind: &'static str,
    fetch_time: i64,
    max_id: i64,
    offset: i64,
    sequence: i64,
    step: u64,
    grouped_key: GroupedKey,
    converter: Conversion,
    actual: (),
    available: bool,
    expired: bool,
    overflow: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupedKey {
    key: &'static str,
    ttl_at: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Snowflake {
    kind: &'static str,
    epoch: i64,
    timestamp_bit: u32,
    machine_bit: u32,
    sequence_bit: u32,
    machine_id: i64,
    last_timestamp: i64,
    converter: Conversion,
    actual: (),
    safe_javascript: bool,
}

/// A converter; each kind has its own members.
#[derive(Clone, Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Conversion {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    radix: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suffix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    char_size: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pad_start: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine_char_size: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence_char_size: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_id: Option<i64>,
    actual: Option<Box<Conversion>>,
}

async fn state(asked: &Asked<'_>, name: &str) -> Answer<State> {
    let config = asked.thread.config();
    let settings = &config.faces.get::<crate::cosid::Settings>();
    let generator = settings
        .generator(name)
        .ok_or_else(|| ServiceError::new(Code::NotFound, format!("there is no generator {name}")))?;
    Ok(match generator.kind() {
        Kind::Segment => State {
            kind: "StringSegmentId",
            actual: Source::Segment(segment(asked, &ids::key(&settings.namespace.0, name)).await?),
            converter: conversion(&generator),
        },
        Kind::Snowflake => State {
            kind: "StringSnowflakeId",
            actual: Source::Snowflake(snowflake(asked).await?),
            converter: conversion(&generator),
        },
    })
}

/// A sequence as the segment that this server holds of it.
async fn segment(asked: &Asked<'_>, key: &str) -> Answer<Segment> {
    let config = asked.thread.config();
    let mut buffer = NameBuffer::default();
    let name = keyed(asked, &config).name(key.as_bytes(), &mut buffer)?;
    asked.who.check(Right::Allocate, What::Named(name))?;
    let service = asked.thread.service();
    // One that nobody has used has nothing yet.
    let info = service.find(&service.name(name)?).await?;
    let last = info
        .as_ref()
        .map_or(0, |info| info.last.unwrap_or(info.first.saturating_sub(1)));
    let step = info.as_ref().map_or(0, |info| info.unused);
    Ok(Segment {
        kind: "SegmentChainId",
        fetch_time: service.ledger().clock().now().unix_millis() / 1000,
        max_id: last.saturating_add_unsigned(step),
        offset: last,
        sequence: last,
        step,
        grouped_key: GroupedKey {
            key: "",
            ttl_at: i64::MAX,
        },
        converter: conversion(&Generator::default()),
        actual: (),
        available: true,
        expired: false,
        overflow: step == 0,
    })
}

/// The pool as the machine that this server is in it; -1: it holds none.
async fn snowflake(asked: &Asked<'_>) -> Answer<Snowflake> {
    asked
        .who
        .check(Right::Allocate, What::Named(ids::POOL.as_bytes()))?;
    let service = asked.thread.service();
    let (pool, worker) = service.worker_of(ids::POOL.as_bytes()).await?;
    let PoolKind::Snowflake(layout) = pool.kind() else {
        return Err(ServiceError::new(
            Code::InvalidArgument,
            "pool cosid makes no snowflakes",
        ));
    };
    Ok(Snowflake {
        kind: "MillisecondSnowflakeId",
        epoch: layout.epoch().unix_millis(),
        timestamp_bit: layout.time_bits(),
        machine_bit: layout.worker_bits(),
        sequence_bit: layout.sequence_bits(),
        machine_id: worker.cast_signed(),
        last_timestamp: service.ledger().clock().now().unix_millis(),
        converter: conversion(&Generator::default()),
        actual: (),
        safe_javascript: false,
    })
}

/// The converters of a generator, the last that is applied first.
fn conversion(generator: &Generator) -> Conversion {
    let radix = |kind, radix: u32| Conversion {
        kind,
        radix: Some(radix),
        char_size: Some(generator.chars()),
        pad_start: Some(generator.pads()),
        max_id: Some(
            i64::try_from(u128::from(radix).saturating_pow(generator.chars() as u32)).unwrap_or(i64::MAX),
        ),
        ..Conversion::default()
    };
    let mut whole = match generator.converter {
        Converter::Radix62 => radix("Radix62IdConverter", 62),
        Converter::Radix36 => radix("Radix36IdConverter", 36),
        Converter::ToString => Conversion {
            kind: "ToStringIdConverter",
            pad_start: Some(generator.pads()),
            char_size: Some(generator.chars()),
            ..Conversion::default()
        },
        Converter::SnowflakeFriendly => {
            let (machine, sequence) = text::friendly_digits();
            Conversion {
                kind: "SnowflakeFriendlyIdConverter",
                pad_start: Some(generator.pads()),
                machine_char_size: Some(machine),
                sequence_char_size: Some(sequence),
                ..Conversion::default()
            }
        }
    };
    let mut wrap = |outer: Conversion| {
        let inner = std::mem::take(&mut whole);
        whole = Conversion {
            actual: Some(Box::new(inner)),
            ..outer
        };
    };
    let date = || Conversion {
        kind: "DatePrefixIdConverter",
        pattern: Some(generator.date_prefix.as_str().to_string()),
        ..Conversion::default()
    };
    let dated = !generator.date_prefix.as_str().is_empty();
    if dated && !generator.date_first {
        wrap(date());
    }
    if !generator.prefix.is_empty() {
        wrap(Conversion {
            kind: "PrefixIdConverter",
            prefix: Some(generator.prefix.clone()),
            ..Conversion::default()
        });
    }
    if dated && generator.date_first {
        wrap(date());
    }
    if !generator.suffix.is_empty() {
        wrap(Conversion {
            kind: "SuffixIdConverter",
            suffix: Some(generator.suffix.clone()),
            ..Conversion::default()
        });
    }
    whole
}
