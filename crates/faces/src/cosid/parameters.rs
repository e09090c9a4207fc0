//! What the query says. As in the original, what is missing or cannot be read is an error of its own, and what can be
//! read and is out of range is another one, which names the parameter.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::duration;
use super::refusal::too_small;
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::machines::out_of_range;
use mintage_server::chassis::web::form::Form;
use mintage_server::chassis::web::head::Head;

/// The parameters of a request.
pub(super) struct Parameters<'r>(Form<'r>);

impl<'r> Parameters<'r> {
    pub(super) fn of(head: &Head<'r>) -> Parameters<'r> {
        Parameters(Form::of_query(head))
    }

    /// A whole number of a range.
    pub(super) fn number(&self, name: &'static str, range: RangeInclusive<i64>) -> Answer<i64> {
        let text = self.required(name)?;
        let number: i64 = text
            .parse()
            .map_err(|_| unreadable(name, &text, "a whole number"))?;
        match range.contains(&number) {
            true => Ok(number),
            false if number < *range.start() => Err(too_small(name, number, *range.start())),
            false => Err(out_of_range(
                name,
                &format!(
                    "must be from {} to {}, found {number}",
                    range.start(),
                    range.end()
                ),
            )),
        }
    }

    /// Yes or no, in the words that Spring knows.
    pub(super) fn yes(&self, name: &'static str) -> Answer<bool> {
        let text = self.required(name)?;
        match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "yes" | "1" => Ok(true),
            "false" | "off" | "no" | "0" => Ok(false),
            _ => Err(unreadable(name, &text, "true or false")),
        }
    }

    /// A text that is not empty.
    pub(super) fn text(&self, name: &'static str) -> Answer<Cow<'r, str>> {
        let text = self.required(name)?;
        match text.is_empty() {
            true => Err(out_of_range(name, "must not be empty")),
            false => Ok(text),
        }
    }

    /// A length of time.
    pub(super) fn length(&self, name: &'static str) -> Answer<Duration> {
        let text = self.required(name)?;
        duration::read(&text).ok_or_else(|| unreadable(name, &text, "a duration of ISO 8601 such as PT5M"))
    }

    fn required(&self, name: &'static str) -> Answer<Cow<'r, str>> {
        self.0
            .get(name)
            .ok_or_else(|| ServiceError::new(Code::InvalidArgument, format!("parameter {name} is missing")))
    }
}

fn unreadable(name: &str, found: &str, wanted: &str) -> ServiceError {
    let shown: String = found.chars().take(80).collect();
    ServiceError::new(
        Code::InvalidArgument,
        format!("parameter {name} is {shown:?}, and must be {wanted}"),
    )
}
