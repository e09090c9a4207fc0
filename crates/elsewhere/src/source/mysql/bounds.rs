//! What a SEQUENCE of MariaDB shows of itself, and where a bound fences it.

use std::fmt;

use crate::source::fence::{Fence, MoveId, Note};
use crate::source::{Counter, Finding, FindingCode, Severity};

use super::shared::{Table, TextRow, literal, number, word};

/// What begins the comment of a sequence that a move has fenced.
const NOTE: &str = "mint ";

/// How the note says where the sequence ends: it has come there, or it goes on until there.
const CUT: &str = "cut at ";
const ENDS: &str = "ends at ";

/// The longest comment of a table, in characters.
const COMMENT_MAX_CHARS: usize = 2048;

/// The columns of [`Shown::of_row`] behind those of the table, as they are read from the sequence.
pub(super) const COLUMNS: &str = "CAST(next_not_cached_value AS CHAR), CAST(minimum_value AS CHAR), \
     CAST(maximum_value AS CHAR), CAST(start_value AS CHAR), CAST(increment AS CHAR), CAST(cache_size AS CHAR), \
     CAST(cycle_option AS CHAR)";

/// A sequence as its table shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Shown {
    pub(super) table: Table,
    pub(super) comment: String,
    pub(super) engine: String,
    /// The first number that no session has been given for its cache.
    pub(super) next: i128,
    pub(super) min: i128,
    pub(super) max: i128,
    pub(super) start: i128,
    /// Zero: the server's own `auto_increment_increment`.
    pub(super) increment: i64,
    pub(super) cache: u64,
    pub(super) cycle: bool,
}

impl Shown {
    /// Reads a row of [`COLUMNS`] that begins at `at`; `None`: it is no sequence.
    pub(super) fn of_row(
        table: &Table,
        comment: &str,
        engine: &str,
        row: &TextRow,
        at: usize,
    ) -> Option<Shown> {
        Some(Shown {
            table: table.clone(),
            comment: comment.to_string(),
            engine: engine.to_string(),
            next: number(row, at)?,
            min: number(row, at + 1)?,
            max: number(row, at + 2)?,
            start: number(row, at + 3)?,
            increment: word(row, at + 4).parse().ok()?,
            cache: word(row, at + 5).parse().ok()?,
            cycle: word(row, at + 6) == "1",
        })
    }

    pub(super) fn step(&self) -> i64 {
        if self.increment == 0 { 1 } else { self.increment }
    }

    fn ascends(&self) -> bool {
        self.step() > 0
    }

    /// The bound that it runs towards.
    fn end(&self) -> i128 {
        if self.ascends() { self.max } else { self.min }
    }

    /// Whether it has no further number.
    pub(super) fn is_exhausted(&self) -> bool {
        match self.ascends() {
            true => self.next > self.max,
            false => self.next < self.min,
        }
    }

    /// How many numbers no session has yet.
    pub(super) fn left(&self) -> u64 {
        if self.is_exhausted() {
            return 0;
        }
        let distance = (self.end() - self.next) / i128::from(self.step());
        u64::try_from(distance + 1).unwrap_or(u64::MAX)
    }

    /// The note that a move has written here.
    pub(super) fn note(&self) -> Option<Written> {
        Written::parse(&self.comment)
    }

    /// The bound that a cut gives it: its last number, or the nearest that the server allows. It wants `min` below
    /// `max` and `start` between them, so that one never used must skip its first numbers.
    pub(super) fn cut_at(&self) -> i128 {
        match self.ascends() {
            true => (self.next - 1).max(self.start).max(self.min + 1),
            false => (self.next + 1).min(self.start).min(self.max - 1),
        }
    }

    /// Whether it has not come to its bound of [`Shown::cut_at`].
    pub(super) fn is_before(&self, bound: i128) -> bool {
        match self.ascends() {
            true => self.next <= bound,
            false => self.next >= bound,
        }
    }

    /// The first number of those it would give out next that lies behind what was issued.
    pub(super) fn next_behind(&self, issued: Option<i64>) -> i128 {
        let step = i128::from(self.step());
        match issued.map(|issued| i128::from(issued) + step) {
            Some(behind) if (behind - self.next) * step.signum() > 0 => behind,
            _ => self.next,
        }
    }

    /// The same in its own steps: at an end that is none of its numbers it has left them.
    pub(super) fn next_in_step(&self, issued: Option<i64>, note: &Note) -> i128 {
        let (next, step) = (self.next_behind(issued), i128::from(self.step()));
        let one = note.before.get("one").and_then(|one| one.parse::<i128>().ok());
        next + one.map_or(0, |one| {
            ((one - next) * step.signum()).rem_euclid(step.abs()) * step.signum()
        })
    }

    /// The first number that it never gives out under its present bound. Whoever was faster than the ALTER has moved it
    /// beyond the step behind the bound.
    pub(super) fn mark(&self) -> i128 {
        let step = i128::from(self.step());
        let behind = self.end() + step.signum();
        let was_faster = (self.next - self.end()) * step.signum() > step.abs();
        if was_faster { self.next } else { behind }
    }

    /// ALTER SEQUENCE with another bound where it runs to.
    pub(super) fn alter(&self, bound: i128) -> String {
        let word = if self.ascends() { "MAXVALUE" } else { "MINVALUE" };
        format!("ALTER SEQUENCE {} {word} = {bound} NOCYCLE", self.table.quoted())
    }

    /// Moves it forward to behind a number, never back.
    pub(super) fn set_forward(&self, number: i128) -> String {
        format!("SELECT CAST(SETVAL({}, {number}) AS CHAR)", self.table.quoted())
    }

    /// The comment that a move leaves: its note, what it puts back, and the comment before it.
    pub(super) fn noted(&self, note: &Note, is_cut: bool, bound: i128) -> String {
        let before = |name: &str| note.before.get(name).map_or("?", String::as_str);
        let written = Written {
            id: note.id,
            is_cut,
            bound,
        };
        let text = format!(
            "{written}; was min {} max {} cycle {}; {}",
            before("min"),
            before("max"),
            before("cycle"),
            before("comment")
        );
        text.chars().take(COMMENT_MAX_CHARS).collect()
    }

    pub(super) fn write_comment(&self, text: &str) -> String {
        format!("ALTER TABLE {} COMMENT = {}", self.table.quoted(), literal(text))
    }

    /// What a lift must put back.
    pub(super) fn before(&self) -> std::collections::BTreeMap<String, String> {
        [
            ("min", self.min.to_string()),
            ("max", self.max.to_string()),
            ("cycle", self.cycle.to_string()),
            ("comment", self.comment.clone()),
            ("one", self.next.to_string()),
        ]
        .map(|(name, value)| (name.to_string(), value))
        .into()
    }

    /// Whether its bounds are those before the move.
    pub(super) fn has_bounds_of(&self, note: &Note) -> bool {
        let is = |name: &str, value: i128| note.before.get(name).is_none_or(|was| *was == value.to_string());
        is("min", self.min) && is("max", self.max)
    }

    /// Whether a cut holds, or a ceiling still lies where it was put, or nearer.
    pub(super) fn is_held(&self, written: &Written) -> bool {
        let sign = i128::from(self.step().signum());
        !self.cycle
            && match written.is_cut {
                true => self.is_exhausted(),
                false => (self.end() - written.bound) * sign <= 0,
            }
    }

    /// The fence, as far as it shows without the move's record.
    pub(super) fn fence(&self) -> Fence {
        let Some(written) = self.note() else {
            return Fence::None;
        };
        let id = Some(written.id);
        if self.is_held(&written) {
            return Fence::Ours {
                id,
                mark: self.mark(),
            };
        }
        // The note keeps the bounds from before, where nothing has been fenced yet.
        if self
            .comment
            .contains(&format!("; was min {} max {} cycle ", self.min, self.max))
        {
            return Fence::None;
        }
        let why = match self.cycle {
            true => "CYCLE was set again: it would begin anew at its end".to_string(),
            false => format!(
                "it gives out {} next and ends at {}, but the move had put its end at {}",
                self.next,
                self.end(),
                written.bound
            ),
        };
        Fence::Broken { id, why }
    }

    pub(super) fn counter(&self) -> Counter {
        let mut findings = Vec::new();
        if self.engine != "InnoDB" {
            findings.push(Finding {
                code: FindingCode::Lossy,
                severity: Severity::Error,
                text: format!(
                    "its engine is {}: only InnoDB keeps what it acknowledges",
                    self.engine
                ),
                fix: Some(format!("ALTER TABLE {} ENGINE = InnoDB", self.table.quoted())),
            });
        }
        let comment = Some(self.comment.clone()).filter(|text| !text.is_empty());
        Counter {
            mark: Some(self.next),
            increment: self.step(),
            start: Some(self.start),
            min: self.min,
            max: self.max,
            type_name: "bigint".into(),
            cache: Some(self.cache.max(1)),
            cycle: self.cycle,
            fence: self.fence(),
            comment: comment.filter(|_| self.note().is_none()),
            before: self.before(),
            findings,
            ..Counter::new(super::MARIADB.name, self.table.plain())
        }
    }
}

/// The note of a move: whose it is, and where the sequence ends now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Written {
    pub(super) id: MoveId,
    /// Whether it gives out nothing at all, or goes on until there.
    pub(super) is_cut: bool,
    pub(super) bound: i128,
}

impl Written {
    fn parse(comment: &str) -> Option<Written> {
        let (id, rest) = comment.strip_prefix(NOTE)?.split_once(": ")?;
        let (at, _) = rest.split_once("; was ")?;
        let (is_cut, bound) = match at.strip_prefix(CUT) {
            Some(bound) => (true, bound),
            None => (false, at.strip_prefix(ENDS)?),
        };
        Some(Written {
            id: id.parse().ok()?,
            is_cut,
            bound: bound.parse().ok()?,
        })
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.is_cut { CUT } else { ENDS };
        write!(f, "{NOTE}{}: {how}{}", self.id, self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(next: i128, increment: i64) -> Shown {
        let (min, max, start) = if increment > 0 {
            (1, 1000, 1)
        } else {
            (-1000, -1, -1)
        };
        Shown {
            table: Table::new("db", "s"),
            comment: String::new(),
            engine: "InnoDB".into(),
            next,
            min,
            max,
            start,
            increment,
            cache: 1000,
            cycle: false,
        }
    }

    #[test]
    fn a_cut_lies_at_the_last_number() {
        assert_eq!(shown(51, 1).cut_at(), 50);
        // Never used: MAXVALUE must be above MINVALUE.
        assert_eq!(shown(1, 1).cut_at(), 2);
        assert_eq!(shown(-51, -1).cut_at(), -50);
        assert_eq!(shown(-1, -1).cut_at(), -2);
        assert_eq!(
            shown(51, 1).alter(50),
            "ALTER SEQUENCE `db`.`s` MAXVALUE = 50 NOCYCLE"
        );
        assert_eq!(
            shown(-51, -1).alter(-50),
            "ALTER SEQUENCE `db`.`s` MINVALUE = -50 NOCYCLE"
        );
    }

    #[test]
    fn a_mark_lies_behind_the_bound_and_whoever_was_faster() {
        let marked = |next, increment, bound| {
            let mut shown = shown(next, increment);
            if increment > 0 {
                shown.max = bound;
            } else {
                shown.min = bound;
            }
            shown.mark()
        };
        assert_eq!(marked(51, 1, 50), 51);
        assert_eq!(marked(40, 1, 50), 51);
        assert_eq!(marked(1051, 1, 50), 1051);
        // Steps of 10 end up to a step behind the bound.
        assert_eq!((marked(51, 10, 45), marked(71, 10, 50)), (46, 71));
        assert_eq!((marked(-51, -1, -50), marked(-90, -1, -50)), (-51, -90));
    }

    #[test]
    fn one_that_came_to_its_end_goes_on_in_its_own_steps() {
        for (next, increment, at_its_end, issued, goes_on) in [
            (51, 10, 100, None, 101),
            (51, 10, 60, Some(150), 161),
            (2, 2, 41, Some(41), 44),
            (-51, -10, -100, None, -101),
            (7, 1, 9, Some(9), 10),
        ] {
            let before = shown(next, increment);
            let note = Note {
                id: "0123456789abcdef0123456789abcdef".parse().expect("32 digits"),
                before: before.before(),
                mark: None,
            };
            let ended = shown(at_its_end, increment);
            assert_eq!(ended.next_in_step(issued, &note), goes_on, "{next} {increment}");
        }
    }

    #[test]
    fn what_is_left_ends_at_the_bound() {
        assert_eq!((shown(1000, 1).left(), shown(1001, 1).left()), (1, 0));
        assert_eq!((shown(991, 10).left(), shown(-999, -1).left()), (1, 2));
    }

    fn noted(is_cut: bool, bound: i128) -> (Shown, MoveId) {
        let id: MoveId = "0123456789abcdef0123456789abcdef".parse().expect("32 digits");
        let mut shown = shown(51, 1);
        let note = Note {
            id,
            before: shown.before(),
            mark: None,
        };
        shown.comment = shown.noted(&note, is_cut, bound);
        (shown, id)
    }

    #[test]
    fn a_note_alone_is_no_fence() {
        let (mut shown, id) = noted(true, 50);
        assert_eq!(shown.note().map(|written| written.id), Some(id));
        assert_eq!(shown.fence(), Fence::None);
        shown.max = 50;
        let ours = Fence::Ours {
            id: Some(id),
            mark: 51,
        };
        assert_eq!(shown.fence(), ours);
        shown.cycle = true;
        assert!(matches!(shown.fence(), Fence::Broken { .. }));
    }

    #[test]
    fn a_fence_that_gives_out_numbers_is_broken() {
        // Begun again below its end, and with another end.
        for (next, max) in [(1, 50), (51, 60)] {
            let (mut cut, _) = noted(true, 50);
            (cut.next, cut.max) = (next, max);
            assert!(matches!(cut.fence(), Fence::Broken { .. }), "{next} {max}");
        }
        for (max, holds) in [(60, true), (59, true), (61, false)] {
            let (mut ceiling, _) = noted(false, 60);
            ceiling.max = max;
            let fence = ceiling.fence();
            assert_eq!(matches!(fence, Fence::Ours { .. }), holds, "{fence:?}");
        }
    }

    #[test]
    fn one_that_had_ended_before_is_fenced_by_its_note() {
        let (mut shown, _) = noted(true, 1000);
        shown.next = 1001;
        assert!(matches!(shown.fence(), Fence::Ours { mark: 1001, .. }));
    }

    #[test]
    fn what_people_write_is_no_note() {
        for text in [
            "",
            "mint tea",
            "mint 0123456789abcdef0123456789abcdef: was min 1 max 2 cycle false; ",
            "mint 0123456789abcdef0123456789abcdef: cut at x; was min 1 max 2 cycle false; ",
        ] {
            assert_eq!(Written::parse(text), None, "{text}");
        }
    }
}
