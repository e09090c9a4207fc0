//! The parts of docs/guarantees.md that this crate writes.

use std::path::PathBuf;

use crate::goals::{GOALS, WHOLE};

/// Where the page is.
pub fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/guarantees.md")
}

fn marks(name: &str) -> (String, String) {
    (
        format!("<!-- {name}: written by cargo xtask proof -->\n"),
        format!("<!-- end of {name} -->"),
    )
}

/// The part called `name` as it stands on the page.
///
/// # Errors
/// The page cannot be read or has no such part.
pub fn get(name: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path()).map_err(|e| e.to_string())?;
    let (begin, end) = marks(name);
    let rest = text
        .split_once(&begin)
        .ok_or_else(|| format!("docs/guarantees.md has no part {name:?}"))?
        .1;
    let part = rest
        .split_once(&end)
        .ok_or_else(|| format!("part {name:?} of docs/guarantees.md has no end"))?
        .0;
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

/// Puts measured lines into the part `last run`, each in the place of its goal's earlier one; the lines of goals that
/// were not measured now stay.
///
/// # Errors
/// As [`put`].
pub fn put_lines(lines: &[String]) -> Result<(), String> {
    let before = get("last run")?;
    let mut text = String::from("```text\n");
    let goals = GOALS.iter().map(|goal| format!("{} {}: ", goal.id, goal.name));
    for begins in goals.chain([WHOLE.to_string()]) {
        let new = lines
            .iter()
            .map(String::as_str)
            .find(|line| line.starts_with(&begins));
        let line = new.or_else(|| before.lines().find(|line| line.starts_with(&begins)));
        text.push_str(line.unwrap_or(&format!("{begins}no measurement was saved yet")));
        text.push('\n');
    }
    text.push_str("```\n");
    put("last run", &text)
}
