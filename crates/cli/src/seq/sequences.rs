//! What can be asked of sequences: server and store answer both in the documents of the wire, so everything above is
//! written once.

use mintage::Run;
use mintage_ledger::{LedgerError, Name};
use mintage_server::{render, requests};
use mintage_wire::{self as wire, Op, Pending, Quoted, Restart, Sequence, SequenceDefinition};

use crate::backend::{Backend, PAGE, all};
use crate::connect::Ask;
use crate::errors::Failure;

/// The sequences of a server or store.
pub(super) struct Sequences(pub(super) Backend);

impl Sequences {
    pub(super) fn create(&self, name: &Name, wanted: &SequenceDefinition) -> Result<Sequence, Failure> {
        match &self.0 {
            Backend::Server(client) => {
                client.call(&Ask::new(Op::CreateSequence, &[name.as_str()]).saying(wanted))
            }
            Backend::Store(local) => {
                let spec = requests::sequence_spec(wanted)?;
                let info = local.run(async |ledger| ledger.create(name, &spec).await)?;
                Ok(render::sequence(&info))
            }
        }
    }

    pub(super) fn alter(&self, name: &Name, wanted: &SequenceDefinition) -> Result<Sequence, Failure> {
        match &self.0 {
            Backend::Server(client) => {
                client.call(&Ask::new(Op::AlterSequence, &[name.as_str()]).saying(wanted))
            }
            Backend::Store(local) => {
                let patch = requests::sequence_patch(wanted)?;
                let done = local.run(async |ledger| ledger.alter(name, &patch).await)?;
                Ok(render::changed(&done))
            }
        }
    }

    pub(super) fn drop_sequence(&self, name: &Name) -> Result<(), Failure> {
        match &self.0 {
            Backend::Server(client) => client
                .call::<Option<Pending>>(&Ask::new(Op::DropSequence, &[name.as_str()]))
                .map(drop),
            Backend::Store(local) => local
                .run(async |ledger| ledger.drop_sequence(name).await)
                .map(drop),
        }
    }

    pub(super) fn show(&self, name: &Name) -> Result<Sequence, Failure> {
        match &self.0 {
            Backend::Server(client) => client.call(&Ask::new(Op::ShowSequence, &[name.as_str()])),
            Backend::Store(local) => {
                let info = local.run(async |ledger| ledger.show(name).await)?;
                Ok(render::sequence(&info))
            }
        }
    }

    /// All of them.
    pub(super) fn list(&self) -> Result<Vec<Sequence>, Failure> {
        all(|after| match &self.0 {
            Backend::Server(client) => {
                let ask = Ask::new(Op::ListSequences, &[]).with("limit", PAGE);
                let page: wire::Sequences = client.call(&ask.with_if("after", after))?;
                Ok((page.sequences, page.next))
            }
            Backend::Store(local) => {
                let after = after.map(Name::new).transpose().map_err(Failure::cannot)?;
                let page = local.run(async |ledger| ledger.list(after.as_ref(), PAGE).await)?;
                let full = page.last().filter(|_| page.len() == usize::from(PAGE));
                let next = full.map(|info| info.name.to_string());
                Ok((page.iter().map(render::sequence).collect(), next))
            }
        })
    }

    /// `count` numbers as texts, or fewer.
    pub(super) fn next(&self, name: &Name, count: u64) -> Result<Vec<String>, Failure> {
        match &self.0 {
            Backend::Server(client) => {
                let ask = Ask::new(Op::Next, &[name.as_str()]).with("count", count);
                Ok(client.call::<wire::Ids>(&ask)?.ids)
            }
            Backend::Store(local) => {
                let run =
                    local.run(async |ledger| ledger.sequence_or_create(name).await?.take(count).await)?;
                Ok(run.iter().map(|n| n.to_string()).collect())
            }
        }
    }

    /// `count` numbers as one run.
    pub(super) fn range(&self, name: &Name, count: u64) -> Result<wire::Range, Failure> {
        match &self.0 {
            Backend::Server(client) => {
                let ask = Ask::new(Op::Next, &[name.as_str()]).with("count", count);
                client.call(&ask.with("as", "range"))
            }
            Backend::Store(local) => {
                let take = async |ledger: &mintage_ledger::Ledger| -> Result<(Run, bool), LedgerError> {
                    let sequence = ledger.sequence_or_create(name).await?;
                    let run = sequence.take_contiguous(count).await?;
                    Ok((run, sequence.is_cycling()))
                };
                let (run, cycling) = local.run(take)?;
                Ok(render::range(run, cycling))
            }
        }
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
        match &self.0 {
            Backend::Server(client) => {
                client.call(&Ask::new(Op::RestartSequence, &[name.as_str()]).saying(&to))
            }
            Backend::Store(local) => {
                let (base, allow_repeat) = requests::base(&to);
                let done = local.run(async |ledger| ledger.restart(name, base, allow_repeat).await)?;
                Ok(render::changed(&done))
            }
        }
    }
}
