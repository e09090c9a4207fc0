//! Small clusters, exhaustively: the protocol's rules as a model, every state of which is visited, with arbitrary
//! clocks, delay, loss, duplication, late landing, crashes, copies of processes.
//!
//! The simulator runs the real code on some paths; this walks all paths of a small abstraction of it. Each rule that
//! the protocol marks (M) can be left out, and then there must be a counter-example: that shows that the model can
//! see what the rule is for.

mod blocks;
mod explore;
mod windows;

pub use explore::Explored;

/// A rule that can be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// R1: only a record with the token of one's own attempt is adopted; else one with one's own name is.
    Token,
    /// R3: guards compare the version; else what the record says.
    Version,
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
    /// S4: only the topmost block is given back, guarded by the version of the last claim.
    Topmost,
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

/// Explores everything: both models with all rules, and each rule left out.
pub fn run(most: usize) -> Vec<Run> {
    let windows = |without, exclusive| Run {
        name: if exclusive { "windows, one process at a time" } else { "windows" },
        without,
        explored: explore::explore(&windows::Windows { without, exclusive }, most),
    };
    let blocks = |without, exclusive| Run {
        name: if exclusive { "blocks, one process at a time" } else { "blocks" },
        without,
        explored: explore::explore(&blocks::Blocks { without, exclusive }, most),
    };
    vec![
        windows(None, false),
        windows(None, true),
        blocks(None, false),
        blocks(None, true),
        windows(Some(Rule::Token), false),
        windows(Some(Rule::Version), false),
        windows(Some(Rule::Successor), false),
        windows(Some(Rule::Unknown), false),
        windows(Some(Rule::GiveBack), false),
        windows(Some(Rule::GaveBack), true),
        windows(Some(Rule::Stranger), false),
        blocks(Some(Rule::Token), false),
        blocks(Some(Rule::Version), true),
        blocks(Some(Rule::Unknown), false),
        blocks(Some(Rule::GiveBack), false),
        blocks(Some(Rule::Topmost), true),
    ]
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

    #[test]
    fn every_rule_is_needed_and_all_together_are_enough() {
        for run in run(20_000_000) {
            assert!(
                run.is_as_it_must(),
                "{} without {:?}: {} states, complete {}, {:?}",
                run.name,
                run.without,
                run.explored.states,
                run.explored.complete,
                run.explored.violation
            );
        }
    }
}
