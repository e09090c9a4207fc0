//! The embedded store on disks that lose power, fill up, fail and lie.
//!
//! | file | what |
//! | --- | --- |
//! | `work` | a process that reserves and says what was acknowledged to it |
//! | `strace` | which calls it made, in order, with what was written |
//! | `images` | what a disk may hold when the power goes: any part of what was not synced |
//! | `judge` | what a folder must still say |
//! | `flips` | damage to every byte |
//! | `inject` | every call of a process killed or failed |
//! | `cuts` | real power cuts of a file system |

pub mod cuts;
pub mod flips;
pub mod images;
pub mod inject;
mod judge;
mod power;
mod strace;
pub mod work;

use std::path::Path;

/// A folder for files that are read soon and then gone: in memory, where there is a file system for that.
pub(crate) fn scratch() -> std::io::Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::Builder::new().prefix("mint-proof-").tempdir_in(memory),
        false => tempfile::Builder::new().prefix("mint-proof-").tempdir(),
    }
}

/// A tokio runtime on this thread, and the ledger's runtime on it.
pub(crate) fn block_on<F: std::future::Future>(
    work: impl FnOnce(std::sync::Arc<mintage_ledger::SystemRuntime>) -> F,
) -> F::Output {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without I/O needs nothing from the system");
    tokio.block_on(async {
        work(mintage_ledger::SystemRuntime::new(
            tokio::runtime::Handle::current(),
        ))
        .await
    })
}
