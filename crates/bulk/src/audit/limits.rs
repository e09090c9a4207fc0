//! An audit reads no more than it may, and ends when nobody waits for it.

use std::sync::atomic::Ordering;

use mintage::Timestamp;

use super::{AuditOptions, audit};
use crate::input::{Limits, Source};
use crate::rows::RowFormat;

/// The options of an audit of a file, which holds this text, compressed.
fn of_text(folder: &tempfile::TempDir, text: &[u8]) -> AuditOptions {
    let path = folder.path().join("ids.zst");
    std::fs::write(&path, zstd::encode_all(text, 1).unwrap()).unwrap();
    let inputs = vec![(Source::File(path), RowFormat::Lines)];
    AuditOptions::new(inputs, Timestamp::from_unix_millis(1_800_000_000_000))
}

#[test]
fn a_small_file_of_much_text_is_read_as_far_as_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    for text in [b"1\n".repeat(2 << 20), vec![b'1'; 4 << 20]] {
        let mut options = of_text(&folder, &text);
        options.limits.text_bytes = 1 << 20;
        let error = audit(&options, &mut |_| {}).unwrap_err();
        assert!(
            error.message.contains("more than 1048576 bytes of text"),
            "{error:?}"
        );
    }
}

#[test]
fn an_audit_that_nobody_waits_for_ends_while_it_reads_and_while_it_sorts() {
    let folder = tempfile::tempdir().unwrap();
    for when in [crate::Phase::Reading, crate::Phase::Sorting] {
        let mut options = of_text(&folder, &b"123456\n".repeat(1 << 19));
        options.limits = Limits::default();
        let given_up = options.limits.given_up.clone();
        let mut seen = 0u64;
        let error = audit(&options, &mut |progress| {
            seen += u64::from(progress.phase == when);
            given_up.store(progress.phase == when, Ordering::Relaxed);
        });
        assert!(error.unwrap_err().message.contains("nobody waits"), "{when:?}");
        assert!(seen > 0);
    }
}
