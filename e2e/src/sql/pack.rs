//! The packs as users get them: what `mint sql` prints.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::{binary, run};

/// The version of both packs.
pub const VERSION: &str = "1.0";

/// The folder of one pack's sources, `postgres` or `mariadb`.
pub fn folder(engine: &str) -> PathBuf {
    binary::root().join("sql").join(engine)
}

/// A script in a file of its own, which goes with it.
#[derive(Debug)]
pub struct Script {
    folder: TempDir,
}

impl Script {
    /// What `mint sql ENGINE` prints.
    ///
    /// # Panics
    /// When it cannot be printed or written.
    pub fn of(engine: &str) -> Script {
        let folder = open_folder();
        let script = Script { folder };
        let text = run::mint(script.folder.path(), ["sql", engine]).ok();
        fs::write(script.path(), text).expect("the folder is ours");
        script
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("mintage.sql")
    }
}

/// A temporary folder that other accounts may pass through.
pub(crate) fn open_folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let open = Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), open).expect("the folder is ours");
    folder
}
