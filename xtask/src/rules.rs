//! The protocol's rules: every name that the code cites has a heading in docs/protocol.md, and every heading is cited.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::step;

const PAGE: &str = "docs/protocol.md";

/// Fails on a rule that is cited without a heading, and on a heading that nobody cites.
pub(crate) fn check() -> Result<(), String> {
    let page = fs::read_to_string(step::root().join(PAGE)).map_err(|e| format!("{PAGE}: {e}"))?;
    let headings: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("### ")?.split(' ').next())
        .collect();
    let mut cited = BTreeMap::new();
    collect(&step::root().join("crates"), &mut cited)?;
    let unknown = cited.iter().filter(|(rule, _)| !headings.contains(rule.as_str()));
    let mut wrong: Vec<String> = unknown
        .map(|(rule, place)| format!("{place} cites rule {rule}, which has no heading in {PAGE}"))
        .collect();
    let uncited = headings.iter().filter(|rule| !cited.contains_key(**rule));
    wrong.extend(uncited.map(|rule| format!("{PAGE}: no code cites rule {rule}")));
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n")),
    }
}

/// The rules that comments below `folder` cite, each with one place.
fn collect(folder: &Path, cited: &mut BTreeMap<String, String>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, cited)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            for (number, line) in text.lines().enumerate() {
                for rule in in_comment(line) {
                    let shown = path.strip_prefix(step::root()).unwrap_or(&path).display();
                    let place = || format!("{shown}:{}", number + 1);
                    cited.entry(rule.to_string()).or_insert_with(place);
                }
            }
        }
    }
    Ok(())
}

/// Words of a comment that have the form of a rule's name.
fn in_comment(line: &str) -> impl Iterator<Item = &str> {
    let comment = line.split_once("//").map_or("", |(_, comment)| comment);
    comment
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| {
            matches!(
                word.as_bytes(),
                [b'R' | b'W' | b'S' | b'U' | b'C' | b'E' | b'M', b'0'..=b'9']
                    | [b'S' | b'W', b'1', b'0'..=b'9']
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_in_comments_alone() {
        let rules = |line| in_comment(line).collect::<Vec<_>>();
        assert_eq!(rules("    /// Gives it back (protocol W7, S4)."), ["W7", "S4"]);
        assert_eq!(rules("// spent (protocol S10, W10)."), ["S10", "W10"]);
        assert_eq!(rules("//! W4's order, see http://x/S3"), ["W4", "S3"]);
        assert!(rules(r#"check_read(" s1 , S2 ", 1, &["s1"]);"#).is_empty());
        assert!(rules("// UUIDv7, SHA1, E10").is_empty());
    }
}
