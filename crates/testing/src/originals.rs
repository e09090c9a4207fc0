//! The table of what the originals of the faces answer, and what the faces do: `crates/faces/tests/originals.tsv`,
//! whose head says what its columns are.

/// A row of the table.
#[derive(Debug)]
pub struct Row<'t> {
    /// Its name.
    pub original: &'t str,
    /// What is asked.
    pub request: &'t str,
    /// A header with it.
    pub header: Option<&'t str>,
    /// What the original answers.
    pub theirs: &'t str,
    /// What is answered here; `None`: the same.
    pub ours: Option<&'t str>,
    /// How many numbers of `orders` it takes.
    pub taken: i64,
    /// `alike`, `better` or `differs`.
    pub verdict: &'t str,
    /// Why it is not alike.
    pub why: Option<&'t str>,
}

impl Row<'_> {
    /// Reads a line.
    ///
    /// # Panics
    /// When it is no row.
    pub fn of(line: &str) -> Row<'_> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [original, request, header, theirs, ours, taken, verdict, why] = columns[..] else {
            panic!("eight columns, not {}: {line}", columns.len());
        };
        let told = |text| Some(text).filter(|text| *text != "-");
        Row {
            original,
            request,
            header: told(header),
            theirs,
            ours: Some(ours).filter(|ours| *ours != "="),
            taken: taken.parse().expect("a count"),
            verdict,
            why: told(why),
        }
    }

    /// What is to be answered here.
    pub fn expected(&self) -> &str {
        self.ours.unwrap_or(self.theirs)
    }

    /// Whether the answers are of one kind. Where the original's content was not looked at, ours is told and the status
    /// is the original's.
    pub fn is_alike(&self) -> bool {
        let Some(ours) = self.ours else { return true };
        let status = |answer: &str| answer.split(' ').next().map(str::to_string);
        self.theirs.ends_with(" -") && status(ours) == status(self.theirs)
    }
}

/// The table.
const TABLE: &str = include_str!("../../faces/tests/originals.tsv");

/// Every row of the table, with `{N}` and the like as they stand.
pub fn rows() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.starts_with('#'))
}

/// An answer over HTTP, as the table writes it.
#[derive(Debug)]
pub struct HttpAnswer<'t> {
    /// The status.
    pub status: u16,
    /// The type of content and the pattern of the body, where they are looked at.
    pub content: Option<(&'t str, &'t str)>,
}

impl HttpAnswer<'_> {
    /// Reads one.
    ///
    /// # Panics
    /// When it is none.
    pub fn of(text: &str) -> HttpAnswer<'_> {
        let (status, rest) = text.split_once(' ').expect("a status and what follows");
        HttpAnswer {
            status: status.parse().expect("a status"),
            content: (rest != "-").then(|| rest.split_once(' ').expect("a type and a body")),
        }
    }
}

/// Whether a text is the pattern, in which `…` stands for anything.
pub fn fits(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut is_last_open = false;
    for part in parts {
        is_last_open = part.is_empty();
        match rest.split_once(part).filter(|_| !part.is_empty()) {
            Some((_, after)) => rest = after,
            None if part.is_empty() => {}
            None => return false,
        }
    }
    is_last_open || rest.is_empty()
}
