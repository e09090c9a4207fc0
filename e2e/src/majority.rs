//! Stores of three members that agree by majority: any one may go away, two may not.

use std::time::Duration;

use mintage_ledger::{
    Cas, Class, Marks, StoreErrorKind, StoreSettings, SystemRuntime, Version, init_store, open_store,
};
use mintage_testing::{invariant, violated};

use crate::store_suite::{Engine, key, patient, quick, until_ok, value};

/// Whichever member the store is connected to goes away, in turn, dead or frozen; then two at once.
///
/// # Panics
/// When a write is lost or done twice, or the store is not of class S for the reason `why`.
pub fn any_one_member_may_go<E: Engine>(members: &mut [E], url: &str, connect_timeout: Duration, why: &str) {
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("threads can be had");
    let runtime = SystemRuntime::new(tokio.handle().clone());
    let settings = StoreSettings {
        connect_timeout,
        ..quick()
    };
    let allowed = patient();
    let made = tokio.block_on(until_ok(|| init_store(url, &allowed, runtime.clone())));
    let store = tokio.block_on(until_ok(|| open_store(url, &settings, runtime.clone())));
    assert_eq!(store.cluster_id(), made.cluster_id);
    let found = store.durability();
    assert_eq!(found.class, Class::Survives, "{found:?}");
    assert!(found.why.contains(why), "{found:?}");
    let key = key("seq/three");
    let mut version = 0;
    let mut write = || {
        let expected = (version > 0).then_some(Version::of(version));
        tokio.block_on(async {
            // An attempt of unknown outcome may have landed: then the register says so.
            let done = until_ok(|| {
                let new = value(version, u128::from(version) + 1);
                store.compare_and_set(&key, expected, new, Marks::NeverLower)
            });
            match done.await {
                Cas::Done(now) => invariant!(now.number() == version + 1, "{now:?} after {version}"),
                Cas::Lost(found) => invariant!(
                    found
                        .as_ref()
                        .is_some_and(|found| found.version.number() == version + 1),
                    "{found:?} after {version}"
                ),
            }
        });
        version += 1;
        version
    };
    write();
    for member in &mut *members {
        member.kill();
        write();
        write();
        member.start();
        member.freeze();
        write();
        write();
        member.thaw();
    }
    let last = write();
    assert!(store.stopped().is_none());
    // Two of three gone is a majority gone: nothing is written, and nothing is lost.
    members[0].freeze();
    members[1].freeze();
    let late = store.compare_and_set(&key, Some(Version::of(last)), value(last, 99), Marks::NeverLower);
    let refused = tokio.block_on(late).expect_err("no majority answers");
    assert_eq!(refused.kind, StoreErrorKind::Unavailable, "{refused:?}");
    members[0].thaw();
    members[1].thaw();
    let found = tokio.block_on(until_ok(|| store.get(&key)));
    let found = found.unwrap_or_else(|| violated("it was written, and is gone"));
    invariant!(
        found.version.number() == last || found.value.token == 99,
        "{found:?} after version {last}"
    );
}
