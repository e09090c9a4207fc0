//! Which kinds of ids there are, and how many of each.

use super::reading::Class;
use super::report::{FormatSeen, words_of};

/// The ids of a kind: how many, and the file and line of the first.
#[derive(Clone, Default)]
pub(super) struct Kind {
    pub(super) ids: u64,
    pub(super) first: Option<(usize, u64)>,
}

/// How many ids a kind has, by class and version.
pub(super) struct KindCount {
    pub(super) class: Class,
    pub(super) version: u8,
    pub(super) ids: u64,
}

impl KindCount {
    /// The kind in words.
    pub(super) fn words(&self) -> String {
        words_of(self.class.name(), (self.version > 0).then_some(self.version))
    }
}

/// How many ids each kind has that has any, most first.
pub(super) fn kind_counts(kinds: &[[Kind; VERSIONS]]) -> Vec<KindCount> {
    let of_class = |(class, versions): (usize, &[Kind; VERSIONS])| {
        let counts = versions.iter().enumerate().map(move |(version, kind)| KindCount {
            class: Class(class as u8),
            version: version as u8,
            ids: kind.ids,
        });
        counts.filter(|kind| kind.ids > 0).collect::<Vec<_>>()
    };
    let mut counts: Vec<KindCount> = kinds.iter().enumerate().flat_map(of_class).collect();
    counts.sort_by_key(|kind| std::cmp::Reverse(kind.ids));
    counts
}

pub(super) fn formats_of(kinds: &[[Kind; VERSIONS]], names: &[String]) -> Vec<FormatSeen> {
    let mut formats: Vec<FormatSeen> = kinds
        .iter()
        .enumerate()
        .flat_map(|(class, versions)| versions.iter().enumerate().map(move |(v, kind)| (class, v, kind)))
        .filter_map(|(class, version, kind)| {
            let (file, line) = kind.first?;
            Some(FormatSeen {
                format: Class(class as u8).name(),
                version: (version > 0).then_some(version as u8),
                ids: kind.ids,
                first: format!("{}:{line}", names[file]),
            })
        })
        .collect();
    formats.sort_by_key(|seen| std::cmp::Reverse(seen.ids));
    formats
}

/// A UUID's version has 4 bits.
pub(super) const VERSIONS: usize = 16;
