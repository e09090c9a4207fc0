//! Leaf's errors, in the form of its framework.

use hyper::StatusCode;

use super::route::Route;
use mintage_server::chassis::config::Config;
use mintage_server::chassis::error::{Code, ServiceError};
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::head::Head;
use mintage_server::chassis::web::spring;

/// What is said of a page, or logged of a route, that is switched off.
pub(super) const SWITCHED_OFF: &str = "You should config leaf.segment.enable=true first";
/// What is said where there is nothing to decode.
pub(super) const NO_ID: &str = "Required String parameter 'snowflakeId' is not present";

const FAILED: &str = "com.sankuai.inf.leaf.server.exception.LeafServerException";
const MISSING: &str = "org.springframework.web.bind.MissingServletRequestParameterException";

/// A refusal.
pub(super) fn refuse(head: &Head<'_>, config: &Config, error: &ServiceError) -> Response {
    let route = Route::of(head.path);
    let status = status_of(error.code);
    let exception = match status {
        StatusCode::INTERNAL_SERVER_ERROR => Some(FAILED),
        StatusCode::BAD_REQUEST if error.message == NO_ID => Some(MISSING),
        StatusCode::BAD_REQUEST => Some(spring::MISMATCH),
        _ => None,
    };
    let is_id = matches!(route, Some(Route::Segment(_) | Route::Snowflake));
    let off = route.is_some_and(|route| route.is_off(config));
    let result = match status {
        StatusCode::INTERNAL_SERVER_ERROR if is_id => Some(result_of(error, off)),
        _ => None,
    };
    let message = result.map(|id| format!("Result{{id={id}, status=EXCEPTION}}"));
    let message = message.as_deref().unwrap_or(&error.message);
    spring::error(head, status, exception, message)
}

/// Whatever keeps a number from being had is 500, as it was; what is wrong with the request has its own status.
fn status_of(code: Code) -> StatusCode {
    let of_id = matches!(
        code,
        Code::NotFound
            | Code::InvalidName
            | Code::Exhausted
            | Code::Conflict
            | Code::TooMany
            | Code::Unavailable
            | Code::ClockBack
            | Code::Moving
            | Code::MovedBack
            | Code::Stopped
            | Code::Internal
    );
    match of_id {
        true => StatusCode::INTERNAL_SERVER_ERROR,
        false => StatusCode::from_u16(code.row().http_status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Leaf's number for what happened.
fn result_of(error: &ServiceError, off: bool) -> i8 {
    match error.code {
        _ if off || error.is_for_good() => -1,
        Code::NotFound | Code::InvalidName => -2,
        _ => -3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_condition_has_leafs_number_and_status() {
        let head = Head {
            path: "/api/segment/get/x",
            ..Head::default()
        };
        let config = crate::config();
        for (code, message, expected) in [
            (Code::NotFound, "", Some(-2)),
            (Code::InvalidName, "", Some(-2)),
            (Code::Exhausted, "", Some(-3)),
            (Code::Unavailable, "", Some(-3)),
            (Code::ClockBack, "", Some(-3)),
            (Code::Moving, "", Some(-3)),
            (Code::MovedBack, "", Some(-3)),
            (Code::Unavailable, ServiceError::STOPPING, Some(-1)),
            (Code::Stopped, "", Some(-1)),
            (Code::WrongToken, "", None),
        ] {
            let error = ServiceError::new(code, message);
            let response = refuse(&head, &config, &error);
            let id = (response.status == StatusCode::INTERNAL_SERVER_ERROR).then(|| result_of(&error, false));
            assert_eq!(id, expected, "{code}");
        }
        assert_eq!(status_of(Code::WrongToken).as_u16(), 401);
        assert_eq!(status_of(Code::BodyTooLarge).as_u16(), 413);
    }
}
