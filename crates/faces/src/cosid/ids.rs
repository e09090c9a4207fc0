//! Single ids: of a generator that is configured, else of the sequence or pool `cosid:NAME`.

use hyper::StatusCode;
use mintage::{Clock, Timestamp};

use super::generators::{Generator, Kind, SHARE};
use super::{JSON, keyed, segments, text};
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::formats::no_time;
use mintage_server::chassis::keyed::NameBuffer;
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::foreign::Asked;
use mintage_server::chassis::web::spring;

/// Where snowflakes come from.
pub(super) const POOL: &str = "cosid";

/// `GET /ids`, `/ids/{name}`, `/ids/as-string`, `/ids/as-string/{name}`
pub(super) async fn answer(asked: &Asked<'_>, name: Option<&str>, as_text: bool) -> Answer<Response> {
    let body = make(asked, name.unwrap_or(SHARE), as_text).await?;
    let media = match as_text {
        // Its bytes are those of every character set that a client may ask for.
        true if body.is_ascii() => spring::accepted(asked.head.accept),
        true => spring::TEXT.into(),
        false => JSON.into(),
    };
    Ok(Response::new(StatusCode::OK, media, body))
}

/// The next id of a generator, as a number or as text.
pub(super) async fn make(asked: &Asked<'_>, name: &str, as_text: bool) -> Answer<String> {
    let config = asked.thread.config();
    let settings = &config.faces.get::<crate::cosid::Settings>();
    let configured = settings.generator(name);
    // Before a number is taken: an id that names a date gets the time as a snowflake does, or none (protocol C2).
    let now = match &configured {
        Some(generator) if as_text && !generator.date_prefix.as_str().is_empty() => dated(asked).await?,
        _ => asked.thread.service().ledger().clock().now(),
    };
    let id = match &configured {
        Some(generator) => next(asked, name, generator).await?,
        None => of_name(asked, name.as_bytes()).await?,
    };
    if !as_text {
        return Ok(id.to_string());
    }
    let now = settings
        .time_zone
        .at(now.unix_millis())
        .ok_or_else(|| ServiceError::new(Code::Internal, "the clock shows a time that no date has"))?;
    text::write(&configured.unwrap_or_default(), id, &now)
}

/// The time for an id that names it.
async fn dated(asked: &Asked<'_>) -> Answer<Timestamp> {
    let clock = asked.thread.service().ledger().clock();
    clock.judged().await;
    clock.time().map_err(|refusal| no_time("a date", &refusal))
}

/// The name of a segment's sequence behind the prefix.
pub(super) fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}.{name}")
}

async fn next(asked: &Asked<'_>, name: &str, generator: &Generator) -> Answer<u64> {
    if generator.kind() == Kind::Snowflake {
        return mint(asked, POOL.as_bytes()).await;
    }
    let config = asked.thread.config();
    let key = key(&config.faces.get::<crate::cosid::Settings>().namespace.0, name);
    let keyed = keyed(asked, &config);
    let number = match keyed.take_one(key.as_bytes()).await {
        // The operator lists it, as the original's makes its own when it starts.
        Err(error) if error.code == Code::NotFound => {
            segments::make_listed(asked, &key).await?;
            keyed.take_one(key.as_bytes()).await?
        }
        taken => taken?,
    };
    from_0(number, &key)
}

async fn of_name(asked: &Asked<'_>, key: &[u8]) -> Answer<u64> {
    let config = asked.thread.config();
    let keyed = keyed(asked, &config);
    let mut buffer = NameBuffer::default();
    let name = keyed.name(key, &mut buffer)?;
    let is_pool = async || {
        let name = asked.thread.service().name(name)?;
        asked.thread.service().has_pool(&name).await
    };
    // A name that makes its sequence at first use must not stand in front of a pool.
    if !asked.thread.exists(name).await? && is_pool().await? {
        return mint(asked, name).await;
    }
    let number = keyed.take_one(key).await?;
    from_0(number, &String::from_utf8_lossy(name))
}

fn from_0(number: i64, name: &str) -> Answer<u64> {
    u64::try_from(number).map_err(|_| {
        let message = format!("sequence {name} has come to {number}, and ids begin at 0");
        ServiceError::new(Code::Exhausted, message)
    })
}

async fn mint(asked: &Asked<'_>, pool: &[u8]) -> Answer<u64> {
    asked.who.check(Right::Allocate, What::Named(pool))?;
    asked.thread.service().spend(&asked.who, asked.client.peer, 1);
    let mut id = [0];
    if asked.thread.try_mint(pool, &mut id) == 0 {
        asked.thread.mint(pool, &mut id).await?;
    }
    Ok(id[0])
}
