//! What a file looked like: enough to see that it is another one, was written again, or belongs to somebody else now.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// When it was written, and when anything of it was changed, its owner and mode included (seconds and nanoseconds of each);
/// its length and its number. `None`: it is not there.
pub(crate) type Seen = Option<([i64; 4], u64, u64)>;

pub(crate) fn seen(file: &Path) -> Seen {
    let found = fs::metadata(file).ok()?;
    let times = [
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    ];
    Some((times, found.len(), found.ino()))
}
