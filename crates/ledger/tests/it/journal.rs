//! A node's journal in its folder.

use std::fs;

use mintage_ledger::{StoreSettings, SystemRuntime, open_journal};

#[test]
fn a_journal_that_cannot_be_read_is_set_aside_and_another_one_begun() {
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()
        .unwrap();
    tokio.block_on(async {
        let state = tempfile::tempdir().unwrap();
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        let folder = state.path().join("journal").join(format!("{:032x}", 7)).join("0");
        let mut met = Vec::new();
        for damaged in ["mint.db", "witness", "mint.db"] {
            let journal = open_journal(state.path(), 7, &StoreSettings::default(), runtime.clone())
                .await
                .unwrap();
            met.push(journal.cluster_id());
            journal.close().await.unwrap();
            drop(journal);
            fs::write(folder.join(damaged), "no longer what it was").unwrap();
        }
        let last = open_journal(state.path(), 7, &StoreSettings::default(), runtime)
            .await
            .unwrap();
        met.push(last.cluster_id());
        met.sort_unstable();
        met.dedup();
        assert_eq!(met.len(), 4, "each of them is a new one");
        for n in 1..=3 {
            assert!(
                folder.with_extension(format!("unusable-{n}")).is_dir(),
                "{n} is kept"
            );
        }
    });
}

#[test]
fn a_state_folder_that_is_none_is_refused_by_name() {
    let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
    tokio.block_on(async {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("journal");
        fs::write(&file, "").unwrap();
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        let refused = open_journal(state.path(), 7, &StoreSettings::default(), runtime)
            .await
            .unwrap_err();
        let path = file.display().to_string();
        assert!(
            refused.message.starts_with(&format!("cannot make {path}")),
            "{refused}"
        );
    });
}
