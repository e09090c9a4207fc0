//! What several test files share: the one reader of `vectors/`, and what ids are made from.

pub(crate) mod sources;

use std::fs;
use std::path::PathBuf;

/// A line of a vectors file, with where it stands and where it comes from.
pub(crate) struct Line {
    pub(crate) place: String,
    pub(crate) columns: Vec<String>,
}

impl Line {
    pub(crate) fn column(&self, i: usize) -> &str {
        self.columns
            .get(i)
            .unwrap_or_else(|| panic!("{}: no column {}", self.place, i + 1))
    }
}

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors")
}

/// The one reader: tab-separated, `#` comments, every line below a `# source:`.
pub(crate) fn read(file: &str) -> Vec<Line> {
    let text = fs::read_to_string(folder().join(file)).unwrap();
    let mut source = None;
    let mut lines = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if let Some(comment) = line.strip_prefix('#') {
            source = comment.trim().strip_prefix("source:").or(source);
            continue;
        }
        let source = source.unwrap_or_else(|| panic!("{file}:{}: no source above", i + 1));
        let columns = line.split('\t').map(str::to_owned).collect();
        lines.push(Line {
            place: format!("{file}:{} ({})", i + 1, source.trim()),
            columns,
        });
    }
    assert!(!lines.is_empty(), "{file} is empty");
    lines
}
