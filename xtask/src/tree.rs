//! A copy of the tree with some files changed, in the target folder: what is built there is no part of the product.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::step;

/// Makes `tree` a copy of the workspace in which these files, named by their paths in the workspace, have other texts;
/// some of them may be new. Whatever else was there goes.
pub(crate) fn copy_with(tree: &Path, changed: &[(PathBuf, String)]) -> Result<(), String> {
    let root = step::root();
    let mut kept = BTreeSet::new();
    copy(&root, tree, &mut |from, to| {
        kept.insert(to.to_path_buf());
        if changed.iter().any(|(path, _)| path == from) {
            return Ok(());
        }
        write(
            to,
            &fs::read(from).map_err(|e| format!("{}: {e}", from.display()))?,
        )
    })?;
    for (path, text) in changed {
        let to = tree.join(path.strip_prefix(&root).unwrap_or(path));
        write(&to, text.as_bytes())?;
        kept.insert(to);
    }
    copy(tree, tree, &mut |_, path| match kept.contains(path) {
        true => Ok(()),
        false => fs::remove_file(path).map_err(|e| format!("{}: {e}", path.display())),
    })
}

/// Calls `each` with every file of a tree and its place in another, without what is built and what git keeps.
fn copy(
    from: &Path,
    to: &Path,
    each: &mut impl FnMut(&Path, &Path) -> Result<(), String>,
) -> Result<(), String> {
    let cannot = |e: std::io::Error| format!("{}: {e}", from.display());
    for entry in fs::read_dir(from).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let kind = entry.file_type().map_err(cannot)?;
        let (name, path) = (entry.file_name(), entry.path());
        if name == ".git" || name == "target" || path == step::target_dir() {
            continue;
        }
        match kind.is_dir() {
            true => copy(&path, &to.join(&name), each)?,
            false if kind.is_file() => each(&path, &to.join(&name))?,
            false => {}
        }
    }
    Ok(())
}

/// Writes a file unless it is that already, so that only what changed is built again.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|is| is == bytes) {
        return Ok(());
    }
    let folder = path.parent().expect("a file lies in a folder");
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, bytes))
        .map_err(|e| format!("{}: {e}", path.display()))
}

/// A text of the tree.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}
