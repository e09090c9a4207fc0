//! Ids of a pool for the clients of other systems.

use mintage_server::chassis::auth::{Identity, Right, What};
use mintage_server::chassis::error::Answer;
use mintage_server::chassis::service::Door;
use mintage_server::chassis::transport::Peer;

/// Mints one id of a pool for whoever may: from memory where this thread asked it last, else as far as its window reaches.
///
/// # Errors
/// [`Code::Forbidden`](mintage_server::chassis::error::Code::Forbidden), and as [`Door::mint`].
pub(crate) async fn mint_one(thread: &Door, who: &Identity, peer: Peer, pool: &str) -> Answer<u64> {
    who.check(Right::Allocate, What::Named(pool.as_bytes()))?;
    thread.service().spend(who, peer, 1);
    let mut id = [0];
    if thread.try_mint(pool.as_bytes(), &mut id) == 0 {
        thread.mint(pool.as_bytes(), &mut id).await?;
    }
    Ok(id[0])
}
