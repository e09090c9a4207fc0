//! A shared store that is opened later.

use std::fmt;
use std::sync::Arc;

use crate::runtime::BoxFuture;
use crate::{Seen, Store, StoreError};

/// Opens one store; called again while it is not open.
pub type OpenMember = Box<dyn Fn() -> BoxFuture<'static, Result<Arc<dyn Store>, StoreError>> + Send + Sync>;

/// A shared store that is not open yet, and what is known of it.
pub struct LateStore {
    /// Its scheme.
    pub scheme: &'static str,
    /// The cluster that it must be.
    pub cluster_id: u128,
    /// What this machine has seen of it.
    pub seen: Option<Arc<Seen>>,
    /// Opens it.
    pub open: OpenMember,
    /// Why it could not be opened.
    pub why: StoreError,
}

impl fmt::Debug for LateStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} store that is not open: {}", self.scheme, self.why)
    }
}
