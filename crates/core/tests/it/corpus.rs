//! What people have in their columns and logs, read as somebody would who knows the systems: four rates, which hold.
//!
//! `vectors/corpus.py` writes the files, without Mintage.

use std::collections::BTreeMap;

use mintage::{CONFIDENCE_LEAST, Reading, Timestamp, inspect, near_miss, no_id};

use crate::common::read;

fn now() -> Timestamp {
    Timestamp::from_unix_millis(1_800_000_000_000)
}

/// The likeliest reading, if one says something: what `mint inspect` answers with exit code 0.
fn first(text: &str) -> Option<Reading> {
    let reading = inspect(text, now()).into_iter().next()?;
    (reading.confidence >= CONFIDENCE_LEAST).then_some(reading)
}

/// A reading in the corpus' words: `uuid:7`, `objectid`.
fn name(reading: &Reading) -> String {
    match reading.version {
        Some(version) => format!("{}:{version}", reading.format),
        None => reading.format.into(),
    }
}

/// Failures by kind, a few of each shown where a rate does not hold.
#[derive(Default)]
struct Tally {
    all: u32,
    failed: u32,
    kinds: BTreeMap<String, (u32, String)>,
}

impl Tally {
    fn count(&mut self, kind: &str, fails: Option<String>) {
        self.all += 1;
        if let Some(what) = fails {
            self.failed += 1;
            let kind = self.kinds.entry(kind.into()).or_insert((0, what));
            kind.0 += 1;
        }
    }

    fn percent(&self) -> f64 {
        f64::from(self.failed) * 100.0 / f64::from(self.all)
    }

    #[track_caller]
    fn at_most(&self, percent: f64, what: &str) {
        assert!(self.percent() <= percent, "{what}: {:.2} %", self.percent());
    }

    fn print(self, what: &str) -> Self {
        println!("{what}: {:.2} % of {}", self.percent(), self.all);
        for (kind, (count, one)) in &self.kinds {
            println!("    {count:4} {kind}: {one}");
        }
        self
    }
}

#[test]
fn ids_of_sixty_systems_have_the_right_first_reading() {
    let mut wrong = Tally::default();
    let lines = read("corpus-ids.tsv");
    assert!(lines.len() >= 2000);
    for line in &lines {
        let found = first(line.column(1)).map(|reading| name(&reading));
        let found = found.as_deref().unwrap_or("nothing");
        let right = line
            .column(2)
            .split('|')
            .any(|right| found == right || found.split(':').next() == Some(right));
        let what = || format!("{} is {found}, not {}", line.column(1), line.column(2));
        wrong.count(line.column(0), (!right).then(what));
    }
    let what = "ids whose first reading is wrong";
    wrong.print(what).at_most(5.0, what);
}

#[test]
fn what_is_no_id_is_read_as_none() {
    let mut wrong = Tally::default();
    let lines = read("corpus-others.tsv");
    assert!(lines.len() >= 2000);
    for line in &lines {
        let found = first(line.column(1));
        let accepted = found
            .as_ref()
            .is_none_or(|reading| line.column(2).split('|').any(|right| right == reading.format));
        let what = || {
            let found = found.as_ref().map_or("nothing".into(), name);
            format!("{} is {found}, not {}", line.column(1), line.column(2))
        };
        wrong.count(line.column(0), (!accepted).then(what));
    }
    let what = "others that are read as what they are not";
    wrong.print(what).at_most(1.0, what);
}

#[test]
fn damage_is_explained_and_not_read_as_something_else() {
    let mut unexplained = Tally::default();
    let mut otherwise = Tally::default();
    for line in &read("corpus-damaged.tsv") {
        let (damage, text) = (line.column(0), line.column(1));
        let found = first(text);
        let mut said = near_miss(text).unwrap_or_default();
        said += no_id(text).unwrap_or_default();
        if let Some(reading) = &found {
            said += &reading.notes.join("; ");
            said += &reading.why;
        }
        let explained = line.column(3).split('|').any(|words| said.contains(words));
        let what = || {
            format!(
                "{text}: {:?}, not {}: {said}",
                found.as_ref().map(name),
                line.column(3)
            )
        };
        unexplained.count(damage, (!explained).then(what));
        let right = found
            .as_ref()
            .is_none_or(|reading| line.column(2).split('|').any(|right| right == reading.format));
        let what = || format!("{text} is {}", found.as_ref().map_or("nothing".into(), name));
        otherwise.count(damage, (!right).then(what));
    }
    let otherwise = otherwise.print("damaged ids that are read as something else");
    let unexplained = unexplained.print("damaged ids without an explanation");
    otherwise.at_most(5.0, "damaged ids that are read as something else");
    unexplained.at_most(20.0, "damaged ids without an explanation");
}
