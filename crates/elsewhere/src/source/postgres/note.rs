//! The comment that a fence leaves on its sequence: whose it is, where the sequence ends now, and what it was before.

use std::fmt;

use crate::source::MoveId;

/// What a sequence's definition was before a fence changed it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    pub(super) min: i128,
    pub(super) max: i128,
    pub(super) start: i128,
    pub(super) cycle: bool,
}

/// The note of a fence, and the comment that stood there before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fencing {
    pub(super) id: MoveId,
    /// The last number that the sequence may give out: its MAXVALUE, or MINVALUE where it counts down.
    pub(super) end: i128,
    pub(super) was: Bounds,
    pub(super) comment: Option<String>,
}

impl Fencing {
    /// Reads a comment; `None`: it is nobody's fence.
    pub(super) fn parse(comment: &str) -> Option<Fencing> {
        let (line, rest) = match comment.split_once('\n') {
            Some((line, rest)) => (line, Some(rest.to_string())),
            None => (comment, None),
        };
        let (id, line) = line.strip_prefix("mint ")?.split_once(": ends at ")?;
        let words: Vec<&str> = line.split([' ', ';']).filter(|word| !word.is_empty()).collect();
        let [end, "was", "min", min, "max", max, "start", start, cycle] = words[..] else {
            return None;
        };
        let cycle = match cycle {
            "cycle" => true,
            "no-cycle" => false,
            _ => return None,
        };
        Some(Fencing {
            id: id.parse().ok()?,
            end: end.parse().ok()?,
            was: Bounds {
                min: min.parse().ok()?,
                max: max.parse().ok()?,
                start: start.parse().ok()?,
                cycle,
            },
            comment: rest,
        })
    }
}

impl fmt::Display for Fencing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bounds {
            min,
            max,
            start,
            cycle,
        } = self.was;
        let cycle = if cycle { "cycle" } else { "no-cycle" };
        write!(
            f,
            "mint {}: ends at {}; was min {min} max {max} start {start} {cycle}",
            self.id, self.end
        )?;
        match &self.comment {
            Some(comment) => write!(f, "\n{comment}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        for comment in [None, Some("ours\nsince 2011".to_string()), Some(String::new())] {
            let fencing = Fencing {
                id: "0123456789abcdef0123456789abcdef".parse().unwrap(),
                end: -5,
                was: Bounds {
                    min: i64::MIN.into(),
                    max: -1,
                    start: -1,
                    cycle: true,
                },
                comment,
            };
            assert_eq!(Fencing::parse(&fencing.to_string()), Some(fencing));
        }
    }

    #[test]
    fn what_people_write_is_no_note() {
        for text in [
            "",
            "mint",
            "mint tea: ends at 5",
            "mint 0123456789abcdef0123456789abcdef: ends at 5; was min 1 max 9 start 1",
            "mint 0123456789abcdef0123456789abcdef: ends at x; was min 1 max 9 start 1 cycle",
            " mint 0123456789abcdef0123456789abcdef: ends at 5; was min 1 max 9 start 1 cycle",
        ] {
            assert_eq!(Fencing::parse(text), None, "{text}");
        }
    }
}
