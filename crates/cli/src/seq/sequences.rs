//! What can be asked of sequences.

use mintage_local::name::Name;
use mintage_wire::{self as wire, Op, Pending, Quoted, Restart, Sequence, SequenceDefinition};

use crate::ask::Ask;
use crate::backend::Backend;
use crate::errors::Failure;

/// The sequences of a server or store.
pub(super) struct Sequences(pub(super) Backend);

impl Sequences {
    pub(super) fn create(&self, name: &Name, wanted: &SequenceDefinition) -> Result<Sequence, Failure> {
        self.0.call(&ask(Op::CreateSequence, name).saying(wanted))
    }

    pub(super) fn alter(&self, name: &Name, wanted: &SequenceDefinition) -> Result<Sequence, Failure> {
        self.0.call(&ask(Op::AlterSequence, name).saying(wanted))
    }

    pub(super) fn drop_sequence(&self, name: &Name) -> Result<(), Failure> {
        let dropped = self.0.call::<Option<Pending>>(&ask(Op::DropSequence, name));
        dropped.map(drop)
    }

    pub(super) fn show(&self, name: &Name) -> Result<Sequence, Failure> {
        self.0.call(&ask(Op::ShowSequence, name))
    }

    /// All of them.
    pub(super) fn list(&self) -> Result<Vec<Sequence>, Failure> {
        self.0.all(
            || Ask::new(Op::ListSequences, &[]),
            |page: wire::Sequences| (page.sequences, page.next),
        )
    }

    /// `count` numbers as texts, or fewer.
    pub(super) fn next(&self, name: &Name, count: u64) -> Result<Vec<String>, Failure> {
        let answer: wire::Ids = self.0.call(&ask(Op::Next, name).with("count", count))?;
        Ok(answer.ids)
    }

    /// `count` numbers as one run.
    pub(super) fn range(&self, name: &Name, count: u64) -> Result<wire::Range, Failure> {
        let ask = ask(Op::Next, name).with("count", count);
        self.0.call(&ask.with("as", "range"))
    }

    /// Moves to `value`, or to the definition's start.
    pub(super) fn restart(
        &self,
        name: &Name,
        value: Option<i64>,
        is_called: bool,
        allow_repeat: bool,
    ) -> Result<Sequence, Failure> {
        let to = Restart {
            value: match value {
                Some(value) => Quoted(value),
                None => self.show(name)?.start,
            },
            is_called: Some(is_called),
            allow_repeat: Some(allow_repeat),
        };
        self.0.call(&ask(Op::RestartSequence, name).saying(&to))
    }
}

fn ask(op: Op, name: &Name) -> Ask {
    Ask::new(op, &[name.as_str()])
}
