//! Inputs to begin with, from `vectors/`.

use std::fs;
use std::path::PathBuf;

/// Column `column` (from 0) of a vectors file, `#` lines left out.
///
/// # Panics
/// The file is not there.
pub fn column(file: &str, column: usize) -> Vec<Vec<u8>> {
    lines(file)
        .iter()
        .filter_map(|line| line.split('\t').nth(column))
        .map(|text| text.as_bytes().to_vec())
        .collect()
}

/// The lines of a vectors file, `#` lines left out.
///
/// # Panics
/// The file is not there.
pub fn lines(file: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../vectors")
        .join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}
