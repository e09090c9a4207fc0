//! Refusals as gRPC has them: a status, and a `google.rpc.ErrorInfo` with the code that every face has for it.

use std::collections::HashMap;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::error::ServiceError;

/// Whose reasons they are.
const DOMAIN: &str = "mintage";

/// A refusal.
pub(super) fn of(error: &ServiceError) -> Status {
    let mut says = HashMap::new();
    if let Some(hint) = &error.hint {
        says.insert("hint".to_string(), hint.to_string());
    }
    if let Some(limit) = &error.rate_limit {
        says.insert(
            "limit".to_string(),
            format!("{} {} a second", limit.per_second, limit.what),
        );
    }
    let mut details = ErrorDetails::with_error_info(error.code.as_str().to_uppercase(), DOMAIN, says);
    if let Some(seconds) = error.retry_after_s {
        details.set_retry_info(Some(Duration::from_secs(seconds)));
    }
    let status = code(error.code.row().grpc_status);
    Status::with_error_details(status, error.message.to_string(), details)
}

/// The status of a name in the table of codes.
fn code(name: &str) -> Code {
    match name {
        "INVALID_ARGUMENT" => Code::InvalidArgument,
        "DEADLINE_EXCEEDED" => Code::DeadlineExceeded,
        "NOT_FOUND" => Code::NotFound,
        "ALREADY_EXISTS" => Code::AlreadyExists,
        "PERMISSION_DENIED" => Code::PermissionDenied,
        "RESOURCE_EXHAUSTED" => Code::ResourceExhausted,
        "FAILED_PRECONDITION" => Code::FailedPrecondition,
        "ABORTED" => Code::Aborted,
        "OUT_OF_RANGE" => Code::OutOfRange,
        "UNIMPLEMENTED" => Code::Unimplemented,
        "INTERNAL" => Code::Internal,
        "UNAVAILABLE" => Code::Unavailable,
        "UNAUTHENTICATED" => Code::Unauthenticated,
        _ => Code::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CODES;

    #[test]
    fn every_code_has_a_status_and_only_unavailable_invites_another_try() {
        for row in CODES {
            let status = code(row.grpc_status);
            assert_ne!(status, Code::Unknown, "{}", row.name);
            // Libraries ask again by themselves where they read this.
            let invites = status == Code::Unavailable;
            assert!(
                !invites || row.code.may_be_retried() || row.name == "tls_handshake",
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn a_refusal_says_what_every_face_says() {
        let error = ServiceError::new(crate::error::Code::OnlyForward, "orders is at 13")
            .with_hint("restart it")
            .with_retry_after_s(2);
        let status = of(&error);
        let details = status.get_error_details();
        let info = details.error_info().unwrap();
        assert_eq!(
            (info.reason.as_str(), info.domain.as_str()),
            ("ONLY_FORWARD", DOMAIN)
        );
        assert_eq!(info.metadata["hint"], "restart it");
        assert_eq!(
            details.retry_info().unwrap().retry_delay,
            Some(Duration::from_secs(2))
        );
        assert_eq!(
            (status.code(), status.message()),
            (Code::FailedPrecondition, "orders is at 13")
        );
    }
}
