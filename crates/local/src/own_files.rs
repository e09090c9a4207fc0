//! The state files of one user's folder: one for each layout and worker, and one beside them that says which worker is
//! the user's own, so that naming it gives the same file as leaving it out.

use std::path::{Path, PathBuf};

use mintage::Layout;

use crate::state_file::{StateFile, StateFileError};

/// The state files of a layout in a folder that every machine of a user may reach.
///
/// ```
/// use mintage_local::own_files::OwnFiles;
/// let folder = tempfile::tempdir().unwrap();
/// let layout = mintage::preset("twitter").expect("a preset").layout();
/// let files = OwnFiles::new(folder.path(), &layout, Vec::new());
/// assert_eq!(files.own_worker(None, || 7)?, 7);
/// assert_eq!(files.own_worker(None, || 8)?, 7); // kept from now on
/// assert_eq!(files.own_worker(Some(7), || 8)?, 8); // unless it is to be another
/// assert!(files.of(8)?.path().starts_with(folder.path()));
/// # Ok::<(), mintage_local::state_file::StateFileError>(())
/// ```
#[derive(Debug)]
pub struct OwnFiles {
    folder: PathBuf,
    name: String,
    workers: u64,
    allowed: Vec<String>,
}

impl OwnFiles {
    /// Those of `layout` in `folder`, also on the file systems `allowed` (see [`StateFile::allow_file_systems`]).
    /// Layouts that make the same ids share them.
    pub fn new(folder: &Path, layout: &Layout, allowed: Vec<String>) -> OwnFiles {
        OwnFiles {
            folder: folder.to_path_buf(),
            name: format!("snowflake-{}", layout.fingerprint().replace(['/', '='], "-")),
            workers: layout.workers(),
            allowed,
        }
    }

    /// The file of a worker.
    ///
    /// # Errors
    /// As [`StateFile::of_this_machine`].
    pub fn of(&self, worker: u64) -> Result<StateFile, StateFileError> {
        self.file(&worker.to_string())
    }

    /// The user's own worker: the one that is kept, unless it is `not`; else what `draw` gives, which is kept then.
    ///
    /// # Errors
    /// As [`StateFile::update`].
    pub fn own_worker(&self, not: Option<u64>, draw: impl FnOnce() -> u64) -> Result<u64, StateFileError> {
        self.file("worker")?.update(|found| {
            let kept = found
                .and_then(|found| found.payload.parse::<u64>().ok())
                .filter(|worker| *worker < self.workers && Some(*worker) != not);
            let worker = kept.unwrap_or_else(draw);
            Ok((kept.is_none().then(|| worker.to_string()), worker))
        })
    }

    fn file(&self, what: &str) -> Result<StateFile, StateFileError> {
        StateFile::of_this_machine(
            &self.folder,
            &format!("{}-{what}", self.name),
            self.allowed.clone(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_that_make_the_same_ids_share_their_files_whatever_they_are_called() {
        let folder = Path::new("/nowhere");
        let name = |layout: &Layout| {
            let file = OwnFiles::new(folder, layout, Vec::new()).of(1).unwrap();
            file.path().file_name().unwrap().to_str().unwrap().to_string()
        };
        for preset in mintage::PRESETS {
            let layout = preset.layout();
            let other: Layout = layout
                .spec()
                .replace(&format!("name={}", layout.name()), "name=other")
                .parse()
                .unwrap();
            assert_eq!(other.name(), "other");
            assert_eq!(name(&layout), name(&other));
            assert!(!name(&layout).contains(['/', '=']));
        }
    }
}
