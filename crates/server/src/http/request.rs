//! What a request says behind its head: query and body.

use std::borrow::Cow;
use std::rc::Rc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;

use super::head::too_large;
use super::route;
use crate::error::{Code, ServiceError};
use crate::service::{Answer, Worker};

/// The query of a request.
#[derive(Debug)]
pub(super) struct Query<'q> {
    text: &'q str,
}

impl<'q> Query<'q> {
    pub(super) fn of(text: &'q str) -> Self {
        Query { text }
    }

    /// Refuses parameters that the route does not know: a misspelt one would be obeyed by being ignored.
    pub(super) fn only(&self, known: &[&str]) -> Answer<()> {
        match self.pairs().find(|(name, _)| !known.contains(name)) {
            None => Ok(()),
            Some((name, _)) => {
                let shown: String = name.chars().take(40).collect();
                let error =
                    ServiceError::new(Code::InvalidArgument, format!("there is no parameter {shown:?}"));
                Err(match known.is_empty() {
                    true => error.with_hint("the route takes none"),
                    false => error.with_hint(format!("the route takes {}", known.join(", "))),
                })
            }
        }
    }

    /// A parameter's value.
    ///
    /// # Errors
    /// It stands twice, or its encoding is damaged.
    pub(super) fn get(&self, wanted: &str) -> Answer<Option<Cow<'q, [u8]>>> {
        let mut found = self.pairs().filter(|(name, _)| *name == wanted);
        let Some((_, value)) = found.next() else {
            return Ok(None);
        };
        if found.next().is_some() {
            return Err(ServiceError::new(
                Code::InvalidArgument,
                format!("parameter {wanted} stands twice"),
            ));
        }
        route::decode(value).map(Some).ok_or_else(|| {
            ServiceError::new(
                Code::InvalidArgument,
                format!("the encoding of parameter {wanted} is damaged"),
            )
        })
    }

    /// A parameter that is a whole number.
    ///
    /// # Errors
    /// As [`Query::get`]; `Some(None)` is a value that is no number below 2^64.
    pub(super) fn number(&self, wanted: &str) -> Answer<Option<Option<u64>>> {
        let parse = |value: Cow<'_, [u8]>| {
            std::str::from_utf8(&value)
                .ok()
                .and_then(|text| text.parse().ok())
        };
        Ok(self.get(wanted)?.map(parse))
    }

    /// How many entries a page of a list has at most.
    pub(super) fn limit(&self) -> Answer<u16> {
        let Some(limit) = self.number("limit")? else {
            return Ok(LIST_DEFAULT);
        };
        limit
            .and_then(|limit| u16::try_from(limit).ok())
            .filter(|limit| (1..=LIST_MAX).contains(limit))
            .ok_or_else(|| {
                let message = format!("limit must be a whole number from 1 to {LIST_MAX}");
                ServiceError::new(Code::InvalidCount, message)
            })
    }

    /// `count`, 1 where it is absent.
    ///
    /// # Errors
    /// [`Code::InvalidCount`].
    pub(super) fn count(&self, worker: &Worker) -> Answer<u64> {
        match self.number("count")? {
            None => Ok(1),
            Some(count) => worker.count(count),
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (&'q str, &'q str)> + use<'q> {
        self.text
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }
}

/// Reads a body, within its limits of length and time; none is an empty one.
pub(super) async fn read_body(worker: &Rc<Worker>, body: Option<Incoming>) -> Answer<Vec<u8>> {
    let Some(body) = body else { return Ok(Vec::new()) };
    let config = worker.config();
    let collected = Limited::new(body, config.http_max_body.0).collect();
    match tokio::time::timeout(config.http_request_timeout, collected).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes().to_vec()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large(&config)),
        Ok(Err(_)) => Err(ServiceError::new(Code::Protocol, "the body did not arrive whole")),
        Err(_) => Err(ServiceError::new(
            Code::RequestTimeout,
            "the body did not arrive in time",
        )),
    }
}

/// Reads a body; none at all is an empty document.
pub(super) fn parse<'b, T: serde::Deserialize<'b>>(body: &'b [u8]) -> Answer<T> {
    let body = if body.trim_ascii().is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| {
        ServiceError::new(
            Code::InvalidBody,
            format!("the body is not the JSON document asked for: {error}"),
        )
    })
}

/// The refusal of a body's content.
pub(super) fn invalid(message: impl Into<Cow<'static, str>>) -> ServiceError {
    ServiceError::new(Code::InvalidBody, message)
}

/// A page of a list, unless asked otherwise.
const LIST_DEFAULT: u16 = 100;
/// The largest page of a list.
const LIST_MAX: u16 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_strictly() {
        let query = Query::of("count=5&as=range&after=a%3Ab&x=1&x=2&bad=%4");
        assert_eq!(query.number("count"), Ok(Some(Some(5))));
        assert_eq!(query.number("as"), Ok(Some(None)));
        assert_eq!(query.get("after"), Ok(Some(Cow::Borrowed(&b"a:b"[..]))));
        assert_eq!(query.get("none"), Ok(None));
        assert!(query.get("x").is_err());
        assert!(query.get("bad").is_err());
        assert_eq!(
            query.only(&["count"]).unwrap_err().message,
            "there is no parameter \"as\""
        );
        assert_eq!(Query::of("").only(&[]), Ok(()));
    }
}
