//! The parts of docs/guarantees.md that this crate writes.

use std::path::PathBuf;

/// Where the page is.
pub fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/guarantees.md")
}

fn marks(name: &str) -> (String, String) {
    (format!("<!-- {name}: written by cargo xtask proof -->\n"), format!("<!-- end of {name} -->"))
}

/// The part called `name` as it stands on the page.
///
/// # Errors
/// The page cannot be read or has no such part.
pub fn get(name: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path()).map_err(|e| e.to_string())?;
    let (begin, end) = marks(name);
    let rest = text.split_once(&begin).ok_or_else(|| format!("docs/guarantees.md has no part {name:?}"))?.1;
    let part = rest.split_once(&end).ok_or_else(|| format!("part {name:?} of docs/guarantees.md has no end"))?.0;
    Ok(part.to_string())
}

/// Puts `part` in the place of the part called `name`.
///
/// # Errors
/// As [`get`], or the page cannot be written.
pub fn put(name: &str, part: &str) -> Result<(), String> {
    let before = get(name)?;
    let text = std::fs::read_to_string(path()).map_err(|e| e.to_string())?;
    let (begin, _) = marks(name);
    let text = text.replacen(&format!("{begin}{before}"), &format!("{begin}{part}"), 1);
    std::fs::write(path(), text).map_err(|e| e.to_string())
}

/// Lines as a block of text.
pub fn listing(lines: &[String]) -> String {
    format!("```text\n{}\n```\n", lines.join("\n"))
}
