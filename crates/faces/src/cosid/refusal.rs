//! Errors as the original writes them: `code`, `msg` and `errors`, in this order.
//!
//! Its Java client reads `code` of answers with status 400 alone, and makes exceptions of `M-01`, `M-02` and `M-03`.

use hyper::StatusCode;
use serde::Serialize;

use super::JSON;
use super::route::Route;
use mintage_server::chassis::config::Config;
use mintage_server::chassis::error::{Code, ServiceError};
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::head::Head;

#[derive(Serialize)]
struct Refusal<'a> {
    code: &'a str,
    msg: Option<&'a str>,
    errors: &'a [Field<'a>],
}

/// A parameter that is out of range.
#[derive(Serialize)]
struct Field<'a> {
    field: &'a str,
    msg: &'a str,
}

/// A refusal in the original's form.
pub(super) fn refuse(head: &Head<'_>, _: &Config, error: &ServiceError) -> Response {
    let route = Route::of(head.path);
    let of_machines = matches!(route, Some(Route::Machines { .. }));
    // What `machines::out_of_range` made: the parameter stands before the colon.
    let field = (error.code == Code::InvalidCount)
        .then(|| error.message.split_once(": "))
        .flatten();
    let (status, code) = match (error.code, field) {
        // What `too_small` made.
        (Code::InvalidCount, None) => (StatusCode::BAD_REQUEST, "500".to_string()),
        _ => status_and_code(error.code, of_machines),
    };
    let fields: Vec<Field<'_>> = field
        .map(|(field, msg)| Field { field, msg })
        .into_iter()
        .collect();
    let document = Refusal {
        code: &code,
        msg: fields.is_empty().then_some(&*error.message),
        errors: &fields,
    };
    let body = mintage_wire::json::to_vec(&document).expect("texts are JSON");
    let mut response = Response::new(status, JSON, body);
    match error.code {
        Code::Unauthenticated | Code::WrongToken => response.add("www-authenticate", "Bearer realm=\"mint\""),
        Code::MethodNotAllowed => {
            if let Some(route) = route {
                response.add("allow", route.methods());
            }
        }
        _ => {}
    }
    response
}

/// A number below the least that a parameter may be, in the original's words.
pub(super) fn too_small(name: &str, number: i64, least: i64) -> ServiceError {
    let than = if least == 0 { "or equal to 0" } else { "0" };
    let message = format!("{name}:[{number}] must be greater than {than}!");
    ServiceError::new(Code::InvalidCount, message)
}

fn status_and_code(code: Code, of_machines: bool) -> (StatusCode, String) {
    let fixed = |status, code: &str| (status, code.to_string());
    match code {
        // What `machines::refusal` made of the ledger's words.
        Code::TooMany if of_machines => fixed(StatusCode::BAD_REQUEST, "M-01"),
        Code::NotFound if of_machines => fixed(StatusCode::BAD_REQUEST, "M-02"),
        Code::Conflict if of_machines => fixed(StatusCode::BAD_REQUEST, "M-03"),
        Code::InvalidCount => fixed(StatusCode::BAD_REQUEST, "400"),
        Code::NotFound | Code::InvalidName => fixed(StatusCode::BAD_REQUEST, "500"),
        // What is said before a path is looked at.
        Code::Protocol
        | Code::UnknownRoute
        | Code::MethodNotAllowed
        | Code::UnsupportedMediaType
        | Code::BodyTooLarge
        | Code::HeaderTooLarge
        | Code::Unauthenticated
        | Code::WrongToken
        | Code::Forbidden
        | Code::CrossOrigin
        | Code::WrongHost
        | Code::RequestTimeout => {
            let status = StatusCode::from_u16(code.row().http_status).unwrap_or(StatusCode::BAD_REQUEST);
            (status, status.as_str().to_string())
        }
        _ => fixed(StatusCode::INTERNAL_SERVER_ERROR, "500"),
    }
}
