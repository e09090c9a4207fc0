//! Refusals in PostgREST's form: `{"code", "details", "hint", "message"}` and `Proxy-Status`.

use hyper::StatusCode;
use serde::Serialize;

use mintage_server::chassis::error::{Code, ServiceError};
use mintage_server::chassis::web::answer::Response;

/// The form of every refusal, and of most answers.
pub(super) const JSON: &str = "application/json; charset=utf-8";

/// The methods of a function, as the original tells them.
pub(super) const METHODS: &str = "OPTIONS,POST";

/// A refusal with all that its document says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    /// What it is counted as.
    pub(super) code: Code,
    pub(super) status: StatusCode,
    /// Of PostgREST (`PGRST…`), or of PostgreSQL (SQLSTATE).
    pub(super) state: &'static str,
    pub(super) message: String,
    pub(super) details: Option<String>,
    pub(super) hint: Option<String>,
    pub(super) retry_after_s: Option<u64>,
}

/// The document, its members in PostgREST's order.
#[derive(Serialize)]
struct Document<'a> {
    code: &'a str,
    details: Option<&'a str>,
    hint: Option<&'a str>,
    message: &'a str,
}

impl Refusal {
    /// A refusal with the status that our own face of HTTP has for it.
    pub(super) fn new(code: Code, state: &'static str, message: impl Into<String>) -> Refusal {
        let status = StatusCode::from_u16(code.row().http_status);
        Refusal {
            code,
            status: status.expect("a row of CODES has a status"),
            state,
            message: message.into(),
            details: None,
            hint: None,
            retry_after_s: None,
        }
    }

    /// A parameter that makes no sense.
    pub(super) fn parameter(code: Code, message: impl Into<String>) -> Refusal {
        Refusal::new(code, "PGRST102", message)
    }

    pub(super) fn with_status(self, status: StatusCode) -> Refusal {
        Refusal { status, ..self }
    }

    pub(super) fn with_details(self, details: impl Into<String>) -> Refusal {
        Refusal {
            details: Some(details.into()),
            ..self
        }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Refusal {
        Refusal {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// What the service refuses, where the face has no words of its own for it.
    pub(super) fn of(error: &ServiceError) -> Refusal {
        let refusal = |state, message: &str| Refusal::new(error.code, state, message);
        let mut refusal = match error.code {
            Code::Unauthenticated => return refusal("PGRST302", "Anonymous access is disabled"),
            Code::WrongToken => return refusal("PGRST301", "No suitable key or wrong key type"),
            Code::Forbidden | Code::CrossOrigin | Code::WrongHost => refusal("42501", "permission denied"),
            code if code.row().http_status == 503 => refusal("PGRST000", "Database connection error."),
            Code::NotFound => return refusal("42P01", &error.message),
            Code::Exhausted => {
                return refusal("2200H", &error.message).with_status(StatusCode::BAD_REQUEST);
            }
            Code::TooMany => refusal("53400", "configuration limit exceeded")
                .with_status(StatusCode::INTERNAL_SERVER_ERROR),
            Code::Conflict => refusal("40001", "could not serialize access due to concurrent update"),
            Code::Internal => refusal("PGRSTX00", "Internal error"),
            _ => return Refusal::parameter(error.code, &*error.message),
        };
        refusal.details = Some(error.message.to_string());
        refusal.hint = error.hint.as_ref().map(|hint| hint.to_string());
        // Every 503 says when to ask again; the engine adds it where the error does.
        if refusal.status == StatusCode::SERVICE_UNAVAILABLE && error.retry_after_s.is_none() {
            refusal.retry_after_s = Some(RETRY_S);
        }
        refusal
    }

    /// The answer.
    pub(super) fn response(self) -> Response {
        let document = Document {
            code: self.state,
            details: self.details.as_deref(),
            hint: self.hint.as_deref(),
            message: &self.message,
        };
        let body = mintage_wire::json::to_vec(&document).expect("texts are JSON");
        let mut response = Response::new(self.status, JSON, body).refusing(self.code);
        response.add("proxy-status", format!("PostgREST; error={}", self.state));
        match self.status {
            StatusCode::UNAUTHORIZED => response.add("www-authenticate", "Bearer"),
            StatusCode::METHOD_NOT_ALLOWED => response.add("allow", METHODS),
            _ => {}
        }
        if let Some(seconds) = self.retry_after_s {
            response.add("retry-after", seconds.to_string());
        }
        response
    }
}

impl From<ServiceError> for Refusal {
    fn from(error: ServiceError) -> Refusal {
        let refusal = Refusal::of(&error);
        Refusal {
            retry_after_s: error.retry_after_s.or(refusal.retry_after_s),
            ..refusal
        }
    }
}

/// When to ask a server again that does not know when it will answer.
const RETRY_S: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use mintage_server::chassis::error::CODES;

    #[test]
    fn every_refusal_of_the_service_has_a_state_and_a_status() {
        let mut table = String::new();
        for row in CODES {
            let refusal = Refusal::from(ServiceError::new(row.code, "why"));
            let (status, state, name) = (refusal.status.as_u16(), refusal.state, row.name);
            let retry = refusal
                .retry_after_s
                .map_or(String::new(), |seconds| format!(" {seconds}"));
            table.push_str(&format!("{name} {status} {state}{retry}\n"));
            // Our words are never lost.
            let told = refusal.message == "why" || refusal.details.as_deref() == Some("why");
            assert!(told || status == 401, "{name}");
        }
        let expected = "invalid_name 400 PGRST102\ninvalid_count 400 PGRST102\ninvalid_argument 400 PGRST102\n\
            invalid_body 400 PGRST102\nprotocol_error 400 PGRST102\ntls_handshake 400 PGRST102\nunknown_command 404 PGRST102\n\
            unknown_route 404 PGRST102\nunknown_format 404 PGRST102\nnot_found 404 42P01\n\
            method_not_allowed 405 PGRST102\nnot_acceptable 406 PGRST102\nexists 409 PGRST102\n\
            only_forward 409 PGRST102\nneeds_allow_repeat 409 PGRST102\nexhausted 400 2200H\nconflict 409 40001\n\
            too_many 500 53400\nunsupported_media_type 415 PGRST102\nidempotency_key 400 PGRST102\n\
            body_too_large 413 PGRST102\nheader_too_large 431 PGRST102\nunauthenticated 401 PGRST302\n\
            wrong_token 401 PGRST301\nforbidden 403 42501\ncross_origin 403 42501\nwrong_host 421 42501\n\
            request_timeout 408 PGRST102\nidle_timeout 408 PGRST102\nslow_reader 408 PGRST102\nrate_limited 429 PGRST102\n\
            too_many_connections 503 PGRST000 5\nunavailable 503 PGRST000 5\nclock_back 503 PGRST000 5\n\
            moving 503 PGRST000 5\nmoved_back 503 PGRST000 5\nstopped 503 PGRST000 5\ninternal 500 PGRSTX00\n";
        assert_eq!(table, expected);
        let soon = ServiceError::new(Code::Unavailable, "why").with_retry_after_s(2);
        assert_eq!(Refusal::from(soon.clone()).retry_after_s, Some(2));
        // The engine adds what the error says.
        assert_eq!(Refusal::of(&soon).retry_after_s, None);
    }
}
