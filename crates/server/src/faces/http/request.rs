//! What a request says behind its head: query and body.

use mintage_ledger::Name;
use mintage_wire::{Kind, Operation, Parameter, Takes, percent};
use std::borrow::Cow;

use crate::error::{Code, ServiceError};
use crate::faces::web::head::Head;
use crate::requests::invalid;
use crate::service::{Answer, Door};

/// The parameters of a request: of its query, and where the route takes them so, of a JSON body.
#[derive(Debug)]
pub(super) struct Query<'q> {
    text: &'q str,
    body: &'q [(String, String)],
}

impl<'q> Query<'q> {
    pub(super) fn of(text: &'q str) -> Self {
        Query { text, body: &[] }
    }

    /// The same with the parameters of a body.
    pub(super) fn and(self, body: &'q [(String, String)]) -> Self {
        Query { body, ..self }
    }

    /// Refuses parameters that an operation does not know, and values that are out of its bounds; a format's own options
    /// are looked at later.
    #[inline]
    pub(super) fn fit(&self, operation: &Operation) -> Answer<()> {
        match self.text.is_empty() && self.body.is_empty() {
            true => Ok(()),
            false => self.fit_in_full(operation),
        }
    }

    fn fit_in_full(&self, operation: &Operation) -> Answer<()> {
        let parameters = operation.parameters;
        let knows = |name: &str| parameters.iter().any(|known| known.name == name);
        let mut given = self.pairs().map(|(name, _)| name).chain(self.of_body());
        if !operation.takes_options && !given.all(knows) {
            let known: Vec<&str> = parameters.iter().map(|known| known.name).collect();
            self.only(&known)?;
        }
        parameters.iter().try_for_each(|known| self.fit_one(known))
    }

    fn fit_one(&self, known: &Parameter) -> Answer<()> {
        let name = known.name;
        match known.kind {
            Kind::OneOf(words) => {
                let given = self.get(name)?;
                let fits = |given: &&Cow<'_, [u8]>| words.iter().any(|word| word.as_bytes() == &***given);
                match given.as_ref().filter(|given| !fits(given)) {
                    None => Ok(()),
                    Some(given) => {
                        let shown: String = String::from_utf8_lossy(given).chars().take(40).collect();
                        let message = format!("{name}={shown} is neither {}", words.join(" nor "));
                        Err(ServiceError::new(Code::InvalidArgument, message))
                    }
                }
            }
            Kind::Whole(least, Some(most)) => match self.number(name)? {
                Some(given) if given.is_none_or(|given| !(least..=most).contains(&given)) => {
                    let message = format!("{name} must be a whole number from {least} to {most}");
                    Err(ServiceError::new(Code::InvalidCount, message))
                }
                _ => Ok(()),
            },
            // What has no bound here is judged where it is used.
            Kind::Text | Kind::Whole(_, None) => Ok(()),
        }
    }

    /// Refuses parameters that the route does not know: a misspelt one would be obeyed by being ignored.
    pub(super) fn only(&self, known: &[&str]) -> Answer<()> {
        let mut given = self.pairs().map(|(name, _)| name).chain(self.of_body());
        match given.find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => {
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
    /// It stands twice, be it once in the query and once in the body; or its encoding is damaged.
    #[inline]
    pub(super) fn get(&self, wanted: &str) -> Answer<Option<Cow<'q, [u8]>>> {
        match self.text.is_empty() && self.body.is_empty() {
            true => Ok(None),
            false => self.get_in_full(wanted),
        }
    }

    fn get_in_full(&self, wanted: &str) -> Answer<Option<Cow<'q, [u8]>>> {
        let mut found = self.pairs().filter(|(name, _)| *name == wanted);
        let mut of_body = self.body.iter().filter(|(name, _)| name == wanted);
        let twice = |where_it_stands: &str| {
            let message = format!("parameter {wanted} stands {where_it_stands}");
            Err(ServiceError::new(Code::InvalidArgument, message))
        };
        let value = match (found.next(), of_body.next()) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => return twice("in the query and in the body"),
            (None, Some((_, value))) if of_body.next().is_none() => {
                return Ok(Some(Cow::Borrowed(value.as_bytes())));
            }
            (Some((_, value)), None) if found.next().is_none() => value,
            _ => return twice("twice"),
        };
        percent::decode(value).map(Some).ok_or_else(|| {
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

    /// A parameter that is the name, or the beginning of a name, of a sequence or pool.
    pub(super) fn name(&self, wanted: &str, thread: &Door) -> Answer<Option<Name>> {
        self.get(wanted)?
            .map(|name| thread.service().name(&name))
            .transpose()
    }

    /// The first worker of a page of windows, 0 where it is absent.
    pub(super) fn first_worker(&self) -> Answer<u64> {
        match self.number("from")? {
            None => Ok(0),
            Some(from) => from.ok_or_else(|| invalid("from must be the number of a worker")),
        }
    }

    /// How many entries a page of a list has at most; the table has its bounds.
    pub(super) fn limit(&self) -> Answer<u16> {
        let given = self.number("limit")?.flatten();
        Ok(given
            .and_then(|limit| u16::try_from(limit).ok())
            .unwrap_or(LIST_DEFAULT))
    }

    /// `count`, 1 where it is absent.
    ///
    /// # Errors
    /// [`Code::InvalidCount`].
    pub(super) fn count(&self, thread: &Door) -> Answer<u64> {
        match self.number("count")? {
            None => Ok(1),
            Some(count) => thread.count(count),
        }
    }

    fn of_body(&self) -> impl Iterator<Item = &'q str> + use<'q> {
        self.body.iter().map(|(name, _)| name.as_str())
    }

    fn pairs(&self) -> impl Iterator<Item = (&'q str, &'q str)> + use<'q> {
        self.text
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }
}

/// Refuses a body that would be obeyed by being ignored, or that says it is something else than JSON.
pub(super) fn check_body(takes: Takes, head: &Head<'_>, body: &[u8]) -> Answer<()> {
    let body = body.trim_ascii();
    if body.is_empty() {
        return Ok(());
    }
    let refuse = |message: String| Err(ServiceError::new(Code::UnsupportedMediaType, message));
    if matches!(takes, Takes::File) {
        return Ok(());
    }
    if matches!(takes, Takes::Nothing) {
        return refuse(format!(
            "{} takes no body here, and one of {} bytes came",
            head.method,
            body.len()
        ));
    }
    let kind = head.content_type.unwrap_or("application/json");
    let kind = kind
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let is_json = kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json");
    // What curl says of any data that it is not told about.
    let is_curls = kind == "application/x-www-form-urlencoded" && body[0] == b'{';
    match is_json || is_curls {
        true => Ok(()),
        false => {
            let shown: String = kind.chars().take(80).collect();
            refuse(format!("the body is {shown:?}, it must be application/json"))
        }
    }
}

/// A page of a list, unless asked otherwise.
const LIST_DEFAULT: u16 = 100;

#[cfg(test)]
mod tests {
    use mintage_wire::Op;

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

    #[test]
    fn values_are_within_the_bounds_of_the_table() {
        for (op, query, says) in [
            (Op::Next, "count=5&as=range", None),
            (Op::Next, "as=ids", None),
            (Op::Next, "as=rang%65", None),
            (Op::Next, "as=x", Some("as=x is neither ids nor range")),
            (
                Op::Next,
                "count=5&limit=1",
                Some("there is no parameter \"limit\""),
            ),
            (Op::ListPools, "limit=1000&prefix=a", None),
            (
                Op::ListPools,
                "limit=0",
                Some("limit must be a whole number from 1 to 1000"),
            ),
            (
                Op::ListPools,
                "limit=1001",
                Some("limit must be a whole number from 1 to 1000"),
            ),
            (
                Op::ListPools,
                "limit=x",
                Some("limit must be a whole number from 1 to 1000"),
            ),
            (Op::MakeIds, "prefix=user", None),
            (Op::Livez, "", None),
            (Op::Livez, "a", Some("there is no parameter \"a\"")),
        ] {
            let refused = Query::of(query).fit(op.row()).err();
            assert_eq!(refused.map(|error| error.message).as_deref(), says, "{query}");
        }
    }
}
