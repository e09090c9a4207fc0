//! Ids of a pool for the clients of other systems.

use crate::error::Answer;
use crate::service::Door;

/// Mints one id of a pool: from memory where this thread asked it last, else as far as its window reaches.
///
/// # Errors
/// As [`Door::mint`].
pub(crate) async fn mint_one(thread: &Door, pool: &str) -> Answer<u64> {
    let mut id = [0];
    if thread.try_mint(pool.as_bytes(), &mut id) == 0 {
        thread.mint(pool.as_bytes(), &mut id).await?;
    }
    Ok(id[0])
}
