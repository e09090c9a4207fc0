//! Looks at what is not ours: one answer within its time, whatever comes of it.

use std::time::Duration;

use super::link::Failure;
use super::{Outcome, StoreError, StoreErrorKind};
use crate::runtime::Runtime;

/// Waits for an answer that can change nothing; `place` is where it is asked, for people.
pub(crate) async fn answered_within<T>(
    runtime: &dyn Runtime,
    limit: Duration,
    place: &str,
    call: impl Future<Output = Result<T, Failure>>,
) -> Result<T, StoreError> {
    let answer = tokio::select! {
        biased;
        answer = call => answer,
        () = runtime.sleep(limit) => {
            Err(Failure::Lost(format!("no answer within {} ms", limit.as_millis())))
        }
    };
    answer.map_err(|failure| {
        let (kind, why) = match failure {
            Failure::Refused(kind, why) | Failure::Useless(kind, why) => (kind, why),
            Failure::Lost(why) => (StoreErrorKind::Unavailable, why),
            Failure::Stranger => (StoreErrorKind::Foreign, "another server answers".to_string()),
        };
        StoreError::new(kind, Outcome::NotDone, format!("{place}: {why}"))
    })
}
