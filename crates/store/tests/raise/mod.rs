//! One write after the other to one register, each raising its mark by one.

use mintage_store::{Cas, Claim, Key, Marks, Store, StoreError, Value, Version};

/// The write after `version`, 0 where there is no register: a claim, or the whole value.
pub(crate) async fn raise(
    store: &dyn Store,
    key: &Key,
    version: u64,
    by_claim: bool,
    body: &str,
) -> Result<Cas, StoreError> {
    let token = u128::from(version) + 1;
    if by_claim && version > 0 {
        let claim = Claim {
            key: key.clone(),
            expected: Version::of(version),
            add: 1,
            token,
        };
        return store.claim(&claim).await;
    }
    let new = Value {
        mark: version + 1,
        token,
        body: body.into(),
    };
    let expected = (version > 0).then_some(Version::of(version));
    store.compare_and_set(key, expected, new, Marks::NeverLower).await
}
