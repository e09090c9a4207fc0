//! What a file looked like: enough to see that it is another one, or was written again.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

/// When it was written, its length and its number; `None`: it is not there.
pub(crate) type Seen = Option<(SystemTime, u64, u64)>;

pub(crate) fn seen(file: &Path) -> Seen {
    let found = fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len(), found.ino()))
}
