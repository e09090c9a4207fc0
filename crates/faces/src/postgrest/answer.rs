//! Answers: which form a client takes, and how rows stand in it.

use hyper::StatusCode;

use super::preferences::Preferences;
use super::refusal::{JSON, Refusal};
use crate::json_number::put_number;
use mintage_server::chassis::error::Code;
use mintage_server::chassis::web::answer::Response;

const OBJECT: &str = "application/vnd.pgrst.object+json; charset=utf-8";

/// A form of answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Json,
    /// One row, not a list of one.
    Object,
}

impl Form {
    /// The form that a client likes best.
    ///
    /// # Errors
    /// It takes neither.
    pub(super) fn accepted(accept: Option<&str>) -> Result<Form, Refusal> {
        let accept = accept.unwrap_or_default().trim();
        if accept.is_empty() {
            return Ok(Form::Json);
        }
        let mut best: Option<(f32, Form)> = None;
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let Some(form) = parts.next().and_then(Form::named) else {
                continue;
            };
            let weight = parts.find_map(|part| part.strip_prefix("q="));
            let weight = weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0));
            if weight > best.map_or(0.0, |(highest, _)| highest) {
                best = Some((weight, form));
            }
        }
        best.map(|(_, form)| form).ok_or_else(|| {
            let types = accept.split(',').filter_map(|range| range.split(';').next());
            let types: Vec<&str> = types.map(str::trim).collect();
            let message = format!("None of these media types are available: {}", types.join(", "));
            Refusal::new(Code::NotAcceptable, "PGRST107", message)
        })
    }

    fn named(range: &str) -> Option<Form> {
        match range.to_ascii_lowercase().as_str() {
            "*/*"
            | "application/*"
            | "application/json"
            | "application/vnd.pgrst.array"
            | "application/vnd.pgrst.array+json" => Some(Form::Json),
            "application/vnd.pgrst.object" | "application/vnd.pgrst.object+json" => Some(Form::Object),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Form::Json => JSON,
            Form::Object => OBJECT,
        }
    }
}

/// How an answer is to be.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) form: Form,
    pub(super) preferences: Preferences,
    /// Whether numbers that JavaScript rounds stand in quotes.
    pub(super) strings: bool,
    /// The schema that the client has named.
    pub(super) profile: Option<String>,
}

impl Wanted {
    /// The value of a function.
    pub(super) fn scalar(&self, number: i64) -> Response {
        let mut body = Vec::new();
        self.put(number, &mut body);
        self.response(1, body)
    }

    /// The rows of a function that gives a set, a blank after each comma as from `json_agg`.
    pub(super) fn rows(&self, numbers: &[i64]) -> Response {
        if let (Form::Object, [number]) = (self.form, numbers) {
            return self.scalar(*number);
        }
        let mut body = vec![b'['];
        for (at, number) in numbers.iter().enumerate() {
            if at > 0 {
                body.extend_from_slice(b", ");
            }
            self.put(*number, &mut body);
        }
        body.push(b']');
        self.response(numbers.len(), body)
    }

    /// Refuses to give so many rows as one object: before any number is taken, which the original would lose.
    pub(super) fn check_rows(&self, rows: u64) -> Result<(), Refusal> {
        if self.form != Form::Object || rows == 1 {
            return Ok(());
        }
        let message = "Cannot coerce the result to a single JSON object";
        let refusal = Refusal::new(Code::NotAcceptable, "PGRST116", message);
        Err(refusal.with_details(format!("The result contains {rows} rows")))
    }

    fn put(&self, number: i64, body: &mut Vec<u8>) {
        put_number(number, self.strings, body);
    }

    fn response(&self, rows: usize, body: Vec<u8>) -> Response {
        let mut response = Response::new(StatusCode::OK, self.form.as_str(), body);
        let total = match self.preferences.counts() {
            true => rows.to_string(),
            false => "*".to_string(),
        };
        let last = rows.saturating_sub(1);
        response.add("content-range", format!("0-{last}/{total}"));
        if let Some(applied) = self.preferences.applied() {
            response.add("preference-applied", applied);
        }
        if let Some(profile) = &self.profile {
            response.add("content-profile", profile.clone());
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_the_one_that_is_liked_best() {
        for (accept, form) in [
            (None, Some(Form::Json)),
            (Some(""), Some(Form::Json)),
            (Some("*/*"), Some(Form::Json)),
            (Some("application/json"), Some(Form::Json)),
            (Some("application/vnd.pgrst.object+json"), Some(Form::Object)),
            (
                Some("application/vnd.pgrst.object+json;nulls=stripped"),
                Some(Form::Object),
            ),
            (
                Some("application/vnd.pgrst.array+json;nulls=stripped"),
                Some(Form::Json),
            ),
            (Some("text/csv, */*;q=0.1"), Some(Form::Json)),
            (
                Some("application/json;q=0.5, application/vnd.pgrst.object+json"),
                Some(Form::Object),
            ),
            (Some("application/json;q=0"), None),
            (Some("text/csv;header=present, image/png"), None),
        ] {
            assert_eq!(Form::accepted(accept).ok(), form, "{accept:?}");
        }
        let refusal = Form::accepted(Some("text/csv;header=present, image/png")).unwrap_err();
        assert_eq!(
            refusal.message,
            "None of these media types are available: text/csv, image/png"
        );
    }
}
