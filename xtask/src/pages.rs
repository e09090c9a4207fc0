//! The documentation's pages: none too long to be read, and every link leads somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::{layering, step};

/// The most lines of a page in docs/.
const LINES_MAX: usize = 250;

/// Pages beside docs/ whose links are followed too.
const OTHERS: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"];

pub(crate) fn check() -> Result<(), String> {
    let pages = read()?;
    let mut wrong = Vec::new();
    for (path, text) in &pages {
        let lines = text.lines().count();
        if path.starts_with("docs/") && lines > LINES_MAX {
            wrong.push(format!(
                "{path} has {lines} lines, at most {LINES_MAX} fit: make it two pages by subject"
            ));
        }
        for link in links(text) {
            if let Some(why) = dead(&pages, path, &link) {
                wrong.push(format!("{path} links to {link}: {why}"));
            }
        }
    }
    wrong.extend(absent_tests(&pages["SECURITY.md"])?);
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// Path and text of every page.
fn read() -> Result<BTreeMap<String, String>, String> {
    let mut paths: Vec<String> = OTHERS.map(String::from).to_vec();
    let folder = fs::read_dir(step::root().join("docs")).map_err(|e| format!("docs: {e}"))?;
    for entry in folder.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            paths.push(format!("docs/{name}"));
        }
    }
    let page = |path: String| match fs::read_to_string(step::root().join(&path)) {
        Ok(text) => Ok((path, text)),
        Err(e) => Err(format!("{path}: {e}")),
    };
    paths.into_iter().map(page).collect()
}

/// The tests that tables name, `module::` or `module::test` or `test`, and that are not there.
fn absent_tests(text: &str) -> Result<Vec<String>, String> {
    let mut sources = String::new();
    for folder in ["crates", "e2e"] {
        layering::visit(&step::root().join(folder), &mut |_, text| sources.push_str(text))?;
    }
    let is_there = |name: &str| match name.strip_suffix("::") {
        Some(module) => sources.contains(&format!("mod {module};")),
        None => {
            let test = name.rsplit("::").next().unwrap_or(name);
            sources.contains(&format!("fn {test}("))
        }
    };
    let cells = prose(text).filter_map(|line| line.strip_prefix("| ")?.rsplit(" | ").next());
    let spans = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let absent = spans
        .filter(|name| {
            name.bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b':'))
        })
        .filter(|name| name.contains(['_', ':']) && !is_there(name))
        .map(|name| format!("SECURITY.md names the test {name}, which is not there"));
    Ok(absent.collect())
}

/// The lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        inside ^= line.starts_with("```");
        !inside && !line.starts_with("```")
    })
}

/// Where the page's links lead, those to other sites left out.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        for rest in line.split("](").skip(1) {
            let link = rest.split(')').next().unwrap_or_default();
            if !link.contains("://") {
                found.push(link.to_string());
            }
        }
    }
    found
}

/// Why a link leads nowhere, if it does not.
fn dead(pages: &BTreeMap<String, String>, from: &str, link: &str) -> Option<String> {
    let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
    let path = match (target, from.strip_prefix("docs/")) {
        ("", _) => from.to_string(),
        (_, Some(_)) => target
            .strip_prefix("../")
            .map_or_else(|| format!("docs/{target}"), String::from),
        (_, None) => target.to_string(),
    };
    let Some(text) = pages.get(&path) else {
        let is_there = step::root().join(&path).exists();
        return (!is_there).then(|| "there is no such file".to_string());
    };
    let anchors: BTreeSet<String> = prose(text)
        .filter(|line| line.starts_with('#'))
        .map(anchor_of)
        .collect();
    (!anchor.is_empty() && !anchors.contains(anchor)).then(|| "the page has no such heading".to_string())
}

/// The anchor that GitHub gives a heading.
fn anchor_of(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_is_too_long_and_no_link_is_dead() {
        assert_eq!(check(), Ok(()));
    }

    #[test]
    fn a_link_to_a_heading_that_is_not_there_is_dead() {
        let page = "# Top\n\n## What `mint` says: all\n\n```sh\n# no heading\n```\n[a](b.md#top), [c](#d)\n";
        assert_eq!(links(page), ["b.md#top", "#d"]);
        let pages = BTreeMap::from([("docs/a.md".to_string(), page.to_string())]);
        for (link, is_dead) in [
            ("#top", false),
            ("a.md#what-mint-says-all", false),
            ("#no-heading", true),
            ("nowhere.md", true),
        ] {
            assert_eq!(dead(&pages, "docs/a.md", link).is_some(), is_dead, "{link}");
        }
    }
}
