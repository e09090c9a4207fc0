//! `grpc.health.v1.Health`: what `/readyz` says. The service `""` is all of it; `sequences`, `pools` and names are parts, as
//! behind `/readyz?for=`.

use std::time::Duration;

use mintage_wire::percent;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use super::asking::Asking;
use super::message::{self, Reply, Source};
use super::transcode::Request;
use crate::error::{Code, ServiceError};
use crate::service::Answer;
use crate::watch::Verdict;

/// `Check`
pub(super) async fn check(asking: &Asking, message: &[u8]) -> Answer<Reply> {
    let asked: HealthCheckRequest = message::read(message)?;
    let status = status(asking, &asked.service).await?;
    Ok(Reply::one(&HealthCheckResponse {
        status: status.into(),
    }))
}

/// `Watch`
pub(super) async fn watch(asking: Asking, message: &[u8]) -> Answer<Reply> {
    let asked: HealthCheckRequest = message::read(message)?;
    Ok(Reply::stream(Changes {
        asking,
        service: asked.service,
        told: None,
    }))
}

async fn status(asking: &Asking, service: &str) -> Answer<ServingStatus> {
    let query = match service {
        "" | "mintage.v1.Mint" => String::new(),
        part => format!("for={}", percent::encode(part)),
    };
    let request = Request {
        path: "/readyz".into(),
        query,
        body: None,
    };
    let answered = request.answer(asking, "GET").await?;
    Ok(match answered.status.is_success() {
        true => ServingStatus::Serving,
        false => ServingStatus::NotServing,
    })
}

/// A status, told whenever it changes.
struct Changes {
    asking: Asking,
    service: String,
    told: Option<ServingStatus>,
}

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Source for Changes {
    async fn next(&mut self) -> Answer<Option<Vec<u8>>> {
        loop {
            if matches!(
                self.asking.client.watch().peek(),
                Some(Verdict::Stopping | Verdict::Now)
            ) {
                return Err(ServiceError::new(Code::Unavailable, ServiceError::STOPPING));
            }
            let now = match status(&self.asking, &self.service).await {
                // As the service says: what is unknown may be known later.
                Err(error) if error.code == Code::NotFound => ServingStatus::ServiceUnknown,
                found => found?,
            };
            if self.told.replace(now) != Some(now) {
                let mut out = Vec::new();
                message::write(&HealthCheckResponse { status: now.into() }, &mut out);
                return Ok(Some(out));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}
