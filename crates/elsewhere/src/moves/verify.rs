//! Whether both sides are as a move left them.

use super::masters::Master;
use super::record::{Move, Phase};
use crate::source::{Counter, Fence};

/// What is wrong with one counter of a move that is done; nothing: it is sound. `counter` and `fence` are as its
/// source shows them, `reserved` is how far ours has come.
pub fn wrong_at(
    record: &Move,
    of: &Master,
    counter: &Counter,
    fence: &Fence,
    reserved: Option<i64>,
) -> Vec<String> {
    match record.phase {
        Phase::Open => {
            let mut wrong = fenced(record, of, fence);
            wrong.extend(numbers(record, of, counter, reserved));
            wrong
        }
        // Another one of several went on alone.
        Phase::Returned if record.keeps_fenced(of) => fenced(record, of, fence),
        // Never fenced: it has numbers of its own, and goes on with them.
        Phase::Returned if !record.goes_on(of) => Vec::new(),
        Phase::Returned => returned(record, of, counter, fence),
        _ => match fence {
            Fence::None => Vec::new(),
            _ => vec![format!("a fence stands at {}, which should serve", of.key)],
        },
    }
}

fn fenced(record: &Move, of: &Master, fence: &Fence) -> Vec<String> {
    let key = &of.key;
    match fence {
        Fence::Ours { id, .. } if id.is_some_and(|id| id != of.fenced_by.unwrap_or(record.id)) => {
            vec![format!("the fence of {key} is that of another move")]
        }
        Fence::Ours { mark, .. } if !record.is_kept_at(of, *mark) => vec![format!(
            "the fence of {key} lies at {mark}, and was built at {}",
            of.mark.unwrap_or_default()
        )],
        Fence::Ours { .. } => Vec::new(),
        Fence::Broken { why, .. } => vec![format!("the fence of {key} does not hold: {why}")],
        Fence::None => vec![format!(
            "no fence stands at {key}: the source may give out our numbers"
        )],
    }
}

fn numbers(record: &Move, of: &Master, counter: &Counter, reserved: Option<i64>) -> Vec<String> {
    let up = counter.increment > 0;
    let is_beyond = |a: i128, b: i128| if up { a > b } else { a < b };
    let mut wrong = Vec::new();
    let (mark, first) = (of.mark.map(i128::from), record.first.map(i128::from));
    // Of a source that counts in steps the mark may lie beyond our first number, and its last number does not.
    let last = of.mark.map(|mark| of.last_at(mark));
    if let (Some(last), Some(first)) = (last.map(i128::from), first)
        && !is_beyond(first, last)
    {
        wrong.push(format!(
            "ours began at {first}, and the source gave out numbers up to {last}"
        ));
    }
    let Some(highest) = counter.highest() else {
        return wrong;
    };
    let reaches = |known: Option<i64>| known.is_some_and(|known| !is_beyond(highest, known.into()));
    let is_ours = reaches(reserved) && has_number(record, highest);
    let is_theirs = mark.is_some_and(|mark| is_beyond(mark, highest));
    if !is_ours && !is_theirs && !reaches(record.highest) {
        wrong.push(format!(
            "{highest} is in a column, and neither side has given it out: somebody else writes there"
        ));
    }
    wrong
}

/// Whether a number is one of those that ours counts. After a move beside several masters ours has the numbers of the
/// first alone.
fn has_number(record: &Move, number: i128) -> bool {
    let size = i128::from(record.definition.increment.unsigned_abs().max(1));
    record.masters.is_empty() || (number - i128::from(record.definition.start)).rem_euclid(size) == 0
}

fn returned(record: &Move, of: &Master, counter: &Counter, fence: &Fence) -> Vec<String> {
    let (key, up) = (&of.key, counter.increment > 0);
    let mut wrong = Vec::new();
    if matches!(fence, Fence::Ours { id, .. } if id.is_none_or(|id| record.is_id_of(of, id))) {
        wrong.push(format!(
            "the fence of {key} stands though the counter was given back"
        ));
    }
    let is_behind = |mark: i128, issued: i128| if up { mark <= issued } else { mark >= issued };
    // One that ours gave no numbers of goes on wherever it stood.
    if let (Some(mark), Some(issued)) = (counter.mark, record.issued.map(i128::from))
        && is_behind(mark, issued)
        && record.gives_numbers_of(of)
    {
        wrong.push(format!(
            "{key} goes on at {mark}, and {issued} was given out here"
        ));
    }
    wrong
}
