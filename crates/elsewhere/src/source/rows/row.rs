//! One row, and what it means: where the counter stands, what a take of it is, whether a fence stands there.

use std::collections::BTreeMap;

use mintage::Run;
use sha2::{Digest, Sha256};

use super::shapes::{Form, Means, Shape};
use super::speech::NumberType;
use crate::source::{Fence, MoveId};

/// What stands before a key that was moved.
pub(super) const MOVED: &str = "mint-moved:";
/// What stands behind a table's name that was moved.
const MOVED_TABLE: &str = "_moved_to_mint";
/// How many characters of a name MySQL and MariaDB keep.
const TABLE_CHARS_MAX: u64 = 64;
/// The most numbers that one take asks for.
const TAKE_MAX: u64 = 1 << 32;

/// What was read of one row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Row {
    /// What names it there; empty where a table does.
    pub(super) key: String,
    pub(super) number: Option<i128>,
    /// The shape's further columns.
    pub(super) extra: BTreeMap<&'static str, String>,
}

/// What is known of the columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Meta {
    pub(super) number: NumberType,
    /// How many characters a key may have.
    pub(super) key_chars_max: u64,
}

/// How a counter stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stand {
    /// There is none.
    Absent,
    /// It serves.
    Serves(Row),
    /// It is fenced; `number` is what the row said before that.
    Fenced {
        row: Row,
        id: Option<MoveId>,
        number: i128,
    },
    /// It was fenced, and is not as it was left.
    Broken { id: Option<MoveId>, why: String },
}

/// What a take writes, and what it brings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Take {
    pub(super) number: i128,
    pub(super) run: Run,
}

/// Why a row gives nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Useless {
    /// It makes no sense: why, and what would mend it, as columns and values.
    Misaligned(String, Vec<(&'static str, &'static str)>),
    /// It is at its end.
    Ended,
}

impl Row {
    fn extra_number(&self, column: &str) -> Option<i128> {
        self.extra.get(column)?.parse().ok()
    }

    /// What the row says, unless it makes no sense.
    pub(super) fn number(&self, shape: &Shape) -> Result<i128, Useless> {
        if let Some(wrong) = self.misaligned(shape) {
            return Err(wrong);
        }
        self.number
            .ok_or_else(|| Useless::Misaligned(format!("{} is NULL", shape.number), Vec::new()))
    }

    /// What makes no sense in it.
    pub(super) fn misaligned(&self, shape: &Shape) -> Option<Useless> {
        let wrong = |why: String, mend| Some(Useless::Misaligned(why, mend));
        if self.number.is_none() {
            return wrong(format!("{} is NULL", shape.number), Vec::new());
        }
        match shape.kind {
            "tinyid" => {
                let (delta, remainder) = self.residue();
                if delta < 1 {
                    let why = format!("delta is {delta}: the original divides by it");
                    return wrong(why, vec![("delta", "1"), ("remainder", "0")]);
                }
                if !(0..delta).contains(&remainder) {
                    let why = format!(
                        "remainder is {remainder}, and delta {delta} leaves 0 to {}",
                        delta - 1
                    );
                    return wrong(why, vec![("remainder", "0")]);
                }
                None
            }
            "vitess" => match self.extra_number("cache") {
                None | Some(0) => wrong(
                    "cache is 0: a tablet refuses it".to_string(),
                    vec![("cache", "1000")],
                ),
                _ => None,
            },
            _ => None,
        }
    }

    /// tinyid's delta and remainder; every number elsewhere.
    fn residue(&self) -> (i128, i128) {
        let of = |column| self.extra_number(column);
        match of("delta") {
            Some(delta) => (delta, of("remainder").unwrap_or(0)),
            None => (1, 0),
        }
    }

    /// The step from number to number.
    pub(super) fn increment(&self) -> i64 {
        i64::try_from(self.residue().0.max(1)).unwrap_or(1)
    }

    /// The first number that was not given out, if the row says `number`.
    pub(super) fn mark(&self, shape: &Shape, number: i128) -> i128 {
        match shape.means {
            Means::Next => number,
            Means::Last => {
                let (delta, remainder) = self.residue();
                match delta > 1 {
                    // The first above it that leaves the remainder.
                    true => number + delta - (number - remainder).rem_euclid(delta),
                    false => number + 1,
                }
            }
        }
    }

    /// What the row must say so that it never gives out `issued`, or less than it said.
    pub(super) fn above(&self, shape: &Shape, number: i128, issued: Option<i64>) -> i128 {
        let issued = match (issued, shape.means) {
            (None, _) => return number,
            (Some(issued), Means::Next) => i128::from(issued) + 1,
            (Some(issued), Means::Last) => issued.into(),
        };
        number.max(issued)
    }

    /// What a take of about `n` numbers writes and brings.
    pub(super) fn take(&self, shape: &Shape, meta: &Meta, n: u64) -> Result<Take, Useless> {
        let number = self.number(shape)?;
        let step = i128::from(self.increment());
        let end = meta.number.max.min(i64::MAX.into());
        let left = (end - number).div_euclid(step);
        let count = left.min(n.clamp(1, TAKE_MAX).into());
        let first = self.mark(shape, number);
        match (i64::try_from(first), u64::try_from(count)) {
            (Ok(first), Ok(count)) if count > 0 => Ok(Take {
                number: number + i128::from(count) * step,
                run: Run {
                    first,
                    step: self.increment(),
                    count,
                },
            }),
            _ => Err(Useless::Ended),
        }
    }
}

/// How a counter stands by its row, and by the one that a fence has renamed.
pub(super) fn stand(shape: &Shape, meta: &Meta, live: Option<Row>, moved: Option<Row>) -> Stand {
    let anew =
        "a row or table of its name was made anew beside the one that was moved: it gives out numbers again";
    let live = match (live, moved) {
        (None, None) => return Stand::Absent,
        (Some(_), Some(_)) => {
            return Stand::Broken {
                id: None,
                why: anew.to_string(),
            };
        }
        (None, Some(row)) => {
            return match row.number {
                Some(number) => Stand::Fenced {
                    row,
                    id: None,
                    number,
                },
                None => Stand::Broken {
                    id: None,
                    why: format!("{} of the row that was moved is NULL", shape.number),
                },
            };
        }
        (Some(live), None) => live,
    };
    match shape.form {
        Form::RenamedKey | Form::RenamedTable => Stand::Serves(live),
        Form::Negated(column) => match (live.extra_number(column), live.number) {
            (Some(..0), Some(number)) => Stand::Fenced {
                row: live,
                id: None,
                number,
            },
            _ => Stand::Serves(live),
        },
        Form::EndWithMark(column) => match (live.number, live.extra_number(column)) {
            (Some(number), Some(before)) if number == meta.number.max => Stand::Fenced {
                row: live,
                id: None,
                number: before,
            },
            _ => Stand::Serves(live),
        },
        Form::EndWithNote(column) => match live.extra.get(column).and_then(|text| read_note(text)) {
            None => Stand::Serves(live),
            Some((id, number)) if live.number == Some(meta.number.max) => Stand::Fenced {
                row: live,
                id: Some(id),
                number,
            },
            Some((id, _)) => Stand::Broken {
                id: Some(id),
                why: format!(
                    "{} is {}, and the fence had set it to {}",
                    shape.number,
                    live.number
                        .map_or("NULL".to_string(), |number| number.to_string()),
                    meta.number.max
                ),
            },
        },
    }
}

impl Stand {
    /// The same as the fence that callers know.
    pub(super) fn fence(&self, shape: &Shape) -> Fence {
        match self {
            Stand::Absent | Stand::Serves(_) => Fence::None,
            Stand::Fenced { row, id, number } => Fence::Ours {
                id: *id,
                mark: row.mark(shape, *number),
            },
            Stand::Broken { id, why } => Fence::Broken {
                id: *id,
                why: why.clone(),
            },
        }
    }
}

/// What a fence writes where a text fits: the move, and what the number was.
pub(super) fn note(id: MoveId, number: i128) -> String {
    format!("mint {id}: the number was {number}")
}

fn read_note(text: &str) -> Option<(MoveId, i128)> {
    let (id, number) = text.strip_prefix("mint ")?.split_once(": the number was ")?;
    Some((id.parse().ok()?, number.parse().ok()?))
}

/// What a key is called once it is moved; a long one by its digest. `None`: that does not fit either.
pub(super) fn moved_key(key: &str, chars_max: u64) -> Option<String> {
    fitting(format!("{MOVED}{key}"), key, chars_max)
}

/// What the table of a key is called once it is moved.
pub(super) fn moved_table(key: &str) -> String {
    fitting(format!("{key}{MOVED_TABLE}"), key, TABLE_CHARS_MAX)
        .expect("a digest is shorter than a table's name")
}

fn fitting(name: String, key: &str, chars_max: u64) -> Option<String> {
    let fits = |name: &String| name.chars().count() as u64 <= chars_max;
    if fits(&name) {
        return Some(name);
    }
    let digest = hex(&Sha256::digest(key.as_bytes())[..8]);
    Some(format!("{MOVED}{digest}")).filter(fits)
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[cfg(feature = "mysql")]
mod tests {
    use super::*;
    use crate::source::rows::shapes::SHAPES;

    fn shape(kind: &str) -> &'static Shape {
        let found = SHAPES.iter().find(|shape| shape.kind == kind);
        found.expect("it is in the table")
    }

    fn meta(name: &str) -> Meta {
        Meta {
            number: NumberType::parse(name).expect("a type that is known"),
            key_chars_max: 63,
        }
    }

    fn row(number: i128, extra: &[(&'static str, &str)]) -> Row {
        Row {
            key: "k".into(),
            number: Some(number),
            extra: extra
                .iter()
                .map(|(name, value)| (*name, value.to_string()))
                .collect(),
        }
    }

    /// What a take of `n` brings: first, step, count, and what the row says after.
    fn taken(kind: &str, row: &Row, n: u64) -> Option<(i64, i64, u64, i128)> {
        let take = row.take(shape(kind), &meta("bigint(20)"), n).ok()?;
        Some((take.run.first, take.run.step, take.run.count, take.number))
    }

    #[test]
    fn takes_are_what_the_table_of_shapes_says() {
        assert_eq!(taken("leaf", &row(1, &[]), 10), Some((1, 1, 10, 11)));
        assert_eq!(taken("cosid", &row(0, &[]), 10), Some((1, 1, 10, 10)));
        assert_eq!(taken("idgo", &row(7, &[]), 0), Some((8, 1, 1, 8)));
        let vitess = row(5, &[("cache", "1000")]);
        assert_eq!(taken("vitess", &vitess, 2), Some((5, 1, 2, 7)));
    }

    #[test]
    fn tinyids_numbers_leave_the_remainder() {
        // The example of tinyid's own source: (1000, 2000], delta 3, remainder 0 begins with 1002.
        fn of(number: i128, delta: &str, remainder: &str) -> Row {
            row(number, &[("delta", delta), ("remainder", remainder)])
        }
        assert_eq!(taken("tinyid", &of(1000, "3", "0"), 5), Some((1002, 3, 5, 1015)));
        // A row that stands on its remainder gives the one after it, as the original does.
        assert_eq!(taken("tinyid", &of(1001, "2", "1"), 2), Some((1003, 2, 2, 1005)));
        assert_eq!(taken("tinyid", &of(1, "1", "0"), 3), Some((2, 1, 3, 4)));
        for number in -7..7 {
            for delta in 1..5 {
                for remainder in 0..delta {
                    let (step, left) = (delta.to_string(), remainder.to_string());
                    let row = of(number, &step, &left);
                    let take = row.take(shape("tinyid"), &meta("bigint"), 4).unwrap();
                    let all: Vec<i64> = take.run.iter().collect();
                    let within: Vec<i64> = (number as i64 + 1..=take.number as i64)
                        .filter(|id| id.rem_euclid(delta) == remainder)
                        .collect();
                    assert_eq!(all, within, "{number} {delta} {remainder}");
                }
            }
        }
    }

    #[test]
    fn rows_that_make_no_sense_give_nothing() {
        let why = |kind, row: Row| match row.take(shape(kind), &meta("bigint"), 1) {
            Err(Useless::Misaligned(why, _)) => why,
            other => panic!("{other:?}"),
        };
        let tinyid = |delta, remainder| row(1, &[("delta", delta), ("remainder", remainder)]);
        assert!(why("tinyid", tinyid("0", "0")).starts_with("delta is 0"));
        assert!(why("tinyid", tinyid("-1", "0")).starts_with("delta is -1"));
        assert!(why("tinyid", tinyid("2", "2")).starts_with("remainder is 2"));
        assert!(why("tinyid", tinyid("2", "-1")).starts_with("remainder is -1"));
        assert!(why("vitess", row(1, &[("cache", "0")])).starts_with("cache is 0"));
        let null = Row {
            number: None,
            ..row(1, &[])
        };
        assert_eq!(why("leaf", null), "max_id is NULL");
    }

    #[test]
    fn the_last_numbers_are_taken_and_then_none() {
        let last = i128::from(i64::MAX);
        assert_eq!(
            taken("leaf", &row(last - 2, &[]), 10),
            Some((i64::MAX - 2, 1, 2, last))
        );
        assert_eq!(taken("leaf", &row(last, &[]), 1), None);
        assert_eq!(
            taken("idgo", &row(last - 1, &[]), 10),
            Some((i64::MAX, 1, 1, last))
        );
        assert_eq!(taken("idgo", &row(last, &[]), 1), None);
        // An unsigned column has room where we have none.
        let unsigned = meta("bigint(20) unsigned");
        for beyond in [last, last + 5, u64::MAX.into()] {
            assert_eq!(
                row(beyond, &[]).take(shape("cosid"), &unsigned, 1),
                Err(Useless::Ended)
            );
        }
        let narrow = row(i32::MAX.into(), &[]).take(shape("leaf"), &meta("int(11)"), 1);
        assert_eq!(narrow, Err(Useless::Ended));
    }

    #[test]
    fn fences_are_known_by_note_or_form() {
        let id: MoveId = "0123456789abcdef0123456789abcdef".parse().unwrap();
        let signed = meta("bigint(20)");
        let text = note(id, 2001);
        assert_eq!(text, "mint 0123456789abcdef0123456789abcdef: the number was 2001");
        let leaf = |number, text: &str| {
            let row = row(number, &[("description", text)]);
            stand(shape("leaf"), &signed, Some(row), None).fence(shape("leaf"))
        };
        let ours = Fence::Ours {
            id: Some(id),
            mark: 2001,
        };
        assert_eq!(leaf(i64::MAX.into(), &text), ours);
        assert_eq!(leaf(i64::MAX.into(), "orders"), Fence::None);
        assert!(matches!(leaf(5, &text), Fence::Broken { id: Some(of), .. } if of == id));
        for almost in [
            "mint x: the number was 1",
            "mint 0123456789abcdef0123456789abcdef",
            "",
        ] {
            assert_eq!(leaf(5, almost), Fence::None);
        }
        let unsigned = meta("bigint(20) unsigned");
        let cosid = stand(
            shape("cosid"),
            &unsigned,
            Some(row(u64::MAX.into(), &[("last_fetch_time", "100")])),
            None,
        );
        assert_eq!(cosid.fence(shape("cosid")), Fence::Ours { id: None, mark: 101 });
        let vitess = |cache| stand(shape("vitess"), &signed, Some(row(7, &[("cache", cache)])), None);
        assert_eq!(
            vitess("-1000").fence(shape("vitess")),
            Fence::Ours { id: None, mark: 7 }
        );
        assert_eq!(vitess("1000").fence(shape("vitess")), Fence::None);
        let anew = stand(shape("idgo"), &signed, Some(row(1, &[])), Some(row(9, &[])));
        assert!(matches!(anew.fence(shape("idgo")), Fence::Broken { .. }));
    }

    #[test]
    fn long_keys_are_moved_by_their_digest() {
        assert_eq!(moved_key("orders", 63).as_deref(), Some("mint-moved:orders"));
        let long = "x".repeat(53);
        assert_eq!(moved_key(&long[1..], 63).unwrap().len(), 63);
        let digest = moved_key(&long, 63).unwrap();
        assert_eq!((digest.len(), &digest[..11]), (27, MOVED));
        assert_eq!(moved_key(&long, 26), None);
        // Characters count, not bytes.
        assert_eq!(moved_key(&"é".repeat(52), 63).unwrap().chars().count(), 63);
        assert_eq!(moved_table("orders"), "orders_moved_to_mint");
        assert_eq!(moved_table(&"t".repeat(51)).len(), 27);
    }

    #[test]
    fn a_counter_goes_on_above_what_was_issued() {
        let row = row(10, &[]);
        assert_eq!(row.above(shape("leaf"), 10, Some(9)), 10);
        assert_eq!(row.above(shape("leaf"), 10, Some(10)), 11);
        assert_eq!(row.above(shape("idgo"), 10, Some(10)), 10);
        assert_eq!(row.above(shape("idgo"), 10, Some(i64::MAX)), i64::MAX.into());
        assert_eq!(row.above(shape("leaf"), 10, None), 10);
    }
}
