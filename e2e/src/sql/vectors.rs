//! The library's own vectors, as rows.

use std::fs;

use crate::binary::root;

/// The rows of a file in `vectors/`: what lies between its tabs, comments left out.
///
/// # Panics
/// When there is no such file.
pub fn rows(file: &str) -> Vec<Vec<String>> {
    let path = root().join("vectors").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split('\t').map(String::from).collect())
        .collect()
}

/// `name=value` pairs with spaces between, in order.
pub fn fields(text: &str) -> Vec<(&str, &str)> {
    text.split_whitespace()
        .map(|pair| pair.split_once('=').expect("a pair"))
        .collect()
}

/// A text as an SQL literal.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
