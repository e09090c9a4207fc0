//! What one sequence of PostgreSQL is and means: its mark, its fence, and the bounds that fence it.

use std::collections::BTreeMap;

use super::note::{Bounds, Fencing};
use crate::source::{Counter, Fence, Finding, FindingCode, Severity};

/// The row of the table of sources that these are of.
pub(super) const KIND: &str = "postgres";

/// A sequence as the catalogue and its own row show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sequence {
    /// Schema and name as SQL has them, quoted where they must be.
    pub(super) key: String,
    pub(super) schema: String,
    pub(super) oid: i64,
    pub(super) type_name: String,
    pub(super) bounds: Bounds,
    pub(super) increment: i64,
    pub(super) cache: u64,
    pub(super) comment: Option<String>,
    /// Whether a crash of the server empties it.
    pub(super) is_unlogged: bool,
    pub(super) owner: String,
    /// Its name without quotes, with its schema where that is not `public`.
    pub(super) plain: String,
    /// Its row; `None`: the account may not read it.
    pub(super) stands: Option<Stands>,
}

/// The row of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stands {
    pub(super) last: i128,
    /// Whether the last number was given out; else it is the next.
    pub(super) is_called: bool,
}

/// What makes a sequence end where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Ending {
    pub(super) min: i128,
    pub(super) max: i128,
    pub(super) start: i128,
    /// It is put here, outside its former bounds, and this number is drawn: nobody was ever given it.
    pub(super) draw: Option<i128>,
}

/// The numbers that a type holds; everything, where it is no whole number of a fixed width.
pub(super) fn limits(type_name: &str) -> (i128, i128) {
    match type_name {
        "int2" => (i16::MIN.into(), i16::MAX.into()),
        "int4" => (i32::MIN.into(), i32::MAX.into()),
        "int8" => (i64::MIN.into(), i64::MAX.into()),
        _ => (i128::MIN, i128::MAX),
    }
}

impl Sequence {
    fn step(&self) -> i128 {
        self.increment.into()
    }

    pub(super) fn is_up(&self) -> bool {
        self.increment > 0
    }

    /// The first number that it has not given out, also to a session that keeps some.
    pub(super) fn mark(&self) -> Option<i128> {
        let stands = self.stands?;
        Some(match stands.is_called {
            true => stands.last + self.step(),
            false => stands.last,
        })
    }

    /// Whether `number` lies beyond `end` in its direction.
    pub(super) fn is_beyond(&self, end: i128, number: i128) -> bool {
        match self.is_up() {
            true => number > end,
            false => number < end,
        }
    }

    /// The bound that it runs into.
    pub(super) fn end(&self) -> i128 {
        match self.is_up() {
            true => self.bounds.max,
            false => self.bounds.min,
        }
    }

    /// How many numbers are left before that.
    pub(super) fn left(&self) -> u64 {
        let left = self.mark().map(|mark| (self.end() - mark) / self.step() + 1);
        let has_next = self.mark().is_some_and(|mark| !self.is_beyond(self.end(), mark));
        left.filter(|_| has_next)
            .map_or(0, |left| u64::try_from(left).unwrap_or(u64::MAX))
    }

    /// The first number in step that it never gives out, if it ends at `end`.
    fn first_beyond(&self, end: i128) -> Option<i128> {
        let mark = self.mark()?;
        if self.is_beyond(end, mark) {
            return Some(mark);
        }
        Some(mark + ((end - mark) / self.step() + 1) * self.step())
    }

    pub(super) fn fencing(&self) -> Option<Fencing> {
        Fencing::parse(self.comment.as_deref()?)
    }

    /// The first number that the source never gives out, by a fence that holds; else why it does not.
    pub(super) fn mark_of(&self, fencing: &Fencing) -> Result<i128, String> {
        if self.bounds.cycle {
            return Err("the sequence begins again at its end: somebody set CYCLE".to_string());
        }
        if self.is_beyond(fencing.end, self.end()) {
            return Err(format!(
                "the sequence was to end at {} and ends at {}: somebody altered it",
                fencing.end,
                self.end()
            ));
        }
        let mark = self.first_beyond(fencing.end);
        mark.ok_or_else(|| "the account may not read the sequence".to_string())
    }

    pub(super) fn fence(&self) -> Fence {
        let Some(fencing) = self.fencing() else {
            return Fence::None;
        };
        let id = Some(fencing.id);
        match self.mark_of(&fencing) {
            Ok(mark) => Fence::Ours { id, mark },
            Err(why) => Fence::Broken { id, why },
        }
    }

    /// Whether a ceiling is all that the fence is: it still gives out numbers.
    pub(super) fn has_more(&self) -> bool {
        self.left() > 0
    }

    /// The definition that makes it end with `end`, or where it stands.
    pub(super) fn ending(&self, end: Option<i128>) -> Option<Ending> {
        let stands = self.stands?;
        let (lowest, highest) = limits(&self.type_name);
        let fits = |ending: &Ending| ending.min >= lowest && ending.max <= highest;
        let at = |end: i128, draw: bool| {
            // Equal bounds are refused.
            let (min, max) = match self.is_up() {
                true => (self.bounds.min.min(end - 1), end),
                false => (end, self.bounds.max.max(end + 1)),
            };
            Ending {
                min,
                max,
                start: self.bounds.start.clamp(min, max),
                draw: draw.then_some(end),
            }
        };
        if let Some(end) = end {
            return Some(at(end, false)).filter(fits);
        }
        let (last, step) = (stands.last, self.step());
        // What is unused ends before its first number. Where the type has no room for two bounds there, a number or two
        // are lost.
        let candidates = match stands.is_called {
            true => [at(last, false), at(last + step, true), at(last + 2 * step, true)],
            false => [at(last - step, true), at(last, true), at(last + step, true)],
        };
        candidates.into_iter().find(fits)
    }

    /// Where it goes on once it is given back, with `was` as its bounds: above what it gave out and what was `issued`.
    /// `Ok(next)` or, where nothing is left, `Err(last)`.
    pub(super) fn resumes(&self, was: &Bounds, issued: Option<i64>) -> Option<Result<i128, i128>> {
        let mark = self.mark()?;
        let next = match issued.map(|issued| i128::from(issued) + self.step()) {
            Some(above) if self.is_beyond(mark, above) => above,
            _ => mark,
        };
        let end = if self.is_up() { was.max } else { was.min };
        Some(match self.is_beyond(end, next) {
            true => Err(next - self.step()),
            false => Ok(next),
        })
    }

    /// What lets an account use it.
    pub(super) fn grant(&self, right: &str, account: &str) -> String {
        let Sequence { schema, key, .. } = self;
        format!("GRANT USAGE ON SCHEMA {schema} TO {account}; GRANT {right} ON SEQUENCE {key} TO {account}")
    }

    /// What the other parts of the program see of it; columns are added by the reader.
    pub(super) fn counter(&self, account: &str) -> Counter {
        let fencing = self.fencing();
        let was = fencing.as_ref().map_or(&self.bounds, |fencing| &fencing.was);
        let comment = match &fencing {
            Some(fencing) => fencing.comment.clone(),
            None => self.comment.clone(),
        };
        let mut before = BTreeMap::from([
            ("min".to_string(), was.min.to_string()),
            ("max".to_string(), was.max.to_string()),
            ("start".to_string(), was.start.to_string()),
            ("cycle".to_string(), was.cycle.to_string()),
        ]);
        let mut details = BTreeMap::new();
        if let Some(stands) = self.stands {
            details.insert("is_called".to_string(), stands.is_called.to_string());
        }
        before.extend(comment.clone().map(|comment| ("comment".to_string(), comment)));
        Counter {
            face: Some("postgres"),
            called: Some(self.plain.clone()),
            mark: self.mark(),
            increment: self.increment,
            start: Some(was.start),
            min: self.bounds.min,
            max: self.bounds.max,
            type_name: self.type_name.clone(),
            cache: Some(self.cache),
            cycle: self.bounds.cycle,
            fence: self.fence(),
            comment,
            details,
            before,
            findings: self.findings(account),
            ..Counter::new(KIND, self.key.clone())
        }
    }

    fn findings(&self, account: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.stands.is_none() {
            findings.push(Finding {
                code: FindingCode::Unreadable,
                severity: Severity::Warn,
                text: "the account may not read where it stands".to_string(),
                fix: Some(self.grant("SELECT", account)),
            });
        }
        if self.is_unlogged {
            findings.push(Finding {
                code: FindingCode::Lossy,
                severity: Severity::Error,
                text: "it is unlogged: a crash of the server sets it back to its start".to_string(),
                fix: Some(format!("ALTER SEQUENCE {} SET LOGGED", self.key)),
            });
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(increment: i64, last: i128, is_called: bool) -> Sequence {
        let (min, max) = if increment > 0 { (1, 100) } else { (-100, -1) };
        Sequence {
            key: "public.s".into(),
            schema: "public".into(),
            oid: 1,
            type_name: "int8".into(),
            bounds: Bounds {
                min,
                max,
                start: if increment > 0 { min } else { max },
                cycle: false,
            },
            increment,
            cache: 1,
            comment: None,
            is_unlogged: false,
            owner: "ann".into(),
            plain: "s".into(),
            stands: Some(Stands { last, is_called }),
        }
    }

    fn fenced(mut sequence: Sequence, end: Option<i128>) -> Sequence {
        let ending = sequence.ending(end).unwrap();
        let fencing = Fencing {
            id: "0123456789abcdef0123456789abcdef".parse().unwrap(),
            end: if sequence.is_up() { ending.max } else { ending.min },
            was: sequence.bounds.clone(),
            comment: None,
        };
        (sequence.bounds.min, sequence.bounds.max) = (ending.min, ending.max);
        sequence.comment = Some(fencing.to_string());
        if let Some(last) = ending.draw {
            sequence.stands = Some(Stands {
                last,
                is_called: true,
            });
        }
        sequence
    }

    #[test]
    fn a_cut_ends_at_the_mark_and_burns_nothing() {
        for (increment, last, is_called, mark) in [
            (1, 7, true, 8),
            (10, 41, true, 51),
            (1, 1, false, 1),
            (1, 100, true, 101),
            (-1, -7, true, -8),
            (-10, -41, true, -51),
            (-1, -1, false, -1),
        ] {
            let cut = fenced(sequence(increment, last, is_called), None);
            assert_eq!(cut.left(), 0, "{cut:?}");
            assert!(cut.bounds.min < cut.bounds.max && cut.bounds.min <= cut.stands.unwrap().last);
            let id = cut.fencing().map(|fencing| fencing.id);
            assert_eq!(
                cut.fence(),
                Fence::Ours { id, mark },
                "{increment} {last} {is_called}"
            );
            // The same after a second look.
            assert_eq!(cut.mark(), Some(mark));
        }
    }

    #[test]
    fn a_type_that_begins_there_loses_one_number() {
        for last in [i64::MIN.into(), i128::from(i64::MIN)] {
            let mut first = sequence(1, last, false);
            (first.bounds.min, first.bounds.start) = (last, last);
            let cut = fenced(first.clone(), None);
            assert_eq!(cut.mark(), Some(last + 2), "{cut:?}");
            first.stands = Some(Stands {
                last,
                is_called: true,
            });
            assert_eq!(fenced(first, None).mark(), Some(last + 2));
        }
    }

    #[test]
    fn below_a_ceiling_numbers_are_left_and_the_mark_stays() {
        let below = fenced(sequence(10, 41, true), Some(79));
        assert_eq!((below.left(), below.has_more()), (3, true));
        let id = below.fencing().map(|fencing| fencing.id);
        let fence = Fence::Ours { id, mark: 81 };
        assert_eq!(below.fence(), fence);
        let mut later = below;
        later.stands = Some(Stands {
            last: 71,
            is_called: true,
        });
        assert_eq!((later.fence(), later.left()), (fence, 0));
    }

    #[test]
    fn a_fence_that_somebody_moved_is_broken() {
        let cut = fenced(sequence(1, 7, true), None);
        for (max, cycle) in [(8, false), (7, true)] {
            let mut moved = cut.clone();
            (moved.bounds.max, moved.bounds.cycle) = (max, cycle);
            assert!(matches!(moved.fence(), Fence::Broken { .. }), "{max} {cycle}");
        }
        let mut lower = cut;
        lower.bounds.max = 6;
        assert!(matches!(lower.fence(), Fence::Ours { mark: 8, .. }));
    }

    #[test]
    fn it_goes_on_above_what_anybody_gave_out() {
        let was = sequence(1, 1, false).bounds;
        let cut = fenced(sequence(1, 7, true), None);
        assert_eq!(cut.resumes(&was, None), Some(Ok(8)));
        assert_eq!(cut.resumes(&was, Some(3)), Some(Ok(8)));
        assert_eq!(cut.resumes(&was, Some(50)), Some(Ok(51)));
        assert_eq!(cut.resumes(&was, Some(100)), Some(Err(100)));
        assert_eq!(cut.resumes(&was, Some(101)), Some(Err(101)));
        let unused = fenced(sequence(1, 1, false), None);
        assert_eq!(unused.resumes(&was, None), Some(Ok(1)));
        let down = sequence(-10, -41, true);
        assert_eq!(down.resumes(&down.bounds, Some(-71)), Some(Ok(-81)));
    }
}
