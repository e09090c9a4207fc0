//! The parts of docs/proof.md and docs/planted.md that this crate writes.

use std::path::PathBuf;

use crate::goals::{GOALS, WHOLE};

/// A part of a page that is written by the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The measured lines, in docs/proof.md.
    LastRun,
    /// The table of planted bugs, in docs/planted.md.
    PlantedBugs,
}

impl Part {
    const fn page(self) -> &'static str {
        match self {
            Self::LastRun => "proof.md",
            Self::PlantedBugs => "planted.md",
        }
    }

    /// The lines before and after it.
    fn marks(self) -> (String, String) {
        let name = match self {
            Self::LastRun => "last run",
            Self::PlantedBugs => "planted bugs",
        };
        (
            format!("<!-- {name}: written by cargo xtask proof -->\n"),
            format!("<!-- end of {name} -->"),
        )
    }

    fn read(self) -> Result<String, String> {
        std::fs::read_to_string(path(self.page())).map_err(|e| format!("docs/{}: {e}", self.page()))
    }
}

/// Where a page of docs/ is.
pub fn path(page: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../docs")
        .join(page)
}

/// A part as it is on its page.
///
/// # Errors
/// The page cannot be read or has no such part.
pub fn get(part: Part) -> Result<String, String> {
    let text = part.read()?;
    let (begin, end) = part.marks();
    let found = text
        .split_once(&begin)
        .and_then(|(_, rest)| rest.split_once(&end));
    found
        .map(|(text, _)| text.to_string())
        .ok_or_else(|| format!("docs/{} has no part {part:?}", part.page()))
}

/// Puts `new` in the place of a part.
///
/// # Errors
/// As [`get`], or the page cannot be written.
pub fn put(part: Part, new: &str) -> Result<(), String> {
    let before = get(part)?;
    let (begin, _) = part.marks();
    let text = part
        .read()?
        .replacen(&format!("{begin}{before}"), &format!("{begin}{new}"), 1);
    std::fs::write(path(part.page()), text).map_err(|e| e.to_string())
}

/// Puts measured lines into the last run, each in the place of its goal's earlier one; the lines of goals that were not
/// measured now stay.
///
/// # Errors
/// As [`put`].
pub fn put_lines(lines: &[String]) -> Result<(), String> {
    let before = get(Part::LastRun)?;
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
    put(Part::LastRun, &text)
}
