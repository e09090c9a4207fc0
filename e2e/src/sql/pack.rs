//! The packs as users get them: what `mint sql` prints.

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
        let folder = super::postgres::open_folder();
        let script = Script { folder };
        let text = run::mint(script.folder.path(), ["sql", engine]).ok();
        std::fs::write(script.path(), text).expect("the folder is ours");
        script
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("mintage.sql")
    }
}
