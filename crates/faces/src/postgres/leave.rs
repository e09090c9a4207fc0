//! `mint.allow_repeat`: leave to turn sequences back. Administrators alone may take it, and the audit trail tells of each
//! that does or tries, by whatever words.

use super::errors::{Result, SqlError, shown};
use super::variables::ALLOW_REPEAT;
use mintage_server::chassis::audit::{self, Act, audited};
use mintage_server::chassis::auth::{Identity, Right, What};
use mintage_server::chassis::faces;
use mintage_server::chassis::metrics::FaceId;
use mintage_server::chassis::thread::ServingThread;
use mintage_server::chassis::transport::Peer;

/// Whether a setting is that leave.
pub(super) fn is(name: &str) -> bool {
    name.eq_ignore_ascii_case(ALLOW_REPEAT)
}

/// Sets it to `value`, for who may.
///
/// # Errors
/// Who asks may not; the trail cannot be told; or what `set` refuses.
pub(super) async fn set(
    thread: &ServingThread,
    (face, peer): (FaceId, Peer),
    who: &Identity,
    value: &str,
    set: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let act = Act {
        what: "set mint.allow_repeat",
        names: Vec::new(),
        token: who.name().to_string(),
        peer: peer.to_string(),
        face: faces::name(face),
        with: Some(shown(value).to_string()),
    };
    if who.check(Right::Admin, What::Nothing).is_err() {
        audit::refused(thread.service(), act).await;
        let message = format!("permission denied to set parameter \"{ALLOW_REPEAT}\"");
        return Err(SqlError::new("42501", message));
    }
    let refused = |done: &Result<()>| done.as_ref().err().map(|error| error.code);
    audited(thread.service(), act, async { set() }, refused).await??;
    let token = who.name();
    tracing::warn!(token, %peer, value, "mint.allow_repeat was set: sequences may be turned back");
    Ok(())
}
