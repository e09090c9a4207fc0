//! Files of statements that an original and a face are asked alike, and the judgement of their answers.

use std::collections::HashSet;

use crate::need;

/// One message of such a file.
#[derive(Clone, Debug)]
pub enum Line {
    /// As it is.
    Message(String),
    /// With parameters, by the extended protocol.
    Bound(String, Vec<String>),
}

impl Line {
    fn read(text: &str) -> Line {
        let Some(bound) = text.strip_prefix('$') else {
            return Line::Message(text.to_string());
        };
        let mut parts = bound.split(" | ").map(|part| part.trim().to_string());
        let statement = parts.next().unwrap_or_default();
        Line::Bound(statement, parts.collect())
    }

    /// How the file has it.
    pub fn shown(&self) -> String {
        match self {
            Line::Message(text) => text.clone(),
            Line::Bound(text, parameters) => {
                let all = [std::slice::from_ref(text), parameters].concat();
                format!("$ {}", all.join(" | "))
            }
        }
    }
}

/// The sections of a file, each with its lines.
pub fn sections(file: &str) -> impl Iterator<Item = Vec<Line>> {
    let mut sections: Vec<Vec<Line>> = Vec::new();
    for line in file.lines().map(str::trim) {
        if line.starts_with('=') {
            sections.push(Vec::new());
        } else if let Some(section) = sections.last_mut().filter(|_| !line.is_empty()) {
            section.push(Line::read(line));
        }
    }
    sections.into_iter()
}

/// Statements that the face answers differently, for one reason.
#[derive(Clone, Copy, Debug)]
pub struct Differ {
    /// What its page says of it.
    pub why: &'static str,
    /// As the file has them.
    pub statements: &'static [&'static str],
}

impl Differ {
    /// Judges what both answered to each statement: alike, unless it is listed, and what is listed differs somewhere.
    /// What is to be mended may differ or not, and is said.
    ///
    /// # Panics
    /// When it is not so, with all that differs.
    #[track_caller]
    pub fn check(
        listed: &[Differ],
        to_be_mended: &[&str],
        answers: impl Iterator<Item = (String, Vec<String>, Vec<String>)>,
    ) {
        let (mut found, mut differ, mut all) = (HashSet::new(), Vec::new(), 0);
        let known: HashSet<&str> = listed
            .iter()
            .flat_map(|differ| differ.statements)
            .copied()
            .collect();
        for (statement, theirs, ours) in answers {
            all += 1;
            if theirs == ours {
                continue;
            }
            if to_be_mended.contains(&&*statement) {
                need::say(&format!("to be mended: {}", told(&statement, &theirs, &ours)));
            } else if !known.contains(&*statement) {
                differ.push(told(&statement, &theirs, &ours));
            }
            found.insert(statement);
        }
        let unlisted = differ.len();
        let differ = differ.join("\n");
        assert!(
            differ.is_empty(),
            "{unlisted} of {all} statements differ:\n{differ}"
        );
        let alike: Vec<&&str> = known.iter().filter(|known| !found.contains(**known)).collect();
        assert!(alike.is_empty(), "they are answered alike by now: {alike:#?}");
    }
}

/// The first lines of both answers that are not the same.
fn told(statement: &str, theirs: &[String], ours: &[String]) -> String {
    let at = theirs
        .iter()
        .zip(ours)
        .take_while(|(one, other)| one == other)
        .count();
    let line = |said: &[String]| said.get(at).map_or("nothing more".to_string(), Clone::clone);
    format!(
        "{statement}\n  original: {}\n  face:     {}",
        line(theirs),
        line(ours)
    )
}

#[cfg(test)]
mod tests {
    use super::{Differ, sections};

    #[test]
    fn a_file_is_read_in_sections() {
        let file = "# what it is\n= one\nSELECT 1\n\n$ SELECT $1 | a | b\n= two\n$ SELECT 2\n";
        let shown: Vec<Vec<String>> = sections(file)
            .map(|section| section.iter().map(super::Line::shown).collect())
            .collect();
        assert_eq!(
            shown,
            [vec!["SELECT 1", "$ SELECT $1 | a | b"], vec!["$ SELECT 2"]]
        );
    }

    #[test]
    #[should_panic(expected = "1 of 2 statements differ:\nSELECT 2\n  original: b\n  face:     nothing more")]
    fn what_differs_is_told() {
        let answers = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
        let same = ("SELECT 1".to_string(), answers("a"), answers("a"));
        let other = ("SELECT 2".to_string(), answers("a b"), answers("a"));
        Differ::check(&[], &[], [same, other].into_iter());
    }
}
