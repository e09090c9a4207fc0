//! Small clusters, exhaustively: the protocol's rules as a model, every state of which is visited, with arbitrary
//! clocks, delay, loss, duplication, late landing, crashes, copies of processes.
//!
//! The simulator runs the real code on some paths; this walks all paths of a small abstraction of it. Each rule that
//! the protocol marks (M) can be left out, and then there must be a counter-example: that shows that the model can
//! see what the rule is for.

mod blocks;
mod borrowers;
mod explore;
mod moves;
mod network;
mod windows;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use explore::Explored;

/// A rule that can be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// R1: only a record with the token of one's own attempt is adopted; else one with one's own name is.
    Token,
    /// R3: guards compare the version; else what the record says.
    Version,
    /// R6: what a read shows is used, or answered (W10), once another write was acknowledged; else at once.
    Kept,
    /// W2: a successor starts at the stored end; else at its own now.
    Successor,
    /// W5, S3: a reservation of unknown outcome is not used.
    Unknown,
    /// W7: where others can hold, nothing is given back.
    GiveBack,
    /// W7: after a give-back the window is not used again, whatever came of it.
    GaveBack,
    /// W7: nobody but the holder lowers a window's end.
    Stranger,
    /// W10: a renewal that has landed answers its own attempt alone; else any of that version.
    Attempt,
    /// W10: what borrowers are told counts renewals; else writes of the record.
    Told,
    /// S4: only the topmost block is given back, guarded by the version of the last claim.
    Topmost,
    /// M1: a move's record says that the source is being fenced before it is.
    MoveFencingFirst,
    /// M1: a move's record says that the fence is being lifted before ours is sealed.
    MoveReturningFirst,
    /// M2: a source's mark is read behind its fence; else before it.
    MoveMarkBehindFence,
    /// M3: a deed of an older phase changes nothing.
    MoveStamp,
    /// M4: what ours has reserved is read once ours is sealed; else before.
    MoveSealedFirst,
}

/// One exploration.
pub struct Run {
    /// What was explored.
    pub name: &'static str,
    /// The rule that was left out, if any.
    pub without: Option<Rule>,
    /// What was found.
    pub explored: Explored,
}

/// What is explored: a model, the rule left out, and whether one process lives at a time (of moves: whether ours begins
/// beside the source).
type Task = (Kind, Option<Rule>, bool);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Windows,
    Blocks,
    /// Blocks in a store that has a standby.
    Standby,
    /// Renewals of a lent window.
    Borrowers,
    Moves,
}

/// The models with all rules: every state of them is visited.
const WHOLE: &[Task] = &[
    (Kind::Windows, None, false),
    (Kind::Blocks, None, false),
    (Kind::Windows, None, true),
    (Kind::Blocks, None, true),
    (Kind::Standby, None, false),
    (Kind::Borrowers, None, false),
    (Kind::Moves, None, false),
    (Kind::Moves, None, true),
];

/// Each with one rule left out.
const BROKEN: &[Task] = &[
    (Kind::Windows, Some(Rule::Token), false),
    (Kind::Windows, Some(Rule::Version), true),
    (Kind::Windows, Some(Rule::Successor), false),
    (Kind::Windows, Some(Rule::Unknown), false),
    (Kind::Windows, Some(Rule::GiveBack), false),
    (Kind::Windows, Some(Rule::GaveBack), true),
    (Kind::Windows, Some(Rule::Stranger), false),
    (Kind::Blocks, Some(Rule::Token), false),
    (Kind::Blocks, Some(Rule::Version), true),
    (Kind::Blocks, Some(Rule::Unknown), false),
    (Kind::Blocks, Some(Rule::GiveBack), false),
    (Kind::Blocks, Some(Rule::Topmost), true),
    (Kind::Standby, Some(Rule::Kept), false),
    (Kind::Borrowers, Some(Rule::Attempt), false),
    (Kind::Borrowers, Some(Rule::Told), false),
    (Kind::Borrowers, Some(Rule::Kept), false),
    (Kind::Moves, Some(Rule::MoveFencingFirst), false),
    (Kind::Moves, Some(Rule::MoveReturningFirst), false),
    (Kind::Moves, Some(Rule::MoveMarkBehindFence), false),
    (Kind::Moves, Some(Rule::MoveStamp), false),
    (Kind::Moves, Some(Rule::MoveSealedFirst), false),
];

/// Explores all models with all rules and, where `each_rule` says so, with each rule left out.
pub fn run(most: usize, threads: usize, each_rule: bool) -> Vec<Run> {
    let broken = if each_rule { BROKEN } else { &[] };
    let tasks: Vec<Task> = WHOLE.iter().chain(broken).copied().collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(task) = tasks.get(at) else { return };
                    let run = one(*task, most);
                    done.lock().expect("no panic while held").push((at, run));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no panic while held");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, run)| run).collect()
}

fn one((kind, without, exclusive): Task, most: usize) -> Run {
    let (name, explored) = match kind {
        Kind::Windows => (
            if exclusive {
                "windows, one process at a time"
            } else {
                "windows"
            },
            explore::explore(&windows::Windows { without, exclusive }, most),
        ),
        Kind::Blocks => (
            if exclusive {
                "blocks, one process at a time"
            } else {
                "blocks"
            },
            explore::explore(
                &blocks::Blocks {
                    without,
                    exclusive,
                    standby: false,
                },
                most,
            ),
        ),
        Kind::Standby => (
            "blocks, with a standby",
            explore::explore(
                &blocks::Blocks {
                    without,
                    exclusive,
                    standby: true,
                },
                most,
            ),
        ),
        Kind::Borrowers => (
            "borrowers",
            explore::explore(&borrowers::Borrowers { without }, most),
        ),
        Kind::Moves => (
            if exclusive { "moves, beside first" } else { "moves" },
            explore::explore(
                &moves::Moves {
                    without,
                    beside: exclusive,
                },
                most,
            ),
        ),
    };
    Run {
        name,
        without,
        explored,
    }
}

impl Run {
    /// Whether it came out as it must: no violation with all rules and every state visited, one without a rule.
    pub fn is_as_it_must(&self) -> bool {
        match self.without {
            None => self.explored.violation.is_none() && self.explored.complete,
            Some(_) => self.explored.violation.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That all of them together are enough takes millions of states: `cargo xtask proof` walks them.
    #[test]
    fn every_rule_is_needed() {
        for task in BROKEN {
            let run = one(*task, 20_000_000);
            assert!(
                run.is_as_it_must(),
                "{} without {:?}: {} states",
                run.name,
                run.without,
                run.explored.states
            );
        }
    }
}
